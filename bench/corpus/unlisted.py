"""Kernels of libraries that are on no list, for machine.py: launches, without references."""

import functools
import importlib

import torch
import torch.nn.functional as F
from case import case


def of(module, name):
    return getattr(importlib.import_module(module), name)


unlisted = functools.partial(case, reference=None)


def heads(make, count=3, size=128, length=256, number=2, dtype=torch.bfloat16, grad=True):
    """Queries, keys, values and so on: batch, positions, heads, channels."""
    return [make(1, length, number, size, dtype=dtype, grad=grad) for _ in range(count)]


def by_head(make, count=3, size=128, length=256, number=2, dtype=torch.bfloat16, grad=True):
    return [make(1, number, length, size, dtype=dtype, grad=grad) for _ in range(count)]


def decay(make, *shape):
    return F.logsigmoid(make(*shape, dtype=torch.float32) + 4).detach().requires_grad_()


def share(make, *shape):
    return make.uniform(*shape, low=0.1, high=0.9, grad=True)


def fla(operation, function, size=128, length=256, extra=lambda make, size, length: {}, count=3, **fixed):
    """A case of flash-linear-attention: queries, keys, values, what else the function takes, and settings."""

    def inputs(make):
        more = extra(make, size, length)
        return (tuple(more), *heads(make, count, size, length), *more.values())

    def call(names, *tensors):
        return of(f"fla.ops.{operation}", function)(*tensors[:count], **dict(zip(names, tensors[count:])), **fixed)

    unlisted("fla", f"{function} {size}", inputs=inputs, grad=True)(call)


def channel_decay(make, size, length):
    return {"g": decay(make, 1, length, 2, size)}


def head_decay(make, size, length):
    return {"g": decay(make, 1, length, 2)}


def delta(make, size, length):
    return {"g": decay(make, 1, length, 2), "beta": share(make, 1, length, 2)}


def rwkv6(make, size, length):
    return {"w": decay(make, 1, length, 2, size), "u": make(2, size, grad=True)}


def low_rank(make, size, length):
    return {name: make(1, length, 2, size, grad=True) for name in "ab"}


def ttt(make, size, length):
    w, b = (make(2, size, grad=True) for _ in range(2))
    return {"w": w, "b": b, "eta": make(1, length, 2, 1, grad=True), "initial_state": None}


for size in (64, 128):
    fla("rwkv6", "chunk_rwkv6", size, extra=rwkv6)
    fla("gsa", "chunk_gsa", size, extra=lambda m, size, length: {"s": m(1, length, 2, 64, grad=True), "g": decay(m, 1, length, 2, 64)})
    fla("abc", "chunk_abc", size, extra=lambda m, size, length: {"s": m(1, length, 2, 64, grad=True)})
    fla("simple_gla", "parallel_simple_gla", size, extra=head_decay)
    fla("simple_gla", "fused_chunk_simple_gla", size, extra=head_decay)
    fla("retention", "parallel_retention", size)
    fla("linear_attn", "fused_chunk_linear_attn", size)
    fla("path_attn", "parallel_path_attn", size, count=4, extra=lambda m, size, length: {"beta": share(m, 1, length, 2)})
    fla("comba", "chunk_comba", size, count=4, extra=delta)
    fla("mesa_net", "chunk_mesa_net", size, extra=lambda m, size, length: {**delta(m, size, length), "lamb": share(m, 2, size)})
    fla("kda", "chunk_kda", size, extra=lambda m, size, length: {**channel_decay(m, size, length), "beta": share(m, 1, length, 2)})
    fla(
        "generalized_delta_rule",
        "chunk_dplr_delta_rule",
        size,
        extra=lambda m, size, length: {**low_rank(m, size, length), "gk": decay(m, 1, length, 2, size)},
    )
    fla("generalized_delta_rule", "chunk_iplr_delta_rule", size, extra=low_rank)
    fla("deltaformer", "deltaformer_attn", size, extra=lambda m, size, length: {"beta": share(m, 1, length, 2)})
    fla("stickbreaking_attn", "parallel_stickbreaking_attn", size)
    fla("wall_attn", "parallel_wall_attn", size, extra=channel_decay)
    fla("parallax", "parallel_parallax", size, count=4)
    fla(
        "gated_oja_rule",
        "chunk_gated_oja_rule",
        size,
        extra=lambda m, size, length: {"gv": decay(m, 1, length, 2, size), "beta": share(m, 1, length, 2)},
    )
