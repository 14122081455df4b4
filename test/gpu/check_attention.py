"""Attention in the forms that people write: heads by pointer arithmetic, masks, block pointers, descriptors made for each head."""

import numpy as np
import triton
import triton.language as tl
from cases import Output
from checks import check, normal, poisoned, wide

import tandem.dist as dl


@triton.jit
def forms(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    stride_z,
    stride_h,
    stride_n,
    stride_d,
    H,
    N,
    scale,
    BM: tl.constexpr,
    BN: tl.constexpr,
    D: tl.constexpr,
    FORM: tl.constexpr,
    CAUSAL: tl.constexpr,
):
    row = tl.program_id(0) * BM
    z, h = tl.program_id(1) // H, tl.program_id(1) % H
    base = z.to(tl.int64) * stride_z + h.to(tl.int64) * stride_h
    m, n, d = row + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    k_at = k_ptr + base + n[None, :] * stride_n + d[:, None] * stride_d
    v_at = v_ptr + base + n[:, None] * stride_n + d[None, :] * stride_d
    if FORM == "descriptors":
        q_block = tl.make_tensor_descriptor(q_ptr + base, [N, D], [stride_n, 1], [BM, D])
        k_block = tl.make_tensor_descriptor(k_ptr + base, [N, D], [stride_n, 1], [BN, D])
        v_block = tl.make_tensor_descriptor(v_ptr + base, [N, D], [stride_n, 1], [BN, D])
    else:
        q_block = tl.make_block_ptr(q_ptr + base, (N, D), (stride_n, stride_d), (row, 0), (BM, D), (1, 0))
        k_block = tl.make_block_ptr(k_ptr + base, (D, N), (stride_d, stride_n), (0, 0), (D, BN), (0, 1))
        v_block = tl.make_block_ptr(v_ptr + base, (N, D), (stride_n, stride_d), (0, 0), (BN, D), (1, 0))
    if FORM == "pointers":
        q = tl.load(q_ptr + base + m[:, None] * stride_n + d[None, :] * stride_d)
    elif FORM == "masks":
        q = tl.load(q_ptr + base + m[:, None] * stride_n + d[None, :] * stride_d, mask=m[:, None] < N, other=0.0)
    elif FORM == "block pointers":
        q = tl.load(q_block)
    elif FORM == "checked block pointers":
        q = tl.load(q_block, boundary_check=(0, 1), padding_option="zero")
    else:
        q = q_block.load([row, 0])
    acc = tl.zeros([BM, D], tl.float32)
    top = tl.zeros([BM], tl.float32) - float("inf")
    total = tl.zeros([BM], tl.float32) + 1.0
    last = tl.minimum(N, row + BM) if CAUSAL else N
    for start in range(0, last, BN):
        if FORM == "pointers":
            k = tl.load(k_at)
            v = tl.load(v_at)
        elif FORM == "masks":
            k = tl.load(k_at, mask=(start + n)[None, :] < N, other=0.0)
            v = tl.load(v_at, mask=(start + n)[:, None] < N, other=0.0)
        elif FORM == "block pointers":
            k = tl.load(k_block)
            v = tl.load(v_block)
        elif FORM == "checked block pointers":
            k = tl.load(k_block, boundary_check=(0, 1), padding_option="zero")
            v = tl.load(v_block, boundary_check=(0, 1), padding_option="zero")
        else:
            k = k_block.load([start, 0]).T
            v = v_block.load([start, 0])
        inside = (start + n)[None, :] < N
        if CAUSAL:
            inside = inside & (m[:, None] >= (start + n)[None, :])
        s = tl.where(inside, tl.dot(q, k) * scale, -1.0e6)
        higher = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - higher[:, None])
        alpha = tl.exp2(top - higher)
        acc = tl.dot(p.to(q.dtype), v, acc * alpha[:, None])
        total = total * alpha + tl.sum(p, 1)
        top = higher
        k_at += BN * stride_n
        v_at += BN * stride_n
        if FORM == "block pointers" or FORM == "checked block pointers":
            k_block = tl.advance(k_block, (0, BN))
            v_block = tl.advance(v_block, (BN, 0))
    out_at = out_ptr + base + m[:, None] * stride_n + d[None, :] * stride_d
    tl.store(out_at, (acc / total[:, None]).to(q.dtype), mask=m[:, None] < N)


