"""Liger-Kernel: losses, norms, activations, rotary embeddings, forward and backward."""

import importlib

import torch
import torch.nn.functional as F
from case import case


def op(module, name):
    return getattr(importlib.import_module(f"liger_kernel.ops.{module}"), name)


def rows(make, hidden=4096, grad=True, scale=1.0):
    return make(make.pick(256, 8192), hidden, grad=grad, scale=scale)


def rms(x, w, eps=1e-6):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * w


@case("liger", "rms_norm", inputs=lambda m: (rows(m), m(4096, grad=True)), reference=rms, grad=True)
def rms_norm(x, w):
    return op("rms_norm", "LigerRMSNormFunction").apply(x, w, 1e-6, 0.0, "llama", False)


@case(
    "liger",
    "fused_add_rms_norm",
    inputs=lambda m: (rows(m), rows(m), m(4096, grad=True)),
    reference=lambda x, r, w: (rms(x + r, w), x + r),
    grad=True,
)
def fused_add_rms_norm(x, r, w):
    return op("fused_add_rms_norm", "LigerFusedAddRMSNormFunction").apply(x, r, w, 1e-6)


@case(
    "liger",
    "layer_norm",
    inputs=lambda m: (rows(m), m(4096, grad=True), m(4096, grad=True)),
    reference=lambda x, w, b: F.layer_norm(x, (4096,), w, b, 1e-6),
    grad=True,
)
def layer_norm(x, w, b):
    return op("layer_norm", "LigerLayerNormFunction").apply(x, w, b, 1e-6)


@case(
    "liger",
    "group_norm",
    inputs=lambda m: (
        m(m.pick(2, 32), 256, 4096, dtype=torch.float32, grad=True),
        m(256, dtype=torch.float32, grad=True),
        m(256, dtype=torch.float32, grad=True),
    ),
    reference=lambda x, w, b: F.group_norm(x, 32, w, b, 1e-6),
    grad=True,
    tolerance=1e-4,
)
def group_norm(x, w, b):
    return op("group_norm", "LigerGroupNormFunction").apply(x, w, b, 256, 32, 1e-6)


@case("liger", "softmax", inputs=lambda m: (rows(m),), reference=lambda x: x.softmax(-1), grad=True)
def softmax(x):
    return op("softmax", "LigerSoftmaxFunction").apply(x)


def sparsemax_reference(x):
    ordered = x.sort(-1, descending=True).values
    sums = ordered.cumsum(-1) - 1
    counts = torch.arange(1, x.shape[-1] + 1, device=x.device)
    k = (ordered * counts > sums).sum(-1, keepdim=True)
    return (x - sums.gather(-1, k - 1) / k).clamp(min=0)


@case(
    "liger",
    "sparsemax",
    inputs=lambda m: (m(m.pick(64, 4096), 2048, dtype=torch.float32, grad=True),),
    reference=sparsemax_reference,
    grad=True,
    tolerance=1e-4,
)
def sparsemax(x):
    return op("sparsemax", "LigerSparsemaxFunction").apply(x, -1)


@case("liger", "swiglu", inputs=lambda m: (rows(m, 11008), rows(m, 11008)), reference=lambda a, b: F.silu(a) * b, grad=True)
def swiglu(a, b):
    return op("swiglu", "LigerSiLUMulFunction").apply(a, b)


@case(
    "liger", "geglu", inputs=lambda m: (rows(m, 11008), rows(m, 11008)), reference=lambda a, b: F.gelu(a, approximate="tanh") * b, grad=True
)
def geglu(a, b):
    return op("geglu", "LigerGELUMulFunction").apply(a, b)


def rotate(x, cos, sin):
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


def rope_inputs(m):
    length = m.pick(128, 4096)
    angle = torch.arange(length, device="cuda")[:, None] / 10000 ** (torch.arange(0, 64, device="cuda") / 64)
    angle = torch.cat((angle, angle), -1)[None]
    return m(2, 32, length, 128), m(2, 8, length, 128), angle.cos().bfloat16(), angle.sin().bfloat16()


@case(
    "liger",
    "rope",
    inputs=rope_inputs,
    reference=lambda q, k, cos, sin: (rotate(q, cos[:, None], sin[:, None]), rotate(k, cos[:, None], sin[:, None])),
)
def rope(q, k, cos, sin):
    return op("rope", "LigerRopeFunction").apply(q.clone(), k.clone(), cos, sin)


