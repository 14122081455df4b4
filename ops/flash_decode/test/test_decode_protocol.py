"""Errors planted in how programs and ranks put their parts together: every one is found; as it is, the kernel is right, of a small instance
under every schedule."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported
from decode_reference import Case, error

import tandem

FILES = ["device/calls.py", "device/packets.py", "flash_decode/parts.py", "flash_decode/flash_decode.py"]
CALLS, PACKETS, PARTS_FILE, DECODE = FILES
PROGRAMS, ROWS = 3, 16

ARRIVES = "            elif tl.sum(tl.where((nth_count == which) & (counted == expected), 1, 0)) > 0:\n"
PARTS = "            keep_rows(part_ptr, (acc, acc_second), 1 / tl.where(sums > 0, sums, 1.0), real)\n"
COUNT = "            count = (item + blocks - 1) // each - item // each + 1\n"
RESET = ARRIVES + "                tl.store(counts_ptr + 2 * first_pid, 0)\n"
TELLS = 'sem="release" if TOGETHER else "acq_rel", scope="gpu"'
AWAITED = '"gpu", "acquire", waitValue=count, compare="ge")'
LEFT = "                if is_last_of(counts_ptr + 2 * first_pid + 1, count):\n"
SENT = '            st_vector(dl.symm_at(slot, (dl.rank() + step) % RANKS), packet, "sys", "relaxed")\n'
SETS = "(epoch % 2) * rank_stride * RANKS"
EPOCH = '        epoch = ld(epochs_ptr + program, semantic="weak") + 1\n'
SCRATCH = "        tl.store(result_ptr + in_tile * (DIM + 2) + DIM + 1, logs, mask=real)\n        __syncthreads()\n"

BEFORE = "            tl.atomic_add(counts_ptr + 2 * (side * RUNS + item // each), 1)\n"
BEGINS = '    greatest = tl.full((FEW_ROWS,), -float("inf"), tl.float32)\n'
MINE = "dl.rank().to(tl.int64) * rank_stride"
BOTH = "part = pid * 2 + (at == item).to(tl.int32)"

# A program takes its turn at an item before it stores its part.
TURN = BEFORE.replace("tl.atomic", "turn = tl.atomic").replace("1)", '1, sem="acq_rel", scope="gpu") + 1')
FIRSTS = "    first_seq, first_nth, first_count, first_of_first = 0"
COUNTED = f"counted = tl.atomic_add(counts, 1, mask=expected > 0, {TELLS}) + 1"
TOLD_FIRST = [
    (
        DECODE,
        PARTS,
        TURN
        + "            if at == item:\n                last_turn = turn\n            else:\n                first_turn = turn\n"
        + PARTS,
    ),
    (DECODE, FIRSTS, "    first_turn, last_turn = 0, 0\n" + FIRSTS),
    (DECODE, COUNTED, "counted = tl.where(nth_count == 0, first_turn, last_turn)"),
]

# The change, or several; words of the kinds of reports; text of a line that a report names. An old packet that is taken for a new
# one is no race: it shows in the result.
PLANTED = {
    "gathered by the last but one": ((DECODE, COUNT, COUNT.replace(" + 1", "")), "race|uninitialised", "counts"),
    "count not put back": ((DECODE, RESET, ARRIVES), "race|uninitialised|deadlock", ""),
    "told before it is stored": (TOLD_FIRST, "race|uninitialised", "parts_ptr"),
    "relaxed arrival": ((DECODE, TELLS, TELLS.replace("acq_rel", "relaxed")), "race", "counts_ptr"),
    "narrow arrival": ((DECODE, TELLS, TELLS.replace("gpu", "cta")), "race|scope", "counts"),
    "one place for both parts": ((DECODE, BOTH, "part = pid * 2"), "race|uninitialised", "stats_ptr"),
    "parts of the next program": ((PARTS_FILE, BEGINS, BEGINS + "    first_pid += 1\n"), "race|uninitialised|out-of-bounds", "stats_ptr"),
    "wrong slot": ((PARTS_FILE, MINE, "0 * rank_stride"), "race|deadlock|livelock", ""),
    "narrow packets": ((PARTS_FILE, SENT, SENT.replace("sys", "gpu")), "scope|race", "st_vector(dl.symm_at"),
    "weak packets": ((PARTS_FILE, SENT, SENT.replace("relaxed", "weak")), "race", "st_vector(dl.symm_at"),
    "result not awaited": ((PARTS_FILE, SCRATCH, SCRATCH.replace("        __syncthreads()\n", "")), "race", "result_ptr"),
    "one set of slots": ((DECODE, SETS, "0 * rank_stride * RANKS"), "race|deadlock|livelock|wrong", ""),
    "stale epoch": ((DECODE, EPOCH, EPOCH.replace(" + 1", "")), "race|wrong", ""),
    "call not ended": ((DECODE, "        end_call(epochs_ptr, epoch)\n", ""), "race|wrong", ""),
}
TOGETHER = {
    "parts not awaited": ((DECODE, AWAITED, AWAITED.replace("=count", "=0")), "race|uninitialised", "of_parts"),
    "one part too few": ((DECODE, AWAITED, AWAITED.replace("=count", "=count - 1")), "race|uninitialised", "of_parts"),
    "relaxed wait": ((DECODE, AWAITED, AWAITED.replace("acquire", "relaxed")), "race", "of_parts"),
    "relaxed arrival": ((DECODE, TELLS, TELLS.replace("release", "relaxed")), "race", "of_parts"),
    "told before it is stored": ((DECODE, PARTS, BEFORE + PARTS), "race|uninitialised", "parts_ptr"),
    "put back by the first that leaves": ((DECODE, LEFT, LEFT.replace("count)", "1)")), "race|deadlock|signal", "counts_ptr"),
    "not put back": ((DECODE, LEFT, LEFT.replace("count)", "count + 1)")), "race|uninitialised|signal", "counts_ptr"),
    "rows of the next program": ((DECODE, "mine = pid - first_pid\n", "mine = pid - first_pid + 1\n"), "uninitialised|race|deadlock", ""),
}


class Launches:
    """The kernel as ops/flash_decode/decoder.cpp launches it."""

    def __init__(self, team, case, kernel, together, made):
        self.team, self.case, self.kernel, self.together = team, case, kernel, together
        D, ranks = case.head_dim, team.size
        self.rank_stride = case.m * case.q_len * case.heads * (D // 2 + 1) * 2
        self.parts, self.stats, self.results = (
            team.local_empty((PROGRAMS * n,), dtype, name=name)
            for n, dtype, name in (
                (2 * ROWS * D, "float16", "parts"),
                (4 * ROWS, "float32", "sums of parts"),
                (2 * ROWS * (D + 2), "float32", "results"),
            )
        )
        self.counts = team.local_from_array(np.zeros(2 * PROGRAMS, np.int32), name="counts")
        self.epochs = team.local_from_array(np.full(PROGRAMS, made, np.int64), name="epochs")
        self.slots = team.zeros((2 * ranks * self.rank_stride,), "int64", name="packets")

    def __call__(self, q, keys, values, table, lengths, ends):
        case, none = self.case, lengths
        out = self.team.local_empty(case.q.shape, case.dtype, name="out")
        more = (none, none, none, out, self.parts, self.stats, self.counts, self.results, self.slots, self.epochs)
        sizes = (case.m, case.width, case.pages, 0, self.rank_stride, case.scale, 0.0)
        constants = {
            "Q_LEN": case.q_len,
            "HEADS": case.heads,
            "KV_HEADS": case.kv_heads,
            "DIM": case.head_dim,
            "D0": case.head_dim,
            "D1": 0,
            "TURNED": 0,
        }
        constants |= {
            "PAGE": case.page,
            "ROWS": ROWS,
            "FEW_ROWS": 2,
            "SLICE": 32 if self.together and self.team.size == 1 else case.head_dim,
            "BLOCK": 16,
            "PROGRAMS": PROGRAMS,
            "SEQS": 4,
            "MANY": False,
            "LEAST": 1,
            "COST": 1,
            "SIDE": case.kv_heads,
        }
        constants |= {name: False for name in ("WINDOW", "CAPPED", "SINKS", "SCALED", "TOLD")}
        self.kernel[(PROGRAMS,)](
            q,
            q,
            keys,
            values,
            table,
            lengths,
            ends,
            *more,
            *sizes,
            **constants,
            TOGETHER=self.together,
            BLOCKS=False,
            RANKS=self.team.size,
            POLLS=2,
            num_warps=2,
        )
        return out


def calls(team, cases, kernel, together=False, made=0):
    """A call for each case, behind `made` earlier ones."""
    launches, outs = Launches(team, cases[0], kernel, together, made), []
    moved = team.local_from_array
    for c in cases:
        arrays = (c.q, c.keys[team.rank], c.values[team.rank], c.tables[team.rank], c.lengths[team.rank], c.ends[team.rank])
        outs.append(launches(*map(moved, arrays)))
    return [np.array(out) for out in outs]


def cases_of(ranks, count, kv_heads=1):
    """Of other lengths each time: first unlike ones, whose items and runs do not begin together."""
    return [Case(ranks=ranks, m=2, heads=2, kv_heads=kv_heads, width=3, seed=seed) for seed in (3, 9, 2, 0, 1, 10)[:count]]


def kernel_of(folder, *changes):
    return imported(folder, FILES, ["flash_decode.flash_decode"], *changes)[0].flash_decode


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("ranks, kv_heads", [(1, 1), (3, 1), (2, 2)])
def test_as_it_is(tmp_path, ranks, kv_heads, together):
    """Two heads have programs side by side."""
    cases, kernel = cases_of(ranks, 4, kv_heads), kernel_of(tmp_path)
    for seed in range(4):
        result = tandem.launch(lambda team: calls(team, cases, kernel, together), ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for outs in result.values:
            for case, out in zip(cases, outs):
                assert error(out, case.result()) < 2e-3


@pytest.mark.parametrize("made", [2**31 - 3, 2**32 - 4])
def test_more_calls_than_packets_count(tmp_path, made):
    """What flags say of a call has 32 bits."""
    cases, kernel = cases_of(2, 6), kernel_of(tmp_path)
    result = tandem.launch(lambda team: calls(team, cases, kernel, made=made), ranks=2, check=True)
    assert result.reports == []
    for outs in result.values:
        for case, out in zip(cases, outs):
            assert error(out, case.result()) < 2e-3


@pytest.mark.parametrize("together, name", [(False, name) for name in PLANTED] + [(True, name) for name in TOGETHER])
def test_planted_errors(tmp_path, together, name):
    change, kinds, line = (TOGETHER if together else PLANTED)[name]
    cases, kernel = cases_of(2, 4), kernel_of(tmp_path, *(change if isinstance(change, list) else [change]))
    found = []
    for seed in range(12):
        try:
            result = tandem.launch(
                lambda team: calls(team, cases, kernel, together),
                ranks=2,
                seed=seed,
                check=True,
                policy="slowest-rank" if seed % 2 else "random",
            )
            found = result.reports
            wrong = [error(np.nan_to_num(out.astype(float)), case.result()) for outs in result.values for case, out in zip(cases, outs)]
            if not found and max(wrong) > 2e-3:
                found = [{"kind": "wrong result", "text": str(wrong)}]
        except tandem.SimulationError as caught:
            found = caught.reports
        if found:
            break
    assert found, "not found"
    assert re.search(kinds, found[0]["kind"]) and line in found[0]["text"], found[0]["text"]


@pytest.mark.parametrize("together", [False, True])
def test_every_schedule(tmp_path, together):
    kernel, case = kernel_of(tmp_path), Case(ranks=2, m=1, heads=1, kv_heads=1, width=2)
    proof = tandem.explore(lambda team: calls(team, [case], kernel, together), ranks=2, exhaustive=True, limit=20_000)
    assert proof.proven, str(proof)
