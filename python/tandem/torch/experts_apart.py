"""Dispatch and combine with gradients, of which each is the other's: the gradients of what came to a rank return to the tokens, summed over
the ranks, and those of the sums go to the ranks that had a part in them."""

import inspect
from typing import Any

import torch
from torch import Tensor

from ..ops.routes import HEADER
from . import world as worlds
from .functions import FUNCTIONS

_SHARED = ("programs", "num_warps", "pieces", "placement", "placed_experts", "copies", "align")  # options of both


def _parts(route, ids, max_m, experts):
    """Places [tokens, top_k] and weights of a route of what comes to a rank: views."""
    ranks, top_k = worlds.of(route).size, ids.shape[1]
    tokens = ranks * max_m
    begin = HEADER + 2 * -(-experts // ranks) + tokens * top_k
    places, weights = route[begin:][: tokens * top_k], route[begin + tokens * top_k :][: tokens * top_k]
    return places.view(tokens, top_k), weights.view(torch.float32).view(tokens, top_k)


def _placed(options):
    """With the sizes of the table of places, where there is one."""
    table = options.get("placement")
    return options if table is None else {**options, "placed_experts": table.shape[0], "copies": table.shape[1]}


def _returned(rows, route, ids, max_m, experts, options):
    """The sums over the ranks of the rows that came for each token, of which a rank counts its own once."""
    options = {name: value for name, value in options.items() if name != "align"}
    return FUNCTIONS["ep_combine"](rows, route, ids, max_m, experts, summed=True, **options)


@worlds.keeps_world
class _Dispatch(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, ids, weights, max_m, experts, options):
        rows, route, *spans = FUNCTIONS["ep_dispatch"](x, ids, weights, max_m, experts, **options)
        ctx.save_for_backward(ids, route)
        ctx.mark_non_differentiable(route, *spans)
        ctx.sizes = max_m, experts, {name: value for name, value in options.items() if name in _SHARED}
        ctx.by_expert = bool(options.get("by_expert"))
        return rows, route, *spans

    @staticmethod
    def backward(ctx, grad, *_):
        ids, route = ctx.saved_tensors
        max_m, experts, options = ctx.sizes
        if ctx.by_expert:  # a row for each slot, at the route's places
            route = route.clone()
            _parts(route, ids, max_m, experts)[1].fill_(1)
            of_x = FUNCTIONS["ep_combine"](grad.contiguous(), route, ids, max_m, experts, **options)
        else:
            of_x = _returned(grad.contiguous(), route, ids, max_m, experts, options)
        return of_x, None, None, None, None, None


@worlds.keeps_world
class _Combine(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h, route, ids, weights, max_m, experts, options):
        ctx.save_for_backward(h, route, ids)
        ctx.sizes = max_m, experts, options
        return FUNCTIONS["ep_combine"](h, route, ids, max_m, experts, **options)

    @staticmethod
    def backward(ctx, grad):
        h, route, ids = ctx.saved_tensors
        max_m, experts, options = ctx.sizes
        places, by = _parts(route, ids, max_m, experts)
        none = torch.zeros(ids.shape, device=ids.device)
        by_token = {name: value for name, value in options.items() if name not in ("align", "summed")}
        came, _ = FUNCTIONS["ep_dispatch"](grad.to(h.dtype).contiguous(), ids, none, max_m, experts, **by_token)
        is_here, of_h, of_weights = places >= 0, None, None
        if options.get("summed"):
            of_h = torch.where(is_here.any(1, keepdim=True), came, 0)
        elif ctx.needs_input_grad[0]:
            # Slots that are elsewhere have a row behind the others.
            of_h = h.new_zeros(len(h) + 1, h.shape[1])
            place = torch.where(is_here, places, len(h)).flatten().long()
            of_h[place] = (came.float()[:, None] * by[..., None]).to(h.dtype).flatten(0, 1)
            of_h = of_h[: len(h)]
        if ctx.needs_input_grad[3]:
            products = (came.float()[:, None] * h[places.clamp_min(0).flatten().long()].float().view(*places.shape, -1)).sum(2)
            products = torch.where(is_here, products, 0)  # a token's, one for each slot, travel as one row
            of_weights = _returned(products, route, ids, max_m, experts, options)
        return of_h, None, None, of_weights, None, None, None


def ep_dispatch(
    x: Tensor, ids: Tensor, weights: Tensor, max_m: int, experts: int, m: int | None = None, *, out: Tensor | None = None, **options: Any
) -> Any:
    """Sends this rank's tokens x[m, columns] to the ranks that have their experts [collective], on the current stream: `ids` and
    `weights`[m, top_k], at most `max_m` tokens on each rank. Returns the rows that came, their route, and with `quantised` their scales."""
    options = _placed(options)
    if not (torch.is_grad_enabled() and isinstance(x, torch.Tensor) and x.requires_grad):
        return FUNCTIONS["ep_dispatch"](x, ids, weights, max_m, experts, m, out=out, **options)
    if out is not None or options.get("route") is not None:
        raise ValueError("`ep_dispatch`: `out` and `route` cannot be given where `x` has a gradient")
    if options.get("quantised"):
        raise RuntimeError("`ep_dispatch` has no gradient through fp8")
    return _Dispatch.apply(x, ids, weights, max_m, experts, options)


def ep_combine(
    h: Tensor,
    route: Tensor,
    ids: Tensor,
    max_m: int,
    experts: int,
    m: int | None = None,
    *,
    weights: Tensor | None = None,
    out: Tensor | None = None,
    **options: Any,
) -> Tensor:
    """Gives each of this rank's tokens the weighted sum of its experts' rows h [collective], on the current stream: `route` and `ids` are
    those of the dispatch. `weights`: those that were dispatched, where they are to have a gradient."""
    options = _placed(options)
    if not (torch.is_grad_enabled() and any(isinstance(t, torch.Tensor) and t.requires_grad for t in (h, weights))):
        return FUNCTIONS["ep_combine"](h, route, ids, max_m, experts, m, out=out, **options)
    if out is not None:
        raise ValueError("`ep_combine`: `out` cannot be given where `h` or `weights` has a gradient")
    if options.get("summed") and weights is not None and weights.requires_grad:
        raise ValueError("`ep_combine`: `weights` has no gradient here with `summed`, as whoever has summed has weighed")
    return _Combine.apply(h, route, ids, weights, max_m, experts, options)


_OF_PLACEMENT = "`placement`: a table of places, whose shape says `placed_experts` and `copies`."
for _function in (ep_dispatch, ep_combine):
    _function.__doc__ = f"{inspect.getdoc(_function)}\n\n{FUNCTIONS[_function.__name__].__doc__}\n\n{_OF_PLACEMENT}"
