"""Programs that have equal runs of the keys of all blocks: results against float64, whoever has what; errors planted in how parts of a
block are put together are found."""

import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from attention_reference import check, exact, tokens
from changed_kernels import imported

import tandem

FILES = ["device/attention.py", "device/attention_forward.py", "device/runs.py", "attention/attention.py"]
RUNS_FILE, ATTENTION = FILES[2:]
BLOCK_M, BLOCK_N, RUNS = 32, 16, 4
LOG2E = 1.4426950408889634

TELLS = '        st(counts_ptr + program, 1, scope="gpu", semantic="release")\n'
AWAITED = 'dl.wait(counts_ptr + other, 1, "gpu", "acquire", waitValue=1)'
STORED = "    row = tl.arange(0, BLOCK_M)\n    tl.store(stats_ptr + program * (2 * BLOCK_M) + row, sums[1])\n"
REST = "    rest = tl.where(is_whole | (begin > 0), 0, "
OTHER = "other = tl.program_id(0) + 1 + nth"
ENDS = "            else:\n                end_block(with_parts"
PLANTED = {
    "told before it is stored": ((RUNS_FILE, STORED, f"    if tid(0) == 0:\n{TELLS}" + STORED), "race|uninitialised|signal"),
    "relaxed arrival": ((RUNS_FILE, TELLS, TELLS.replace("release", "relaxed")), "race"),
    "narrow arrival": ((RUNS_FILE, TELLS, TELLS.replace("gpu", "cta")), "race|scope"),
    "relaxed wait": ((RUNS_FILE, AWAITED, AWAITED.replace("acquire", "relaxed")), "race"),
    "part not awaited": ((RUNS_FILE, AWAITED, AWAITED.replace("waitValue=1", 'waitValue=0, compare="ge"')), "race|uninitialised"),
    "not put back": ((RUNS_FILE, "        tl.store(counts_ptr + other, 0)\n", ""), "race|uninitialised|signal"),
    "part of the program behind": ((RUNS_FILE, OTHER, OTHER.replace("1", "2")), "race|uninit|dead|out-of"),
    "one part too few": ((RUNS_FILE, REST, REST.replace("0, ", "0, -1 + ")), "wrong|signal|race"),
    "result of a part stored": ((ATTENTION, ENDS, ENDS.replace("else", "if True")), "race|wrong"),
}


class Call:
    def __init__(self, rows, keys, batch=1, hq=1, hkv=1, d=64, causal=False, top_left=False, sinks=False, programs=3, seed=0, dtype="fp16"):
        self.queries, self.keys, self.hq, self.hkv, self.d, self.programs = (rows,) * batch, (keys,) * batch, hq, hkv, d, programs
        self.causal, self.top_left = causal, top_left
        self.q, self.k, self.v = (
            tokens((n * batch, h, d), dtype, [seed, i]) for i, (n, h) in enumerate(((rows, hq), (keys, hkv), (keys, hkv)))
        )
        self.sinks = np.random.default_rng(seed).standard_normal(hq).astype(np.float32) if sinks else None

    def want(self):
        more = {"causal": self.causal, "top_left": self.top_left}
        return exact(self.q, self.k, self.v, np.zeros_like(self.q), self.queries, self.keys, self.sinks, **more)[:2]


