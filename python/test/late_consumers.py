"""Plain kernels that read a matrix A (M x K), written last, of forms that no other file has; each writes C (M x N) or D (M)."""

from plain_kernels import collected
from unseen_consumers import put, tile_of

import tandem
import tandem.language as tl

ALL, plain = collected()
REFUSED = {}


@tandem.jit
def squeezed(bits):
    """Every second bit, from the lowest on."""
    low = bits & 0x55
    low = (low | low >> 1) & 0x33
    return (low | low >> 2) & 0x0F


def morton(rows, columns):
    side = 1
    while side < max(rows, columns):
        side *= 2
    return (side * side,)


@plain(morton)
def along_a_curve(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Tiles along Morton's curve over a square, of which programs outside of C do nothing."""
    row, column = squeezed(tl.program_id(0) >> 1) * B, squeezed(tl.program_id(0)) * B
    if row >= M or column >= N:
        return
    rows, columns = row + tl.arange(0, B), column + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (3,))
def tickets(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Programs draw tiles from a counter behind which nobody knows who has which."""
    counter = d_ptr.to(tl.pointer_type(tl.int32))
    width = tl.cdiv(N, B)
    tile = tl.atomic_add(counter, 1)
    while tile < tl.cdiv(M, B) * width:
        rows, columns = tile // width * B + tl.arange(0, B), tile % width * B + tl.arange(0, B)
        acc = tl.zeros((B, B), tl.float32)
        for k in range(0, K, B):
            inner = k + tl.arange(0, B)
            acc = tl.dot(tile_of(a_ptr, rows, inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
        put(c_ptr, rows, columns, M, N, acc)
        tile = tl.atomic_add(counter, 1)


@plain(lambda rows, columns: (columns, 1, rows))
def bits_of_elements(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """A is read as integers of the same bits, by a row's first address and 64-bit offsets; the third axis goes through rows."""
    words = a_ptr.to(tl.pointer_type(tl.int32))
    row = tl.program_id(2).to(tl.int64) * B + tl.arange(0, B)
    columns = tl.program_id(0) * B + tl.arange(0, B)
    total = tl.zeros((B,), tl.int32)
    for k in range(K):
        total ^= tl.load(words + row * K + k, mask=row < M, other=0)
    put(c_ptr, row, columns, M, N, (total[:, None] >> (columns[None, :] % 8)).to(tl.float32))


@plain(lambda rows, columns: (rows, columns))
def unrolled_by_three(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Three steps of K in one, each by a descriptor that the loop makes for itself, and what is left behind the loop."""
    row, columns = tl.program_id(0) * B, tl.program_id(1) * B + tl.arange(0, B)
    acc = tl.zeros((B, B), tl.float32)
    steps = tl.cdiv(K, B)
    for step in tl.range(0, steps // 3 * 3, 3):
        a = tl.make_tensor_descriptor(a_ptr, [M, K], [K, 1], [B, B])
        for part in tl.static_range(3):
            inner = (step + part) * B + tl.arange(0, B)
            acc = tl.dot(a.load([row, (step + part) * B]), tile_of(b_ptr, inner, columns, K, N), acc)
    for step in tl.range(steps // 3 * 3, steps):
        inner = step * B + tl.arange(0, B)
        acc = tl.dot(tile_of(a_ptr, row + tl.arange(0, B), inner, M, K), tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, row + tl.arange(0, B), columns, M, N, acc)


@plain(lambda rows, columns: (rows, columns))
def of_two_places(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Columns on the left side of C come from the program's own rows, those on the right from the rows as far from the end."""
    columns = tl.program_id(1) * B + tl.arange(0, B)
    own = tl.program_id(0) * B + tl.arange(0, B)
    rows = tl.where(tl.program_id(1) % 2 == 0, own, M - 1 - own)
    acc = tl.zeros((B, B), tl.float32)
    for k in range(0, K, B):
        inner = k + tl.arange(0, B)
        inside = (rows[:, None] >= 0) & (rows[:, None] < M) & (inner[None, :] < K)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=inside, other=0)
        acc = tl.dot(a, tile_of(b_ptr, inner, columns, K, N), acc)
    put(c_ptr, own, columns, M, N, acc)


@plain(lambda rows, columns: (rows,))
def online_softmax(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """One pass over the rows with a running maximum, by a block pointer, and a second with what it has found."""
    rows = tl.program_id(0) * B + tl.arange(0, B)
    a = tl.make_block_ptr(a_ptr, (M, K), (K, 1), (tl.program_id(0) * B, 0), (B, B), (1, 0))
    largest, total = tl.full((B,), -1e30, tl.float32), tl.zeros((B,), tl.float32)
    for k in range(0, K, B):
        x = tl.load(a, boundary_check=(0, 1), padding_option="zero")
        x = tl.where((k + tl.arange(0, B))[None, :] < K, x, -1e30)
        most = tl.maximum(largest, tl.max(x, 1))
        total = total * tl.exp(largest - most) + tl.sum(tl.exp(x - most[:, None]), 1)
        largest = most
        a = tl.advance(a, (0, B))
    tl.store(d_ptr + rows, largest + tl.log(total), mask=rows < M)
    for column in range(0, N, B):
        columns = column + tl.arange(0, B)
        x = tl.load(a_ptr + rows[:, None] * K + (columns % K)[None, :], mask=(rows < M)[:, None], other=0)
        put(c_ptr, rows, columns, M, N, tl.exp(x - largest[:, None]))


@plain(lambda rows, columns: (-(-rows // 2), columns, 2))
def every_second_block(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Row blocks by twos, the odd ones by the third axis, of a view with a row of blocks more."""
    block = tl.program_id(0) * 2 + tl.program_id(2)
    rows, columns = block * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    a_ptrs = a_ptr + tl.program_id(2) * B * K + (tl.program_id(0) * 2 * B + tl.arange(0, B))[:, None] * K + tl.arange(0, B)[None, :]
    acc = tl.zeros((B, B), tl.float32)
    left = K
    for k in tl.range(0, K, B):
        a = tl.load(a_ptrs, mask=(rows < M)[:, None] & (tl.arange(0, B) < left)[None, :], other=0, cache_modifier=".cg")
        acc = tl.dot(a, tile_of(b_ptr, k + tl.arange(0, B), columns, K, N), acc)
        a_ptrs += B
        left -= B
    put(c_ptr, rows, columns, M, N, acc)


@plain(lambda rows, columns: (rows,))
def chased(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Each row says where the next one is that is read."""
    for row in range(tl.program_id(0) * B, min(tl.program_id(0) * B + B, M)):
        at = tl.abs(tl.load(a_ptr + row * K)).to(tl.int32) * 7 % M
        tl.store(d_ptr + row, tl.load(a_ptr + at * K + 1))
