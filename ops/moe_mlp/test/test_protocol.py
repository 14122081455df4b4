"""Errors planted in the protocols of ag_moe, moe_rs and moe_ar, in their kernels and on the host: every one is reported, at its lines; as
they are, they are right, of a small instance under every schedule."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))
sys.path.insert(0, str(pathlib.Path(__file__).parent))

import protocol
from test_moe import Case, rows_on

import tandem

SUMS = "moe_rs/sums.py"
GEMM, RS, ARRIVALS, ROUTE = "grouped_gemm/grouped_gemm.py", "moe_rs/moe_rs.py", "device/gathering.py", "route/blocks.py"
LINK = "tilelink/streams.py"
ORDER = "ag_moe/ag_moe.py"
AR, TELL = "all_reduce/two_shot.py", "device/signals.py"
TAKEN_ITEM = "item = take(taken_ptr)\n"
TO = "                to = dl.symm_at(parts_ptr, owner) + slot * shard\n"
BROUGHT = '                there = dl.wait(brought_ptr + part, 1, "gpu", "acquire", waitValue=tiles, compare="ge")\n'
STORED = "        tl.store(c_ptrs, result, mask=(m_range < end)[:, None] & (n_range[None, :] < column_end))\n"
COUNTED_TILE = '        if COUNTED:\n            dl.notify(brought_ptr + part, rank, signal=1, sig_op="add", comm_scope="gpu")\n'
RESET_TILES = (
    '        for part in range(parts):\n            dl.notify(brought_ptr + part, rank, signal=0, sig_op="set", comm_scope="gpu")\n'
)
TOLD = '                dl.notify(signal + slot, owner, signal=call, sig_op="set", comm_scope="intra_node")\n'
ARRIVED = 'last - tl.minimum(known, rank), "sys", "acquire", waitValue=1, compare="ge")'
SOURCE = "            source = arrived(source, ready_ptr, rank, ranks, known, turn)\n"
BLOCKS = "tl.where(here == total, all_blocks, here // BLOCK)"
RESET = "                shmem.signal_op(channel.words + band, 0, shmem.NVSHMEM_SIGNAL_SET, rank)\n"
MEETING = "            shmem.signal_wait_until(done + peer, shmem.NVSHMEM_CMP_GE, call)\n"
CALL = "    call = tl.load(epoch_ptr) + 1\n"
ENDING = "    call = tl.load(channel.words - 2) + 1\n"
BEGUN = '        token = dl.wait(begun_ptr, RANKS, "sys", "acquire", waitValue=call, compare="ge")\n'
RESET_ITEMS = "        tl.store(taken_ptr, 0)\n"
OWN = '                token = dl.wait(signal, RANKS - 1, "sys", "acquire", waitValue=call, compare="ge")\n'

UNREADY = "race|uninitialised"
# What reports name: the reads of rows, of slots and of the peers' sums, and what was written there.
ROWS = ["tl.load(a_ptrs", "self.beside.copy(there, x)"]
SLOTS = ["results = tl.load(rows_ptr", "tl.store(c_ptrs, result"]
# Sums copy both by threads of their own, and read them behind their wait.
BROUGHT_SLOTS = ["cp_async(dl.smem_get_ptr", "tl.store(c_ptrs, result"]
PARTS = ["cp_async(dl.smem_get_ptr"]
SENT = "st_vector(to_ptr + at"
SIGNALS = ["dl.notify(signal + slot", "dl.wait(signal, RANKS - 1"]

# The name; the change of the kernels or what the host does; words of the kinds of reports; texts of lines that reports name, of a tuple
# one.
GATHER = {
    "wait dropped": ((GEMM, SOURCE, "            pass\n"), "race", ROWS),
    "one shard too few": ((GEMM, SOURCE, SOURCE.replace("turn)", "tl.maximum(turn - 1, known))")), "race", ROWS),
    "first instead of last shard": ((ROUTE, BLOCKS, "tl.cdiv(here, BLOCK)"), "race", ROWS),
    "relaxed wait": ((ARRIVALS, ARRIVED, ARRIVED.replace("acquire", "relaxed")), "race", ROWS),
    "narrow wait": (
        (ARRIVALS, ARRIVED, ARRIVED.replace("sys", "gpu")),
        "scope",
        ["tl.minimum(known, rank)", "self.beside.signal_write(signal, 1)"],
    ),
    "stale wait": ((ARRIVALS, ARRIVED, ARRIVED.replace("waitValue=1", "waitValue=0")), "race", ROWS),
    "reset omitted": ((LINK, RESET, ""), "race", ROWS),
    "meeting left out": ((LINK, MEETING, ""), "race", ROWS),
    "stale epoch": ((LINK, ENDING, ENDING.replace(" + 1", "")), "race", ROWS),
    "ended by the last but one": (
        (GEMM, "link.call_ends(channel, PROGRAMS)", "link.call_ends(channel, PROGRAMS - 1)"),
        "race|signal-misuse",
        [("tl.store(channel.words - 1, 0)", "signal_op(channel.words + band, 0"), ("tl.atomic_add(channel.words", "dl.wait(words_ptr")],
    ),
    "signal before copy": ("signal first", "race", ROWS),
    "wrong slot": ("wrong slot", "race", ROWS),
}
IN_ORDER = "            source = arrived(x_ptr, ready_ptr, rank, ranks, 0, tl.load(words + 3))\n"
ORDERED_ROWS = ["tl.load(from_ptrs", "self.beside.copy(there, x)"]
ORDERED = {
    "wait dropped": ((ORDER, IN_ORDER, "            source = x_ptr\n"), "race", ORDERED_ROWS),
    "one shard too few": ((ORDER, IN_ORDER, IN_ORDER.replace("words + 3)", "words + 3) - 1")), "race", ORDERED_ROWS),
    "ended by the last but one": (
        (ORDER, "link.call_ends(channel, PROGRAMS)", "link.call_ends(channel, PROGRAMS - 1)"),
        "race|signal-misuse",
        [("tl.store(channel.words - 1, 0)", "signal_op(channel.words + band, 0"), ("tl.atomic_add(channel.words", "dl.wait(words_ptr")],
    ),
    **{
        name: (change, kinds, ORDERED_ROWS if lines is ROWS else lines)
        for name, (change, kinds, lines) in GATHER.items()
        if name not in ("wait dropped", "one shard too few", "ended by the last but one")
    },
}
UNHELD = "race|uninitialised"
COPIED = [("cp_async(dl.smem_get_ptr", "ld_vector(dl.smem_get_ptr")]
WAITED_PAIR = "            cp_async_wait_group(RING - 2)\n"
NEXT_PLACE = "            behind = tl.where(place == (RING - 1) * COLUMNS, 0, place + COLUMNS)\n"
TABLE_MEETS = "        dl.smem_store(weights, weight, [table + i])\n    __syncwarp()\n"
SCATTER = {
    "slots not awaited": ((RS, BROUGHT, "                there = 0\n"), "race", BROUGHT_SLOTS),
    "one tile too few": ((RS, BROUGHT, BROUGHT.replace("=tiles", "=tiles - 1")), "race", BROUGHT_SLOTS),
    "relaxed wait for slots": ((RS, BROUGHT, BROUGHT.replace("acquire", "relaxed")), "race", BROUGHT_SLOTS),
    "slots of another part": ((RS, BROUGHT, BROUGHT.replace("brought_ptr + part", "brought_ptr")), "race", BROUGHT_SLOTS),
    "tiles told before they are stored": ((GEMM, STORED + COUNTED_TILE, COUNTED_TILE + STORED), "race", BROUGHT_SLOTS),
    "tiles not counted anew": ((RS, RESET_TILES, ""), "race", BROUGHT_SLOTS),
    "sums not awaited": (
        "sums not awaited",
        UNREADY,
        [
            (
                "tl.store(c_ptrs, result",
                "cp_async(dl.smem_get_ptr",
                "st(out_ptr + ",
                "team.stream.copy(kept",
                "fits = (tl.load(route_ptr",
                "place = ld(place_ptr",
                "weight = ld(by_ptr",
            )
        ],
    ),
    "begun not awaited": ((RS, BEGUN, "        token = 0\n"), "race", [*PARTS, SENT]),
    "sum told before it is stored": ((RS, TO, TO + TOLD), UNREADY, PARTS),
    "narrow signal": ((RS, TOLD, TOLD.replace("intra_node", "gpu")), "scope", SIGNALS),
    "own sums do not wait": ((RS, OWN, "                token = 0\n"), UNREADY, PARTS),
    "relaxed wait for sums": ((RS, OWN, OWN.replace("acquire", "relaxed")), UNREADY, PARTS),
    "one peer too few": ((RS, OWN, OWN.replace("RANKS - 1", "RANKS - 2")), UNREADY, PARTS),
    "stale signal": ((RS, OWN, OWN.replace("=call", "=call - 1")), UNREADY, PARTS),
    "wrong slot": ((RS, "slot = rank - tl.where(rank > owner, 1, 0)", "slot = tl.where(rank > owner, 1, 0)"), "race", [SENT]),
    "items not counted anew": ((RS, RESET_ITEMS, ""), "deadlock", ["dl.wait(begun_ptr"]),
    "reset by the last but one": (
        (RS, "tl.num_programs(0)):", "tl.num_programs(0) - 1):"),
        "race",
        ["tl.store(taken_ptr, 0)", "tl.atomic_add(taken_ptr"],
    ),
    "stale epoch": ((RS, CALL, CALL.replace(" + 1", "")), UNREADY, PARTS),
    "items taken by several": ((RS, "        " + TAKEN_ITEM, "        item += 1\n"), "race", [(SENT, "dl.notify(signal")]),
    "copies not awaited": ((SUMS, WAITED_PAIR, ""), UNHELD, COPIED),
    "one copy too few awaited": ((SUMS, WAITED_PAIR, WAITED_PAIR.replace("RING - 2", "RING - 1")), UNHELD, COPIED),
    "all rows in one place": ((SUMS, "ring_begin + i * COLUMNS,", "ring_begin,"), UNHELD, COPIED),
    "rows of the pair in one place": ((SUMS, NEXT_PLACE, "            behind = place\n"), UNHELD, COPIED),
    "copies that go on": ((SUMS, "    cp_async_wait_group(0)\n", ""), "race|unfinished-bulk-copy", ["cp_async(dl.smem_get_ptr"]),
    "a table not met at": ((SUMS, TABLE_MEETS, TABLE_MEETS.replace("    __syncwarp()\n", "")), UNHELD, ["dl.smem_store("]),
}

EPOCH = "    epoch = tl.load(epoch_ptr + pid) + 1\n    signals = pid * most_steps * RANKS\n    shard = tl.cast(shard, tl.int64)\n    steps"
COUNTED = "DIRECT)\n    tl.store(epoch_ptr + pid, epoch)\n"
TOTAL = '    token = dl.wait(ready_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")\n    parts ='
TAKEN = '    token = dl.wait(done_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")\n    if not DIRECT'
PUSHED = "        copy_range(x_ptr + first, dl.symm_at(parts_ptr, owner) + rank * shard + start, count, TILE)\n"
TELL_PARTS = "    tell_all(ready_ptr + rank, epoch, RANKS)\n"
PUSH = (
    "    for step in range(1, RANKS):\n        owner = (rank + step) % RANKS\n        first = owner * shard + start\n"
    "        count = tl.minimum(tl.minimum(shard - start, n - first), chunk).to(tl.int32)\n" + PUSHED
)
PUSHES = ["tl.store(dest_ptr + ", "part = tl.load(parts_ptr"]
TAKES = ["tl.load(source_ptr + ", "tl.store(target + first, value"]
REDUCE = {
    "slots not awaited": ("slots not awaited", "race", SLOTS),
    "own sums not awaited": ("own sums not awaited", "race", ["tl.store(to, total", ("tl.load(source_ptr + ", "own = tl.load(x_ptr")]),
    "parts not awaited": ((AR, TOTAL, "    token = 0\n    parts ="), UNREADY, PUSHES[1:]),
    "one rank's parts too few": ((AR, TOTAL, TOTAL.replace("RANKS", "RANKS - 1")), UNREADY, PUSHES[1:]),
    "relaxed wait for parts": ((AR, TOTAL, TOTAL.replace("acquire", "relaxed")), "race", PUSHES),
    "stale parts": ((AR, TOTAL, TOTAL.replace("=epoch", "=epoch - 1")), UNREADY, PUSHES[1:]),
    "parts told before they are there": ((AR, PUSH + TELL_PARTS, TELL_PARTS + PUSH), UNREADY, PUSHES[1:]),
    "parts in a wrong slot": ((AR, PUSHED, PUSHED.replace("rank * shard", "owner * shard")), UNREADY, [tuple(PUSHES)]),
    "sums not taken": ((AR, TAKEN, "    token = 0\n    if not DIRECT"), UNREADY, TAKES[:1]),
    "relaxed wait for sums": ((AR, TAKEN, TAKEN.replace("acquire", "relaxed")), "race", TAKES),
    "stale epoch": ((AR, EPOCH, EPOCH.replace(" + 1", "")), UNREADY, PUSHES[1:]),
    "calls not counted": ((AR, COUNTED, "DIRECT)\n"), "race", [tuple(PUSHES + TAKES)]),
    "narrow signals": ((TELL, 'scope="sys"', 'scope="gpu"'), "scope|race", ["st(dl.symm_at(signal_ptr, peer)"]),
}

# Of fp8: the rows of x travel with their scales, before one signal, and those of the first product's result go to the second one.
OF_RESULT = "            tl.store(out_scales_ptr + at_scale, largest / LARGEST, mask=m_range < end)\n"
OWN_SCALES = "                    a_scale_row += tl.where(is_of_shard(slot // TOP_K, rank, shard_rows), apart_scales, 0)\n"
READ = [("tl.load(a_scale_ptrs", "tl.load(a_ptrs")]
SCALED_GATHER = {
    "own ones where the others arrive": ((GEMM, OWN_SCALES, "                    a_scale_row += 0\n"), "uninitialised", ["a_scale_ptrs"]),
    "relaxed wait": (GATHER["relaxed wait"][0], UNREADY, READ),
    "narrow wait": GATHER["narrow wait"],
    "stale wait": (GATHER["stale wait"][0], UNREADY, READ),
    "reset omitted": GATHER["reset omitted"],
    "signal before copy": ("signal first", UNREADY, READ),
    "first instead of last shard": ((ROUTE, BLOCKS, "tl.cdiv(here, BLOCK)"), UNREADY, READ),
    "scales behind the signal": ("scales behind the signal", UNREADY, ["tl.load(a_scale_ptrs"]),
    "scales in a wrong slot": ("scales in a wrong slot", UNREADY, ["tl.load(a_scale_ptrs"]),
    "the result's behind its rows' end": (
        (GEMM, OF_RESULT, OF_RESULT.replace("m_range < end", "m_range < slots")),
        "race",
        ["largest / LARGEST"],
    ),
}
# By rows in registers.
IN_REGISTERS = {"cp_async(dl.smem_get_ptr": "results = tl.load(rows_ptr", SENT: "tl.store(item.to_ptr + at"}
FEW = {
    name: (change, kinds, [IN_REGISTERS.get(line, line) for line in lines] if lines != PARTS else ["total += tl.load(item.to_ptr"])
    for name, (change, kinds, lines) in SCATTER.items()
    if change[0] in (RS, GEMM) and name not in ("begun not awaited", "items taken by several")
}
SCALED_SCATTER = {
    "scales not awaited": ("scales not awaited", "race|uninitialised", ["tl.load(a_scale_ptrs"]),
    **{name: SCATTER[name] for name in ("slots not awaited", "narrow signal", "own sums do not wait", "one peer too few")},
    **{name: SCATTER[name] for name in ("stale signal", "wrong slot", "stale epoch")},
}
ERRORS = {
    "gather": GATHER,
    "ordered": ORDERED,
    "scatter": SCATTER,
    "few scatter": FEW,
    "reduce": REDUCE,
    "scaled gather": SCALED_GATHER,
    "scaled scatter": SCALED_SCATTER,
}


def cases(ranks, calls, dtype="fp32"):
    """The first call has the most tiles."""
    kinds = ["uniform", "zipf", "dropped"]
    return [Case(ranks, 12 * ranks, 32, 16, 3, 2, kinds[i % 3], seed=i, dtype=dtype) for i in range(calls)]


def reports_of(half, ranks, kernels, host, seed):
    given = cases(ranks, 3, "fp8e4nv" if "scaled" in half else "fp32")

    def main(team):
        return protocol.calls(team, given, kernels, (*host, *half.split()[:-1]), half.split()[-1])

    try:
        return tandem.launch(main, ranks=ranks, seed=seed, check=True, policy="slowest-rank" if seed % 2 else "random").reports
    except tandem.SimulationError as error:
        return error.reports


@pytest.mark.parametrize("half", ["gather", "ordered", "scatter", "few scatter", "reduce", "both"])
@pytest.mark.parametrize("ranks", [2, 3])
def test_as_they_are(tmp_path, half, ranks):
    given, kernels = cases(ranks, 3), protocol.kernels(tmp_path)
    *host, half = half.split()
    for seed in range(4):
        run = tandem.launch(lambda team: protocol.calls(team, given, kernels, host, half), ranks=ranks, seed=seed, check=True)
        assert run.reports == []
        if half not in ("gather", "ordered"):
            for rank, outs in enumerate(run.values):
                for case, out in zip(given, outs):
                    result = case.result()
                    np.testing.assert_array_equal(out, result if half == "reduce" else rows_on(rank, case.sizes[0], ranks, result))


def test_rows_in_order_arrive_before_the_product_is_queued(tmp_path):
    given, kernels = cases(3, 2), protocol.kernels(tmp_path)
    run = tandem.launch(lambda team: protocol.calls(team, given, kernels, ("loads the product",), "ordered"), ranks=3, check=True)
    assert run.reports == []


@pytest.mark.parametrize("half", ["scaled gather", "scaled scatter", "scaled both"])
def test_scales_as_they_are(tmp_path, half):
    kernels = protocol.kernels(tmp_path)
    for seed in range(3):
        assert reports_of(half, 3, kernels, (), seed) == []


@pytest.mark.parametrize("half, name", [(half, name) for half, errors in ERRORS.items() for name in errors])
def test_planted_errors(tmp_path, half, name):
    change, kinds, lines = ERRORS[half][name]
    is_host = isinstance(change, str)
    kernels = protocol.kernels(tmp_path, *([] if is_host else [change]))
    for seed in range(12):
        reports = reports_of(half, 3, kernels, (change,) if is_host else (), seed)
        if reports:
            break
    assert reports, "not found"
    report = reports[0]
    assert re.search(kinds, report["kind"]), report["text"]
    for line in lines:
        assert any(text in report["text"] for text in (line if isinstance(line, tuple) else (line,))), report["text"]


@pytest.mark.parametrize("half", ["gather", "ordered", "scatter", "few scatter", "reduce"])
def test_every_schedule(tmp_path, monkeypatch, half):
    """The smallest instance with a block that needs both ranks."""
    *host, half = half.split()
    if half == "scatter":
        monkeypatch.setattr(protocol, "PROGRAMS", 1)
        monkeypatch.setattr(protocol, "COMBINERS", 1)
    kernels = protocol.kernels(tmp_path)
    case = Case(2, 2, 16, 16, 1, 1)
    proof = tandem.explore(lambda team: protocol.calls(team, [case], kernels, host, half), ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)


def test_sums_by_atomics_are_said_to_depend_on_the_schedule(tmp_path, monkeypatch):
    """Of slots in whichever order tiles end, where the operator has them in their own: what is stored of their sums differs."""
    monkeypatch.setattr(protocol, "COMBINERS", 1)  # who takes which item does not
    place = "out_ptr + (to % 4)[:, None] * row_columns + n_range[None, :]"
    added = STORED.replace("tl.store(c_ptrs, result", f"tl.atomic_add({place}, result * 0.1")
    case = Case(2, 24, 16, 16, 3, 2)
    for changes in ((), ((GEMM, STORED, added),)):
        kernels = protocol.kernels(tmp_path / str(len(changes)), *changes)
        found = tandem.explore(lambda team, kernels=kernels: protocol.calls(team, [case], kernels, (), "scatter"), ranks=2)
        assert found.deterministic == (not changes)
    assert re.search(r"sums.py:\d+:\d+: error: schedule-dependent: this store writes other bytes", found.difference), found.difference
