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
LINK = "tilelink/parts.py"
FILES = [KERNEL, "device/calls.py", "device/packed.py", "device/tiles.py"]
BLOCK, N, K = 16, 32, 16
TILE = BLOCK * BLOCK

STORE = "peers.store([0 if COPIED else owner, link.part_place(channel, owner, local) * BLOCK_M, 0], part)"
SENT = "link.part_notify(channel, owner, local)"
TELL = 'dl.notify(channel.ready + local * peers + slot, owner, signal=channel.call, sig_op="set", comm_scope="intra_node")'
AWAIT = 'token = dl.wait(channel.ready + local * peers, peers, "sys", "acquire", waitValue=channel.call, compare="ge")'
BEGUN = 'return dl.wait(channel.begun, dl.num_ranks(), "sys", "acquire", waitValue=channel.call, compare="ge")'
BEGIN = "rank_notify(channel, (dl.rank() + distance) % dl.num_ranks())"
SLOT = "return rank - tl.where(rank > owner, 1, 0)"
BROUGHT = 'dl.notify(channel.brought + local // channel.turn * peers + slot, dl.rank(), signal=1, sig_op="add", comm_scope="intra_node")'
BACK = 'dl.notify(channel.ready + slot, dl.rank(), signal=0, sig_op="set", comm_scope="intra_node")'
THERE = 'token = dl.wait(channel.ready, peers, "sys", "acquire", waitValue=turns, compare="ge")'
PART, STORED, COPIED = "part = tl.load(arrived + ", "peers.store([0 if COPIED else owner", "stream.copy(parts.peer("
EPOCH = "        tl.store(epoch_ptr, call)\n"
DONE = "        tl.store(done_ptr, 0)\n"


COUNT = '            stream.signal_wait(brought[word : word + 1], count, "ge")\n'
COUNTED = "            stream.signal_write(brought[word : word + 1], 0)\n"
COPY = "stream.copy(parts.peer(peer)[to : to + count], made[source : source + count])"
COPY_TOLD = "stream.signal_write(ready.peer(peer)[slot : slot + 1], number + 1)"


def swapped(first, second):
    """Two statements that follow one another, at one depth."""
    between = "\n" + " " * 12
    return first + between + second, second + between + first


# The name; True where copy engines take the parts; the file; the text and what stands in its place; words of the kinds of reports; parts of
# lines that the report names.
PLANTED = {
    "no wait for parts": (False, LINK, AWAIT, "token = 0", "race", [PART, STORED]),
    "parts told of before they are stored": (False, KERNEL, *swapped(STORE, SENT), "race", [PART, STORED]),
    "parts told of to the GPU alone": (False, LINK, TELL, TELL.replace("intra_node", "gpu"), "scope", [TELL[:30]]),
    "parts awaited on the GPU alone": (False, LINK, AWAIT, AWAIT.replace('"sys"', '"gpu"'), "scope|race", [AWAIT[:30]]),
    "a wait that acquires nothing": (False, LINK, AWAIT, AWAIT.replace("acquire", "relaxed"), "race", [PART, STORED]),
    "the number of the call before": (False, LINK, AWAIT, AWAIT.replace(".call", ".call - 1"), "race", [PART, STORED]),
    "one part too few": (False, LINK, AWAIT, AWAIT.replace(", peers,", ", peers - 1,"), "race", [PART, STORED]),
    "a part at another rank's place": (False, LINK, SLOT, "return owner % (dl.num_ranks() - 1)", "race|deadlock", []),
    "the signal of another tile": (False, LINK, TELL, TELL.replace("local * peers + slot", "slot"), "deadlock|race", []),
    "no wait for the peers' beginning": (False, LINK, BEGUN, BEGUN.replace("channel.call", "0"), "race", [STORED, PART]),
    "a beginning that one rank is not told": (False, LINK, BEGIN, BEGIN.replace("distance", "distance // 2"), "deadlock", [BEGUN]),
    "a beginning of the call before": (False, LINK, BEGUN, BEGUN.replace(".call", ".call - 1"), "race", [STORED, PART]),
    "calls with one number": (False, KERNEL, EPOCH, "        pass\n", "race", []),
    "a count that is not put back": (False, KERNEL, DONE, "", "race", []),
    "a tile counted before it is stored": (True, KERNEL, *swapped(STORE, SENT), "race", [STORED]),
    "tiles counted without release": (
        True,
        LINK,
        BROUGHT,
        'tl.atomic_add(channel.brought + local // channel.turn * peers + slot, 1, sem="relaxed")',
        "race",
        [STORED],
    ),
    "turns that are not put back": (True, LINK, BACK, "pass", "race|signal-misuse", []),
    "no wait for a turn": (True, LINK, THERE, "token = 0", "race", [PART, COPIED]),
    "a turn too few": (True, LINK, THERE, THERE.replace("waitValue=turns", "waitValue=turns - 1"), "race", [PART, COPIED]),
    "a copy that waits for nothing": (True, LINK, COUNT, "", "race|signal-misuse", []),
    "a copy that is told of before": (True, LINK, *swapped(COPY, COPY_TOLD), "race", []),
    "counts that are not put back": (True, LINK, COUNTED, "", "race|signal-misuse", []),
    "a copy to another rank's place": (True, LINK, "slot * tiles + first", "first", "race|deadlock", []),
}


