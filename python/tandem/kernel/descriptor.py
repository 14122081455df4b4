"""Tensor descriptors made on the host."""


class TensorDescriptor:
    """A strided tensor and the block shape kernels access it with. Strides are in elements; the last must be 1. Elements outside the
    tensor read as `padding` says: "zero" or "nan"."""

    def __init__(self, base, shape, strides, block_shape, padding="zero"):
        if not len(shape) == len(strides) == len(block_shape):
            raise ValueError(f"shape, strides and block_shape have {len(shape)}, {len(strides)} and {len(block_shape)} dimensions")
        if strides and strides[-1] != 1:
            raise ValueError("the last stride of a tensor descriptor must be 1")
        if padding not in ("zero", "nan"):
            raise ValueError(f'`padding` of a tensor descriptor is "zero" or "nan", not {padding!r}')
        self.base, self.shape, self.strides = base, [int(s) for s in shape], [int(s) for s in strides]
        self.block_shape, self.padding = [int(b) for b in block_shape], padding

    @staticmethod
    def from_tensor(tensor, block_shape, padding="zero"):
        """Of all of a tensor. `block_shape`: elements of a block along each axis; what it has outside reads as `padding`."""
        itemsize = tensor.itemsize if hasattr(tensor, "itemsize") else tensor.element_size()
        strides = tensor.stride() if callable(getattr(tensor, "stride", None)) else [s // itemsize for s in tensor.strides]
        return TensorDescriptor(tensor, list(tensor.shape), list(strides), block_shape, padding)
