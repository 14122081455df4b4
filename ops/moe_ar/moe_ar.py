"""Between the grouped product and the all-reduce of grouped GEMM + AllReduce: the sums of each token's slots."""

import tandem
import tandem.language as tl
from ops.device.packed import packed, packed_width
from ops.device.routes import is_of_call
from ops.device.slots import sum_of_slots


@tandem.jit
def sum_slots(
    rows_ptr,
    route_ptr,
    sums_ptr,
    findings_ptr,
    m,
    n,
    PROGRAMS: tl.constexpr,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    TILE_M: tl.constexpr,
    TILE_N: tl.constexpr,
):
    """The product has tiles of TILE_M rows and TILE_N columns."""
    tokens_of_route = tl.where(is_of_call(route_ptr, findings_ptr, m, E, TOP_K, TILE_M), m, 0)
    width = packed_width(n)
    across = tl.cdiv(width, COLUMNS)
    for item in range(tl.program_id(0), tl.cdiv(m, ROWS) * across, PROGRAMS):
        tokens = item // across * ROWS + tl.arange(0, ROWS)[:, None]
        columns = item % across * COLUMNS + tl.arange(0, COLUMNS)[None, :]
        inside = (tokens < m) & (columns < width)
        total = sum_of_slots(rows_ptr, route_ptr, tokens, columns, inside, tokens_of_route, width, E, TOP_K)
        total = total.to(sums_ptr.dtype.element_ty)
        if TILE_N >= 32:
            total = packed(total, ROWS, COLUMNS)
        to = sums_ptr + tokens.to(tl.int64) * n + columns
        tl.store(to, total, mask=inside & (columns < n))
