"""Linear layers whose weights are shared by the ranks, made from the tables of the operators that multiply. The first dimension of
activations is the one that is sharded."""

import math

import torch
from torch import nn

from ..ops.table import TABLES
from . import world as worlds
from .functions import FUNCTIONS


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


class _ParallelLinear(nn.Module):
    """A subclass says of which features each rank has its part, and has a function for either value of `sequence_parallel`, or for one."""

    splits: str  # "output" or "input"
    functions: dict

    def __init__(self, in_features, out_features, bias=True, sequence_parallel=True, device=None, dtype=None):
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
    def from_linear(cls, linear, sequence_parallel=True):
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

    def forward(self, x):
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


_WHAT = {
    "output": "y = x @ weight.T + bias, this rank's columns of it: weight is [out_features / ranks, in_features].",
    "input": "y = sum over ranks of x @ weight.T, + bias: weight is [out_features, in_features / ranks], x this rank's columns of all "
    "rows.",
}


def _made(name, tables):
    """The class of that name; `tables`: of its operators."""
    splits = tables[0]["linear"]["splits"]
    functions = {table["linear"]["sequence_parallel"]: FUNCTIONS[table["name"]] for table in tables}
    forms = {table["linear"]["sequence_parallel"]: table["linear"]["what"] for table in tables}
    lines = [_WHAT[splits], "", f"With `sequence_parallel` {forms[True]};", f"else {forms.get(False, 'x is the same on all ranks')}."]
    members = {"splits": splits, "functions": functions, "__doc__": "\n".join(lines), "__module__": __name__}
    return type(name, (_ParallelLinear,), members)


_named = {}
for _table in TABLES.values():
    if "linear" in _table:
        _named.setdefault(_table["linear"]["class"], []).append(_table)
LAYERS = {name: _made(name, tables) for name, tables in _named.items()}
globals().update(LAYERS)
