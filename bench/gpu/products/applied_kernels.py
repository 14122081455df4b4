"""Products as they stand inside applications: groups that a program finds itself, sparse blocks, images read as matrices, adapters, weights
of two to six bits, sums shared through memory by locks and tickets, halves of symmetric results, chains, ends that reduce rows. Tiles and
types are left open."""

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


# A program looks for the group that its block of rows belongs to, and ends where there is none.
@triton.jit
def sized(a, b, c, sizes, G, M, N, K, sam, sbe, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    block, row, group, found = tl.program_id(0), 0, 0, -1
    for g in range(0, G):
        size = tl.load(sizes + g)
        blocks = tl.cdiv(size, BM)
        if found < 0:
            if block < blocks:
                found, group = block * BM, g
            else:
                block -= blocks
                row += size
    if found < 0:
        return
    end = row + tl.load(sizes + group)
    rm, rn, rk = row + found + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    b += group.to(tl.int64) * sbe
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        acc += tl.dot(left(a, rm, k + rk, end, K, sam), right(b, k + rk, rn, K, N, sbk, sbn))
    put(c, acc, rm, rn, end, N, scm)


# A matrix of sparse blocks, listed by rows of blocks, by a dense one.
@triton.jit
def sparse_rows(values, b, c, firsts, columns, M, N, K, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    row = tl.program_id(1)
    rm, rn, rk = row * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    first, last = tl.load(firsts + row), tl.load(firsts + row + 1)
    inside = tl.arange(0, BM)[:, None] * BK + rk[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(first, last):
        column = tl.load(columns + i)
        x = tl.load(values + i * (BM * BK) + inside)
        y = tl.load(b + (column * BK + rk)[:, None] * sbk + rn[None, :] * sbn, mask=rn[None, :] < N, other=0.0)
        acc = tl.dot(x, y, acc)
    put(c, acc, rm, rn, M, N, scm)


# An image by channels, rows and columns, read as a matrix: channel and offset are the quotient and remainders of K's index.
@triton.jit
def image(
    x,
    w,
    y,
    M,
    C,
    H,
    W,
    P,
    Q,
    OUT,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    R: tl.constexpr,
    S: tl.constexpr,
    STRIDE: tl.constexpr,
    PAD: tl.constexpr,
):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    n, p, q = rm // (P * Q), rm % (P * Q) // Q, rm % Q
    K = C * R * S
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        c, r, s = rk // (R * S), rk % (R * S) // S, rk % S
        h, v = p[:, None] * STRIDE - PAD + r[None, :], q[:, None] * STRIDE - PAD + s[None, :]
        inside = (rm[:, None] < M) & (rk[None, :] < K) & (h >= 0) & (h < H) & (v >= 0) & (v < W)
        tile = tl.load(x + ((n[:, None] * C + c[None, :]) * H + h) * W + v, mask=inside, other=0.0)
        weight = tl.load(w + rn[None, :] * K + rk[:, None], mask=(rk[:, None] < K) & (rn[None, :] < OUT), other=0.0)
        acc += tl.dot(tile, weight)
    tl.store(
        y + (n * OUT * P * Q + rm % (P * Q))[:, None] + rn[None, :] * (P * Q),
        acc.to(y.dtype.element_ty),
        mask=(rm[:, None] < M) & (rn[None, :] < OUT),
    )


# Rows by a thin matrix, and what comes of it by a flat one, block of columns by block of columns.
@triton.jit
def narrow_middle(a, u, v, c, M, N, K, sam, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, R: tl.constexpr):
    rm, rr = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, R)
    few = tl.zeros((BM, R), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        few += tl.dot(left(a, rm, rk, M, K, sam), left(u, rk, rr, K, R, R))
    few = few.to(v.dtype.element_ty)
    for n in range(0, N, BN):
        rn = n + tl.arange(0, BN)
        put(c, tl.dot(few, left(v, rr, rn, R, N, N)), rm, rn, M, N, scm)


# Each block of rows has an adapter, whose number is read; some have none.
@triton.jit
def adapters(a, u, c, which, M, N, K, sam, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    number = tl.load(which + tl.program_id(1))
    if number < 0:
        return
    rm, rn, rk = tl.program_id(1) * BM + tl.arange(0, BM), tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at, u_at = a + rm[:, None] * sam + rk[None, :], u + number * K * N + rn[None, :] * K + rk[:, None]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)
        y = tl.load(u_at, mask=(rn[None, :] < N) & (rk[:, None] < K - k * BK), other=0.0)
        acc += tl.dot(x, y)
        a_at += BK
        u_at += BK
    at = c + rm[:, None] * scm + rn[None, :]
    keep = (rm[:, None] < M) & (rn[None, :] < N)
    tl.store(at, tl.load(at, mask=keep, other=0.0) + acc.to(c.dtype.element_ty), mask=keep)


# Weights of BITS bits along K in words of 32, with scales and zero points of groups along K.
@triton.jit
def few_bits(
    a,
    b,
    c,
    scales,
    zeros,
    M,
    N,
    K,
    sam,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    BITS: tl.constexpr,
    PER: tl.constexpr,
    GROUP: tl.constexpr,
):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = left(a, rm, rk, M, K, sam)
        word = tl.load(b + (rk // PER)[:, None] * N + rn[None, :], mask=rn[None, :] < N, other=0)
        y = (word >> (rk % PER * BITS)[:, None]) & (2**BITS - 1)
        s = tl.load(scales + (rk // GROUP)[:, None] * N + rn[None, :], mask=rn[None, :] < N, other=0.0)
        z = tl.load(zeros + (rk // GROUP)[:, None] * N + rn[None, :], mask=rn[None, :] < N, other=0.0)
        acc += tl.dot(x, ((y.to(s.dtype) - z) * s).to(x.dtype))
    put(c, acc, rm, rn, M, N, scm)


# Six bits: four in one plane, two in another.
@triton.jit
def two_planes(a, low, high, c, scales, M, N, K, sam, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = left(a, rm, k + rk, M, K, sam)
        keep = rn[None, :] < N
        four = tl.load(low + rn[None, :] * (K // 2) + ((k + rk) // 2)[:, None], mask=keep, other=0)
        two = tl.load(high + rn[None, :] * (K // 4) + ((k + rk) // 4)[:, None], mask=keep, other=0)
        y = ((four >> (rk % 2 * 4)[:, None]) & 15) | (((two >> (rk % 4 * 2)[:, None]) & 3) << 4)
        y = y.to(tl.float32) - 32.0
        acc += tl.dot(x, y.to(x.dtype))
    put(c, acc * tl.load(scales + rn, mask=rn < N, other=0.0)[None, :], rm, rn, M, N, scm)


# Even and odd columns of A by the halves of bytes: two products in each step.
@triton.jit
def halves(a, b, c, scales, M, N, K, sam, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rp = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K // 2, BK):
        even, odd = left(a, rm, 2 * (k + rp), M, K, sam), left(a, rm, 2 * (k + rp) + 1, M, K, sam)
        packed = tl.load(b + (k + rp)[:, None] * N + rn[None, :], mask=((k + rp)[:, None] < K // 2) & (rn[None, :] < N), other=0)
        acc = tl.dot(even, ((packed & 15).to(tl.int8) - 8).to(even.dtype), acc)
        acc = tl.dot(odd, ((packed >> 4).to(tl.int8) - 8).to(odd.dtype), acc)
    put(c, acc * tl.load(scales + rn, mask=rn < N, other=0.0)[None, :], rm, rn, M, N, scm)


# Blocks of 128 x 128 weights of eight bits, with a scale each, that become 16-bit floats on the way.
@triton.jit
def wide_weights(a, b, c, scales, M, N, K, sam, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        y = right(b, rk, rn, K, N, 1, K)
        s = tl.load(scales + rn // 128 * (K // 128) + k // 128, mask=rn < N, other=0.0)
        x = left(a, rm, rk, M, K, sam)
        acc += tl.dot(x, (y.to(tl.float32) * s[None, :]).to(x.dtype))
    put(c, acc, rm, rn, M, N, scm)


# Loops over groups of K, and steps inside, whose sum is scaled behind each group.
@triton.jit
def nested_groups(a, b, c, sa, sb, M, N, K, sam, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SUM: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for group in range(0, K // 256):
        part = tl.zeros((BM, BN), dtype=SUM)
        for k in range(group * 256, group * 256 + 256, BK):
            rk = k + tl.arange(0, BK)
            part = tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, 1, K), part, out_dtype=SUM)
        s = tl.load(sa + rm * (K // 256) + group, mask=rm < M, other=0.0)
        t = tl.load(sb + rn * (K // 256) + group, mask=rn < N, other=0.0)
        acc += part.to(tl.float32) * s[:, None] * t[None, :]
    put(c, acc, rm, rn, M, N, scm)


# Equal runs of steps for all programs; who holds a tile's lock adds its part.
@triton.jit
def locked(a, b, c, locks, M, N, K, sam, sbk, sbn, scm, COUNT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns, steps = tl.cdiv(N, BN), tl.cdiv(K, BK)
    total = tl.cdiv(M, BM) * columns * steps
    each = tl.cdiv(total, COUNT)
    at = tl.program_id(0) * each
    end = min(at + each, total)
    while at < end:
        tile = at // steps
        last = min(end, (tile + 1) * steps)
        rm, rn = tile // columns * BM + tl.arange(0, BM), tile % columns * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for i in range(at, last):
            rk = (i - tile * steps) * BK + tl.arange(0, BK)
            acc += tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn))
        to, keep = c + rm[:, None] * scm + rn[None, :], (rm[:, None] < M) & (rn[None, :] < N)
        while tl.atomic_cas(locks + tile, 0, 1) == 1:
            pass
        tl.store(to, tl.load(to, mask=keep, other=0.0) + acc, mask=keep)
        tl.debug_barrier()
        tl.atomic_xchg(locks + tile, 0)
        at = last


# Parts of K; the part that comes last adds all of them up.
@triton.jit
def tickets(a, b, c, parts, counts, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    columns, part = tl.cdiv(N, BN), tl.program_id(1)
    tile = tl.program_id(0)
    rm, rn = tile // columns * BM + tl.arange(0, BM), tile % columns * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(part * BK, K, PARTS * BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn), acc)
    put(parts + part * M * N, acc, rm, rn, M, N, N)
    tl.debug_barrier()
    before = tl.atomic_add(counts + tile, 1, sem="acq_rel")
    if before == PARTS - 1:
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for i in range(PARTS):
            total += left(parts + i * M * N, rm, rn, M, N, N)
        put(c, total, rm, rn, M, N, scm)
        tl.store(counts + tile, 0)


# Many rows by few columns, all of K at once.
@triton.jit
def tall(a, b, c, M, N, K, sam, sbk, sbn, scm, COUNT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rk, rn = tl.arange(0, BK), tl.arange(0, BN)
    y = right(b, rk, rn, K, N, sbk, sbn)
    for block in range(tl.program_id(0), tl.cdiv(M, BM), COUNT):
        rm = block * BM + tl.arange(0, BM)
        put(c, tl.dot(left(a, rm, rk, M, K, sam), y), rm, rn, M, N, scm)


# One B for all of a batch (a stride of zero), and a sum over the batch.
@triton.jit
def shared_weight(a, b, c, M, N, K, sab, sam, sbb, sbk, sbn, scb, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    batch = tl.program_id(1)
    columns = tl.cdiv(N, BN)
    rm, rn = tl.program_id(0) // columns * BM + tl.arange(0, BM), tl.program_id(0) % columns * BN + tl.arange(0, BN)
    a, b, c = a + batch.to(tl.int64) * sab, b + batch.to(tl.int64) * sbb, c + batch.to(tl.int64) * scb
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        rk = k * BK + tl.arange(0, BK)
        acc += tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn))
    put(c, acc, rm, rn, M, N, scm)


@triton.jit
def summed_batch(a, b, c, B, M, N, K, sab, sam, sbb, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for batch in range(B):
        a_at, b_at = a + batch * sab + rm[:, None] * sam + rk[None, :], b + batch * sbb + rk[:, None] * sbk + rn[None, :] * sbn
        for k in range(0, K, BK):
            x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < K - k), other=0.0)
            y = tl.load(b_at, mask=(rk[:, None] < K - k) & (rn[None, :] < N), other=0.0)
            acc = tl.dot(x, y, acc)
            a_at += BK
            b_at += BK * sbk
    put(c, acc, rm, rn, M, N, scm)


# The lower half of a symmetric result, which is stored twice.
@triton.jit
def symmetric(a, c, M, K, sam, scm, alpha, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    if pm * BM + BM <= pn * BN:
        return
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at, b_at = a + rm[:, None] * sam + rk[None, :], a + rn[:, None] * sam + rk[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)
        y = tl.load(b_at, mask=(rn[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)
        acc = tl.dot(x, tl.permute(y, (1, 0)), acc)
        a_at += BK
        b_at += BK
    out = (acc * alpha).to(c.dtype.element_ty)
    keep = (rm[:, None] < M) & (rn[None, :] < M) & (rm[:, None] >= rn[None, :])
    tl.store(c + rm[:, None] * scm + rn[None, :], out, mask=keep)
    tl.store(c + rn[None, :] * scm + rm[:, None], out, mask=keep)


# Columns by columns of tall matrices, in parts of the rows that add up in memory; one of them is masked by where a third is positive.
@triton.jit
def weight_gradient(x, dy, y, c, ROWS, M, N, sx, sy, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PARTS: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    each = tl.cdiv(tl.cdiv(ROWS, PARTS), BK) * BK
    first = tl.program_id(2) * each
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(first, min(first + each, ROWS), BK):
        rk = k + tl.arange(0, BK)
        rows = left(x, rk, rm, ROWS, M, sx)
        grad = tl.where(left(y, rk, rn, ROWS, N, sy) > 0, left(dy, rk, rn, ROWS, N, sy), 0.0)
        acc = tl.dot(tl.trans(rows), grad, acc)
    tl.atomic_add(c + rm[:, None] * N + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N))


# Three matrices: each step multiplies a tile of the first two, and that by the third.
@triton.jit
def three_matrices(a, b, d, c, M, L, K, N, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BL: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for l in range(0, L, BL):
        rl = l + tl.arange(0, BL)
        middle = tl.zeros((BM, BL), dtype=tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            middle = tl.dot(left(a, rm, rk, M, K, K), left(b, rk, rl, K, L, L), middle)
        acc = tl.dot(middle.to(d.dtype.element_ty), left(d, rl, rn, L, N, N), acc)
    put(c, acc, rm, rn, M, N, N)


# All the words that `tl.dot` takes.
@triton.jit
def worded(
    a,
    b,
    c,
    M,
    N,
    K,
    sam,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    PRECISION: tl.constexpr,
    IMPRECISE: tl.constexpr,
    HALF: tl.constexpr,
):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in tl.range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x, y = left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn)
        if HALF:
            acc += tl.dot(x, y, out_dtype=tl.float16).to(tl.float32)
        else:
            acc = tl.dot(x, y, acc=acc, input_precision=PRECISION, max_num_imprecise_acc=IMPRECISE)
    put(c, acc, rm, rn, M, N, scm)


# Float64.
@triton.jit
def doubles(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float64)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc += tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn), out_dtype=tl.float64)
    put(c, acc, rm, rn, M, N, scm)


# A persistent loop by descriptors, with the words for loops.
@triton.jit
def worded_loop(
    a,
    b,
    c,
    M,
    N,
    K,
    COUNT: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FLATTEN: tl.constexpr,
    WARPS: tl.constexpr,
    GROUP: tl.constexpr,
):
    A = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    B = tl.make_tensor_descriptor(b, shape=[K, N], strides=[N, 1], block_shape=[BK, BN])
    C = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    rows, columns, steps = tl.cdiv(M, BM), tl.cdiv(N, BN), tl.cdiv(K, BK)
    for tile in tl.range(tl.program_id(0), rows * columns, COUNT, flatten=FLATTEN, warp_specialize=WARPS):
        group = tile // (GROUP * columns)
        height = min(rows - group * GROUP, GROUP)
        m, n = (group * GROUP + tile % height) * BM, tile % (GROUP * columns) // height * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(steps):
            acc = tl.dot(A.load([m, step * BK]), B.load([step * BK, n]), acc)
        C.store([m, n], acc.to(c.dtype.element_ty))


# One operand by a descriptor, the other by pointers.
@triton.jit
def half_described(a, b, c, M, N, K, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    A = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    m, rn = tl.program_id(0) * BM, tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(A.load([m, k]), right(b, rk, rn, K, N, sbk, sbn), acc)
    put(c, acc, m + tl.arange(0, BM), rn, M, N, N)


# Gates and values in turn among the columns of one product.
@triton.jit
def interleaved(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn), acc)
    gate, up = tl.split(tl.reshape(acc, (BM, BN // 2, 2)))
    out = gate * tl.sigmoid(gate) * up
    put(c, out, rm, tl.program_id(1) * (BN // 2) + tl.arange(0, BN // 2), M, N // 2, scm)


# Rows become probabilities, or 8-bit numbers with a scale, behind the product.
@triton.jit
def row_ends(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SOFTMAX: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        rk = k * BK + tl.arange(0, BK)
        acc += tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn))
    if SOFTMAX:
        acc = tl.where(rn[None, :] < N, acc * 0.1, -float("inf"))
        acc = tl.exp(acc - tl.max(acc, 1)[:, None])
        acc = acc / tl.sum(acc, 1)[:, None]
    else:
        scale = tl.max(tl.abs(acc), 1) / 127.0
        acc = acc / scale[:, None]
    put(c, acc, rm, rn, M, N, scm)


# The place of the largest product of each row, all columns in turn.
@triton.jit
def largest(a, b, c, M, N, K, sam, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BK)
    x = left(a, rm, rk, M, K, sam)
    best, place = tl.full((BM,), -float("inf"), dtype=tl.float32), tl.zeros((BM,), dtype=tl.int32)
    for n in range(0, N, BN):
        rn = n + tl.arange(0, BN)
        score = tl.where(rn[None, :] < N, tl.dot(x, right(b, rk, rn, K, N, sbk, sbn)), -float("inf"))
        value, at = tl.max(score, 1), tl.argmax(score, 1)
        place = tl.where(value > best, at + n, place)
        best = tl.maximum(best, value)
    tl.store(c + rm, best + 0.0 * place.to(tl.float32), mask=rm < M)


# A left operand of which elements are dropped by chance, by its place.
@triton.jit
def dropped(a, b, c, seed, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = left(a, rm, rk, M, K, sam)
        keep = ((rm[:, None] * 40503 + rk[None, :] * 12289 + seed) >> 7) & 3
        x = tl.where(keep != 0, x, 0.0)
        acc += tl.dot(x.to(b.dtype.element_ty), right(b, rk, rn, K, N, sbk, sbn))
    put(c, acc, rm, rn, M, N, scm)


# Pairs of columns are rotated behind the product.
@triton.jit
def rotated(a, b, c, cosines, sines, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, half = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * (BN // 2) + tl.arange(0, BN // 2)
    one, two = tl.zeros((BM, BN // 2), dtype=tl.float32), tl.zeros((BM, BN // 2), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = left(a, rm, rk, M, K, sam)
        one += tl.dot(x, right(b, rk, half, K, N // 2, sbk, sbn))
        two += tl.dot(x, right(b + N // 2 * sbn, rk, half, K, N // 2, sbk, sbn))
    u, v = left(cosines, rm, half, M, N // 2, N // 2), left(sines, rm, half, M, N // 2, N // 2)
    put(c, one * u - two * v, rm, half, M, N // 2, scm)
    put(c + N // 2, one * v + two * u, rm, half, M, N // 2, scm)


# Windows of a signal that overlap are the rows: a row begins STEP elements behind the last one.
@triton.jit
def windows(a, b, c, M, N, K, STEP, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, M, K, STEP), right(b, rk, rn, K, N, sbk, sbn), acc)
    put(c, tl.log(1.0 + acc * acc), rm, rn, M, N, scm)


# Columns by a permutation in the right operand's columns and rows' order turned around.
@triton.jit
def backwards(a, b, c, order, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(K, BK) - 1, -1, -1):
        rk = step * BK + tl.arange(0, BK)
        acc += tl.dot(left(a, M - 1 - rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn))
    to = tl.load(order + rn, mask=rn < N, other=0)
    tl.store(c + rm[:, None] * scm + to[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


# Experts' rows: two gathered inputs, weighted, added up where tokens lie; blocks beyond a number from memory are left out.
@triton.jit
def tokens(
    a,
    b,
    c,
    slots,
    experts,
    weights,
    count,
    M,
    N,
    K,
    TOP: tl.constexpr,
    sam,
    sbe,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
):
    pm, pn = tl.program_id(0) // tl.cdiv(N, BN), tl.program_id(0) % tl.cdiv(N, BN)
    if pm * BM >= tl.load(count):
        return
    slot = tl.load(slots + pm * BM + tl.arange(0, BM)).to(tl.int64)
    rn, rk, there = (pn * BN + tl.arange(0, BN)) % N, tl.arange(0, BK), slot < M * TOP
    who = tl.load(experts + pm).to(tl.int64)
    a_at, b_at = a + (slot // TOP)[:, None] * sam + rk[None, :], b + who * sbe + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a_at, mask=there[:, None] & (rk[None, :] < K - k * BK), other=0.0)
        acc += tl.dot(x, tl.load(b_at, mask=rk[:, None] < K - k * BK, other=0.0))
        a_at += BK
        b_at += BK * sbk
    acc *= tl.load(weights + slot, mask=there, other=0.0)[:, None]
    rn = pn * BN + tl.arange(0, BN)
    tl.store(c + slot[:, None] * scm + rn[None, :], acc.to(c.dtype.element_ty), mask=there[:, None] & (rn[None, :] < N))