def run(team, calls, kernel):
    """The calls in turn, with the same memory for parts."""
    most = max(c.programs for c in calls)
    parts = team.local_empty((most * BLOCK_M * 256,), "float32", name="parts")
    stats = team.local_empty((most * BLOCK_M * 2,), "float32", name="stats")
    counts, found = team.local_from_array(np.zeros(most, np.int32), name="counts"), []
    for c in calls:
        q, k, v = map(team.local_from_array, (c.q, c.k, c.v))
        out, lse = team.local_empty(c.q.shape, "float16", name="out"), team.local_empty((c.hq, len(c.q)), "float32", name="lse")
        sinks = q if c.sinks is None else team.local_from_array(c.sinks)
        first = 2 ** (c.d.bit_length() - 1)
        square = c.queries == c.keys and c.queries[0] % BLOCK_M == 0
        kernel[(c.programs,)](
            *(q, k, v, q, q, sinks, q, lse, out, parts, stats, counts, LOG2E / c.d**0.5, 0.0),
            *(len(c.q), len(c.k), c.queries[0], c.keys[0], 0, 0),
            **{"HQ": c.hq, "HKV": c.hkv, "D": c.d, "V": c.d, "D0": first, "D1": c.d - first, "V0": first, "V1": c.d - first},
            **{"BLOCK_M": BLOCK_M, "BLOCK_N": BLOCK_N, "VARLEN": False, "CAUSAL": c.causal, "TOP_LEFT": c.top_left, "WINDOW": False},
            **{"CAP": False, "SQUARE": square, "SINKS": c.sinks is not None, "LSE": True, "FP8": False, "DEALT": False, "SHARED": RUNS},
            num_warps=2,
        )
        found.append((np.array(out), np.array(lse)))
    return found


def drawn(seed):
    rng = np.random.default_rng(seed)
    rows, causal, hkv = int(rng.integers(1, 150)), bool(rng.integers(2)), int(rng.integers(1, 4))
    keys = rows + int(rng.integers(100)) if causal else int(rng.integers(1, 250))
    if seed % 5 == 0:
        rows = keys = 64
    more = {"causal": causal, "top_left": causal and seed % 3 == 0, "sinks": seed % 4 == 1, "d": (64, 80, 96)[seed % 3]}
    return Call(
        rows, keys, int(rng.integers(1, 4)), hkv * int(rng.integers(1, 4)), hkv, programs=int(rng.integers(1, 12)), seed=seed, **more
    )


def kernel_of(folder, *changes):
    return imported(folder, FILES, ["attention.attention"], *changes)[0].attention


def are_right(calls, found):
    for call, (out, lse) in zip(calls, found):
        want = call.want()
        check(out, want[0], 2e-3)
        check(lse, want[1], 1e-3)


def test_drawn_calls(tmp_path):
    kernel = kernel_of(tmp_path)
    for seed in range(24):
        calls = [drawn(seed)] * 2
        found = tandem.launch(lambda team, calls=calls: run(team, calls, kernel), ranks=1, seed=seed).values[0]
        are_right(calls, found)
        assert np.array_equal(found[0][0], found[1][0])


CHECKED = [Call(40, 100, hq=2, programs=3), Call(70, 70, causal=True, programs=4), *[Call(20, 120, programs=4, seed=1)] * 2]


def test_as_it_is(tmp_path):
    kernel = kernel_of(tmp_path)
    for seed in range(4):
        result = tandem.launch(lambda team: run(team, CHECKED, kernel), ranks=1, seed=seed, check=True)
        assert result.reports == []
        are_right(CHECKED, result.values[0])


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors(tmp_path, name):
    change, kinds = PLANTED[name]
    kernel = kernel_of(tmp_path, change)
    for seed in range(12):
        try:
            result = tandem.launch(lambda team: run(team, CHECKED, kernel), ranks=1, seed=seed, check=True)
            are_right(CHECKED, result.values[0])
        except AssertionError:
            found = ["wrong"]
        except tandem.SimulationError as error:
            found = [report["kind"] for report in error.reports]
        else:
            found = [report["kind"] for report in result.reports]
        if any(kind in text for text in found for kind in kinds.split("|")):
            return
    pytest.fail(f"not found in 12 seeds: {name}")


def test_every_schedule(tmp_path):
    kernel, call = kernel_of(tmp_path), Call(5, 160, programs=2)
    proof = tandem.explore(lambda team: run(team, [call], kernel), ranks=1, exhaustive=True, limit=20_000)
    assert proof.proven, str(proof)
