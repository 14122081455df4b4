"""`kernel.warmup` compiles and runs nothing, with arrays or with mock tensors in their place."""

import numpy as np
import pytest

import tandem
import tandem.language as tl
from tandem.kernel.mock_tensor import MockTensor


@tandem.jit
def fill(x, value, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), value)


@tandem.jit
def wrong(x):
    tl.store(x, no_such_name)  # noqa: F821


def no_grid(meta):
    raise AssertionError("a grid is not asked for")


def test_nothing_runs():
    x = np.zeros(4, np.float32)
    compiled = fill.warmup(x, 1.0, N=4, grid=no_grid)
    assert isinstance(compiled, type(fill[(1,)](np.zeros(4, np.float32), 1.0, 4))) and not x.any()

    def main(team):
        tensor = team.zeros(4)
        fill.warmup(tensor, 1.0, N=4, grid=(1,))
        fill.warmup(np.float32, 1.0, N=4, grid=(1,))
        assert not np.asarray(tensor).any()

    tandem.launch(main, ranks=2)


@pytest.mark.parametrize("stand_in", [np.float32, np.dtype("float32"), MockTensor(np.float32), MockTensor("float32", (2, 3))])
def test_an_element_type_stands_for_an_array(stand_in):
    fill.warmup(stand_in, 1.0, N=4, grid=(1,))
    fill.warmup(x=stand_in, value=1.0, N=4, grid=(1,))


def test_errors_are_those_of_a_launch():
    with pytest.raises(tandem.CompileError, match="no_such_name"):
        wrong.warmup(np.float32)
    with pytest.raises(TypeError, match="complex64"):
        fill.warmup(np.complex64, 1.0, 4)
    with pytest.raises(TypeError, match="`x` of kernel `fill` stands for an array; only `warmup`"):
        fill[(1,)](MockTensor(np.float32), 1.0, 4)


def test_strides():
    assert MockTensor(np.float32, (2, 3, 4)).stride() == (12, 4, 1) and MockTensor(np.float32).stride() == (1,)


def test_for_a_gpu_that_is_not_here(monkeypatch):
    monkeypatch.setenv("TANDEM_TARGET", "sm_90a")
    monkeypatch.setenv("TANDEM_CACHE", "0")
    compiled = tandem.jit(fill.fn).warmup(np.float32, 1.0, N=4, grid=no_grid)
    assert ".target sm_90a" in compiled.asm.get("ptx") and compiled.asm.get("ttir") is None
    with pytest.raises(KeyError, match="ttir is no text of a compiled kernel; those are ptx, cubin and sass"):
        compiled.asm["ttir"]


@tandem.autotune([tandem.Config({"N": 4}, pre_hook=lambda args: 1 / 0), tandem.Config({"N": 8})], key=[])
@tandem.heuristics({"value": lambda args: args["N"]})
@tandem.jit
def tuned(x, value, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), value)


def test_every_configuration_is_compiled():
    x = np.zeros(8, np.float32)
    assert len(set(map(id, tuned.warmup(x, grid=(1,))))) == 2 and not x.any()
    assert len(tuned.warmup(np.float32)) == 2
