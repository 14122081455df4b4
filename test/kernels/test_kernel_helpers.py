"""The surroundings of such kernels: recorders of the profile, decorators, constants, launches with options, lists
and tuples."""

import numpy as np
import pytest
import triton
import triton_dist
import triton.language as tl
from triton.language import core
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import __syncthreads, globaltimer, smid, tid
from triton_dist.language.extra.cuda.language_extra import pack_b32_v2

WARP_SIZE = tl.constexpr(32)
SIGNAL_DTYPE = tl.uint64


@tl.core._aggregate
class Recorder:
    """Start and end of tasks, written by the leading thread to the program's part of a buffer."""

    buffer: tl.tensor
    stride: tl.constexpr
    is_leader: tl.tensor
    ENABLE: tl.constexpr

    def __init__(self, buffer, stride, is_leader, ENABLE):
        self.buffer = buffer
        self.stride = tl.constexpr(stride)
        self.is_leader = is_leader
        self.ENABLE = tl.constexpr(ENABLE)

    @triton.jit
    def create(buffer, stride: tl.constexpr, is_leader, ENABLE: tl.constexpr):
        if ENABLE:
            return Recorder(buffer + tl.program_id(0) * stride, stride, is_leader, ENABLE)
        else:
            return Recorder(buffer, stride, is_leader, ENABLE)

    @triton.jit
    def encode_tag(self, is_start: tl.constexpr, task_type: tl.constexpr):
        return (tl.program_id(0) << 12) | (task_type << 1) | is_start

    @triton.jit
    def record(self, is_start: tl.constexpr, task_type: tl.constexpr):
        if self.ENABLE:
            if self.is_leader:
                tag = self.encode_tag(is_start, task_type)
                tl.store(self.buffer, tag.to(tl.int64))
                tl.store(self.buffer + 1, globaltimer().to(tl.int64))
            self.buffer += 2


@triton_dist.jit
def profiled_scale(x_ptr, out_ptr, profile_ptr, n, BLOCK: tl.constexpr, ENABLE_PROFILING: tl.constexpr):
    profiler = Recorder.create(profile_ptr, 8, tid(0) == 0, ENABLE_PROFILING)
    profiler.record(is_start=True, task_type=1)
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    profiler.record(is_start=False, task_type=1)
    profiler.record(is_start=True, task_type=2)
    tl.store(out_ptr + offs, x * 2, mask=offs < n)
    profiler.record(is_start=False, task_type=2)


@pytest.mark.parametrize("enabled", [True, False])
def test_profiler(everywhere, enabled):

    def main(team):
        x, out, profile = np.arange(100, dtype=np.float32), np.zeros(100, np.float32), np.zeros((4, 4, 2), np.int64)
        profiled_scale[(4,)](x, out, profile, 100, 32, enabled)
        np.testing.assert_array_equal(out, x * 2)
        tags = [[(p << 12) | (task << 1) | start for task, start in ((1, 1), (1, 0), (2, 1), (2, 0))] for p in range(4)]
        np.testing.assert_array_equal(profile[:, :, 0], tags if enabled else 0)
        assert (np.diff(profile[:, :, 1], axis=1) >= 0).all()

    everywhere(main, ranks=(1, 2), seeds=(0,))


def configs():
    sizes = [(block, warps) for block in (64, 128) for warps in (2, 4)]
    return [triton.Config({"BLOCK_SIZE": block}, num_warps=warps, num_stages=2) for block, warps in sizes]


