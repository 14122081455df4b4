"""Plain kernels that read a matrix A (M x K), with loops and descriptors where others have none; each writes C (M x N) or D (M)."""

from plain_kernels import collected, refusals
from unseen_consumers import put, tile_of

import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@plain(lambda rows, columns: (rows, columns))
def loops_inside_branches(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs of odd columns go through K from its end, the others from its begin, by halves of a tile."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    if tl.program_id(1) % 2 == 0:
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            acc += tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N))
    else:
        for step in range(0, tl.cdiv(K, B)):
            inner = (tl.cdiv(K, B) - 1 - step) * B + tl.arange(0, B)
            acc += tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N))
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (5,))
def persistent_with_a_descriptor_for_each_tile(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Five programs deal out tiles; the descriptor of a tile's rows begins at these rows. With a bias and an activation."""
    width = tl.cdiv(N, B)
    for tile in tl.range(tl.program_id(0), tl.cdiv(M, B) * width, tl.num_programs(0)):
        row, columns = tile // width * B, tile % width * B + tl.arange(0, B)
        a = tl.make_tensor_descriptor(a_ptr + row * K, [M - row, K], [K, 1], [B, B])
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, K, B):
            acc = tl.dot(a.load([0, k]), tile_of(b_ptr, k + tl.arange(0, B), columns, K, N), acc)
        acc += tl.load(b_ptr + columns, mask=columns < N, other=0)[None, :]
        put(c_ptr, row + tl.arange(0, B), columns, M, N, acc * tl.sigmoid(acc))


@plain(lambda rows, columns: (rows * columns,))
def backwards_in_groups(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Groups of three row blocks, the last program first; the last group may be lower."""
    program = tl.num_programs(0) - 1 - tl.program_id(0)
    width, height = tl.cdiv(N, B), tl.cdiv(M, B)
    first = program // (3 * width) * 3
    of_group = tl.minimum(height - first, 3)
    row = (first + program % (3 * width) % of_group) * B
    rows, columns = row + tl.arange(0, B), program % (3 * width) // of_group * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    k = 0
    while k < K:
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
        k += B
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (rows, columns))
def last_tile_moved_back(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The last tile is moved back into the matrix where that has the rows of one, and stores what no other does."""
    row = tl.program_id(0) * B
    if row + B > M:
        row = tl.maximum(M - B, 0)
    rows, columns = row + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    inside = (rows >= tl.program_id(0) * B)[:, None] & (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside)


@plain(lambda rows, columns: (columns, rows, 3))
def thirds_of_k_added(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Split K by block pointers that advance by three tiles; each third adds to C by itself."""
    row, column = tl.program_id(1) * B, tl.program_id(0) * B
    part = tl.program_id(2) * B
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (row, part), (B, B), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (N, 1), (part, column), (B, B), (1, 0))
    acc = tl.zeros((B, B), tl.float32)
    for _ in range(part, K, 3 * B):
        left = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(left, tl.load(b, boundary_check=(0, 1), padding_option="zero"), acc)
        a, b = tl.advance(a, (0, 3 * B)), tl.advance(b, (3 * B, 0))
    rows, columns = row + tl.arange(0, B), column + tl.arange(0, B)
    inside = (rows[:, None] < M) & (columns[None, :] < N)
    tl.atomic_add(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside)


@plain(lambda rows, columns: (rows,))
def two_outputs_of_a_row(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """All columns of a row block, and its largest element, from two passes over A: the second by a descriptor."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    largest = tl.full((B,), float("-inf"), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        x = tl.where((inner < K)[None, :], tile_of(a_ptr, rows, inner, M, K), float("-inf"))
        largest = tl.maximum(largest, tl.max(x, 1))
    a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, K, B):
            acc = tl.dot(a.load([tl.program_id(0) * B, k]), tile_of(b_ptr, k + tl.arange(0, B), columns, K, N), acc)
        put(c_ptr, rows, columns, M, N, acc)
    tl.store(d_ptr + rows, largest, mask=rows < M)


@plain(lambda rows, columns: (columns, rows))
def turned_through_the_number_of_a_row(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows five apart, wrapped around: where five divides M, some are read more than once. The product is of A's and B's transposes."""
    rows = (tl.program_id(1) * B + tl.arange(0, B)) * 5 % M
    columns = tl.program_id(0) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        a = tl.load(a_ptr + inner[:, None] + rows[None, :] * K, mask=(inner < K)[:, None], other=0)
        b = tl.load(b_ptr + inner[None, :] * N + columns[:, None], mask=(inner < K)[None, :] & (columns < N)[:, None], other=0)
        acc = tl.dot(b, a, acc)
    put(c_ptr, tl.program_id(1) * B + tl.arange(0, B), columns, M, N, tl.trans(acc))


@plain(lambda rows, columns: (3, 2))
def persistent_on_two_axes(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Loops over row blocks and over column blocks, each dealt out along an axis of the launch; empty tiles are passed over."""
    for block in range(tl.program_id(0), tl.cdiv(M, B) + 1, tl.num_programs(0)):
        rows = block * B + tl.arange(0, B)
        if block * B < M:
            for column in range(tl.program_id(1) * B, N, tl.num_programs(1) * B):
                columns = column + tl.arange(0, B)
                acc = tl.zeros((B, B), tl.float32)
                for k in tl.static_range(3):
                    inner = k * B + tl.arange(0, B)
                    acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
                put(c_ptr, rows, columns, M, N, acc)


@refused("is not a box", lambda rows, columns: (rows, columns))
def rows_that_another_matrix_names(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A first row of B says which element of A is read."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    first = tl.load(b_ptr + columns, mask=columns < N, other=0)
    there = tl.abs(first).to(tl.int32) % M
    x = tl.load(a_ptr + there * K)  # REFUSED
    put(c_ptr, rows, columns, M, N, tl.broadcast_to(x[None, :], (B, B)))
