"""A barrier of all programs of a launch, functions named by symbol, and a multicast sum under a mask."""

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
import triton_dist.language as dl
from triton.language import core
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import multimem_ld_reduce_p_v4, st, sync_grid, tid


@triton.jit
def neighbours(values_ptr, out_ptr, ROUNDS: tl.constexpr):
    """Each round every program reads what its right neighbour wrote in the round before."""
    pid = tl.program_id(0)
    n = tl.num_programs(0)
    for i in range(ROUNDS):
        tl.store(values_ptr + pid, pid * 100 + i)
        sync_grid()
        seen = tl.load(values_ptr + (pid + 1) % n)
        tl.store(out_ptr + pid * ROUNDS + i, seen)
        sync_grid()


def test_programs_meet_at_the_grid_barrier(everywhere):

    def main(team):
        values, out = np.full(12, -1, np.int32), np.zeros((12, 3), np.int32)
        neighbours[(12,)](values, out, 3)
        np.testing.assert_array_equal(out, (np.arange(12)[:, None] + 1) % 12 * 100 + np.arange(3))

    everywhere(main, ranks=(1, 2))


@triton.jit
def meets_once():
    sync_grid()


def test_a_grid_that_does_not_fit_is_a_deadlock():
    with pytest.raises(tandem.SimulationError, match="deadlock") as error:
        tandem.launch(lambda team: meets_once[(200,)]())
    assert "waits at `sync_grid` for 200 programs; 132 have come" in str(error.value)
    assert "have not started" in str(error.value)


@triton.jit
def one_stays_away():
    if tl.program_id(0) != 2:
        sync_grid()


def test_a_program_that_stays_away_is_a_deadlock():
    with pytest.raises(tandem.SimulationError, match="waits at `sync_grid` for 4 programs; 3 have come"):
        tandem.launch(lambda team: one_stays_away[(4,)]())


@core.extern
def hyperbolic(x, _semantic=None):
    return core.extern_elementwise(
        "libdevice",
        "",
        [x],
        {(core.dtype("fp32"),): ("__nv_tanhf", core.dtype("fp32")), (core.dtype("fp64"),): ("__nv_tanh", core.dtype("fp64"))},
        is_pure=True,
        _semantic=_semantic,
    )


@triton.jit
def by_symbol(x_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    tl.store(o_ptr + i, hyperbolic(x))
    both = {(tl.float32, tl.float32): ("__nv_powf", tl.float32)}
    tl.store(o_ptr + N, dl.extern_call("", "", [tl.cast(3, tl.float32), tl.cast(2, tl.float32)], both, True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_functions_of_the_device_library_by_symbol(dtype):
    x, o = np.linspace(-2, 2, 64).astype(dtype), np.zeros(65, dtype)
    by_symbol[(1,)](x, o, 64)
    np.testing.assert_allclose(o[:64], np.tanh(x), rtol=1e-6)
    assert o[64] == 9


@triton.jit
def unknown_symbol(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.extern_elementwise("mine", "/mine.bc", [x], {(tl.float32,): ("my_function", tl.float32)}, True))


@triton.jit
def wrong_types(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.extern_elementwise("", "", [x], {(tl.int32,): ("__nv_abs", tl.int32)}, True))


@triton.jit
def unknown_intrinsic(x_ptr):
    x = tl.load(x_ptr)
    tl.store(x_ptr, tl.inline_intrinsic_elementwise("llvm.nvvm.wonder", [x], tl.float32))


@pytest.mark.parametrize(
    "kernel, text",
    [
        (unknown_symbol, "`my_function` is no function of libdevice"),
        (wrong_types, r"`arg_type_symbol_dict` has \(int32\), not \(fp32\)"),
        (unknown_intrinsic, "`llvm.nvvm.wonder` is no known LLVM intrinsic"),
    ],
)
def test_unknown_symbols_are_refused_at_their_line(kernel, text):
    with pytest.raises(tandem.CompileError, match=text) as error:
        kernel[(1,)](np.zeros(1, np.float32))
    assert "test_grid_and_symbols.py" in str(error.value)


@core.extern
def thread_index(axis: core.constexpr, _semantic=None):
    return tl.inline_intrinsic_elementwise(
        intrinsic=f"llvm.mxc.thread.id.{axis.value}", args=[], dtype=tl.int32, is_pure=True, _semantic=_semantic
    )


@triton.jit
def intrinsics(x_ptr, o_ptr, i_ptr, N: tl.constexpr):
    t = thread_index("x")
    st(i_ptr + t, t + tl.inline_intrinsic_elementwise("llvm.nvvm.read.ptx.sreg.ntid.x", [], tl.int32))
    i = tl.arange(0, N)
    x = tl.load(x_ptr + i)
    root = tl.inline_intrinsic_elementwise("llvm.sqrt.f32", [x], tl.float32)
    tl.store(o_ptr + i, tl.inline_intrinsic_elementwise("llvm.fma.v4f32", [root, x, x], tl.float32))
    tl.store(i_ptr + 128, tl.inline_intrinsic_elementwise("llvm.umax.i32", [tl.cast(-1, tl.int32), 5], tl.int32))
    tl.store(i_ptr + 129, tl.inline_intrinsic_elementwise("llvm.smax.i32", [tl.cast(-1, tl.int32), 5], tl.int32))


def test_intrinsics_of_llvm():
    x, o, index = np.linspace(0, 4, 64).astype(np.float32), np.zeros(64, np.float32), np.zeros(130, np.int32)
    intrinsics[(1,)](x, o, index, 64, num_warps=4)
    np.testing.assert_allclose(o, np.sqrt(x) * x + x, rtol=1e-6)
    np.testing.assert_array_equal(index, np.r_[np.arange(128) + 128, -1, 5])


@triton.jit
def masked_sum(x_ptr, o_ptr, n):
    t = tid(0)
    source = libshmem_device.remote_mc_ptr(libshmem_device.NVSHMEM_TEAM_WORLD, x_ptr)
    a, b, c, d = multimem_ld_reduce_p_v4(source + t * 4, t < n)
    st(o_ptr + t * 4, a)
    st(o_ptr + t * 4 + 1, b)
    st(o_ptr + t * 4 + 2, c)
    st(o_ptr + t * 4 + 3, d)


def test_a_multicast_sum_under_a_mask(everywhere):

    def main(team):
        x = team.from_array(np.arange(128, dtype=np.float32) * (team.rank + 1))
        o = np.zeros(128, np.float32)
        team.barrier()
        masked_sum[(1,)](x, o, 20, num_warps=1)
        team.barrier()
        expected = np.arange(128, dtype=np.float32) * sum(range(1, team.size + 1))
        expected[80:] = 0
        np.testing.assert_array_equal(o, expected)

    everywhere(main, ranks=(1, 2, 4))
