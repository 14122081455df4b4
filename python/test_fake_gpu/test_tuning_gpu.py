"""Autotuning, timing and the compatibility modules on the fake driver."""

import json
import math
import os
import subprocess
import sys
import time
import types

import pytest
from gpu_fake import LIBRARY, FakeTensor, gpu, needs_fake  # noqa: F401

import tandem
import tandem.language as tl
from tandem import testing
from tandem.tune import tuning_cache
from tandem.tune.autotune import Autotuner

pytestmark = needs_fake

CONFIGS = [tandem.Config({"BLOCK": 32}), tandem.Config({"BLOCK": 64}, num_warps=8), tandem.Config({"BLOCK": 128}, num_stages=5)]


class Tensor(FakeTensor):
    """Notes the operations on it."""

    def __init__(self, log, name):
        super().__init__(0x1000)
        self.log, self.name = log, name

    def zero_(self):
        self.log.append(f"zero {self.name}")

    def clone(self):
        self.log.append(f"clone {self.name}")
        return self

    def copy_(self, other):
        self.log.append(f"restore {self.name}")


def scale(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), n)


def tuned(times, calls=None, **options):
    """The kernel, tuned by made-up times: {BLOCK: milliseconds}; `calls` collects the blocks that were timed."""
    kernel = tandem.jit(scale)
    state = {}

    def bench(call, quantiles):
        call()
        block = state["block"]
        if calls is not None:
            calls.append(block)
        return [times[block]] * 3

    run = kernel.run

    def spy(*args, **kwargs):
        state["block"] = kwargs["BLOCK"]
        return run(*args, **kwargs)

    kernel.run = spy
    options.setdefault("cache_results", False)
    named = [
        options.pop(name, default)
        for name, default in {"configs": CONFIGS, "key": ["n"], "reset_to_zero": None, "restore_value": None}.items()
    ]
    return Autotuner(kernel, kernel.arg_names, *named, do_bench=bench, **options)


def test_the_quickest_wins(gpu):
    calls = []
    kernel = tuned({32: 3.0, 64: 1.0, 128: 2.0}, calls)
    for n in (16, 16, 32):
        kernel[lambda meta: (meta["BLOCK"],)](FakeTensor(16), FakeTensor(16), n)
    assert calls == [32, 64, 128] * 2
    assert kernel.best_config is CONFIGS[1] and kernel.configs_timings[CONFIGS[2]] == [2.0] * 3
    assert " grid 64,1,1 block 256,1,1 " in gpu.launches[-1]


def test_hooks_and_restored_values(gpu):
    log = []
    kernel = tuned(
        {32: 3.0, 64: 1.0, 128: 2.0},
        reset_to_zero=["x_ptr"],
        restore_value=["y_ptr"],
        pre_hook=lambda args, reset_only=False: log.append(f"pre {args['BLOCK']}"),
        post_hook=lambda args, exception: log.append("post"),
    )
    kernel[(1,)](Tensor(log, "x"), Tensor(log, "y"), 16)
    assert log[:5] == ["pre 32", "zero x", "clone y", "restore y", "post"]
    assert log[15:] == ["pre 64", "zero x"], "the launch that counts finds zeros; its own hooks would be the configuration's"


def test_config_pre_hook_sees_every_compilation_and_launch(gpu):
    seen = []
    hook = lambda args: seen.append((args["n"], args["BLOCK"]))
    kernel = tuned({32: 1.0, 64: 2.0}, configs=[tandem.Config({"BLOCK": b}, pre_hook=hook) for b in (32, 64)])
    for _ in range(2):
        kernel[(1,)](FakeTensor(16), FakeTensor(16), 16)
    compiled, timed, launched = [(16, 32), (16, 64)], [(16, 32), (16, 64)], [(16, 32), (16, 32)]
    assert seen == compiled + timed + launched


def test_configurations_that_do_not_fit_are_passed_over(gpu):
    gpu.shared = lambda request: 300000 if request["options"]["num_warps"] == 8 else 0
    kernel = tuned({32: 3.0, 64: 1.0, 128: 2.0})
    kernel[(1,)](FakeTensor(16), FakeTensor(16), 16)
    assert kernel.best_config is CONFIGS[2]
    gpu.shared = lambda request: 300000
    with pytest.raises(tandem.OutOfResources, match="none of the 3 configurations of kernel `scale`"):
        tuned({})[(1,)](FakeTensor(16), FakeTensor(16), 16)


