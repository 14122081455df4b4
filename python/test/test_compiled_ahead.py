"""Kernels that launches would compile are compiled at once."""

import threading

import pytest

from tandem import _tandem
from tandem.errors import CompileError
from tandem.gpu import ahead
from tandem.gpu.compiled import compile_request
from tandem.tune.autotune import Autotuner, Config


@pytest.fixture
def compiler(monkeypatch):
    """Compiles "a" and "b" only together; "wrong" not at all."""
    together, calls = threading.Barrier(2, timeout=20), []

    def compile_it(request):
        calls.append(request)
        if request == "wrong":
            raise RuntimeError("error: wrong")
        if request in ("a", "b"):
            together.wait()
        return f"capsule of {request}"

    monkeypatch.setattr(_tandem, "gpu_compile", compile_it)
    monkeypatch.setattr(ahead.os, "sched_getaffinity", lambda _: {0, 1})
    return calls


def test_compiles_at_once_and_once(compiler):
    ahead.CompiledAhead([lambda request=r: compile_request(request) for r in ("a", "b", "a")])
    assert sorted(compiler) == ["a", "b"]
    assert [compile_request("b"), compile_request("a")] == ["capsule of b", "capsule of a"]
    assert sorted(compiler) == ["a", "b"]
    assert compile_request("c") == "capsule of c"


def test_errors_are_the_launchs(compiler):
    def bad_call():
        raise TypeError("no such argument")

    ahead.CompiledAhead([bad_call, lambda: compile_request("wrong"), lambda: "compiled before"])
    assert compiler == ["wrong"]
    with pytest.raises(CompileError, match="wrong"):
        compile_request("wrong")
    assert compiler == ["wrong"]
    assert not ahead._begun


def test_nothing_stays_that_was_not_launched(compiler):
    ahead.CompiledAhead([lambda: compile_request("c")]).forget()
    assert not ahead._begun and compile_request("c") and compiler == ["c", "c"]


class _Kernel:
    """Stands for a kernel: a launch compiles the request that `X` names, and `timed` keeps it."""

    arg_names, __name__ = ["n"], "kernel"

    def __init__(self):
        self.timed = []

    def run(self, n, X, warmup=False, **_):
        compile_request(X)
        if not warmup:
            self.timed.append(X)


class _OwnRun(Autotuner):
    """Searches by itself, as tuners of libraries do, and looks at the first `looked_at` configurations only."""

    looked_at = None

    def run(self, *args, **kwargs):
        self.nargs = dict(zip(self.arg_names, args))
        return [self._bench(*args, config=c, **kwargs) for c in self.prune_configs(kwargs)[: self.looked_at]]


def _tuner(names):
    return _OwnRun(_Kernel(), ["n"], [Config({"X": name}) for name in names], [], None, None, do_bench=lambda call, quantiles: call())


def test_a_tuner_with_a_run_of_its_own_compiles_at_once(compiler):
    tuner = _tuner("ab")
    tuner.run(1)
    assert sorted(compiler) == ["a", "b"] and tuner.fn.timed == ["a", "b"] and not ahead._begun


def test_what_a_search_leaves_goes_with_the_next(compiler):
    tuner = _tuner("cd")
    tuner.looked_at = 1
    tuner.run(1)
    assert sorted(compiler) == ["c", "d"] and list(ahead._begun) == ["d"]
    tuner.looked_at = 2
    tuner.run(1)
    assert not ahead._begun
