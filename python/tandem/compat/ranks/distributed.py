"""Triton-distributed's host modules for simulated ranks: `triton_dist.utils`, `profiler_utils`, `tune`, `autotuner`, `jit`, `nv_utils`,
`tools`. The library's other parts (`kernels`, `layers`, `models`) are its own, from where Python finds it."""

import contextlib
import functools
import logging
import os
import random
import sys

import numpy as np
import torch

from ...host.simulated_gpu import SIMULATED_GPU
from ...jit import JITFunction, jit
from . import cuda_bindings, nvshmem, streams
from .rank import state

NVSHMEM_SIGNAL_DTYPE = torch.int64
_TIMED_CALLS = 2  # a simulated run gives the same result again, and has no time to measure


# ---- triton_dist.utils: start, memory, barriers


def initialize_distributed(seed=None, initialize_shmem=True):
    """The group of all ranks, with random numbers seeded by rank or by `seed` [collective]."""
    me = state()
    if me.world is None:
        torch.distributed.init_process_group()
    init_seed(me.team.rank if seed is None else seed)
    me.shmem_group = me.world if initialize_shmem else None
    return me.world


def init_nvshmem_by_torch_process_group(group):
    if group.size() != state().team.size:
        raise NotImplementedError("NVSHMEM of simulated ranks is of all ranks; a part of them is a team (`team_split_strided`)")
    state().shmem_group = group


def init_seed(seed=0):
    torch.manual_seed(seed)
    np.random.seed(seed)
    random.seed(seed)


def is_shmem_initialized():
    return getattr(state(), "shmem_group", None) is not None


def finalize_distributed():
    nvshmem.finalize()
    torch.distributed.destroy_process_group()


def get_triton_dist_world():
    return getattr(state(), "shmem_group", None)


def get_triton_dist_local_world_size():
    return state().local_size


def nvshmem_create_tensor(shape, dtype):
    return nvshmem.tensor(shape, dtype)


def nvshmem_create_tensors(shape, dtype, rank, local_world_size):
    """This rank's symmetric tensor as each rank of its node has it."""
    mine = nvshmem.tensor(shape, dtype)
    first = rank - rank % local_world_size
    return [mine if peer == rank else nvshmem.get_peer_tensor(mine, peer) for peer in range(first, first + local_world_size)]


def nvshmem_free_tensor_sync(tensor):
    nvshmem.free_tensor(tensor)


def nvshmem_barrier_all_on_stream(stream=None):
    nvshmem.barrier(nvshmem.Teams.TEAM_WORLD, stream)


def barrier_async(group):
    nvshmem.barrier(nvshmem.Teams.TEAM_WORLD, None)


class LazyTensor:
    """A tensor that its allocator makes later; then it stands for it."""

    def __init__(self, name, shape, dtype, fill_value):
        self._name, self._shape, self._dtype, self._fill, self._tensor = name, torch.Size(shape), dtype, fill_value, None

    @property
    def is_materialized(self):
        return self._tensor is not None

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def nbytes(self):
        return self._shape.numel() * self._dtype.itemsize

    @property
    def tensor(self):
        if self._tensor is None:
            raise RuntimeError(f"`{self._name}` has no memory yet: its allocator's sync() gives it")
        return self._tensor

    def get_underlying_tensor(self):
        return self._tensor

    def make(self, create):
        self._tensor = create(self._shape, self._dtype)
        if self._fill is not None:
            self._tensor.fill_(self._fill)

    def fill_(self, value):
        if self._tensor is None:
            self._fill = value
        else:
            self._tensor.fill_(value)
        return self

    def zero_(self):
        return self.fill_(0)

    def __getattr__(self, name):
        return getattr(self.tensor, name)

    def __getitem__(self, index):
        return self.tensor[index]

    def __setitem__(self, index, value):
        self.tensor[index] = value

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        plain = lambda value: value.tensor if isinstance(value, LazyTensor) else value
        return function(*map(plain, args), **{name: plain(value) for name, value in (kwargs or {}).items()})


