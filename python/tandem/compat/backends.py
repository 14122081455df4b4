"""`triton.backends`: what programs ask of the backend for NVIDIA's GPUs."""

import abc
import dataclasses
import enum
import hashlib
import os
import subprocess
import sys
import types

from .. import _tandem
from ..gpu.device import is_available
from . import knobs, ttir


@dataclasses.dataclass(frozen=True)
class GPUTarget:
    """`arch` is the compute capability times ten, such as 90."""

    backend: str
    arch: int | str
    warp_size: int


class Language(enum.Enum):
    TRITON = 0
    GLUON = 1


class BaseBackend(abc.ABC):
    """What a target's compiler answers."""

    def __init__(self, target):
        self.target = target

    @staticmethod
    @abc.abstractmethod
    def supports_target(target):
        """Returns true if kernels can be compiled for the target."""

    @abc.abstractmethod
    def hash(self):
        """Differs between versions of the compiler and between targets."""

    @abc.abstractmethod
    def parse_options(self, options):
        """The launch options as attributes, with their defaults."""


class CUDABackend(BaseBackend):
    @staticmethod
    def supports_target(target):
        return target.backend == "cuda"

    def hash(self):
        return f"tandem-{_tandem.version()}-{self.target.arch}"

    def parse_options(self, options):
        defaults = {
            "num_warps": 4,
            "num_stages": 3,
            "num_ctas": 1,
            "maxnreg": None,
            "enable_fp_fusion": True,
            "extern_libs": None,
            "debug": False,
            "backend_name": "cuda",
            "arch": f"sm{self.target.arch}",
            "launch_cooperative_grid": False,
            "launch_pdl": False,
            "warp_size": 32,
        }
        parsed = types.SimpleNamespace(**{**defaults, **options})
        parsed.hash = lambda: hashlib.sha256(repr(sorted((k, str(v)) for k, v in vars(parsed).items() if k != "hash")).encode()).hexdigest()
        return parsed

    parse_attr = staticmethod(ttir.parse_attr)

    def load_dialects(self, context):
        ttir.load_dialects(context)

    def get_codegen_implementation(self, options):
        return {}

    def get_module_map(self):
        return {}


class DriverBase(abc.ABC):
    @classmethod
    @abc.abstractmethod
    def is_active(cls):
        """Returns true if there is a GPU of this kind."""


class GPUDriver(DriverBase):
    """A driver of GPUs."""


class CudaDriver(GPUDriver):
    @classmethod
    def is_active(cls):
        """As Triton, by what PyTorch knows: its compile workers are forks of a process that has used the driver, which answers no fork."""
        torch = sys.modules.get("torch")
        return torch.cuda.is_available() and torch.version.hip is None if hasattr(torch, "cuda") else is_available()


@dataclasses.dataclass(frozen=True)
class Backend:
    compiler: type
    driver: type


backends = {"nvidia": Backend(CUDABackend, CudaDriver)}


def make_backend(target):
    if not CUDABackend.supports_target(target):
        raise RuntimeError(f"there is no backend for `{target.backend}`: kernels run on NVIDIA's GPUs")
    return CUDABackend(target)


def get_ptxas(arch=None):
    return knobs.nvidia.ptxas


def get_ptxas_version(arch=None):
    return subprocess.run([get_ptxas(arch).path, "--version"], check=True, capture_output=True, text=True).stdout


def libcuda_dirs():
    """The folders that hold the CUDA driver's library."""
    if given := knobs.nvidia.libcuda_path:
        return [given]
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout.splitlines()
    found = [os.path.dirname(line.split()[-1]) for line in listed if "libcuda.so.1" in line]
    paths = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if os.path.exists(os.path.join(path, "libcuda.so.1"))]
    if not found + paths:
        raise RuntimeError("libcuda.so.1 is not found: is there a driver of NVIDIA's?")
    return list(dict.fromkeys(found + paths))
