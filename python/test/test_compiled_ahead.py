"""Kernels that launches would compile are compiled at once."""

import threading

import pytest

from tandem import _tandem
from tandem.errors import CompileError
from tandem.gpu import ahead
from tandem.gpu.compiled import compile_request


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
    with ahead.compiled_ahead([lambda request=r: compile_request(request) for r in ("a", "b", "a")]):
        assert sorted(compiler) == ["a", "b"]
        assert [compile_request("b"), compile_request("a")] == ["capsule of b", "capsule of a"]
    assert sorted(compiler) == ["a", "b"]
    assert compile_request("c") == "capsule of c"


def test_errors_are_the_launchs(compiler):
    def bad_call():
        raise TypeError("no such argument")

    with ahead.compiled_ahead([bad_call, lambda: compile_request("wrong"), lambda: "compiled before"]):
        assert compiler == ["wrong"]
        with pytest.raises(CompileError, match="wrong"):
            compile_request("wrong")
    assert compiler == ["wrong"]
    assert not ahead._begun


def test_nothing_stays_that_was_not_launched(compiler):
    with ahead.compiled_ahead([lambda: compile_request("c")]):
        pass
    assert not ahead._begun and compile_request("c") and compiler == ["c", "c"]
