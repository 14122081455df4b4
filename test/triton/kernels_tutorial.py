"""Whole kernels of the kinds people write first: softmax, normalisation, matrix product, attention, grouped product."""

import numpy as np
import triton
import triton.language as tl
from cases import bell, case, integers, out, uniform


@triton.jit
def softmax(x, o, columns, stride, N: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, N)
    v = tl.load(x + row * stride + c, mask=c < columns, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(o + row * stride + c, e / tl.sum(e, axis=0), mask=c < columns)


@triton.jit
def library_softmax(x, o, M: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]
    v = tl.load(x + at)
    tl.store(o + at, tl.softmax(v))
    tl.store(o + M * N + at, tl.softmax(v, dim=1, keep_dims=True))


@triton.jit
def layer_norm(x, w, b, o, mean, rstd, n, eps, N: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([N], dtype=tl.float32)
    for start in range(0, n, N):
        c = start + tl.arange(0, N)
        total += tl.load(x + row * n + c, mask=c < n, other=0.0).to(tl.float32)
    mu = tl.sum(total, axis=0) / n
    square = tl.zeros([N], dtype=tl.float32)
    for start in range(0, n, N):
        c = start + tl.arange(0, N)
        d = tl.where(c < n, tl.load(x + row * n + c, mask=c < n, other=0.0).to(tl.float32) - mu, 0.0)
        square += d * d
    r = 1 / tl.sqrt(tl.sum(square, axis=0) / n + eps)
    tl.store(mean + row, mu)
    tl.store(rstd + row, r)
    for start in range(0, n, N):
        c = start + tl.arange(0, N)
        inside = c < n
        v = tl.load(x + row * n + c, mask=inside, other=0.0).to(tl.float32)
        tl.store(o + row * n + c, (v - mu) * r * tl.load(w + c, mask=inside) + tl.load(b + c, mask=inside), mask=inside)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul(
    a,
    b,
    o,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    som,
    son,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr,
):
    p = tl.program_id(axis=0)
    tiles_m, tiles_n = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per_group = GROUP * tiles_n
    group = p // per_group
    first = group * GROUP
    rows = min(tiles_m - first, GROUP)
    pm = first + (p % per_group) % rows
    pn = (p % per_group) // rows
    tl.assume(sam > 0)
    m = (pm * BM + tl.arange(0, BM)) % M
    n = (pn * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    pa = a + (m[:, None] * sam + k[None, :] * sak)
    pb = b + (k[:, None] * sbk + n[None, :] * sbn)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=k[None, :] < K - step * BK, other=0.0)
        y = tl.load(pb, mask=k[:, None] < K - step * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        pa += BK * sak
        pb += BK * sbk
    if ACTIVATION == "leaky_relu":
        acc = leaky_relu(acc)
    cm = pm * BM + tl.arange(0, BM)
    cn = pn * BN + tl.arange(0, BN)
    tl.store(o + som * cm[:, None] + son * cn[None, :], acc.to(tl.float16), mask=(cm[:, None] < M) & (cn[None, :] < N))


@triton.jit
def attention_block(acc, l, m, q, k, v, first, last, n, rows, scale, CAUSAL: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    for start in range(first, last, BN):
        start = tl.multiple_of(start, BN)
        at = start + tl.arange(0, BN)
        d = tl.arange(0, D)
        kt = tl.load(k + d[:, None] + at[None, :] * D)
        s = tl.dot(q, kt)
        if CAUSAL:
            s = s * scale + tl.where(rows[:, None] >= at[None, :], 0, -1.0e6)
            new = tl.maximum(m, tl.max(s, 1))
            s -= new[:, None]
        else:
            new = tl.maximum(m, tl.max(s, 1) * scale)
            s = s * scale - new[:, None]
        p = tl.math.exp2(s)
        alpha = tl.math.exp2(m - new)
        l = l * alpha + tl.sum(p, 1)
        acc = acc * alpha[:, None]
        acc = tl.dot(p.to(tl.float16), tl.load(v + at[:, None] * D + d[None, :]), acc)
        m = new
    return acc, l, m


@triton.jit
def attention(q, k, v, o, lse, heads, n, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr):
    tl.static_assert(BN <= D or BN >= 16)
    base = tl.program_id(1).to(tl.int64) * n * D
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    m = tl.zeros([BM], dtype=tl.float32) - float("inf")
    l = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    scale *= 1.44269504
    tile = tl.load(q + base + rows[:, None] * D + d[None, :])
    if CAUSAL:
        acc, l, m = attention_block(acc, l, m, tile, k + base, v + base, 0, tl.program_id(0) * BM, n, rows, scale, False, BN, D)
        acc, l, m = attention_block(
            acc, l, m, tile, k + base, v + base, tl.program_id(0) * BM, (tl.program_id(0) + 1) * BM, n, rows, scale, True, BN, D
        )
    else:
        acc, l, m = attention_block(acc, l, m, tile, k + base, v + base, 0, n, n, rows, scale, False, BN, D)
    tl.store(lse + tl.program_id(1) * n + rows, m + tl.math.log2(l))
    tl.store(o + base + rows[:, None] * D + d[None, :], (acc / l[:, None]).to(o.type.element_ty))


@triton.jit
def grouped_product(a, b, o, sizes, starts, groups, programs, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    tile = tl.program_id(0)
    done = 0
    for g in range(groups):
        rows = tl.load(sizes + g)
        start = tl.load(starts + g)
        tiles_n = tl.cdiv(N, BN)
        tiles = tl.cdiv(rows, BM) * tiles_n
        while tile >= done and tile < done + tiles:
            local = tile - done
            m = (local // tiles_n) * BM + tl.arange(0, BM)
            n = (local % tiles_n) * BN + tl.arange(0, BN)
            acc = tl.zeros((BM, BN), tl.float32)
            for step in range(0, K, BK):
                k = step + tl.arange(0, BK)
                x = tl.load(a + (start + m[:, None]) * K + k[None, :], mask=m[:, None] < rows, other=0.0)
                acc += tl.dot(x, tl.load(b + g * K * N + k[:, None] * N + n[None, :]))
            tl.store(o + (start + m[:, None]) * N + n[None, :], acc.to(tl.float16), mask=m[:, None] < rows)
            tile += programs
        done += tiles


@triton.jit
def persistent_add(x, y, o, n, B: tl.constexpr, PROGRAMS: tl.constexpr):
    for block in tl.range(tl.program_id(0), tl.cdiv(n, B), PROGRAMS, flatten=True):
        i = block * B + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@triton.jit
def rms_norm_rope(x, w, cosine, sine, o, eps, D: tl.constexpr):
    row = tl.program_id(0)
    d = tl.arange(0, D)
    v = tl.load(x + row * D + d).to(tl.float32)
    v = (v * tl.rsqrt(tl.sum(v * v, 0) / D + eps)).to(x.dtype.element_ty) * tl.load(w + d)
    a, b = tl.split(tl.trans(tl.reshape(v, (2, D // 2))))
    h = tl.arange(0, D // 2)
    c, s = tl.load(cosine + row * (D // 2) + h), tl.load(sine + row * (D // 2) + h)
    tl.store(o + row * D + h, a * c - b * s)
    tl.store(o + row * D + D // 2 + h, b * c + a * s)


@triton.jit
def cross_entropy(logits, labels, losses, columns, N: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    m, total = -float("inf"), 0.0
    for start in range(0, columns, N):
        c = start + tl.arange(0, N)
        v = tl.load(logits + row * columns + c, mask=c < columns, other=-float("inf")).to(tl.float32)
        new = tl.maximum(m, tl.max(v))
        total = total * tl.exp(m - new) + tl.sum(tl.exp(v - new))
        m = new
    loss = 0.0
    if label >= 0:
        loss = m + tl.log(total) - tl.load(logits + row * columns + label).to(tl.float32)
    tl.store(losses + row, loss)


case(softmax, bell((5, 50), seed=1), out((5, 50)), 47, 50, N=64, grid=5, rtol=1e-5, atol=1e-7)
case(library_softmax, bell((8, 8), seed=1), out((2, 8, 8)), M=8, N=8, rtol=1e-5, atol=1e-7)
case(
    layer_norm,
    bell((3, 100), "fp16", 2),
    bell(100, "fp16", 3),
    bell(100, "fp16", 4),
    out((3, 100), "fp16"),
    out(3),
    out(3),
    100,
    1e-5,
    N=64,
    grid=3,
    rtol=2e-3,
    atol=2e-3,
)
for activation in ["", "leaky_relu"]:
    case(
        matmul,
        bell((70, 50), "fp16", 5),
        bell((50, 90), "fp16", 6),
        out((70, 90), "fp16"),
        70,
        90,
        50,
        50,
        1,
        90,
        1,
        90,
        1,
        BM=32,
        BN=32,
        BK=16,
        GROUP=2,
        ACTIVATION=activation,
        grid=9,
        num_warps=4,
        tag=activation,
        rtol=2e-3,
        atol=2e-3,
    )
for causal in [False, True]:
    case(
        attention,
        bell((2, 64, 32), "fp16", 7),
        bell((2, 64, 32), "fp16", 8),
        bell((2, 64, 32), "fp16", 9),
        out((2, 64, 32), "fp16"),
        out((2, 64)),
        2,
        64,
        0.17,
        BM=32,
        BN=32,
        D=32,
        CAUSAL=causal,
        grid=(2, 2),
        tag="causal" if causal else "full",
        rtol=4e-3,
        atol=4e-3,
    )
case(
    grouped_product,
    bell((90, 32), "fp16", 10),
    bell((3, 32, 64), "fp16", 11),
    out((90, 64), "fp16"),
    np.array([20, 50, 20], np.int32),
    np.array([0, 20, 70], np.int32),
    3,
    4,
    64,
    32,
    BM=16,
    BN=32,
    BK=16,
    grid=4,
    rtol=2e-3,
    atol=2e-3,
)
case(persistent_add, bell(1000, seed=12), bell(1000, seed=13), out(1000), 1000, B=64, PROGRAMS=4, grid=4)
case(
    rms_norm_rope,
    bell((4, 64), "bf16", 14),
    bell(64, "bf16", 15),
    uniform((4, 32), -1, 1, seed=16),
    uniform((4, 32), -1, 1, seed=17),
    out((4, 64), "bf16"),
    1e-6,
    D=64,
    grid=4,
    rtol=1e-2,
    atol=1e-2,
)
case(cross_entropy, bell((4, 100), "bf16", 18), integers(4, -1, 100, "int64", 19), out(4), 100, N=32, grid=4, rtol=1e-5, atol=1e-5)