def test_pruning(gpu):
    calls = []
    prune = {
        "early_config_prune": lambda configs, named, **kwargs: [c for c in configs if c.kwargs["BLOCK"] > named["n"]],
        "perf_model": lambda BLOCK, n, num_warps, **kwargs: BLOCK,
        "top_k": 1,
    }
    kernel = tuned({32: 3.0, 64: 1.0, 128: 2.0}, calls, prune_configs_by=prune)
    kernel[(1,)](FakeTensor(16), FakeTensor(16), 48)
    assert calls == [] and kernel.best_config is CONFIGS[1], "one that is left needs no timing"
    prune["top_k"] = 0.7
    tuned({32: 3.0, 64: 1.0, 128: 2.0}, calls, prune_configs_by=prune)[(1,)](FakeTensor(16), FakeTensor(16), 2)
    assert calls == [32, 64]
    with pytest.raises(tandem.OutOfResources, match="leaves no configuration"):
        kernel[(1,)](FakeTensor(16), FakeTensor(16), 500)


def test_what_a_subclass_prunes_is_not_compiled(gpu):
    class Fewer(Autotuner):
        def prune_configs(self, kwargs):
            return super().prune_configs(kwargs)[:2]

    kernel = tandem.jit(scale)
    tuned = Fewer(kernel, kernel.arg_names, CONFIGS, ["n"], None, None, warmup=0, rep=1)
    tuned[(1,)](FakeTensor(16), FakeTensor(16), 16)
    assert len(gpu.requests) == 2 and tuned.best_config in CONFIGS[:2]


def test_results_are_kept_on_disk(gpu, tmp_path):
    times = {32: 3.0, 64: 1.0, 128: 2.0}
    first, second = [], []
    tuned(times, first, cache_results=True)[(1,)](FakeTensor(16), FakeTensor(16), 16)
    kernel = tuned(times, second, cache_results=True)
    kernel[(1,)](FakeTensor(16), FakeTensor(16), 16)
    assert first and not second and kernel.best_config is CONFIGS[1]
    kernel[(1,)](FakeTensor(16), FakeTensor(16), 32)
    assert second == [32, 64, 128]
    for path in (tmp_path / "cache" / "autotune").iterdir():
        assert json.loads(path.read_text())["config"]["BLOCK"] == 64
        path.write_text("{")
    tuned(times, third := [], cache_results=True)[(1,)](FakeTensor(16), FakeTensor(16), 16)
    assert third == [32, 64, 128]


def test_a_tuned_constant_cannot_be_given(gpu):
    with pytest.raises(ValueError, match="`BLOCK` of kernel `scale` is chosen by the autotuner"):
        tuned({})[(1,)](FakeTensor(16), FakeTensor(16), 16, BLOCK=32)


def test_default_timing(gpu):
    @tandem.autotune(CONFIGS, key=["n"], warmup=0, rep=1)
    @tandem.heuristics({"BLOCK2": lambda args: args["BLOCK"]})
    @tandem.jit
    def kernel(x_ptr, n, BLOCK: tl.constexpr, BLOCK2: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK2), n)

    kernel[lambda meta: (meta["BLOCK2"],)](FakeTensor(16), 16)  # a grid that only the launch knows
    assert len(gpu.requests) == 3 and kernel.best_config in CONFIGS


def glanced(monkeypatch, glances, times, **options):
    """The kernel, whose configurations a glance and a longer look time by made-up numbers, and the blocks that had the longer look."""
    state, looked = {}, []

    def block_of(call):
        call()
        return state["block"]

    def bench(call, **_):
        looked.append(block_of(call))
        return [times[looked[-1]]] * 3

    monkeypatch.setattr(testing, "times_at_a_glance", lambda calls: [glances[block_of(call)] for call in calls])
    monkeypatch.setattr(testing, "do_bench", bench)
    kernel = tandem.autotune(CONFIGS, key=["n"], cache_results=False, **options)(tandem.jit(scale))
    run = kernel.fn.run
    kernel.fn.run = lambda *args, **kwargs: (state.update(block=kwargs["BLOCK"]), run(*args, **kwargs))[1]
    return kernel, looked


