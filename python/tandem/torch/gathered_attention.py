"""Attention over ranks with gradients: each rank gathers the keys and values once more, finds the shares of its own queries in their
gradients, and gets the sums over ranks of those of its own rows."""

import torch

from . import world as worlds
from .functions import FUNCTIONS
from .shapes import rows_of_rank


def spans_of(m, rank, ranks, in_order):
    """The parts of a sequence that a rank has, in its order: the first row and the number of rows of each."""
    counts = [rows_of_rank(m, ranks, r) for r in range(ranks)]
    low = counts if in_order else [-(-count // 2) for count in counts]
    high = [count - few for count, few in zip(counts, low)]
    return [(sum(low[:rank]), low[rank]), (sum(low) + sum(high[rank + 1 :]), high[rank])]


def places_of(m, ranks, in_order, device):
    """Where in its sequence each row is, all ranks' rows behind one another."""
    spans = [span for rank in range(ranks) for span in spans_of(m, rank, ranks, in_order)]
    return torch.cat([torch.arange(first, first + count, device=device) for first, count in spans])


def shares(q, k, v, sinks, out, lse, grad, spans, room, backward, options):
    """Of this rank's queries: their gradients, and their shares in those of the keys, values and sinks. k and v: whole sequences. All ranks
    make the same calls, of all keys and of the most queries that a rank has, `room` of each span; which ones there are is told by cu."""
    of_q, of_k, of_v = torch.empty_like(q), *(torch.zeros(x.shape, device=x.device) for x in (k, v))
    of_sinks = None if sinks is None else torch.zeros_like(sinks)
    causal, start = options.get("causal", False), 0
    wants = {"wants_q": True, "wants_k": True, "wants_sinks": sinks is not None or None, "sinks": sinks, "varlen": True}
    for (first, count), most in zip(spans, room) if causal else [((0, q.shape[1]), sum(room))]:
        rows, end = slice(start, start + count), first + count if causal else k.shape[1]
        start += count
        if not most:
            continue
        of_rows = [torch.nn.functional.pad(x[:, rows], (0, 0, 0, 0, 0, most - count)) for x in (q, out, grad)]
        logarithms = torch.nn.functional.pad(lse[:, :, rows], (0, most - count))
        cu_q, cu_kv = (torch.tensor([0, there], dtype=torch.int32, device=q.device) for there in (count, end))
        for b in range(q.shape[0]):
            one_q, one_out, one_grad = (x[b].contiguous() for x in of_rows)
            given = (one_q, k[b].contiguous(), v[b].contiguous(), one_out, logarithms[b].contiguous(), one_grad)
            part_of_v, *others = backward(*given, 1, most, cu_q=cu_q, cu_kv=cu_kv, **wants, **options)
            if sinks is not None:
                of_sinks += others.pop(0)
            of_q[b, rows] = others[0][:count]
            of_k[b, :end] += others[1][:end]
            of_v[b, :end] += part_of_v[:end]
    return of_q, of_k, of_v, of_sinks


class _GatheredAttention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, sinks, m, options):
        out, lse = FUNCTIONS["ag_attention"](q, k, v, 1, m, m, with_lse=True, sinks=sinks, **dict(options))
        ctx.save_for_backward(q, k, v, sinks, out, lse)
        ctx.m, ctx.options = m, dict(options)
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, sinks, out, lse = ctx.saved_tensors
        world, options, m = worlds.of(q), ctx.options, ctx.m
        in_order = options.pop("in_order", False)
        for name in ("bands", "groups"):
            options.pop(name, None)
        places = places_of(m, world.size, in_order, q.device)

        def whole(x):
            """[batch, m, ...] in the order of the sequence."""
            found = FUNCTIONS["all_gather"](x.transpose(0, 1).flatten(1).contiguous(), m)
            return torch.empty_like(found).index_copy_(0, places, found).unflatten(1, (x.shape[0], *x.shape[2:])).transpose(0, 1)

        def own(x, like):
            """The sum over ranks of this rank's rows."""
            found = FUNCTIONS["reduce_scatter"](x.transpose(0, 1)[places].flatten(1).to(like.dtype))
            return found.unflatten(1, (x.shape[0], *x.shape[2:])).transpose(0, 1)

        spans = spans_of(m, world.rank, world.size, in_order)
        room = [count for _, count in spans_of(m, 0, world.size, in_order)]  # the first rank has the most rows
        given = (q, whole(k), whole(v), sinks, out, lse, grad, spans, room)
        of_q, of_k, of_v, of_sinks = shares(*given, FUNCTIONS["attention_backward"], options)
        if sinks is not None:
            of_sinks = FUNCTIONS["all_reduce"](of_sinks)
        return of_q, own(of_k, k), own(of_v, v), of_sinks, None, None


def ag_attention(q, k, v, m=None, *, cu=None, longest=None, sinks=None, with_lse=None, out=None, lse=None, **options):
    """softmax(q k^T * scale) v over the keys and values of all ranks [collective]: q[batch, rows, heads, d], k and v of as many rows, those
    of each sequence that this rank has (ops/ag_attention/README.md). `m`: the rows of a sequence over all ranks, which must be told
    where the last ranks have fewer; `sinks`[heads], fp32. Options: those of the operator. Without gradients also sequences of any lengths:
    `cu`[sequences + 1], int32, and the rows of the `longest`."""
    options = {name: value for name, value in options.items() if value is not None and value is not False}
    rows = q.shape[1] * worlds.of(q).size if m is None else m
    numbers = (1, rows)
    if cu is not None:
        options["varlen"], numbers = True, (cu.shape[0] - 1, longest)
    if (
        cu is None
        and torch.is_grad_enabled()
        and any(t is not None and t.requires_grad for t in (q, k, v, sinks))
        and not with_lse
        and out is None
    ):
        return _GatheredAttention.apply(q, k, v, sinks, rows, tuple(options.items()))
    return FUNCTIONS["ag_attention"](q, k, v, *numbers, m, cu=cu, sinks=sinks, with_lse=with_lse, out=out, lse=lse, **options)
