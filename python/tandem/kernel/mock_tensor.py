"""A mock tensor stands for an array when a kernel is compiled without a launch."""

import numpy as np


class MockTensor:
    """An element type in place of an array, for `kernel.warmup`. `dtype` is PyTorch's or NumPy's."""

    def __init__(self, dtype, shape=None):
        self.dtype, self.shape = dtype, [1] if shape is None else list(shape)

    def stride(self):
        return tuple(int(np.prod(self.shape[i + 1 :])) for i in range(len(self.shape)))

    @staticmethod
    def data_ptr():
        return 0  # an aligned array

    @staticmethod
    def get_device():
        return -1

    @staticmethod
    def wrap_dtype(value):
        """A MockTensor for an element type of PyTorch or NumPy, anything else as it is."""
        is_torchs = type(value).__module__ == "torch" and type(value).__name__ == "dtype"
        is_numpys = isinstance(value, np.dtype) or (isinstance(value, type) and issubclass(value, np.generic))
        return MockTensor(value) if is_torchs or is_numpys else value
