"""The order in which kernels take their tiles.

These functions are arithmetic on integers from 0, for the build writes them in C++ as well (tools/host_functions.cpp): the operators'
models reckon with the order that the kernels follow.
"""

import tandem
import tandem.language as tl


@tandem.jit
def place_in_shard(local, blocks, columns, GROUP: tl.constexpr):
    """Row block and column of a shard's local-th tile: GROUP row blocks share the columns they read."""
    in_group = GROUP * columns
    top = local // in_group * GROUP
    in_column = tl.minimum(blocks - top, GROUP)
    # No number here is negative; copies of blocks want to know.
    return tl.maximum(top + local % in_group % in_column, 0), tl.maximum(local % in_group // in_column, 0)


@tandem.jit
def gathered_tile(tile, blocks, columns, GROUP: tl.constexpr):
    """Where the tile-th tile of gathered rows is: its shard, as the nth rank before this one; its row block and its column. This rank's
    own shard comes first, and the others as they arrive."""
    nth = tile // (blocks * columns)
    block, column = place_in_shard(tile - nth * (blocks * columns), blocks, columns, GROUP)
    return nth, block, column


@tandem.jit
def piece_of(item, whole, left):
    """The tile and its piece of the item-th piece of work: whole tiles first, then the first pieces of the `left` other ones, their second
    pieces, and so on."""
    piece = tl.where(item < whole, 0, (item - whole) // tl.maximum(left, 1))
    return item - piece * left, piece
