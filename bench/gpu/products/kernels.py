"""Matrix products as people write them in plain Triton: each way of addressing, looping and ending a tile once, with the shape of the tile
and the types left open."""

import triton
import triton.language as tl


@triton.jit
def finish(acc, rm, rn, M, N, bias, other, stride_om, FORM: tl.constexpr, TYPE: tl.constexpr):
    if FORM == "bias":
        acc = acc + tl.load(bias + rn, mask=rn < N, other=0.0)[None, :].to(tl.float32)
        acc = tl.maximum(acc, 0.0)
    if FORM == "scales":
        acc = acc * tl.load(bias + rn, mask=rn < N, other=0.0)[None, :] * tl.load(other + rm, mask=rm < M, other=0.0)[:, None]
    if FORM == "residual":
        acc += tl.load(other + rm[:, None] * stride_om + rn[None, :], mask=(rm[:, None] < M) & (rn[None, :] < N), other=0.0).to(tl.float32)
    if FORM == "gelu":
        acc = acc * tl.sigmoid(1.702 * acc)
    return acc.to(TYPE)


@triton.jit
def tile_of(pid, M, N, BM: tl.constexpr, BN: tl.constexpr, GROUP: tl.constexpr):
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    per_group = GROUP * columns
    first = pid // per_group * GROUP
    height = min(rows - first, GROUP)
    return first + (pid % per_group) % height, (pid % per_group) // height


