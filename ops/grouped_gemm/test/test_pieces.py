"""Tiles cut along the inner size: right on many seeds, under every schedule of a small instance, and errors planted in it are found."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported
from moe_reference import drawn_ids, drawn_weights, integers, up_projected

import tandem
from tandem.ops import GroupedGemm, RouteIds, route_parts

GEMM = "grouped_gemm/grouped_gemm.py"
FILES = [f"device/{name}.py" for name in ("findings", "gathering", "packed", "routes")] + [GEMM, "grouped_gemm/places.py"]
PART = '                    is_left = dl.wait(left_ptr + program, 1, "gpu", "acquire", waitValue=1)\n'
LEFT = '                tl.atomic_xchg(left_ptr + tl.program_id(0), 1, sem="release", scope="gpu")\n'
STORED = "                tl.store(part_ptr + in_sum, acc)\n"
STORED_UP = "                if GATED:\n                    tl.store(part_ptr + (BLOCK_M * BLOCK_N + in_sum), up)\n"
PUT_BACK = "                    tl.store(dl.consume_token(left_ptr, is_left) + program, 0)\n"


def kernel(folder, *changes):
    return imported(folder, FILES, ["grouped_gemm.grouped_gemm"], *changes)[0].grouped_gemm


def launched(given, sizes, programs, cut, gathered=False, gated=False, kind="uniform", calls=2, seed=0, explored=False):
    m, n, k, experts, top_k = sizes
    ids, weights = drawn_ids(m, experts, top_k, kind, seed), drawn_weights(m, top_k, seed)
    x, w = integers((m, k), "fp32", seed, 1), integers((experts, n * (1 + gated), k), "fp32", seed, 2)

    def main(team):
        moved = team.local_from_array
        route = RouteIds(team, m, experts, top_k, "i32", block_m=16)(ids, weights, m)
        order = route_parts(route, m, experts, top_k).order
        rows = x
        if not gathered:
            rows = np.zeros((m * top_k, k), np.float32)
            rows[: len(order)] = x[order // top_k]
        rows, matrices, out = moved(rows), moved(w), team.local_empty((m * top_k, n), "float32")
        ready, findings = team.zeros(8, "int64"), moved(np.zeros(8, np.int32))
        sums, left = team.local_empty((programs, (1 + gated) * 16 * 32), "float32"), moved(np.zeros(programs, np.int32))
        arguments = (rows, matrices, out, route, ready, ready, *(route,) * 4, findings, sums, left)
        arguments += (rows.shape[0], n, k, m * top_k, m, 0, 0, 0, w.shape[1], 0, 1)
        constants = {"BLOCK_M": 16, "BLOCK_N": 32, "BLOCK_K": 16, "PROGRAMS": programs, "E": experts, "TOP_K": top_k, "CUT": cut}
        constants |= {"EVEN_K": k % 16 == 0, "GATED": gated, "GATHER": gathered}
        names = "BLOCKS_OF_A BLOCKS_OF_B SCATTER WEIGH AWAITED COUNTED PACKED BIASED SCALED QUANTISE".split()
        found = []
        for _ in range(calls):
            given[(programs,)](*arguments, **constants, **dict.fromkeys(names, False), num_warps=1)
            found.append(np.array(out))
        return order, found

    if explored:
        return tandem.explore(main, ranks=1, exhaustive=True, limit=200_000)
    try:
        result = tandem.launch(main, ranks=1, seed=seed, check=True)
    except tandem.SimulationError as error:
        return error.reports
    order, found = result.values[0]
    want = up_projected(x, w, ids, gated)
    want = np.concatenate([want[order], np.zeros((ids.size - len(order), n))])
    for out in found:
        assert result.reports or np.linalg.norm(out - want) <= 2e-6 * np.linalg.norm(want)
    return result.reports


@pytest.mark.parametrize("gathered", [False, True])
def test_pieces(tmp_path, gathered):
    given = kernel(tmp_path)
    for seed in range(20):
        kind = ["uniform", "zipf", "one", "few", "dropped"][seed % 5]
        assert launched(given, (5, 40, 144, 4, 2), 35, 2, gathered, seed % 2 == 0, kind, seed=seed) == []
        assert launched(given, (20, 70, 130, 4, 2), 60, 1, gathered, seed % 2 == 1, kind, seed=seed) == []


def test_every_schedule(tmp_path):
    proof = launched(kernel(tmp_path), (1, 32, 32, 1, 1), 2, 1, calls=1, explored=True)
    assert proof.proven, str(proof)


ERRORS = {
    "a sum not awaited": (PART, "                    is_left = 0\n"),
    "a relaxed wait": (PART, PART.replace("acquire", "relaxed")),
    "a sum told relaxed": (LEFT, LEFT.replace("release", "relaxed")),
    "a sum told before it is stored": (STORED + STORED_UP + LEFT, LEFT + STORED + STORED_UP),
    "told of sums of the call before": (PUT_BACK, ""),
    "a sum in another program's place": (
        "                part_ptr = sums_ptr + tl.program_id(0)",
        "                part_ptr = sums_ptr + of_piece",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_planted_errors(tmp_path, name):
    given = kernel(tmp_path, (GEMM, *ERRORS[name]))
    for seed in range(12):
        reports = launched(given, (5, 40, 144, 4, 2), 35, 2, seed=seed)
        if reports:
            break
    assert reports, "not found"
    assert re.search("race|uninitialised|signal-misuse", reports[0]["kind"]), reports[0]["text"]
    lines = ["acc += tl.load(part_ptr", "tl.store(part_ptr + in_sum", "tl.store(dl.consume_token(left_ptr"]
    assert any(line in reports[0]["text"] for line in lines), reports[0]["text"]


def test_of_the_operator():
    """Few rows and a long inner size; pieces change no sum of integers."""
    sizes = m, n, k, experts, top_k = 2, 24, 130, 4, 2
    ids, weights = drawn_ids(m, experts, top_k), drawn_weights(m, top_k)
    x, w = integers((m, k), "fp32", 1), integers((experts, n, k), "fp32", 2)

    def main(team):
        route = RouteIds(team, m, experts, top_k, "i32")(ids, weights, m)
        op = GroupedGemm(team, *sizes, "fp32", scattered=True)
        return [np.array(op(x, w, route, m)) for _ in range(3)], op.memory()["local"]

    for seed in range(5):
        result = tandem.launch(main, ranks=1, seed=seed, check=True)
        assert result.reports == []
        found, memory = result.values[0]
        assert memory == 8 * (16 * 32 * 4 + 4)
        for out in found:
            np.testing.assert_array_equal(out, up_projected(x, w, ids))
