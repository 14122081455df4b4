"""Tiles in the order in which threads have them."""

import tandem
import tandem.language as tl


@tandem.jit
def packed(tile, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The tile in an order in which a thread has what it stores: of 32 columns, first those that one thread of a GPU's product has. Twice
    is as it was. So results are written and read in whole words and go to no other thread."""
    if COLUMNS < 32:
        return tile
    return tile.reshape(ROWS, COLUMNS // 32, 4, 4, 2).permute(0, 1, 3, 2, 4).reshape(ROWS, COLUMNS)


@tandem.jit
def packed_width(columns):
    """The columns that rows of packed tiles have."""
    return tl.cdiv(columns, 32) * 32
