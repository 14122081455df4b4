"""Sums of the results of each token's slots."""

import tandem
import tandem.language as tl
from ops.device.routes import place_of, weights_of


@tandem.jit
def sum_of_slots(rows_ptr, route_ptr, tokens, columns, inside, m, width, E: tl.constexpr, TOP_K: tl.constexpr):
    """The sums over the slots of these tokens, [tokens, 1], in these columns, [1, columns], in fp32 and in the order of the slots, by their
    weights. rows[., width]: the result of each of the rows of a route of m tokens. Slots that are dropped count nothing, nor do tokens
    behind these."""
    total = tl.zeros((tokens.shape[0], columns.shape[1]), dtype=tl.float32)
    for k in tl.static_range(TOP_K):
        slot = tokens * TOP_K + k
        row = tl.load(place_of(route_ptr, E, m * TOP_K) + slot, mask=tokens < m, other=-1)
        weight = tl.load(weights_of(route_ptr, E, m * TOP_K) + slot, mask=row >= 0, other=0.0)
        results = tl.load(rows_ptr + row.to(tl.int64) * width + columns, mask=inside & (row >= 0), other=0.0)
        total += results.to(tl.float32) * weight
    return total
