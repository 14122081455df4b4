"""Block pointers, descriptors with tails (made by kernels and by hosts), masks, atomics under contention."""

import device
import numpy as np
import triton
import triton.language as tl
from cases import inout
from checks import DTYPES, add, check, compare, normal, poisoned


@triton.jit
def block_pointers(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    target = tl.make_block_ptr(o, (N, M), (1, N), (0, tl.program_id(0) * BM), (BN, BM), (0, 1))
    for start in range(0, N, BN):
        v = tl.load(source, boundary_check=(0, 1), padding_option=PADDING)
        tl.store(target, tl.trans(v) * 2, boundary_check=(0, 1))
        source = tl.advance(source, (0, BN))
        target = tl.advance(target, (BN, 0))


@triton.jit
def descriptors(x, o, total, M, N, BM: tl.constexpr, BN: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    target = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    v = source.load([row, column])
    target.store([row, column], v + v)
    tl.atomic_add(total, tl.sum(v.to(tl.float32)).to(tl.int32))


@triton.jit
def corner(x, o, A, B, C, BA: tl.constexpr, BB: tl.constexpr, BC: tl.constexpr):
    """A box that starts before and ends after the tensor."""
    d = tl.make_tensor_descriptor(x, [A, B, C], [B * C, C, 1], [BA, BB, BC])
    v = d.load([A - BA // 2, -(BB // 2), C - BC // 2])
    i, j, k = tl.arange(0, BA)[:, None, None], tl.arange(0, BB)[None, :, None], tl.arange(0, BC)[None, None, :]
    tl.store(o + i * BB * BC + j * BC + k, v)


def corner_reference(BA, BB, BC):
    def reference(x, o, *rest):
        A, B, C = x.shape
        r = np.zeros((BA, BB, BC), x.dtype)
        part = x[A - BA // 2 :, : BB - BB // 2, C - BC // 2 :]
        r[: part.shape[0], BB // 2 : BB // 2 + part.shape[1], : part.shape[2]] = part
        return r

    return reference


for t, dtype in enumerate(["fp32", "fp16", "int32", "int8", "bf16", "fp64"]):
    for s, (M, N, bm, bn) in enumerate([(64, 64, 32, 32), (50, 70, 16, 32), (33, 100, 32, 16), (128, 96, 64, 64), (17, 16, 16, 128)]):
        warps = (1, 2, 4, 8)[(s + t) % 4]
        make = lambda rng, M=M, N=N, d=dtype: [normal(rng, (M, N), d), poisoned((M, N), d), M, N]
        check(
            block_pointers,
            make,
            lambda x, o, *rest: x + x,
            f"{dtype}.{M}x{N}.{bm}x{bn}",
            (-(-M // bm),),
            BM=bm,
            BN=bn,
            PADDING="zero",
            num_warps=warps,
        )
        N_ = -(-N // 16) * 16
        make = lambda rng, M=M, N=N_, d=dtype: [
            rng.integers(0, 9, (M, N)).astype(DTYPES[d]),
            poisoned((M, N), d),
            inout(np.zeros(1, np.int32)),
            M,
            N,
        ]
        reference = lambda x, o, total, *rest: (x + x, np.array([int(x.astype(np.int64).sum())], np.int32))
        check(
            descriptors, make, reference, f"{dtype}.{M}x{N_}.{bm}x{bn}.w{warps}", (-(-M // bm), -(-N_ // bn)), BM=bm, BN=bn, num_warps=warps
        )
        if dtype != "fp64":
            shape = (3, 20, -(-24 // 16) * 16)
            box = [(2, 8, 16), (4, 4, 32), (1, 16, 16), (2, 2, 64), (4, 8, 16)][s]
            make = lambda rng, d=dtype, shape=shape, box=box: [normal(rng, shape, d), poisoned(box, d), *shape]
            check(
                corner, make, corner_reference(*box), f"{dtype}.{'x'.join(map(str, box))}", BA=box[0], BB=box[1], BC=box[2], num_warps=warps
            )


@triton.jit
def adds(x, at, o, n, B: tl.constexpr, OP: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    p, v = o + tl.load(at + i, m, other=0), tl.load(x + i, m, other=0)
    if OP == "add":
        tl.atomic_add(p, v, m)
    elif OP == "max":
        tl.atomic_max(p, v, m)
    elif OP == "min":
        tl.atomic_min(p, v, m)
    elif OP == "xor":
        tl.atomic_xor(p, v, m)
    elif OP == "or":
        tl.atomic_or(p, v, m)
    else:
        tl.atomic_and(p, v, m)


UFUNC = {"add": np.add, "max": np.maximum, "min": np.minimum, "xor": np.bitwise_xor, "or": np.bitwise_or, "and": np.bitwise_and}


def adds_reference(op):
    def reference(x, at, o, *rest):
        r = o.astype(np.float64) if o.dtype.kind not in "iu" else o.copy()
        UFUNC[op].at(r, at, x.astype(r.dtype))
        return r

    return reference


for t, dtype in enumerate(["int32", "uint32", "int64", "uint64", "fp32", "fp64", "fp16", "bf16"]):
    for op in ("add",) if dtype in ("fp16", "bf16") else ("add", "max", "min") if dtype[0] == "f" else UFUNC:
        for places, warps in [(1, 4), (7, 8), (300, 2)]:
            n = 3000 if dtype not in ("fp16", "bf16") else 300
            make = lambda rng, n=n, d=dtype, places=places: [
                np.abs(normal(rng, n, d)),  # sums that do not cancel
                rng.integers(0, places, n).astype(np.int32),
                inout(np.abs(normal(rng, places, d))),
                n,
            ]
            tolerance = {"fp32": 1e-5, "fp64": 1e-13, "fp16": 3e-2, "bf16": 2e-1}.get(dtype, 0) if op == "add" else 0
            check(
                adds,
                make,
                adds_reference(op),
                f"{dtype}.{op}.{places}",
                (-(-n // 256),),
                tolerance,
                tolerance,
                B=256,
                OP=op,
                num_warps=warps,
            )


@triton.jit
def spin_lock(lock, total, count):
    while tl.atomic_cas(lock, 0, 1, sem="acquire") == 1:
        pass
    v = tl.load(total, volatile=True)
    tl.store(total, v + tl.program_id(0))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0, sem="release")


@triton.jit
def lock_of(lock, totals, N: tl.constexpr, ORDER: tl.constexpr):
    """What the last holder of a lock stored is there, whatever the order of the update that takes it."""
    at = totals + tl.arange(0, N)
    while tl.atomic_cas(lock, 0, 1, sem=ORDER) == 1:
        pass
    tl.store(at, tl.load(at) + 1)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def last_block(x, partial, counter, o, N: tl.constexpr, P: tl.constexpr):
    """The program that comes last adds up the values of all."""
    p = tl.program_id(0)
    tl.store(partial + p, tl.sum(tl.load(x + p * N + tl.arange(0, N))))
    tl.debug_barrier()
    if tl.atomic_add(counter, 1, sem="acq_rel") == P - 1:
        tl.store(o, tl.sum(tl.load(partial + tl.arange(0, P), volatile=True)))


@triton.jit
def neighbours(x, y, o, N: tl.constexpr):
    """Other threads' stores are read after a barrier."""
    i = tl.arange(0, N)
    for step in range(4):
        tl.store(y + i, tl.load(x + i) + step)
        tl.debug_barrier()
        v = tl.load(y + (N - 1 - i))
        tl.debug_barrier()
        tl.store(x + i, v)
        tl.debug_barrier()
    tl.store(o + i, tl.load(x + (i * 7) % N))


check(
    spin_lock,
    lambda rng: [np.zeros(1, np.int32), inout(np.zeros(1, np.int32)), 0],
    lambda l, t, c: np.array([sum(range(100))], np.int32),
    grid=(100,),
)
for order in ("relaxed", "acquire", "release", "acq_rel"):
    check(
        lock_of,
        lambda rng: [np.zeros(1, np.int32), inout(np.zeros(128, np.float32))],
        lambda lock, totals: np.full(128, 300.0),
        order,
        (300,),
        N=128,
        ORDER=order,
    )
for warps in (1, 4, 16):
    check(
        last_block,
        lambda rng: [normal(rng, 64 * 256), np.zeros(64, np.float32), np.zeros(1, np.int32), poisoned(1)],
        lambda x, *rest: np.array([x.astype(np.float64).sum()]),
        f"w{warps}",
        (64,),
        1e-4,
        1e-4,
        N=256,
        P=64,
        num_warps=warps,
    )

    def _turned(x, y, o, *rest):
        v = x.copy()
        for step in range(4):
            v = (v + step)[::-1]
        return v[np.arange(v.size) * 7 % v.size]

    check(
        neighbours,
        lambda rng: [normal(rng, 1024, "int32"), np.zeros(1024, np.int32), poisoned(1024, "int32")],
        _turned,
        f"w{warps}",
        N=1024,
        num_warps=warps,
    )


@triton.jit
def anywhere(x, o, M, N, row, column, BM: tl.constexpr, BN: tl.constexpr):
    """Blocks that begin anywhere: before the tensor, within 16 bytes of a row."""
    m, n = tl.arange(0, BM), tl.arange(0, BN)
    v = tl.load(x + m[:, None] * BN + n[None, :])
    target = tl.make_block_ptr(o, (M, N), (N, 1), (row, column), (BM, BN), (1, 0))
    tl.store(target, v, boundary_check=(0, 1))


def _placed(x, o, M, N, row, column):
    r = o.copy()
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if 0 <= row + i < M and 0 <= column + j < N:
                r[row + i, column + j] = x[i, j]
    return r


for t, dtype in enumerate(["fp32", "fp16", "int8"]):
    for row, column in [(0, 0), (2, -3), (-1, 16), (5, 3), (0, 7), (-20, 0), (3, 32), (70, 70)]:
        for warps in (1, 4, 8):
            make = lambda rng, d=dtype, r=row, c=column: [normal(rng, (32, 32), d), poisoned((48, 64), d), 48, 64, r, c]
            check(anywhere, make, _placed, f"{dtype}.{row}.{column}.w{warps}", BM=32, BN=32, num_warps=warps)


@triton.jit
def turned_in_turns(x, y, TURNS: tl.constexpr, N: tl.constexpr):
    """Each turn writes through `x` what another thread reads through `y`, if they are the same memory."""
    i = tl.arange(0, N)
    for turn in range(TURNS):
        tl.store(x + i, tl.load(y + (N - 1 - i)) + turn)


def _in_turns(n, warps, y_begins, seed):
    wanted = np.random.default_rng(seed).integers(0, 99, 2 * n, dtype=np.int32)
    found = device.to_device(wanted)
    other = device.to_device(wanted) if y_begins is None else found
    begin = y_begins or 0
    source = wanted if y_begins is not None else wanted.copy()
    for turn in range(5):
        wanted[:n] = source[begin : begin + n][::-1] + turn
    turned_in_turns[(1,)](found[:n], other[begin : begin + n], TURNS=5, N=n, num_warps=warps)
    device.synchronize()
    compare(device.to_host(found, wanted), wanted, 0, "NumPy")


for n, warps in [(256, 4), (1024, 8), (4096, 16)]:
    for name, begin in [("apart", None), ("same", 0), ("part", n // 2), ("beside", n)]:
        add(f"memory.turned_in_turns.{name}.{n}.w{warps}", lambda seed, a=(n, warps, begin): _in_turns(*a, seed))


@triton.jit
def long_rows(x, scale, y, z, M, R: tl.constexpr, N: tl.constexpr):
    """A tile that is stored in parts, twice, by rows with a column's factor."""
    m, n = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, N)
    at, mask = m[:, None] * N + n[None, :], (m < M)[:, None]
    v = tl.load(x + at, mask, other=1)
    w = tl.load(scale + n)
    tl.store(y + at, v * w[None, :], mask)
    tl.store(z + at, v + m[:, None].to(v.dtype), mask)


@triton.jit
def long_in_place(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, i < n) * 3, i < n)


@triton.jit
def long_shifted(x, n, B: tl.constexpr):
    """What is stored is loaded by the next elements, all of it before."""
    i = tl.arange(0, B)
    tl.store(x + i + 1, tl.load(x + i, i < n), i < n)


@triton.jit
def halves(packed, o, K, PAIR: tl.constexpr, BK: tl.constexpr, BN: tl.constexpr):
    """Numbers of 4 bits, two or eight of a column in one integer."""
    k, n = tl.arange(0, BK), tl.arange(0, BN)
    total = tl.zeros((BK, BN), tl.int32)
    p = packed + (k[:, None] // PAIR) + n[None, :] * (K // PAIR)
    for start in range(0, K, BK):
        v = tl.load(p)
        total += ((v >> ((k % PAIR) * 4)[:, None]) & 15).to(tl.int32)
        p += BK // PAIR
    tl.store(o + k[:, None] * BN + n[None, :], total)


@triton.jit
def nibbles(packed, o, n, B: tl.constexpr):
    """The same of a row, by programs and under a mask: positions have a first one."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(packed + i // 2, mask=i < n, other=0)
    tl.store(o + i, ((v >> ((i % 2) * 4)) & 15).to(tl.int32), mask=i < n)


def _halves(packed, o, K, pair, rows):
    numbers = (packed.astype(np.int64)[:, :, None] >> (4 * np.arange(pair))) & 15
    columns = numbers.reshape(packed.shape[0], K // rows, rows)
    return columns.sum(1).T.astype(np.int32)


for dtype in ("fp32", "fp16", "int8"):
    for warps in (1, 4):
        make = lambda rng, d=dtype: [
            rng.integers(0, 5, (90, 512)).astype(DTYPES[d]),
            rng.integers(0, 5, 512).astype(DTYPES[d]),
            poisoned((90, 512), d),
            poisoned((90, 512), d),
            90,
        ]
        whole = lambda x, w, y, z, M: (x * w[None, :], x + np.arange(M)[:, None].astype(x.dtype))
        check(long_rows, make, whole, f"{dtype}.w{warps}", (2,), R=64, N=512, num_warps=warps)
        n = 3 * 32768 - 77
        make = lambda rng, d=dtype: [inout(rng.integers(0, 9, n).astype(DTYPES[d])), n]
        check(long_in_place, make, lambda x, n: x * 3, f"{dtype}.w{warps}", (3,), B=32768, num_warps=warps)
        make = lambda rng, d=dtype: [inout(rng.integers(0, 9, 32769).astype(DTYPES[d])), 32768 - 5]
        moved = lambda x, n: np.concatenate([x[:1], x[:n], x[n + 1 :]])
        check(long_shifted, make, moved, f"{dtype}.w{warps}", B=32768, num_warps=warps)
for dtype, pair in (("uint8", 2), ("int32", 8), ("uint8", 1)):
    for rows, columns, warps in ((64, 64, 4), (32, 16, 1), (128, 32, 8)):
        K = 4 * rows
        make = lambda rng, d=dtype, pair=pair, K=K, columns=columns, rows=rows: [
            rng.integers(0, 16 if pair == 1 else 127, (columns, K // pair)).astype(DTYPES[d]),
            poisoned((rows, columns), "int32"),
            K,
        ]
        reference = lambda p, o, K, pair=pair, rows=rows: _halves(p, o, K, pair, rows)
        check(halves, make, reference, f"{dtype}.{pair}.{rows}x{columns}.w{warps}", PAIR=pair, BK=rows, BN=columns, num_warps=warps)
for n in (4096, 5008, 4999):  # of which the first two are promised to be multiples of 16
    make = lambda rng, n=n: [rng.integers(0, 256, n // 2 + 1).astype(np.uint8), poisoned(n, "int32"), n]
    each = lambda p, o, n: np.stack([p & 15, p >> 4], 1).reshape(-1)[:n].astype(np.int32)
    check(nibbles, make, each, f"{n}", (3,), B=2048, num_warps=4)