@triton.autotune(configs=configs(), key=["n"])
@triton.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK_SIZE"] == 0})
@triton.jit(do_not_specialize=["value"], repr=lambda spec: "tuned_add", launch_metadata=lambda grid, kernel, args: {"name": "tuned"})
def tuned_add(x_ptr, out_ptr, n, value, BLOCK_SIZE: tl.constexpr, EVEN: tl.constexpr):
    offs = tl.program_id(0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    if EVEN:
        tl.store(out_ptr + offs, tl.load(x_ptr + offs) + value)
    else:
        tl.store(out_ptr + offs, tl.load(x_ptr + offs, mask=offs < n) + value, mask=offs < n)


@pytest.mark.parametrize("n", [256, 300])
def test_autotuned(everywhere, n):

    def main(team):
        x, out = np.arange(n, dtype=np.int32), np.zeros(n, np.int32)
        for value in (1, 2):
            tuned_add[lambda meta: (triton.cdiv(n, meta["BLOCK_SIZE"]),)](x, out, n, value)
            np.testing.assert_array_equal(out, x + value)

    everywhere(main, ranks=(1, 2), seeds=(0,))


@tl.constexpr_function
def log2(n):
    return len(bin(n)) - 3


@core.extern
def two_words(low, high, order: core.constexpr = "low_first", _semantic=None):
    """A function of the library's own kind: it hands `_semantic` on and sees constants as objects or as they are."""
    if isinstance(order, core.constexpr):
        order = order.value
    tl.static_assert(order in ["low_first", "high_first"], "no such order", _semantic=_semantic)
    tl.static_assert(_semantic.builder.options.backend_name == "cuda", _semantic=_semantic)
    low = tl.cast(low, tl.uint32, _semantic=_semantic)
    return tl.inline_asm_elementwise(
        asm="mov.b64 $0, {$1, $2};" if order == "low_first" else "mov.b64 $0, {$2, $1};",
        constraints=("=l,r,r"),
        args=[low, high],
        dtype=tl.uint64,
        is_pure=True,
        pack=1,
        _semantic=_semantic,
    )


@triton.jit
def bisect_right_kernel(sorted_values_ptr, target_values, N: tl.constexpr):
    """How many of the sorted values are at most the target."""
    low = tl.zeros_like(target_values)
    high = tl.full(target_values.shape, N, dtype=target_values.dtype)
    for _ in tl.static_range(log2(N) + 1):
        mid = (low + high) // 2
        mid_value = tl.load(sorted_values_ptr + mid, mask=mid < N, other=2147483647)
        go_right = (mid_value <= target_values) & (low < high)
        low = tl.where(go_right, mid + 1, low)
        high = tl.where(go_right, high, mid)
    return low


@triton_dist.jit
def helpers(sorted_ptr, targets_ptr, found_ptr, words_ptr, COUNT: tl.constexpr, SIZES: tl.constexpr, MODE: tl.constexpr = None):
    tl.static_assert(COUNT % WARP_SIZE == 0, "whole warps")
    offs = tl.arange(0, COUNT)
    tl.store(found_ptr + offs, bisect_right_kernel(sorted_ptr, tl.load(targets_ptr + offs), SIZES[0]))
    if MODE is not None:
        tl.static_print("mode", MODE)
        assert MODE in ("pull", "push"), "unknown mode"
    thread_idx: tl.int32 = tid(0)
    total = 0
    for s in tl.static_range(len(SIZES)):
        total += SIZES[s]
    if thread_idx < WARP_SIZE:
        word = two_words(thread_idx, (total + smid().to(tl.int32) * 0).to(tl.uint32))
        libshmem_device.fence()
        packed = pack_b32_v2(thread_idx, total)
        tl.device_assert(word == packed, "both pack alike")
        tl.store(words_ptr.to(tl.pointer_type(SIGNAL_DTYPE)), 5)
    __syncthreads()


def test_helpers(everywhere):

    def main(team):
        rng = np.random.default_rng(team.rank)
        ordered = np.sort(rng.integers(0, 100, 50)).astype(np.int32)
        targets = rng.integers(0, 100, 64).astype(np.int32)
        found, words = np.zeros(64, np.int32), np.zeros(1, np.uint64)
        helpers[(1,)](ordered, targets, found, words, 64, (50, 20), MODE="pull", num_warps=2)
        np.testing.assert_array_equal(found, np.searchsorted(ordered, targets, side="right"))
        assert words[0] == 5

    everywhere(main, ranks=(1, 2), seeds=(0,))


@triton_dist.jit
def take_turns(ptrs, out_ptr, task_ptr, num_tasks, BLOCK: tl.constexpr, TYPES: tl.constexpr):
    """A persistent kernel over a queue of tasks: each has a type, an operand from a table of addresses, and a tile."""
    pid = tl.program_id(0)
    for t in range(pid, num_tasks, tl.num_programs(0)):
        task_type = tl.load(task_ptr + t * 3)
        which = tl.load(task_ptr + t * 3 + 1)
        tile = tl.load(task_ptr + t * 3 + 2)
        x_ptr = tl.load(ptrs + which).to(tl.pointer_type(tl.float32))
        offs = tile * BLOCK + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + offs)
        if task_type == 0:
            y = x * 2
        elif task_type == 1:
            y = -x
        else:
            y = tl.exp(x - tl.max(x, 0))
        tl.store(out_ptr + (which * TYPES + task_type) * BLOCK * 2 + offs, y)


def test_task_queue(everywhere):

    def main(team):
        xs = [team.local_from_array(np.random.default_rng(i).standard_normal(64).astype(np.float32)) for i in range(2)]
        ptrs = np.array([x.data_ptr() for x in xs], np.int64)
        tasks = np.array([(kind, which, tile) for kind in range(3) for which in range(2) for tile in range(2)], np.int32)
        np.random.default_rng(0).shuffle(tasks)
        out = np.zeros((2, 3, 2, 32), np.float32)
        take_turns[(5,)](ptrs, out, tasks, len(tasks), 32, 3)
        for which in range(2):
            x = np.asarray(xs[which]).reshape(2, 32)
            np.testing.assert_array_equal(out[which, 0], x * 2)
            np.testing.assert_array_equal(out[which, 1], -x)
            np.testing.assert_allclose(out[which, 2], np.exp(x - x.max(axis=1, keepdims=True)), rtol=1e-6)

    everywhere(main, ranks=(1, 2), seeds=(0, 1))
