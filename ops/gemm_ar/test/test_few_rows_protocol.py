"""Errors planted in the kernel of products of few rows, for each kind and each way to sum: every one is found; as it is, it is right."""

import math
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported

import tandem
from tandem.ops import rows_of_rank, shard_rows

KERNEL, CHANNELS = "gemm_ar/gemm_ar.py", "device/few_rows.py"
LINK = "tilelink/sums.py"
FILES = [KERNEL, CHANNELS, *(f"device/{name}.py" for name in ("calls", "signals", "marks", "packets", "tiles"))]
BM, BN, BK, CHUNK, PROGRAMS, N, K = 16, 16, 16, 64, 3, 32, 80
KINDS = {"gather": ("gather", "packets"), "scatter": ("scatter", "packets")}
STORED = ("one shot", "two shots")
KINDS |= {way: ("reduce", way) for way in ("packets", *STORED)}

BEGUN = 'token = dl.wait(self.begun, self.ranks, "sys", "acquire", waitValue=self.call'
TOLD = "tell_all(begun_ptr + rank, epoch, RANKS)"
ROWS = "tl.store(dl.symm_at(dest_ptr, (rank + step) % self.ranks) + at, values, mask=at < count)"
BROUGHT = "brought = (chunks - pid + programs - 1) // programs"
COUNTED = 'signal=brought, sig_op="add", comm_scope="intra_node"'
GATHERED = 'dl.wait(self.ready, 1, "sys", "acquire", waitValue=self.chunks'
RESET = 'dl.notify(ready_ptr, rank, signal=0, sig_op="set", comm_scope="intra_node")'
PART_TOLD = 'dl.notify(counted_ptr + pid, rank, signal=epoch, sig_op="set", comm_scope="gpu")'
PARTS_THERE = 'token = dl.wait(counted_ptr + pid + 1, until - pid - 1, "gpu", "acquire", waitValue=epoch'
PART = "tl.store(at + pid.to(tl.int64) * (BM * BN), acc)"
ENDS = "if is_last_of(ended_ptr, programs):"
OWNER = "slot = ((rank - owner) * self.shard_rows + row).to(tl.int64)"
ENDED = "epoch = dl.consume_token(epoch, dl.wait(begun_ptr, RANKS"
SET = "packets_ptr += (epoch % 2) * set_packets"
PARTS_SET = "parts_ptr += (epoch % 2) * RANKS * set_elements"
READY = 'dl.wait(self.ready + tile * self.ranks, self.ranks, "sys", "acquire", waitValue=self.call'
DONE = 'dl.wait(self.done + tile, 1, "sys", "acquire", waitValue=self.call'
BEHIND = "store_sum(sums, grid, c_ptr, pid + (nth - FLIGHTS) * programs)"
SENT = "sent = pid + (nth - 1) * programs"
REST = "for tile in range(pid + behind(jobs, rounds, FLIGHTS, BEHIND) * programs"
TO_OWNER = 'dl.notify(signal, owner, signal=self.call, sig_op="set", comm_scope="intra_node"'


def earlier(text):
    return re.sub(r"(waitValue=[\w.]+)", r"\1 - 1", text)


