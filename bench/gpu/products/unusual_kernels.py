"""Products in loops, with operands and ends as people write them less often: the loop's bounds come from memory or from the tile, rows and
columns from indices, sums begin again or are several, weights are packed words, ends reduce rows. Tiles and types are left open."""

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


# Each block of rows has its own K, which is read from memory; the loop goes on while there is something left.
@triton.jit
def ragged(a, b, c, lengths, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    length = tl.load(lengths + tl.program_id(0))
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    k = 0
    while k < length:
        rk = k + tl.arange(0, BK)
        acc += tl.dot(left(a, rm, rk, M, length, sam), right(b, rk, rn, length, N, sbk, sbn))
        k += BK
    put(c, acc, rm, rn, M, N, scm)


# Two left operands by one right operand.
@triton.jit
def two_sums(a, d, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    one, two = tl.zeros((BM, BN), dtype=tl.float32), tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        y = right(b, rk, rn, K, N, sbk, sbn)
        one = tl.dot(left(a, rm, rk, M, K, sam), y, one)
        two = tl.dot(left(d, rm, rk, M, K, sam), y, two)
    put(c, one * tl.sigmoid(two), rm, rn, M, N, scm)


# Programs that go from tile to tile with descriptors that they make themselves.
@triton.jit
def described_tiles(a, b, c, M, N, K, COUNT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, HALVES: tl.constexpr):
    A = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    B = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    C = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN // 2 if HALVES else BN])
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in range(tl.program_id(0), rows * columns, COUNT):
        m, n = tile % rows * BM, tile // rows * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            acc = tl.dot(A.load([m, k]), B.load([n, k]).T, acc)
        if HALVES:
            one, two = tl.permute(tl.reshape(acc, (BM, 2, BN // 2)), (0, 2, 1)).split()
            C.store([m, n], one.to(c.dtype.element_ty))
            C.store([m, n + BN // 2], two.to(c.dtype.element_ty))
        else:
            C.store([m, n], acc.to(c.dtype.element_ty))


# Every program has an equal run of the steps of all tiles, and adds its part of each.
@triton.jit
def streamed(a, b, c, M, N, K, sam, sbk, sbn, scm, COUNT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    columns, steps = tl.cdiv(N, BN), tl.cdiv(K, BK)
    total = tl.cdiv(M, BM) * columns * steps
    at, end = total * tl.program_id(0) // COUNT, total * (tl.program_id(0) + 1) // COUNT
    while at < end:
        tile, first = at // steps, at % steps
        last = tl.minimum(steps, first + end - at)
        rm, rn = tile // columns * BM + tl.arange(0, BM), tile % columns * BN + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for step in range(first, last):
            rk = step * BK + tl.arange(0, BK)
            acc = tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn), acc)
        tl.atomic_add(c + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N), sem="relaxed")
        at += last - first


# Rows of B by an index along K; or its columns.
@triton.jit
def indexed(a, b, c, index, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, ROWS: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    if ROWS:
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            at = tl.load(index + rk, mask=rk < K, other=0)
            y = tl.load(b + at[:, None] * sbk + rn[None, :] * sbn, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
            acc += tl.dot(left(a, rm, rk, M, K, sam), y)
    else:
        at = tl.load(index + rn, mask=rn < N, other=0).to(tl.int64)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            y = tl.load(b + rk[:, None] * sbk + at[None, :] * sbn, mask=rk[:, None] < K, other=0.0)
            acc += tl.dot(left(a, rm, rk, M, K, sam), y)
    put(c, acc, rm, rn, M, N, scm)


# Blocks of rows belong to experts; rows are scattered with a weight, or added.
@triton.jit
def scattered(
    a,
    b,
    c,
    index,
    weight,
    expert,
    M,
    N,
    K,
    sam,
    sbe,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    ADD: tl.constexpr,
):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    who = tl.load(expert + tl.program_id(0)).to(tl.int64)
    if who == -1:
        return
    a_at, b_at = a + rm[:, None] * sam + rk[None, :], b + who * sbe + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)
        y = tl.load(b_at, mask=(rk[:, None] < K - k * BK) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(x, y)
        a_at += BK
        b_at += BK * sbk
    w, at = tl.load(weight + rm, mask=rm < M, other=0.0), tl.load(index + rm, mask=rm < M, other=0)
    acc *= w[:, None]
    keep = (rm[:, None] < M) & (rn[None, :] < N)
    if ADD:
        tl.atomic_add(c + at[:, None] * scm + rn[None, :], acc.to(c.dtype.element_ty), mask=keep)
    else:
        tl.store(c + at[:, None] * scm + rn[None, :], acc.to(c.dtype.element_ty), mask=keep)


# Bytes with scales and a zero point for each row.
@triton.jit
def bytes_with_zeros(a, b, c, sa, za, sb, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc, sums = tl.zeros((BM, BN), dtype=tl.int32), tl.zeros((BN,), dtype=tl.int32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        y = right(b, rk, rn, K, N, sbk, sbn)
        acc = tl.dot(left(a, rm, rk, M, K, sam), y, acc, out_dtype=tl.int32)
        sums += tl.sum(y.to(tl.int32), 0)
    zero = tl.load(za + rm, mask=rm < M, other=0)
    s, t = tl.load(sa + rm, mask=rm < M, other=0.0), tl.load(sb + rn, mask=rn < N, other=0.0)
    put(c, (acc - zero[:, None] * sums[None, :]).to(tl.float32) * s[:, None] * t[None, :], rm, rn, M, N, scm)


# A scale for each row and 128 of K, one for each block of 128 x 128 of B.
@triton.jit
def block_scales(a, b, c, sa, sb, M, N, K, sam, sbk, sbn, scm, steps, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    am, bn = rm % M, rn % N
    a_at, b_at = a + am[:, None] * sam + rk[None, :], b + rk[:, None] * sbk + bn[None, :] * sbn
    s_at, t_at = sa + am * steps, sb + bn // 128 * steps
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a_at, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(b_at, mask=rk[:, None] < K - k * BK, other=0.0)
        step = k * BK // 128
        acc += tl.dot(x, y) * tl.load(s_at + step)[:, None] * tl.load(t_at + step)[None, :]
        a_at += BK
        b_at += BK * sbk
    put(c, acc, rm, rn, M, N, scm)


# Eight weights of four bits in a word along K, with scales and packed zero points of groups.
@triton.jit
def words(a, b, c, scales, zeros, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at, b_at = a + rm[:, None] * sam + rk[None, :], b + rk[:, None] // 8 * sbk + rn[None, :]
    shift, zero_shift = rk % 8 * 4, rn % 8 * 4
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        group = k * BK // GROUP
        s = tl.load(scales + group * N + rn, mask=rn < N, other=0.0)
        z = (tl.load(zeros + group * (N // 8) + rn // 8, mask=rn < N, other=0) >> zero_shift) & 15
        x = tl.load(a_at, mask=rm[:, None] < M, other=0.0)
        y = (tl.load(b_at, mask=rn[None, :] < N, other=0) >> shift[:, None]) & 15
        y = ((y - z[None, :]) * s[None, :]).to(x.dtype)
        acc += tl.dot(x, y)
        a_at += BK
        b_at += BK // 8 * sbk
    put(c, acc, rm, rn, M, N, scm)


# Two weights of four bits in a byte, the halves of which are joined along K.
@triton.jit
def joined(a, b, c, scales, M, N, K, sam, sbk, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    rp = tl.arange(0, BK // 2)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * sam + (k + rk)[None, :], mask=rm[:, None] < M, other=0.0)
        packed = tl.load(b + (k // 2 + rp)[:, None] * sbk + rn[None, :], mask=rn[None, :] < N, other=0)
        low, high = (packed << 4).to(tl.int8) >> 4, packed >> 4
        y = tl.reshape(tl.permute(tl.join(low.to(x.dtype), high.to(x.dtype)), (0, 2, 1)), (BK, BN))
        s = tl.load(scales + k // GROUP * N + rn, mask=rn < N, other=0.0)
        acc += tl.dot(x, y) * s[None, :]
    put(c, acc, rm, rn, M, N, scm)


# Weights are numbers of a table's values.
@triton.jit
def table(a, b, c, values, M, N, K, sam, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        number = tl.load(b + rk[:, None] + rn[None, :] * sbn, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0)
        y = tl.load(values + number.to(tl.int32))
        acc += tl.dot(left(a, rm, rk, M, K, sam), y)
    put(c, acc, rm, rn, M, N, scm)


# Sums of a few steps are added to a second sum.
@triton.jit
def promoted(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, EVERY: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    total, acc = tl.zeros((BM, BN), dtype=tl.float32), tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        rk = step * BK + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn), acc)
        if (step + 1) % EVERY == 0:
            total += acc
            acc = tl.zeros((BM, BN), dtype=tl.float32)
    put(c, total + acc, rm, rn, M, N, scm)


# A triangular left operand: the loop ends at the diagonal.
@triton.jit
def triangular(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.minimum(K, (tl.program_id(0) + 1) * BM), BK):
        rk = k + tl.arange(0, BK)
        x = tl.where(rm[:, None] >= rk[None, :], left(a, rm, rk, M, K, sam), 0.0)
        acc = tl.dot(x, right(b, rk, rn, K, N, sbk, sbn), acc)
    put(c, acc, rm, rn, M, N, scm)


# The gradient of weights of groups of rows, whose bounds are read from memory.
@triton.jit
def groups(a, b, c, bounds, M, N, sak, sbk, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    group = tl.program_id(2)
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    first, last = tl.load(bounds + group), tl.load(bounds + group + 1)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(first, last, BK):
        rk = k + tl.arange(0, BK)
        acc += tl.dot(tl.trans(left(a, rk, rm, last, M, sak)), left(b, rk, rn, last, N, sbk))
    put(c + group * M * N, acc, rm, rn, M, N, N)


# Weights and an update of low rank, in one loop and behind it.
@triton.jit
def low_rank(a, b, u, v, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, R: tl.constexpr):
    rm, rn, rr = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, R)
    acc, few = tl.zeros((BM, BN), dtype=tl.float32), tl.zeros((BM, R), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x = left(a, rm, rk, M, K, sam)
        acc = tl.dot(x, right(b, rk, rn, K, N, sbk, sbn), acc)
        few = tl.dot(x, left(u, rk, rr, K, R, R), few)
    acc = tl.dot(few.to(v.dtype.element_ty), left(v, rr, rn, R, N, N), acc)
    put(c, acc, rm, rn, M, N, scm)


# The nearest column of each row: a product for each block of columns, and its least distance.
@triton.jit
def nearest(a, b, norms, c, M, N, K, sam, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    least = tl.full((BM,), float("inf"), dtype=tl.float32)
    for n in range(0, N, BN):
        rn = n + tl.arange(0, BN)
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            acc += tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn))
        distance = tl.load(norms + rn, mask=rn < N, other=float("inf"))[None, :] - 2 * acc
        least = tl.minimum(least, tl.min(distance, 1))
    tl.store(c + rm, least, mask=rm < M)


# A loss of classes: products of all blocks of columns, and the logarithm of the sum of their exponentials.
@triton.jit
def log_sum(a, b, c, M, N, K, sam, sbk, sbn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    top, total = tl.full((BM,), -float("inf"), dtype=tl.float32), tl.zeros((BM,), dtype=tl.float32)
    for n in range(0, tl.cdiv(N, BN)):
        rn, rk = n * BN + tl.arange(0, BN), tl.arange(0, BK)
        a_at, b_at = a + rm[:, None] * sam + rk[None, :], b + rk[:, None] * sbk + rn[None, :] * sbn
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < K - k * BK), other=0.0)
            acc = tl.dot(x, tl.load(b_at, mask=(rk[:, None] < K - k * BK) & (rn[None, :] < N), other=0.0), acc)
            a_at += BK
            b_at += BK * sbk
        acc = tl.where(rn[None, :] < N, acc * 0.125, -float("inf"))
        new = tl.maximum(top, tl.max(acc, 1))
        total = total * tl.exp(top - new) + tl.sum(tl.exp(acc - new[:, None]), 1)
        top = new
    tl.store(c + rm, top + tl.log(total), mask=rm < M)


# A one-dimensional convolution: taps outside, channels inside.
@triton.jit
def taps(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TAPS: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for tap in range(TAPS):
        at = rm + tap - (TAPS - 1)
        for k in range(0, K, BK):
            rk = k + tl.arange(0, BK)
            x = tl.load(a + at[:, None] * sam + rk[None, :], mask=(at[:, None] >= 0) & (at[:, None] < M) & (rk[None, :] < K), other=0.0)
            y = tl.load(b + (tap * K + rk)[:, None] * sbk + rn[None, :] * sbn, mask=(rk[:, None] < K) & (rn[None, :] < N), other=0.0)
            acc = tl.dot(x, y, acc)
    put(c, acc, rm, rn, M, N, scm)


# Two steps of K in each iteration, and two loops behind each other for two pairs of matrices.
@triton.jit
def twice(a, b, d, e, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, 2 * BK):
        for half in tl.static_range(2):
            rk = k + half * BK + tl.arange(0, BK)
            acc += tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn))
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc += tl.dot(left(d, rm, rk, M, K, sam), right(e, rk, rn, K, N, sbk, sbn))
    put(c, acc, rm, rn, M, N, scm)


# Numbers with two parts: four products.
@triton.jit
def two_parts(a, d, b, e, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    one, two = tl.zeros((BM, BN), dtype=tl.float32), tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x, w = left(a, rm, rk, M, K, sam), left(d, rm, rk, M, K, sam)
        y, z = right(b, rk, rn, K, N, sbk, sbn), right(e, rk, rn, K, N, sbk, sbn)
        one += tl.dot(x, y) - tl.dot(w, z)
        two += tl.dot(x, z) + tl.dot(w, y)
    put(c, one * one + two * two, rm, rn, M, N, scm)


# 16-bit sums, and float32 products in three parts.
@triton.jit
def precisions(a, b, c, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, THREE: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32 if THREE else tl.float16)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        x, y = left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn)
        if THREE:
            acc += tl.dot(x, y, input_precision="tf32x3")
        else:
            acc = tl.dot(x, y, acc, out_dtype=tl.float16)
    put(c, acc, rm, rn, M, N, scm)


# The product's transpose is computed, and stored the other way round.
@triton.jit
def turned(a, b, c, bias, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BN, BM), dtype=tl.float32) + tl.load(bias + rn, mask=rn < N, other=0.0)[:, None]
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        y = tl.load(b + rn[:, None] * sbn + rk[None, :] * sbk, mask=(rn[:, None] < N) & (rk[None, :] < K), other=0.0)
        x = tl.load(a + rm[None, :] * sam + rk[:, None], mask=(rm[None, :] < M) & (rk[:, None] < K), other=0.0)
        acc = tl.dot(y, x, acc)
    put(c, tl.trans(acc), rm, rn, M, N, scm)


# Lists of the blocks of B that there are.
@triton.jit
def listed(a, b, c, firsts, blocks, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for i in range(tl.load(firsts + tl.program_id(1)), tl.load(firsts + tl.program_id(1) + 1)):
        rk = tl.load(blocks + i) * BK + tl.arange(0, BK)
        acc += tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn))
    put(c, acc, rm, rn, M, N, scm)


# The whole row is one tile: it is normalised behind the product, and the sums of columns are added up.
@triton.jit
def normed_rows(a, b, c, gain, sums, M, N, K, sam, sbk, sbn, scm, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rm, rn = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        rk = k + tl.arange(0, BK)
        acc = tl.dot(left(a, rm, rk, M, K, sam), right(b, rk, rn, K, N, sbk, sbn), acc)
    scale = 1 / tl.sqrt(tl.sum(acc * acc, 1) / N + 1e-6)
    acc = acc * scale[:, None] * tl.load(gain + rn, mask=rn < N, other=0.0)[None, :]
    tl.atomic_add(sums + rn, tl.sum(acc, 0), mask=rn < N)
    put(c, acc, rm, rn, M, N, scm)


# One loop over all tiles of a program: places and sums are begun again under branches, and rows beyond the end wrap around.
@triton.jit
def one_loop(
    a, b, c, M, N, K, sam, sbk, sbn, scm, COUNT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    first = tl.program_id(0)
    rows, columns, steps = tl.cdiv(M, BM), tl.cdiv(N, BN), tl.cdiv(K, BK)
    tiles = rows * columns
    mine = tiles // COUNT
    if first < tiles % COUNT:
        mine += 1
    tile, step, pm, pn = first - COUNT, -1, 0, 0
    rk, am, bn = tl.arange(0, BK), tl.arange(0, BM), tl.arange(0, BN)
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, steps * mine):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            tile += COUNT
            group = tile // (GROUP * columns)
            count = min(rows - group * GROUP, GROUP)
            pm, pn = group * GROUP + tile % count, tile % (GROUP * columns) // count
            am, bn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
            am, bn = tl.where(am < M, am, 0), tl.where(bn < N, bn, 0)
            am, bn = tl.max_contiguous(tl.multiple_of(am, BM), BM), tl.max_contiguous(tl.multiple_of(bn, BN), BN)
        at = step * BK + rk
        x = tl.load(a + am[:, None] * sam + at[None, :], mask=rk[None, :] < K - step * BK, other=0.0)
        y = tl.load(b + at[:, None] * sbk + bn[None, :] * sbn, mask=rk[:, None] < K - step * BK, other=0.0)
        acc = tl.dot(x, y, acc)
        if step == steps - 1:
            put(c, acc, pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), M, N, scm)
            acc = tl.zeros((BM, BN), dtype=tl.float32)


# The same with descriptors.
@triton.jit
def described_loop(a, b, c, M, N, K, COUNT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    A = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    B = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    C = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    rows, steps = tl.cdiv(M, BM), tl.cdiv(K, BK)
    tiles = rows * tl.cdiv(N, BN)
    tile, step, m, n = tl.program_id(0) - COUNT, -1, 0, 0
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for _ in range(0, steps * tl.cdiv(tiles - tl.program_id(0), COUNT)):
        step = tl.where(step == steps - 1, 0, step + 1)
        if step == 0:
            tile += COUNT
            m, n = tile % rows * BM, tile // rows * BN
        acc = tl.dot(A.load([m, step * BK]), B.load([n, step * BK]).T, acc)
        if step == steps - 1:
            C.store([m, n], acc.to(c.dtype.element_ty))
            acc = tl.zeros((BM, BN), dtype=tl.float32)


# Products of a state that the loop carries: each chunk reads the state and adds to it.
@triton.jit
def recurrent(q, k, v, o, M, D, L, decay, BM: tl.constexpr, BD: tl.constexpr, BL: tl.constexpr):
    head, rl = tl.program_id(1), tl.program_id(0) * BL + tl.arange(0, BL)
    q, k, v, o = q + head * M * D, k + head * M * D, v + head * M * L, o + head * M * L
    rd, ri = tl.arange(0, BD), tl.arange(0, BM)
    state = tl.zeros((BD, BL), dtype=tl.float32)
    for m in range(0, M, BM):
        rm = m + tl.arange(0, BM)
        x, value = left(q, rm, rd, M, D, D), left(v, rm, rl, M, L, L)
        key = tl.load(k + rd[:, None] + rm[None, :] * D, mask=(rd[:, None] < D) & (rm[None, :] < M), other=0.0)
        score = tl.where(ri[:, None] >= ri[None, :], tl.dot(x, key), 0.0)
        out = tl.dot(x, state.to(x.dtype)) + tl.dot(score.to(x.dtype), value)
        state = state * decay + tl.dot(key, value)
        put(o, out, rm, rl, M, L, L)
