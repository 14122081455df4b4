"""Triton-distributed's host modules: `triton_dist.utils`, `profiler_utils`, `tune`, `autotuner`, `jit`, `nv_utils`,
`tools`. The library's other parts (`kernels`, `layers`, `models`) are its own, from where Python finds it."""

import contextlib
import functools
import logging
import os
import random
import sys

import numpy as np
import torch

from ...jit import JITFunction, jit
from . import lazy_tensors, measuring, nvshmem
from .lazy_tensors import LazyAllocator, get_underlying_tensor
from .rank import state

NVSHMEM_SIGNAL_DTYPE = torch.int64


# ---- triton_dist.utils: start, memory, barriers


def initialize_distributed(seed=None, initialize_shmem=True):
    """The group of all ranks, with random numbers seeded by rank or by `seed` [collective]."""
    me = state()
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("cpu:gloo,cuda:nccl")
    me.world = torch.distributed.group.WORLD
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


class NVSHMEMLazyAllocator(LazyAllocator):
    def __init__(self, lazy=False):
        super().__init__(nvshmem_create_tensor, nvshmem_free_tensor_sync, lazy)

    get_total_nvshmem_size = LazyAllocator.get_total_size
    get_total_nvshmem_size_mb = LazyAllocator.get_total_size_mb
    get_total_nvshmem_size_gb = LazyAllocator.get_total_size_gb


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
        return (torch.rand(shape, dtype=torch.float32, device=device) * 2 - 1).to(dtype)
    limits = torch.iinfo(dtype)
    return torch.randint(limits.min, limits.max, shape, dtype=torch.int64, device=device).to(dtype)


def _make_tensor(shape, dtype, init_args, device="cuda"):
    scale, bias = init_args
    shape = shape() if callable(shape) else shape
    shape = (shape,) if isinstance(shape, int) else tuple(size() if callable(size) else size for size in shape)
    if dtype.is_floating_point:
        return ((torch.rand(shape, dtype=torch.float32, device=device) * 2 - 1) * scale + bias).to(dtype)
    return torch.randint(-scale, scale, shape, dtype=dtype, device=device) + bias


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
    return torch.cuda.get_device_properties().shared_memory_per_block_optin


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
    "get_device_property": lambda device=None: torch.cuda.get_device_properties(device),
    "get_max_gpu_clock_rate_in_khz": lambda device=None: torch.cuda.get_device_properties(device).clock_rate,
    "get_current_gpu_clock_rate_in_khz": lambda device=None: torch.cuda.get_device_properties(device).clock_rate,
    "get_intranode_max_speed_gbps": lambda device=0, with_scale=False: 450.0,
    "get_device_name": lambda device=None: torch.cuda.get_device_name(device),
    "torch_stream_max_priority": lambda: -1,
    "wait_until_max_gpu_clock_or_warning": _nothing,
    "warn_if_cuda_launch_blocking": _nothing,
    "triton_dist_key": lambda: "tandem",
    "get_nvshmem_version": lambda: "simulated",
    "get_shmem_version": lambda: "simulated",
    "get_shmem_hash": lambda: "simulated",
}


def _library():
    """Folders of Triton-distributed's own package where Python finds one."""
    found = [os.path.join(folder or ".", "triton_dist") for folder in sys.path]
    return [folder for folder in found if os.path.isdir(folder)]


def _own(words):
    """The functions and classes of these names, from here or the files beside."""
    here = {**vars(lazy_tensors), **vars(measuring), **globals()}
    return {word: here[word] for word in words.split()}


def modules(module, package, driver, runtime):
    """The modules, made by `module(name, **members)`; `package` is the `triton_dist` that they belong to, `driver` and `runtime` are what
    `cuda.bindings` holds."""
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
        perf_func_with_l2_reset=measuring.perf_func,
    )
    yield module("triton_dist.tune", **_own("AutoTuner autotune to_hashable"))
    yield module("triton_dist.autotuner", **_own("contextual_autotune"))
    yield module("triton_dist.jit", jit=jit, TritonDistJITFunction=JITFunction)
    yield module("triton_dist.tools", **_own("aot_compile_spaces"))
    yield module("triton_dist.tools.compile_aot", **_own("aot_compile_spaces"))
    package.__path__ = _library()


def finish(found):
    """After registration: our modules' packages also hold what the library has beside them."""
    tools = [os.path.join(folder, "tools") for folder in found["triton_dist"].__path__]
    found["triton_dist.tools"].__path__ = [folder for folder in tools if os.path.isdir(folder)]