class LazyAllocator:
    """Makes tensors at once, or, when lazy, all of them at `sync()`."""

    def __init__(self, create_tensor_fn, free_tensor_fn=None, lazy=False):
        self._create, self._free, self.lazy, self._tensors = create_tensor_fn, free_tensor_fn, lazy, []

    @property
    def is_materialized(self):
        return all(tensor.is_materialized for tensor in self._tensors)

    def create_tensor(self, name, shape, dtype, fill_value=None):
        self._tensors.append(LazyTensor(name, shape, dtype, fill_value))
        if not self.lazy:
            self.sync()
        return self._tensors[-1]

    def sync(self):
        for tensor in self._tensors:
            if not tensor.is_materialized:
                tensor.make(self._create)

    materialize = sync

    def get_total_size(self):
        return sum(tensor.nbytes for tensor in self._tensors)

    def free_tensor(self, tensor):
        tensor = get_underlying_tensor(tensor)
        if tensor is not None and self._free is not None:
            self._free(tensor)

    def __len__(self):
        return len(self._tensors)


class NVSHMEMLazyAllocator(LazyAllocator):
    def __init__(self, lazy=False):
        super().__init__(nvshmem_create_tensor, nvshmem_free_tensor_sync, lazy)

    get_total_nvshmem_size = LazyAllocator.get_total_size


def get_underlying_tensor(tensor):
    return tensor.get_underlying_tensor() if isinstance(tensor, LazyTensor) else tensor


def nvshmem_free_lazy_tensor(tensor):
    tensor = get_underlying_tensor(tensor)
    if tensor is not None:
        nvshmem_free_tensor_sync(tensor)


# ---- triton_dist.utils: printing, data


def dist_print(*args, allowed_ranks=(0,), prefix=False, need_sync=False, **options):
    """Prints on some ranks (or "all"), one after the other with `need_sync`."""
    me = state()
    for rank in range(me.team.size) if isinstance(allowed_ranks, str) and allowed_ranks == "all" else allowed_ranks:
        if need_sync:
            torch.distributed.barrier()
        if rank == me.team.rank:
            print(*([f"[rank:{rank}]"] if prefix else []), *args, **options)


def is_fp8_dtype(dtype):
    return dtype.itemsize == 1 and dtype.is_floating_point


@contextlib.contextmanager
def with_torch_deterministic(mode, warn_only=True):
    before = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(mode, warn_only=warn_only)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(before, warn_only=warn_only)


def rand_tensor(shape, dtype, device="cuda"):
    """Floats from [-1, 1), integers from all of their type."""
    if dtype.is_floating_point:
        return (torch.rand(shape, dtype=torch.float32) * 2 - 1).to(dtype)
    limits = torch.iinfo(dtype)
    return torch.randint(limits.min, limits.max, shape, dtype=torch.int64).to(dtype)


def _make_tensor(shape, dtype, init_args, device="cuda"):
    scale, bias = init_args
    shape = shape() if callable(shape) else shape
    shape = (shape,) if isinstance(shape, int) else tuple(size() if callable(size) else size for size in shape)
    if dtype.is_floating_point:
        return ((torch.rand(shape, dtype=torch.float32) * 2 - 1) * scale + bias).to(dtype)
    return torch.randint(-scale, scale, shape, dtype=dtype) + bias


def generate_data(configs):
    """Endless tuples of fresh tensors; a configuration is (shape, dtype, (scale, bias)), or None for None."""
    while True:
        yield (_make_tensor(*config) if config else None for config in configs)


# ---- triton_dist.utils: what the machine can do


def CUDA_CHECK(error):
    if int(error):
        raise RuntimeError(f"CUDA error: {error}")


