"""Tandem's operators for PyTorch: CUDA tensors in and out, on PyTorch's current stream, under torch.compile and in CUDA graphs.

`init()` joins the run on this process's GPU. Functions: `ag_gemm`, `gemm_rs`, `gemm_ar`, `all_gather`, `reduce_scatter`, `all_reduce`;
modules: `ColumnParallelLinear`, `RowParallelLinear`. See docs/guide/pytorch.md.
"""

from . import library  # registers torch.ops.tandem
from .functions import ag_gemm, all_gather, all_reduce, gemm_ar, gemm_rs, reduce_scatter
from .linear import ColumnParallelLinear, RowParallelLinear
from .world import init, prepare, rank, release, size

__all__ = ["ColumnParallelLinear", "RowParallelLinear", "ag_gemm", "all_gather", "all_reduce", "gemm_ar", "gemm_rs", "init", "prepare",
           "rank", "reduce_scatter", "release", "size"]
