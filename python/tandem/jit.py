"""@tandem.jit and its relatives: functions the compiler takes from their source text."""

import functools
import hashlib
import inspect
import json
import sys
import threading
import typing

from . import _tandem
from .errors import CompileError, RunError
from .gpu.compiled import Asm, compile_request
from .gpu.counted_signals import check_signals
from .gpu.launcher import make_launcher
from .gpu.rank_launch import launch_on_gpu
from .host.current import rank_team
from .host.frames import users_traceback
from .host.launcher import launch_kernel
from .host.simulated_gpu import SIMULATED_GPU
from .kernel.mock_tensor import MockTensor
from .kernel.names import Builtin, constexpr
from .kernel.parameter import KernelParameter, is_constexpr
from .kernel.request import RequestBuilder, specialized
from .kernel.source import Source

_OF_FUNCTION = ("target", "__wrapped__", "fn", "__globals__")
_CALLERS_MISTAKES = (CompileError, RunError, TypeError, ValueError, OverflowError)


class Specialization:
    """A compiled kernel for one set of argument types and constants."""

    def __init__(self, program, info, request):
        self.program = program
        self.info = info
        self._request = request

    def __repr__(self):
        return f"<tandem kernel {self.info['name']} compiled for {self.info['target']}>"

    @functools.cached_property
    def asm(self):
        """The texts of the kernel compiled for the GPU that the simulator models: "ptx", "cubin", and "sass" where CUDA's tools are."""
        request = json.loads(self._request)
        request["options"]["target"] = SIMULATED_GPU["target"]
        return Asm(compile_request(json.dumps(request)))

    def _init_handles(self):
        """Triton loads a kernel so before its first launch; there is nothing to load."""


_Kernel = typing.TypeVar("_Kernel")


class KernelInterface(typing.Generic[_Kernel]):
    """What launches like a kernel: `kernel[grid](...)` is `kernel.run(..., grid=grid, warmup=False)`."""

    def __getitem__(self, grid: typing.Any) -> typing.Callable[..., typing.Any]:
        return functools.partial(self.run, grid=grid, warmup=False)

    def run(self, *args, grid, warmup, **kwargs):
        raise NotImplementedError(f"`{type(self).__name__}` has no `run`")

    def warmup(self, *args, grid=(1,), **kwargs):
        """The kernel compiled for these arguments; nothing runs. An element type of PyTorch or NumPy stands for an aligned array."""
        named = {name: MockTensor.wrap_dtype(value) for name, value in kwargs.items()}
        return self.run(*map(MockTensor.wrap_dtype, args), grid=grid, warmup=True, **named)


