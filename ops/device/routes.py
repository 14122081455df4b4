"""Where things stand in a route, one array of 32-bit words that says which token goes to which expert (ops/route).

Slot s belongs to token s // top_k. Rows are the slots that are not dropped, those of expert 0 first. A block is BLOCK rows of one expert,
fewer at the expert's end.
"""

import tandem
import tandem.language as tl

HEADER = tl.constexpr(64)
BLOCK_WORDS = tl.constexpr(8)  # expert, first row, end, turn, first block of its group, blocks of the group, the expert's end, 0
BAD_IDS = tl.constexpr(0)  # how many ids are neither -1 nor an expert's
FIRST_BAD = tl.constexpr(1)  # the first slot with one
TOKENS = tl.constexpr(2)
TOP_K = tl.constexpr(3)
EXPERTS = tl.constexpr(4)
BLOCK_ROWS = tl.constexpr(5)
BLOCKS = tl.constexpr(6)
ROWS = tl.constexpr(7)
RANKS = tl.constexpr(8)
RANK = tl.constexpr(9)


@tandem.jit
def offsets_of(route_ptr):
    """[experts + 1]: the first row of each expert, and the number of rows."""
    return route_ptr + HEADER


@tandem.jit
def order_of(route_ptr, experts):
    """[slots]: the slot of each row."""
    return route_ptr + (HEADER + 2 * experts)


@tandem.jit
def place_of(route_ptr, experts, slots):
    """[slots]: the row of each slot, -1 where it is dropped."""
    return route_ptr + (HEADER + 2 * experts + slots)


@tandem.jit
def weights_of(route_ptr, experts, slots):
    """[slots]: what each slot's result is multiplied with, float32."""
    return (route_ptr + (HEADER + 2 * experts + 2 * slots)).to(tl.pointer_type(tl.float32), bitcast=True)


@tandem.jit
def blocks_of(route_ptr, experts, slots):
    """[blocks, BLOCK_WORDS]"""
    return route_ptr + (HEADER + 2 * experts + 3 * slots)
