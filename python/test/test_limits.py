"""Runs that would not end: loops that count are found at once, the rest by limits of steps and seconds, on the host too."""

import re
import time

import numpy as np
import pytest

import tandem
import tandem.language as tl
import tandem.simt as simt


@tandem.jit
def counts(flag_ptr, out_ptr, MOST: tl.constexpr):
    tries = 0
    while (simt.ld(flag_ptr, scope="sys", semantic="acquire") != 1) and (tries < MOST if MOST else True):
        tries += 1
    tl.store(out_ptr, tries)


@tandem.jit
def flips(word_ptr):
    while tl.atomic_add(word_ptr, 1) >= 0:
        tl.atomic_add(word_ptr, -1)


@tandem.jit
def sets(word_ptr):
    tl.store(word_ptr, 1)


def kinds(error):
    return [r["kind"] for r in error.value.reports if r["severity"] == "error"]


def programs_in(text):
    """(how many programs, of which ranks) the notes of a report place; those at one line share a note."""
    many = re.findall(r"note: (\d+) programs of ranks? ([\d, ]+) are here", text)
    single = re.findall(r"note: rank (\d+), program \(", text)
    ranks = {int(rank) for _, listed in many for rank in listed.split(",")} | {int(rank) for rank in single}
    return sum(int(count) for count, _ in many) + len(single), ranks


def test_a_loop_that_counts_is_a_livelock():
    def main(team):
        counts[(2,)](team.zeros(1, "int64", name="flag"), team.zeros(1, "int32"), 0)

    began = time.monotonic()
    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(main, ranks=2)
    assert kinds(error) == ["livelock"] and time.monotonic() - began < 20
    assert "loops until memory changes: reads `flag` + 0 of rank 0, sees 0, never written" in str(error.value)


def test_a_loop_that_ends_by_itself_does():
    def main(team):
        out = team.zeros(1, "int32")
        counts[(1,)](team.zeros(1, "int64"), out, 1000)
        return int(out[0])

    assert tandem.launch(main, ranks=2).values == [1000, 1000]


@pytest.mark.parametrize("limit, words", [({"max_steps": 20_000}, "20000 steps (`max_steps`)"), ({"timeout": 0.3}, "0.3 s (`timeout`)")])
def test_a_limit_says_where_each_program_stands(limit, words):
    def main(team):
        flips[(3,)](team.zeros(1, "int32"))
        team.synchronize()

    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(main, ranks=2, **limit)
    assert kinds(error) == ["limit-exceeded"] and words in str(error.value)
    assert programs_in(str(error.value)) == (6, {0, 1}) and "kernel `flips`" in str(error.value)
    assert f"{__file__}:" in str(error.value) and "the host of ranks 0, 1 is here" in str(error.value)


def polls_a_call(team):
    x = team.zeros(1, "int32")
    while x[0] != 1:
        team.synchronize()


def polls_an_array(team):
    x = team.zeros(1, "int32").numpy()
    while x[0] != 1:
        pass


@pytest.mark.parametrize(
    "main, limit", [(polls_a_call, {"max_steps": 1000}), (polls_a_call, {"timeout": 0.3}), (polls_an_array, {"timeout": 0.3})]
)
def test_a_host_that_never_returns(main, limit):
    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(main, ranks=2, **limit)
    assert kinds(error) == ["limit-exceeded"]
    line = main.__code__.co_firstlineno
    places = [f"{__file__}:{line + k}: note: the host of rank{who} is here" for k in (1, 2, 3) for who in (" 0", "s 0, 1")]
    assert any(place in str(error.value) for place in places), str(error.value)


def test_a_host_that_polls_gives_way():
    def main(team):
        word = team.zeros(1, "int64", name="word")
        if team.rank == 0:
            while word[0] != 1:
                pass
        else:
            sets[(1,)](word.peer(0))
            team.synchronize()

    for seed in range(4):
        tandem.launch(main, ranks=2, seed=seed, timeout=60)


@pytest.mark.parametrize("reads", [lambda word: word[0], lambda word: np.asarray(word)[0], lambda word: word.numpy()[0]])
def test_hosts_that_poll_for_a_rank_that_failed_are_ended(reads):
    def main(team):
        word = team.zeros(1, "int64", name="word")
        if team.rank == 2:
            raise ValueError("boom")
        while reads(word) != 1:
            pass

    with pytest.raises((ValueError, tandem.RunError), match="boom") as error:
        tandem.launch(main, ranks=4, check=True)
    assert "rank 2" in "".join([str(error.value), *getattr(error.value, "__notes__", [])])


def test_no_search_past_a_limit_is_a_proof():
    def main(team):
        flips[(1,)](team.zeros(1, "int32"))

    proof = tandem.explore(main, ranks=1, exhaustive=True, max_steps=5000, limit=2)
    assert not proof.proven and [f.kind for f in proof.findings] == ["limit-exceeded"]


@pytest.mark.parametrize(
    "options, words",
    [
        ({"max_steps": 1.5}, "must be an integer"),
        ({"timeout": -1}, "a number from 0"),
        ({"max_steps": -1}, "an integer from 0"),
        ({"target": "cuda", "timeout": 1}, "the simulator's"),
    ],
)
def test_wrong(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        tandem.launch(lambda team: None, **options)
