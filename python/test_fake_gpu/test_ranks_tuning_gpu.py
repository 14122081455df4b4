"""Tuning of kernels and operators by the ranks of a run together, on the fake driver."""

import json
import shutil
import threading
import time

import numpy as np
import pytest
from gpu_fake import assembler, needs_fake, on_gpus  # noqa: F401
from gpu_fake import compiling_gpu as gpu  # noqa: F401

import tandem
import tandem.language as tl

pytestmark = needs_fake


@pytest.fixture
def cache(gpu, monkeypatch, tmp_path):
    """A cache directory of the test's own."""
    monkeypatch.setenv("TANDEM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TANDEM_CACHE", "1")
    (tmp_path / "cache").mkdir()
    return tmp_path / "cache"


def tune_on_gpus(name, m=64):
    from tandem.ops import AllGatherGemm, GemmReduceScatter, rows_of_rank

    config = {} if name == "ag_gemm" else {"chunks": 0}  # kernels do nothing here, so no stream may wait for what one brings

    def main(team):
        with (AllGatherGemm if name == "ag_gemm" else GemmReduceScatter)(team, 256, 64, 1024, "fp32", **config) as op:
            rows = rows_of_rank(m, team.size, team.rank)
            a = team.local_empty((rows if name == "ag_gemm" else m, 1024), "float32")
            out = team.local_empty((m if name == "ag_gemm" else rows, 64), "float32")
            return op.tune(a, team.local_empty((1024, 64), "float32"), m, out=out)

    found = on_gpus(main, wait_timeout=20).values
    assert found[0] == found[1], "all ranks take the same"
    return found[0]


@pytest.mark.parametrize("name", ["ag_gemm", "gemm_rs"])
def test_tuning_is_kept_for_later_operators(cache, monkeypatch, name):
    first, again, other = tune_on_gpus(name), tune_on_gpus(name), tune_on_gpus(name, 65)
    assert first.tried == {"ag_gemm": 10, "gemm_rs": 3}[name] and first.measured > 0 and first.untuned > 0
    assert again.tried == 0 and other.tried > 0 and (again.config, again.measured) == (first.config, first.measured)
    files = sorted(path for path in (cache / "tuned").rglob("*") if path.is_file())
    assert [path.name for path in files] == ["m64-pointers.json", "m65-pointers.json"]
    whole = files[0].read_text()
    for damaged in ("", "{", '{"m": 64}', whole.replace('"block_m":', '"block_m":7'), whole[:-20], whole.replace('"group":', '"group":99')):
        files[0].write_text(damaged)
        assert tune_on_gpus(name).tried > 0, damaged
    assert tune_on_gpus(name).tried == 0, "written again"
    monkeypatch.setenv("TANDEM_CACHE", "0")
    assert tune_on_gpus(name).tried > 0


def test_tuned_files_of_others_cost_nothing(cache):
    """A file says what it is for: nobody asks the model about rows that nobody has."""
    tune_on_gpus("ag_gemm")
    file = next(path for path in (cache / "tuned").rglob("*.json"))
    for m in range(200):
        file.with_name(f"m{m}0000000.json").write_text(file.read_text().replace('"m":64', f'"m":{m + 2}0000000'))
    file.with_name("m1.json").write_text(file.read_text().replace('"m":64', '"m":1e300'))
    file.with_name("m2.json").write_text(file.read_text().replace('"block_m":', '"block_m":1' + "0" * 12))
    file.with_name("m3.json").write_text(file.read_text().replace('"copies":[', '"copies":[[1e300],'))
    begin = time.monotonic()
    assert tune_on_gpus("ag_gemm").tried == 0 and time.monotonic() - begin < 20


def test_a_cache_that_cannot_be_written(cache):
    (cache / "tuned").write_text("a file where a folder is wanted")
    assert tune_on_gpus("gemm_rs").tried > 0


def test_operators_go_by_the_profile_of_the_first_rank(cache):
    profile = {"version": 2, "device": "Fake H200", "copy_us": 5000.0}
    (cache / "profile.json").write_text(json.dumps(profile))
    slow = tune_on_gpus("ag_gemm")
    (cache / "profile.json").write_text(json.dumps(profile | {"device": "another"}))
    shutil.rmtree(cache / "tuned")
    default = tune_on_gpus("ag_gemm")
    assert slow.predicted > 5000 > default.predicted


def test_tensors_of_a_team_are_tuned_on_all_ranks_together(cache, monkeypatch):
    """Rank 1 finds another configuration quickest; the slowest rank counts."""
    from tandem.tune.rank_clock import RankClock

    times = {0: {32: 10.0, 64: 20.0, 128: 90.0}, 1: {32: 50.0, 64: 30.0, 128: 1.0}}
    calls = []

    def microseconds(self, queue, calls_of_one, holds):
        queue(self.stream)
        block = current[self.team.rank]
        calls.append((self.team.rank, block))
        return times[self.team.rank][block]

    monkeypatch.setattr(RankClock, "microseconds", microseconds)
    current = {}

    def make():
        @tandem.autotune([tandem.Config({"BLOCK": 32}), tandem.Config({"BLOCK": 64}), tandem.Config({"BLOCK": 128})], key=["n"])
        @tandem.jit
        def kernel(x_ptr, n, BLOCK: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, BLOCK), n)

        launch = kernel.launch_once

        def spy(config, args, kwargs):
            current[args[0].team.rank] = config.kwargs["BLOCK"]
            return launch(config, args, kwargs)

        kernel.launch_once = spy
        return kernel

    def main(team, kernel):
        x = team.zeros(128, "float32")
        kernel[(1,)](x, 5)
        kernel[(1,)](x, 5)
        return kernel.best_config.kwargs["BLOCK"]

    assert on_gpus(main, args=(make(),)).values == [64, 64]
    assert sorted(calls) == [(rank, block) for rank in (0, 1) for block in (32, 64, 128)]
    assert on_gpus(main, args=(make(),)).values == [64, 64] and len(calls) == 6, "found on disk"


