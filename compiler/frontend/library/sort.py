# Bitonic sort, and functions made of its steps. A tile is seen as [outer, groups, 2, inner]: partners differ in the third index.
import triton
import triton.language as tl


@triton.constexpr_function
def _axis(shape, dim):
    if dim is None:
        dim = len(shape) - 1
    assert -len(shape) <= dim < len(shape), f"`dim` is {dim}, outside the {len(shape)} dimensions"
    return dim % len(shape)


@triton.constexpr_function
def _product(sizes):
    result = 1
    for size in sizes:
        result = result * size
    return result


@triton.constexpr_function
def _log2(n):
    """The logarithm of `n`, a power of two, to the base of two."""
    result = 0
    while n > 1:
        n = n // 2
        result = result + 1
    return result


@triton.constexpr_function
def _count(k, size):
    assert 0 < k <= size and k & (k - 1) == 0, f"`k` is {k}, a power of two up to {size} is needed"
    return k


@triton.jit
def _halves(x, dim: tl.constexpr, distance: tl.constexpr):
    outer: tl.constexpr = _product(x.shape[:dim])
    inner: tl.constexpr = _product(x.shape[dim + 1:])
    groups: tl.constexpr = x.shape[dim] // (2 * distance)
    pairs = tl.reshape(x, [outer, groups, 2, distance * inner])
    return tl.split(tl.permute(pairs, [0, 1, 3, 2]))


@triton.jit
def _joined(low, high, shape: tl.constexpr):
    return tl.reshape(tl.permute(tl.join(low, high), [0, 1, 3, 2]), shape)


@triton.jit
def _compare_and_swap(x, dim: tl.constexpr, distance: tl.constexpr, run: tl.constexpr, descending: tl.constexpr):
    # Elements of one run are put in one order; runs alternate.
    low, high = _halves(x, dim, distance)
    groups: tl.constexpr = x.shape[dim] // (2 * distance)
    start = tl.arange(0, groups) * (2 * distance)
    flipped = ((start & run) != 0) ^ descending
    flipped = tl.reshape(flipped, [1, groups, 1])
    swap = (low > high) != flipped
    return _joined(tl.where(swap, high, low), tl.where(swap, low, high), x.shape)


@triton.jit
def _merge(x, dim: tl.constexpr, stages: tl.constexpr, run: tl.constexpr, descending: tl.constexpr):
    for stage in tl.static_range(stages):
        x = _compare_and_swap(x, dim, 2**(stages - 1 - stage), run, descending)
    return x


@triton.jit
def bitonic_merge(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    """The elements along `dim` in order, if they rise and then fall, or the other way round."""
    axis: tl.constexpr = _axis(x.shape, dim)
    return _merge(x, axis, _log2(x.shape[axis]), x.shape[axis], descending)


@triton.jit
def _kept(x, dim: tl.constexpr, distance: tl.constexpr, descending: tl.constexpr):
    low, high = _halves(x, dim, distance)
    kept = tl.where((low > high) == descending, low, high)
    return tl.reshape(kept, x.shape[:dim] + (x.shape[dim] // 2,) + x.shape[dim + 1:])


@triton.jit
def sort_impl(x, k: tl.constexpr = None, dim: tl.constexpr = None, descending: tl.constexpr = False):
    """The `k` elements that come first along the last dimension, in ascending or descending order; without `k`, all."""
    # Runs of k are in order, one this way, the next the other: those of their pairs that come first are the first k of both.
    axis: tl.constexpr = _axis(x.shape, dim)
    count: tl.constexpr = x.shape[axis] if k is None else _count(k, x.shape[axis])
    steps: tl.constexpr = _log2(count)
    halvings: tl.constexpr = _log2(x.shape[axis]) - steps
    for step in tl.static_range(1, steps + 1):
        x = _merge(x, axis, step, 2**step, descending)
    for halving in tl.static_range(halvings):
        x = _merge(_kept(x, axis, count, descending), axis, steps, count, descending)
    return x


@triton.jit
def sort(x, dim: tl.constexpr = None, descending: tl.constexpr = False):
    """The elements along `dim` in ascending or descending order. Its size is a power of two."""
    return sort_impl(x, None, dim, descending)


@triton.jit
def topk(x, k: tl.constexpr, dim: tl.constexpr = None):
    """The `k` largest elements along the last dimension, the largest first."""
    return sort_impl(x, k, dim, True)


@triton.jit
def flip(x, dim: tl.constexpr = None):
    """The elements along `dim` from the last to the first."""
    axis: tl.constexpr = _axis(x.shape, dim)
    steps: tl.constexpr = _log2(x.shape[axis])
    for step in tl.static_range(steps):
        low, high = _halves(x, axis, 2**step)
        x = _joined(high, low, x.shape)
    return x
