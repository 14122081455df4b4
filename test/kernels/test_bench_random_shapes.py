"""The cases that bench/gpu/overlap/random_shapes.py draws, and its summary of rows. Needs no GPU."""

import itertools
import json
import math
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "bench/gpu/overlap"


@pytest.fixture(scope="module")
def shapes():
    """The module; its neighbours' names are common ones, so they go again."""
    before = set(sys.modules)
    sys.path.insert(0, str(FOLDER))
    try:
        import random_shapes

        yield random_shapes
    finally:
        sys.path.remove(str(FOLDER))
        for name in set(sys.modules) - before:
            if getattr(sys.modules[name], "__file__", None) and pathlib.Path(sys.modules[name].__file__).parent == FOLDER:
                del sys.modules[name]


def draws(shapes, count, *args, **kwargs):
    return list(itertools.islice(shapes.drawn(*args, **kwargs), count))


@pytest.mark.parametrize("op", ["ag_gemm", "gemm_rs", "gemm_ar"])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_cases_that_ranks_can_do(shapes, op, ranks):
    for case in draws(shapes, 400, op, ranks, seed=3):
        assert case["n"] == case["local_n"] * (ranks if op == "ag_gemm" else 1)
        assert case["k"] == case["local_k"] * (1 if op == "ag_gemm" else ranks)
        assert op == "gemm_ar" or case["m"] % ranks == 0
        assert min(case["m"], case["local_n"], case["local_k"]) >= 1 and case["m"] * case["local_n"] <= shapes.MOST_RESULTS


def test_models_can_be_dealt_to_eight_ranks():
    sys.path.insert(0, str(FOLDER))
    try:
        from models import MODELS
    finally:
        sys.path.remove(str(FOLDER))
    assert len(MODELS) >= 40 and len({model.name for model in MODELS}) == len(MODELS)
    for model in MODELS:
        assert all(n % 8 == 0 for n, k in model.column_parallel) and all(k % 8 == 0 for n, k in model.row_parallel)


def test_one_seed_draws_one_list(shapes):
    many = draws(shapes, 60, "gemm_rs", 2, seed=5)
    assert draws(shapes, 20, "gemm_rs", 2, seed=5) == many[:20]
    assert draws(shapes, 20, "gemm_rs", 2, seed=6) != many[:20]


def test_rows_are_log_uniform(shapes):
    rows = [math.log2(case["m"]) for case in draws(shapes, 2000, "gemm_ar", 2, seed=1)]
    assert all(abs(sum(low <= r < low + 5 for r in rows) / 2000 - 1 / 3) < 0.05 for low in (0, 5, 10))
    assert {case["m"] for case in draws(shapes, 200, "gemm_ar", 2, seed=1, rows=(3, 5))} == {3, 4, 5}


def options_of(shapes, *words):
    """The options of a call, as `main` reads them but for what it adds to `measure`."""
    parser = shapes.arguments("")
    parser.add_argument("--draws", type=int, default=5)
    options = parser.parse_args(["OUT.json", "--ranks", "2", *words])
    options.rows, options.types, options.sizes, options.layouts = (1, 64), shapes.TYPES, shapes.SIZES, None
    return options


def test_drawn_cases_come_in_one_shuffled_order(shapes):
    cases = shapes.all_drawn(options_of(shapes))
    assert len(cases) == 15 and {case["op"] for case in cases} == set(shapes.OPS)
    assert cases == shapes.all_drawn(options_of(shapes)) != shapes.all_drawn(options_of(shapes, "--seed", "2"))
    assert [case["op"] for case in cases] != sorted(case["op"] for case in cases)


def test_types_are_drawn_and_change_no_size(shapes):
    mixed, plain = draws(shapes, 60, "gemm_ar", 2, seed=4, types=shapes.TYPES), draws(shapes, 60, "gemm_ar", 2, seed=4)
    assert {case["dtype"] for case in mixed} == set(shapes.TYPES)
    assert [{**case, "dtype": "bf16"} for case in mixed] == plain


def test_sizes_are_of_models_or_any(shapes):
    cases = draws(shapes, 400, "ag_gemm", 2, seed=4, sizes=shapes.SIZES)
    free = [case for case in cases if case["model"] == "any"]
    assert 150 < len(free) < 250
    assert all(case[size] % 16 == 0 and 64 <= case[size] <= 16384 for case in free for size in ("local_n", "local_k"))
    assert [case["m"] for case in draws(shapes, 1, "ag_gemm", 2, seed=4)] == [cases[0]["m"]]


def test_layouts_are_drawn_and_change_no_size(shapes):
    mixed, plain = draws(shapes, 60, "gemm_rs", 2, seed=4, layouts=shapes.LAYOUTS), draws(shapes, 60, "gemm_rs", 2, seed=4)
    assert {case["weights"] for case in mixed} == {"kn", "nk"} and {case["weights"] for case in plain} == {"kn"}
    assert [{**case, "weights": "kn"} for case in mixed] == plain


