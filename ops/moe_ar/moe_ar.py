"""Between the grouped product and the all-reduce of grouped GEMM + AllReduce: the sums of each token's slots."""

import tandem
import tandem.language as tl
from ops.device.slots import sum_of_slots


@tandem.jit
def sum_slots(
    slots_ptr,
    route_ptr,
    sums_ptr,
    m,
    n,
    PROGRAMS: tl.constexpr,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    across = tl.cdiv(n, COLUMNS)
    for item in range(tl.program_id(0), tl.cdiv(m, ROWS) * across, PROGRAMS):
        tokens = item // across * ROWS + tl.arange(0, ROWS)[:, None]
        columns = item % across * COLUMNS + tl.arange(0, COLUMNS)[None, :]
        inside = (tokens < m) & (columns < n)
        total = sum_of_slots(slots_ptr, route_ptr, tokens, columns, inside, m, n, E, TOP_K)
        tl.store(sums_ptr + tokens.to(tl.int64) * n + columns, total.to(sums_ptr.dtype.element_ty), mask=inside)
