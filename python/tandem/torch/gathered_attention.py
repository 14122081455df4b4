"""Attention over ranks with gradients: each rank gathers the keys and values once more, finds the shares of its own queries in their
gradients, and gets the sums over ranks of those of its own rows; group of heads after group, so that those of one are under way while
another's gradients are found."""

import functools

from typing import Any

import torch
from torch import Tensor

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


_MOST_GROUPS = 4


@functools.cache
def _stream_beside(device):
    return torch.cuda.Stream(device) if device.type == "cuda" else None


class _Beside:
    """What a function gives that is queued beside the current stream, behind what is queued there now."""

    def __init__(self, function, *given):
        self.stream = _stream_beside(given[0].device)
        if self.stream is None:
            self.results = function(*given)
            return
        self.stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.stream):
            self.results = function(*given)
            self.event = self.stream.record_event()
        for x in given:
            x.record_stream(self.stream)

    def take(self):
        """The results, for the current stream, which waits for them."""
        if self.stream is not None:
            torch.cuda.current_stream().wait_event(self.event)
            for x in self.results:
                x.record_stream(torch.cuda.current_stream())
        return self.results


def _groups(hkv, ranks, given):
    """How many groups the heads go in."""
    groups = given or (1 if ranks == 1 else _MOST_GROUPS)
    while hkv % groups:
        groups -= 1
    return groups


def _group_of(x, group, groups, dim=2):
    return None if x is None else x.chunk(groups, dim)[group].contiguous()


@worlds.keeps_world
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
        in_order, groups = options.pop("in_order", False), _groups(k.shape[2], world.size, options.pop("groups", None))
        options.pop("bands", None)
        places = places_of(m, world.size, in_order, q.device)
        spans = spans_of(m, world.rank, world.size, in_order)
        room = [count for _, count in spans_of(m, 0, world.size, in_order)]  # the first rank has the most rows

        def whole(*parts):
            """[batch, m, ...] in the order of the sequence."""
            for x in parts:
                found = FUNCTIONS["all_gather"](x.transpose(0, 1).flatten(1).contiguous(), m)
                yield torch.empty_like(found).index_copy_(0, places, found).unflatten(1, (x.shape[0], *x.shape[2:])).transpose(0, 1)

        def own(*parts):
            """The sums over ranks of this rank's rows."""
            for x in parts:
                found = FUNCTIONS["reduce_scatter"](x.transpose(0, 1)[places].flatten(1).to(k.dtype))
                yield found.unflatten(1, (x.shape[0], *x.shape[2:])).transpose(0, 1)

        def gathered(group):
            return _Beside(lambda *parts: list(whole(*parts)), *(_group_of(x, group, groups) for x in (k, v)))

        of_q, of_kv, of_sinks, coming = [], [], [], gathered(0)
        for group in range(groups):
            here, coming = coming, gathered(group + 1) if group + 1 < groups else None
            one = functools.partial(_group_of, group=group, groups=groups)
            given = (one(q), *here.take(), one(sinks, dim=0), one(out), one(lse, dim=1), one(grad), spans, room)
            of_one, *of_both, of_some = shares(*given, FUNCTIONS["attention_backward"], options)
            of_q.append(of_one)
            of_sinks.append(of_some)
            of_kv.append(_Beside(lambda *parts: list(own(*parts)), *of_both))
        if sinks is not None:
            of_sinks = FUNCTIONS["all_reduce"](torch.cat(of_sinks))
        of_k, of_v = (torch.cat(parts, 2) for parts in zip(*(part.take() for part in of_kv)))
        return torch.cat(of_q, 2), of_k, of_v, None if sinks is None else of_sinks, None, None


def ag_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    m: int | None = None,
    *,
    cu: Tensor | None = None,
    longest: int | None = None,
    sinks: Tensor | None = None,
    with_lse: bool | None = None,
    out: Tensor | None = None,
    lse: Tensor | None = None,
    **options: Any,
) -> Any:
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