class JITFunction(Source, KernelInterface[_Kernel]):
    """A kernel, or a function kernels call. `kernel[grid](...)` launches it: on the current rank of a run, or, outside of
    one and given CUDA arrays, on their GPU.
    """

    def __init__(
        self,
        target,
        do_not_specialize=(),
        launch_metadata=None,
        repr=None,
        noinline=None,
        debug=None,
        do_not_specialize_on_alignment=(),
        **_,
    ):
        if not inspect.isfunction(target):
            raise TypeError(f"`tandem.jit` takes a function, not {target!r}")
        if target.__name__ == "<lambda>":
            raise TypeError("`tandem.jit` takes a function made with `def`, not a lambda")
        super().__init__(target)
        self.fn = target
        self.module, self.__globals__, self.__qualname__ = target.__module__, target.__globals__, target.__qualname__
        self.signature = inspect.signature(target)
        self.parameters = list(self.signature.parameters.values())
        self.arg_names = [p.name for p in self.parameters]
        names = [p.name for p in self.parameters]
        self.do_not_specialize = {names[i] if isinstance(i, int) else i for i in do_not_specialize or ()}
        self.do_not_specialize_on_alignment = {names[i] if isinstance(i, int) else i for i in do_not_specialize_on_alignment or ()}
        self.params = [
            KernelParameter(i, p, p.name in self.do_not_specialize, p.name in self.do_not_specialize_on_alignment)
            for i, p in enumerate(self.parameters)
        ]
        self.constexprs = [p.num for p in self.params if p.is_constexpr]
        self.number_names = {p.name for p in self.params if not p.is_constexpr}  # of arguments that are no constants
        self.debug, self.noinline, self.launch_metadata, self.repr = debug, noinline, launch_metadata, repr or (lambda _: self.__name__)
        self.pre_run_hooks = []  # Triton's name
        self.used_global_vals = {}  # Triton's name; PyTorch's compiler empties it before it takes a function to another process
        self._forget_compiled()

    def _forget_compiled(self):
        self._specializations, self.gpu_kernels = {}, {}  # see `specialized`
        self.counted = {}  # launches, see `check_signals`
        self.compiling = threading.Lock()  # ranks on GPUs run at once; one of them compiles

    def __getstate__(self):
        """What goes to another process: not what is compiled, nor, where PyTorch's compiler has taken `fn` away, the Python function."""
        self._load()
        dropped = {"_specializations", "gpu_kernels", "counted", "compiling", "gpu_launcher", *_OF_FUNCTION[: 0 if self.fn else None]}
        return {name: value for name, value in self.__dict__.items() if name not in dropped}

    def __setstate__(self, state):
        self.__dict__.update({**dict.fromkeys(_OF_FUNCTION), **state})
        self._forget_compiled()

    def __getitem__(self, grid: typing.Any) -> typing.Callable[..., typing.Any]:
        straight = rank_team() is None and type(self).run is JITFunction.run and not self.pre_run_hooks
        return functools.partial(self.gpu_launcher.run, grid) if straight else functools.partial(self.run, grid=grid, warmup=False)

    def add_pre_run_hook(self, hook):
        """Has `hook` called with the arguments of each launch before it, as Triton does, and not where the kernel is only compiled."""
        self.pre_run_hooks.append(hook)

    @functools.cached_property
    def gpu_launcher(self):
        return make_launcher(self)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"kernel `{self.__name__}` needs a grid: `{self.__name__}[grid](...)`")

    @property
    def cache_key(self):
        """A digest of the function's text and of all that it reaches: functions, and the values of names from outside."""
        if self.hash is None:
            builder = RequestBuilder()
            builder.add(self)
            self.hash = hashlib.sha256(json.dumps(builder.functions, sort_keys=True).encode()).hexdigest()
        return self.hash

    @functools.cached_property
    def counts_signals(self):
        """True if the function, or one that it reaches, names the number of a call."""
        builder = RequestBuilder()
        builder.add(self)
        return any("call_number(" in function.get("source", "") for function in builder.functions.values())

    def run(self, *args, grid, warmup=False, **kwargs):
        """Launches, or with `warmup` only compiles. Returns the compiled kernel."""
        team = rank_team()
        if warmup:
            kwargs["warmup"] = True
        else:
            for hook in self.pre_run_hooks:
                hook(*args, **kwargs)
        if team is None:
            return self.gpu_launcher.run(grid, *args, **kwargs)
        if self.counts_signals and not warmup:
            check_signals(self, team, grid, args, kwargs)
        return self._run_on_gpu(team, grid, args, kwargs) if team._session.is_gpu else self.simulate(grid, args, kwargs)

    def _run_on_gpu(self, team, grid, args, kwargs):
        """Launches on the rank's GPU."""
        try:
            return launch_on_gpu(self, team, grid, args, kwargs)
        except _CALLERS_MISTAKES as error:
            raise error.with_traceback(users_traceback(error)) from None  # as below

    def simulate(self, grid, args, kwargs):
        """Launches on the current simulated rank."""
        try:
            return launch_kernel(self, grid, args, kwargs)
        except _CALLERS_MISTAKES as error:
            raise error.with_traceback(users_traceback(error)) from None  # frames of this package would hide the caller's

    def is_constexpr(self, parameter):
        """True if the parameter is a `tl.constexpr`."""
        return is_constexpr(parameter)

    def specialize(self, arguments, options, builder=None):
        """The compiled kernel for arguments in the request's form (a list of ARGUMENT). `builder` knows functions among them."""
        builder = builder or RequestBuilder()
        key = (json.dumps([arguments, options], sort_keys=True), *builder.items)
        with self.compiling:
            return specialized(self._specializations, key, builder, lambda: self.request(arguments, options, builder), self._compile)[0]

    def request(self, arguments, options, builder, **more):
        """The compile request of a call, as JSON: docs/guide/compile_request.md."""
        kernel = builder.add(self)
        return json.dumps({"kernel": kernel, "functions": builder.functions, "arguments": arguments, "options": options, **more})

    def _compile(self, request):
        try:
            program = _tandem.compile(request)
        except RuntimeError as error:
            raise CompileError(str(error).rstrip("\n")) from None
        info = json.loads(_tandem.program_info(program))
        for warning in info["warnings"]:
            print(warning, file=sys.stderr, end="")
        return Specialization(program, info, request)


@typing.overload
def jit(function: typing.Callable[..., typing.Any]) -> JITFunction[typing.Any]: ...
@typing.overload
def jit(**options: typing.Any) -> typing.Callable[[typing.Callable[..., typing.Any]], JITFunction[typing.Any]]: ...
def jit(function=None, **options):
    """Makes a kernel of a function: `@tandem.jit` or `@tandem.jit(do_not_specialize=[...])`."""
    if function is None:
        return lambda f: jit(f, **options)
    if isinstance(function, JITFunction):
        return function
    return JITFunction(function, **options)


class ConstexprFunction(JITFunction):
    """A function over compile-time constants; callable from Python too."""

    kind = "constexpr_function"

    def __call__(self, *args, **kwargs):
        plain = lambda x: x.value if isinstance(x, constexpr) else x
        return self.target(*map(plain, args), **{k: plain(v) for k, v in kwargs.items()})


def constexpr_function(function):
    """Makes a function of compile time. A function of the language that is one already stays what it is."""
    return function if isinstance(function, Builtin) else ConstexprFunction(function)
