"""Teams, streams, events, peers, and that a seed decides a run."""

import numpy as np
import pytest

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem import _tandem


@tandem.jit
def add_one(x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x_ptr + i, tl.load(x_ptr + i) + 1)


@tandem.jit
def collect(parts_ptr, ready_ptr, out_ptr, ranks, N: tl.constexpr):
    i = tl.arange(0, N)
    for r in range(ranks):
        token = dl.wait(ready_ptr + r, 1, "sys", "acquire", waitValue=1)
        tl.store(out_ptr + r * N + i, tl.load(dl.consume_token(parts_ptr, token) + r * N + i))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ranks", [1, 2, 5])
def test_copy_engine_feeds_a_waiting_kernel(ranks, seed):
    def main(team):
        mine = team.from_array(np.full(32, team.rank, np.float32))
        parts, ready = team.empty((team.size, 32)), team.zeros(team.size, "int64")
        out = team.local_empty((team.size, 32))
        team.barrier()
        collect[(1,)](parts, ready, out, team.size, N=32)
        copies = team.new_stream()
        for peer in range(team.size):
            copies.copy(parts.peer(peer)[team.rank], mine)
            copies.signal_write(ready.peer(peer)[team.rank : team.rank + 1], 1)
        return np.asarray(out).copy()

    result = tandem.launch(main, ranks=ranks, seed=seed)
    for out in result.values:
        np.testing.assert_array_equal(out, np.repeat(np.arange(ranks), 32).reshape(ranks, 32))
    assert result.reports == []


def test_events_order_streams():
    for seed in range(8):

        def main(team):
            x, y = team.local_from_array(np.zeros(64, np.float32)), team.local_empty(64)
            first, second = team.new_stream(), team.new_stream()
            for _ in range(3):
                add_one[(1,)](x, N=64, stream=first)
            second.wait_event(first.record_event())
            second.copy(y, x)
            assert (np.asarray(y) == 3).all()

        tandem.launch(main, seed=seed)


def test_stream_waits_for_a_peer():
    def main(team):
        flag, x = team.zeros(1, "int64"), team.local_from_array(np.zeros(8, np.float32))
        team.stream.signal_wait(flag, 2, "ge")
        add_one[(1,)](x, N=8)
        other = team.new_stream()
        other.signal_write(flag.peer((team.rank + 1) % team.size), 2, add=True)
        assert (np.asarray(x) == 1).all()

    tandem.launch(main, ranks=3)


def test_split_team():
    def main(team):
        half = [r for r in range(team.size) if r % 2 == team.rank % 2]
        part = team.split(half)
        part.barrier()
        return part.rank, part.size

    assert tandem.launch(main, ranks=4).values == [(0, 2), (0, 2), (1, 2), (1, 2)]


@tandem.jit
def racing_order(slots_ptr, counter_ptr):
    at = tl.atomic_add(counter_ptr, 1)
    tl.store(slots_ptr + at, tl.program_id(0))


def order(seed):
    slots, counter = np.zeros(16, np.int32), np.zeros(1, np.int32)

    def main(team):
        racing_order[(16,)](slots, counter)

    tandem.launch(main, seed=seed)
    return slots.tolist()


def test_a_seed_is_a_schedule():
    assert order(1) == order(1)
    assert len({tuple(order(s)) for s in range(6)}) > 1


def test_the_first_failure_of_a_rank_is_raised_and_the_others_are_released():
    def main(team):
        if team.rank == 1:
            raise KeyError("rank one")
        team.barrier()

    with pytest.raises(KeyError, match="rank one"):
        tandem.launch(main, ranks=3)


def test_bad_arguments_of_launch():
    with pytest.raises(ValueError, match="target"):
        tandem.launch(lambda team: None, target="abacus")
    with pytest.raises(ValueError, match="ranks"):
        tandem.launch(lambda team: None, ranks=0)


def test_gather():
    """Texts of any length, on the world and on a part of it; each call has its own."""

    def main(team):
        first = team.gather({"rank": team.rank, "text": "ä" * 70000 * team.rank})
        second = team.gather(-team.rank)
        part = team.split([2, 0]).gather(team.rank) if team.rank != 1 else None
        return [len(f["text"]) for f in first], [f["rank"] for f in first], second, part

    for rank, value in enumerate(tandem.launch(main, ranks=3).values):
        assert value == ([0, 70000, 140000], [0, 1, 2], [0, -1, -2], None if rank == 1 else [2, 0])


