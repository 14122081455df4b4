"""Tensors of `triton_dist.utils` whose allocator makes them later, all at once."""

import torch


class LazyTensor:
    """A tensor that its allocator makes later; then it stands for it."""

    def __init__(self, name, shape, dtype, fill_value):
        self._name, self._shape, self._dtype, self._fill, self._tensor = name, torch.Size(shape), dtype, fill_value, None

    @property
    def is_materialized(self):
        return self._tensor is not None

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def nbytes(self):
        return self._shape.numel() * self._dtype.itemsize

    @property
    def tensor(self):
        if self._tensor is None:
            raise RuntimeError(f"`{self._name}` has no memory yet: its allocator's sync() gives it")
        return self._tensor

    def get_underlying_tensor(self):
        return self._tensor

    def make(self, create):
        self._tensor = create(self._shape, self._dtype)
        if self._fill is not None:
            self._tensor.fill_(self._fill)

    def fill_(self, value):
        if self._tensor is None:
            self._fill = value
        else:
            self._tensor.fill_(value)
        return self

    def zero_(self):
        return self.fill_(0)

    def __getattr__(self, name):
        return getattr(self.tensor, name)

    def __getitem__(self, index):
        return self.tensor[index]

    def __setitem__(self, index, value):
        self.tensor[index] = value

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        plain = lambda value: value.tensor if isinstance(value, LazyTensor) else value
        return function(*map(plain, args), **{name: plain(value) for name, value in (kwargs or {}).items()})


class LazyAllocator:
    """Makes tensors at once, or, when lazy, all of them at `sync()`."""

    def __init__(self, create_tensor_fn, free_tensor_fn=None, lazy=False):
        self._create, self._free, self.lazy, self._tensors = create_tensor_fn, free_tensor_fn, lazy, []

    @property
    def is_materialized(self):
        return all(tensor.is_materialized for tensor in self._tensors)

    def create_tensor(self, name, shape, dtype, fill_value=None):
        self._tensors.append(LazyTensor(name, shape, dtype, fill_value))
        if not self.lazy:
            self.sync()
        return self._tensors[-1]

    def sync(self):
        for tensor in self._tensors:
            if not tensor.is_materialized:
                tensor.make(self._create)

    materialize = sync

    def get_total_size(self):
        return sum(tensor.nbytes for tensor in self._tensors)

    def get_tensor_breakdown(self):
        return {tensor._name: tensor.nbytes for tensor in self._tensors}

    def print_memory_breakdown(self):
        for name, count in sorted(self.get_tensor_breakdown().items(), key=lambda item: -item[1]):
            print(f"{name}: {count} bytes")

    def get_total_size_mb(self):
        return self.get_total_size() / (1 << 20)

    def get_total_size_gb(self):
        return self.get_total_size() / (1 << 30)

    def free_tensor(self, tensor):
        tensor = get_underlying_tensor(tensor)
        if tensor is not None and self._free is not None:
            self._free(tensor)

    def __len__(self):
        return len(self._tensors)


def get_underlying_tensor(tensor):
    return tensor.get_underlying_tensor() if isinstance(tensor, LazyTensor) else tensor