@pytest.mark.parametrize(
    "milliseconds, batches", [({}, 1), ({"warmup": 0, "rep": 1}, 2), ({"rep": 100}, 6), ({"warmup": 40, "rep": 41}, 5)]
)
def test_warmup_and_rep_are_whole_batches_of_the_slowest_rank(gpu, monkeypatch, milliseconds, batches):
    """A batch is 20 ms on rank 1. Of the later batches the median counts."""
    from tandem.tune.rank_clock import RankClock

    taken = {0: [], 1: []}

    def microseconds(self, queue, calls, holds):
        queue(self.stream)
        taken[self.team.rank].append(calls)
        return 1e3 * (1 + self.team.rank)

    monkeypatch.setattr(RankClock, "microseconds", microseconds)

    @tandem.autotune([tandem.Config({"BLOCK": 32}), tandem.Config({"BLOCK": 64})], key=[], cache_results=False, **milliseconds)
    @tandem.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

    on_gpus(lambda team: kernel[(1,)](team.zeros(64, "float32")) and None)
    assert taken == {0: [10] * 2 * batches, 1: [10] * 2 * batches}


def test_a_graph_holds_no_call_that_waits(gpu):
    def main(team, kernel):
        kernel[(1,)](team.zeros(64, "float32"))

    def make(**hooks):
        @tandem.autotune(
            [tandem.Config({"BLOCK": 32}), tandem.Config({"BLOCK": 64})], key=[], cache_results=False, use_cuda_graph=True, **hooks
        )
        @tandem.jit
        def kernel(x_ptr, BLOCK: tl.constexpr):
            tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

        return kernel

    on_gpus(main, args=(make(),))
    with pytest.raises(ValueError, match="`use_cuda_graph` of kernel `kernel`: a call with hooks or arrays of the host waits"):
        on_gpus(main, args=(make(pre_hook=lambda full: None),))


def test_a_do_bench_of_ones_own_is_called_on_all_ranks(gpu, monkeypatch):
    from tandem.tune.rank_clock import RankClock

    monkeypatch.setattr(RankClock, "microseconds", None)
    times = {0: {32: 10.0, 64: 20.0}, 1: {32: 50.0, 64: [30.0, 1.0, 99.0]}}
    here, timed = threading.local(), []

    def bench(call, quantiles):
        call()
        timed.append((here.rank, here.block))
        return times[here.rank][here.block]

    @tandem.autotune([tandem.Config({"BLOCK": 32}), tandem.Config({"BLOCK": 64})], key=[], do_bench=bench, cache_results=False)
    @tandem.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

    launch = kernel.launch_once

    def spy(config, *rest):
        here.block = config.kwargs["BLOCK"]
        return launch(config, *rest)

    kernel.launch_once = spy

    def main(team):
        here.rank = team.rank
        kernel[(1,)](team.zeros(64, "float32"))
        return kernel.best_config.kwargs["BLOCK"]

    assert on_gpus(main).values == [64, 64]
    assert sorted(timed) == [(rank, block) for rank in (0, 1) for block in (32, 64)]


def test_a_configuration_that_one_rank_cannot_launch_is_out_for_all(gpu):
    @tandem.autotune([tandem.Config({"BLOCK": 32}), tandem.Config({"BLOCK": 64})], key=[], cache_results=False)
    @tandem.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

    launch = kernel.launch_once

    def fails(config, args, kwargs):
        if args[0].team.rank == 1 and config.kwargs["BLOCK"] == 32:
            raise tandem.OutOfResources("too large")
        return launch(config, args, kwargs)

    kernel.launch_once = fails

    def main(team):
        kernel[(1,)](team.zeros(64, "float32"))
        return kernel.best_config.kwargs["BLOCK"]

    assert on_gpus(main).values == [64, 64]


def test_pruning_may_make_configurations_of_its_own(cache, capfd, monkeypatch):
    monkeypatch.setenv("TANDEM_PRINT_AUTOTUNING", "1")

    @tandem.autotune(
        [tandem.Config({"BLOCK": 32}), tandem.Config({"BLOCK": 64})],
        key=[],
        prune_configs_by={"early_config_prune": lambda configs, *_, **__: [tandem.Config({"BLOCK": 16})]},
    )
    @tandem.jit
    def kernel(x_ptr, BLOCK: tl.constexpr):
        tl.store(x_ptr + tl.arange(0, BLOCK), 1.0)

    def main(team):
        kernel[(1,)](team.zeros(64, "float32"))
        return kernel.best_config.kwargs["BLOCK"]

    assert on_gpus(main).values == [16, 16]
    assert capfd.readouterr().err.count("autotuning `kernel` for (0,") == 1, "one rank tells"


def test_kernels_of_descriptors_are_tuned_together(gpu):
    from tandem.tune.autotune import team_among

    def main(team):
        x = team.zeros((64, 64), "float32")
        descriptor = tandem.TensorDescriptor.from_tensor(x, [16, 16])
        return team_among([1, descriptor]) is team and team_among([np.zeros(1), 2.0]) is None

    assert on_gpus(main).values == [True, True]
