"""`triton.language.target_info`: what code is compiled for. Kernels ask it, and so do libraries on the host."""

from ..kernel.names import answers
from .triton_driver import driver


def current_target():
    """The current GPU; None where there is none."""
    try:
        return driver.active.get_current_target()
    except RuntimeError:
        return None


def cuda_capability_geq(major, minor=0):
    target = current_target()
    return target is not None and target.arch >= major * 10 + minor


def _always(answer):
    return lambda: answer


_HOST = {
    "current_target": current_target,
    "cuda_capability_geq": cuda_capability_geq,
    "is_cuda": _always(True),
    "is_hip": _always(False),
    "is_hip_cdna3": _always(False),
    "is_hip_cdna4": _always(False),
}
NAMES = answers("tl.target_info", _HOST)
