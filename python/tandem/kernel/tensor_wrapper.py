"""A tensor of a framework that kernels read as another element type."""

import functools


class TensorWrapper:
    """`base`'s memory under the element type `dtype`. What is asked of it may be set, as in Triton."""

    def __init__(self, base, dtype):
        self.base, self.dtype = base, dtype

    data = functools.cached_property(lambda self: self.base.data)
    device = functools.cached_property(lambda self: self.base.device)
    shape = functools.cached_property(lambda self: self.base.shape)

    def data_ptr(self):
        return self.base.data_ptr()

    def get_device(self):
        return self.base.get_device()

    def stride(self, *dimension):
        return self.base.stride(*dimension)

    def element_size(self):
        return self.base.element_size()

    def copy_(self, other):
        self.base.copy_(other.base)

    def clone(self):
        return TensorWrapper(self.base.clone(), self.dtype)

    def cpu(self):
        return TensorWrapper(self.base.cpu(), self.dtype)

    def to(self, device):
        return TensorWrapper(self.base.to(device), self.dtype)

    def new_empty(self, sizes):
        return TensorWrapper(self.base.new_empty(sizes), self.dtype)

    def __str__(self):
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor, dtype):
    """The tensor under another element type of the same size; under its own it is the tensor itself."""
    base = tensor.base if isinstance(tensor, TensorWrapper) else tensor
    if not hasattr(base, "data_ptr"):
        raise TypeError(f"a `{type(tensor).__name__}` has no memory to read as `{dtype}`")
    return base if dtype == base.dtype else TensorWrapper(base, dtype)