# A grid of two dimensions, masks wherever a tile ends, pointers that move on.
@triton.jit
def masked(
    a,
    b,
    c,
    bias,
    other,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FORM: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.program_id(1) * BN + tl.arange(0, BN)
    rk = tl.arange(0, BK)
    a_at = a + rm[:, None] * sam + rk[None, :] * sak
    b_at = b + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < K - k), other=0.0)
        y = tl.load(b_at, mask=(rk[:, None] < K - k) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(x, y, input_precision=PRECISION, out_dtype=SUM)
        a_at += BK * sak
        b_at += BK * sbk
    tl.store(
        c + rm[:, None] * scm + rn[None, :],
        finish(acc, rm, rn, M, N, bias, other, scm, FORM, c.dtype.element_ty),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


# Tiles in groups of rows, indices that wrap around, as Triton's tutorial.
@triton.jit
def grouped(
    a,
    b,
    c,
    bias,
    other,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FORM: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    pm, pn = tile_of(tl.program_id(0), M, N, BM, BN, 8)
    rm, rn, rk = (pm * BM + tl.arange(0, BM)) % M, (pn * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
    a_at = a + (rm[:, None] * sam + rk[None, :] * sak)
    b_at = b + (rk[:, None] * sbk + rn[None, :] * sbn)
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(a_at, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(b_at, mask=rk[:, None] < K - k * BK, other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=SUM)
        a_at += BK * sak
        b_at += BK * sbk
    rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(
        c + rm[:, None] * scm + rn[None, :],
        finish(acc, rm, rn, M, N, bias, other, scm, FORM, c.dtype.element_ty),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


# TorchInductor writes products like this one: no masks where K is a multiple of BK, and addresses that are computed of the index of K.
@triton.jit
def hinted(
    a,
    b,
    c,
    bias,
    other,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    EVEN: tl.constexpr,
    FORM: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    pm, pn = tile_of(tl.program_id(0), M, N, BM, BN, 8)
    rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    am = tl.max_contiguous(tl.multiple_of(rm % M, BM), BM)
    bn = tl.max_contiguous(tl.multiple_of(rn % N, BN), BN)
    rk = tl.arange(0, BK)
    acc = tl.zeros((BM, BN), dtype=SUM)
    for step in range(0, tl.cdiv(K, BK)):
        kk = rk[None, :] + step * BK
        kb = rk[:, None] + step * BK
        if EVEN:
            x = tl.load(a + am[:, None] * sam + kk * sak)
            y = tl.load(b + kb * sbk + bn[None, :] * sbn)
        else:
            x = tl.load(a + am[:, None] * sam + kk * sak, mask=kk < K, other=0.0)
            y = tl.load(b + kb * sbk + bn[None, :] * sbn, mask=kb < K, other=0.0)
        acc += tl.dot(x, y, input_precision=PRECISION, out_dtype=SUM)
    rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(
        c + rm[:, None] * scm + rn[None, :],
        finish(acc, rm, rn, M, N, bias, other, scm, FORM, c.dtype.element_ty),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


@triton.jit
def blocks(
    a,
    b,
    c,
    bias,
    other,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FORM: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    pm, pn = tl.program_id(0), tl.program_id(1)
    a_at = tl.make_block_ptr(a, (M, K), (sam, sak), (pm * BM, 0), (BM, BK), (1, 0))
    b_at = tl.make_block_ptr(b, (K, N), (sbk, sbn), (0, pn * BN), (BK, BN), (1, 0))
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        x = tl.load(a_at, boundary_check=(0, 1), padding_option="zero")
        y = tl.load(b_at, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=SUM)
        a_at = tl.advance(a_at, (0, BK))
        b_at = tl.advance(b_at, (BK, 0))
    rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    c_at = tl.make_block_ptr(c, (M, N), (scm, 1), (pm * BM, pn * BN), (BM, BN), (1, 0))
    tl.store(c_at, finish(acc, rm, rn, M, N, bias, other, scm, FORM, c.dtype.element_ty), boundary_check=(0, 1))


# B by rows of N that are contiguous along K: a descriptor of its transpose.
@triton.jit
def described(
    a,
    b,
    c,
    bias,
    other,
    M,
    N,
    K,
    sam,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    FORM: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    pm, pn = tl.program_id(0), tl.program_id(1)
    a_of = tl.make_tensor_descriptor(a, [M, K], [sam, 1], [BM, BK])
    b_of = tl.make_tensor_descriptor(b, [N, K], [sbn, 1], [BN, BK])
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, tl.cdiv(K, BK)):
        x = a_of.load([pm * BM, k * BK])
        y = b_of.load([pn * BN, k * BK])
        acc = tl.dot(x, y.T, acc, input_precision=PRECISION, out_dtype=SUM)
    rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(
        c + rm[:, None] * scm + rn[None, :],
        finish(acc, rm, rn, M, N, bias, other, scm, FORM, c.dtype.element_ty),
        mask=(rm[:, None] < M) & (rn[None, :] < N),
    )


# Parts of K by programs of their own, which add up in memory.
@triton.jit
def split(
    a,
    b,
    c,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    PARTS: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    pm, pn = tile_of(tl.program_id(0), M, N, BM, BN, 4)
    part = tl.program_id(1)
    rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    rk = part * BK + tl.arange(0, BK)
    a_at = a + (rm % M)[:, None] * sam + rk[None, :] * sak
    b_at = b + rk[:, None] * sbk + (rn % N)[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, tl.cdiv(K, BK * PARTS)):
        left = K - k * BK * PARTS
        x = tl.load(a_at, mask=rk[None, :] < left, other=0.0)
        y = tl.load(b_at, mask=rk[:, None] < left, other=0.0)
        acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=SUM)
        a_at += BK * PARTS * sak
        b_at += BK * PARTS * sbk
    tl.atomic_add(c + rm[:, None] * scm + rn[None, :], acc, mask=(rm[:, None] < M) & (rn[None, :] < N), sem="relaxed")


@triton.jit
def batched(
    a,
    b,
    c,
    M,
    N,
    K,
    sab,
    sam,
    sak,
    sbb,
    sbk,
    sbn,
    scb,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    batch = tl.program_id(2)
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at = a + batch * sab + rm[:, None] * sam + rk[None, :] * sak
    b_at = b + batch * sbb + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(K, 0, -BK):
        x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < k), other=0.0)
        y = tl.load(b_at, mask=(rk[:, None] < k) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(x, y, input_precision=PRECISION, out_dtype=SUM)
        a_at += BK * sak
        b_at += BK * sbk
    tl.store(c + batch * scb + rm[:, None] * scm + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


# One program goes from tile to tile, by the number of programs or by a constant.
@triton.jit
def persistent(
    a,
    b,
    c,
    bias,
    other,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    COUNT: tl.constexpr,
    FORM: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    tiles = tl.cdiv(M, BM) * tl.cdiv(N, BN)
    step = COUNT if COUNT else tl.num_programs(0)
    for tile in range(tl.program_id(0), tiles, step):
        pm, pn = tile_of(tile, M, N, BM, BN, 8)
        rm, rn, rk = (pm * BM + tl.arange(0, BM)) % M, (pn * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
        a_at = a + rm[:, None] * sam + rk[None, :] * sak
        b_at = b + rk[:, None] * sbk + rn[None, :] * sbn
        acc = tl.zeros((BM, BN), dtype=SUM)
        for k in range(0, tl.cdiv(K, BK)):
            x = tl.load(a_at, mask=rk[None, :] < K - k * BK, other=0.0)
            y = tl.load(b_at, mask=rk[:, None] < K - k * BK, other=0.0)
            acc = tl.dot(x, y, acc, input_precision=PRECISION, out_dtype=SUM)
            a_at += BK * sak
            b_at += BK * sbk
        rm, rn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
        tl.store(
            c + rm[:, None] * scm + rn[None, :],
            finish(acc, rm, rn, M, N, bias, other, scm, FORM, c.dtype.element_ty),
            mask=(rm[:, None] < M) & (rn[None, :] < N),
        )


# Rows of A that an index names.
@triton.jit
def gathered(
    a,
    b,
    c,
    index,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    rows = tl.load(index + rm, mask=rm < M, other=0)
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        x = tl.load(a + rows[:, None] * sam + (k + rk)[None, :] * sak, mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0)
        y = tl.load(b + (k + rk)[:, None] * sbk + rn[None, :] * sbn, mask=((k + rk)[:, None] < K) & (rn[None, :] < N), other=0.0)
        acc += tl.dot(x, y, input_precision=PRECISION, out_dtype=SUM)
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


# Two products of one left operand: a gated layer.
@triton.jit
def gated(
    a,
    b,
    d,
    c,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    pm, pn = tile_of(tl.program_id(0), M, N, BM, BN, 8)
    rm, rn, rk = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN), tl.arange(0, BK)
    gate, up = tl.zeros((BM, BN), dtype=SUM), tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        x = tl.load(a + rm[:, None] * sam + (k + rk)[None, :] * sak, mask=(rm[:, None] < M) & ((k + rk)[None, :] < K), other=0.0)
        at = (k + rk)[:, None] * sbk + rn[None, :] * sbn
        inside = ((k + rk)[:, None] < K) & (rn[None, :] < N)
        gate += tl.dot(x, tl.load(b + at, mask=inside, other=0.0), input_precision=PRECISION, out_dtype=SUM)
        up += tl.dot(x, tl.load(d + at, mask=inside, other=0.0), input_precision=PRECISION, out_dtype=SUM)
    y = gate.to(tl.float32) * tl.sigmoid(gate.to(tl.float32)) * up
    tl.store(c + rm[:, None] * scm + rn[None, :], y.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


# Weights of eight bits, one scale for each column.
@triton.jit
def quantised(
    a,
    b,
    c,
    scales,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    scm,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    rm, rn, rk = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN), tl.arange(0, BK)
    a_at = a + rm[:, None] * sam + rk[None, :] * sak
    b_at = b + rk[:, None] * sbk + rn[None, :] * sbn
    acc = tl.zeros((BM, BN), dtype=SUM)
    for k in range(0, K, BK):
        x = tl.load(a_at, mask=(rm[:, None] < M) & (rk[None, :] < K - k), other=0.0)
        y = tl.load(b_at, mask=(rk[:, None] < K - k) & (rn[None, :] < N), other=0)
        acc += tl.dot(x, y.to(x.dtype), input_precision=PRECISION, out_dtype=SUM)
        a_at += BK * sak
        b_at += BK * sbk
    acc = acc * tl.load(scales + rn, mask=rn < N, other=0.0)[None, :]
    tl.store(c + rm[:, None] * scm + rn[None, :], acc.to(c.dtype.element_ty), mask=(rm[:, None] < M) & (rn[None, :] < N))


# A convolution over channels that lie together, as a product: rows are pixels of the result, the loop goes over offsets and channels.
@triton.jit
def convolution(
    x,
    w,
    y,
    COUNT,
    D,
    H,
    W,
    CHANNELS,
    OUT,
    sxn,
    sxd,
    sxh,
    sxw,
    swo,
    swk,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    KD: tl.constexpr,
    KH: tl.constexpr,
    KW: tl.constexpr,
    PRECISION: tl.constexpr,
    SUM: tl.constexpr,
):
    at = tl.program_id(0) * BM + tl.arange(0, BM)
    out = tl.program_id(1) * BN + tl.arange(0, BN)
    n, left = at // (D * H * W), at % (D * H * W)
    d, h, v = left // (H * W), left // W % H, left % W
    acc = tl.zeros((BM, BN), dtype=SUM)
    per = tl.cdiv(CHANNELS, BK)
    for step in range(0, KD * KH * KW * per):
        channel = step % per * BK + tl.arange(0, BK)
        offset = step // per
        i, j, l = offset // (KH * KW), offset // KW % KH, offset % KW
        dd, hh, vv = d + i - KD // 2, h + j - KH // 2, v + l - KW // 2
        inside = (dd >= 0) & (dd < D) & (hh >= 0) & (hh < H) & (vv >= 0) & (vv < W) & (at < COUNT)
        p = tl.load(
            x + (n * sxn + dd * sxd + hh * sxh + vv * sxw)[:, None] + channel[None, :],
            mask=inside[:, None] & (channel[None, :] < CHANNELS),
            other=0.0,
        )
        q = tl.load(
            w + offset * swk + channel[:, None] + out[None, :] * swo, mask=(channel[:, None] < CHANNELS) & (out[None, :] < OUT), other=0.0
        )
        acc += tl.dot(p, q, input_precision=PRECISION, out_dtype=SUM)
    tl.store(y + at[:, None] * OUT + out[None, :], acc.to(y.dtype.element_ty), mask=(at[:, None] < COUNT) & (out[None, :] < OUT))
