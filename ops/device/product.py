"""Products of tiles. Operands are read as blocks where their rows are whole numbers of 16 bytes, else by pointers."""

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


@tandem.jit
def columns_of(b_ptr, n, k, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, B_TRANSPOSED: tl.constexpr):
    """Blocks of b, which is [k, n], or [n, k] with B_TRANSPOSED."""
    if B_TRANSPOSED:
        return tl.make_tensor_descriptor(b_ptr, shape=[n, k], strides=[k, 1], block_shape=[BLOCK_N, BLOCK_K])
    return tl.make_tensor_descriptor(b_ptr, shape=[k, n], strides=[n, 1], block_shape=[BLOCK_K, BLOCK_N])


@tandem.jit
def add_product(x, b, column, inner, acc, B_TRANSPOSED: tl.constexpr):
    """acc and the product of the block x with b's block there."""
    if B_TRANSPOSED:
        return tl.dot(x, b.load([column, inner]).T, acc, input_precision="ieee")
    return tl.dot(x, b.load([inner, column]), acc, input_precision="ieee")


@tandem.jit
def product_by_pointers(
    acc, a_ptr, row, rows, a_pitch, b_ptr, column, n, b_pitch, k, begin, end, BLOCK_K: tl.constexpr, B_TRANSPOSED: tl.constexpr
):
    """acc and the product of a's `rows` rows (at most those of acc) from `row` on with b's columns from `column` on, in steps `begin` to
    `end` of BLOCK_K. Rows of a, and of b as it lies, stand their pitch apart."""
    in_block = tl.arange(0, acc.shape[0])
    n_range = column + tl.arange(0, acc.shape[1])
    k_range = begin * BLOCK_K + tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (row + in_block)[:, None].to(tl.int64) * a_pitch + k_range[None, :]
    if B_TRANSPOSED:
        b_ptrs = b_ptr + n_range[None, :].to(tl.int64) * b_pitch + k_range[:, None]
        b_step = BLOCK_K
    else:
        b_ptrs = b_ptr + k_range[:, None].to(tl.int64) * b_pitch + n_range[None, :]
        b_step = BLOCK_K * b_pitch
    for step in range(end - begin):
        a_tile = tl.load(a_ptrs, mask=(in_block[:, None] < rows) & (k_range[None, :] < k - step * BLOCK_K), other=0.0)
        b_tile = tl.load(b_ptrs, mask=(k_range[:, None] < k - step * BLOCK_K) & (n_range[None, :] < n), other=0.0)
        acc = tl.dot(a_tile, b_tile, acc, input_precision="ieee")
        a_ptrs += BLOCK_K
        b_ptrs += b_step
    return acc


@tandem.jit
def store_tile(c, c_ptr, acc, row, column, rows, n, AS_BLOCK: tl.constexpr):
    """acc where c has n columns, from this row and column on: as a block of c, or by pointers, of which `rows` rows are there."""
    if AS_BLOCK:
        c.store([row, column], acc.to(c_ptr.dtype.element_ty))
    else:
        in_block = tl.arange(0, acc.shape[0])
        n_range = column + tl.arange(0, acc.shape[1])
        c_ptrs = c_ptr + (row + in_block)[:, None].to(tl.int64) * n + n_range[None, :]
        tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(in_block[:, None] < rows) & (n_range[None, :] < n))
