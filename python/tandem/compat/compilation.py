"""`triton.compiler`: compiling a function for given types, without a call."""

import hashlib
import json

from ..gpu.compiled import CompiledKernel, compile_request
from ..kernel.request import RequestBuilder
from .backends import Language, make_backend
from .cache import triton_key
from .triton_driver import driver

_OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "debug")


class ASTSource:
    """A function, the types of its parameters ({name: "*fp32", "i32" or "constexpr"}), its constants (by name, or by place: {(1,): 64}) and
    what is known of its arguments ({(0,): [["tt.divisibility", 16]]})."""

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
            if (place,) in self.constants:
                yield {"name": name, "constexpr": builder.value(self.constants[place,])}
            else:
                known = dict(self.attrs.get((place,), ()))
                divisor = {"divisibility": known["tt.divisibility"]} if "tt.divisibility" in known else {}
                yield {"name": name, "type": self.signature[name]} | divisor


class Compiled(CompiledKernel):
    """What `compile` makes: a compiled kernel, with what callers of Triton's own launchers ask of one (PyTorch's compiler does)."""

    def __init__(self, src, handle, options, device, arguments):
        super().__init__(src.fn, handle, options, device, arguments)
        self.src, self.packed_metadata = src, self.metadata
        self.hash = hashlib.sha256(f"{src.hash()} {json.dumps(options, sort_keys=True)} {self.info['target']}".encode()).hexdigest()

    def launch_metadata(self, grid, stream, *args):
        """Triton's hooks get what a function that the author names makes of a launch; there is none here."""
        return None

    def run(self, x, y, z, stream, function, packed_metadata, launch_metadata, enter_hook, exit_hook, *args):
        """Launches a grid of `x`, `y`, `z` programs. `args`: the function's, constants among them. `function` and
        `packed_metadata` are the kernel's own, which Triton hands through."""
        if enter_hook is not None:
            enter_hook(launch_metadata)
        self._launch((x, y, z), *args, stream=stream)
        if exit_hook is not None:
            exit_hook(launch_metadata)


def compile(src, target=None, options=None):
    """The CompiledKernel of an ASTSource for a target (a GPUTarget; the current GPU's without one)."""
    if not isinstance(src, ASTSource):
        raise TypeError(f"`compile` takes an `ASTSource`, not a `{type(src).__name__}`: Tandem reads no texts of Triton's stages")
    target = target or driver.active.get_current_target()
    parsed = make_backend(target).parse_options(options or {})
    given = {name: getattr(parsed, name) for name in _OPTIONS if getattr(parsed, name) is not None}
    builder = RequestBuilder()
    arguments = list(src.arguments(builder))
    word = f"sm_{target.arch}a" if target.arch == 90 else f"sm_{target.arch}"
    handle = compile_request(src.fn.request(arguments, {**given, "target": word}, builder))
    return Compiled(src, handle, given, driver.active.get_current_device(), arguments)


def get_cache_key(src, backend, backend_options, env_vars):
    return f"{triton_key()}-{src.hash()}-{backend.hash()}-{backend_options.hash()}-{json.dumps(sorted(env_vars.items()))}"