@case(
    "liger",
    "cross_entropy",
    inputs=lambda m: (rows(m, 32000), m.integers(m.pick(256, 8192), below=32000)),
    reference=F.cross_entropy,
    grad=True,
)
def cross_entropy(x, target):
    return op("cross_entropy", "LigerCrossEntropyFunction").apply(x.clone(), target, None, -100, 0.0, 0.0, "mean", None, False)[0]


@case(
    "liger",
    "fused_linear_cross_entropy",
    inputs=lambda m: (
        m(m.pick(256, 4096), 2048, grad=True, scale=0.1),
        m(32000, 2048, grad=True, scale=0.1),
        m.integers(m.pick(256, 4096), below=32000),
    ),
    reference=lambda x, w, target: F.cross_entropy(x @ w.t(), target),
    grad=True,
)
def fused_linear_cross_entropy(x, w, target):
    return op("fused_linear_cross_entropy", "LigerFusedLinearCrossEntropyFunction").apply(x, w, target)[0]


@case(
    "liger",
    "kl_div",
    inputs=lambda m: (rows(m, 32000).float().log_softmax(-1).detach().requires_grad_(), rows(m, 32000, grad=False).float().softmax(-1)),
    reference=lambda p, q: F.kl_div(p, q, reduction="batchmean"),
    grad=True,
    tolerance=1e-3,
)
def kl_div(p, q):
    return op("kl_div", "LigerKLDivLossFunction").apply(p, q, "batchmean", False, 1e-10)


@case(
    "liger",
    "jsd",
    inputs=lambda m: (
        m(m.pick(128, 2048), 32000).float().log_softmax(-1).detach().requires_grad_(),
        m(m.pick(128, 2048), 32000).float().log_softmax(-1),
    ),
    reference=lambda p, q: jsd_reference(p, q),
    grad=True,
    tolerance=1e-3,
)
def jsd(p, q):
    return op("jsd", "LigerJSDFunction").apply(p, q, None, 0.5, -100)


def jsd_reference(p, q):
    middle = ((p.exp() + q.exp()) / 2).log()
    divergence = lambda a: (a.exp() * (a - middle)).sum(-1).mean()
    return (divergence(p) + divergence(q)) / 2


@case(
    "liger",
    "tvd",
    inputs=lambda m: (
        m(m.pick(128, 2048), 32000).float().softmax(-1).detach().requires_grad_(),
        m(m.pick(128, 2048), 32000).float().softmax(-1),
    ),
    reference=lambda p, q: (0.5 * (p - q).abs()).sum(-1).mean(),
    grad=True,
    tolerance=1e-3,
)
def tvd(p, q):
    return op("tvd", "LigerTVDLossFunction").apply(p, q, None, "batchmean", -100)


@case(
    "liger",
    "dyt",
    inputs=lambda m: (rows(m), m(1, dtype=torch.float32, grad=True), m(4096, grad=True), m(4096, grad=True)),
    reference=lambda x, alpha, gamma, beta: gamma * torch.tanh(alpha * x) + beta,
    grad=True,
)
def dyt(x, alpha, gamma, beta):
    return op("dyt", "LigerDyTFunction").apply(x, alpha, gamma, beta)


@case(
    "liger",
    "embedding",
    grad=True,
    tolerance=1e-4,
    inputs=lambda m: (m(32000, 2048, dtype=torch.float32, grad=True), m.integers(4, m.pick(128, 4096), below=32000)),
    reference=lambda w, at: F.embedding(at, w),
)
def embedding(w, at):
    return op("experimental.embedding", "LigerEmbeddingFunction").apply(w, at)


@case(
    "liger",
    "poly_norm",
    inputs=lambda m: (rows(m), m(3, grad=True), m(grad=True)),
    reference=lambda x, w, b: sum(w[i] * rms(x ** (3 - i), 1.0) for i in range(3)) + b,
    grad=True,
    tolerance=4e-2,
)
def poly_norm(x, w, b):
    return op("poly_norm", "LigerPolyNormFunction").apply(x, w, b, 1e-6, False)


@case("liger", "relu_squared", inputs=lambda m: (rows(m),), reference=lambda x: F.relu(x) ** 2, grad=True)
def relu_squared(x):
    return op("relu_squared", "LigerReLUSquaredFunction").apply(x)
