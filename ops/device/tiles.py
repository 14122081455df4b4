"""The order of tiles."""

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