def test_gather_on_one_of_two_teams_of_the_same_ranks():
    def main(team):
        if team.rank == 2:
            return None
        one, other = team.split([1, 0]), team.split([1, 0])
        return one.gather(team.rank), other.gather(-team.rank)

    assert tandem.launch(main, ranks=3).values == [([1, 0], [-1, 0])] * 2 + [None]


def test_gather_on_a_team_of_others():
    def main(team):
        part = team.split([1]) if team.rank == 1 else None
        number = team.gather(part and part.id)[1]
        if team.rank == 0:
            for unknown in (number, 77, -1):
                with pytest.raises(RuntimeError, match=f"rank 0 is in no team {unknown}"):
                    team._call(_tandem.gather, unknown, "x")

    tandem.launch(main, ranks=2)


def test_simulated_ranks_have_no_time():
    def main(team):
        with pytest.raises(RuntimeError, match="a simulated rank has no time"):
            team.stream.record_time()

    tandem.launch(main, ranks=1)


@tandem.jit
def sum_along(x_ptr, out_ptr, axis, N: tl.constexpr):
    """Each rank's sum over the ranks of a team, and who it is there."""
    i = tl.arange(0, N)
    total = tl.zeros((N,), tl.int32)
    for member in range(dl.num_ranks(axis)):
        total += tl.load(dl.symm_at(x_ptr, member, axis) + i)
    tl.store(out_ptr + i, total)
    tl.store(out_ptr + N, dl.rank(axis))
    tl.store(out_ptr + N + 1, dl.num_ranks(axis=axis))
    tl.store(out_ptr + N + 2, dl.rank() * 100 + dl.num_ranks(-1))


def test_axes_of_a_grid_of_ranks():
    def main(team):
        row, column = team.rank // 3, team.rank % 3
        along = [team.split([row * 3 + c for c in range(3)]), team.split([r * 3 + column for r in range(2)])]
        x = team.from_array(np.arange(8, dtype=np.int32) + 10**team.rank)
        team.barrier()
        outs = []
        for axis in (*along, team):
            out = team.local_empty(11, "int32")
            sum_along[(1,)](x, out, axis.id, N=8)
            outs.append(np.array(out))
        team.barrier()
        return outs

    for rank, outs in enumerate(tandem.launch(main, ranks=6, check=True).values):
        row, column = rank // 3, rank % 3
        members = [[row * 3 + c for c in range(3)], [column, column + 3], list(range(6))]
        for out, ranks in zip(outs, members):
            assert out[:8].tolist() == [len(ranks) * i + sum(10**r for r in ranks) for i in range(8)]
            assert out[8:].tolist() == [ranks.index(rank), len(ranks), rank * 100 + 6]


def test_a_rank_that_an_axis_has_not():
    @tandem.jit
    def beyond(x_ptr, axis):
        tl.store(x_ptr, tl.load(dl.symm_at(x_ptr, 2, axis)))

    def main(team):
        beyond[(1,)](team.from_array(np.zeros(1, np.int32)), team.split([0, 1]).id if team.rank < 2 else 0)

    with pytest.raises(tandem.SimulationError, match="bad-rank: .*rank 2 is outside team 16 of 2"):
        tandem.launch(main, ranks=3, check=True)


def test_signals_in_one_call():
    def main(team):
        words, peer = team.zeros(3, "int64", name="words"), 1 - team.rank
        there = words.peer(peer)
        team.stream.signals(
            [(there[:1], 7), (there[1:], team.rank + 1), (words[:1], 7, "eq"), (words[1:], peer + 1, "ge"), (words[1:2], 0)]
        )
        team.stream.signals([])
        return np.array(words).tolist()

    result = tandem.launch(main, ranks=2, check=True)
    assert result.reports == [] and result.values == [[7, 0, 2], [7, 0, 1]]


@pytest.mark.parametrize(
    "steps, words",
    [
        (lambda x: [(x, 1, "about")], "`compare` is `about`; it is one of eq"),
        (lambda x: [(x[::2], 1)], "signals are elements of a contiguous tensor"),
    ],
)
def test_wrong_signals(steps, words):
    with pytest.raises(ValueError, match=words):
        tandem.launch(lambda team: team.stream.signals(steps(team.zeros(4, "int64"))))


@pytest.mark.parametrize(
    "use", [lambda team: team.zeros(1, "int32").peer("a"), lambda team: team.split("a"), lambda team: team.split([0.0])]
)
def test_a_rank_is_an_integer(use):
    with pytest.raises(TypeError, match="a rank is an integer, not ('a'|0.0)"):
        tandem.launch(use)
