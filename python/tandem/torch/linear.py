"""Linear layers whose weights are shared by the ranks, made from the tables of the operators that multiply. The first dimension of
activations is the one that is sharded."""

import math

import torch
from torch import nn

from ..ops.function import description_of_layer, layers_of
from ..ops.table import TABLES
from . import world as worlds
from .functions import FUNCTIONS


@worlds.keeps_world
class _SumGradients(torch.autograd.Function):
    """The input of a column-parallel layer: the same on all ranks, and each rank knows only its columns' part of the gradient."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return FUNCTIONS["all_reduce"](grad.contiguous())


def _share(features, ranks, what):
    if features % ranks:
        raise ValueError(f"{features} {what} features cannot be shared by {ranks} ranks")
    return features // ranks


class ParallelLinear(nn.Module):
    """A subclass says of which features each rank has its part, and has a function for either value of `sequence_parallel`, or for one."""

    splits: str  # "output" or "input"
    functions: dict

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        sequence_parallel: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ):
        super().__init__()
        self.in_features, self.out_features, self.sequence_parallel = in_features, out_features, sequence_parallel
        rows, columns = out_features, in_features
        if self.splits == "output":
            rows = _share(rows, worlds.size(), "output")
        else:
            columns = _share(columns, worlds.size(), "input")
        kind = {"device": device if device is not None else worlds.current().device, "dtype": dtype}
        self.weight = nn.Parameter(torch.empty(rows, columns, **kind))
        if bias:
            self.bias = nn.Parameter(torch.empty(rows, **kind))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Does the same as nn.Linear of the whole size. Ranks draw from their own generators: a replicated bias
        wants one seed."""
        bound = 1 / math.sqrt(self.in_features)
        nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            nn.init.uniform_(self.bias, -bound, bound)

    @classmethod
    def from_linear(cls, linear: nn.Linear, sequence_parallel: bool = True):
        """This rank's part of an nn.Linear that is the same on all ranks."""
        made = cls(linear.in_features, linear.out_features, linear.bias is not None, sequence_parallel, dtype=linear.weight.dtype)
        with torch.no_grad():
            made.weight.copy_(made._part(linear.weight))
            if made.bias is not None:
                made.bias.copy_(made._part(linear.bias))
        return made

    def _part(self, whole):
        if self.splits == "output":
            return whole.chunk(worlds.size())[worlds.rank()]
        return whole.chunk(worlds.size(), dim=1)[worlds.rank()] if whole.dim() == 2 else whole

    def _product(self, x):
        if function := self.functions.get(bool(self.sequence_parallel)):
            return function(x, self.weight.t())
        if torch.is_grad_enabled() and x.requires_grad:
            x = _SumGradients.apply(x)
        return x @ self.weight.t()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        columns = x.shape[1:-1]
        out = self._product(x.flatten(0, -2))
        if self.bias is not None:
            out = out + self.bias
        return out.unflatten(0, (-1, *columns)) if columns else out

    def extra_repr(self):
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, "
            f"sequence_parallel={self.sequence_parallel}, shard={list(self.weight.shape)}"
        )


def _made(name, tables):
    """The class of that name; `tables`: of its operators."""
    functions = {table["linear"]["sequence_parallel"]: FUNCTIONS[table["name"]] for table in tables}
    members = {"splits": tables[0]["linear"]["splits"], "functions": functions}
    return type(name, (ParallelLinear,), {**members, "__doc__": description_of_layer(tables), "__module__": __name__})


LAYERS = {name: _made(name, tables) for name, tables in layers_of(TABLES.values()).items()}
globals().update(LAYERS)