def test_configurations_far_behind_are_timed_no_further(gpu, monkeypatch):
    kernel, looked = glanced(monkeypatch, {32: 1.2, 64: 1.0, 128: 1.5}, {32: 1.1, 64: 1.4})
    kernel[(1,)](FakeTensor(16), FakeTensor(16), 16)
    assert looked == [32, 64] and kernel.best_config is CONFIGS[0]
    assert kernel.configs_timings[CONFIGS[2]] == pytest.approx([1.1 * 1.5 / 1.2] * 3), "never less than the quickest"


def test_a_glance_passes_over_what_does_not_fit(gpu, monkeypatch):
    gpu.shared = lambda request: 300000 if request["options"]["num_warps"] == 8 else 0
    kernel, looked = glanced(monkeypatch, {32: 1.0, 128: 2.0}, {32: 1.0})
    kernel[(1,)](FakeTensor(16), FakeTensor(16), 16)
    assert looked == [32] and kernel.best_config is CONFIGS[0] and kernel.configs_timings[CONFIGS[1]] == [math.inf] * 3


def test_times_at_a_glance(gpu, monkeypatch):
    made = []
    calls = [lambda i=i: made.append(i) for i in range(3)]
    assert testing.times_at_a_glance(calls) == [2.0] * 3
    assert made == [0, 1, 2] + [0, 1, 2, 2, 1, 0]


def test_configurations_of_one_program_are_timed_once(gpu):
    """No loop has loads to be ahead of, so `num_stages` changes nothing; the grid does."""
    configs = [tandem.Config({"BLOCK": block}, num_stages=stages) for block in (32, 64) for stages in (1, 2, 3)]
    calls = []
    kernel = tuned({32: 2.0, 64: 1.0}, calls, configs=configs)
    kernel[(1,)](FakeTensor(16), FakeTensor(16), 16)
    assert calls == [32, 64] and kernel.best_config is configs[3] and len(kernel.configs_timings) == 6
    calls.clear()
    kernel[lambda meta: (meta["num_stages"],)](FakeTensor(16), FakeTensor(16), 32)
    assert calls == [32] * 3 + [64] * 3
    calls.clear()
    hooked = tuned({32: 2.0, 64: 1.0}, calls, configs=configs, pre_hook=lambda arguments, reset_only=False: None)
    hooked[(1,)](FakeTensor(16), FakeTensor(16), 16)
    assert calls == [32] * 3 + [64] * 3


def test_do_bench(gpu, monkeypatch):
    monkeypatch.setattr(testing, "time", types.SimpleNamespace(perf_counter=lambda: 0.0))  # a launch takes no time
    calls = []
    assert testing.do_bench(lambda: calls.append(1), warmup=4, rep=10) == 2.0  # the fake's events: one record each
    assert len(calls) == 1 + 5 + 5 + 12  # a call and its flush take 0.4 ms each
    assert testing.do_bench(lambda: None, warmup=0, rep=1, quantiles=[0.5, 0.2]) == [2.0, 2.0]
    assert testing.do_bench(lambda: None, warmup=0, rep=2, return_mode="all") == [2.0] * 2
    with pytest.raises(ValueError, match="not `average`"):
        testing.do_bench(lambda: None, return_mode="average")


def test_do_bench_flushes_until_the_call_is_launched(gpu, monkeypatch):
    seen, flush = [], testing._flush
    monkeypatch.setattr(testing, "_flush", lambda *args: (seen.append("flush"), flush(*args)))

    def call():
        seen.append("call")
        time.sleep(0.002)

    testing.do_bench(call, warmup=0, rep=1)
    timed = "".join("f" if what == "flush" else "c" for what in seen).split("c")[-2]
    assert len(timed) >= 11  # 0.4 ms a flush, for twice the 2 ms of a launch


def test_summary():
    assert testing._summary([4.0, 1.0, 2.0], [0.5, 0.25, 1.0], "mean") == [2.0, 1.5, 4.0]
    assert testing._summary([4.0, 1.0], [0.5], "mean") == 2.5
    assert testing._summary([4.0, 1.0, 1.0], None, "mean") == 2.0
    assert testing._summary([4.0, 1.0, 1.0], None, "median") == 1.0


def test_perf_report(tmp_path, capsys):
    @testing.perf_report(testing.Benchmark(["n"], [1, 2], "who", ["a", "b"], ["A", "B"], "plot", {"k": 10}))
    def run(n, who, k):
        return n * k + (who == "b")

    rows = run.run(print_data=True, save_path=str(tmp_path), return_df=True)
    assert rows == [{"n": 1, "A": 10, "B": 11}, {"n": 2, "A": 20, "B": 21}]
    assert capsys.readouterr().out == "plot:\nn   A   B\n1  10  11\n2  20  21\n"
    assert (tmp_path / "plot.csv").read_text().split() == ["n,A,B", "1,10,11", "2,20,21"]


