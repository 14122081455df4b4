"""`triton.experimental.gluon`, so that libraries import which also have kernels in Gluon. Those kernels place data on threads themselves;
Tandem compiles Triton's language, and a launch of one of them is an error.
"""

import functools
import inspect
import types

from ..errors import CompileError
from ..jit import constexpr_function
from ..kernel.descriptor import TensorDescriptor
from ..kernel.names import constexpr
from ..kernel.source import aggregate


class GluonFunction:
    """A function under `gluon.jit`."""

    def __init__(self, target):
        functools.update_wrapper(self, target)
        self.fn = target
        self.arg_names = list(inspect.signature(target).parameters)  # libraries' tuners ask

    def _refuse(self, *args, **kwargs):
        raise CompileError(f"`{self.__name__}` is a Gluon kernel; Tandem compiles kernels of Triton's language only")

    run = warmup = __call__ = _refuse

    def __getitem__(self, grid):
        return self._refuse


def jit(function=None, **options):
    return GluonFunction(function) if function else GluonFunction


class _Name:
    """A name of Gluon's language, for annotations, default values and decorators."""

    def __init__(self, name):
        self.__name__ = name

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Name(f"{self.__name__}.{name}")

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and not kwargs and isinstance(args[0], types.FunctionType) else self

    def __repr__(self):
        return f"<{self.__name__}>"


class _Names(types.ModuleType):
    """A module of Gluon's language: it has every name."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Name(f"{self.__name__}.{name}")


def modules():
    gluon = types.ModuleType("triton.experimental.gluon")
    gluon.__dict__.update(jit=jit, constexpr_function=constexpr_function, must_use_result=lambda x, *_: x)
    yield types.ModuleType("triton.experimental")
    yield gluon
    for inner in ("nvidia", "nvidia.hopper", "nvidia.blackwell"):
        module = types.ModuleType(f"triton.experimental.gluon.{inner}")
        module.TensorDescriptor = TensorDescriptor
        yield module
    for inner in ("", ".extra", ".nvidia", ".nvidia.ampere", ".nvidia.hopper", ".nvidia.hopper.tma", ".nvidia.blackwell"):
        module = _Names(f"triton.experimental.gluon.language{inner}")
        module.constexpr, module._aggregate = constexpr, aggregate
        yield module
