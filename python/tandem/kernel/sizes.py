"""Arithmetic of grids and blocks."""


def cdiv(x: int, y: int) -> int:
    """x / y rounded up."""
    return (x + y - 1) // y


def next_power_of_2(n: int) -> int:
    """The smallest power of two not below n; 0 of 0, for a part that is not there."""
    return 1 << (n - 1).bit_length() if n > 0 else 0
