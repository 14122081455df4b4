"""Errors planted in AllGather + GEMM, in its kernel and in what its host queues: every one is found; as it is, it is right, of a small
instance under every schedule."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported

import tandem
from tandem.ops import rows_of_rank, shard_rows

KERNEL, PRODUCT, CHANNEL = "ag_gemm/ag_gemm.py", "tilelink/product.py", "tilelink/streams.py"
FILES = [KERNEL, PRODUCT, CHANNEL, "device/calls.py", "device/tiles.py"]
BLOCK, N, K, SLICE = 16, 32, 64, 32  # a slice is two steps of K

AWAIT = "slices_wait(self.channel, self.shard, self.row, step // self.slice_steps + 1)"
WAIT = 'dl.wait(word, 1, "sys", "acquire", waitValue=slices, compare="ge")'
WHEN = "(step == begin) | (step % self.slice_steps == 0)"
BAND = "channel.words + shard * channel.bands + row // channel.band_rows"
BACK = "shmem.signal_op(channel.words + band, 0, shmem.NVSHMEM_SIGNAL_SET, rank)"
ALL_HERE = "shmem.signal_wait_until(channel.words + band, shmem.NVSHMEM_CMP_EQ, slices)"
DONE = "shmem.signal_op(done + rank, call, shmem.NVSHMEM_SIGNAL_SET, peer)"
MEET = "shmem.signal_wait_until(done + peer, shmem.NVSHMEM_CMP_GE, call)"
EPOCH = "    tl.store(channel.words - 2, call)"
LAST, LAST_PIECE = "link.call_ends(channel, PROGRAMS)", "is_last(brought_ptr + (tile - whole), PIECES)"
ENDED, PIECE = "tl.store(channel.words - 1, 0)", "tl.store(parts + piece * stride, sums[0])"
COUNTED = "tl.store(brought_ptr + (tile - whole), 0)"
LOAD, COPY, TOLD, WAITING = "x = a.load([row", "stream.copy(there", "stream.signal_write(", "dl.wait(word"
ADDED = "total += tl.load(parts"

# The name; the file, its text and what stands in its place; words of the kinds of reports; parts of lines that the report names.
# Without kinds only a result is wrong.
PLANTED = {
    "no wait for rows": ((CHANNEL, f"dl.consume_token(place, {AWAIT})", "place"), "race", [LOAD, COPY]),
    "a slice too few": ((CHANNEL, AWAIT, AWAIT.replace(" + 1)", ")")), "race", [LOAD, COPY]),
    "rows awaited on the GPU alone": ((CHANNEL, WAIT, WAIT.replace('"sys"', '"gpu"')), "scope|race", [WAITING, TOLD]),
    "a wait that acquires nothing": ((CHANNEL, WAIT, WAIT.replace("acquire", "relaxed")), "race", [LOAD, COPY]),
    "a wait for the first slice alone": ((CHANNEL, WHEN, "(step == begin)"), "race", [LOAD, COPY]),
    "another band's signal": ((CHANNEL, BAND, "channel.words + shard * channel.bands"), "race", [LOAD, COPY]),
    "another shard's signal": ((CHANNEL, AWAIT, AWAIT.replace("self.shard,", "(self.shard + 1) % dl.num_ranks(),")), "race|deadlock", []),
    "signals that are not put back": ((CHANNEL, BACK, "pass"), "race|signal-misuse|deadlock", []),
    "an end before all is there": ((CHANNEL, ALL_HERE, "pass"), "signal-misuse|race", ["shmem.signal_op(channel.words"]),
    "ranks that do not meet": ((CHANNEL, MEET, "pass"), "race|signal-misuse", []),
    "a rank that is not told": ((CHANNEL, DONE, DONE.replace("SIGNAL_SET, peer", "SIGNAL_SET, rank")), "deadlock", [MEET]),
    "calls with one number": ((CHANNEL, EPOCH, "    pass"), "race|signal-misuse", []),
    "an end by the last program but one": ((KERNEL, LAST, LAST.replace("PROGRAMS", "PROGRAMS - 1")), "race|signal-misuse|deadlock", []),
    "programs that are not counted anew": ((CHANNEL, ENDED, "pass"), "race|signal-misuse|deadlock", []),
    "a tile without its last piece": ((KERNEL, LAST_PIECE, LAST_PIECE.replace("PIECES", "PIECES - 1")), "race", ["tl.store(parts", ADDED]),
    "pieces at one place": ((KERNEL, PIECE, "tl.store(parts, sums[0])"), "race", ["tl.store(parts, sums[0])"]),
    "pieces that are not counted anew": ((KERNEL, COUNTED, "pass"), "", []),
}
HOST = {
    "rows that are told of before": ("race", [LOAD, COPY]),
    "a slice that is told of with the one before": ("race", [LOAD, COPY]),
    "rows to another rank's place": ("race", [COPY]),
    "a band that is not told of": ("deadlock", [WAITING]),
    "rows behind nothing of the call's stream": ("race", [COPY]),
}


def kernels(folder, *changes):
    (module,) = imported(folder, FILES, ["ag_gemm.ag_gemm"], *changes)
    return module.ag_gemm


def operands(ranks, rank, m, call):
    draw = np.random.default_rng((ranks, call))
    a = draw.integers(-1, 2, (m, K)).astype(np.float32)
    return a, np.random.default_rng((rank, call, 1)).integers(-1, 2, (K, N)).astype(np.float32)


def calls(team, kernel, cases, host=None, programs=5, pieces=2):
    """What the operator queues: calls of these numbers of rows, each checked."""
    ranks, rank, most = team.size, team.rank, max(cases)
    pitch = -(-shard_rows(most, ranks) // BLOCK) * BLOCK
    bands, tiles = pitch // BLOCK, ranks * (pitch // BLOCK) * (N // BLOCK)
    gathered = team.zeros((ranks * pitch, K), "fp32", name="gathered")
    ready = team.zeros(ranks + 2 + ranks * bands, "int64", name="ready")[ranks + 2 :]
    of_pieces = team.local_from_array(np.zeros(tiles * pieces * BLOCK * BLOCK, np.float32))
    brought, moving = team.local_from_array(np.zeros(tiles, np.int32)), team.local_from_array(np.zeros((pitch, K), np.float32))
    beside = team.new_stream()
    for call, m in enumerate(cases):
        shard, own = shard_rows(m, ranks), rows_of_rank(m, ranks, rank)
        a, b = operands(ranks, rank, m, call)
        mine = team.local_from_array(np.concatenate([a[rank * shard :][:own], np.zeros((pitch - own, K), np.float32)]))
        out, of_b = team.local_from_array(np.full((m, N), np.nan, np.float32)), team.local_from_array(b)
        team.stream.copy(moving, mine)
        if host != "rows behind nothing of the call's stream":
            beside.wait_event(team.stream.record_event())
        kernel[(programs,)](
            moving, gathered, of_b, out, ready, of_pieces, brought, m, N, K, max(own, 1), shard, pitch,
            ranks * pitch, bands, BLOCK, BLOCK_M=BLOCK, BLOCK_N=BLOCK, BLOCK_K=BLOCK, SLICE_STEPS=SLICE // BLOCK,
            GROUP=1, PIECES=pieces, PROGRAMS=programs, BLOCKS=True, OUT_BLOCKS=shard % BLOCK == 0, B_TRANSPOSED=False,
            stream=team.stream, num_warps=4,
        )  # fmt: skip
        push(team, beside, (moving, gathered, ready), own, (pitch, bands), host)
        team.stream.wait_event(beside.record_event())
        team.synchronize()
        np.testing.assert_array_equal(np.array(out), a @ b)


def push(team, stream, memory, own, sizes, host):
    (moving, gathered, ready), (pitch, bands) = memory, sizes
    ranks, rank, slices = team.size, team.rank, K // SLICE
    for distance in range(1, ranks):
        peer = (rank + distance) % ranks
        at = peer if host == "rows to another rank's place" else rank
        for band in range(bands):
            rows = range(band * BLOCK, min((band + 1) * BLOCK, own))
            signal = ready.peer(peer)[rank * bands + band :][:1]
            if host == "a band that is not told of" and band == bands - 1:
                continue
            for nth in range(slices):
                told = slices if host == "a slice that is told of with the one before" else nth + 1
                if host == "rows that are told of before":
                    stream.signal_write(signal, told)
                for row in rows:
                    there = gathered.peer(peer)[at * pitch + row, nth * SLICE : (nth + 1) * SLICE]
                    stream.copy(there, moving[row, nth * SLICE : (nth + 1) * SLICE])
                if host != "rows that are told of before" and (rows or nth == slices - 1):
                    stream.signal_write(signal, told)


def run(kernel, seed, host=None, ranks=3, cases=(96, 40, 96)):
    """The reports; None where a result is wrong."""
    try:
        return tandem.launch(lambda team: calls(team, kernel, cases, host), ranks=ranks, seed=seed, check=True).reports
    except tandem.SimulationError as error:
        return error.reports
    except AssertionError:
        return None


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_as_it_is(tmp_path, ranks):
    kernel = kernels(tmp_path)
    for seed in range(4):
        assert run(kernel, seed, ranks=ranks) == []


def found(kernel, kinds, lines, host=None):
    report = next((reports for reports in (run(kernel, seed, host) for seed in range(12)) if reports != []), [])
    assert report != [], "not found"
    assert (report is None) == (not kinds), report
    if not kinds:
        return
    assert re.fullmatch(kinds, report[0]["kind"]), report[0]["text"]
    for line in lines:
        assert line in report[0]["text"], report[0]["text"]


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors(tmp_path, name):
    change, kinds, lines = PLANTED[name]
    found(kernels(tmp_path, change), kinds, lines)


@pytest.mark.parametrize("name", HOST)
def test_planted_errors_of_the_host(tmp_path, name):
    found(kernels(tmp_path), *HOST[name], name)


def test_every_schedule(tmp_path):
    """Two ranks, one program each, in two calls."""
    kernel = kernels(tmp_path)
    proof = tandem.explore(lambda team: calls(team, kernel, [2, 2], programs=1, pieces=1), ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)
