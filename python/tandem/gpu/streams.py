"""CUDA streams that a launch may name, and PyTorch's current one."""

import sys


def stream_handle(stream, device):
    if stream is None:
        current = torch_stream()
        return current(device) if current else 0
    handle = getattr(stream, "cuda_stream", stream)
    if not isinstance(handle, int):
        raise TypeError(f"`stream` is a `{type(stream).__name__}`, not a CUDA stream or its handle")
    return handle


def torch_stream():
    """PyTorch's function from a device to its current stream, when PyTorch is in use."""
    torch = sys.modules.get("torch")
    return getattr(getattr(torch, "_C", None), "_cuda_getCurrentRawStream", None)
