"""Triton's tutorials 01 to 11, run whole as they are (their own checks with them), their functions timed. Their benchmarks are left out:
they would time again, for minutes, what is timed here."""

import contextlib
import functools
import importlib.util
import pathlib
import sys

import torch
import torch.nn.functional as F
from case import case


@functools.cache
def tutorial(number):
    """The module of a tutorial. Loading it runs it."""
    import triton
    import triton.testing

    folder = next(p for p in map(pathlib.Path, sys.path) if (p / "python/tutorials").is_dir())
    (path,) = folder.glob(f"python/tutorials/{number:02}-*.py")
    libraries = pathlib.Path(getattr(triton, "__file__", None) or "/nowhere").parent / "backends/nvidia/lib"
    place = folder / "third_party/nvidia/backend/lib"  # where Triton's repository has what its wheel has there
    if libraries.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):  # of another process, too
            place.symlink_to(libraries)
    spec = importlib.util.spec_from_file_location(f"tutorial_{number:02}", path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    run, arguments = triton.testing.Mark.run, sys.argv
    triton.testing.Mark.run, sys.argv = lambda *args, **kwargs: None, [str(path)]
    try:
        spec.loader.exec_module(module)
    finally:
        triton.testing.Mark.run, sys.argv = run, arguments
    return module


def vectors(m):
    n = m.pick(98432, 1 << 26)
    return m(n, dtype=torch.float32), m(n, dtype=torch.float32)


@case("tutorial", "01 add", inputs=vectors, reference=torch.add, tolerance=1e-6)
def add(x, y):
    return tutorial(1).add(x, y)


@case(
    "tutorial",
    "02 softmax",
    inputs=lambda m: (m(m.pick(1823, 4096), m.pick(781, 12672), dtype=torch.float32),),
    reference=lambda x: x.softmax(-1),
    tolerance=1e-4,
)
def softmax(x):
    return tutorial(2).softmax(x)


def factors(m, dtype=torch.float16):
    n = m.pick(512, 4096)
    return m(n, n, dtype=torch.float16).to(dtype), m(n, n, dtype=torch.float16).to(dtype).t().contiguous().t()


@case("tutorial", "03 matmul fp16", inputs=factors, reference=torch.matmul)
def matmul(a, b):
    return tutorial(3).matmul(a, b)


@case("tutorial", "03 matmul fp8", inputs=lambda m: factors(m, torch.float8_e5m2), reference=torch.matmul)
def matmul_fp8(a, b):
    return tutorial(3).matmul(a, b)


@case("tutorial", "04 dropout", inputs=lambda m: (vectors(m)[0],), reference=lambda x: x, tolerance=1e-6)
def dropout(x):
    """Where an element is kept it is doubled; half of that is compared there."""
    y = tutorial(4).seeded_dropout(x, 0.5, 123)
    return torch.where(y == 0, x, y / 2)


@case(
    "tutorial",
    "05 layer norm",
    inputs=lambda m: (
        m(m.pick(256, 4096), 8192, dtype=torch.float16, grad=True),
        m(8192, dtype=torch.float16, grad=True),
        m(8192, dtype=torch.float16, grad=True),
    ),
    reference=lambda x, w, b: F.layer_norm(x, (8192,), w, b, 1e-5),
    grad=True,
)
def layer_norm(x, w, b):
    return tutorial(5).layer_norm(x, (8192,), w, b, 1e-5)


def attention_inputs(size, grad=True):
    return lambda m: [m(m.pick(1, 4), m.pick(2, 32), m.pick(512, 4096), size, dtype=torch.float16, scale=0.5, grad=grad) for _ in range(3)]


def attention(is_causal):
    def reference(q, k, v):
        scores = q @ k.transpose(-1, -2) * 0.5
        if is_causal:
            scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool, device="cuda").triu(1), -torch.inf)
        return scores.softmax(-1) @ v

    return reference


for size in (64, 128):
    for is_causal in (True, False):
        words = f"{size}{' causal' if is_causal else ''}"
        for grad in (False, True):
            if grad and size == 128:
                continue
            case(
                "tutorial",
                f"06 attention {words}{' and backward' if grad else ''}",
                inputs=attention_inputs(size, grad),
                reference=attention(is_causal),
                grad=grad,
            )(lambda q, k, v, is_causal=is_causal: tutorial(6).attention(q, k, v, is_causal, 0.5, False))


@case(
    "tutorial", "07 asin", inputs=lambda m: (m.uniform(m.pick(98432, 1 << 26), dtype=torch.float32),), reference=torch.asin, tolerance=1e-5
)
def asin(x):
    module, out = tutorial(7), torch.empty_like(x)
    module.asin_kernel[lambda meta: (-(-x.numel() // meta["BLOCK_SIZE"]),)](x, out, x.numel(), BLOCK_SIZE=1024)
    return out


def groups(m):
    n = m.pick(256, 8192)
    return [(m.pick(256, 1024), n, n)] * 4


def group_inputs(m):
    a = [m(rows, k, dtype=torch.float16, scale=0.1) for rows, n, k in groups(m)]
    return a, [m(k, n, dtype=torch.float16, scale=0.1) for rows, n, k in groups(m)]


def group_reference(a, b):
    return [x.double() @ y.double() for x, y in zip(a, b)]


@case("tutorial", "08 grouped product, pointers", inputs=group_inputs, reference=group_reference)
def grouped(a, b):
    return tutorial(8).group_gemm_fn(a, b)


@case("tutorial", "08 grouped product, descriptors", inputs=group_inputs, reference=group_reference)
def grouped_descriptors(a, b):
    return tutorial(8).group_gemm_tma_fn(a, [y.t().contiguous() for y in b])


def persistent(name, *more):
    def function(a, b):
        return getattr(tutorial(9), name)(a, b if name in ("matmul", "matmul_persistent") else b.t(), *more)

    return function


for name, *more in (
    ("matmul",),
    ("matmul_persistent",),
    ("matmul_tma", False),
    ("matmul_tma_persistent", False),
    ("matmul_descriptor_persistent", False),
):
    case("tutorial", f"09 {name}", inputs=factors, reference=torch.matmul)(persistent(name, *more))


@case("tutorial", "10 block-scaled product", inputs=lambda m: (), reference=lambda: ())
def block_scaled(*_):
    tutorial(10)
    return ()


@case("tutorial", "11 dependent launch", inputs=vectors, reference=torch.add, tolerance=1e-6)
def dependent(x, y):
    module = tutorial(11)
    return module.add(x, y, launch_pdl=True)
