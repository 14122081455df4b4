"""Kernels with the types of their tensors."""

import dataclasses

import tandem


@dataclasses.dataclass
class Plain:
    """A kernel of the arguments a, b, r, s, c, d, M, N, K and B; `refused`: what its error says."""

    kernel: object
    types: list  # of A, of B, of R and C, of D
    grid: object  # of the numbers of row blocks and column blocks
    over: object
    refused: str | None


def collected():
    """A list, a decorator that adds a kernel to it, and one for a kernel that is refused."""
    kernels = []

    def plain(types, grid, over=None, refused=None):
        def add(function):
            kernel = tandem.jit(function)
            kernels.append(Plain(kernel, types.split(", "), grid, over, refused))
            return kernel

        return add

    return kernels, plain, lambda words, types, grid, over=None: plain(types, grid, over, words)
