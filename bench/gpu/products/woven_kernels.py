"""Products that are woven into other work, as people write them in plain Triton: operands that are computed, products of products, sums
that a branch or a scale changes, narrow and mixed types. The shape of the tile and the types are left open."""

import triton
import triton.language as tl


@triton.jit
def put(c, acc, rm, rn, M, N, scm):
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


@triton.jit
def left(a, rm, rk, M, K, sam):
    return tl.load(a + rm[:, None] * sam + rk[None, :], mask=(rm[:, None] < M) & (rk[None, :] < K), other=0.0)


@triton.jit
def right(b, rk, rn, K, N, sbk, sbn):
    return tl.load(b + rk[:, None] * sbk + rn[None, :] * sbn, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)


# A norm and an activation on the way to the product.
@triton.jit
def normed(a, b, c, gain, scale, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SILU: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    s = tl.load(scale + rm, mask=rm < M, other=0.0)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        y = right(b, rk, rn, K, N, sbk, sbn)
        x = left(a, rm, rk, M, K, sam).to(tl.float32) * s[:, None] * tl.load(gain + rk, mask=rk < K, other=0.0)[None, :]
        if SILU:
            x = x * tl.sigmoid(x)
        acc += tl.dot(x.to(y.dtype), y)
    put(c, acc, rm, rn, M, N, scm)


# The second half of a gated layer: the left operand is made of two tiles.
@triton.jit
def gated_operand(a, d, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        gate, up = left(a, rm, rk, M, K, sam).to(tl.float32), left(d, rm, rk, M, K, sam)
        x = gate * tl.sigmoid(gate) * up.to(tl.float32)
        acc = tl.dot(x.to(up.dtype), right(b, rk, rn, K, N, sbk, sbn), acc)
    put(c, acc, rm, rn, M, N, scm)


# Two products behind each other: K is one tile, the middle is looped over.
@triton.jit
def chained(a, b, d, c, M, N, K, L, sam, sbk, sbn, sdn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BL: tl.constexpr):
    rm, rk, rl = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BK), tl.program_id(1) * BL + tl.arange(0, BL)
    x = left(a, rm, rk, M, K, sam)
    acc = tl.zeros((BM, BL), dtype=tl.float32)
    for n in range(0, N, BN):
        rn = n + tl.arange(0, BN)
        h = tl.maximum(tl.dot(x, right(b, rk, rn, K, N, sbk, sbn)), 0.0)
        acc += tl.dot(h.to(x.dtype), left(d, rn, rl, N, L, sdn))
    put(c, acc, rm, rl, M, L, scm)


# Three products: a weighted pair's value, and the gradient of one side through its transpose.
@triton.jit
def three(q, k, v, o, g, M, N, s, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rn, rd = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    key, value = left(k, rn, rd, N, D, D), left(v, rn, rd, N, D, D)
    grad, other = tl.zeros((BN, D), dtype=tl.float32), tl.zeros((BN, D), dtype=tl.float32)
    for m in range(0, M, BM):
        rm = m + tl.arange(0, BM)
        query, out = left(q, rm, rd, M, D, D), left(o, rm, rd, M, D, D)
        p = tl.dot(query, tl.trans(key)) * s
        p = tl.where(rm[:, None] >= rn[None, :], p, 0.0)
        grad += tl.dot(tl.trans(p.to(query.dtype)), out)
        w = tl.dot(out, tl.trans(value)) * p
        other += tl.dot(tl.trans(w.to(query.dtype)), query)
    put(g, grad + other, rn, rd, N, D, D)


# Block pointers in both orders.
@triton.jit
def block_orders(
    a, b, c, M, N, K, sam, sak, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, AM: tl.constexpr, BT: tl.constexpr
):
    pm, pn = tl.program_id(0), tl.program_id(1)
    if AM:
        a_at = tl.make_block_ptr(a, (M, K), (sam, sak), (pm * BM, 0), (BM, BK), (0, 1))
    else:
        a_at = tl.make_block_ptr(a, (M, K), (sam, sak), (pm * BM, 0), (BM, BK), (1, 0))
    if BT:
        b_at = tl.make_block_ptr(b, (K, N), (sbk, sbn), (0, pn * BN), (BK, BN), (0, 1))
    else:
        b_at = tl.make_block_ptr(b, (K, N), (sbk, sbn), (0, pn * BN), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, K, BK):
        acc = tl.dot(
            tl.load(a_at, boundary_check=(0, 1), padding_option="zero"), tl.load(b_at, boundary_check=(0, 1), padding_option="zero"), acc
        )
        a_at, b_at = tl.advance(a_at, (0, BK)), tl.advance(b_at, (BK, 0))
    c_at = tl.make_block_ptr(c, (M, N), (scm, 1), (pm * BM, pn * BN), (BM, BN), (1, 0))
    tl.store(c_at, acc.to(c.dtype.element_ty), boundary_check=(0, 1))


# Blocks of K that a table leaves out.
@triton.jit
def skipping(a, b, c, table, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        if tl.load(table + step) != 0:
            rk = step * BK + tl.arange(0, BK)
            acc += tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn))
    put(c, acc, rm, rn, M, N, scm)


# One loop over all tiles of a program, whose sum is stored and begun again under a branch.
@triton.jit
def flattened(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, COUNT: tl.constexpr):
    columns, steps = tl.cdiv(N, BN), tl.cdiv(K, BK)
    tiles = tl.cdiv(M, BM) * columns
    mine = tl.cdiv(tiles - tl.program_id(0), COUNT)
    step, tile = -1, tl.program_id(0) - COUNT
    rm, rn = tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, steps * mine):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            tile += COUNT
            rm, rn = tile // columns * BM + tl.arange(0, BM), tile % columns * BN + tl.arange(0, BN)
        rk = step * BK + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn), acc)
        if step == steps - 1:
            put(c, acc, rm, rn, M, N, scm)
            acc = tl.zeros((BM, BN), dtype=tl.float32)


