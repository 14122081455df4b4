"""The gradients of a mixture of experts. The inner rows are multiplied once more, so that nothing of the size of the slots is kept."""

import json

import torch

from tandem.torch import world as worlds
from tandem.torch.gradient import ops


def _activated(rows, gated):
    """What the second matrices multiply, and how it changes with its rows: a function of the gradient."""
    if not gated:
        return rows, lambda grad: grad
    gate, up = rows.float().chunk(2, dim=1)
    share = torch.sigmoid(gate)
    silu = gate * share

    def back(grad):
        of_gate = grad * up * (share + silu * (1 - share))
        return torch.cat([of_gate, grad * silu], dim=1).to(rows.dtype)

    return (silu * up).to(rows.dtype), back


def gradients(x, up, down, route, m, options, up_bias, down_bias, grad, wants, wants_weights=False):
    """The gradients of x, up, down, up_bias and down_bias where `wants` says so, and of the route's weights [m, top_k]: the part of this
    rank's inner columns, of which the sum over ranks is whole. `grad`: of this rank's rows."""
    wants_x, wants_up, wants_down, wants_up_bias, wants_down_bias = wants
    gated, tiles = options.get("gated", False), {name: options[name] for name in ("block_m",) if name in options}
    plain, weighted = json.dumps(tiles), json.dumps({"weighted": True})
    tokens, whole = ops.all_gather(x, m), ops.all_gather(grad.to(x.dtype).contiguous(), m)
    inner, back = _activated(ops.grouped_gemm(tokens, up, route, m, plain, up_bias), gated)
    of_inner = ops.grouped_gemm(whole, down.transpose(1, 2).contiguous(), route, m, plain)
    of_rows = back(of_inner.float()).to(x.dtype).contiguous() if wants_x or wants_up or wants_up_bias else None
    of_x = ops.moe_rs(of_rows, up.transpose(1, 2).contiguous(), route, m, plain) if wants_x else None
    of_up = ops.grouped_outer(of_rows, tokens, route, m, weighted) if wants_up else None
    of_down = ops.grouped_outer(inner, whole, route, m, weighted).transpose(1, 2) if wants_down else None
    of_up_bias = ops.grouped_outer(of_rows, x.new_ones(m, 1), route, m, weighted)[:, :, 0].float() if wants_up_bias else None
    ones = x.new_ones(inner.shape[0], 1)
    of_down_bias = ops.grouped_outer(ones, whole, route, m, weighted)[:, 0].float() if wants_down_bias else None
    of_weights = None
    if wants_weights:
        experts, slots = up.shape[0], inner.shape[0]
        place = route[64 + 2 * experts + slots :][:slots].long()
        products = (inner.float() * of_inner.float()).sum(1)
        if down_bias is not None:
            shares = ops.grouped_gemm(whole, down_bias.to(x.dtype)[:, None].contiguous(), route, m, plain)
            products = products + shares[:, 0].float() * (worlds.of(x).rank == 0)  # it counts once, and all ranks call
        of_weights = torch.where(place >= 0, products[place.clamp_min(0)], 0).view(m, -1)
    return of_x, of_up, of_down, of_up_bias, of_down_bias, of_weights


def save(ctx, inputs, output):
    # Arguments at their defaults are not passed.
    x, up, down, route, m, options, up_bias, down_bias, *scales = (*inputs, *(None, "{}", None, None)[len(inputs) - 4 :])
    if any(scale is not None for scale in scales):
        raise RuntimeError("`moe_mlp` has no gradient through fp8")
    ctx.save_for_backward(x, up, down, route, up_bias, down_bias)
    ctx.m, ctx.options, ctx.arguments = x.shape[0] * worlds.of(x).size if m is None else m, json.loads(options), len(inputs)


def backward(ctx, grad):
    x, up, down, route, up_bias, down_bias = ctx.saved_tensors
    needs = ctx.needs_input_grad
    wants = (*needs[:3], *(*needs[6:8], False, False)[:2])
    of_x, of_up, of_down, *of_biases, _ = gradients(x, up, down, route, ctx.m, ctx.options, up_bias, down_bias, grad, wants)
    return (of_x, of_up, of_down, None, None, None, *of_biases, *[None] * ctx.arguments)[: ctx.arguments]
