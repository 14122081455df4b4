"""What sums of slots are made of, whichever way."""

import tandem
import tandem.language as tl


@tandem.aggregate
class Slots:
    """What all items of a call have in common: the route of `tokens` tokens, whose slots' results are rows of `width` elements; sums of one
    peer `shard` behind those of the one before; a result of n columns, whose rows stand `pitch` apart; and how many columns items have at
    most. `packed`: results have the product's order of columns (ops/device/packed.py)."""

    route_ptr: tl.tensor
    tokens: tl.tensor
    width: tl.tensor
    shard: tl.tensor
    pitch: tl.tensor
    n: tl.tensor
    experts: tl.constexpr
    top_k: tl.constexpr
    ranks: tl.constexpr
    columns: tl.constexpr
    packed: tl.constexpr


@tandem.aggregate
class Item:
    """`rows` tokens from `first` on in `columns` columns from `left` on. `results`: of the slots. `to`: where a peer has the first token's
    sum, rows `width` apart, or, of this rank's own tokens, where this rank has what came from the others. `out`: the own tokens' result, of
    which there are `own_rows` rows: the sums of their slots first, then the peers' in the order of the ranks."""

    results_ptr: tl.tensor
    to_ptr: tl.tensor
    out_ptr: tl.tensor
    first: tl.tensor
    rows: tl.tensor
    left: tl.tensor
    columns: tl.tensor
    own_rows: tl.tensor
