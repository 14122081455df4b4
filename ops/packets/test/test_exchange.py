"""All-gather, all-to-all and broadcast in packets: data that looks like marks, and errors planted in their kernel; a small instance under
every schedule."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported

import tandem
from tandem.ops import AllGather, AllToAll, Broadcast, rows_of_rank, shard_rows

EXCHANGE, MARKS = "packets/exchange.py", "device/marks.py"
FILES = [EXCHANGE, MARKS, "packets/anywhere.py", "device/packets.py"]
SHAPES = [(1, 3, "int64"), (7, 5, "int8"), (40, 16, "int16"), (33, 64, "int32")]


def data(seed, *shape, dtype):
    """Half of the elements have all bits set, as marks do; of every third row all."""
    draw = np.random.default_rng([seed, *shape])
    found = np.where(draw.random(shape) < 0.5, -1, draw.integers(-100, 100, shape)).astype(dtype)
    found[::3] = -1
    return found


@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_any_bits_arrive(ranks):
    def main(team):
        found = []
        for m, columns, dtype in SHAPES:
            few = {"programs": 2, "num_warps": 1}
            whole = data(0, m, columns, dtype=dtype)
            begin = shard_rows(m, ranks) * team.rank
            mine = whole[begin : begin + rows_of_rank(m, ranks, team.rank)]
            with AllGather(team, m, columns, dtype, **few) as gather, AllToAll(team, m, columns, dtype, **few) as exchange:
                with Broadcast(team, m * columns, dtype, **few) as broadcast:
                    for _ in range(3):
                        sent = data(team.rank, m, columns, dtype=dtype)
                        found.append([np.array(a) for a in (gather(mine, m), exchange(sent, m), broadcast(sent.reshape(-1), 1))])
        return found

    for seed in range(2):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for rank, found in enumerate(result.values):
            for (m, columns, dtype), (gathered, exchanged, got) in zip(np.repeat(np.array(SHAPES, object), 3, 0), found, strict=True):
                sent = [data(source, m, columns, dtype=dtype) for source in range(ranks)]
                first, count = min(shard_rows(m, ranks) * rank, m), rows_of_rank(m, ranks, rank)
                np.testing.assert_array_equal(gathered, data(0, m, columns, dtype=dtype))
                np.testing.assert_array_equal(exchanged, np.concatenate([x[first : first + count] for x in sent]))
                np.testing.assert_array_equal(got, sent[1].reshape(-1))


@pytest.mark.parametrize("ranks", [2, 3])
def test_more_than_a_launch_carries(ranks):
    """Slots have room for 64 KB on simulated ranks."""
    m, columns = 397, 67

    def main(team):
        found = []
        sent = data(team.rank, m, columns, dtype="int32")
        first = shard_rows(m, ranks) * team.rank
        with AllGather(team, m, columns, "int32") as gather, AllToAll(team, ranks * m, columns, "int32") as exchange:
            with Broadcast(team, m * columns, "int32") as broadcast:
                for rows in (m, 5, m):
                    counts = [[rows - 3 * (source == to) if to == 1 else 0 for to in range(ranks)] for source in range(ranks)]
                    own = sent[first:][: rows_of_rank(m, ranks, team.rank)]
                    outs = gather(own, m), exchange(sent[: counts[team.rank][1]], counts), broadcast(sent[:rows].reshape(-1), 1)
                    found.append([np.array(a) for a in outs])
        return found

    result = tandem.launch(main, ranks=ranks, check=True)
    assert result.reports == []
    sent = [data(source, m, columns, dtype="int32") for source in range(ranks)]
    whole = np.concatenate([x[shard_rows(m, ranks) * r :][: rows_of_rank(m, ranks, r)] for r, x in enumerate(sent)])
    for rank, found in enumerate(result.values):
        for rows, (gathered, exchanged, got) in zip((m, 5, m), found, strict=True):
            np.testing.assert_array_equal(gathered, whole)
            parts = [x[: rows - 3 * (source == 1)] for source, x in enumerate(sent)] if rank == 1 else [sent[0][:0]]
            np.testing.assert_array_equal(exchanged, np.concatenate(parts))
            np.testing.assert_array_equal(got, sent[1][:rows].reshape(-1))


SEND = 'st_vector(slot_ptr, halves, "sys", "relaxed")'
SEND_MASKS = 'st_vector(masks_ptr, masks, "sys", "relaxed")'
LOOK = 'part = ld_vector(slots[i], 2, "sys", "relaxed")'
MARK = 'st_vector(slot_ptr, dl.fill_vector(2, tl.int64, MARK), "sys", "relaxed")'
SET = "(epoch % 2) * source_stride * RANKS"
FIRST = "if lane == 0:\n                put_marks"


def plain(text):
    return text.replace('"sys", "relaxed"', '"gpu", "weak"')


# The file, the text and the text in its place; the kinds of reports.
REPORTED = {
    "plain data": ((EXCHANGE, SEND, plain(SEND)), {"race"}),
    "plain masks": ((EXCHANGE, SEND_MASKS, plain(SEND_MASKS)), {"race"}),
    "narrow data": ((EXCHANGE, SEND, SEND.replace("sys", "gpu")), {"scope"}),
    "plain looks": ((MARKS, LOOK, plain(LOOK)), {"race"}),
    "plain marks": ((MARKS, MARK, plain(MARK)), {"race"}),
    "one set of slots": ((EXCHANGE, SET, "0"), {"deadlock"}),
    "masks not sent": ((EXCHANGE, SEND_MASKS, "pass"), {"deadlock"}),
}
# These give wrong results.
WRONG = {
    "marks not looked at": (MARKS, "all_here = all_here & is_data(parts[i])", "all_here = True"),
    "masks not looked at": (EXCHANGE, "(masks[half] >> lane) & 1 != 0", "False"),
    "masks that nobody clears": (EXCHANGE, FIRST, FIRST.replace("lane == 0", "lane < 0")),
}


def calls(team, kernel, given, programs=2, alone=True):
    """An all-gather for each of `given`, as ops/packets/packets.cpp queues it; `alone`: between copies, else one behind the other."""
    ranks, n = team.size, len(given[0])
    shard = max(-(-n // ranks), 2)
    slots = team.full((2, ranks, programs, 2 * 33, 2), -1, "int64", name="packets")
    team.barrier()
    epochs = team.local_from_array(np.zeros(programs, np.int64))
    inputs = [team.local_from_array(np.resize(x[team.rank * shard : (team.rank + 1) * shard], shard)) for x in given]
    x, out, kept = team.local_empty((shard,), "int64"), team.local_empty((n,), "int64"), []
    constants = {"ELEMENTS": 2, "ALIGNED": shard % 2 == 0, "RANKS": ranks, "POLLS": 2, "KIND": "gather"}
    each = 32 * -(-shard // (2 * 32 * programs))
    sizes = (n, shard, 0, 0, epochs, 0, each, 2 * 2 * 33 * programs, 2 * 2 * 33)
    for source in inputs:
        kept.append(team.local_empty((n,), "int64"))
        if alone:
            team.stream.copy(x, source)
        tensors = (x, out) if alone else (source, kept[-1])
        kernel[(programs,)](*tensors, slots, epochs, *sizes, **constants, num_warps=1, launch_pdl=True)
        if alone:
            team.stream.copy(kept[-1], out)
    return [np.array(a) for a in kept]


def kernel_with(folder, *changes):
    return imported(folder, FILES, ["packets.exchange"], *changes)[0].exchange


def run(kernel, seed, **how):
    """The reports of a run, or else whether its results are right."""
    given = [data(i, 40 * 3, dtype=np.int64) for i in range(5)]
    policy = "slowest-rank" if seed % 2 else "random"
    try:
        result = tandem.launch(lambda team: calls(team, kernel, given, **how), ranks=3, seed=seed, check=True, policy=policy)
    except tandem.SimulationError as error:
        return error.reports, None
    return result.reports, all(np.array_equal(x, got) for value in result.values for x, got in zip(given, value, strict=True))


def test_as_it_is(tmp_path):
    kernel = kernel_with(tmp_path)
    for seed in range(6):
        assert run(kernel, seed, alone=seed % 2 == 0) == ([], True)


def test_a_launch_that_does_not_await_the_one_before_it(tmp_path):
    kernel = kernel_with(tmp_path, (EXCHANGE, "    tl.extra.cuda.gdc_wait()\n", ""))
    reports = next(filter(None, (run(kernel, seed, alone=False)[0] for seed in range(6))), None)
    assert reports[0]["kind"] == "race" and "epoch_ptr" in reports[0]["text"], reports[0]["text"]


@pytest.mark.parametrize("name", REPORTED)
def test_planted_errors_are_reported(tmp_path, name):
    change, kinds = REPORTED[name]
    kernel = kernel_with(tmp_path, change)
    reports = next(filter(None, (run(kernel, seed)[0] for seed in range(20))), None)
    assert reports, "not found"
    assert reports[0]["kind"] in kinds, reports[0]["text"]


@pytest.mark.parametrize("name", WRONG)
def test_planted_errors_that_only_results_show(tmp_path, name):
    kernel = kernel_with(tmp_path, WRONG[name])
    assert any(run(kernel, seed)[1] is False for seed in range(12))


def test_every_schedule(tmp_path):
    """A packet with its masks from one rank, and masks alone from the other."""
    kernel = kernel_with(tmp_path)
    given = [np.array([-1, i]) for i in range(2)]
    proof = tandem.explore(lambda team: calls(team, kernel, given, programs=1), ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)