def requires(condition):
    """A function that asserts `condition()` at each call."""

    def decorate(function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            assert condition(), f"`{function.__name__}` needs {condition.__name__}"
            return function(*args, **kwargs)

        return call

    return decorate


def requires_p2p_native_atomic(function):
    return function


def get_device_max_shared_memory_size(device=0):
    return streams.properties().shared_memory_per_block_optin


def sleep_async(duration_ms):
    """Time is the schedule's business on simulated ranks."""


def launch_cooperative_grid_options():
    return {"launch_cooperative_grid": True}


def cuda_occupancy_max_activate_blocks_per_multiprocessor(kernel, num_warps, *args, **kwargs):
    return 1


def get_bool_env(name, default):
    text = os.getenv(name)
    return default if text is None else text.lower() in ("1", "on", "true")


def get_int_env(name, default):
    try:
        return int(os.environ[name])
    except (KeyError, ValueError):
        return default


_yes, _no = lambda *_, **__: True, lambda *_, **__: False
_nothing = lambda *_, **__: None

_ANSWERS = {
    "is_cuda": _yes,
    "is_hip": _no,
    "is_maca": _no,
    "is_ascend": _no,
    "is_rocshmem": _no,
    "is_mori_shmem": _no,
    "get_shmem_backend": lambda: "nvshmem",
    "supports_p2p_native_atomic": _yes,
    "has_fullmesh_nvlink": _yes,
    "has_tma": _yes,
    "has_nvshmemi_bc_built": _yes,
    "support_launch_cooperative_grid": _yes,
    "is_nvshmem_multimem_supported": _no,
    "get_numa_node": lambda device=0: 0,
    "get_numa_node_count_in_group": lambda group: 1,
    "get_group_numa_world_size": lambda group: group.size(),
    "get_device_property": lambda device=0: streams.properties(),
    "get_max_gpu_clock_rate_in_khz": lambda device=0: SIMULATED_GPU["clock_khz"],
    "get_current_gpu_clock_rate_in_khz": lambda device=0: SIMULATED_GPU["clock_khz"],
    "get_intranode_max_speed_gbps": lambda device=0, with_scale=False: 450.0,
    "get_device_name": lambda device=0: SIMULATED_GPU["name"],
    "torch_stream_max_priority": lambda: -1,
    "wait_until_max_gpu_clock_or_warning": _nothing,
    "warn_if_cuda_launch_blocking": _nothing,
    "triton_dist_key": lambda: "tandem",
    "get_nvshmem_version": lambda: "simulated",
    "get_shmem_version": lambda: "simulated",
    "get_shmem_hash": lambda: "simulated",
}


# ---- triton_dist.profiler_utils


def perf_func(func, iters, warmup_iters):
    """(the last result, milliseconds of a call). Simulated ranks make few calls; the time is what the simulation took."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    calls = max(1, min(iters, _TIMED_CALLS))
    torch.cuda.synchronize()
    begin.record()
    for _ in range(calls):
        result = func()
    end.record()
    torch.cuda.synchronize()
    return result, begin.elapsed_time(end) / calls


def benchmark_latency_memory(func, iters=100, warmup_iters=10, pre_func=None):
    if pre_func is not None:
        pre_func()
    return perf_func(func, iters, warmup_iters)[1], 0.0


class group_profile:
    """Profiles nothing on simulated ranks: `tandem run --trace` does."""

    def __init__(self, name="", do_prof=True, *_, **__):
        self.name = name

    def __enter__(self):
        return None

    def __exit__(self, *failure):
        return None


def get_torch_prof_ctx(do_prof):
    return contextlib.nullcontext()


def print_benchmark_comparison(all_implementations, *_, **__):
    for name, found in dict(all_implementations).items():
        print(f"{name}: {found}")


# ---- triton_dist.tune, triton_dist.autotuner


class AutoTuner:
    """Calls with the first configuration that is left after pruning: simulated ranks have no times to compare."""

    def __init__(self, func, config_space, key_fn=None, prune_fn=None):
        functools.update_wrapper(self, func)
        self.fn, self.config_space, self.key_fn, self.prune_fn = func, config_space, key_fn, prune_fn

    def __call__(self, *args, autotune=False, autotune_pg=None, **kwargs):
        if autotune:
            kept = [c for c in self.config_space if self.prune_fn is None or self.prune_fn(c, *args, **kwargs)]
            if kept:
                kwargs = {**kept[0], **kwargs}
        return self.fn(*args, **kwargs)


def autotune(config_space, key_fn=None, prune_fn=None):
    return lambda func: AutoTuner(func, config_space, key_fn, prune_fn)


def to_hashable(tensor):
    return (tuple(tensor.shape), tensor.dtype, tuple(tensor.stride())) if isinstance(tensor, torch.Tensor) else tensor


def contextual_autotune(is_dist=False, n_repeat=5, n_warmup=3):
    return lambda func: func


# ---- triton_dist.tools


def aot_compile_spaces(spaces=None, *_, **__):
    return lambda function: function


def alloc_profiler_buffer(max_num_profile_slots):
    return torch.zeros(max_num_profile_slots, dtype=torch.int64)


class ProfilerBuffer:
    """The buffer that a kernel's profiler writes to; it is not drawn: `tandem run --trace` draws."""

    def __init__(self, max_num_profile_slots, trace_file=None, task_names=None):
        self.profiler_buffer = alloc_profiler_buffer(max_num_profile_slots)

    def __enter__(self):
        return self.profiler_buffer

    def __exit__(self, *failure):
        return None


def _library():
    """Folders of Triton-distributed's own package where Python finds one."""
    found = [os.path.join(folder or ".", "triton_dist") for folder in sys.path]
    return [folder for folder in found if os.path.isdir(folder)]


def _own(words):
    return {word: globals()[word] for word in words.split()}


def modules(module, package):
    """The modules, made by `module(name, **members)`; `package` is the `triton_dist` that they belong to."""
    driver, runtime = (type(sys)(f"cuda.bindings.{name}") for name in ("driver", "runtime"))
    driver.__dict__.update(cuda_bindings._driver())
    runtime.__dict__.update(cuda_bindings._runtime())
    utils = _own(
        "NVSHMEM_SIGNAL_DTYPE initialize_distributed init_nvshmem_by_torch_process_group init_seed is_shmem_initialized "
        "finalize_distributed get_triton_dist_world get_triton_dist_local_world_size nvshmem_create_tensor nvshmem_create_tensors "
        "nvshmem_free_tensor_sync nvshmem_barrier_all_on_stream barrier_async LazyTensor LazyAllocator NVSHMEMLazyAllocator "
        "get_underlying_tensor nvshmem_free_lazy_tensor dist_print is_fp8_dtype with_torch_deterministic rand_tensor _make_tensor "
        "generate_data CUDA_CHECK requires requires_p2p_native_atomic get_device_max_shared_memory_size sleep_async "
        "launch_cooperative_grid_options cuda_occupancy_max_activate_blocks_per_multiprocessor get_bool_env get_int_env"
    )
    yield module("triton_dist.utils", **utils, **_ANSWERS, cuda=driver, cudart=runtime, logger=logging.getLogger("triton_dist"))
    yield module("triton_dist.nv_utils", **_ANSWERS)
    yield module(
        "triton_dist.profiler_utils",
        **_own("perf_func benchmark_latency_memory group_profile get_torch_prof_ctx print_benchmark_comparison sleep_async"),
        perf_func_with_l2_reset=perf_func,
    )
    yield module("triton_dist.tune", **_own("AutoTuner autotune to_hashable"))
    yield module("triton_dist.autotuner", **_own("contextual_autotune"))
    yield module("triton_dist.jit", jit=jit, TritonDistJITFunction=JITFunction, _parse_cga_cluster_size=lambda: None)
    yield module("triton_dist.tools", **_own("aot_compile_spaces"))
    yield module("triton_dist.tools.compile_aot", **_own("aot_compile_spaces"))
    package.__path__ = _library()


def finish(found):
    """After registration: our modules' packages also hold what the library has beside them."""
    tools = [os.path.join(folder, "tools") for folder in found["triton_dist"].__path__]
    found["triton_dist.tools"].__path__ = [folder for folder in tools if os.path.isdir(folder)]
