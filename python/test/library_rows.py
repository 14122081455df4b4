"""Norms, activations and what else goes by rows, in the manner of libraries."""

import tandem.language as tl
from library_kernels import F16, F32, I8, I32, cdiv, library


@library(
    lambda m, n, k: (m,),
    lambda m, n, k: dict(x=((m, k), F32), residual=((m, k), F32), weight=((k,), F32)),
    "x", "x", lambda m, n, k: dict(stride=k, n_cols=k, eps=1e-6, BLOCK=64), refused=dict(consumer="only loads"),
)  # fmt: skip
def fused_add_rms_norm(x, residual, weight, stride, n_cols, eps, BLOCK: tl.constexpr):
    """The input becomes the output, and the residual what was added: a row a program."""
    row = tl.program_id(0).to(tl.int64)
    x += row * stride
    residual += row * stride
    columns = tl.arange(0, BLOCK)
    mask = columns < n_cols
    value = tl.load(x + columns, mask=mask, other=0.0)
    value += tl.load(residual + columns, mask=mask, other=0.0)
    tl.store(residual + columns, value, mask=mask)
    rstd = tl.rsqrt(tl.sum(value * value, axis=0) / n_cols + eps)
    tl.store(x + columns, value * rstd * tl.load(weight + columns, mask=mask), mask=mask)  # REFUSED consumer