UNREADY = "race|wrong|uninitialised-read"
# The name; the kind; the change; the kinds of reports, or of results.
PLANTED = {
    "rows before all have begun": ("gather", (CHANNELS, BEGUN, earlier(BEGUN)), "race"),
    "begin not told to one": ("gather", (KERNEL, TOLD, TOLD.replace("RANKS", "RANKS - 1")), "deadlock"),
    "rows not stored at one": ("gather", (CHANNELS, ROWS, ROWS.replace("self.ranks)", "(self.ranks - 1))")), "race|wrong|out-of-bounds"),
    "more counted than brought": ("gather", (CHANNELS, BROUGHT, BROUGHT + " + 1"), "race|wrong|deadlock"),
    "less counted than brought": ("gather", (CHANNELS, BROUGHT, BROUGHT + " - 1"), "deadlock"),
    "narrow count": ("gather", (CHANNELS, COUNTED, COUNTED.replace("intra_node", "gpu")), "scope|race"),
    "product before the last rows": ("gather", (CHANNELS, GATHERED, earlier(GATHERED)), "race"),
    "count not put back": ("gather", (KERNEL, RESET, "pass"), "race|wrong"),
    "parts added before they are there": ("gather", (KERNEL, PARTS_THERE, earlier(PARTS_THERE)), UNREADY),
    "parts added before the last": ("gather", (KERNEL, PARTS_THERE, PARTS_THERE.replace("pid - 1", "pid - 2")), UNREADY),
    "parts not told": ("gather", (KERNEL, PART_TOLD, "pass"), "deadlock"),
    "parts in one slot": ("gather", (KERNEL, PART, PART.replace("pid.to", "(pid * 0).to")), UNREADY),
    "end before the last program's": ("gather", (KERNEL, ENDS, "if pid == 0:"), "race|deadlock|wrong|signal-misuse"),
    "sums to the wrong slot": ("scatter", (CHANNELS, OWNER, OWNER.replace("rank - owner", "-owner")), "wrong|deadlock"),
    "end before all have begun": ("scatter", (KERNEL, ENDED, ENDED.replace("begun_ptr, RANKS", "begun_ptr + rank, 1")), "wrong|deadlock"),
    "one set of packets": ("scatter", (KERNEL, SET, "pass"), "wrong|deadlock"),
    "one set of packets, all sums": ("packets", (KERNEL, SET, "pass"), "wrong|deadlock"),
    "one set of parts": ("one shot", (KERNEL, PARTS_SET, "pass"), "race"),
    "sum before the last part": ("one shot", (LINK, READY, earlier(READY)), "race"),
    "sum before the last part, two shots": ("two shots", (LINK, READY, earlier(READY)), "race"),
    "sums before they are there": ("two shots", (LINK, DONE, earlier(DONE)), "race"),
    "a round not stored": ("one shot", (KERNEL, BEHIND, BEHIND.replace("nth", "tl.minimum(nth, 2)")), "wrong|uninitialised-read"),
    "a round stored too soon": ("two shots", (KERNEL, BEHIND, BEHIND.replace("- FLIGHTS", "- 1")), "deadlock|wrong"),
    "a sum sent too soon": ("two shots", (KERNEL, SENT, SENT.replace("- 1", "")), "deadlock|wrong|race|uninitialised-read"),
    "the rest begun too late": ("two shots", (KERNEL, REST, REST.replace("pid +", "pid + programs +")), "wrong|uninitialised-read"),
    "narrow signal to the owner": ("two shots", (LINK, TO_OWNER, TO_OWNER.replace("intra_node", "gpu")), "scope|race"),
}  # fmt: skip


def inputs(rank, m, call, kind):
    """A of the rank, which is the same on all where it is gathered, and B."""
    draw = lambda shape, *seed: np.random.default_rng([call, *seed]).integers(-4, 5, shape).astype(np.float32)
    return draw((m, K), 9 if kind == "gather" else rank), draw((K, N), rank, 1)


def expected(ranks, rank, m, call, kind):
    products = [a @ b for a, b in (inputs(r, m, call, kind) for r in range(ranks))]
    if kind == "gather":
        return products[rank]
    total, first = sum(products), rank * shard_rows(m, ranks)
    return total if kind == "reduce" else total[first : first + rows_of_rank(m, ranks, rank)]


