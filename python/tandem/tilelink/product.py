"""Products of tiles whose rows a channel may bring while they are multiplied. Operands are read as blocks where their rows are whole
numbers of 16 bytes, else by pointers."""

import tandem
import tandem.language as tl


@tandem.jit
def rows_of(a_ptr, rows, k, BLOCK_M: tl.constexpr, BLOCK_K: tl.constexpr, BLOCKS: tl.constexpr = True):
    """Blocks of a matrix [rows, k]; without BLOCKS its address. Either leads a Product to its rows."""
    if BLOCKS:
        return tl.make_tensor_descriptor(a_ptr, shape=[rows, k], strides=[k, 1], block_shape=[BLOCK_M, BLOCK_K])
    return a_ptr


@tandem.jit
def columns_of(b_ptr, n, k, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, B_TRANSPOSED: tl.constexpr):
    """Blocks of b, which is [k, n], or [n, k] with B_TRANSPOSED."""
    if B_TRANSPOSED:
        return rows_of(b_ptr, n, k, BLOCK_N, BLOCK_K)
    return rows_of(b_ptr, k, n, BLOCK_K, BLOCK_N)


@tandem.jit
def widths_of(WIDTH: tl.constexpr):
    """The powers of two whose sum a width is, the largest first."""
    if WIDTH == 0:
        return ()
    LARGEST: tl.constexpr = tl.next_power_of_2(WIDTH + 1) // 2
    return (LARGEST, *widths_of(WIDTH - LARGEST))


@tandem.jit
def add_product(x, b, column, inner, acc, B_TRANSPOSED: tl.constexpr, TURNED: tl.constexpr = False):
    """acc and the product of the block x with b's block there; with TURNED acc is the transpose."""
    y = b.load([column, inner]) if B_TRANSPOSED else b.load([inner, column])
    if TURNED:
        return tl.dot(y if B_TRANSPOSED else y.T, x.T, acc, input_precision="ieee")
    return tl.dot(x, y.T if B_TRANSPOSED else y, acc, input_precision="ieee")


@tandem.jit
def product_by_pointers(
    acc,
    a_ptr,
    row,
    rows,
    a_pitch,
    b_ptr,
    column,
    n,
    b_pitch,
    k,
    begin,
    end,
    BLOCK_K: tl.constexpr,
    B_TRANSPOSED: tl.constexpr,
    TURNED: tl.constexpr = False,
):
    """acc and the product of a's `rows` rows (at most those of acc) from `row` on with b's columns from `column` on, in steps `begin` to
    `end` of BLOCK_K. Rows of a, and of b as it lies, stand their pitch apart. With TURNED acc is the transpose."""
    in_block = tl.arange(0, acc.shape[1 if TURNED else 0])
    n_range = column + tl.arange(0, acc.shape[0 if TURNED else 1])
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
        if TURNED:
            acc = tl.dot(b_tile.T, a_tile.T, acc, input_precision="ieee")
        else:
            acc = tl.dot(a_tile, b_tile, acc, input_precision="ieee")
        a_ptrs += BLOCK_K
        b_ptrs += b_step
    return acc


@tandem.aggregate
class Product:
    """A · B in tiles of `height` rows and `width` columns, by steps of `depth`. A is [rows, k] (rows_of), B [k, n], or [n, k] with
    b_transposed. `blocks`: they are read as blocks. A tile is a tuple of sums in fp32, one for each power of two in its width: one alone
    where nothing is read as blocks. With `turned` these are the transposes, for products of few rows."""

    b: tl.tuple
    n: tl.tensor
    k: tl.tensor
    height: tl.constexpr
    widths: tl.constexpr
    depth: tl.constexpr
    blocks: tl.constexpr
    b_transposed: tl.constexpr
    turned: tl.constexpr

    @tandem.jit
    def __init__(self, b_ptr, n, k, height, width, depth, blocks, b_transposed, turned=False):
        self.n = n
        self.k = k
        self.height = height
        self.widths = widths_of(width)
        tl.static_assert(blocks or len(self.widths) == 1, "where nothing is read as blocks, the width of a tile must be a power of two")
        self.depth = depth
        self.blocks = blocks
        self.b_transposed = b_transposed
        self.turned = turned
        self.b = ()
        for i in tl.static_range(len(self.widths)):
            if blocks:
                self.b += (columns_of(b_ptr, n, k, self.widths[i], depth, b_transposed),)
            else:
                self.b += (b_ptr,)

    @tandem.jit
    def rows_of(self, a_ptr, rows):
        """A matrix of so many rows as `tile` takes it."""
        return rows_of(a_ptr, rows, self.k, self.height, self.depth, self.blocks)

    @tandem.jit
    def tile(self, a, row, rows, column, begin, end, feed=None):
        """The tile of the `rows` rows of a from `row` on, at most a tile's, and the columns from `column` on, in steps `begin` to `end`.
        `feed` waits for a's rows, where these are on their way: `await_step(row, step, begin)` gives `row` once what the step reads is
        there, `await_steps(a, end)` gives a once what all of them read is."""
        sums = ()
        for i in tl.static_range(len(self.widths)):
            if self.turned:
                sums += (tl.zeros((self.widths[i], self.height), dtype=tl.float32),)
            else:
                sums += (tl.zeros((self.height, self.widths[i]), dtype=tl.float32),)
        if self.blocks:
            for step in range(begin, end):
                if feed is not None:
                    row = feed.await_step(row, step, begin)
                x = a.load([row, step * self.depth])
                left = column
                added = ()
                for i in tl.static_range(len(self.widths)):
                    added += (add_product(x, self.b[i], left, step * self.depth, sums[i], self.b_transposed, self.turned),)
                    left += self.widths[i]
                sums = added
        else:
            if feed is not None:
                a = feed.await_steps(a, end)
            b_pitch = self.k if self.b_transposed else self.n
            operands = (a, row, rows, self.k, self.b[0], column, self.n, b_pitch, self.k, begin, end)
            sums = (product_by_pointers(sums[0], *operands, self.depth, self.b_transposed, self.turned),)
        return sums


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


@tandem.aggregate
class Result:
    """A matrix [rows, n] of a product's tiles. `blocks`: they are stored as blocks, with every row that the matrix has."""

    blocks: tl.constexpr
    c_ptr: tl.tensor
    c: tl.tuple
    n: tl.tensor

    @tandem.jit
    def __init__(self, product, c_ptr, rows, blocks):
        self.blocks = blocks
        self.c_ptr = c_ptr
        self.n = product.n
        self.c = ()
        if blocks:
            for i in tl.static_range(len(product.widths)):
                self.c += (rows_of(c_ptr, rows, product.n, product.height, product.widths[i]),)

    @tandem.jit
    def store(self, sums, row, column, rows):
        """A tile at this row and column, of which `rows` rows are there."""
        left = column
        for i in tl.static_range(len(sums)):
            store_tile(self.c[i] if self.blocks else None, self.c_ptr, sums[i], row, left, rows, self.n, self.blocks)
            left += sums[i].shape[1]
