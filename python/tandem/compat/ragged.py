"""`triton.tools.ragged_tma`: a descriptor of a concatenation of subarrays along one dimension, whose accesses stay in their subarray.

A subarray of `size` rows that begins at row `offset` ends at row `end = offset + size`. The descriptor has `_ROWS` rows, and an access
names its row r as `_ROWS - size + r`, so that a row beyond the end is beyond the descriptor. Two dimensions of 2**31 steps before it bring
the address back: `_ROWS` steps of minus a row, and `end` steps of a row.
"""

from .. import language as tl
from ..jit import jit
from ..kernel.descriptor import TensorDescriptor

_ROWS = tl.constexpr(1 << 30)
_STEPS = 0x7FFF0000  # what a dimension of a descriptor can hold, nearly


def create_ragged_descriptor(T, block_shape, ragged_dim=0):
    """A descriptor of the tensor `T`, of rank 2 or 3, for the three functions below; `ragged_dim` is not the last dimension."""
    rank = len(T.shape)
    at = ragged_dim + rank if ragged_dim < 0 else ragged_dim
    if not 0 <= at < rank - 1:
        raise AssertionError("the last dimension cannot be ragged")
    if rank > 3:
        raise AssertionError("a ragged descriptor is of a tensor with at most 3 dimensions")
    if len(block_shape) != rank:
        raise AssertionError(f"`block_shape` has {len(block_shape)} sizes, the tensor {rank} dimensions")
    if T.shape[at] > _ROWS.value:
        raise AssertionError("the ragged dimension has more than 2**30 rows")
    row = T.stride(at)
    shape = [_STEPS, _STEPS] + [_ROWS.value if i == at else size for i, size in enumerate(T.shape)]
    strides = [(1 << 34) - row, row] + [T.stride(i) for i in range(rank)]
    return TensorDescriptor(T, shape, strides, [1, 1, *block_shape])


@jit
def to_ragged_indices(batch_offset, batch_size, row):
    """The indices of a row in the two leading dimensions and in the ragged one."""
    return _ROWS, batch_offset + batch_size, _ROWS - batch_size + row


@jit
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = 0):
    """The block at `coords` of the subarray `[batch_offset, batch_offset + batch_size)`; zeros beyond its end."""
    tl.static_assert(len(TMA.shape) == len(coords) + 2, "the descriptor is not one of `create_ragged_descriptor`")
    back, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    block = TMA.load([back, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :])
    return tl.reshape(block, block.shape[2:])


@jit
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Writes the block at `coords` of the subarray; nothing beyond its end."""
    back, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    TMA.store([back, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :], tl.reshape(data, (1, 1) + data.shape))


@jit
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Adds to the block at `coords` of the subarray; nothing beyond its end."""
    back, end, row = to_ragged_indices(batch_offset, batch_size, coords[ragged_dim])
    TMA.atomic_add([back, end] + coords[:ragged_dim] + [row] + coords[ragged_dim + 1 :], tl.reshape(data, (1, 1) + data.shape))
