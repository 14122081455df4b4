"""A product of matrices by a plain kernel, for ranks that have no library which multiplies: simulated ones, above all."""

import tandem
import tandem.language as tl
from tandem.tilelink.product import product_by_pointers


@tandem.jit
def product(
    a_ptr,
    b_ptr,
    c_ptr,
    added_ptr,
    m,
    n,
    k,
    BLOCK: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PROGRAMS: tl.constexpr,
    B_TRANSPOSED: tl.constexpr,
    IS_ADDED: tl.constexpr,
):
    columns = tl.cdiv(n, BLOCK)
    in_block = tl.arange(0, BLOCK)
    for tile in range(tl.program_id(0), tl.cdiv(m, BLOCK) * columns, PROGRAMS):
        row = tile // columns * BLOCK
        column = tile % columns * BLOCK
        offsets = (row + in_block)[:, None].to(tl.int64) * n + (column + in_block)[None, :]
        is_inside = (row + in_block < m)[:, None] & (column + in_block < n)[None, :]
        acc = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
        if IS_ADDED:
            acc += tl.load(added_ptr + offsets, mask=is_inside, other=0.0)
        b_pitch = k if B_TRANSPOSED else n
        acc = product_by_pointers(acc, a_ptr, row, m - row, k, b_ptr, column, n, b_pitch, k, 0, tl.cdiv(k, BLOCK_K), BLOCK_K, B_TRANSPOSED)
        tl.store(c_ptr + offsets, acc.to(c_ptr.dtype.element_ty), mask=is_inside)


@tandem.jit
def sum_of_parts(parts_ptr, out_ptr, count, pitch, PARTS: tl.constexpr, BLOCK: tl.constexpr):
    """`count` elements of out: the sums of PARTS tensors that stand `pitch` elements apart."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for part in range(PARTS):
        total += tl.load(parts_ptr + part * pitch.to(tl.int64) + at, mask=at < count, other=0.0)
    tl.store(out_ptr + at, total.to(out_ptr.dtype.element_ty), mask=at < count)