# Both operands are loaded as they lie and transposed.
@triton.jit
def transposed(a, b, c, M, N, K, sak, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc += tl.dot(tl.trans(left(a, rk, rm, K, M, sak)), left(b, rn, rk, N, K, sbn).T, out_dtype=SUM)
    put(c, acc, rm, rn, M, N, scm)


# A matrix by its own transpose.
@triton.jit
def gram(a, c, M, K, sam, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc += tl.dot(left(a, rm, rk, M, K, sam), tl.trans(left(a, rn, rk, M, K, sam)))
    put(c, acc, rm, rn, M, M, scm)


# Narrow types with a scale for each row, or column, and step.
@triton.jit
def stepwise(a, b, c, sa, sb, M, N, K, sam, sbk, sbn, scm, steps, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, steps):
        rk = step * BK + tl.arange(0, BK)
        s, t = tl.load(sa + rm * steps + step, mask=rm < M, other=0.0), tl.load(sb + step * N + rn, mask=rn < N, other=0.0)
        part = tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn), out_dtype=SUM)
        acc += part.to(tl.float32) * s[:, None] * t[None, :]
    put(c, acc, rm, rn, M, N, scm)


# Operands of two types, the wider of which is taken.
@triton.jit
def mixed(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TYPE: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, M, K, sam).to(TYPE), right(b, rk, rn, K, N, sbk, sbn).to(TYPE), acc)
    put(c, acc, rm, rn, M, N, scm)


