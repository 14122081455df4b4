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

NORM, PACKETS, DEVICE, MARKS = "all_reduce_norm/all_reduce_norm.py", "packets/packets.py", "device/packets.py", "device/marks.py"
MARKED = 0  # in the place of flights: one, in slots that hold data alone
SEND = 'st_vector(dl.symm_at(slot_ptr, (rank + step) % RANKS), packet, "sys", "relaxed")'
PART = 'st_vector(dl.symm_at(slot, owner), make_packet(values, epoch), "sys", "relaxed")'
POLL = 'packet = ld_vector(slot_ptr + source * source_stride, 2, "sys", "relaxed")'
POLL_ONE = '        packet = ld_vector(slot_ptr, 2, "sys", "relaxed")\n'
BARRIER = "    __syncthreads()\n    row = (begin"
ROWS = "residual_ptr, weight_ptr, out_ptr, scales_ptr, row, row + n // columns"
HERE = "            all_here = all_here & is_of_call(packet, epoch)\n"
SET = """    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS + pid.to(tl.int64) * program_stride
    mine_ptr = set_ptr + rank.to(tl.int64) * source_stride
    while first < end"""
SUMS = "    sums_ptr = parts_ptr + source_stride * RANKS\n"
TO_ALL = "send_to_peers(sums_ptr + rank.to(tl.int64) * source_stride + 2 * i, make_packet(total, epoch), rank, RANKS)"
SENDING, POLLING, POLLING_ONE = "st_vector(dl.symm_at(slot_ptr", "packet = ld_vector(slot_ptr + source", "packet = ld_vector(slot_ptr, 2"
READ_BACK, KEPT = "tl.load(x_ptr + start + i", "st_vector(out_ptr + first"
SENDING_PART, WAITING = "st_vector(dl.symm_at(slot, owner)", "shmem.signal_wait_until(slot_ptr"


TAKE = 'part = ld_vector(slot_ptr + (i + (rank <= i).to(tl.int32)) * source_stride, 2, "sys", "relaxed")'
MARK = 'st_vector(slot_ptr + (i + (rank <= i).to(tl.int32)) * source_stride, marks, "sys", "relaxed")'
MARKED_SET = """    epoch = ld(epoch_ptr + pid, semantic="weak") + 1
    set_ptr = slots_ptr + (epoch % 2) * source_stride * RANKS + pid.to(tl.int64) * program_stride
    for i in range(tid(0), packets_each, threads):
        first = (begin + i) * ELEMENTS
        if first < end:
            values = load"""
MARKED_SEND = "send_to_peers(set_ptr + rank.to(tl.int64) * source_stride + 2 * i, without_marks(values), rank, RANKS)"
OF_SET, WRONG_RANK, TOO_FEW = "(epoch % 2) * source_stride * RANKS + ", "((rank + 1) % RANKS).to", "RANKS - 1)"
TAKING, MARKING, WAITING_FOR_DATA = "part = ld_vector(slot_ptr", "st_vector(slot_ptr", "signal_wait_until(slot + half"


def plain(text):
    return text.replace('"sys", "relaxed"', '"gpu", "weak"')


def narrow(text):
    return text.replace('"sys"', '"gpu"')


# The name; the flights; the change; words of the kinds of reports; texts of the lines that the report names.
REPORTED = {
    "plain packets": (1, (DEVICE, SEND, plain(SEND)), "race", [SENDING, POLLING]),
    "narrow packets": (1, (DEVICE, SEND, narrow(SEND)), "scope", [SENDING, POLLING]),
    "plain polls": (1, (DEVICE, POLL, plain(POLL)), "race", [SENDING, POLLING]),
    "narrow polls": (1, (DEVICE, POLL, narrow(POLL)), "scope", [SENDING, POLLING]),
    "packet to the wrong slot": (1, (PACKETS, SET, SET.replace("+ rank.to", "+ ((rank + 1) % RANKS).to")), "deadlock", [WAITING]),
    "last packet not sent": (1, (PACKETS, "    while first < end:", "    while first + ELEMENTS < end:"), "deadlock", [WAITING]),
    "norm not behind the sums": (1, (NORM, BARRIER, BARRIER[20:]), "race", [READ_BACK, KEPT]),
    "a row of the next program": (1, (NORM, ROWS, ROWS + " + 1"), "race|out-of-bounds", [READ_BACK]),
    "plain parts": (2, (PACKETS, PART, plain(PART)), "race", [SENDING_PART, POLLING]),
    "narrow parts": (2, (PACKETS, PART, narrow(PART)), "scope", [SENDING_PART, POLLING]),
    "plain polls for sums": (2, (DEVICE, POLL_ONE, plain(POLL_ONE)), "race", [SENDING, POLLING_ONE]),
    "narrow polls for sums": (2, (DEVICE, POLL_ONE, narrow(POLL_ONE)), "scope", [SENDING, POLLING_ONE]),
    "sums not sent to one peer": (2, (PACKETS, TO_ALL, TO_ALL.replace("rank, RANKS)", "rank, RANKS - 1)")), "deadlock", [WAITING]),
    "norm not behind the sums of others": (2, (NORM, BARRIER, BARRIER[20:]), "race", [READ_BACK, KEPT]),
    "plain data": (MARKED, (DEVICE, SEND, plain(SEND)), "race", [SENDING, TAKING]),
    "narrow data": (MARKED, (DEVICE, SEND, narrow(SEND)), "scope", [SENDING, TAKING]),
    "plain looks": (MARKED, (MARKS, TAKE, plain(TAKE)), "race", [SENDING, TAKING]),
    "narrow looks": (MARKED, (MARKS, TAKE, narrow(TAKE)), "scope", [SENDING, TAKING]),
    "plain marks": (MARKED, (MARKS, MARK, plain(MARK)), "race", [MARKING]),
    "narrow marks": (MARKED, (MARKS, MARK, narrow(MARK)), "scope", [MARKING]),
    "data to the wrong slot": (MARKED, (PACKETS, MARKED_SEND, MARKED_SEND.replace("rank.to", WRONG_RANK)), "deadlock", [WAITING_FOR_DATA]),
    "data to one peer too few": (MARKED, (PACKETS, MARKED_SEND, MARKED_SEND.replace("RANKS)", TOO_FEW)), "deadlock", [WAITING_FOR_DATA]),
    "number that does not go on": (MARKED, (PACKETS, MARKED_SET, MARKED_SET.replace(") + 1\n", ")\n")), "deadlock", [WAITING_FOR_DATA]),
    "one set of marked slots": (MARKED, (PACKETS, MARKED_SET, MARKED_SET.replace(OF_SET, "")), "deadlock", [WAITING_FOR_DATA]),
    "norm not behind the data": (MARKED, (NORM, BARRIER, BARRIER[20:]), "race", [READ_BACK, KEPT]),
}  # fmt: skip
# No two accesses race here, as packets are strong: these give wrong sums.
WRONG = {
    "number not looked at": (1, (DEVICE, HERE, "")),
    "number of the call before": (1, (PACKETS, SET, SET.replace(") + 1\n", ")\n"))),
    "one set of slots": (1, (PACKETS, SET, SET.replace(OF_SET, ""))),
    "marks not looked at": (MARKED, (MARKS, "all_here = all_here & (part[0] != MARK) & (part[1] != MARK)", "all_here = True")),
    "marks not put back": (MARKED, (MARKS, MARK, "pass")),
    "sums in the parts' slots": (2, (PACKETS, SUMS, "    sums_ptr = parts_ptr\n")),
}


