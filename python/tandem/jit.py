"""@tandem.jit and its relatives: functions the compiler takes from their source text."""

import functools
import inspect
import json
import struct
import sys
import threading

from . import _tandem
from ._names import DType, constexpr
from .errors import CompileError, RunError
from .mock_tensor import warm_up
from .request import RequestBuilder, source_of, specialized, uses_of
from .session import rank_team, users_traceback

_CALLERS_MISTAKES = (CompileError, RunError, TypeError, ValueError, OverflowError)


class _Source:
    """A Python object that kernels reach by its source text."""

    kind = "jit"

    def __init__(self, target):
        self.target = target
        self.__name__ = target.__name__
        self.__doc__ = target.__doc__
        self.__module__ = target.__module__
        self.__wrapped__ = target
        self._text = None

    def _load(self):
        if self._text is None:
            self._text = source_of(self.target)
        return self._text

    @property
    def file(self):
        return self._load()[0]

    @property
    def line(self):
        return self._load()[1]

    @property
    def source(self):
        return self._load()[2]

    def functions(self):
        return [self.target]

    @functools.cached_property
    def uses(self):
        """The names from outside that the text reads, each with the attributes it reads of it: {"tl": {"load": {}}}."""
        code = getattr(self.target, "__code__", None)
        own = {*code.co_varnames, *code.co_cellvars} if code else ()
        return {name: attributes for name, attributes in uses_of(self.source).items() if name not in own}

    def place_of(self, name):
        """(owner, key) of what a name from outside means: a closure's cell, or the namespace of the module."""
        for function in self.functions():
            if name in function.__code__.co_freevars:
                return function.__closure__[function.__code__.co_freevars.index(name)], "cell_contents"
        return getattr(self.target, "__globals__", None) or vars(sys.modules[self.target.__module__]), name


class Aggregate(_Source):
    """A class whose instances kernels carry as a bundle of their fields (Triton's `@aggregate`)."""

    kind = "aggregate"

    def functions(self):
        members = (m.target if isinstance(m, _Source) else getattr(m, "__func__", m) for m in vars(self.target).values())
        return [m for m in members if inspect.isfunction(m)]

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"the aggregate `{self.__name__}` can be made only inside a kernel")


def aggregate(cls):
    return Aggregate(cls)


class Specialization:
    """A compiled kernel for one set of argument types and constants."""

    def __init__(self, program, info):
        self.program = program
        self.info = info


