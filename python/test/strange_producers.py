"""Plain kernels that write a matrix C (M x N), in orders and by addresses that no other file has; some also write D (M)."""

from plain_kernels import collected, refusals
from plain_producers import product
from unseen_consumers import tile_of

import tandem.language as tl

ALL, plain = collected()
REFUSED, refused = refusals(plain)


@plain(lambda rows, columns: (3,))
def persistent_by_swizzle(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Three programs deal out tiles in swizzled groups of two row blocks, the last tile first, and store halves by a descriptor."""
    height, width = tl.cdiv(M, B), tl.cdiv(N, B)
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B // 2])
    for nth in range(tl.program_id(0), height * width, tl.num_programs(0)):
        tile = height * width - 1 - nth
        i, j = tl.swizzle2d(tile // width, tile % width, height, width, 2)
        acc = product(a_ptr, b_ptr, i * B + tl.arange(0, B), j * B + tl.arange(0, B), M, N, K, B)
        left, right = acc.reshape((B, 2, B // 2)).permute((0, 2, 1)).split()
        c.store([i * B, j * B], left)
        c.store([i * B, j * B + B // 2], right)


@plain(lambda rows, columns: (rows, columns))
def halves_by_descriptor(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A tile leaves in two halves of its columns, each by a descriptor's store, with a bias and an activation."""
    c = tl.make_tensor_descriptor(c_ptr, [M, N], [N, 1], [B, B // 2])
    row, column = tl.program_id(0) * B, tl.program_id(1) * B
    columns = column + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, row + tl.arange(0, B), columns, M, N, K, B)
    acc += tl.load(b_ptr + columns, mask=columns < N, other=0)[None, :]
    left, right = (acc * tl.sigmoid(acc)).reshape((B, 2, B // 2)).permute((0, 2, 1)).split()
    c.store([row, column], left)
    c.store([row, column + B // 2], right)


@plain(lambda rows, columns: (rows, columns))
def neighbours_change_places(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each pair of rows of the product changes places where both are there; the rows' numbers are computed by bits."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    there = tl.where((rows ^ 1) < M, rows ^ 1, rows)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    inside = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + there[:, None] * N + columns[None, :], acc, mask=inside)


@plain(lambda rows, columns: (5,))
def steps_dealt_evenly(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """All steps of all tiles in one row, of which five programs have equal parts: a tile that two of them share is added up."""
    width, steps = tl.cdiv(N, B), tl.cdiv(K, B)
    total = tl.cdiv(M, B) * width * steps
    first = tl.program_id(0) * total // tl.num_programs(0)
    last = (tl.program_id(0) + 1) * total // tl.num_programs(0)
    for step in range(first, last):
        tile = step // steps
        rows, columns = tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B)
        inner = step % steps * B + tl.arange(0, B)
        part = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N))
        there = c_ptr + rows[:, None] * N + columns[None, :]
        tl.atomic_add(there, part, mask=(rows < M)[:, None] & (columns < N)[None, :])


@plain(lambda rows, columns: (rows, 2))
def rows_and_their_sums(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Even and odd column blocks are two programs'; a block pointer advances by two, and sums of rows are a second output of both."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (tl.program_id(0) * B, tl.program_id(1) * B), (B, B), (1, 0))
    total = tl.zeros((B,), tl.float32)
    for column in range(tl.program_id(1) * B, N, 2 * B):
        acc = product(a_ptr, b_ptr, rows, column + tl.arange(0, B), M, N, K, B)
        tl.store(c, acc, boundary_check=(0, 1))
        total += tl.sum(acc, 1)
        c = tl.advance(c, (0, 2 * B))
    tl.atomic_add(d_ptr + rows, total, mask=rows < M)


@refused("is not a box", lambda rows, columns: (columns, rows))
def bytes_of_elements(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Addresses are made of bytes; a tile's rows begin from the matrix's end."""
    rows, columns = M - 1 - tl.program_id(1) * B - tl.arange(0, B), tl.program_id(0) * B + tl.arange(0, B)
    there = (c_ptr.to(tl.pointer_type(tl.uint8)) + (rows[:, None] * N + columns[None, :]) * 4).to(tl.pointer_type(tl.float32))
    a = tl.where((rows >= 0)[:, None], product(a_ptr, b_ptr, tl.maximum(rows, 0), columns, M, N, K, B), 0)
    tl.store(there, a, mask=(rows >= 0)[:, None] & (columns < N)[None, :])  # REFUSED


@refused("is not a box", lambda rows, columns: (rows, columns))
def rows_by_a_table(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """What another matrix has says where a row goes: nobody knows which rank's it is."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product(a_ptr, b_ptr, rows, columns, M, N, K, B)
    first = tl.load(a_ptr + rows * K, mask=rows < M, other=0)
    there = (rows + tl.abs(first).to(tl.int32)) % M
    tl.store(c_ptr + there[:, None] * N + columns[None, :], acc, mask=(rows < M)[:, None] & (columns < N)[None, :])  # REFUSED
