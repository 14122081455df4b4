"""Plain kernels that write a matrix C (M x N), written last, of forms that no other file has; some also write D (M)."""

from late_consumers import morton, squeezed
from plain_kernels import collected, refusals
from plain_producers import product
from unseen_consumers import put, tile_of

import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@plain(morton)
def along_a_curve(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    row, column = squeezed(tl.program_id(0) >> 1) * B, squeezed(tl.program_id(0)) * B
    if row < M and column < N:
        rows, columns = row + tl.arange(0, B), column + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda rows, columns: (rows, columns))
def rows_far_apart(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A tile has every so many-th row: each program writes into all shares."""
    rows = tl.program_id(0) + tl.num_programs(0) * tl.arange(0, B)
    columns = tl.program_id(1) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda rows, columns: (rows * columns,))
def dealt_by_sevens(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Neighbouring programs have tiles that are seven apart, where seven divides not their number; else in order."""
    count = tl.num_programs(0)
    tile = tl.program_id(0) * 7 % count if count % 7 != 0 else tl.program_id(0)
    rows, columns = tile // tl.cdiv(N, B) * B + tl.arange(0, B), tile % tl.cdiv(N, B) * B + tl.arange(0, B)
    put(c_ptr, rows, columns, M, N, product(a_ptr, b_ptr, rows, columns, M, N, K, B))


@plain(lambda rows, columns: (rows, columns))
def halves_by_parity(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The columns of a tile leave in two halves, in an order that the program's number decides, one with a bias."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    left, right = acc.reshape((B, 2, B // 2)).permute((0, 2, 1)).split()
    halves = tl.program_id(1) * B + tl.arange(0, B // 2)
    if tl.program_id(0) % 2 == 0:
        put(c_ptr, rows, halves, M, N, left)
        put(c_ptr, rows, halves + B // 2, M, N, right + 1)
    else:
        put(c_ptr, rows, halves + B // 2, M, N, right + 1)
        put(c_ptr, rows, halves, M, N, left)


@plain(lambda rows, columns: (rows, 1, 2))
def summed_by_descriptor(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Halves of K are added by a descriptor's own sums; all columns of a row block are one program's."""
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B])
    rows = tl.program_id(0) * B + tl.arange(0, B)
    for column in range(0, N, B):
        acc = tl.zeros((B, B), tl.float32)
        for k in range(tl.program_id(2) * B, K, 2 * B):
            inner = k + tl.arange(0, B)
            acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, column + tl.arange(0, B), K, N), acc)
        c.atomic_add([tl.program_id(0) * B, column], acc)


@plain(lambda rows, columns: (rows,))
def normalised(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A product, stored, then read again and divided by its rows' root of mean squares, which is the second output."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    squares = tl.zeros((B,), tl.float32)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
        squares += tl.sum(tl.where((columns < N)[None, :], acc * acc, 0), 1)
        put(c_ptr, rows, columns, M, N, acc)
    scale = tl.rsqrt(squares / N + 1e-5)
    tl.debug_barrier()
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        put(c_ptr, rows, columns, M, N, tile_of(c_ptr, rows, columns, M, N) * scale[:, None])
    tl.store(d_ptr + rows, scale, mask=rows < M)


@plain(lambda rows, columns: (columns, rows))
def turned_block_pointer(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """The transposed product through a block pointer of C with its axes exchanged."""
    c = tl.make_block_ptr(c_ptr, (N, M), (1, N), (tl.program_id(0) * B, tl.program_id(1) * B), (B, B), (0, 1))
    rows, columns = tl.program_id(1) * B + tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    tl.store(c, tl.trans(acc), boundary_check=(0, 1))


@plain(lambda rows, columns: (rows, columns))
def where_something_is(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Elements are stored where the first column of A says so; what is loaded decides a mask."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    wanted = tl.load(a_ptr + rows * K, mask=rows < M, other=0) > 0
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    inside = (rows < M)[:, None] & (columns < N)[None, :] & wanted[:, None]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=inside)


@refused("depends on what the kernel loads", lambda rows, columns: (3,))
def tickets(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs draw rows of tiles from a counter: who signals how often is decided as it runs."""
    counter = d_ptr.to(tl.pointer_type(tl.int32))
    block = tl.atomic_add(counter, 1)
    while block < tl.cdiv(M, B):
        rows = block * B + tl.arange(0, B)
        inside = (rows < M)[:, None] & (tl.arange(0, B) < N)[None, :]
        x = tile_of(a_ptr, rows, tl.arange(0, B), M, K)
        tl.store(c_ptr + rows[:, None] * N + tl.arange(0, B)[None, :], x, mask=inside)  # REFUSED
        block = tl.atomic_add(counter, 1)
