"""Tandem's operators for PyTorch: CUDA tensors in and out, on PyTorch's current stream, under torch.compile and in CUDA graphs.

`init()` joins the run on this process's GPU. Functions: one for each operator (`ag_gemm`, `all_reduce`, ...), made from its table;
modules likewise: `ColumnParallelLinear`, `RowParallelLinear`; and
`MixtureOfExperts`. See docs/guide/pytorch.md.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("tandem.torch needs PyTorch 2.4 or later, built for CUDA: pip install torch", name=error.name) from None

from . import library  # noqa: F401  registers torch.ops.tandem
from .experts_apart import ep_combine as _ep_combine
from .experts_apart import ep_dispatch as _ep_dispatch
from .functions import FUNCTIONS
from .fused import overlap_products
from .gathered_attention import ag_attention as _ag_attention
from .linear import LAYERS
from .mixture import MixtureOfExperts
from .prepare import prepare
from .sdpa import attention as _attention
from .sdpa import attention_varlen
from .ulysses import ContextParallelAttention
from .ulysses import a2a_o_gemm as _a2a_o_gemm
from .ulysses import qkv_gemm_a2a as _qkv_gemm_a2a
from .world import init, rank, release, size

globals().update(FUNCTIONS)
globals().update(LAYERS)
# In front of the functions that their tables make.
attention, ag_attention, ep_dispatch, ep_combine = _attention, _ag_attention, _ep_dispatch, _ep_combine
qkv_gemm_a2a, a2a_o_gemm = _qkv_gemm_a2a, _a2a_o_gemm

__all__ = [
    "ContextParallelAttention",
    "MixtureOfExperts",
    "attention_varlen",
    "init",
    "overlap_products",
    "prepare",
    "rank",
    "release",
    "size",
    *LAYERS,
    *FUNCTIONS,
]
