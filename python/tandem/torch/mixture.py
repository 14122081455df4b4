"""A mixture of experts as a layer: a router, and two matrices of each expert, whose inner columns are shared by the ranks."""

import importlib
import math

import torch
from torch import nn

from . import world as worlds
from .functions import FUNCTIONS

_gradients = importlib.import_module("tandem.gradients.moe_mlp").gradients


@worlds.keeps_world
class _Mixture(torch.autograd.Function):
    """`moe_mlp`, with gradients of the weights of the route as well, which has them among its words."""

    @staticmethod
    def forward(ctx, x, up, down, weights, up_bias, down_bias, route, m, gated):
        ctx.save_for_backward(x, up, down, up_bias, down_bias, route)
        ctx.m, ctx.gated = m, gated
        return FUNCTIONS["moe_mlp"](x, up, down, route, m, gated=gated, up_bias=up_bias, down_bias=down_bias)

    @staticmethod
    def backward(ctx, grad):
        x, up, down, up_bias, down_bias, route = ctx.saved_tensors
        of_x, of_up, of_down, of_weights, *of_biases = ctx.needs_input_grad[:6]
        options, wants = {"gated": ctx.gated}, (of_x, of_up, of_down, *of_biases)
        found = _gradients(x, up, down, route, ctx.m, options, up_bias, down_bias, grad, wants, of_weights)
        return *found[:3], found[5], *found[3:5], None, None, None


class MixtureOfExperts(nn.Module):
    """y = the sum over a token's top_k experts e of weight * down[e] @ act(up[e] @ x), act being silu(gate) * up, or nothing where not
    `gated`. Rows of x and y are this rank's of all; the router is the same on all ranks (its gradient is that of the rank's rows: sum
    it over the ranks), up is [experts, (2) inner_features / ranks, features], down [experts, features, inner_features / ranks]."""

    def __init__(
        self,
        features: int,
        inner_features: int,
        experts: int,
        top_k: int,
        gated: bool = True,
        bias: bool = False,
        renormalise: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        ranks = worlds.size()
        if inner_features % ranks:
            raise ValueError(f"{inner_features} inner features cannot be shared by {ranks} ranks")
        if not 1 <= top_k <= experts:
            raise ValueError(f"`top_k` is {top_k}, 1 to {experts} are possible")
        self.features, self.inner_features, self.experts, self.top_k = features, inner_features, experts, top_k
        self.gated, self.renormalise = gated, renormalise
        device = device if device is not None else worlds.current().device
        kind, rows = {"device": device, "dtype": dtype}, inner_features // ranks * (1 + gated)
        self.router = nn.Linear(features, experts, bias=False, **kind)
        self.up = nn.Parameter(torch.empty(experts, rows, features, **kind))
        self.down = nn.Parameter(torch.empty(experts, features, inner_features // ranks, **kind))
        if bias:
            self.up_bias = nn.Parameter(torch.empty(experts, rows, device=device, dtype=torch.float32))
            self.down_bias = nn.Parameter(torch.empty(experts, features, device=device, dtype=torch.float32))
        else:
            self.up_bias = self.down_bias = None
        self.reset_parameters()

    def reset_parameters(self):
        """Does the same as nn.Linear for each expert. Ranks draw from their own generators: router and down_bias want one seed."""
        self.router.reset_parameters()
        for matrix, bias, inputs in ((self.up, self.up_bias, self.features), (self.down, self.down_bias, self.inner_features)):
            bound = 1 / math.sqrt(inputs)
            nn.init.uniform_(matrix, -bound, bound)
            if bias is not None:
                nn.init.uniform_(bias, -bound, bound)

    def choose(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The experts of these tokens, and their weights."""
        weights, ids = torch.softmax(self.router(x).float(), dim=-1).topk(self.top_k, dim=-1)
        return ids.int(), weights / weights.sum(-1, keepdim=True) if self.renormalise else weights

    def forward(self, x: torch.Tensor, m: int | None = None) -> torch.Tensor:
        """x: this rank's rows, [..., features]; `m`: tokens of all ranks, where their shards are not alike."""
        rows = x.reshape(-1, self.features)
        m = rows.shape[0] * worlds.of(x).size if m is None else m
        ids, weights = self.choose(rows)
        all_ids, all_weights = FUNCTIONS["all_gather"](ids, m), FUNCTIONS["all_gather"](weights, m)
        route = FUNCTIONS["route_ids"](all_ids, all_weights.detach(), self.experts)
        out = _Mixture.apply(rows, self.up, self.down, all_weights, self.up_bias, self.down_bias, route, m, self.gated)
        return out.view(x.shape)

    def extra_repr(self):
        return (
            f"features={self.features}, inner_features={self.inner_features}, experts={self.experts}, top_k={self.top_k}, "
            f"gated={self.gated}, renormalise={self.renormalise}"
        )
