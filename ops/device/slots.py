"""Sums of the results of each token's slots."""

import tandem
import tandem.language as tl
from ops.device.routes import place_of


@tandem.jit
def sum_of_slots(slots_ptr, route_ptr, tokens, columns, inside, m, n, E: tl.constexpr, TOP_K: tl.constexpr):
    """The sums over the slots of these tokens, [tokens, 1], in these columns, [1, columns], in fp32 and in the order of the slots; those
    that are dropped count nothing."""
    total = tl.zeros((tokens.shape[0], columns.shape[1]), dtype=tl.float32)
    for k in tl.static_range(TOP_K):
        slot = tokens * TOP_K + k
        place = tl.load(place_of(route_ptr, E, m * TOP_K) + slot, mask=tokens < m, other=-1)
        results = tl.load(slots_ptr + slot.to(tl.int64) * n + columns, mask=inside & (place >= 0), other=0.0)
        total += results.to(tl.float32)
    return total
