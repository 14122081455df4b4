"""Errors planted in the kernel of all_reduce_norm, for one flight and for two: every one is reported, at its lines; as it is, it is right,
of a small instance under every schedule."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported
from norm_reference import EPS, Call

import tandem
from tandem.kernel.element_types import as_dtype

NORM, PACKETS, MARKS = "all_reduce_norm/all_reduce_norm.py", "packets/packets.py", "device/marks.py"
FILES = [NORM, PACKETS, MARKS, "device/packets.py", "device/scales.py"]
SEND = 'st_vector(dl.symm_at(slot_ptr, (rank + step) % RANKS), data, "sys", "relaxed")'
TAKE = 'part = ld_vector(slots[i], 2, "sys", "relaxed")'
MARK = 'st_vector(slot_ptr, dl.fill_vector(2, tl.int64, MARK), "sys", "relaxed")'
HERE = "all_here = all_here & is_data(parts[i])"
EPOCH = 'epoch = ld(epoch_ptr + pid, semantic="weak") + 1\n    set_ptr'
SET = "(epoch % 2) * FLIGHTS * source_stride * RANKS"
MINE = "parts_ptr = set_ptr + pid.to(tl.int64) * program_stride\n    mine_ptr = parts_ptr + rank.to"
SENT = "send_to_peers(mine_ptr + 2 * i, without_marks(values), rank, RANKS)"
LAST = "    while i < slots:\n"
PART = 'st_vector(dl.symm_at(mine_ptr + 2 * i, owner), without_marks(values), "sys", "relaxed")'
SUM = 'st_vector(dl.symm_at(sums_ptr + 2 * slot, (rank + step) % RANKS), without_marks(total), "sys", "relaxed")'
TO_ALL = "            for step in tl.static_range(RANKS):\n"
BARRIER = "    __syncthreads()\n    return joined_lanes"
ROWS = "begin = tl.program_id(0) // PARTS * rows_each\n    rows = tl.minimum(m - begin, rows_each)"
TELL = 'st_vector(told_ptr + 2 * ((program * 2 + turn) * PARTS + part), data, "gpu", "relaxed")'
TELLING = "st_vector(told_ptr"
KEEP = "            dl.smem_store(values, of_other, other)\n"
COLUMNS = "row_columns - first_column, part_columns)"
SENDING, TAKING, WAITING = "st_vector(dl.symm_at(slot_ptr", "part = ld_vector(slots[i]", "signal_wait_until(slots[i] + half"
SENDING_PART, SENDING_SUM, MARKING = "st_vector(dl.symm_at(mine_ptr", "st_vector(dl.symm_at(sums_ptr", "st_vector(slot_ptr"


def plain(text):
    return text.replace('"sys", "relaxed"', '"gpu", "weak"')


def narrow(text):
    return text.replace('"sys"', '"gpu"')


# The name; the flights; the change; words of the kinds of reports; texts of the lines that the report names.
REPORTED = {
    "plain data": (1, (MARKS, SEND, plain(SEND)), "race", [SENDING, TAKING]),
    "narrow data": (1, (MARKS, SEND, narrow(SEND)), "scope", [SENDING, TAKING]),
    "plain looks": (1, (MARKS, TAKE, plain(TAKE)), "race", [SENDING, TAKING]),
    "narrow looks": (1, (MARKS, TAKE, narrow(TAKE)), "scope", [SENDING, TAKING]),
    "plain marks": (1, (MARKS, MARK, plain(MARK)), "race", [MARKING]),
    "narrow marks": (1, (MARKS, MARK, narrow(MARK)), "scope", [MARKING]),
    "data to the wrong slot": (1, (PACKETS, MINE, MINE.replace("rank.to", "((rank + 1) % RANKS).to")), "deadlock", [WAITING]),
    "data to one peer too few": (1, (PACKETS, SENT, SENT.replace("RANKS)", "RANKS - 1)")), "deadlock", [WAITING]),
    "last data not sent": (1, (PACKETS, LAST, LAST.replace("slots:", "slots - 1:")), "deadlock", [WAITING]),
    "number that does not go on": (1, (PACKETS, EPOCH, EPOCH.replace(" + 1", "")), "deadlock", [WAITING]),
    "one set of slots": (1, (PACKETS, SET, "0"), "deadlock", [WAITING]),
    "sum not behind all warps": (1, (NORM, BARRIER, BARRIER[20:]), "race", ["smem_load", "smem_store"]),
    "a row of the next program": (1, (NORM, ROWS, ROWS + " + 1"), "race|out-of-bounds|deadlock", []),
    "plain parts": (2, (PACKETS, PART, plain(PART)), "race", [SENDING_PART, TAKING]),
    "narrow parts": (2, (PACKETS, PART, narrow(PART)), "scope", [SENDING_PART, TAKING]),
    "plain sums": (2, (PACKETS, SUM, plain(SUM)), "race", [SENDING_SUM, TAKING]),
    "narrow sums": (2, (PACKETS, SUM, narrow(SUM)), "scope", [SENDING_SUM, TAKING]),
    "sums not sent to one peer": (2, (PACKETS, TO_ALL, TO_ALL.replace("RANKS", "RANKS - 1")), "deadlock", [WAITING]),
}  # fmt: skip
# Of rows that have three programs each, in one flight. Without kinds: what is wrong is reported, or is seen in the results.
OF_PARTS = {
    "plain sums of programs": ((NORM, TELL, TELL.replace("relaxed", "weak")), "race", [TELLING, TAKING]),
    "narrow sums of programs": ((NORM, TELL, TELL.replace("gpu", "cta")), "race|scope", [TELLING, TAKING]),
    "sums to the wrong program": ((NORM, "- part + other\n", "- part + (other + 1) % PARTS\n"), "deadlock|race", []),
    "sums not told to the last program": ((NORM, TELL, "if other < PARTS - 1:\n                    " + TELL), "deadlock", [WAITING]),
    "sums of programs in one place": ((NORM, "(program * 2 + turn) * PARTS + part)", "(program * 2 + turn) * PARTS)"), "deadlock|race", []),
    "sums of programs not behind all warps": ((NORM, KEEP + "        __syncthreads()\n", KEEP), "race", ["smem_store", "smem_load"]),
    "sums of programs looked at as they are": ((MARKS, HERE, "all_here = True"), "", []),
    "columns of the next part": ((NORM, COLUMNS, COLUMNS.replace("part_columns)", "part_columns + 16)")), "", []),
    "mean of a part": ((NORM, " / row_columns + eps)", " / columns + eps)"), "", []),
}  # fmt: skip
# No two accesses race here, as packets are strong: these give wrong sums.
WRONG = {
    "marks not looked at": (1, (MARKS, HERE, "all_here = True")),
    "marks not put back": (1, (MARKS, MARK, "pass")),
    "marks not put back, two flights": (2, (MARKS, MARK, "pass")),
}


def calls(team, given, kernel, flights, programs=2, warps=1, parts=1):
    """A call for each one given, as ops/all_reduce_norm/all_reduce_norm.cpp queues it, with operands that the stream overwrites between
    them; gives each one's residual and result."""
    first, ranks = given[0], team.size
    dtype = as_dtype(first.dtype)
    in_packet = 16 // dtype.itemsize
    part_columns = -(-first.columns // parts // in_packet) * in_packet if parts > 1 else first.columns
    of_row = -(-part_columns // in_packet)
    programs = first.m * parts if parts > 1 else programs
    told = team.full((programs, 2, parts, 2), -1, "int64", name="sums of parts")
    most = max(-(-first.m // programs) * of_row, 32 * warps)
    most = -(-most // ranks) if flights == 2 else most
    slots = team.full((2 * flights, ranks, programs, most, 2), -1, "int64", name="packets")
    team.barrier()
    epochs = team.local_from_array(np.zeros(programs, np.int64))
    x, residual, out = (team.local_empty((first.m, first.columns), dtype) for _ in range(3))
    weight, kept = team.local_empty((first.columns,), dtype), []
    inputs = [[team.local_from_array(a) for a in (c.xs[team.rank], c.residual, c.weight)] for c in given]
    for call, arrays in zip(given, inputs):
        m, columns = call.m, call.columns
        for to, source in zip((x[:m], residual[:m], weight), arrays):
            team.stream.copy(to, source)
        rows = 1 if parts > 1 else -(-m // programs)
        constants = {"ELEMENTS": in_packet, "ALIGNED": columns % in_packet == 0, "RANKS": ranks, "POLLS": 2, "FLIGHTS": flights}
        constants |= {"QUANTISED": False, "ROW_SCALES": False, "PARTS": parts}
        sizes = (columns, part_columns, EPS, rows * of_row, 2 * most * programs, 2 * most)
        kernel[(-(-m // rows) * parts,)](
            x, residual, slots, epochs, m, rows, weight, out, weight, told, *sizes, **constants, num_warps=warps
        )
        kept.append([team.local_empty((m, columns), dtype) for _ in range(2)])
        for to, source in zip(kept[-1], (residual[:m], out[:m])):
            team.stream.copy(to, source)
    return [[np.array(a) for a in pair] for pair in kept]


def kernels(folder, *changes):
    return imported(folder, FILES, ["all_reduce_norm.all_reduce_norm"], *changes)[0].all_reduce_norm


def cases(ranks, count):
    """The first call has the most rows."""
    return [Call(ranks, [4, 4, 1, 4][i % 4], 40, "bf16", seed=i) for i in range(count)]


def run(kernel, flights, seed, warps=2, parts=1):
    """The reports of a run, or else whether its results are right."""
    given = cases(3, 4)
    policy = "slowest-rank" if seed % 2 else "random"
    try:
        result = tandem.launch(
            lambda team: calls(team, given, kernel, flights, warps=warps, parts=parts), ranks=3, seed=seed, check=True, policy=policy
        )
    except tandem.SimulationError as error:
        return error.reports, None
    for value in result.values:
        for call, found in zip(given, value):
            try:
                call.check(*found)
            except AssertionError:
                return result.reports, False
    return result.reports, True


@pytest.mark.parametrize("flights, parts", [(1, 1), (2, 1), (1, 2), (1, 3)])
def test_as_it_is(tmp_path, flights, parts):
    kernel = kernels(tmp_path)
    for seed in range(6):
        assert run(kernel, flights, seed, parts=parts) == ([], True)


@pytest.mark.parametrize("name", OF_PARTS)
def test_planted_errors_in_parts(tmp_path, name):
    change, kinds, lines = OF_PARTS[name]
    kernel = kernels(tmp_path, change)
    found = next((found for found in (run(kernel, 1, seed, parts=3) for seed in range(12)) if found != ([], True)), None)
    assert found, "not found"
    if not kinds:
        assert found[0] or found[1] is False
        return
    assert re.fullmatch(kinds, found[0][0]["kind"]), found[0][0]["text"]
    for line in lines:
        assert line in found[0][0]["text"], found[0][0]["text"]


@pytest.mark.parametrize("name", REPORTED)
def test_planted_errors_are_reported(tmp_path, name):
    flights, change, kinds, lines = REPORTED[name]
    kernel = kernels(tmp_path, change)
    reports = next(filter(None, (run(kernel, flights, seed)[0] for seed in range(12))), None)
    assert reports, "not found"
    assert re.fullmatch(kinds, reports[0]["kind"]), reports[0]["text"]
    for line in lines:
        assert line in reports[0]["text"], reports[0]["text"]


@pytest.mark.parametrize("name", WRONG)
def test_planted_errors_that_only_the_sums_show(tmp_path, name):
    flights, change = WRONG[name]
    kernel = kernels(tmp_path, change)
    assert any(run(kernel, flights, seed) == ([], False) for seed in range(12))


def test_every_schedule_of_parts(tmp_path):
    """On one rank, so that only what programs tell each other is searched: two calls of a row with two programs."""
    kernel = kernels(tmp_path)
    given = [Call(1, 1, 16, "bf16", seed=i) for i in range(2)]
    proof = tandem.explore(lambda team: calls(team, given, kernel, 1, parts=2), ranks=1, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)


@pytest.mark.parametrize("flights, calls_", [(1, 3), (2, 2)])
def test_every_schedule(tmp_path, flights, calls_):
    """The smallest instance: a packet from each rank to each, in one flight in as many calls as use a slot again."""
    kernel = kernels(tmp_path)
    given = [Call(2, 1, 16 if flights == 2 else 8, "bf16", seed=i) for i in range(calls_)]
    proof = tandem.explore(lambda team: calls(team, given, kernel, flights, programs=1), ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)