@library(
    lambda m, n, k: (cdiv(m, 4),),
    lambda m, n, k: dict(X=((m, k), F32), Y=((m, k), F32), W=((k,), F32), B=((k,), F32), Mean=((m,), F32), Rstd=((m,), F32)),
    "X", "Y", lambda m, n, k: dict(M=m, N=k, eps=1e-5, BLOCK=16, ROWS=4),
)  # fmt: skip
def layer_norm(X, Y, W, B, Mean, Rstd, M, N, eps, BLOCK: tl.constexpr, ROWS: tl.constexpr):
    """Three loops over the columns of some rows, and two vectors beside the result."""
    for nth in range(ROWS):
        row = tl.program_id(0) * ROWS + nth
        if row < M:
            total = tl.zeros([BLOCK], dtype=tl.float32)
            for off in range(0, N, BLOCK):
                cols = off + tl.arange(0, BLOCK)
                total += tl.load(X + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
            mean = tl.sum(total, axis=0) / N
            var = tl.zeros([BLOCK], dtype=tl.float32)
            for off in range(0, N, BLOCK):
                cols = off + tl.arange(0, BLOCK)
                x = tl.load(X + row * N + cols, mask=cols < N, other=0.0).to(tl.float32)
                x = tl.where(cols < N, x - mean, 0.0)
                var += x * x
            rstd = 1 / tl.sqrt(tl.sum(var, axis=0) / N + eps)
            tl.store(Mean + row, mean)
            tl.store(Rstd + row, rstd)
            for off in range(0, N, BLOCK):
                cols = off + tl.arange(0, BLOCK)
                mask = cols < N
                x = tl.load(X + row * N + cols, mask=mask, other=0.0).to(tl.float32)
                y = (x - mean) * rstd * tl.load(W + cols, mask=mask) + tl.load(B + cols, mask=mask)
                tl.store(Y + row * N + cols, y, mask=mask)


@library(
    lambda m, n, k: (m,),
    lambda m, n, k: dict(a=((m, k), F16), b=((m, k), F16), c=((m, k), F16)),
    ("a", "b"), "c", lambda m, n, k: dict(stride=k, n_cols=k, BLOCK_SIZE=64),
)  # fmt: skip
def swiglu(a, b, c, stride, n_cols: tl.constexpr, BLOCK_SIZE: tl.constexpr):
    program_id = tl.program_id(0).to(tl.int64)
    a += program_id * stride
    b += program_id * stride
    c += program_id * stride
    col_offsets = tl.arange(0, BLOCK_SIZE)
    mask = col_offsets < n_cols
    a_row = tl.load(a + col_offsets, mask=mask, other=0).to(tl.float32)
    b_row = tl.load(b + col_offsets, mask=mask, other=0)
    tl.store(c + col_offsets, (a_row * tl.sigmoid(a_row)).cast(b_row.dtype) * b_row, mask=mask)


@library(
    lambda m, n, k: (cdiv(m * k, 64),),
    lambda m, n, k: dict(in_ptr0=((m, 2 * k), F32), in_ptr1=((k,), F32), out_ptr0=((m, k), F32)),
    "in_ptr0", "out_ptr0", lambda m, n, k: dict(xnumel=m * k, ks0=k, XBLOCK=64),
)  # fmt: skip
def pointwise(in_ptr0, in_ptr1, out_ptr0, xnumel, ks0, XBLOCK: tl.constexpr):
    """Flat places that are taken apart: both halves of a row."""
    xoffset = tl.program_id(0) * XBLOCK
    xindex = xoffset + tl.arange(0, XBLOCK)[:]
    xmask = xindex < xnumel
    x0 = xindex % ks0
    x1 = xindex // ks0
    x2 = xindex
    tmp0 = tl.load(in_ptr0 + (x0 + 2 * ks0 * x1), xmask, eviction_policy="evict_last")
    tmp1 = tl.load(in_ptr0 + (ks0 + x0 + 2 * ks0 * x1), xmask, eviction_policy="evict_last")
    tmp2 = tl.load(in_ptr1 + (x0), xmask, eviction_policy="evict_last")
    tl.store(out_ptr0 + (x2), tl.maximum(tmp0, 0.0) * tmp1 + tmp2, xmask)


@library(
    lambda m, n, k: (cdiv(m, 8),),
    lambda m, n, k: dict(in_out_ptr0=((m, 1), F32), in_ptr0=((m, k), F32), out_ptr0=((m, k), F32)),
    "in_ptr0", "out_ptr0", lambda m, n, k: dict(xnumel=m, r0_numel=k, XBLOCK=8, R0_BLOCK=64),
)  # fmt: skip
def persistent_reduction(in_out_ptr0, in_ptr0, out_ptr0, xnumel, r0_numel, XBLOCK: tl.constexpr, R0_BLOCK: tl.constexpr):
    """Rows whole, of several at once; a column of them in place."""
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    r0_index = tl.arange(0, R0_BLOCK)[None, :]
    r0_mask = r0_index < r0_numel
    x0 = xindex
    tmp0 = tl.load(in_ptr0 + (r0_index + r0_numel * x0), r0_mask & xmask, other=0.0)
    tmp1 = tl.where(r0_mask & xmask, tl.broadcast_to(tmp0, [XBLOCK, R0_BLOCK]), float("-inf"))
    tmp2 = tl.max(tmp1, 1)[:, None]
    tmp3 = tl.where(r0_mask & xmask, tl.exp(tmp0 - tmp2), 0)
    tmp4 = tl.sum(tmp3, 1)[:, None]
    tmp5 = tl.load(in_out_ptr0 + (x0), xmask, eviction_policy="evict_last")
    tl.store(in_out_ptr0 + (x0), tmp4 + tmp5, xmask)
    tl.store(out_ptr0 + (r0_index + r0_numel * x0), tmp3 / tmp4, r0_mask & xmask)


@library(
    lambda m, n, k: (cdiv(n, 16),),
    lambda m, n, k: dict(in_ptr0=((m, n), F32), out_ptr0=((n,), F32), out_ptr1=((n,), I32)),
    "in_ptr0", None, lambda m, n, k: dict(xnumel=n, rnumel=m, XBLOCK=16, RBLOCK=8),
)  # fmt: skip
def looped_reduction(in_ptr0, out_ptr0, out_ptr1, xnumel, rnumel, XBLOCK: tl.constexpr, RBLOCK: tl.constexpr):
    """Columns are folded over all rows, with the place of the largest."""
    xindex = tl.program_id(0) * XBLOCK + tl.arange(0, XBLOCK)[:, None]
    xmask = xindex < xnumel
    rbase = tl.arange(0, RBLOCK)[None, :]
    _tmp2 = tl.full([XBLOCK, RBLOCK], 0, tl.float32)
    best = tl.full([XBLOCK, 1], float("-inf"), tl.float32)
    where = tl.full([XBLOCK, 1], 0, tl.int32)
    for roffset in range(0, rnumel, RBLOCK):
        rindex = roffset + rbase
        rmask = rindex < rnumel
        tmp0 = tl.load(in_ptr0 + (xindex + xnumel * rindex), rmask & xmask, eviction_policy="evict_first", other=0.0)
        _tmp2 = tl.where(rmask & xmask, _tmp2 + tmp0, _tmp2)
        largest, at = tl.max(tl.where(rmask & xmask, tmp0, float("-inf")), 1, return_indices=True)
        where = tl.where(largest[:, None] > best, roffset + at[:, None], where)
        best = tl.maximum(best, largest[:, None])
    tl.store(out_ptr0 + xindex, tl.sum(_tmp2, 1)[:, None] + best, xmask)
    tl.store(out_ptr1 + xindex, where, xmask)


@library(
    lambda m, n, k: (m,),
    lambda m, n, k: dict(X=((m, n), F32), Y=((m,), "int64", "labels"), loss=((m,), F32)),
    "X", "X", lambda m, n, k: dict(X_stride=n, n_cols=n, scale=0.125, BLOCK_SIZE=16),
    refused=dict(consumer="only loads", producer="depends on what the kernel loads"),
)  # fmt: skip
def cross_entropy(X, Y, loss, X_stride, n_cols, scale, BLOCK_SIZE: tl.constexpr):
    """The gradient takes the place of the logits, which are read twice before."""
    program_id = tl.program_id(0).to(tl.int64)
    y = tl.load(Y + program_id)
    X += program_id * X_stride
    m = float("-inf")
    d = 0.0
    ori = tl.load(X + y)  # REFUSED producer
    for i in range(0, n_cols, BLOCK_SIZE):
        offsets = i + tl.arange(0, BLOCK_SIZE)
        block = tl.load(X + offsets, mask=offsets < n_cols, other=float("-inf"))
        new = tl.maximum(m, tl.max(block))
        d = d * tl.exp(m - new) + tl.sum(tl.exp(block - new))
        m = new
    for i in range(0, n_cols, BLOCK_SIZE):
        offsets = i + tl.arange(0, BLOCK_SIZE)
        block = tl.load(X + offsets, mask=offsets < n_cols, other=float("-inf"))
        block = (tl.exp(block - m) / d - tl.where(offsets == y, 1.0, 0.0)) * scale
        tl.store(X + offsets, block, mask=offsets < n_cols)  # REFUSED consumer
    tl.debug_barrier()
    tl.store(loss + program_id, m + tl.log(d) - ori)


@library(
    lambda m, n, k: (m,),
    lambda m, n, k: dict(q=((m, 4, 32), F32), cos=((m, 16), F32), sin=((m, 16), F32)),
    (), "q", lambda m, n, k: dict(heads=3, HEADS=4, HALF=16),
)  # fmt: skip
def rotary(q, cos, sin, heads, HEADS: tl.constexpr, HALF: tl.constexpr):
    """Halves of each head are turned in place, of three heads of four."""
    pid = tl.program_id(0).to(tl.int64)
    q += pid * HEADS * 2 * HALF
    places = tl.arange(0, HALF)
    c, s = tl.load(cos + pid * HALF + places), tl.load(sin + pid * HALF + places)
    first = tl.arange(0, HEADS)[:, None] * 2 * HALF + places[None, :]
    mask = (tl.arange(0, HEADS)[:, None] < heads) & (places[None, :] < HALF)
    left = tl.load(q + first, mask=mask, other=0)
    right = tl.load(q + first + HALF, mask=mask, other=0)
    tl.store(q + first, left * c - right * s, mask=mask)
    tl.store(q + first + HALF, right * c + left * s, mask=mask)


@library(
    lambda m, n, k: (m * cdiv(k, 16),),
    lambda m, n, k: dict(y_ptr=((m, k), F32), y_q_ptr=((m, k), I8), y_s_ptr=((m, cdiv(k, 16)), F32)),
    "y_ptr", "y_q_ptr", lambda m, n, k: dict(columns=k, group_size=16, BLOCK=16),
)  # fmt: skip
def quantised_groups(y_ptr, y_q_ptr, y_s_ptr, columns, group_size, BLOCK: tl.constexpr):
    """A program for each group of a row, whose number is taken apart."""
    g_id = tl.program_id(0)
    groups_per_row = tl.cdiv(columns, group_size)
    row, group = g_id // groups_per_row, g_id % groups_per_row
    cols = group * group_size + tl.arange(0, BLOCK)
    mask = cols < columns
    y = tl.load(y_ptr + row.to(tl.int64) * columns + cols, mask=mask, other=0.0).to(tl.float32)
    scale = tl.maximum(tl.max(tl.abs(y)), 1e-10) / 3
    tl.store(y_q_ptr + row.to(tl.int64) * columns + cols, tl.clamp(y / scale, -3.0, 3.0).to(tl.int8), mask=mask)
    tl.store(y_s_ptr + g_id, scale)


@library(
    lambda m, n, k: (cdiv(m, 4),),
    lambda m, n, k: dict(logits=((m, 16), F32), weights=((m, 2), F32), ids=((m, 2), I32)),
    "logits", "weights", lambda m, n, k: dict(M=m, ROWS=4, EXPERTS=16),
)  # fmt: skip
def two_largest(logits, weights, ids, M, ROWS: tl.constexpr, EXPERTS: tl.constexpr):
    """The two largest of each row, by a loop that is unrolled."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    experts = tl.arange(0, EXPERTS)
    x = tl.load(logits + rows[:, None] * EXPERTS + experts[None, :], mask=rows[:, None] < M, other=0.0)
    for nth in tl.static_range(2):
        largest, at = tl.max(x, 1, return_indices=True)
        tl.store(weights + rows * 2 + nth, largest, mask=rows < M)
        tl.store(ids + rows * 2 + nth, at, mask=rows < M)
        x = tl.where(experts[None, :] == at[:, None], float("-inf"), x)


@library(
    lambda m, n, k: (cdiv(m, 8), cdiv(k, 16)),
    lambda m, n, k: dict(x=((m, k), F32), w=((k, 4), F32), bias=((k,), F32), y=((m, k), F32)),
    "x", "y", lambda m, n, k: dict(seqlen=m, dim=k, WIDTH=4, B=16, STEPS=8),
)  # fmt: skip
def causal_convolution(x, w, bias, y, seqlen, dim, WIDTH: tl.constexpr, B: tl.constexpr, STEPS: tl.constexpr):
    """The three rows before are carried along, the first ones loaded where they are."""
    begin = tl.program_id(0) * STEPS
    feats = tl.program_id(1) * B + tl.arange(0, B)
    inside = feats < dim
    col0 = tl.load(x + (begin - 3) * dim + feats, mask=inside & (begin >= 3), other=0.0)
    col1 = tl.load(x + (begin - 2) * dim + feats, mask=inside & (begin >= 2), other=0.0)
    col2 = tl.load(x + (begin - 1) * dim + feats, mask=inside & (begin >= 1), other=0.0)
    for step in range(STEPS):
        row = begin + step
        now = tl.load(x + row * dim + feats, mask=inside & (row < seqlen), other=0.0)
        acc = tl.load(bias + feats, mask=inside, other=0.0)
        for j in tl.static_range(WIDTH):
            weight = tl.load(w + feats * WIDTH + j, mask=inside, other=0.0)
            acc += weight * (col0 if j == 0 else col1 if j == 1 else col2 if j == 2 else now)
        col0, col1, col2 = col1, col2, now
        tl.store(y + row * dim + feats, acc * tl.sigmoid(acc), mask=inside & (row < seqlen))


@library(
    lambda m, n, k: (cdiv(m * k, 32),),
    lambda m, n, k: dict(x_ptr=((m, k), F32), residual=((m, k), F32), output=((m, k), F32)),
    "x_ptr", "output", lambda m, n, k: dict(n_elements=m * k, p=0.25, seed=7, BLOCK=32),
)  # fmt: skip
def dropout_and_residual(x_ptr, residual, output, n_elements, p, seed, BLOCK: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    keep = tl.rand(seed, offsets) > p
    tl.store(output + offsets, tl.where(keep, x / (1 - p), 0.0) + tl.load(residual + offsets, mask=mask), mask=mask)


@library(
    lambda m, n, k: (cdiv(m, 16), cdiv(k, 16)),
    lambda m, n, k: dict(x=((m, k), F32), y=((k, m), F32)),
    "x", None, lambda m, n, k: dict(M=m, N=k, B=16),
)  # fmt: skip
def transposed_by_block_pointers(x, y, M, N, B: tl.constexpr):
    source = tl.make_block_ptr(x, (M, N), (N, 1), (tl.program_id(0) * B, tl.program_id(1) * B), (B, B), (1, 0))
    dest = tl.make_block_ptr(y, (N, M), (M, 1), (tl.program_id(1) * B, tl.program_id(0) * B), (B, B), (1, 0))
    tl.store(dest, tl.trans(tl.load(source, boundary_check=(0, 1), padding_option="zero")), boundary_check=(0, 1))


@library(
    lambda m, n, k: (cdiv(m, 16),),
    lambda m, n, k: dict(x=((m, k), F32), dy=((m, k), F32), dx=((m, k), F32), dw=((cdiv(m, 16), k), F32)),
    ("x", "dy"), "dx", lambda m, n, k: dict(M=m, N=k, ROWS=16, BLOCK=64),
)  # fmt: skip
def rms_norm_backward(x, dy, dx, dw, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    """Each program goes through some rows from its number's place on, and keeps a sum for the weights."""
    pid = tl.program_id(0)
    start, end = pid * ROWS, min((pid + 1) * ROWS, M)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    x += start * N
    dy += start * N
    dx += start * N
    for _ in range(start, end):
        a = tl.load(x + cols, mask=mask, other=0.0)
        b = tl.load(dy + cols, mask=mask, other=0.0)
        rstd = tl.rsqrt(tl.sum(a * a, 0) / N + 1e-6)
        tl.store(dx + cols, rstd * b - rstd * rstd * rstd * tl.sum(a * b, 0) / N * a, mask=mask)
        total += b * a * rstd
        x += N
        dy += N
        dx += N
    tl.store(dw + pid * N + cols, total, mask=mask)


@library(
    lambda m, n, k: (cdiv(m, 16) * cdiv(n, 16), 2),
    lambda m, n, k: dict(a=((m, k), F32), b=((k, n), F32), c=((m, n), F32), locks=((cdiv(m, 16) * cdiv(n, 16),), I32, "zeros")),
    "a", "c", lambda m, n, k: dict(M=m, N=n, K=k, B=16),
)  # fmt: skip
def halves_behind_a_lock(a, b, c, locks, M, N, K, B: tl.constexpr):
    """Two halves of K, of which the second waits for the first and adds to it."""
    pid, part = tl.program_id(0), tl.program_id(1)
    rows, columns = pid // tl.cdiv(N, B) * B + tl.arange(0, B), pid % tl.cdiv(N, B) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(part * B, K, 2 * B):
        inner = k + tl.arange(0, B)
        left = tl.load(a + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0)
        right = tl.load(b + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(left, right, acc)
    places, inside = c + rows[:, None] * N + columns[None, :], (rows[:, None] < M) & (columns[None, :] < N)
    if part == 1:
        while tl.atomic_cas(locks + pid, 1, 0) != 1:
            pass
        tl.debug_barrier()
        acc += tl.load(places, mask=inside, other=0.0)
    tl.store(places, acc, mask=inside)
    if part == 0:
        tl.debug_barrier()
        tl.atomic_xchg(locks + pid, 1)


@library(
    lambda m, n, k: (m,),
    lambda m, n, k: dict(ids=((m,), I32, "rows"), table=((m, k), F32), out=((m, k), F32)),
    "table", "out", lambda m, n, k: dict(N=k, BLOCK=64),
)  # fmt: skip
def embedding(ids, table, out, N, BLOCK: tl.constexpr):
    """Rows by numbers that are loaded."""
    columns = tl.arange(0, BLOCK)
    row = tl.load(ids + tl.program_id(0)).to(tl.int64)
    x = tl.load(table + row * N + columns, mask=columns < N, other=0.0)
    tl.store(out + tl.program_id(0) * N + columns, x, mask=columns < N)


@library(
    lambda m, n, k: (m,),
    lambda m, n, k: dict(key=((m, k), F32), slots=((m,), I32, "rows"), cache=((m, k), F32)),
    "key", "cache", lambda m, n, k: dict(N=k, BLOCK=64), refused=dict(producer="depends on what the kernel loads"),
)  # fmt: skip
def into_a_cache(key, slots, cache, N, BLOCK: tl.constexpr):
    """Each row goes where a table says; none below 0."""
    token, columns = tl.program_id(0), tl.arange(0, BLOCK)
    slot = tl.load(slots + token).to(tl.int64)
    if slot < 0:
        return
    x = tl.load(key + token * N + columns, mask=columns < N, other=0.0)
    tl.store(cache + slot * N + columns, x, mask=columns < N)  # REFUSED producer
