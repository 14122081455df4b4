"""For each expert the sum over its rows of one matrix's row times another's: the gradient of the matrices of a grouped product."""

import tandem
import tandem.language as tl
from ops.device.routes import is_of_call, offsets_of, order_of, weights_of


@tandem.jit
def grouped_outer(
    h_ptr,
    x_ptr,
    out_ptr,
    route_ptr,
    findings_ptr,
    n,
    k,
    slots,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PROGRAMS: tl.constexpr,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    WEIGH: tl.constexpr,
):
    """out[E, n, k]: of h[slots, n], the route's rows, and x[tokens, k]. WEIGH: times the route's weights."""
    fits = is_of_call(route_ptr, findings_ptr, slots // TOP_K, E, TOP_K, 0)
    down = tl.cdiv(n, BLOCK_N)
    across = tl.cdiv(k, BLOCK_K)
    for tile in range(tl.program_id(0), E * down * across, PROGRAMS):
        expert = tile // (down * across)
        n_range = tile // across % down * BLOCK_N + tl.arange(0, BLOCK_N)
        k_range = tile % across * BLOCK_K + tl.arange(0, BLOCK_K)
        first = tl.load(offsets_of(route_ptr) + expert)
        end = tl.where(fits, tl.load(offsets_of(route_ptr) + expert + 1), first)
        acc = tl.zeros((BLOCK_N, BLOCK_K), dtype=tl.float32)
        for begin in range(first, end, BLOCK_M):
            row = begin + tl.arange(0, BLOCK_M)
            inside = row < end
            slot = tl.load(order_of(route_ptr, E) + row, mask=inside, other=0)
            h_ptrs = h_ptr + row[None, :].to(tl.int64) * n + n_range[:, None]
            h = tl.load(h_ptrs, mask=inside[None, :] & (n_range[:, None] < n), other=0.0)
            if WEIGH:
                weight = tl.load(weights_of(route_ptr, E, slots) + slot, mask=inside, other=0.0)
                h = (h.to(tl.float32) * weight[None, :]).to(h_ptr.dtype.element_ty)
            x_ptrs = x_ptr + (slot // TOP_K)[:, None].to(tl.int64) * k + k_range[None, :]
            x = tl.load(x_ptrs, mask=inside[:, None] & (k_range[None, :] < k), other=0.0)
            acc = tl.dot(h, x, acc, input_precision="ieee")
        at = (expert.to(tl.int64) * n + n_range)[:, None] * k + k_range[None, :]
        tl.store(out_ptr + at, acc.to(out_ptr.dtype.element_ty), mask=(n_range[:, None] < n) & (k_range[None, :] < k))