def calls(team, kernel, kind, way, sizes):
    """A call for each number of rows, as ops/gemm_ar/few_rows.cpp queues it; gives the results."""
    ranks, most, outs = team.size, max(sizes), []
    tiles = -(-most // BM) * (N // BN)
    packets = ranks * most * (N // 4) * 2
    symmetric = lambda shape, dtype, name: team.full(shape, 0, dtype, name=name)
    rows = symmetric((most, K), "float32", "rows")
    parts = symmetric((2, ranks, tiles * BM * BN), "float32", "parts")
    sums = symmetric((tiles * BM * BN,), "float32", "sums")
    slots = team.full((2, packets), -1, "int64", name="packets")
    ready, done, begun = (
        symmetric((count,), "int64", name) for count, name in ((tiles * ranks, "ready"), (tiles, "done"), (ranks, "begun"))
    )
    counted = symmetric((PROGRAMS,), "int64", "counted")
    splits = team.local_empty((PROGRAMS * BM * BN,), "float32")
    ended = team.local_from_array(np.zeros(1, np.int32))
    epochs = team.local_from_array(np.zeros(PROGRAMS, np.int64))
    team.barrier()
    for call, m in enumerate(sizes):
        a, b = inputs(team.rank, m, call, kind)
        shard, mine = shard_rows(m, ranks), rows_of_rank(m, ranks, team.rank)
        own = team.local_from_array(a[team.rank * shard :][:mine] if kind == "gather" else a)
        out = team.local_empty((mine if kind == "scatter" else m, N), "float32")
        steps, left = K // BK, -(-m // BM) * (N // BN) % PROGRAMS
        share = max(math.ceil(left * steps / PROGRAMS), 2)
        whole = rows[:m] if kind == "gather" and ranks > 1 else own
        arguments = (
            whole,
            team.local_from_array(b),
            out,
            own,
            whole,
            parts,
            sums,
            slots,
            splits,
            counted,
            ended,
            ready,
            done,
            begun,
            epochs,
        )
        numbers = (m, N, K, shard, share, steps, tiles * BM * BN, packets)
        constants = {"RANKS": ranks, "KIND": kind, "BM": BM, "BN": BN, "BK": BK, "CUT": left > 0 and share < steps}
        constants |= {"ONE_SHOT": way != "two shots", "PACKETS": 4 if way == "packets" else 0, "ALIGNED": True, "CHUNK": CHUNK, "POLLS": 2}
        constants |= {"BEHIND": way in STORED and ranks > 1 and -(-m // BM) * (N // BN) > PROGRAMS, "GROUP": 2 if way in STORED else 0}
        kernel[(PROGRAMS,)](*arguments, *numbers, **constants, B_BY_COLUMNS=False, DESCRIPTORS=True, num_warps=2)
        outs.append(out)
    return [np.array(out) for out in outs]


def kernels(folder, *changes):
    return imported(folder, FILES, ["gemm_ar.gemm_ar"], *changes)[0].gemm_ar


def run(kernel, name, seed, ranks):
    """The kinds of the reports of a run, or else whether its results are right. Some ranks have no rows in most calls."""
    kind, way = KINDS[name]
    most = 100 if way in STORED else 20  # parts are summed some rounds of tiles behind
    sizes = [most, 1, 1, 2, 1, 20, most][seed % 2 :]
    policy = "slowest-rank" if seed % 3 == 1 else "random"
    try:
        result = tandem.launch(lambda team: calls(team, kernel, kind, way, sizes), ranks=ranks, seed=seed, check=True, policy=policy)
    except tandem.SimulationError as error:
        return error.reports[0]["kind"] if error.reports else str(error)
    if result.reports:
        return result.reports[0]["kind"]
    for rank, outs in enumerate(result.values):
        for call, (m, out) in enumerate(zip(sizes, outs)):
            if not np.array_equal(out, expected(ranks, rank, m, call, kind)):
                return "wrong"
    return "right"


@pytest.mark.parametrize("name", KINDS)
def test_as_it_is(tmp_path, name):
    """20 schedules, dealt to 1 to 4 ranks."""
    kernel = kernels(tmp_path)
    for seed in range(20):
        assert run(kernel, name, seed, 1 + seed % 4) == "right"


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors_are_found(tmp_path, name):
    kind, change, wanted = PLANTED[name]
    kernel = kernels(tmp_path, change)
    found = next((what for what in (run(kernel, kind, seed, 3) for seed in range(16)) if what != "right"), None)
    assert found, "not found"
    assert re.fullmatch(wanted, found), found