@triton.jit
def two_loops(q_ptr, k_ptr, v_ptr, out_ptr, stride_h, stride_n, stride_d, N, scale, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    """The blocks before the diagonal, then those that it crosses; pointers go on from one loop to the next."""
    first = tl.program_id(0) * BM
    base = tl.program_id(1) * stride_h
    m, n, d = first + tl.arange(0, BM), tl.arange(0, BN), tl.arange(0, D)
    q = tl.load(q_ptr + base + m[:, None] * stride_n + d[None, :] * stride_d)
    k_at = k_ptr + base + n[None, :] * stride_n + d[:, None] * stride_d
    v_at = v_ptr + base + n[:, None] * stride_n + d[None, :] * stride_d
    acc = tl.zeros([BM, D], tl.float32)
    top = tl.zeros([BM], tl.float32) - float("inf")
    total = tl.zeros([BM], tl.float32)
    for crosses in tl.static_range(2):
        for start in range(first if crosses else 0, first + BM if crosses else first, BN):
            s = tl.dot(q, tl.load(k_at)) * scale
            if crosses:
                s = tl.where(m[:, None] >= (start + n)[None, :], s, -1.0e6)
            higher = tl.maximum(top, tl.max(s, 1))
            p = tl.exp2(s - higher[:, None])
            alpha = tl.exp2(top - higher)
            acc = tl.dot(p.to(q.dtype), tl.load(v_at), acc * alpha[:, None])
            total = total * alpha + tl.sum(p, 1)
            top = higher
            k_at += BN * stride_n
            v_at += BN * stride_n
    tl.store(out_ptr + base + m[:, None] * stride_n + d[None, :] * stride_d, (acc / total[:, None]).to(q.dtype))


def expected(causal, axes):
    """Of tensors that `axes` brings to [..., N, D]."""

    def reference(q, k, v, *numbers):
        q, k, v = (wide(t).transpose(axes) for t in (q, k, v))
        s = q @ k.swapaxes(-1, -2) * numbers[-1]
        if causal:
            s = np.where(np.tri(s.shape[-1], dtype=bool), s, -np.inf)
        p = np.exp2(s - s.max(-1, keepdims=True))
        return (p / p.sum(-1, keepdims=True) @ v).transpose(np.argsort(axes))

    return reference


BY_HEAD, BY_ROW = (0, 1, 2, 3), (0, 2, 1, 3)

for _form in ("pointers", "masks", "block pointers", "checked block pointers", "descriptors"):
    for _n in (256, 300):
        if _n % 128 and _form in ("pointers", "block pointers"):
            continue
        for _D, _bm, _bn, _warps in ((64, 64, 128, 4), (64, 128, 64, 8), (64, 256, 64, 16), (128, 128, 64, 8), (64, 16, 32, 1)):
            for _axes in (BY_HEAD, BY_ROW):
                for _causal in (False, True):
                    _shape = (2, 2, _n, _D) if _axes == BY_HEAD else (2, _n, 2, _D)
                    _strides = (2 * _n * _D, *((_n * _D, _D) if _axes == BY_HEAD else (_D, 2 * _D)), 1)
                    make = lambda rng, shape=_shape, strides=_strides, n=_n, D=_D: [
                        *(normal(rng, shape, "fp16") for _ in range(3)),
                        poisoned(shape, "fp16"),
                        *(*strides, 2, n, 1.44 * D**-0.5),
                    ]
                    check(
                        forms,
                        make,
                        expected(_causal, _axes),
                        f"{_form.replace(' ', '_')}.{_n}x{_D}.{_bm}x{_bn}{'.rows' * (_axes == BY_ROW)}{'.causal' * _causal}",
                        (-(-_n // _bm), 4),
                        2e-3,
                        2e-3,
                        BM=_bm,
                        BN=_bn,
                        D=_D,
                        FORM=_form,
                        CAUSAL=_causal,
                        num_warps=_warps,
                    )

for _strides in ((256 * 64, 64, 1), (256 * 72 + 8, 72, 1), (256 * 66, 66, 1), (64 * 258, 1, 258)):
    for _warps, _bm in ((4, 64), (8, 128), (16, 256)):
        _size = 2 * max(_strides) + 256 * max(_strides[1:])

        def make(rng, strides=_strides, size=_size):
            return [*(normal(rng, size, "fp16") for _ in range(3)), poisoned(size, "fp16"), *strides, 256, 1.44 * 64**-0.5]

        def reference(q, k, v, out, *numbers, strides=_strides):
            view = lambda t: np.lib.stride_tricks.as_strided(t, (2, 256, 64), [s * t.itemsize for s in strides])
            whole = wide(out)
            view(whole)[:] = expected(True, (0, 1, 2))(*(view(wide(t)) for t in (q, k, v)), *numbers)
            return whole

        check(
            two_loops,
            make,
            reference,
            f"{'.'.join(map(str, _strides))}.w{_warps}",
            (256 // _bm, 2),
            2e-3,
            2e-3,
            BM=_bm,
            BN=64,
            D=64,
            num_warps=_warps,
        )


@triton.jit
def in_turn(q_ptr, k_ptr, sums_ptr, out_ptr, turns, N, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """As gradients do: a block of keys goes along the queries, and adds to a sum of each of their blocks when it has its turn."""
    q = tl.make_tensor_descriptor(q_ptr, shape=[N, D], strides=[D, 1], block_shape=[BM, D])
    k = tl.make_tensor_descriptor(k_ptr, shape=[N, D], strides=[D, 1], block_shape=[BN, D])
    sums = tl.make_tensor_descriptor(sums_ptr, shape=[N, D], strides=[D, 1], block_shape=[BM, D])
    own, n, d = tl.program_id(0), tl.arange(0, BN), tl.arange(0, D)
    keys = k.load([own * BN, 0])
    acc = tl.zeros((BN, D), dtype=tl.float32)
    for start in range(0, N, BM):
        x = q.load([start, 0])
        p = tl.exp2(tl.dot(keys, x.T)).to(q_ptr.dtype.element_ty)
        of_x = tl.dot(p.T, keys)
        acc = tl.dot(p, x, acc)
        place = turns + start // BM
        row = dl.consume_token(start, dl.wait(place, 1, "gpu", "acquire", waitValue=own, compare="ge"))
        sums.atomic_add([row, 0], of_x)
        tl.atomic_xchg(place, own + 1, sem="release", scope="gpu")
    tl.store(out_ptr + (own * BN + n)[:, None] * D + d[None, :], acc)


for _n, _d, _bm, _bn, _warps in ((512, 64, 64, 64, 4), (1024, 128, 64, 128, 8), (4096, 64, 128, 128, 8)):

    def make(rng, n=_n, d=_d, bm=_bm):
        q, k = ((normal(rng, (n, d)) * d**-0.5).astype(np.float16) for _ in range(2))
        return [q, k, Output(np.zeros((n, d), np.float32)), poisoned((n, d)), Output(np.zeros(n // bm, np.int32)), n]

    def reference(q, k, sums, out, turns, n, bn=_bn):
        q, k = wide(q), wide(k)
        p = np.exp2(k @ q.T)
        return p.T @ k, p @ q, np.full_like(turns, n // bn)

    _constants = {"D": _d, "BM": _bm, "BN": _bn, "num_warps": _warps, "num_stages": 2}
    check(in_turn, make, reference, f"{_n}x{_d}.{_bm}x{_bn}", (_n // _bn,), 2e-3, 2e-3, **_constants)
