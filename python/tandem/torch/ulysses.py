"""Attention whose heads are dealt to the ranks (Ulysses), with gradients: the projections before and behind it, a layer of all three."""

import torch
from torch import nn

from ..ops.table import heads_of_rank
from . import world as worlds
from .functions import FUNCTIONS
from .sdpa import attention
from .shapes import rows_of_rank


def _spans(world, hq, hkv):
    return [heads_of_rank(hq, hkv, world.size, rank) for rank in range(world.size)]


def _count(heads):
    return heads.stop - heads.start


def _to_rows(x, rows, counts, world):
    """This rank's rows of all ranks' heads, [rows of the rank, heads of rank i, d] for each i, from all rows of its own. `rows`: those of
    each rank, `counts`: heads of each."""
    table = [[rows[to] * counts[by] for to in range(world.size)] for by in range(world.size)]
    got = FUNCTIONS["all_to_all"](x.reshape(-1, x.shape[-1]), table)
    own = rows[world.rank]
    return [part.view(own, count, x.shape[-1]) for part, count in zip(got.split([own * count for count in counts]), counts)]


def _to_heads(parts, rows, counts, world):
    """All rows of this rank's heads from its rows of each rank's heads, the opposite."""
    d = parts[0].shape[-1]
    table = [[rows[by] * counts[to] for to in range(world.size)] for by in range(world.size)]
    got = FUNCTIONS["all_to_all"](torch.cat([part.reshape(-1, d) for part in parts]), table)
    return got.view(sum(rows), counts[world.rank], d)


def _rows(m, world):
    return [rows_of_rank(m, world.size, rank) for rank in range(world.size)]


@worlds.keeps_world
class _Before(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, hq, hkv, d, m, options):
        q, kv = FUNCTIONS["qkv_gemm_a2a"](x, w, hq, hkv, d, m, **options)
        ctx.save_for_backward(x, w)
        ctx.sizes = hq, hkv, d, m
        return q, kv

    @staticmethod
    def backward(ctx, of_q, of_kv):
        (x, w), (hq, hkv, d, m) = ctx.saved_tensors, ctx.sizes
        world = worlds.of(x)
        spans = _spans(world, hq, hkv)
        counts = [_count(own.queries) + 2 * _count(own.keys) for own in spans]
        parts = _to_rows(torch.cat([of_q, of_kv[0], of_kv[1]], 1), _rows(m, world), counts, world)
        # Several ranks may have the same keys.
        of_y = x.new_zeros(x.shape[0], hq + 2 * hkv, d, dtype=torch.promote_types(x.dtype, torch.float32))
        for own, part in zip(spans, parts):
            of_queries, *of_both = part.split([_count(own.queries), _count(own.keys), _count(own.keys)], 1)
            of_y[:, own.queries] += of_queries
            for first, of_some in zip((hq, hq + hkv), of_both):
                of_y[:, first + own.keys.start : first + own.keys.stop] += of_some
        of_y = of_y.to(x.dtype).flatten(1)
        of_x = of_y @ w if ctx.needs_input_grad[0] else None
        return of_x, of_y.t() @ x if ctx.needs_input_grad[1] else None, *[None] * 5


@worlds.keeps_world
class _Behind(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, hkv, m, options):
        ctx.save_for_backward(x, w)
        ctx.hkv = hkv
        return FUNCTIONS["a2a_o_gemm"](x, w, hkv, m, **options)

    @staticmethod
    def backward(ctx, grad):
        x, w = ctx.saved_tensors
        world, d = worlds.of(x), x.shape[2]
        spans = _spans(world, w.shape[1] // d, ctx.hkv)
        rows, counts = _rows(x.shape[0], world), [_count(own.queries) for own in spans]
        of_x = of_w = None
        if ctx.needs_input_grad[0]:
            of_x = _to_heads((grad @ w).view(-1, sum(counts), d).split(counts, 1), rows, counts, world)
        if ctx.needs_input_grad[1]:
            of_w = grad.t() @ torch.cat(_to_rows(x, rows, counts, world), 1).flatten(1)
        return of_x, of_w, None, None, None


def _has_gradient(name, x, w, *given):
    """Whether a call needs one; it can then not be given memory for its results."""
    if not (torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in (x, w))):
        return False
    if any(t is not None for t in given):
        raise ValueError(f"`{name}`: results cannot be given where `x` or `w` has a gradient")
    return True