@pytest.mark.parametrize("words, types", [((), {"bf16", "fp16", "e4m3"}), (("--types", "bf16", "e4m3"), {"bf16", "e4m3"})])
def test_types_are_those_that_are_asked_for(shapes, tmp_path, monkeypatch, words, types):
    found = []
    monkeypatch.setattr(shapes, "measure", lambda options, cases, kept: found.extend(cases) or [])
    monkeypatch.setattr(sys, "argv", ["random_shapes.py", str(tmp_path / "rows.json"), "--ranks", "2", "--draws", "20", *words])
    shapes.main()
    assert {case["dtype"] for case in found} == types


def test_rows_behind_are_repeated_worst_first(shapes):
    sizes = draws(shapes, 3, "ag_gemm", 2, seed=1)
    rows = [{**case, "us": {}, "speedup_over_best": ratio} for case, ratio in zip(sizes, (0.99, 1.2, 0.8))]
    assert shapes.behind([*rows, {**sizes[1], "errors": {"case": "failed"}}]) == [sizes[2], sizes[0]]


def test_a_file_is_gone_on_with(shapes, tmp_path, monkeypatch):
    """Rows of the file stay, what is there is not measured again, and each new row is in the file at once."""
    out = tmp_path / "rows.json"
    seen = []

    def once(run, start, left):
        for index in left:
            run._take({"event": "row", "index": index, "row": {**run.cases[index], "us": {}, "errors": {}}})
            seen.append(len(json.loads(out.read_text())["rows"]))

    monkeypatch.setattr("run.Run._once", once)
    command = ["random_shapes.py", str(out), "--ranks", "2", "--draws", "2"]
    monkeypatch.setattr(sys, "argv", command)
    shapes.main()
    assert seen == [1, 2, 3, 4, 5, 6] and not out.with_suffix(".new").exists()
    monkeypatch.setattr(sys, "argv", command)
    shapes.main()
    assert len(seen) == 6 and len(json.loads(out.read_text())["rows"]) == 6


def test_summary_tells_ways_errors_and_gains(shapes):
    def row(m, predicted, config, **more):
        us = {"tandem": 10.0, "nccl": 20.0}
        chosen = {"config": config, "predicted": predicted}
        return {"op": "gemm_ar", "m": m, "n": 8, "k": 8, "us": us, "best": "nccl", "speedup_over_best": 2.0, "chosen": chosen, **more}

    tiles = {"block_m": 64, "block_n": 128, "pieces": 3}
    rows = [
        row(1, 11.0, {"library": 1, **tiles}),
        row(2, 12.0, {"scattered": 1}, tuned={"untuned": 11.0, "measured": 10.0}),
        row(3, 10.0, {"few_rows": 1, "library": 0, **tiles}),
        row(4, 10.5, {"few_rows": -1, **tiles}),
    ]
    lines = shapes.summary(rows)
    words = ("library", "scattered", "few rows 64×128 in 3", "64×128 in 3")
    assert all(any(line.endswith(f"| {way} |") for line in lines) for way in words)
    assert "| gemm_ar | 7.5% | 20.0% |" in lines
    assert "Tuning gains 10.0% in the mean of 1 rows, 10.0% at most." in lines


def test_summary_counts_and_lists_the_worst(shapes, tmp_path):
    def row(op, m, ratio):
        return {"op": op, "m": m, "n": 8, "k": 8, "us": {"tandem": 10.0, "nccl": 10 * ratio}, "best": "nccl", "speedup_over_best": ratio}

    rows = [
        row("gemm_rs", 1, 0.5),
        row("gemm_rs", 2, 2.0),
        row("gemm_ar", 3, 0.98),
        {"op": "gemm_ar", "m": 4, "n": 8, "k": 8, "errors": {}},
    ]
    lines = shapes.summary(rows)
    assert "| gemm_rs | 2 | 1 (50%) | 1 | 0.50 | 1.000 |" in lines
    assert "| all | 3 | 2 (67%) | 1 | 0.50 | 0.993 |" in lines
    worst = [line for line in lines if ",8,8" in line and line.startswith("| gemm")]
    assert [line.split("|")[1].strip() for line in worst] == ["gemm_rs 1,8,8", "gemm_ar 3,8,8", "gemm_rs 2,8,8"]
    assert lines[-1] == "No ratio: gemm_ar 4,8,8: Tandem is missing"
    kept = tmp_path / "rows.json"
    kept.write_text(json.dumps({"rows": rows}))
    command = [sys.executable, FOLDER / "random_shapes.py", kept, "--summary-only"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines() == lines
