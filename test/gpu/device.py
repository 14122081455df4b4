"""Arrays between NumPy and the GPU, and whether the GPU still answers. Knows PyTorch and the emulated driver, no kernels."""

import emulated
import numpy as np
from cases import DTYPES

_TORCH = {"bf16": "bfloat16", "fp8e4nv": "float8_e4m3fn", "fp8e5": "float8_e5m2"}


def is_available():
    """Returns true if there are PyTorch and a GPU, or an emulated one."""
    if emulated.is_chosen():
        return True
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def is_lost():
    """Returns true if an earlier kernel broke this process's context."""
    try:
        synchronize()
        if emulated.is_chosen():
            return False
        import torch

        torch.zeros(1, device="cuda").item()
    except Exception:
        return True
    return False


def to_device(value):
    """A copy of an argument with CUDA tensors for its arrays. Strides of arrays are kept."""
    if isinstance(value, tuple):
        return type(value)(*map(to_device, value)) if hasattr(value, "_fields") else tuple(map(to_device, value))
    if type(value).__name__ == "TensorDescriptor":
        return type(value)(to_device(value.base), value.shape, value.strides, value.block_shape, value.padding)
    if not isinstance(value, np.ndarray):
        return value
    if emulated.is_chosen():
        return emulated.Array(value)
    import torch

    words = value if value.dtype.isbuiltin == 1 else value.view(f"u{value.itemsize}")
    tensor = torch.from_numpy(words).cuda()
    if words is value:
        return tensor
    (word,) = (w for w in _TORCH if np.dtype(DTYPES[w]) == value.dtype)
    return tensor.view(getattr(torch, _TORCH[word]))


def to_host(tensor, like):
    """The tensor as an array of `like`'s type and shape."""
    if emulated.is_chosen():
        return tensor.host()
    import torch

    return tensor.contiguous().flatten().view(torch.uint8).cpu().numpy().view(like.dtype).reshape(like.shape)


def synchronize():
    if emulated.is_chosen():
        return emulated.synchronize()
    import torch

    torch.cuda.synchronize()
