"""Kernels on NVIDIA GPUs: `kernel[grid](...)` with CUDA arrays, outside of a run or on a rank that is a GPU.

Arrays are whatever has `data_ptr()`, `dtype` and `get_device()` (PyTorch's tensors) or `__cuda_array_interface__`. A kernel is compiled
for the device its arrays are on and launched on PyTorch's current stream (or `stream=`, or the default stream).
"""

from .device import current_device, devices, is_available, synchronize, target_of

__all__ = ["current_device", "devices", "is_available", "synchronize", "target_of"]
