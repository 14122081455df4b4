"""Control flow, tuples, device functions, random numbers, inline assembly, printing and assertions, descriptors of hosts."""

import subprocess
import sys

import device
import numpy as np
import triton
import triton.language as tl
from checks import DTYPES, HERE, add, check, compare, normal, poisoned
from tandem.kernel.descriptor import TensorDescriptor


@triton.jit
def collatz(x, o, n):
    p = tl.program_id(0)
    v = tl.load(x + p)
    steps = 0
    while v != 1:
        if v % 2 == 0:
            v = v // 2
        else:
            v = 3 * v + 1
        steps += 1
    tl.store(o + p, steps)


def collatz_reference(x, o, n):
    r = []
    for v in x.tolist():
        steps = 0
        while v != 1:
            v, steps = (v // 2 if v % 2 == 0 else 3 * v + 1), steps + 1
        r.append(steps)
    return np.array(r, np.int32)


@triton.jit
def newton(x, o, N: tl.constexpr):
    """A loop whose end depends on a reduction."""
    i = tl.program_id(0) * N + tl.arange(0, N)
    v = tl.load(x + i)
    r = v
    worst = 1.0
    while worst > 1e-6:
        new = 0.5 * (r + v / r)
        worst = tl.max(tl.abs(new - r) / new)
        r = new
    tl.store(o + i, r)


@triton.jit
def nested(x, o, n, k, N: tl.constexpr):
    i = tl.arange(0, N)
    acc = tl.zeros([N], tl.int32)
    for a in range(n):
        if a % 3 == 1:
            for b in range(a, k, 2):
                acc += tl.load(x + (i + b) % N) * a
        elif a % 3 == 2:
            acc = tl.where(acc > 50, acc - 50, acc)
        else:
            for c in tl.static_range(3):
                acc = acc ^ (a + c)
    for d in range(k, 0, -1):
        acc += d
    tl.store(o + i, acc)


def nested_reference(x, o, n, k):
    i, acc = np.arange(x.size), np.zeros_like(x)
    for a in range(n):
        if a % 3 == 1:
            for b in range(a, k, 2):
                acc = acc + x[(i + b) % x.size] * a
        elif a % 3 == 2:
            acc = np.where(acc > 50, acc - 50, acc)
        else:
            for c in range(3):
                acc = acc ^ (a + c)
    return (acc + sum(range(1, k + 1))).astype(np.int32)


@triton.jit
def swap_pairs(t):
    a, (b, c) = t
    return (b, a), c * 2


@triton.jit(noinline=True)
def apart(v, s):
    return v * s + 1


@triton.jit
def early(v, limit):
    if limit > 3:
        return v + 1
    return v - 1


@triton.jit
def functions(x, ys, o, n, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    (b, a), c = swap_pairs((v, (v + 1, tl.load(ys[0] + i))))
    r = apart(a, 3.0) + early(b, n) * c
    for k in tl.static_range(len(ys)):
        r += tl.load(ys[k] + i)
    tl.store(o + i, r)


def functions_reference(x, ys, o, n):
    x, y = x.astype(np.float64), [v.astype(np.float64) for v in ys]
    return x * 3 + 1 + (x + 2 if n > 3 else x) * (2 * y[0]) + y[0] + y[1]


@triton.jit
def early_return(x, o, n):
    p = tl.program_id(0)
    if p >= n:
        return
    v = tl.load(x + p)
    if v < 0:
        tl.store(o + p, -v)
        return
    tl.store(o + p, v * 2)


def early_reference(x, o, n):
    r = o.astype(np.float64)
    r[:n] = np.where(x[:n] < 0, -x[:n], 2 * x[:n])
    return r


@triton.jit
def longer(x, o, AXIS: tl.constexpr):
    """Programs that get longer along an axis start in another order; each must run once."""
    own = tl.program_id(AXIS)
    total = 0.0
    for i in range(0, own + 1):
        total += tl.load(x + i)
    at = (tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0) + tl.program_id(0)
    tl.store(o + at, total)


for _axis in range(3):
    for _grid in ((1, 1, 1), (7, 5, 3), (64, 40, 1), (3, 200, 2), (600, 3, 1), (1, 700, 1), (33, 1, 17), (2, 3, 400)):
        _programs = _grid[0] * _grid[1] * _grid[2]
        _own = np.indices(_grid[::-1])[2 - _axis].ravel()
        check(
            longer,
            lambda rng, programs=_programs: [np.ones(700, np.float32), poisoned(programs)],
            lambda x, o, own=_own: own + 1.0,
            f"axis{_axis}.{'x'.join(map(str, _grid))}",
            _grid,
            AXIS=_axis,
        )


POSITIVE = lambda rng: rng.integers(1, 3000, 64).astype(np.int32)
for warps in (1, 2, 4, 8, 16):
    w = f"w{warps}"
    check(collatz, lambda rng: [POSITIVE(rng), poisoned(64, "int32"), 64], collatz_reference, w, (64,), num_warps=warps)
    check(
        newton,
        lambda rng: [np.abs(normal(rng, 2048)) + 0.1, poisoned(2048)],
        lambda x, o: np.sqrt(x.astype(np.float64)),
        w,
        (4,),
        1e-6,
        1e-6,
        N=512,
        num_warps=warps,
    )
    for n, k in [(0, 0), (1, 5), (7, 11), (20, 40)]:
        check(
            nested,
            lambda rng, n=n, k=k: [normal(rng, 128, "int32"), poisoned(128, "int32"), n, k],
            nested_reference,
            f"{n}.{k}.{w}",
            N=128,
            num_warps=warps,
        )
    for n in (2, 5):
        check(
            functions,
            lambda rng, n=n: [normal(rng, 256), (normal(rng, 256), normal(rng, 256)), poisoned(256), n],
            functions_reference,
            f"{n}.{w}",
            (1,),
            1e-6,
            1e-6,
            N=256,
            num_warps=warps,
        )
    check(early_return, lambda rng: [normal(rng, 100), poisoned(100), 70], early_reference, w, (100,), num_warps=warps)


@triton.jit
def numbers(o, p, q, seed, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.rand(seed, i), m)
    tl.store(p + i, tl.randint(seed, i), m)
    tl.store(q + i, tl.randn(seed, i), m)


for seed in (0, 7, 2**31, 2**40 + 3):
    for warps in (1, 4, 8):
        check(
            numbers,
            lambda rng, seed=seed: [poisoned(3000), poisoned(3000, "int32"), poisoned(3000), seed, 3000],
            None,
            f"{seed}.w{warps}",
            (-(-3000 // 512),),
            0,
            1e-6,
            B=512,
            num_warps=warps,
        )


@triton.jit
def assembly(x, y, o, N: tl.constexpr):
    i = tl.arange(0, N)
    a, b = tl.load(x + i), tl.load(y + i)
    tl.store(o + i, tl.inline_asm_elementwise("lop3.b32 $0, $1, $2, $1, 0x96;", "=r,r,r", [a, b], dtype=tl.int32, is_pure=True, pack=1))
    s, d = tl.inline_asm_elementwise(
        "add.s32 $0, $2, $3; sub.s32 $1, $2, $3;", "=r,=r,r,r", [a, b], dtype=(tl.int32, tl.int32), is_pure=True, pack=1
    )
    tl.store(o + N + i, s)
    tl.store(o + 2 * N + i, d)


@triton.jit
def packed_assembly(x, o, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(o + i, tl.inline_asm_elementwise("xor.b32 $0, $1, 0x01010101;", "=r,r", [tl.load(x + i)], dtype=tl.int8, is_pure=True, pack=4))


for warps in (1, 4, 8):
    make = lambda rng: [
        rng.integers(-999, 999, 512).astype(np.int32),
        rng.integers(-999, 999, 512).astype(np.int32),
        poisoned((3, 512), "int32"),
    ]
    check(assembly, make, lambda x, y, o: np.stack([y, x + y, x - y]), f"w{warps}", simulated=None, N=512, num_warps=warps)
    make = lambda rng: [rng.integers(-128, 127, 1024).astype(np.int8), poisoned(1024, "int8")]
    check(packed_assembly, make, lambda x, o: x ^ 1, f"w{warps}", simulated=None, N=1024, num_warps=warps)


@triton.jit
def speaks(x, N: tl.constexpr):
    v = tl.load(x + tl.arange(0, N))
    tl.device_print("value: ", v)
    tl.device_print("total: ", tl.sum(v))
    tl.device_assert(v >= 0, "all positive")


@triton.jit
def asserts(x, limit, N: tl.constexpr):
    tl.device_assert(tl.load(x + tl.arange(0, N)) < limit, "too large")


_SCRIPT = """
import sys
sys.path[:0] = [{here!r}]
import checks, device, numpy
from check_language import speaks, asserts
{body}
device.synchronize()
"""


def _script(body):
    return subprocess.run([sys.executable, "-c", _SCRIPT.format(here=str(HERE), body=body)], capture_output=True, text=True, timeout=60)


def _prints(seed):
    done = _script("speaks[(1,)](device.to_device(numpy.arange(32, dtype=numpy.int32)), N=32, num_warps=1)")
    assert done.returncode == 0, done.stderr[-500:]
    lines = [f"pid (0, 0, 0) idx ({value:2}) value: {value}" for value in range(32)]
    assert sorted(done.stdout.splitlines()) == sorted([*lines, "pid (0, 0, 0) idx () total: 496"]), done.stdout[:500]


def _stops(seed):
    done = _script("asserts[(1,)](device.to_device(numpy.arange(64, dtype=numpy.int32)), 63, N=64, debug=True)")
    assert done.returncode != 0 and "too large" in done.stdout + done.stderr, (done.returncode, done.stdout[-300:], done.stderr[-500:])


add("language.device_print", _prints)
add("language.device_assert", _stops)


@triton.jit
def through_host_descriptor(source, target, BM: tl.constexpr, BN: tl.constexpr):
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    v = source.load([row, column])
    target.store([row, column], v + v)


def _host_descriptor(dtype, M, N, bm, bn, warps, seed):
    x = np.random.default_rng(seed).integers(-9, 9, (M, N)).astype(DTYPES[dtype])
    o = np.full((M, N), 77).astype(x.dtype)
    source, target = device.to_device(x), device.to_device(o)
    grid = (-(-M // bm), -(-N // bn))
    through_host_descriptor[grid](
        TensorDescriptor.from_tensor(source, [bm, bn]), TensorDescriptor.from_tensor(target, [bm, bn]), BM=bm, BN=bn, num_warps=warps
    )
    device.synchronize()
    compare(device.to_host(target, o), x + x, 0, "NumPy")


for k, dtype in enumerate(["fp32", "fp16", "bf16", "int8", "int32"]):
    for M, N, bm, bn in [(64, 64, 32, 32), (70, 48, 32, 16), (128, 256, 64, 64), (5, 128, 16, 64)]:
        for warps in (1, 4):
            add(
                f"language.host_descriptor.{dtype}.{M}x{N}.{bm}x{bn}.w{warps}",
                lambda seed, a=(dtype, M, N, bm, bn, warps): _host_descriptor(*a, seed),
            )
