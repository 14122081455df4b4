"""Where things stand in a route, one array of 32-bit words that says which token goes to which expert (ops/route).

Slot s belongs to token s // top_k. Rows are the slots that are not dropped, those of expert 0 first. A block is BLOCK rows of one expert,
fewer at the expert's end.

Blocks stand in the order of their turns, then of their experts; over several ranks they stand once more behind that, by experts alone, so
that each expert's matrix can be read once. A turn there is that of the group's last block, or the last turn.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.findings import tell_of_program
from tandem.simt import expect

HEADER = tl.constexpr(64)
# Expert, first row, where the group's first block stands by experts, turn, first block of its group, blocks of the group, the expert's end,
# what `over` divides by the blocks with.
BLOCK_WORDS = tl.constexpr(8)
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
BAD_PLACE = tl.constexpr(11)  # a finding, as are these numbers behind 1
ALIGN = tl.constexpr(11)  # above 1 where each expert's places begin at a multiple of it; 0: places are rows
FIRST_TURN = tl.constexpr(12)  # blocks of the first turn


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
    """[slots]: the row of each slot, with ALIGN its place among padded ones; -1 where it is dropped."""
    return route_ptr + (HEADER + 2 * experts + slots)


@tandem.jit
def weights_of(route_ptr, experts, slots):
    """[slots]: what each slot's result is multiplied with, float32."""
    return (route_ptr + (HEADER + 2 * experts + 2 * slots)).to(tl.pointer_type(tl.float32), bitcast=True)


@tandem.jit
def blocks_of(route_ptr, experts, slots):
    """[blocks, BLOCK_WORDS], by turns"""
    return route_ptr + (HEADER + 2 * experts + 3 * slots)


@tandem.jit
def inverse_of(height):
    """What `over` divides by a group's blocks with."""
    return (1 << 20) // height + 1


@tandem.jit
def over(number, inverse):
    """number // height, of fewer than 2**20 / height, without a division."""
    return ((number.to(tl.int64) * inverse) >> 20).to(tl.int32)


@tandem.jit
def tell_word(route_ptr, findings_ptr, WORD: tl.constexpr, needed, is_first, WHAT: tl.constexpr):
    """Tells of a word that is not as needed, if it is the first one. Returns true if there is still none."""
    seen = tl.load(route_ptr + WORD)
    expect(seen == needed, WHAT)
    if is_first & (seen != needed):
        tell_of_program(findings_ptr, WORD + 1, seen, needed)
    return is_first & (seen == needed)


@tandem.jit
def is_of_call(route_ptr, findings_ptr, tokens, E, K: tl.constexpr, BLOCK: tl.constexpr, PLACES: tl.constexpr = 0):
    """True for a route of this rank that has as many tokens, experts and experts of a token, blocks of as many rows (0: any), and places
    with this ALIGN (-1: any). What another one says leads outside of the call's tensors."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    fits = (tl.load(route_ptr + TOKENS) == tokens) & (tl.load(route_ptr + TOP_K) == K) & (tl.load(route_ptr + EXPERTS) == E)
    fits = fits & (tl.load(route_ptr + RANKS) == ranks) & (tl.load(route_ptr + RANK) == rank)
    if PLACES >= 0:
        fits = fits & (tl.load(route_ptr + ALIGN) == PLACES)
    if BLOCK:
        fits = fits & (tl.load(route_ptr + BLOCK_ROWS) == BLOCK)
    if not fits:
        is_first = tell_word(route_ptr, findings_ptr, TOKENS, tokens, True, "`route` is of another number of tokens")
        is_first = tell_word(route_ptr, findings_ptr, TOP_K, K, is_first, "`route` has another number of experts of a token")
        is_first = tell_word(route_ptr, findings_ptr, EXPERTS, E, is_first, "`route` is of another number of experts")
        is_first = tell_word(route_ptr, findings_ptr, RANKS, ranks, is_first, "`route` is of a team of another size")
        is_first = tell_word(route_ptr, findings_ptr, RANK, rank, is_first, "`route` is another rank's")
        if PLACES >= 0:
            is_first = tell_word(route_ptr, findings_ptr, ALIGN, PLACES, is_first, "`route` has places of another `align`")
        if BLOCK:
            tell_word(route_ptr, findings_ptr, BLOCK_ROWS, BLOCK, is_first, "`route` has blocks of another number of rows")
    return fits
