"""`triton.compiler`: compiling a function for given types, without a call. PyTorch's compiler takes this way, in processes of its own."""

import hashlib
import json
import re
import types

from ..gpu.compiled import CompiledKernel, compile_request
from ..host.call import launch_flags
from ..kernel.request import RequestBuilder
from . import ttir
from .backends import Language, make_backend
from .cache import triton_key
from .triton_driver import driver

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "debug", "sanitize_overflow")


class ASTSource:
    """A function, the types of its parameters ({name: "*fp32", "i32" or "constexpr"}), its constants (by name, or by place: {(1,): 64};
    those that are not there are None) and what is known of its arguments ({(0,): [["tt.divisibility", 16]]})."""

    def __init__(self, fn, signature, constexprs=None, attrs=None):
        self.fn, self.signature, self.attrs = fn, signature, attrs or {}
        self.name, self.language, self.ext = fn.__name__, Language.TRITON, "ttir"
        wrong = [name for name in signature if name not in fn.arg_names]
        if wrong:
            raise TypeError(f"kernel `{fn.__name__}` has no parameter `{wrong[0]}`")
        self.constants = {(fn.arg_names.index(k),) if isinstance(k, str) else k: v for k, v in (constexprs or {}).items()}

    def hash(self):
        return hashlib.sha256(repr((self.fn.cache_key, self.signature, self.constants, self.attrs)).encode()).hexdigest()

    def parse_options(self):
        return {}

    def arguments(self, builder):
        """The request's ARGUMENTs."""
        for place, name in enumerate(self.fn.arg_names):
            if (place,) in self.constants or self.signature.get(name, "constexpr") == "constexpr":
                yield {"name": name, "constexpr": builder.value(self.constants.get((place,)))}
            elif found := re.fullmatch(r"tensordesc<(\w+)\[([\d, ]+)\]>", self.signature[name]):
                yield {"name": name, "descriptor": {"dtype": found[1], "block_shape": list(map(int, found[2].split(",")))}}
            else:
                known = dict(self.attrs.get((place,), ()))
                divisor = {"divisibility": known["tt.divisibility"]} if "tt.divisibility" in known else {}
                yield {"name": name, "type": self.signature[name]} | divisor

    def make_ir(self, target, options, codegen_fns, module_map, context):
        """The kernel's IR, as far as it is told (see ttir.py)."""
        return ttir.module_of(json.loads(self.request(target, options)[0]))

    def request(self, target, options):
        """(the request to the compiler, the ARGUMENTs in it) for a GPUTarget."""
        builder = RequestBuilder()
        arguments = list(self.arguments(builder))
        word = f"sm_{target.arch}a" if target.arch == 90 else f"sm_{target.arch}"
        return self.fn.request(arguments, {**_given(options), "target": word}, builder), arguments


def _given(options):
    return {name: value for name in _OPTIONS if (value := getattr(options, name, None)) is not None}


class _OfAnyOrigin(type):
    """What a launch has compiled is an instance, too."""

    def __instancecheck__(cls, value):
        return super().__instancecheck__(value) or isinstance(value, CompiledKernel)


class Compiled(metaclass=_OfAnyOrigin):
    """What `compile` makes, with what callers of Triton's own launchers ask of a compiled kernel. They take it from process to process as
    its `__dict__`, of which they replace `module`, `function` and `run`: the code itself is compiled, or found in the cache, once more."""

    __slots__ = ("__dict__", "_known")

    def __init__(self, src, request, arguments, options, flags):
        self.src, self.request, self.arguments, self.options, self.flags = src, request, arguments, options, flags
        self._known = kernel = self._compiled([])
        warps = kernel.info["threads"] // 32  # with those that only copy, as others who launch the code must know
        self.name, self.metadata = kernel.name, types.SimpleNamespace(**{**vars(kernel.metadata), "num_warps": warps})
        self.packed_metadata = self.metadata
        self.hash = hashlib.sha256(request.encode()).hexdigest()

    def _compiled(self, overlapping):
        """The kernel for launches in which the memory of these pairs of parameters alone may be the same."""

        def for_overlapping(pairs):
            return self._compiled(sorted({*overlapping, *map(tuple, pairs)})), ()

        pointers = sum(spec.get("type", "")[:1] == "*" for spec in self.arguments)
        promise = {"overlapping": overlapping} if pointers > 1 else {}
        handle = compile_request(json.dumps({**json.loads(self.request), **promise}))
        kernel = CompiledKernel(self.src.fn, handle, self.options, None, self.arguments, overlapping, for_overlapping)
        kernel.flags = self.flags
        return kernel

    @property
    def kernel(self):
        """The CompiledKernel."""
        try:
            return self._known
        except AttributeError:  # this is another process than that in which it was compiled
            self._known = self._compiled([])
            return self._known

    def _init_handles(self):
        kernel = self.kernel
        kernel.device = driver.active.get_current_device()
        kernel._init_handles()

    def __getattr__(self, name):
        if name == "_known" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.kernel, name)

    def __getitem__(self, grid):
        if self.kernel.device is None:
            self._init_handles()
        return self.kernel[grid]

    def launch_metadata(self, grid, stream, *args):
        """Triton's hooks get what a function that the author names makes of a launch; there is none here."""
        return None

    @property
    def module(self):
        return self.kernel.handle

    @property
    def function(self):
        return self.kernel.handle

    @property
    def run(self):
        """Launches a grid of `x`, `y`, `z` programs. `args`: the function's, constants among them. `function` and
        `packed_metadata` are the kernel's own, which Triton hands through."""

        def run(x, y, z, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args):
            if enter_hook:
                enter_hook(launch_metadata)
            self.kernel._launch((x, y, z), *args, stream=stream)
            if exit_hook:
                exit_hook(launch_metadata)

        return run


def compile(src, target=None, options=None):
    """The Compiled of an ASTSource for a target (a GPUTarget; the current GPU's without one)."""
    if not isinstance(src, ASTSource):
        raise TypeError(f"`compile` takes an `ASTSource`, not a `{type(src).__name__}`: Tandem reads no texts of Triton's stages")
    target = target or driver.active.get_current_target()
    parsed = make_backend(target).parse_options(options or {})
    return Compiled(src, *src.request(target, parsed), _given(parsed), launch_flags(vars(parsed)))


def get_cache_key(src, backend, backend_options, env_vars):
    return f"{triton_key()}-{src.hash()}-{backend.hash()}-{backend_options.hash()}-{json.dumps(sorted(env_vars.items()))}"