def planted(folder, *changes):
    """The kernel and the channel, with these changes."""
    module, link = imported(folder, FILES, ["gemm_rs.gemm_rs", "tilelink"], *changes)
    return module.gemm_rs, link


def operands(ranks, rank, m, call):
    draw = np.random.default_rng((rank, call))
    return [draw.integers(-1, 2, shape).astype(np.float32) for shape in ((m, K), (K, N))]


def calls(team, kernel, link, cases, copied, programs=2, turn=1):
    """What the operator queues: calls of these numbers of rows, each checked."""
    ranks, rank, peers = team.size, team.rank, team.size - 1
    most = max(cases)
    tiles = -(-shard_rows(most, ranks) // BLOCK) * (N // BLOCK)
    parts = team.zeros((peers * tiles, TILE), "fp32", name="parts")
    outgoing = team.local_from_array(np.zeros((peers * tiles, TILE), np.float32), name="outgoing")
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
            link.rank_copy_parts(team, beside, parts, outgoing, ready, brought, of_shard, turn)
            team.stream.wait_event(beside.record_event())
        team.synchronize()
        wanted = sum(x @ y for x, y in (operands(ranks, r, m, call) for r in range(ranks)))[rank * shard :][:own]
        np.testing.assert_array_equal(np.array(out)[:own], wanted)


def run(kernel, link, copied, seed, ranks=3, cases=(48, 40, 96, 48)):
    """The reports; None where a result is wrong."""
    try:
        return tandem.launch(lambda team: calls(team, kernel, link, cases, copied), ranks=ranks, seed=seed, check=True).reports
    except tandem.SimulationError as error:
        return error.reports
    except AssertionError:
        return None


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("copied", [False, True])
def test_as_it_is(tmp_path, copied, ranks):
    made = planted(tmp_path)
    for seed in range(5):
        assert run(*made, copied, seed, ranks=ranks) == []


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors(tmp_path, name):
    copied, file, old, new, kinds, lines = PLANTED[name]
    made = planted(tmp_path, (file, old, new))
    results = (run(*made, copied, seed) for seed in range(12))
    report = next((reports for reports in results if reports != []), [])
    assert report != [], "not found"
    if report is None:
        return
    assert re.fullmatch(kinds, report[0]["kind"]), report[0]["text"]
    for line in lines:
        assert line in report[0]["text"], report[0]["text"]


def test_every_schedule(tmp_path):
    """Two ranks, one program each, a tile for the peer and one of their own, in two calls."""
    made = planted(tmp_path)
    proof = tandem.explore(lambda team: calls(team, *made, [2, 2], False, programs=1), ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)
