"""Where the tiles of a grouped product are: which block of the route and which columns each has."""

import tandem
import tandem.language as tl
from ops.device.routes import BLOCK_WORDS, over


@tandem.jit
def place_in_parts(tile, blocks, columns, part):
    """The parts before the tile-th tile's own, the width of that one, and the tile's number there over the width, and what is left."""
    skipped = tile // tl.maximum(blocks * part, 1)
    width = tl.maximum(tl.minimum(part, columns - skipped * part), 1)
    of_part = tile - skipped * (blocks * part)
    at = of_part // width
    return skipped, width, at, of_part - at * width


@tandem.jit
def order_of_blocks(blocks_ptr, blocks, first_turn, early):
    """How many blocks of the first turn, which are so many, come before those of whole experts, the blocks before the rest, and what is
    added to a block's number among either to find it. `early`: how many of 256 blocks come first; they end with a group."""
    asked = blocks * early // 256
    words = blocks_ptr + asked * BLOCK_WORDS
    is_cut = asked < first_turn
    cut = tl.load(words + 4, mask=is_cut, other=first_turn)
    whole = tl.load(words + 2, mask=is_cut, other=blocks)
    until = cut + blocks - whole
    return cut, until, blocks + whole - cut, first_turn - until


@tandem.jit
def shared_out(blocks, halves, PROGRAMS: tl.constexpr):
    """How many of the tiles of full columns, those first in order, stay whole, how many halves the others have, the full columns of a
    block, and what a tile's number is divided by these with. A half behind the full columns comes with the halves of the last round's
    tiles, all dealt together, where programs so have fewer halves than with whole tiles alone; else that column is full, too."""
    full = halves // 2
    rest = blocks * full % PROGRAMS
    behind = tl.where(halves > 2 * full, blocks, 0)
    most = blocks * full // PROGRAMS * 2 + tl.cdiv(2 * rest + behind, PROGRAMS)
    are_fewer = most < 2 * tl.cdiv(blocks * tl.cdiv(halves, 2), PROGRAMS)
    full = tl.where(are_fewer, full, tl.cdiv(halves, 2))
    rest = tl.where(are_fewer, rest, 0)
    divisor = tl.maximum(full, 1)
    return blocks * full - rest, 2 * rest, full, (1 << 36) // divisor.to(tl.int64) + 1


@tandem.jit
def place_of_mixed(tile, shares):
    """The tile's block, its number among the block's full columns, or 0, the columns that it is one of, the halves before it in its column,
    those before that column but for full ones, and whether it is whole. There are fewer than 2**24 tiles, of fewer than 2**12 columns."""
    whole, halves, full, inverse = shares
    behind = tile - whole
    of_half = behind - halves
    number = tl.where(behind < 0, tile, whole + behind // 2)
    at = ((number.to(tl.int64) * inverse) >> 36).to(tl.int32)
    is_last = of_half >= 0
    left = tl.where(is_last, 0, number - at * full)
    at = tl.where(is_last, of_half, at)
    shift = tl.where(is_last, 2 * full, tl.where(behind < 0, 0, behind & 1))
    return at, left, tl.where(is_last, 1, full), shift, behind < 0


@tandem.jit
def words_of(at, left, width, blocks_ptr, blocks, order, is_tile, AWAITED: tl.constexpr):
    """What tells of the tile `at` * `width` + `left` of a part with so many columns, of which is nothing computed yet: these, and of the
    at-th block the first of its group and their number, its first row, what divides by that number, and the end, number and turn of its
    expert.
    Blocks of a group have one column, then the next; any of them tells where the others are, so nothing is looked up twice."""
    if AWAITED:
        cut, until, to_whole, to_rest = order
        is_whole = (at >= cut) & (at < until)
        at += tl.where(is_whole, to_whole, tl.where(at < cut, 0, to_rest))
    words = blocks_ptr + at * BLOCK_WORDS
    if AWAITED:
        at -= tl.where(is_whole, blocks, 0)
    first = tl.load(words + 4, mask=is_tile, other=0)
    height = tl.load(words + 5, mask=is_tile, other=1)
    row = tl.load(words + 1, mask=is_tile, other=0)
    inverse = tl.load(words + 7, mask=is_tile, other=0)
    end = tl.load(words + 6, mask=is_tile, other=0)
    expert = tl.load(words, mask=is_tile, other=0)
    turn = tl.load(words + 3, mask=is_tile, other=0)
    return at, left, width, first, height, row, inverse, end, expert, turn


@tandem.jit
def place_behind(at, left, width, leap, PROGRAMS: tl.constexpr):
    """Where this program's next tile is; divisions would hold it up."""
    at += leap
    left += PROGRAMS - leap * width
    at += tl.where(left >= width, 1, 0)
    left -= tl.where(left >= width, width, 0)
    return at, left


@tandem.jit
def rows_of(words, BLOCK_M: tl.constexpr):
    """The tile's column, its first row and end, and its rows: those behind the end are its last one again, which is there when
    the others are."""
    at, left, width, first, height, top, inverse, expert_end, expert, turn = words
    of_group = (at - first) * width + left
    of_column = over(of_group, inverse)
    row = top + (first - at + of_group - of_column * height) * BLOCK_M
    end = tl.minimum(row + BLOCK_M, expert_end)
    return of_column, row, end, tl.minimum(row + tl.arange(0, BLOCK_M), end - 1)


@tandem.jit
def slots_of(words, order_ptr, BLOCK_M: tl.constexpr):
    """The slots of the tile's rows; the words may be those of no tile."""
    of_column, row, end, rows = rows_of(words, BLOCK_M)
    return tl.load(order_ptr + rows, mask=rows >= 0, other=0)
