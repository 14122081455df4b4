"""Arithmetic of grids and blocks."""


def cdiv(x: int, y: int) -> int:
    """x / y rounded up."""
    return (x + y - 1) // y


def next_power_of_2(n: int) -> int:
    """The smallest power of two not below n."""
    return 1 << max(0, (n - 1).bit_length())
