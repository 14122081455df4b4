"""Errors planted in GEMM + ReduceScatter, in its kernel and in what its host queues: every one is found, where parts are stored by programs
and where copy engines take them; as it is, it is right, of a small instance under every schedule."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported

import tandem
from tandem.ops import rows_of_rank, shard_rows

KERNEL = "gemm_rs/gemm_rs.py"
FILES = [KERNEL, "device/calls.py", "device/product.py", "device/tiles.py"]
BLOCK, N, K = 16, 32, 16
TILE = BLOCK * BLOCK

STORE = "peers.store([owner, tl.maximum(slot * shard_tiles + local, 0) * BLOCK_M, 0], part)"
TELL = 'dl.notify(ready_ptr + local * (ranks - 1) + slot, owner, signal=call, sig_op="set", comm_scope="intra_node")'
AWAIT = 'there = dl.wait(ready_ptr + local * (ranks - 1), ranks - 1, "sys", "acquire", waitValue=call, compare="ge")'
BEGUN = 'token = dl.wait(begun_ptr, ranks, "sys", "acquire", waitValue=call, compare="ge")'
BEGIN = 'dl.notify(begun_ptr + rank, (rank + distance) % ranks, signal=call, sig_op="set", comm_scope="intra_node")'
SLOT = "slot = rank - tl.where(rank > owner, 1, 0)"
BRING = "peers.store([0, tl.maximum(nth * shard_tiles + local, 0) * BLOCK_M, 0], part)"
BROUGHT = 'dl.notify(brought_ptr + local // turn * (ranks - 1) + nth, rank, signal=1, sig_op="add", comm_scope="intra_node")'
BACK = 'dl.notify(ready_ptr + slot, rank, signal=0, sig_op="set", comm_scope="intra_node")'
THERE = 'there = dl.wait(ready_ptr, ranks - 1, "sys", "acquire", waitValue=turns, compare="ge")'
PART, STORED, COPIED = "part = tl.load(arrived + ", "peers.store([owner", "stream.copy(parts.peer("
EPOCH = "        tl.store(epoch_ptr, call)\n"
DONE = "        tl.store(done_ptr, 0)\n"


def swapped(first, second):
    """Two statements that follow one another, at one depth."""
    between = "\n" + " " * 16
    return first + between + second, second + between + first


# The name; True where copy engines take the parts; the text and what stands in its place; words of the kinds of reports; parts of lines
# that the report names.
PLANTED = {
    "no wait for parts": (False, AWAIT, "there = 0", "race", [PART, STORED]),
    "parts told of before they are stored": (False, *swapped(STORE, TELL), "race", [PART, STORED]),
    "parts told of to the GPU alone": (False, TELL, TELL.replace("intra_node", "gpu"), "scope", ["dl.notify(ready_ptr + local"]),
    "parts awaited on the GPU alone": (False, AWAIT, AWAIT.replace('"sys"', '"gpu"'), "scope|race", ["there = dl.wait(ready_ptr + local"]),
    "a wait that acquires nothing": (False, AWAIT, AWAIT.replace("acquire", "relaxed"), "race", [PART, STORED]),
    "the number of the call before": (False, AWAIT, AWAIT.replace("waitValue=call", "waitValue=call - 1"), "race", [PART, STORED]),
    "one part too few": (False, AWAIT, AWAIT.replace("ranks - 1,", "ranks - 2,"), "race", [PART, STORED]),
    "a part at another rank's place": (False, SLOT, "slot = owner % (ranks - 1)", "race|deadlock", []),
    "the signal of another tile": (False, TELL, TELL.replace("local * (ranks - 1) + slot", "slot"), "deadlock|race", []),
    "no wait for the peers' beginning": (False, BEGUN, "token = 0", "race", [STORED, PART]),
    "a beginning that one rank is not told": (
        False,
        BEGIN,
        BEGIN.replace("(rank + distance)", "(rank + distance // 2)"),
        "deadlock",
        [BEGUN[8:]],
    ),
    "a beginning of the call before": (False, BEGUN, BEGUN.replace("waitValue=call", "waitValue=call - 1"), "race", [STORED, PART]),
    "calls with one number": (False, EPOCH, "        pass\n", "race", []),
    "a count that is not put back": (False, DONE, "", "race", []),
    "a tile counted before it is stored": (True, *swapped(BRING, BROUGHT), "race", ["peers.store([0"]),
    "tiles counted without release": (
        True,
        BROUGHT,
        'tl.atomic_add(brought_ptr + local // turn * (ranks - 1) + nth, 1, sem="relaxed")',
        "race",
        ["peers.store([0"],
    ),
    "turns that are not put back": (True, BACK, "pass", "race|signal-misuse", []),
    "no wait for a turn": (True, THERE, "there = 0", "race", [PART, COPIED]),
    "a turn too few": (True, THERE, THERE.replace("waitValue=turns", "waitValue=turns - 1"), "race", [PART, COPIED]),
}
# On the host, where copy engines take the parts.
HOST = {
    "a copy that waits for nothing": "race|signal-misuse",
    "a copy that is told of before": "race",
    "counts that are not put back": "race|signal-misuse",
    "a copy to another rank's place": "race|deadlock",
}


def kernels(folder, *changes):
    (module,) = imported(folder, FILES, ["gemm_rs.gemm_rs"], *((KERNEL, old, new) for old, new in changes))
    return module.gemm_rs


def operands(ranks, rank, m, call):
    draw = np.random.default_rng((rank, call))
    return [draw.integers(-1, 2, shape).astype(np.float32) for shape in ((m, K), (K, N))]


def calls(team, kernel, cases, copied, host=None, programs=2, turn=1):
    """What the operator queues: calls of these numbers of rows, each checked."""
    ranks, rank, peers = team.size, team.rank, team.size - 1
    most = max(cases)
    tiles = -(-shard_rows(most, ranks) // BLOCK) * (N // BLOCK)
    parts = team.zeros(peers * tiles * TILE, "fp32", name="parts")
    outgoing = team.local_from_array(np.zeros(peers * tiles * TILE, np.float32), name="outgoing")
    ready = team.zeros(max(peers, 1) * tiles, "int64", name="ready")
    brought, begun = team.zeros(peers * tiles, "int64", name="brought"), team.zeros(ranks, "int64", name="begun")
    epoch, done = team.local_from_array(np.zeros(1, np.int64)), team.local_from_array(np.zeros(1, np.int32))
    first = outgoing if copied else parts.peer(0)
    stride = peers * tiles * TILE if copied else (parts.peer(1).address - parts.peer(0).address) // 4
    beside = team.new_stream()
    for call, m in enumerate(cases):
        shard, own = shard_rows(m, ranks), rows_of_rank(m, ranks, rank)
        of_shard = -(-shard // BLOCK) * (N // BLOCK)
        a, b = (team.local_from_array(x) for x in operands(ranks, rank, m, call))
        out = team.local_from_array(np.full((max(own, 1), N), np.nan, np.float32))
        beside.wait_event(team.stream.record_event())
        numbers = (m, N, K, shard, own, turn, 1 if copied else ranks, peers * tiles * BLOCK, stride)
        kernel[(programs,)](
            a, b, out, parts, first, ready, brought, begun, epoch, done, *numbers,
            BLOCK_M=BLOCK, BLOCK_N=BLOCK, BLOCK_K=BLOCK, GROUP=1, COPIED=copied, PROGRAMS=programs, BLOCKS=True, OUT_BLOCKS=own > 0,
            B_TRANSPOSED=False, stream=team.stream, num_warps=4,
        )  # fmt: skip
        if copied:
            push(team, beside, (parts, outgoing, ready, brought), of_shard, turn, host)
            team.stream.wait_event(beside.record_event())
        team.synchronize()
        wanted = sum(x @ y for x, y in (operands(ranks, r, m, call) for r in range(ranks)))[rank * shard :][:own]
        np.testing.assert_array_equal(np.array(out)[:own], wanted)


def push(team, stream, memory, tiles, turn, host):
    parts, outgoing, ready, brought = memory
    ranks, rank, peers = team.size, team.rank, team.size - 1
    for number, first in enumerate(range(0, tiles, turn)):
        count = min(turn, tiles - first)
        for nth in range(peers):
            peer = (rank + 1 + nth) % ranks
            slot = rank - (rank > peer)
            counted = brought[number * peers + nth :][:1]
            if host != "a copy that waits for nothing":
                stream.signal_wait(counted, count, "ge")
            if host != "counts that are not put back":
                stream.signal_write(counted, 0)
            to = 0 if host == "a copy to another rank's place" else slot
            told = ready.peer(peer)[slot : slot + 1], number + 1
            if host == "a copy that is told of before":
                stream.signal_write(*told)
            span = slice((to * tiles + first) * TILE, (to * tiles + first + count) * TILE)
            stream.copy(parts.peer(peer)[span], outgoing[(nth * tiles + first) * TILE : (nth * tiles + first + count) * TILE])
            if host != "a copy that is told of before":
                stream.signal_write(*told)


def run(kernel, copied, seed, host=None, ranks=3, cases=(48, 40, 96, 48)):
    """The reports; None where a result is wrong."""
    try:
        return tandem.launch(lambda team: calls(team, kernel, cases, copied, host), ranks=ranks, seed=seed, check=True).reports
    except tandem.SimulationError as error:
        return error.reports
    except AssertionError:
        return None


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("copied", [False, True])
def test_as_it_is(tmp_path, copied, ranks):
    kernel = kernels(tmp_path)
    for seed in range(5):
        assert run(kernel, copied, seed, ranks=ranks) == []


def found(kernel, copied, kinds, lines, host=None):
    results = (run(kernel, copied, seed, host) for seed in range(12))
    report = next((reports for reports in results if reports != []), [])
    assert report != [], "not found"
    if report is None:
        return
    assert re.fullmatch(kinds, report[0]["kind"]), report[0]["text"]
    for line in lines:
        assert line in report[0]["text"], report[0]["text"]


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors(tmp_path, name):
    copied, old, new, kinds, lines = PLANTED[name]
    found(kernels(tmp_path, (old, new)), copied, kinds, lines)


@pytest.mark.parametrize("name", HOST)
def test_planted_errors_of_the_host(tmp_path, name):
    found(kernels(tmp_path), True, HOST[name], [], name)


def test_every_schedule(tmp_path):
    """Two ranks, one program each, a tile for the peer and one of their own, in two calls."""
    kernel = kernels(tmp_path)
    proof = tandem.explore(lambda team: calls(team, kernel, [2, 2], False, programs=1), ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)
