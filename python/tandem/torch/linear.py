"""Linear layers whose weights are sharded over the ranks. The first dimension of activations is the one that is sharded."""

import math

import torch
from torch import nn

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
    def __init__(self, rows, columns, in_features, out_features, bias, sequence_parallel, device, dtype):
        super().__init__()
        self.in_features, self.out_features, self.sequence_parallel = in_features, out_features, sequence_parallel
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

    def forward(self, x):
        columns = x.shape[1:-1]
        out = self._product(x.flatten(0, -2))
        if self.bias is not None:
            out = out + self.bias
        return out.unflatten(0, (-1, *columns)) if columns else out

    def extra_repr(self):
        return (f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, "
                f"sequence_parallel={self.sequence_parallel}, shard={list(self.weight.shape)}")


class ColumnParallelLinear(_ParallelLinear):
    """y = x @ weight.T + bias, this rank's columns of it: weight is [out_features / ranks, in_features].

    With `sequence_parallel` x is this rank's rows and all rows come out (AllGather + GEMM in one); else x is the same on all ranks.
    """

    def __init__(self, in_features, out_features, bias=True, sequence_parallel=True, device=None, dtype=None):
        shard = _share(out_features, worlds.size(), "output")
        super().__init__(shard, in_features, in_features, out_features, bias, sequence_parallel, device, dtype)

    def _part(self, whole):
        return whole.chunk(worlds.size())[worlds.rank()]

    def _product(self, x):
        if self.sequence_parallel:
            return FUNCTIONS["ag_gemm"](x, self.weight.t())
        if torch.is_grad_enabled() and x.requires_grad:
            x = _SumGradients.apply(x)
        return x @ self.weight.t()


class RowParallelLinear(_ParallelLinear):
    """y = sum over ranks of x @ weight.T, + bias: weight is [out_features, in_features / ranks], x this rank's columns of all rows.

    With `sequence_parallel` this rank's rows of y come out (GEMM + ReduceScatter in one), and the bias' gradient is that of these rows;
    else all of y comes out on every rank (GEMM + AllReduce).
    """

    def __init__(self, in_features, out_features, bias=True, sequence_parallel=True, device=None, dtype=None):
        shard = _share(in_features, worlds.size(), "input")
        super().__init__(out_features, shard, in_features, out_features, bias, sequence_parallel, device, dtype)

    def _part(self, whole):
        return whole.chunk(worlds.size(), dim=1)[worlds.rank()] if whole.dim() == 2 else whole

    def _product(self, x):
        return FUNCTIONS["gemm_rs" if self.sequence_parallel else "gemm_ar"](x, self.weight.t())
