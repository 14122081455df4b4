"""Sparse attention (adasplash, native-sparse-attention) and gathered rows (xformers)."""

import importlib

import torch
from case import case


def attention_inputs(make):
    shape = (make.pick(1, 4), make.pick(2, 16), make.pick(256, 4096), 64)
    return [make(*shape, grad=True) for _ in range(3)]


def entmax(x, turns=60):
    """alpha = 1.5 by bisection; the gradient goes through the last formula."""
    y = x / 2
    low = (y.amax(-1, keepdim=True) - 1).detach()
    high = (y.amax(-1, keepdim=True) - y.shape[-1] ** -0.5).detach()
    for _ in range(turns):
        middle = (low + high) / 2
        above = (y - middle).clamp(min=0).pow(2).sum(-1, keepdim=True) >= 1
        low, high = torch.where(above, middle, low).detach(), torch.where(above, high, middle).detach()
    root = (y - low).clamp(min=0).detach()
    tau = ((y * root).sum(-1, keepdim=True) / root.sum(-1, keepdim=True)) + (
        low - (y * root).sum(-1, keepdim=True) / root.sum(-1, keepdim=True)
    ).detach()
    return (y - tau).clamp(min=0).pow(2)


def entmax_attention(q, k, v):
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device="cuda").triu(1)
    return entmax(scores.masked_fill(hidden, -1e9)) @ v


@case("adasplash", "attention", inputs=attention_inputs, reference=entmax_attention, grad=True, tolerance=4e-2)
def attention(q, k, v):
    return importlib.import_module("adasplash").adasplash_v1(q, k, v, is_causal=True)


@case("adasplash", "entmax", inputs=lambda m: (m(m.pick(64, 4096), 4096, dtype=torch.float32),), reference=entmax, tolerance=1e-3)
def entmax15(x):
    return importlib.import_module("adasplash").triton_entmax_v1(x)


BLOCK = 64


def native_inputs(m):
    batch, heads, length, size, chosen = m.pick(1, 2), 4, m.pick(256, 4096), 64, 4
    q = m(batch, heads, length, size, dtype=torch.float16, grad=True)
    k, v = (m(batch, heads, length, size, dtype=torch.float16, grad=True) for _ in range(2))
    block = torch.arange(length, device="cuda") // BLOCK
    at = (torch.rand(batch, heads, length, chosen, device="cuda", generator=m.generator) * block[:, None].clamp(min=1)).long()
    first = torch.zeros_like(at)
    first[..., 0] = 1
    at = torch.minimum(at, (block[:, None] - 1).clamp(min=0))
    return q, k, v, at, (first.bool() & (block > 0)[:, None])


def native_reference(q, k, v, at, used):
    length = q.shape[2]
    block = torch.arange(length, device="cuda") // BLOCK
    seen = (block[None, :] == block[:, None]) & torch.ones(length, length, dtype=torch.bool, device="cuda").tril()
    chosen = ((at[..., None] == block) & used[..., None]).any(-2)
    scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    return scores.masked_fill(~(seen | chosen), -torch.inf).softmax(-1) @ v


@case("native-sparse-attention", "attention", inputs=native_inputs, reference=native_reference, grad=True)
def native(q, k, v, at, used):
    return importlib.import_module("native_sparse_attention_pytorch.triton_native_sparse_attention").native_sparse_attend(
        q, k, v, BLOCK, at, used
    )


def rows(make):
    source = make(make.pick(512, 16384), 2048)
    return source, make.permutation(len(source))[: len(source) // 2]


@case("xformers", "index_select", inputs=rows, reference=lambda x, at: x[at], tolerance=0.0)
def index_select(x, at):
    out = torch.empty(len(at), x.shape[1], dtype=x.dtype, device="cuda")
    importlib.import_module("xformers.ops._triton.k_index_select_cat").index_select_cat_fwd(out, x, at)
    return out


@case(
    "xformers",
    "index_select_backward",
    inputs=lambda m: (*rows(m)[1:], m(m.pick(256, 8192), 2048)),
    tolerance=0.0,
    reference=lambda at, dy: dy.new_zeros(2 * len(dy), dy.shape[1]).index_copy(0, at, dy),
)
def index_select_backward(at, dy):
    out = torch.zeros(2 * len(dy), dy.shape[1], dtype=dy.dtype, device="cuda")
    importlib.import_module("xformers.ops._triton.k_index_select_cat").index_select_cat_bwd(out, at, dy)
    return out
