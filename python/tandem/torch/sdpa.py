"""Attention on one rank's GPU: in the place of torch's scaled_dot_product_attention, and of sequences of any lengths; with gradients."""

import math
from typing import Any

import torch
from torch import Tensor

from .functions import FUNCTIONS

_COPIED = 16  # bytes, of which rows that TMA copies are multiples


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, sinks, cu_q, cu_kv, batch, longest, options):
        more = {"cu_q": cu_q, "cu_kv": cu_kv, "sinks": sinks}
        out, lse = FUNCTIONS["attention"](q, k, v, batch, longest, with_lse=True, **more, **dict(options))
        ctx.save_for_backward(q, k, v, sinks, cu_q, cu_kv, out, lse)
        ctx.batch, ctx.longest, ctx.options = batch, longest, options
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, sinks, cu_q, cu_kv, out, lse = ctx.saved_tensors
        of_q, of_k, _, of_sinks = (needed or None for needed in ctx.needs_input_grad[:4])
        wants = {"wants_q": of_q, "wants_k": of_k, "wants_sinks": of_sinks}
        if of_q and of_k and not torch.are_deterministic_algorithms_enabled():
            wants["any_order"] = True
        more = {"cu_q": cu_q, "cu_kv": cu_kv, "sinks": sinks if of_sinks else None}
        backward = FUNCTIONS["attention_backward"]
        found = backward(q, k, v, out, lse, grad.contiguous(), ctx.batch, ctx.longest, **more, **wants, **dict(ctx.options))
        of_v, *others = found if isinstance(found, tuple) else (found,)
        of_sinks, of_q, of_k = (others.pop(0) if wanted else None for wanted in (of_sinks, of_q, of_k))
        return of_q, of_k, of_v, of_sinks, *[None] * 5


def _filled(x):
    """x with zeros behind each head's elements, which change no product, as many as TMA needs."""
    missing = -x.shape[-1] % (_COPIED // x.dtype.itemsize)
    if not missing:
        return x
    if x.dtype.itemsize == 1:  # torch has no padding of fp8, whose zeros are those of bytes
        return torch.nn.functional.pad(x.view(torch.uint8), (0, missing)).view(x.dtype)
    return torch.nn.functional.pad(x, (0, missing))


def _attend(q, k, v, sinks, scales, cu_q, cu_kv, batch, longest, options):
    if options["scale"] == 0:
        raise ValueError("`attention`: `scale` is 0, a number above 0 is needed")
    d, dv = q.shape[-1], v.shape[-1]
    if any(x.shape[-1] * x.dtype.itemsize % _COPIED for x in (q, v)) and k.shape[-1] == d:
        options["scale"] = options["scale"] or d**-0.5
        return _attend(_filled(q), _filled(k), _filled(v), sinks, scales, cu_q, cu_kv, batch, longest, options)[..., :dv]
    options = {name: value for name, value in options.items() if value is not None and value is not False}
    if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (q, k, v, sinks)):
        if scales is not None:
            raise RuntimeError("`attention` has no gradient through fp8")
        return _Attention.apply(q, k, v, sinks, cu_q, cu_kv, batch, longest, tuple(options.items()))
    return FUNCTIONS["attention"](q, k, v, batch, longest, cu_q=cu_q, cu_kv=cu_kv, sinks=sinks, scales=scales, **options)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
    *,
    window: int | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    scales: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """softmax(query key^T * scale) value, as torch.nn.functional.scaled_dot_product_attention: [..., heads, length, d]. Without copies
    where each position's heads stand together in memory, as in `x.view(batch, length, heads, d).transpose(1, 2)`, and a head's elements are
    a multiple of 8 (of fp8 16); other heads are copied with zeros behind them. They have 256 elements at most.

    Query i has its place at key i. `window`: it sees the keys less than this far from there; `softcap`: scores s become
    softcap * tanh(s / softcap); `sinks`[heads], fp32: scores that take their share of the weights; `scales`[3],
    fp32: those of query, key and value of fp8e4nv. The gradient of `query` may have other last bits each time, as torch's, unless
    `torch.use_deterministic_algorithms(True)` is said."""
    if attn_mask is not None or dropout_p:
        raise ValueError(
            f"`attention` has no {'`attn_mask`' if attn_mask is not None else '`dropout_p`'}; there are `is_causal` and `window`"
        )
    for name, x in (("key", key), ("value", value)):
        if x.dim() != query.dim() or x.dim() < 3:
            raise ValueError(
                f"`attention`: `query` has {query.dim()} dimensions, `{name}` {x.dim()}; [..., heads, length, d] is needed of all"
            )
        if x.shape[:-3] != query.shape[:-3]:
            raise ValueError(f"`attention`: `{name}` has a batch of {tuple(x.shape[:-3])}, `query` of {tuple(query.shape[:-3])}")
    before = query.shape[:-3]
    query, key, value = (x.reshape(math.prod(before), *x.shape[-3:]) for x in (query, key, value))
    if query.shape[1] != key.shape[1] and not enable_gqa:
        raise ValueError(f"`attention`: `query` has {query.shape[1]} heads, `key` {key.shape[1]}, which needs `enable_gqa`")
    batch, heads, longest, _ = query.shape
    if not query.numel() or not key.shape[2]:
        return query.new_zeros(*before, *query.shape[1:3], value.shape[3])
    packed = [x.transpose(1, 2).reshape(-1, x.shape[1], x.shape[3]) for x in (query, key, value)]
    options.update(causal=is_causal, top_left=is_causal or window is not None, scale=scale, window=window, softcap=softcap)
    out = _attend(*(x.contiguous() for x in packed), sinks, scales, None, None, batch, longest, options)
    return out.view(*before, longest, heads, -1).transpose(-3, -2)


def attention_varlen(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_q: Tensor,
    cu_kv: Tensor,
    longest: int,
    is_causal: bool = False,
    scale: float | None = None,
    *,
    window: int | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    scales: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Attention of sequences of any lengths, whose rows stand behind one another: q[queries, heads, d], k and v[keys, ...]. `cu_q`,
    `cu_kv`[sequences + 1], int32: the first row of each sequence, and the number of all; `longest`: the queries of the longest one. With
    `is_causal` the last query of a sequence sees all of its keys. The rest as `attention`'s."""
    options.update(causal=is_causal, varlen=True, scale=scale, window=window, softcap=softcap)
    return _attend(q, k, v, sinks, scales, cu_q, cu_kv, cu_q.shape[0] - 1, longest, options)