fla("based", "parallel_based", 16)
fla("based", "fused_chunk_based", 16)
fla("rebased", "parallel_rebased", 16)
fla("ttt", "chunk_ttt_linear", 64, extra=ttt)
fla("ttt", "fused_chunk_ttt_linear", 64, extra=ttt)
fla(
    "log_linear_attn",
    "chunk_log_linear_attn",
    64,
    extra=lambda m, size, length: {**head_decay(m, size, length), "level_scales": share(m, 1, length, 2, 9)},
)


@unlisted("fla", "chunk_rwkv7", inputs=lambda m: (decay(m, 1, 256, 2, 64), *heads(m, 5, 64)), grad=True)
def rwkv7(w, r, k, v, a, b):
    return of("fla.ops.rwkv7", "chunk_rwkv7")(r, w, k, v, a, b)


@unlisted("fla", "parallel_nsa", inputs=lambda m: (m(1, 256, 16, 64, grad=True), *heads(m, 2, 64, number=1), m(1, 256, 16, 3)), grad=True)
def nsa(q, k, v, gates):
    chosen = torch.zeros(1, 256, 1, 4, dtype=torch.long, device="cuda")
    return of("fla.ops.nsa", "parallel_nsa")(q, k, v, *gates.unbind(-1), block_indices=chosen, block_counts=4, block_size=64)


@unlisted("lightning-attn", "attention", inputs=lambda m: (*by_head(m), m.uniform(2, dtype=torch.float32)), grad=True)
def lightning(q, k, v, s):
    return of("lightning_attn.ops.triton.lightning_attn2", "lightning_attn2")(q, k, v, s)


@unlisted("lightning-attn", "attention without decay", inputs=by_head, grad=True)
def lightning_plain(q, k, v):
    return of("lightning_attn.ops.triton.lightning_attn2_no_decay", "lightning_attn2_no_decay")(q, k, v)


for module, name in (
    ("chunkwise.triton_limit_chunk", "mlstm_chunkwise__limit_chunk"),
    ("chunkwise.triton_xl_chunk", "mlstm_chunkwise__xl_chunk"),
    ("chunkwise.triton_xl_chunk_siging", "mlstm_siging_chunkwise__xl_chunk"),
    ("parallel.triton_limit_headdim", "mlstm_parallel__limit_headdim"),
):

    @unlisted("mlstm", name, inputs=lambda m: (*by_head(m), *(m(1, 2, 256, dtype=torch.float32, grad=True) for _ in range(2))), grad=True)
    def mlstm(q, k, v, i, f, module=module, name=name):
        return of(f"mlstm_kernels.torch.{module}", name)(q, k, v, i, f)


for size in (64, 96, 128):
    for causal in (False, True):

        @unlisted(
            "sageattention",
            f"{size}{' causal' * causal}",
            inputs=lambda m, size=size: by_head(m, size=size, dtype=torch.float16, grad=False),
        )
        def sage(q, k, v, causal=causal):
            return of("sageattention", "sageattn")(q, k, v, is_causal=causal)


@unlisted("accelerated-scan", "scan", inputs=lambda m: [m(2, 64, 512, dtype=torch.float32, grad=True) for _ in range(2)], grad=True)
def scan(gates, tokens):
    return of("accelerated_scan.scalar", "scan")(gates, tokens)
