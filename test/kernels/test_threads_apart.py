"""Threads of one program at different places: those that can go on do, up to where all are needed."""

import numpy as np
import pytest
import tandem
import triton
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import __shfl_sync_i32, __syncthreads, ld, st, tid


@triton.jit
def wait_for(flag_ptr):
    while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
        pass


@triton.jit
def flag_set_behind_the_branch(flag_ptr, out_ptr):
    thread_idx = tid(0)
    if thread_idx == 0:
        wait_for(flag_ptr)
    if thread_idx == 1:
        st(flag_ptr, 1, scope="gpu", semantic="release")
    __syncthreads()
    st(out_ptr + thread_idx, thread_idx + ld(flag_ptr))


@triton.jit
def chain(flag_ptr, out_ptr):
    thread_idx = tid(0)
    if thread_idx > 0:
        wait_for(flag_ptr + thread_idx - 1)
    st(flag_ptr + thread_idx, 1, scope="gpu", semantic="release")
    st(out_ptr + thread_idx, thread_idx + 1)


@triton.jit
def shuffle_behind_the_branch(flag_ptr, out_ptr):
    thread_idx = tid(0)
    if thread_idx == 5:
        wait_for(flag_ptr)
    first = __shfl_sync_i32(0xFFFFFFFF, thread_idx + 1, 0)
    if thread_idx == 64:
        st(flag_ptr, 1, scope="gpu", semantic="release")
    st(out_ptr + thread_idx, thread_idx + first - thread_idx // 32 * 32)


@triton.jit
def rounds(flag_ptr, out_ptr):
    thread_idx = tid(0)
    total = 1
    for i in range(20):
        if thread_idx == i:
            wait_for(flag_ptr + i)
        if thread_idx == i + 1:
            st(flag_ptr + i, 1, scope="gpu", semantic="release")
        __syncthreads()
        total += i
    st(out_ptr + thread_idx, thread_idx + total - 190)


@pytest.mark.parametrize("kernel", [flag_set_behind_the_branch, chain, shuffle_behind_the_branch, rounds])
def test_threads_go_on(everywhere, kernel):
    def main(team):
        flags, out = np.zeros(128, np.int32), np.zeros(128, np.int32)
        kernel[(1,)](flags, out)
        np.testing.assert_array_equal(out, np.arange(128) + 1)

    everywhere(main, ranks=(1, 2))


@triton.jit
def barrier_in_a_branch(flag_ptr, out_ptr):
    thread_idx = tid(0)
    if thread_idx // 32 == 0:
        if thread_idx == 0:
            libshmem_device.barrier_all()
        st(out_ptr + thread_idx, 1)
    if thread_idx == 40:
        st(flag_ptr, 1, scope="gpu", semantic="release")


def test_a_team_barrier_of_one_thread_does_not_hold_the_others(everywhere):
    def main(team):
        flag, out = np.zeros(1, np.int32), np.zeros(32, np.int32)
        barrier_in_a_branch[(1,)](flag, out)
        assert flag[0] == 1 and out.all()

    everywhere(main, ranks=(1, 2, 4))


@triton.jit
def nobody_sets(flag_ptr):
    if tid(0) == 0:
        wait_for(flag_ptr)
    __syncthreads()


def test_a_livelock_says_where_the_others_are():
    with pytest.raises(tandem.SimulationError, match=r"1 of its 128 threads; 127 wait for the others at .*:\d+") as error:
        tandem.launch(lambda team: nobody_sets[(1,)](np.zeros(1, np.int32)))
    assert "livelock" in str(error.value)
