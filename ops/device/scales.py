"""Scales of fp8 (e4m3): elements that share one are divided by it, so that the largest is the type's largest."""

import tandem
import tandem.language as tl
from tandem.simt import __shfl_xor_sync_i32

LARGEST = tl.constexpr(448.0)  # of e4m3
SCALED_ELEMENTS = tl.constexpr(128)  # of a row, that share a scale


@tandem.jit
def joined(x, y, MOST: tl.constexpr):
    return tl.maximum(x, y) if MOST else x + y


@tandem.jit
def joined_lanes(value, LANES: tl.constexpr, MOST: tl.constexpr):
    """The sum of `value` over a power of two of neighbouring lanes, or the largest; in all of them."""
    for step in tl.static_range(5):
        if 1 << step < LANES:
            value = joined(value, __shfl_xor_sync_i32(-1, value, 1 << step), MOST)
    return value


@tandem.jit
def largest_of(values, most, ELEMENTS: tl.constexpr):
    for i in tl.static_range(ELEMENTS):
        most = tl.maximum(most, tl.abs(values[i]))
    return most