class JITFunction(_Source):
    """A kernel, or a function kernels call. `kernel[grid](...)` launches it: on the current rank of a run, or, outside of
    one and given CUDA arrays, on their GPU.
    """

    def __init__(self, target, do_not_specialize=(), launch_metadata=None, repr=None, noinline=None, debug=None,
                 do_not_specialize_on_alignment=(), **_):
        if not inspect.isfunction(target):
            raise TypeError(f"`tandem.jit` takes a function, not {target!r}")
        if target.__name__ == "<lambda>":
            raise TypeError("`tandem.jit` takes a function made with `def`, not a lambda")
        super().__init__(target)
        self.fn = target
        self.signature = inspect.signature(target)
        self.parameters = list(self.signature.parameters.values())
        self.arg_names = [p.name for p in self.parameters]
        names = [p.name for p in self.parameters]
        self.do_not_specialize = {names[i] if isinstance(i, int) else i for i in do_not_specialize or ()}
        self.do_not_specialize_on_alignment = {names[i] if isinstance(i, int) else i for i in do_not_specialize_on_alignment or ()}
        self.debug = debug
        self._specializations, self.gpu_kernels = {}, {}  # see `specialized`
        self.compiling = threading.Lock()  # ranks on GPUs run at once; one of them compiles

    def __getitem__(self, grid):
        return functools.partial(self.gpu_launcher.run if rank_team() is None else self.run, grid)

    @functools.cached_property
    def gpu_launcher(self):
        from .gpu import make_launcher
        return make_launcher(self)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"kernel `{self.__name__}` needs a grid: `{self.__name__}[grid](...)`")

    def run(self, grid, *args, **kwargs):
        team = rank_team()
        if team is None:
            return self.gpu_launcher.run(grid, *args, **kwargs)
        return self._run_on_gpu(team, grid, args, kwargs) if team._session.is_gpu else self.simulate(grid, args, kwargs)

    def warmup(self, *args, grid=(1,), **kwargs):
        """The kernel compiled for these arguments; nothing runs. An element type of PyTorch or NumPy stands for an aligned array."""
        return warm_up(self, grid, args, kwargs)

    def _run_on_gpu(self, team, grid, args, kwargs):
        """Launches on the rank's GPU."""
        from .rank_launch import launch_on_gpu
        try:
            return launch_on_gpu(self, team, grid, args, kwargs)
        except _CALLERS_MISTAKES as error:
            raise error.with_traceback(users_traceback(error)) from None  # as below

    def simulate(self, grid, args, kwargs):
        """Launches on the current simulated rank."""
        from .launcher import launch_kernel
        try:
            return launch_kernel(self, grid, args, kwargs)
        except _CALLERS_MISTAKES as error:
            raise error.with_traceback(users_traceback(error)) from None  # frames of this package would hide the caller's

    def is_constexpr(self, parameter):
        annotation = parameter.annotation
        return annotation is constexpr or (isinstance(annotation, str) and annotation.split(".")[-1].strip() == "constexpr")

    def specialize(self, arguments, options, builder=None):
        """The compiled kernel for arguments in the request's form (a list of ARGUMENT). `builder` knows functions among them."""
        builder = builder or RequestBuilder()
        key = (json.dumps([arguments, options], sort_keys=True), *builder.items)
        with self.compiling:
            return specialized(self._specializations, key, builder, lambda: self.request(arguments, options, builder), self._compile)[0]

    def request(self, arguments, options, builder):
        kernel = builder.add(self)
        return json.dumps({"kernel": kernel, "functions": builder.functions, "arguments": arguments, "options": options})

    def _compile(self, request):
        try:
            program = _tandem.compile(request)
        except RuntimeError as error:
            raise CompileError(str(error).rstrip("\n")) from None
        info = json.loads(_tandem.program_info(program))
        for warning in info["warnings"]:
            print(warning, file=sys.stderr, end="")
        return Specialization(program, info)


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
    return ConstexprFunction(function)


def scalar_type(value):
    """Triton's type word for a Python number argument."""
    if isinstance(value, bool):
        return "i1"
    if isinstance(value, float):
        return "fp32"
    if -2**31 <= value < 2**31:
        return "i32"
    if -2**63 <= value < 2**63:
        return "i64"
    if 0 <= value < 2**64:
        return "u64"
    raise OverflowError(f"integer argument {value} does not fit 64 bits")


def scalar_bits(value, word):
    """The 64 bits an argument of type `word` is passed as."""
    if word == "fp64":
        return struct.unpack("<Q", struct.pack("<d", value))[0]
    if word == "fp32":
        return struct.unpack("<I", struct.pack("<f", value))[0]
    if word == "fp16":
        return struct.unpack("<H", struct.pack("<e", value))[0]
    if word == "bf16":
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    bits = 1 if word == "i1" else int(word[1:])
    low, high = (-(2 ** (bits - 1)), 2**bits) if word != "i1" else (0, 2)
    if int(value) != value or not low <= value < high:
        raise OverflowError(f"argument {value} does not fit type `{word}`")
    return int(value) & (2**64 - 1)


def annotated_type(parameter):
    """The type word a parameter's annotation asks for (`n: tl.int64`, `n: "i64"`), or None."""
    annotation = parameter.annotation
    name = annotation.name if isinstance(annotation, DType) else annotation.split(".")[-1] if isinstance(annotation, str) else ""
    return _WORDS.get(name)


_WORDS = {prefix + bits: word + bits for prefix, word in (("int", "i"), ("uint", "u"), ("i", "i"), ("u", "u"))
          for bits in ("8", "16", "32", "64")}
_WORDS |= {"int1": "i1", "i1": "i1", "bf16": "bf16", "bfloat16": "bf16"}
_WORDS |= {prefix + bits: "fp" + bits for prefix in ("float", "fp") for bits in ("16", "32", "64")}
