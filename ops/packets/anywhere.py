"""Packets of a tensor that may begin anywhere: a thread reads the 16 bytes of one from the two aligned ones that they lie in, and a warp
writes aligned ones, each lane what ends in its packet. So odd sizes cost a few instructions, not an access for each element.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.packets import load_elements, store_elements
from tandem.simt import __shfl_up_sync_i32, laneid, ld_vector, st


@tandem.jit
def behind_aligned(ptr, ELEMENTS: tl.constexpr):
    """How many elements stand before this one in its 16 bytes."""
    return (ptr.to(tl.int64) & 15).to(tl.int32) // (16 // ELEMENTS)


@tandem.jit
def from_both(low, high, count, ELEMENTS: tl.constexpr):
    """The elements of `low` and `high`, one behind the other, from the count-th on, of at most ELEMENTS."""
    first, last = low.recast(tl.uint64), high.recast(tl.uint64)
    bits = (count * (128 // ELEMENTS)).to(tl.uint64)
    one, two, three = first[0], first[1], last[0]
    if bits >= 64:
        one, two, three = first[1], last[0], last[1]
        bits -= 64
    if bits >= 64:
        one, two = last[0], last[1]
        bits -= 64
    # Bits are shifted in two steps, as none may be shifted by 64.
    return dl.make_vector([(one >> bits) | ((two << 1) << (63 - bits)), (two >> bits) | ((three << 1) << (63 - bits))]).recast(low.dtype)


@tandem.jit
def load_anywhere(x_ptr, at, begin, end, ELEMENTS: tl.constexpr):
    """The packet at element `at` of x, of which nothing is read outside of `begin` to `end`."""
    back = behind_aligned(x_ptr + at, ELEMENTS)
    values = dl.zeros_vector(ELEMENTS, x_ptr.dtype.element_ty)
    if back == 0:
        values = load_elements(x_ptr, at, end, ELEMENTS, True)
    elif (at - back >= begin) & (at - back + 2 * ELEMENTS <= end):
        low = ld_vector(x_ptr + (at - back), ELEMENTS, "gpu", "weak")
        high = ld_vector(x_ptr + (at - back + ELEMENTS), ELEMENTS, "gpu", "weak")
        values = from_both(low, high, back, ELEMENTS)
    else:
        values = load_elements(x_ptr, at, end, ELEMENTS, False)
    return values


@tandem.jit
def store_anywhere(out_ptr, at, end, values, ELEMENTS: tl.constexpr):
    """The packets of a warp, one behind the other from lane 0's, each at element `at` of out, nothing from `end` on."""
    lane = laneid()
    back = behind_aligned(out_ptr + at, ELEMENTS)
    words = values.recast(tl.int32)
    before = dl.zeros_vector(4, tl.int32)
    for i in tl.static_range(4):
        before[i] = __shfl_up_sync_i32(0xFFFFFFFF, words[i], 1)
    first = at - back
    if back == 0:
        store_elements(out_ptr, at, end, values, ELEMENTS, True)
    else:
        if lane > 0:
            store_elements(out_ptr, first, end, from_both(before.recast(values.dtype), values, ELEMENTS - back, ELEMENTS), ELEMENTS, True)
        if (lane == 0) | (lane == 31):  # what no lane joins: the begin of the first packet, and the end of the last one
            for j in tl.static_range(ELEMENTS):
                if ((lane == 0) == (j < ELEMENTS - back)) & (at + j < end):
                    st(out_ptr + at + j, values[j], semantic="weak")
