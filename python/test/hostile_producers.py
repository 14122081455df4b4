"""Plain kernels that write a matrix C (M x N), with loops, branches and descriptors where others have none; some also write D (M)."""

from plain_kernels import collected, refusals
from plain_producers import product
from unseen_consumers import put, tile_of

import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@plain(lambda rows, columns: (4,))
def persistent_loops_inside_branches(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The first two programs deal out the upper row blocks, the others the lower ones."""
    width, height = tl.cdiv(N, B), tl.cdiv(M, B)
    upper = height // 2 * width
    if tl.program_id(0) < 2:
        for tile in range(tl.program_id(0), upper, 2):
            rows, columns = tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B)
            put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))
    else:
        for nth in range(tl.program_id(0) - 2, height * width - upper, 2):
            tile = upper + nth
            rows, columns = tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B)
            put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda rows, columns: (rows, columns))
def early_returns(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Tiles above the diagonal stay as they are, those below have half of K."""
    if tl.program_id(0) < tl.program_id(1):
        return
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    if tl.program_id(0) > tl.program_id(1):
        put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K // 2, B))
        return
    put(c_ptr, rows, columns, M, N, tl.maximum(product(a_ptr, b_ptr, rows, columns, M, N, K, B), 0))


@plain(lambda rows, columns: (rows * columns,))
def descriptor_in_each_branch(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The upper half of the matrix has a descriptor of its own, and so has the lower one; in groups of two row blocks."""
    width, height = tl.cdiv(N, B), tl.cdiv(M, B)
    first = tl.program_id(0) // (2 * width) * 2
    of_group = tl.minimum(height - first, 2)
    row = (first + tl.program_id(0) % (2 * width) % of_group) * B
    column = tl.program_id(0) % (2 * width) // of_group * B
    half = height // 2 * B
    acc = product(a_ptr, b_ptr, row + tl.arange(0, B), column + tl.arange(0, B), M, N, K, B)
    if row < half:
        c = tl.make_tensor_descriptor(c_ptr, [half, N], [N, 1], [B, B])
        c.store([row, column], acc)
    else:
        c = tl.make_tensor_descriptor(c_ptr + half * N, [M - half, N], [N, 1], [B, B])
        c.store([row - half, column], acc)


@plain(lambda rows, columns: (rows, columns))
def upside_down(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows of the product in the opposite order, with a bias and a residual that is A's first column."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    acc += tl.load(a_ptr + rows * K, mask=rows < M, other=0)[:, None] + tl.load(b_ptr + columns, mask=columns < N, other=0)[None, :]
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + (M - 1 - rows)[:, None] * N + columns[None, :], acc, mask=inside)


@plain(lambda rows, columns: (rows,))
def block_pointer_along_a_row(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """All columns of a row block through a block pointer that advances, and its sums as a second output."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (tl.program_id(0) * B, 0), (B, B), (1, 0))
    total = tl.zeros((B,), tl.float32)
    for column in range(0, N, B):
        acc = product(a_ptr, b_ptr, rows, column + tl.arange(0, B), M, N, K, B)
        tl.store(c, acc, boundary_check=(0, 1))
        total += tl.sum(acc, 1)
        c = tl.advance(c, (0, B))
    tl.store(d_ptr + rows, total, mask=rows < M)


@plain(lambda rows, columns: (columns, 2, rows))
def added_to_a_first_store(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Parts of K in different programs, each of which adds what it has of a tile's left and of its right half."""
    rows = tl.program_id(2) * B + tl.arange(0, B)
    columns = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(tl.program_id(1) * B, K, 2 * B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    left = (tl.arange(0, B) < B // 2)[None, :]
    there = c_ptr + rows[:, None] * N + columns[None, :]
    tl.atomic_add(there, acc, mask=inside & left)
    tl.atomic_add(there, acc, mask=inside & (left == 0))


@plain(lambda rows, columns: (7,))
def a_while_of_two_counters(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Seven programs; a row and a column are counted on, and the row goes up when the columns are over."""
    width = tl.cdiv(N, B)
    tile = tl.program_id(0)
    while tile < tl.cdiv(M, B) * width:
        row = tile // width
        rows, columns = row * B + tl.arange(0, B), (tile - row * width) * B + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
        if tile % 3 == 0:
            acc = acc * 0.5
        put(c_ptr, rows, columns, M, N, acc)
        tile += tl.num_programs(0)


@refused("depends on what the kernel loads", lambda rows, columns: (rows, columns, 2))
def last_of_two_parts_stores(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A counter of each tile's row says which part of K comes second, and that one stores."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    counter = d_ptr.to(tl.pointer_type(tl.int32)) + tl.program_id(0)
    if tl.atomic_add(counter, 1) % 2 == 1:
        put_here = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
        inside = (rows < M)[:, None] & (columns < N)[None, :]
        tl.store(c_ptr + rows[:, None] * N + columns[None, :], put_here, mask=inside)  # REFUSED
