"""The host names of Triton's runtime that scripts use (`triton.runtime.driver.active`, `triton.profiler`), over Tandem's."""

import contextlib
import types

from .. import testing
from ..gpu.device import current_device, devices, target_of
from ..gpu.streams import stream_handle
from ..host.current import is_simulating
from ..host.simulated_gpu import SIMULATED_GPU
from .backends import GPUTarget


def _is_simulated():
    """Returns true if kernels run on the simulator: on its ranks, and where there is no GPU."""
    return is_simulating() or not devices()


def _device(number):
    if _is_simulated():
        return SIMULATED_GPU
    target_of(number)  # raises the reason when kernels cannot run on this GPU
    return devices()[number]


class _Utils:
    @staticmethod
    def get_device_properties(device=0):
        d = _device(device)
        return {
            "max_shared_mem": d["max_shared_bytes"],
            "max_num_regs": d["max_registers"],
            "multiprocessor_count": d["multiprocessors"],
            "warpSize": d["warp_size"],
            "sm_clock_rate": d["clock_khz"],
            "mem_clock_rate": d["memory_clock_khz"],
            "mem_bus_width": d["memory_bus_bits"],
        }


class _Active:
    utils = _Utils()

    def get_current_device(self):
        return 0 if _is_simulated() else current_device()

    def set_current_device(self, device):
        self.get_device_interface().set_device(device)

    def get_current_stream(self, device=None):
        return stream_handle(None, current_device() if device is None else device)

    def get_current_target(self):
        d = _device(self.get_current_device())
        return GPUTarget("cuda", d["major"] * 10 + d["minor"], d["warp_size"])

    def get_active_torch_device(self):
        """Returns the device of a script's tensors: the CPU for simulated ranks and where there is no GPU."""
        import torch

        return torch.device("cpu") if _is_simulated() else torch.device("cuda", current_device())

    def get_device_interface(self):
        import torch

        return torch.cuda

    def get_benchmarker(self):
        return testing.do_bench


class _Driver:
    active = _Active()
    default = active

    def set_active(self, driver):
        """Ours is the only one."""

    reset_active = lambda self: None


driver = _Driver()


def profiler():
    """A `triton.profiler` that measures nothing."""
    module, viewer = types.ModuleType("triton.profiler"), types.ModuleType("triton.profiler.viewer")
    nothing = lambda *args, **kwargs: None
    module.start = module.finalize = module.activate = module.deactivate = nothing
    module.scope = module.cpu_timed_scope = lambda *args, **kwargs: contextlib.nullcontext()
    module.profile = lambda fn=None, **kwargs: fn if fn else (lambda f: f)
    viewer.parse, viewer.print_tree = (lambda metrics, *args, **kwargs: (None, metrics)), nothing
    module.viewer = viewer
    return {"triton.profiler": module, "triton.profiler.viewer": viewer}
