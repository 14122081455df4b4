# Per-thread functions made of others: arrivals, waits and one atomic for a warp.
import triton
import triton.language as tl
from triton_dist.language.extra import language_extra as extra


@triton.jit
def arrive_inc(barrier_ptr, thread_idx, value, scope: tl.constexpr):
    """Thread 0 adds `value` to the word at `barrier_ptr`, after all accesses of the program. Executed by all threads of the program
    together. Memory model: M14."""
    extra.__syncthreads()
    if thread_idx == 0:
        extra.red_release(barrier_ptr, value, scope)


@triton.jit
def arrive_inc_asm(barrier_ptr, thread_idx, value, scope: tl.constexpr = "gpu"):
    """As `arrive_inc`. Executed by all threads of the program together. Memory model: M14."""
    arrive_inc(barrier_ptr, thread_idx, value, scope)


@triton.jit
def wait_eq(barrier_ptr, thread_idx, value, scope: tl.constexpr):
    """Waits until the word at `barrier_ptr` is `value`; thread 0 polls. Executed by all threads of the program together. Memory
    model: M4."""
    if thread_idx == 0:
        while extra.ld_acquire(barrier_ptr, scope) != value:
            pass
    extra.__syncthreads()


@triton.jit
def atomic_add_per_warp(barrier_ptr, value, scope: tl.constexpr, semantic: tl.constexpr):
    """One lane of each warp adds `value`; all its lanes get the value from before. Executed by the threads of a warp together. Memory
    model: M14."""
    old = tl.cast(0, barrier_ptr.dtype.element_ty)
    if extra.laneid() == 0:
        old = extra.atomic_add(barrier_ptr, value, scope, semantic)
    return extra.__shfl_sync_i32(0xFFFFFFFF, old, 0)


@triton.jit
def multimem_st_p_b32(ptr, val, mask):
    """Writes 32 bits to every rank's copy where `mask` is not 0. Executed by each thread. Memory model: M2."""
    if mask:
        extra.multimem_st_b32(ptr, val)


@triton.jit
def globaltimer_hi():
    """The high 32 bits of the device's time in nanoseconds. Executed by each thread."""
    return (extra.globaltimer() >> 32).to(tl.uint32)


@triton.jit
def multimem_ld_reduce_p_v4(ptr, mask):
    """128 bits from every rank, added element by element, where `mask` is not 0. Executed by each thread. Memory model: M2."""
    part_type: tl.constexpr = tl.float32 if ptr.dtype.element_ty == tl.float32 else tl.int32
    a = tl.cast(0, part_type)
    b = tl.cast(0, part_type)
    c = tl.cast(0, part_type)
    d = tl.cast(0, part_type)
    if mask:
        a, b, c, d = extra.multimem_ld_reduce_v4(ptr)
    return a, b, c, d
