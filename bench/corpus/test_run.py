"""How the processes of a measurement share cases, cores and GPUs, with a stand-in for the program that runs a case."""

import argparse
import importlib.util
import json
import pathlib
import threading
import time

import pytest

HERE = pathlib.Path(__file__).parent


def load(name):
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


run, worker = load("run"), load("worker")

WORKER = """
import json, os, sys, time
backend, folder, step, *locks = sys.argv[1:]
for line in sys.stdin:
    asked = json.loads(line)
    name = asked["name"]
    if name == "dies" and step == "measure":
        print("gone", file=sys.stderr)
        sys.exit(3)
    if name == "hangs" and backend == "tandem":
        time.sleep(60)
    gpu = os.environ["CUDA_VISIBLE_DEVICES"]
    row = {"first_call_s": 0.1, "modules": [f"{backend}.{name}"]}
    if step == "measure":
        row = {"ms": 1.0, "gpu": gpu, "told": asked["modules"]}
    print(json.dumps({"name": name, "step": step, "backend": backend, **row}), flush=True)
"""


def measured(tmp_path, monkeypatch, names, gpus=2, rows=None, like=None, **options):
    (tmp_path / "worker.py").write_text(WORKER)
    monkeypatch.setattr(run, "HERE", tmp_path)
    (tmp_path / "out.json").write_text(json.dumps({"rows": rows or {}}))
    given = {"backends": "triton,tandem", "steps": "compile,measure", "missing": True, "seconds": 60, "patience": 3, "lanes": 1}
    given |= {"libraries": "none", "like": like or {}}
    table = run.Table(tmp_path / "out.json")
    run.Measurement(argparse.Namespace(**{**given, **options}), tmp_path, table, names, gpus).run()
    assert json.loads((tmp_path / "out.json").read_text())["rows"] == {name: row for name, row in table.rows.items()}
    return table.rows


@pytest.mark.parametrize("gpus", (1, 2))
def test_a_case_is_timed_on_one_gpu_after_both_first_calls(tmp_path, monkeypatch, gpus):
    rows = measured(tmp_path, monkeypatch, list("abcdef"), gpus)
    for name in "abcdef":
        sides = [rows[name][backend] for backend in ("triton", "tandem")]
        assert sides[0]["gpu"] == sides[1]["gpu"] and int(sides[0]["gpu"]) < gpus
        assert {f"triton.{name}", f"tandem.{name}"} <= set(sides[0]["told"]) and all(side["first_call_s"] == 0.1 for side in sides)


def test_a_process_that_ends_or_hangs_costs_its_case_alone(tmp_path, monkeypatch):
    rows = measured(tmp_path, monkeypatch, ["dies", "a", "hangs", "b"], patience=1)
    assert all("ms" in rows[name]["tandem"] for name in "ab")
    assert "the process ended: gone" in rows["dies"]["tandem"]["failed"] and "no end within 1 s" in rows["hangs"]["tandem"]["failed"]
    assert rows["dies"]["triton"]["first_call_s"] == 0.1 and rows["hangs"]["triton"]["ms"] == 1.0


def test_what_is_there_stays(tmp_path, monkeypatch):
    side = {"first_call_s": 5.0, "ms": 7.0}
    rows = measured(tmp_path, monkeypatch, ["a", "b"], rows={"a": {"triton": dict(side), "tandem": dict(side)}})
    assert rows["a"]["tandem"] == side and rows["b"]["tandem"]["ms"] == 1.0


def test_nothing_begins_when_the_time_is_over(tmp_path, monkeypatch):
    begun = time.monotonic()
    rows = measured(tmp_path, monkeypatch, ["hangs", "a"], patience=60, seconds=1)
    assert time.monotonic() - begun < 10 and "failed" not in rows["hangs"]["tandem"]


def test_cases_without_times_come_first_and_then_long_ones():
    side = lambda first, **more: {"first_call_s": first, **more}
    table = {
        "short": {"triton": side(1.0, ms=1), "tandem": side(0.1, ms=1)},
        "long": {"triton": side(9.0, ms=1), "tandem": side(0.1, ms=1)},
        "half": {"tandem": side(0.1, ms=1)},
    }
    assert sorted([*table, "new"], key=lambda name: run.rank_in(table, name)) == ["half", "new", "long", "short"]


def test_who_waits_to_be_alone_comes_before_later_ones(tmp_path):
    order, threads = [], []

    def use(who, alone):
        with worker.Gpu(tmp_path).held(alone):
            order.append(who)

    with worker.Gpu(tmp_path).held(alone=False):
        use("beside", False)
        for who, alone in (("alone", True), ("later", False)):
            threads.append(threading.Thread(target=use, args=(who, alone)))
            threads[-1].start()
            time.sleep(0.2)
        assert order == ["beside"]
    for thread in threads:
        thread.join()
    assert order == ["beside", "alone", "later"]