# Weights of four bits, two in a byte along K, with a scale for each group of K.
@triton.jit
def four_bits(a, b, c, scales, M, N, K, GROUP, sam, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = left(a, rm, rk, M, K, sam)
        packed = tl.load(b + (rk // 2)[:, None] + rn[None, :] * sbn, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0)
        y = ((packed >> ((rk % 2) * 4)[:, None]) & 15).to(tl.float32) - 8.0
        s = tl.load(scales + (k // GROUP) * N + rn, mask=rn < N, other=0.0)
        acc += tl.dot(x, (y * s[None, :]).to(x.dtype))
    put(c, acc, rm, rn, M, N, scm)


# Several products at once, by tiles of three dimensions.
@triton.jit
def deep(a, b, c, B, M, N, K, BB: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rb = tl.program_id(2) * BB + tl.arange(0, BB)
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BB, BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = tl.load(
            a + rb[:, None, None] * (M * K) + rm[None, :, None] * K + rk[None, None, :],
            mask=(rb[:, None, None] < B) & (rm[None, :, None] < M) & (rk[None, None, :] < K),
            other=0.0,
        )
        y = tl.load(
            b + rb[:, None, None] * (K * N) + rk[None, :, None] * N + rn[None, None, :],
            mask=(rb[:, None, None] < B) & (rk[None, :, None] < K) & (rn[None, None, :] < N),
            other=0.0,
        )
        acc += tl.dot(x, y)
    tl.store(
        c + rb[:, None, None] * (M * N) + rm[None, :, None] * N + rn[None, None, :],
        acc.to(c.dtype.element_ty),
        mask=(rb[:, None, None] < B) & (rm[None, :, None] < M) & (rn[None, None, :] < N),
    )


# Blocks of 32 numbers with a common exponent.
@triton.jit
def scaled(
    a, b, c, sa, sb, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, A: tl.constexpr, B: tl.constexpr, PACK: tl.constexpr
):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk, rp, rs = k + tl.arange(0, BK), k // PACK + tl.arange(0, BK // PACK), k // 32 + tl.arange(0, BK // 32)
        x, y = left(a, rm, rk, M, K, K), right(b, rp, rn, K // PACK, N, 1, K // PACK)
        t = tl.load(sb + rn[:, None] * (K // 32) + rs[None, :], mask=(rn[:, None] < N) & (rs[None, :] < K // 32), other=127)
        if A == "bf16":
            acc = tl.dot_scaled(x, None, A, y, t, B, acc)
        else:
            s = tl.load(sa + rm[:, None] * (K // 32) + rs[None, :], mask=(rm[:, None] < M) & (rs[None, :] < K // 32), other=127)
            acc = tl.dot_scaled(x, s, A, y, t, B, acc)
    put(c, acc, rm, rn, M, N, N)


# C += A B, and the sums of A's rows.
@triton.jit
def added(a, b, c, sums, alpha, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = left(c, rm, rn, M, N, scm).to(tl.float32)
    row = tl.zeros((BM,), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = left(a, rm, rk, M, K, sam)
        acc = tl.dot(x, right(b, rk, rn, K, N, sbk, sbn), acc)
        if ROWS:
            row += tl.sum(x.to(tl.float32), 1)
    if ROWS:
        acc += row[:, None]
    put(sums, acc * alpha, rm, rn, M, N, scm)


# K is one tile; the loop goes over the columns and stores in each iteration.
@triton.jit
def along_columns(a, b, c, M, N, K, sam, sbk, sbn, scm, COLUMNS, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BK)
    x = left(a, rm, rk, M, K, sam)
    for n in range(0, COLUMNS, BN):
        rn = tl.program_id(1) * COLUMNS + n + tl.arange(0, BN)
        put(c, tl.dot(x, right(b, rk, rn, K, N, sbk, sbn)), rm, rn, M, N, scm)


# A loop that counts down while there is something left.
@triton.jit
def counting_down(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at, b_at = a + rm[:, None] * sam + rk[None, :], b + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    rest = K
    while rest > 0:
        x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < rest), other=0.0)
        y = tl.load(b_at, mask=(rk[:, None] < rest) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(x, y)
        a_at, b_at, rest = a_at + BK, b_at + BK * sbk, rest - BK
    put(c, acc, rm, rn, M, N, scm)
