"""Dispatched rows that landed by token, in memory of the operator's own, on their way to where the route has them by expert."""

import tandem
import tandem.language as tl
from ops.device.exchange import anyone, load_row, places_of, store_by_expert
from ops.device.routes import place_of
from tandem.simt import num_warps, tid


@tandem.jit
def spread(
    landed_ptr,
    landed_scales_ptr,
    route_ptr,
    rows_ptr,
    scales_ptr,
    tokens,
    columns,
    local_experts,
    shares,
    TOP_K: tl.constexpr,
    ELEMENTS: tl.constexpr,
    PIECES: tl.constexpr,
    ALIGNED: tl.constexpr,
    QUANTISED: tl.constexpr,
):
    """Rows that landed by token, to their slots' places by the route."""
    place_ptr = place_of(route_ptr, local_experts, tokens * TOP_K)
    step = tl.num_programs(0) * num_warps()
    for item in range(tl.program_id(0) * num_warps() + tid(0) // 32, tokens * shares, step):
        row = item // shares
        place = places_of(place_ptr, row, TOP_K)
        if anyone(place >= 0):
            values = load_row(landed_ptr, landed_scales_ptr, row, item % shares, columns, columns, ELEMENTS, PIECES, ALIGNED, QUANTISED)
            store_by_expert(rows_ptr, scales_ptr, place, item % shares, columns, values, ELEMENTS, PIECES, ALIGNED, QUANTISED)
