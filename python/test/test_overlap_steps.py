"""Each wait and each signal that an overlapped call is made of is needed: without any one of them a run is reported, or never ends."""

import numpy as np
import pytest
from plain_products import grouped

import tandem
from tandem import _tandem

BLOCKS = dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP=2)
ROWS, CALLS = 32, 3  # of a rank
PLANS = {
    "all_gather": ("all_gather", dict(bands=2, path="copies", slices=1)),
    "all_gather in slices": ("all_gather", dict(bands=1, path="copies", slices=3)),
    "reduce_scatter": ("reduce_scatter", dict(bands=2, path="copies")),
    "all_reduce": ("all_reduce", dict(bands=1, path="copies")),
    "all_to_all": ("all_to_all", dict(bands=2)),
}


class Without:
    """Leaves out the nth step of those that this rank's host queues in the second of three calls."""

    def __init__(self, rank, nth=None):
        self.rank, self.nth, self.steps, self.watching, self.spare = rank, nth, [], False, None

    def watch(self, team):
        whole = team._call

        def call(function, *args):
            if not (self.watching and function is _tandem.signals):
                return whole(function, *args)
            stream, made, _ = args
            kept = [step for nth, step in enumerate(made, len(self.steps)) if nth != self.nth]
            self.steps += made
            return whole(function, stream, kept, len(kept)) if kept else None

        team._call = call


def spare(exchange, rank):
    """Says of a step whether a call of this kernel is right without it: the wait for a chunk for which its programs have waited, the signal
    of a slice with the next one's behind it, and what counts the programs that write this rank's own rows, which the stream is behind."""
    told = [exchange.told.address + 8 * chunk for chunk in exchange.shares.chunks_of(rank)]
    words = getattr(exchange, "words", [])
    slices = exchange.shares.slices

    def says(address, value, _count, _bytes, compare):
        is_word = any(0 <= address - of.address < of.nbytes for of in words)
        return address in told or (is_word and value > 0 if compare else 0 < value < slices)

    return says


def calls(team, collective, plan, without, there):
    """`there`: a chunk that the first call's waits on this rank take to be there from the begin on."""
    m, n, k = ROWS * team.size, 32, 32
    random = np.random.default_rng(team.size)
    gathers = collective == "all_gather"
    matrix, local = team.zeros((m, k if gathers else n), "float16", name="matrix"), team.local_empty((m, n if gathers else k), "float16")
    a, c = (matrix, local) if gathers else (local, matrix)
    b = team.local_from_array(random.integers(-2, 3, (k, n)).astype(np.float16))
    end = dict(consumer=grouped, over="a_ptr") if gathers else dict(producer=grouped, over="c_ptr")
    derived, grid = tandem.overlap(collective=collective, **end, **plan), (m // 16 * n // 16,)
    arguments, mine = (a, b, c, m, n, k, k, 1, n, 1, n, 1), team.rank == without.rank
    exchange, _ = derived._exchange(team, *derived._call(arguments, BLOCKS, grid))
    if mine:
        without.spare = spare(exchange, team.rank)
        without.watch(team)
        if there is not None:
            exchange.words[0][there : there + 1] = exchange.shares.slices
    for nth in range(CALLS):
        left = random.integers(-2, 3, (team.size, m, k)).astype(np.float16)
        own = slice(ROWS * team.rank, ROWS * (team.rank + 1))
        a[own if gathers else slice(0, m)] = left[0][own] if gathers else left[team.rank]
        if mine:
            without.watching = nth == 1
        derived[grid](*arguments, **BLOCKS)
    team.synchronize()


def is_silent(name, ranks, seed, nth=None, there=None):
    """Whether a run says nothing; and of each step of a rank's second call whether it is a spare one."""
    without = Without(seed % ranks, nth)
    try:
        result = tandem.launch(calls, ranks=ranks, seed=seed, check=True, args=(*PLANS[name], without, there))
    except tandem.SimulationError:
        return False, None
    return result.reports == [], [without.spare(*step) for step in without.steps]


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setattr(tandem.overlapping.shares, "LEAST_BYTES", 16)


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", PLANS)
def test_each_step_of_the_host_is_needed(name, ranks):
    silent, steps = is_silent(name, ranks, ranks)
    assert silent and steps.count(False) >= 4
    assert [nth for nth, is_spare in enumerate(steps) if not is_spare and is_silent(name, ranks, ranks, nth)[0]] == []


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name", ["all_gather", "all_gather in slices"])
def test_the_wait_for_each_chunk_is_needed(name, ranks):
    bands = PLANS[name][1]["bands"]
    for chunk in range(ranks * bands):
        is_own = chunk // bands == ranks % ranks
        assert is_silent(name, ranks, ranks, there=chunk)[0] == is_own, chunk