def qkv_gemm_a2a(x, w, hq, hkv, d, m=None, *, kv=None, out=None, **options):
    if _has_gradient("qkv_gemm_a2a", x, w, kv, out):
        q, kv = _Before.apply(x, w, hq, hkv, d, x.shape[0] * worlds.of(x).size if m is None else m, options)
    else:
        q, kv = FUNCTIONS["qkv_gemm_a2a"](x, w, hq, hkv, d, m, kv=kv, out=out, **options)
    return q, kv[0], kv[1]


def a2a_o_gemm(x, w, hkv, m=None, *, out=None, **options):
    if _has_gradient("a2a_o_gemm", x, w, out):
        return _Behind.apply(x, w, hkv, m, options)
    return FUNCTIONS["a2a_o_gemm"](x, w, hkv, m, out=out, **options)


qkv_gemm_a2a.__doc__ = (
    FUNCTIONS["qkv_gemm_a2a"].__doc__
    + "\n\nGives q[m, heads, d] and the keys and values, [m, heads of keys, d] each. The gradient of w is that of this "
    "rank's rows: sum it over the ranks, as for any parameter that is replicated."
)
a2a_o_gemm.__doc__ = FUNCTIONS["a2a_o_gemm"].__doc__ + "\n\nThe gradient of w is that of this rank's rows."


class ContextParallelAttention(nn.Module):
    """Attention of sequences that are sharded over the ranks: projections and AllToAll to all rows of some heads, their attention,
    AllToAll and projection back to this rank's rows. x: [rows of the rank, (batch,) features], the same rows of each sequence; parameters
    are those of nn.Linear, the same on all ranks, with gradients of the rank's rows: sum them over the ranks. `turn(q, k)`: what becomes
    of the heads of queries and keys before the attention, [rows of all ranks, batch, heads, d]. Options: those of
    `tandem.torch.attention`."""

    def __init__(self, features, heads, kv_heads=None, head_features=None, bias=False, turn=None, device=None, dtype=None, **options):
        super().__init__()
        self.heads, self.kv_heads = heads, heads if kv_heads is None else kv_heads
        if self.heads % self.kv_heads:
            raise ValueError(f"`heads` is {heads}, a multiple of `kv_heads`, {kv_heads}, is needed")
        self.head_features = features // heads if head_features is None else head_features
        kind = {"device": device if device is not None else worlds.current().device, "dtype": dtype}
        columns = (self.heads + 2 * self.kv_heads) * self.head_features
        self.qkv = nn.Linear(features, columns, bias, **kind)
        self.out = nn.Linear(self.heads * self.head_features, features, False, **kind)
        self.turn, self.options = turn, {"is_causal": True, **options}

    def forward(self, x, m=None):
        """`m`: rows of a sequence over all ranks, where their shards are not alike."""
        world, batch, hq, hkv = worlds.of(x), x.shape[1] if x.dim() == 3 else 1, self.heads, self.kv_heads
        m = x.shape[0] * world.size if m is None else m
        if batch > 1 and m % world.size:
            raise ValueError(f"sequences of {m} rows cannot be dealt alike to {world.size} ranks; one alone can")
        rows = x.reshape(-1, x.shape[-1])
        q, k, v = qkv_gemm_a2a(rows, self.qkv.weight, hq, hkv, self.head_features, m * batch)
        own = heads_of_rank(hq, hkv, world.size, world.rank)
        if self.qkv.bias is not None:
            of_q, of_k, of_v = self.qkv.bias.view(-1, self.head_features).split([hq, hkv, hkv])
            q, k, v = q + of_q[own.queries], k + of_k[own.keys], v + of_v[own.keys]
        q, k, v = (t.unflatten(0, (m, batch)) for t in (q, k, v))
        if self.turn is not None:
            q, k = self.turn(q, k)
        out = attention(*(t.permute(1, 2, 0, 3) for t in (q, k, v)), enable_gqa=True, **self.options)
        out = out.permute(2, 0, 1, 3).reshape(m * batch, -1, self.head_features)
        return a2a_o_gemm(out, self.out.weight, hkv, m * batch).view(x.shape)

    def extra_repr(self):
        return f"heads={self.heads}, kv_heads={self.kv_heads}, head_features={self.head_features}"
