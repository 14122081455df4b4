"""conch's, bitsandbytes' and torchao's kernels for quantised numbers."""

import importlib

import torch
from case import case


def op(module, name):
    return getattr(importlib.import_module(module), name)


@case(
    "conch",
    "static_scaled_int8_quant",
    inputs=lambda m: (m(m.pick(64, 8192), 4096), torch.full((1,), 0.05, device="cuda")),
    reference=lambda x, scale: (x / scale).round().clamp(-128, 127),
    tolerance=2e-2,
)
def static_scaled_int8_quant(x, scale):
    return op("conch.ops.quantization.int8", "scaled_int8_quant")(x, scale)[0]


@case(
    "conch",
    "static_scaled_fp8_quant",
    inputs=lambda m: (m(m.pick(64, 8192), 4096), torch.full((1,), 0.05, device="cuda")),
    reference=lambda x, scale: x / scale,
    tolerance=7e-2,
)
def static_scaled_fp8_quant(x, scale):
    return op("conch.ops.quantization.fp8", "scaled_fp8_quant")(x, scale)[0]


@case(
    "conch",
    "scaled_gemm",
    inputs=lambda m: (
        m.integers(m.pick(128, 4096), 4096, below=255).sub(127).to(torch.int8),
        m.integers(4096, 4096, below=255).sub(127).to(torch.int8),
        m.uniform(m.pick(128, 4096), 1, low=0.5, dtype=torch.float32),
        m.uniform(4096, 1, low=0.5, dtype=torch.float32),
    ),
    reference=lambda a, b, x, y: (a.double() @ b.double()) * x * y.t(),
)
def scaled_gemm(a, b, x, y):
    return op("conch.ops.quantization.gemm", "scaled_gemm")(a, b, x, y, torch.bfloat16)


def packed_inputs(m):
    k, n = 4096, 4096
    codes = m.integers(k, n, below=16)
    words = sum(codes[i::8].to(torch.int64) << (4 * i) for i in range(8))
    return (
        m(m.pick(64, 2048), k, dtype=torch.float16),
        (words - ((words >> 31) << 32)).to(torch.int32),
        m.uniform(k // 128, n, low=0.01, high=0.02, dtype=torch.float16),
    )


def packed_reference(x, words, scales):
    codes = torch.stack([(words >> (4 * i)) & 15 for i in range(8)], 1).flatten(0, 1).double()
    return x @ ((codes - 8) * scales.repeat_interleave(128, 0))


@case("conch", "mixed_precision_gemm", inputs=packed_inputs, reference=packed_reference)
def mixed_precision_gemm(x, words, scales):
    return op("conch.ops.quantization.gemm", "mixed_precision_gemm")(x, words, scales, None, 4, 8, 128)


def blocks(make):
    return (make(make.pick(1 << 16, 1 << 26), dtype=torch.float32),)


CODE = torch.linspace(-1, 1, 256)


def dequantised(x):
    scale = x.view(-1, 256).abs().amax(-1, keepdim=True)
    code = CODE.to(x)
    at = torch.bucketize(x.view(-1, 256) / scale, (code[1:] + code[:-1]) / 2)
    return (code[at] * scale).flatten()


@case("bitsandbytes", "blockwise_8bit", inputs=blocks, reference=dequantised)
def blockwise_8bit(x):
    kernels = importlib.import_module("bitsandbytes.backends.triton.kernels_8bit_quant")
    code = CODE.cuda()
    codes, scales = kernels.quantize_blockwise_triton(x, code, 256)
    return kernels.dequant_8bit_blockwise(codes, scales, code, 256, dtype=torch.float32)


@case(
    "torchao",
    "fp8_blockwise_gemm",
    inputs=lambda m: (m(m.pick(128, 4096), 4096), m(4096, 4096)),
    reference=lambda a, b: a @ b.t(),
    tolerance=8e-2,
)
def fp8_blockwise_gemm(a, b):
    module = importlib.import_module("torchao.kernel.blockwise_quantization")
    a, scale_a = module.fp8_blockwise_act_quant(a, 128)
    b, scale_b = module.fp8_blockwise_weight_quant(b, 128)
    return module.blockwise_fp8_gemm(a, scale_a, b, scale_b, 128)


@case("torchao", "fp8_blockwise_weight_dequant", inputs=lambda m: (m(m.pick(256, 8192), 4096),), reference=lambda x: x, tolerance=8e-2)
def fp8_blockwise_weight_dequant(x):
    module = importlib.import_module("torchao.kernel.blockwise_quantization")
    return module.fp8_blockwise_weight_dequant(*module.fp8_blockwise_weight_quant(x, 128), 128)
