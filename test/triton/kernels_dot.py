"""Matrix products: every operand type, accumulators, batches, scaled operands."""

import triton
import triton.language as tl
from cases import bell, case, integers, out


@triton.jit
def product(a, b, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot(x, y, input_precision="ieee"))


@triton.jit
def tf32_product(a, b, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, PRECISION: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot(x, y, input_precision=PRECISION))


@triton.jit
def accumulated(a, b, c, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, STEP: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, STEP)
    acc = tl.load(c + m[:, None] * N + n[None, :])
    for start in range(0, K, STEP):
        x = tl.load(a + m[:, None] * K + start + k[None, :])
        y = tl.load(b + (start + k[:, None]) * N + n[None, :])
        acc = tl.dot(x, y, acc)
        acc += tl.dot(x, y)
    tl.store(o + m[:, None] * N + n[None, :], acc)


@triton.jit
def half_result(a, b, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    r = tl.dot(x, y, out_dtype=tl.float16)
    tl.static_assert(r.dtype == tl.float16)
    tl.store(o + m[:, None] * N + n[None, :], r)


@triton.jit
def batched(a, b, o, B: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    z = tl.arange(0, B)[:, None, None]
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + z * M * K + m[None, :, None] * K + k[None, None, :])
    y = tl.load(b + z * K * N + k[None, :, None] * N + n[None, None, :])
    tl.store(o + z * M * N + m[None, :, None] * N + n[None, None, :], tl.dot(x, y, input_precision="ieee"))


@triton.jit
def transposed_operand(a, b, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + n[:, None] * K + k[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot(x, y.T))


@triton.jit
def scaled(a, sa, b, sb, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, FA: tl.constexpr, FB: tl.constexpr):
    KA: tl.constexpr = K // 2 if FA == "e2m1" else K
    KB: tl.constexpr = K // 2 if FB == "e2m1" else K
    m, n, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K // 32)
    x = tl.load(a + m[:, None] * KA + tl.arange(0, KA)[None, :])
    y = tl.load(b + tl.arange(0, KB)[:, None] * N + n[None, :])
    scale_x = tl.load(sa + m[:, None] * (K // 32) + s[None, :])
    scale_y = tl.load(sb + n[:, None] * (K // 32) + s[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot_scaled(x, scale_x, FA, y, scale_y, FB))


@triton.jit
def scaled_one_side(a, sa, b, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    m, n, k, s = tl.arange(0, M), tl.arange(0, N), tl.arange(0, K), tl.arange(0, K // 32)
    x = tl.load(a + m[:, None] * K + k[None, :])
    y = tl.load(b + k[:, None] * N + n[None, :])
    scale = tl.load(sa + m[:, None] * (K // 32) + s[None, :])
    tl.store(o + m[:, None] * N + n[None, :], tl.dot_scaled(x, scale, "e4m3", y, None, "bf16"))


S = {"M": 16, "N": 32, "K": 32}
for t in ["fp16", "bf16", "fp32", "fp8e4nv", "fp8e5"]:
    case(product, bell((16, 32), t, 1), bell((32, 32), t, 2), out((16, 32)), **S, tag=t, rtol=2e-5, atol=2e-5)
    case(
        product,
        bell((64, 64), t, 1),
        bell((64, 64), t, 2),
        out((64, 64)),
        M=64,
        N=64,
        K=64,
        tag=f"{t}.64",
        rtol=3e-3 if "fp8" in t else 2e-5,
        atol=6e-3 if "fp8" in t else 2e-5,
    )
case(product, integers((16, 32), -128, 128, "int8", 1), integers((32, 32), -128, 128, "int8", 2), out((16, 32), "int32"), **S, tag="int8")
case(product, bell((16, 32), "fp64", 1), bell((32, 32), "fp64", 2), out((16, 32), "fp64"), **S, tag="fp64", rtol=1e-12, atol=1e-12)
for precision in ["tf32", "tf32x3"]:
    case(
        tf32_product,
        bell((16, 32), seed=1),
        bell((32, 32), seed=2),
        out((16, 32)),
        **S,
        PRECISION=precision,
        tag=precision,
        rtol=1e-3,
        atol=2e-2,
    )
case(
    accumulated,
    bell((16, 64), "fp16", 3),
    bell((64, 32), "fp16", 4),
    bell((16, 32), seed=5),
    out((16, 32)),
    M=16,
    N=32,
    K=64,
    STEP=16,
    rtol=2e-5,
    atol=2e-5,
)
case(half_result, bell((16, 32), "fp16", 6), bell((32, 32), "fp16", 7), out((16, 32), "fp16"), **S, rtol=4e-3, atol=1e-2)
for t in ["fp16", "fp32"]:
    case(batched, bell((4, 16, 16), t, 8), bell((4, 16, 16), t, 9), out((4, 16, 16)), B=4, M=16, N=16, K=16, tag=t, rtol=2e-5, atol=2e-5)
case(transposed_operand, bell((16, 32), "bf16", 10), bell((32, 32), "bf16", 11), out((16, 32)), **S, rtol=2e-5, atol=2e-5)
scales = [integers((n, 2), 120, 132, "uint8", 12 + n) for n in (32, 64)]
D = {"M": 32, "N": 64, "K": 64}
case(
    scaled,
    bell((32, 64), "fp8e4nv", 13),
    scales[0],
    bell((64, 64), "fp8e4nv", 14),
    scales[1],
    out((32, 64)),
    **D,
    FA="e4m3",
    FB="e4m3",
    tag="e4m3",
    rtol=1e-3,
    atol=1e-1,
)
case(
    scaled,
    bell((32, 64), "fp8e5", 13),
    scales[0],
    bell((64, 64), "fp8e4nv", 14),
    scales[1],
    out((32, 64)),
    **D,
    FA="e5m2",
    FB="e4m3",
    tag="e5m2",
    rtol=1e-3,
    atol=1e-1,
)
case(
    scaled,
    integers((32, 32), 0, 256, "uint8", 13),
    scales[0],
    integers((32, 64), 0, 256, "uint8", 14),
    scales[1],
    out((32, 64)),
    **D,
    FA="e2m1",
    FB="e2m1",
    tag="e2m1",
    rtol=1e-3,
    atol=1e-1,
)
case(scaled_one_side, bell((32, 64), "fp8e4nv", 15), scales[0], bell((64, 64), "bf16", 16), out((32, 64)), **D, rtol=1e-3, atol=1e-1)
