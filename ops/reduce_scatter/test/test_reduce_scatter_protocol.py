"""Errors planted in the chunks of ReduceScatter and of AllReduce: every one is found, races with both lines; as they are, they are right,
of a small instance under every schedule."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported

import tandem

KERNEL, SIGNALS = "all_reduce/two_shot.py", "device/signals.py"
TILE, CHUNK = 16, 32

TO_PEER = "dl.symm_at(parts_ptr, owner) + rank * shard + start, count, TILE)"
PUSH = "        copy_range(x_ptr + first, " + TO_PEER + "\n"
TELL = "    tell_all(ready_ptr + rank, epoch, RANKS)\n"
WRITE = 'st(dl.symm_at(signal_ptr, peer), value, scope="sys", semantic="release")'
SETS = "    parts_ptr += (epoch % 2) * set_elements\n"
OF_SCATTER = 'token = dl.wait(ready - RANKS, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")'
OF_REDUCE = 'token = dl.wait(ready_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")'
OF_TAKE = 'token = dl.wait(done_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")'
SUMS = "    tell_all(done_ptr + rank, epoch, RANKS)\n"
READY = "        ready = ready_ptr + signals + step * RANKS\n        if step < steps:\n            push_parts"
LAST = "    tl.store(epoch_ptr + pid, epoch)\n"
OF_STEP = "ready, done = ready_ptr + signals + step * RANKS, done_ptr + signals + step * RANKS"
OUT = "target = dl.symm_at(out_ptr if DIRECT else sums_ptr, (rank + step) % RANKS)"
STORED, READ, PART = "tl.store(dest_ptr + start + i", "tl.load(source_ptr + start + i)", "part = tl.load(parts_ptr"
SUM = "tl.store(target + first, value"

# The name; the kernel; the file, its text and what stands in its place; words of the kinds of reports; parts of lines that the report
# names. Without kinds only a result is wrong.
PLANTED = {
    "no wait for parts": ("reduce_scatter", (KERNEL, OF_SCATTER, "token = 0"), "race", [PART, STORED]),
    "one part too few": ("reduce_scatter", (KERNEL, OF_SCATTER, OF_SCATTER.replace(", RANKS,", ", RANKS - 1,")), "race", [PART, STORED]),
    "the number of the call before": (
        "reduce_scatter",
        (KERNEL, OF_SCATTER, OF_SCATTER.replace("=epoch", "=epoch - 1")),
        "race",
        [PART, STORED],
    ),
    "a wait that acquires nothing": (
        "reduce_scatter",
        (KERNEL, OF_SCATTER, OF_SCATTER.replace("acquire", "relaxed")),
        "race",
        [PART, STORED],
    ),
    "parts awaited on the GPU alone": (
        "reduce_scatter",
        (KERNEL, OF_SCATTER, OF_SCATTER.replace('"sys"', '"gpu"')),
        "scope|race",
        ["dl.wait(ready"],
    ),
    "told of before": ("reduce_scatter", (KERNEL, PUSH + TELL, TELL.replace("    tell", "        tell") + PUSH), "race|signal-misuse", []),
    "told on the GPU alone": ("reduce_scatter", (SIGNALS, WRITE, WRITE.replace('"sys"', '"gpu"')), "scope|race", []),
    "told without release": ("reduce_scatter", (SIGNALS, WRITE, WRITE.replace("release", "relaxed")), "race", [PART, STORED]),
    "one set of parts": ("reduce_scatter", (KERNEL, SETS, ""), "race", [PART, STORED]),
    "parts in another source's place": ("reduce_scatter", (KERNEL, TO_PEER, TO_PEER.replace("rank *", "(rank + 1) % RANKS *")), "", []),
    "the signals of the first chunk": ("reduce_scatter", (KERNEL, READY, READY.replace(" + step * RANKS", "")), "out-of-bounds", []),
    "sums before parts are there": ("two_shot", (KERNEL, OF_REDUCE, "token = 0"), "race", [PART, STORED]),
    "a part too few of a sum": ("two_shot", (KERNEL, OF_REDUCE, OF_REDUCE.replace(", RANKS,", ", RANKS - 1,")), "race", [PART, STORED]),
    "sums taken before they are there": ("two_shot", (KERNEL, OF_TAKE, "token = 0"), "race", [READ, SUM]),
    "sums of the call before": ("two_shot", (KERNEL, OF_TAKE, OF_TAKE.replace("=epoch", "=epoch - 1")), "race", [READ, SUM]),
    "sums awaited without acquiring": ("two_shot", (KERNEL, OF_TAKE, OF_TAKE.replace("acquire", "relaxed")), "race", [READ, SUM]),
    "sums that are not told of": ("two_shot", (KERNEL, SUMS, ""), "deadlock", ["dl.wait(done_ptr"]),
    "sums for the next rank alone": ("two_shot", (KERNEL, OUT, OUT.replace("+ step)", "+ 1)")), "", []),
    "the signals of one chunk for all": (
        "two_shot",
        (KERNEL, OF_STEP, OF_STEP.replace(" + step * RANKS", "")),
        "race|deadlock|out-of-bounds",
        [],
    ),
}


def kernels(folder, *changes):
    (module,) = imported(folder, [KERNEL, SIGNALS], ["all_reduce.two_shot"], *changes)
    return {"reduce_scatter": module.reduce_scatter, "two_shot": module.two_shot}


def calls(team, kernel, name, shard, count, programs=2):
    """`count` calls with `shard` elements a rank, each checked."""
    ranks, n = team.size, shard * team.size
    steps = -(-shard // (programs * CHUNK))
    sets = 2 if name == "reduce_scatter" else 1
    parts, sums = team.zeros(sets * n, "fp32", name="parts"), team.zeros(n, "fp32", name="sums")
    ready, done = (team.zeros(programs * steps * ranks, "int64", name=of) for of in ("ready", "done"))
    epochs = team.local_from_array(np.zeros(programs, np.int64))
    scattered = name == "reduce_scatter"
    out = team.local_from_array(np.zeros(shard if scattered else n, np.float32))
    drawn = [[np.random.default_rng((r, call)).integers(-3, 4, n).astype(np.float32) for r in range(ranks)] for call in range(count)]
    given = [team.local_from_array(of_ranks[team.rank]) for of_ranks in drawn]
    kept = [team.local_from_array(np.zeros(out.shape, np.float32)) for _ in drawn]
    for x, keep in zip(given, kept):
        if scattered:
            kernel[(programs,)](
                x, out, parts, ready, epochs, n, shard, CHUNK, steps, n, RANKS=ranks, TILE=TILE, stream=team.stream, num_warps=1
            )
        else:
            memory = (x, out, parts, sums, ready, done, epochs)
            kernel[(programs,)](*memory, n, shard, CHUNK, steps, RANKS=ranks, TILE=TILE, DIRECT=False, stream=team.stream, num_warps=1)
        team.stream.copy(keep, out)
    team.synchronize()
    own = slice(team.rank * shard, (team.rank + 1) * shard) if scattered else slice(None)
    for of_ranks, keep in zip(drawn, kept):
        np.testing.assert_array_equal(np.array(keep), sum(of_ranks)[own])


def run(kernel, name, seed, ranks=3, shard=96):
    """The reports; None where a result is wrong."""
    try:
        return tandem.launch(lambda team: calls(team, kernel[name], name, shard, 4), ranks=ranks, seed=seed, check=True).reports
    except tandem.SimulationError as error:
        return error.reports
    except AssertionError:
        return None


@pytest.mark.parametrize("ranks", [2, 3, 4])
@pytest.mark.parametrize("name", ["reduce_scatter", "two_shot"])
def test_as_it_is(tmp_path, name, ranks):
    kernel = kernels(tmp_path)
    for seed in range(5):
        assert run(kernel, name, seed, ranks) == []


@pytest.mark.parametrize("error", PLANTED)
def test_planted_errors(tmp_path, error):
    name, change, kinds, lines = PLANTED[error]
    kernel = kernels(tmp_path, change)
    report = next((reports for reports in (run(kernel, name, seed) for seed in range(12)) if reports != []), [])
    assert report != [], "not found"
    assert (report is None) == (not kinds), report
    if not kinds:
        return
    assert re.fullmatch(kinds, report[0]["kind"]), report[0]["text"]
    for line in lines:
        assert line in report[0]["text"], report[0]["text"]


@pytest.mark.parametrize("name", ["reduce_scatter", "two_shot"])
def test_every_schedule(tmp_path, name):
    """Two ranks, one program each, one chunk, as many calls as use parts again."""
    kernel = kernels(tmp_path)
    count = 3 if name == "reduce_scatter" else 2
    proof = tandem.explore(lambda team: calls(team, kernel[name], name, TILE, count, 1), ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)
