"""Kernels whose descriptors are made of values that no launcher knows."""

import triton
import triton.language as tl


@triton.jit
def grouped(
    a_pointers, b_pointers, c_pointers, sizes, strides, groups, SMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    """Products of any sizes: a group's pointers, sizes and strides are loaded, its descriptors made anew. B is given transposed."""
    tile = tl.program_id(0)
    begin = 0
    for g in range(groups):
        m, n, k = tl.load(sizes + g * 3), tl.load(sizes + g * 3 + 1), tl.load(sizes + g * 3 + 2)
        columns = tl.cdiv(n, BN)
        end = begin + tl.cdiv(m, BM) * columns
        if tile < end:
            a = tl.load(a_pointers + g).to(tl.pointer_type(tl.float16))
            b = tl.load(b_pointers + g).to(tl.pointer_type(tl.float16))
            c = tl.load(c_pointers + g).to(tl.pointer_type(tl.float16))
            da = tl.make_tensor_descriptor(a, shape=[m, k], strides=[tl.load(strides + g * 3), 1], block_shape=[BM, BK])
            db = tl.make_tensor_descriptor(b, shape=[n, k], strides=[tl.load(strides + g * 3 + 1), 1], block_shape=[BN, BK])
            dc = tl.make_tensor_descriptor(c, shape=[m, n], strides=[tl.load(strides + g * 3 + 2), 1], block_shape=[BM, BN])
            while tile < end:
                i, j = (tile - begin) // columns * BM, (tile - begin) % columns * BN
                acc = tl.zeros((BM, BN), tl.float32)
                for kk in range(0, tl.cdiv(k, BK)):
                    acc = tl.dot(da.load([i, kk * BK]), db.load([j, kk * BK]).T, acc)
                dc.store([i, j], acc.to(tl.float16))
                tile += SMS
        begin = end


@triton.jit
def chosen(x, weights, which, o, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """A product by the matrix that the program's number chooses out of a list: one descriptor for one tile."""
    i, j, e = tl.program_id(0) * BM, tl.program_id(1) * BN, tl.program_id(2)
    w = tl.load(weights + tl.load(which + e)).to(tl.pointer_type(tl.float16))
    dx = tl.make_tensor_descriptor(
        x + e.to(tl.int64) * BM * tl.num_programs(0) * K, shape=[BM * tl.num_programs(0), K], strides=[K, 1], block_shape=[BM, BK]
    )
    dw = tl.make_tensor_descriptor(w, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    do = tl.make_tensor_descriptor(
        o + e.to(tl.int64) * BM * tl.num_programs(0) * N, shape=[BM * tl.num_programs(0), N], strides=[N, 1], block_shape=[BM, BN]
    )
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        acc = tl.dot(dx.load([i, k]), dw.load([j, k]).T, acc)
    do.store([i, j], acc.to(tl.float16))


@triton.jit
def persistent(a, b, c, M, N, K, SMS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    """Descriptors of arguments, made in the kernel."""
    da = tl.make_tensor_descriptor(a, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    db = tl.make_tensor_descriptor(b, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    dc = tl.make_tensor_descriptor(c, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    for tile in tl.range(tl.program_id(0), rows * columns, SMS):
        band = tile // (8 * columns)
        height = min(rows - band * 8, 8)
        i, j = (band * 8 + tile % (8 * columns) % height) * BM, tile % (8 * columns) // height * BN
        acc = tl.zeros((BM, BN), tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            acc = tl.dot(da.load([i, k * BK]), db.load([j, k * BK]).T, acc)
        dc.store([i, j], acc.to(tl.float16))


@triton.jit
def attention(q, k, v, o, scale, H, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """The forward pass, over descriptors of all heads that every program makes."""
    rows = H * N
    dq = tl.make_tensor_descriptor(q, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
    dk = tl.make_tensor_descriptor(k, shape=[rows, D], strides=[D, 1], block_shape=[BN, D])
    dv = tl.make_tensor_descriptor(v, shape=[rows, D], strides=[D, 1], block_shape=[BN, D])
    do = tl.make_tensor_descriptor(o, shape=[rows, D], strides=[D, 1], block_shape=[BM, D])
    head = tl.program_id(1) * N
    i = head + tl.program_id(0) * BM
    most = tl.full([BM], float("-inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    x = dq.load([i, 0])
    for j in range(0, N, BN):
        s = tl.dot(x, dk.load([head + j, 0]).T)
        now = tl.maximum(most, tl.max(s, 1) * scale)
        p = tl.math.exp2(s * scale - now[:, None])
        alpha = tl.math.exp2(most - now)
        total = total * alpha + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), dv.load([head + j, 0]), acc * alpha[:, None])
        most = now
    do.store([i, 0], (acc / total[:, None]).to(tl.float16))


@triton.jit
def rows(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    """A copy, block by block."""
    dx = tl.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    do = tl.make_tensor_descriptor(o, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    i = tl.program_id(0) * BM
    for j in range(0, N, BN):
        do.store([i, j], dx.load([i, j]) * 2.0)
