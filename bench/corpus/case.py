"""A row of the corpus: a library's function, inputs for it, and the same computation in PyTorch."""

import dataclasses
import importlib
import importlib.machinery
import importlib.util
import pathlib
import sys
import types
import typing

import torch

FILES = ("tutorials", "liger", "recurrent", "serving", "quantised", "sparse", "gems", "experts")


@dataclasses.dataclass
class Case:
    """`inputs(make)` gives the arguments, for a check or, larger, for timing (`make.pick`). `function` and `reference` take them; the
    reference gets floating tensors in fp64. With `grad` both are also differentiated by every input that requires a gradient."""

    library: str
    name: str
    inputs: typing.Callable
    function: typing.Callable
    reference: typing.Callable
    grad: bool = False
    tolerance: float = 2e-2  # of the largest difference, as a share of the largest value


CASES = {}


def case(library, name, **fields):
    """Registers what it decorates as the case's `function`. It imports the library when it is called."""

    def add(function):
        CASES[f"{library}/{name}"] = Case(library, name, function=function, **fields)
        return function

    return add


class Make:
    """Random inputs on the GPU. No element is exactly zero."""

    def __init__(self, size, seed=0):
        self.size = size  # "check" or "time"
        self.generator = torch.Generator("cuda").manual_seed(seed)

    def pick(self, check, time):
        return check if self.size == "check" else time

    def __call__(self, *shape, dtype=torch.bfloat16, scale=1.0, grad=False):
        x = torch.randn(shape, generator=self.generator, device="cuda", dtype=torch.float32) * scale
        return x.to(dtype).requires_grad_(grad)

    def uniform(self, *shape, low=0.0, high=1.0, dtype=torch.bfloat16, grad=False):
        x = torch.rand(shape, generator=self.generator, device="cuda", dtype=torch.float32) * (high - low) + low
        return x.to(dtype).requires_grad_(grad)

    def integers(self, *shape, below, dtype=torch.int64):
        return torch.randint(0, below, shape, generator=self.generator, device="cuda").to(dtype)

    def permutation(self, n):
        return torch.randperm(n, generator=self.generator, device="cuda")


def _tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in _tensors(v)] if isinstance(value, (tuple, list)) else []


def _differentiable(tensors):
    return [t for t in tensors if t.is_floating_point() and t.requires_grad]


class Run:
    """Calls of a case with fixed inputs: `run()` gives its results, then the gradients."""

    def __init__(self, case, inputs, function):
        self.case, self.inputs, self.function = case, inputs, function
        self.seeds = None

    def __call__(self):
        results = _tensors(self.function(*self.inputs))
        if not self.case.grad:
            return results
        leaves = [x for x in self.inputs if isinstance(x, torch.Tensor) and x.requires_grad]
        outs = _differentiable(results)
        if self.seeds is None:
            generator = torch.Generator("cuda").manual_seed(7)
            self.seeds = [torch.randn(o.shape, generator=generator, device="cuda").to(o.dtype) for o in outs]
        grads = torch.autograd.grad(outs, leaves, self.seeds, allow_unused=True)
        return [r.detach() for r in results] + [g for g in grads if g is not None]


def exact(x):
    """A tensor in fp64 for the reference, anything else as it is."""
    if isinstance(x, torch.Tensor) and x.is_floating_point():
        return x.detach().double().clone().requires_grad_(x.requires_grad)
    return x


def reference_of(case, inputs, seeds):
    run = Run(case, inputs, case.reference)
    run.seeds = None if seeds is None else [s.double() for s in seeds]
    return run()


def error(results, wanted):
    """The largest difference over the results, as a share of the largest value wanted; NaN where NaN stands alone."""
    worst = 0.0
    if len(results) < len(wanted):
        raise ValueError(f"{len(results)} results, not {len(wanted)}")
    for got, want in zip(results, wanted):
        if got.shape != want.shape:
            raise ValueError(f"a result has shape {tuple(got.shape)}, not {tuple(want.shape)}")
        got, want = got.double(), want.double()
        largest = want.abs().max().item() if want.numel() else 0.0
        worst = max(worst, (got - want).abs().max().item() / (largest or 1.0)) if want.numel() else worst
        if not torch.isfinite(got).all().item():
            return float("nan")
    return worst


def load(folder, files=FILES):
    """Makes the libraries importable and registers the cases of `files`."""
    folder = pathlib.Path(folder).resolve()
    sys.path.insert(0, str(folder))
    sys.path.append(str(pathlib.Path(__file__).parent))
    _enter("sglang", folder / "sglang")
    _enter("sglang.srt", folder / "sglang/srt")
    _enter("sglang.kernels", folder / "sglang/kernels")
    _enter("sglang.kernels.ops", folder / "sglang/kernels/ops")
    for group in ("attention", "moe", "mamba", "quantization", "sampling", "layernorm"):
        _enter(f"sglang.kernels.ops.{group}", folder / "sglang/kernels/ops" / group)
    for name in ("bitsandbytes", "bitsandbytes/backends", "torchao", "xformers", "xformers/ops", "native_sparse_attention_pytorch"):
        _enter(name.replace("/", "."), folder / name)
    for name in ("sglang.srt.utils", "sglang.srt.utils.common", "sglang.kernels.jit.utils"):
        sys.modules[name] = _Answers(name)
    sys.modules["sglang.srt.utils.common"].torch_release = tuple(map(int, torch.__version__.split("+")[0].split(".")))
    sys.modules["xformers"]._is_triton_available = lambda: True
    typing_names = sys.modules["jaxtyping"] = types.ModuleType("jaxtyping")
    typing_names.Float = typing_names.Int = typing_names.Bool = list
    for name in ("tabulate", "pytest", "einx"):  # the tutorials' printing and tests; a name that is only imported
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = _Ignored(name)
    for name in files:
        importlib.import_module(name)
    return folder


def _enter(name, folder):
    """A package that is only a folder: the libraries' own `__init__` would load servers and extensions."""
    package = types.ModuleType(name)
    package.__path__ = [str(folder)]
    package.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)  # PyTorch asks for it
    sys.modules[name] = package
    parent, _, last = name.rpartition(".")
    if parent in sys.modules:
        setattr(sys.modules[parent], last, package)


class _Ignored(types.ModuleType):
    """A module whose decorators and functions do nothing."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _Ignored(name)

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and callable(args[0]) else self


class _Answers(types.ModuleType):
    """sglang's questions about the machine: an NVIDIA GPU."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: name == "is_cuda"
