"""Tandem's operators for PyTorch: CUDA tensors in and out, on PyTorch's current stream, under torch.compile and in CUDA graphs.

`init()` joins the run on this process's GPU. Functions: one for each operator (`ag_gemm`, `all_reduce`, ...), made from its table;
modules likewise: `ColumnParallelLinear`, `RowParallelLinear`; and `MixtureOfExperts`. See docs/guide/pytorch.md.
"""

try:
    import torch  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError("tandem.torch needs PyTorch 2.4 or later, built for CUDA: pip install torch", name=error.name) from None

from typing import TYPE_CHECKING

from . import library  # noqa: F401  registers torch.ops.tandem
from .experts_apart import ep_combine, ep_dispatch
from .functions import FUNCTIONS
from .fused import overlap_products
from .gathered_attention import ag_attention
from .linear import LAYERS
from .mixture import MixtureOfExperts
from .prepare import prepare
from .sdpa import attention, attention_varlen
from .ulysses import ContextParallelAttention, a2a_o_gemm, qkv_gemm_a2a
from .world import init, on, rank, release, size

if TYPE_CHECKING:  # a stub alone, which the build writes from the same tables, without what is imported above
    from ..torch_functions import *  # noqa: F403

# Functions with gradients of their own, imported above, stand in front of those that their tables make.
globals().update({name: made for name, made in {**FUNCTIONS, **LAYERS}.items() if name not in globals()})

__all__ = [
    "ContextParallelAttention",
    "MixtureOfExperts",
    "a2a_o_gemm",
    "ag_attention",
    "attention",
    "attention_varlen",
    "ep_combine",
    "ep_dispatch",
    "init",
    "on",
    "overlap_products",
    "prepare",
    "qkv_gemm_a2a",
    "rank",
    "release",
    "size",
]
__all__ += [name for name in (*LAYERS, *FUNCTIONS) if name not in __all__]