def calls(team, given, kernel, flights, programs=2, warps=1):
    """A call for each one given, as ops/all_reduce_norm/all_reduce_norm.cpp queues it, with operands that the stream overwrites between
    them; gives each one's residual and result."""
    first, ranks = given[0], team.size
    dtype = as_dtype(first.dtype)
    marked = flights == MARKED
    in_packet = (16 if marked else 8) // dtype.itemsize

    def packets(elements):
        return -(-elements // in_packet // ranks) if flights == 2 else -(-elements // in_packet)

    most = max(packets(-(-first.m // programs) * first.columns), 32 * warps)
    slots = team.full((2, ranks, programs, most, 2), -1 if marked else 0, "int64", name="packets")
    team.barrier()
    epochs = team.local_from_array(np.zeros(programs, np.int64))
    x, residual, out = (team.local_empty((first.m, first.columns), dtype) for _ in range(3))
    weight, kept = team.local_empty((first.columns,), dtype), []
    inputs = [[team.local_from_array(a) for a in (c.xs[team.rank], c.residual, c.weight)] for c in given]
    for call, arrays in zip(given, inputs):
        m, columns = call.m, call.columns
        for to, source in zip((x[:m], residual[:m], weight), arrays):
            team.stream.copy(to, source)
        rows = -(-m // programs)
        constants = {"ELEMENTS": in_packet, "ALIGNED": rows * columns % in_packet == 0, "RANKS": ranks, "POLLS": 2, "FLIGHTS": flights}
        constants |= {"MARKED": marked}
        constants |= {"TILE": 128, "QUANTISED": False, "ROW_SCALES": False}
        sizes = (columns, EPS, packets(rows * columns), 2 * most * programs, 2 * most)
        kernel[(-(-m // rows),)](x, residual, slots, epochs, m, rows * columns, weight, out, weight, *sizes, **constants, num_warps=warps)
        kept.append([team.local_empty((m, columns), dtype) for _ in range(2)])
        for to, source in zip(kept[-1], (residual[:m], out[:m])):
            team.stream.copy(to, source)
    return [[np.array(a) for a in pair] for pair in kept]


def kernels(folder, *changes):
    return imported(folder, [DEVICE, MARKS, PACKETS, NORM], ["all_reduce_norm.all_reduce_norm"], *changes)[0].all_reduce_norm


def cases(ranks, count):
    """The first call has the most rows."""
    return [Call(ranks, [4, 4, 1, 4][i % 4], 40, "bf16", seed=i) for i in range(count)]


def run(kernel, flights, seed):
    """The reports of a run, or else whether its results are right."""
    given = cases(3, 4)
    policy = "slowest-rank" if seed % 2 else "random"
    try:
        result = tandem.launch(lambda team: calls(team, given, kernel, flights), ranks=3, seed=seed, check=True, policy=policy)
    except tandem.SimulationError as error:
        return error.reports, None
    for value in result.values:
        for call, found in zip(given, value):
            try:
                call.check(*found)
            except AssertionError:
                return result.reports, False
    return result.reports, True


@pytest.mark.parametrize("flights", [1, 2, MARKED])
def test_as_it_is(tmp_path, flights):
    kernel = kernels(tmp_path)
    for seed in range(6):
        assert run(kernel, flights, seed) == ([], True)


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


@pytest.mark.parametrize("flights, calls_", [(1, 2), (2, 1), (MARKED, 3)])
def test_every_schedule(tmp_path, flights, calls_):
    """The smallest instance: a packet from each rank to each, in several calls where they go in one flight; marks in as many as use a slot
    again."""
    kernel = kernels(tmp_path)
    given = [Call(2, 1, 8 if flights == 2 else 4, "bf16", seed=i) for i in range(calls_)]
    proof = tandem.explore(lambda team: calls(team, given, kernel, flights, programs=1), ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)