SCRIPT = """
import tandem.compat
tandem.compat.install()
import triton
import triton.language as tl
import importlib.util
assert importlib.util.find_spec("triton") and importlib.util.find_spec("triton.language")  # as PyTorch asks
import triton.profiler as proton
import triton.testing
from triton.runtime import driver
from triton.tools.tensor_descriptor import TensorDescriptor
properties = driver.active.utils.get_device_properties(0)
assert properties["multiprocessor_count"] == 132 and properties["max_shared_mem"] == 232448, properties
target = triton.runtime.driver.active.get_current_target()
assert target.backend == "cuda" and target.arch == 90 and target.warp_size == 32
assert triton.cdiv(5, 2) == 3 and triton.next_power_of_2(5) == 8
triton.set_allocator(lambda size, alignment, stream: None)
assert triton.testing.do_bench(lambda: None, warmup=1, rep=1) > 0
triton.testing.Benchmark(["n"], [1], "p", ["t"], ["T"], "name", {})
triton.Config({}, num_warps=2)
with proton.scope("x"):
    pass
print("fine")
"""


def test_triton_names():
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, env={"TANDEM_CUDA_DRIVER": str(LIBRARY), **_path()}
    )
    assert done.stdout == "fine\n", done.stderr


def _path():
    return {k: v for k, v in os.environ.items() if k in ("PYTHONPATH", "PATH", "HOME")}


def test_no_gpu():
    script = "import tandem; print(tandem.gpu.is_available()); tandem.gpu.target_of(0)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env={"TANDEM_CUDA_DRIVER": "/nowhere/libcuda.so.1", **_path()}
    )
    assert done.stdout == "False\n" and "RuntimeError: no NVIDIA GPU: the CUDA driver cannot be opened" in done.stderr


def run_on_gpu(tmp_path, text, *options, library=LIBRARY):
    script = tmp_path / "script.py"
    script.write_text(text)
    command = [sys.executable, "-m", "tandem", "run", "--target", "cuda", *options, str(script)]
    return subprocess.run(command, capture_output=True, text=True, env={"TANDEM_CUDA_DRIVER": str(library), **_path()})


def test_run_on_a_gpu(tmp_path):
    done = run_on_gpu(tmp_path, "import triton\nprint(triton.runtime.driver.active.get_current_target().backend)\n", "--compat")
    assert (done.returncode, done.stdout) == (0, "cuda\n"), done.stderr
    done = run_on_gpu(tmp_path, "", library="/nowhere/libcuda.so.1")
    assert done.returncode == 1 and done.stderr.startswith("no NVIDIA GPU: ") and done.stderr.count("\n") == 1
    assert "only a simulated run has it" in run_on_gpu(tmp_path, "", "--check").stderr
    for words in (["--timeline"], ["--trace", str(tmp_path / "t.json")]):
        done = run_on_gpu(tmp_path, "", *words)
        assert (done.returncode, done.stderr) == (1, "tandem: there is no trace: the script has not called tandem.init()\n")
    assert not (tmp_path / "t.json").exists()


def test_where_there_is_no_home_there_is_no_cache(monkeypatch):
    for name in ("TANDEM_CACHE", "TANDEM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    assert tuning_cache.cache_folder() is None
    monkeypatch.setenv("HOME", "/at/home")
    assert str(tuning_cache.cache_folder()) == "/at/home/.cache/tandem"
    monkeypatch.setenv("XDG_CACHE_HOME", "/caches")
    assert str(tuning_cache.cache_folder()) == "/caches/tandem"


def test_what_the_cores_reach_without_tensor_cores(monkeypatch):
    gpus = [{"target": "sm_90a", "multiprocessors": 132}, {"target": "sm_80", "multiprocessors": 108}]
    monkeypatch.setattr(testing, "devices", lambda: gpus)
    assert testing.get_max_simd_tflops("float32", 1980e3, 0) == pytest.approx(66.9, abs=0.1)
    assert testing.get_max_simd_tflops(tl.float16, 1980e3, 0) == pytest.approx(133.8, abs=0.1)
    assert testing.get_max_simd_tflops("float32", 1410e3, 1) == pytest.approx(19.5, abs=0.1)
