"""AllGather + GEMM: C[M, N] = gather(A)[M, K] · B[K, N], A sharded by rows over the ranks.

One persistent kernel multiplies while copy engines push the shards. It reads the rank's own rows where they are and the
peers' out of `gathered`, where rank r's rows begin at row r * pitch. It knows nothing of how they get there: the channel says how many
slices of a band of rows have arrived, each of them SLICE_STEPS steps of K. So a tile begins with the first slice and ends shortly after the
last one.

A tile has BLOCK_N + BLOCK_N1 + BLOCK_N2 columns, of which the last two may be 0: a width that is no power of two, where that divides
the work more evenly among the programs.

Tiles left over for the last round, fewer than programs, may be cut into PIECES along K, so that more programs have work: first
the first pieces of all, which share what they read. Who brings the last piece of a tile adds up all, in their order.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link
from ops.device.calls import is_last
from ops.device.product import add_product, columns_of, product_by_pointers, store_tile
from ops.device.tiles import gathered_tile, piece_of


@tandem.jit
def ag_gemm(
    a_ptr,
    gathered_ptr,
    b_ptr,
    c_ptr,
    ready_ptr,
    pieces_ptr,
    brought_ptr,
    m,
    n,
    k,
    own_rows,
    shard_rows,
    pitch,
    gathered_rows,
    bands,
    band_rows,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_N1: tl.constexpr,
    BLOCK_N2: tl.constexpr,
    BLOCK_K: tl.constexpr,
    SLICE_STEPS: tl.constexpr,
    GROUP: tl.constexpr,
    PIECES: tl.constexpr,
    PROGRAMS: tl.constexpr,
    BLOCKS: tl.constexpr,
    OUT_BLOCKS: tl.constexpr,
    B_TRANSPOSED: tl.constexpr,
):
    """BLOCKS: operands are read as blocks, for which rows must be whole numbers of 16 bytes; without, and with PIECES, the tile is
    BLOCK_N wide. OUT_BLOCKS: so is C stored, whose row blocks must not reach into the next shard. `pieces`: room for the
    pieces of all tiles left over; `brought`: a zero for each of these tiles, which is a zero again in the end."""
    rank = dl.rank()
    channel = link.StreamChannel(ready_ptr, bands, band_rows)
    shards = tl.cdiv(m, shard_rows)
    blocks = tl.cdiv(shard_rows, BLOCK_M)
    WIDTH: tl.constexpr = BLOCK_N + BLOCK_N1 + BLOCK_N2
    columns = tl.cdiv(n, WIDTH)
    steps = tl.cdiv(k, BLOCK_K)
    tiles = shards * blocks * columns
    left = tiles % PROGRAMS if PIECES > 1 else 0
    whole = tiles - left
    c = None
    c1 = None
    c2 = None
    if BLOCKS:
        own = tl.make_tensor_descriptor(a_ptr, shape=[own_rows, k], strides=[k, 1], block_shape=[BLOCK_M, BLOCK_K])
        gathered = tl.make_tensor_descriptor(gathered_ptr, shape=[gathered_rows, k], strides=[k, 1], block_shape=[BLOCK_M, BLOCK_K])
        b = columns_of(b_ptr, n, k, BLOCK_N, BLOCK_K, B_TRANSPOSED)
        if BLOCK_N1:
            b1 = columns_of(b_ptr, n, k, BLOCK_N1, BLOCK_K, B_TRANSPOSED)
        if BLOCK_N2:
            b2 = columns_of(b_ptr, n, k, BLOCK_N2, BLOCK_K, B_TRANSPOSED)
    if OUT_BLOCKS:
        c = tl.make_tensor_descriptor(c_ptr, shape=[m, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N])
        if BLOCK_N1:
            c1 = tl.make_tensor_descriptor(c_ptr, shape=[m, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N1])
        if BLOCK_N2:
            c2 = tl.make_tensor_descriptor(c_ptr, shape=[m, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N2])
    for item in tl.range(tl.program_id(0), whole + left * PIECES, PROGRAMS, flatten=True):
        tile = item
        begin = 0
        end = steps
        if PIECES > 1:
            tile, piece = piece_of(item, whole, left)
            begin = piece * steps // PIECES
            end = tl.where(item < whole, steps, (piece + 1) * steps // PIECES)
        nth, block, tile_n = gathered_tile(tile, blocks, columns, GROUP)
        shard = (rank - nth + shards) % shards
        column = tile_n * WIDTH
        row = block * BLOCK_M + tl.where(shard == rank, 0, shard * pitch)
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        if BLOCK_N1:
            acc1 = tl.zeros((BLOCK_M, BLOCK_N1), dtype=tl.float32)
        if BLOCK_N2:
            acc2 = tl.zeros((BLOCK_M, BLOCK_N2), dtype=tl.float32)
        rows = tl.minimum(m - shard * shard_rows, shard_rows) - block * BLOCK_M
        if BLOCKS:
            a = own if shard == rank else gathered
            for step in range(begin, end):
                if (shard != rank) & ((step == begin) | (step % SLICE_STEPS == 0)):
                    row = dl.consume_token(row, link.slices_wait(channel, shard, block * BLOCK_M, step // SLICE_STEPS + 1))
                x = a.load([row, step * BLOCK_K])
                acc = add_product(x, b, column, step * BLOCK_K, acc, B_TRANSPOSED)
                if BLOCK_N1:
                    acc1 = add_product(x, b1, column + BLOCK_N, step * BLOCK_K, acc1, B_TRANSPOSED)
                if BLOCK_N2:
                    acc2 = add_product(x, b2, column + BLOCK_N + BLOCK_N1, step * BLOCK_K, acc2, B_TRANSPOSED)
        else:
            source = a_ptr if shard == rank else gathered_ptr
            if shard != rank:
                source = dl.consume_token(source, link.slices_wait(channel, shard, block * BLOCK_M, tl.cdiv(steps, SLICE_STEPS)))
            b_pitch = k if B_TRANSPOSED else n
            acc = product_by_pointers(acc, source, row, rows, k, b_ptr, column, n, b_pitch, k, begin, end, BLOCK_K, B_TRANSPOSED)
        first = shard * shard_rows + block * BLOCK_M
        if PIECES > 1:
            if item < whole:
                store_tile(c, c_ptr, acc, first, column, rows, n, OUT_BLOCKS)
            else:
                in_tile = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
                parts = pieces_ptr + (tile - whole).to(tl.int64) * (BLOCK_M * BLOCK_N) + in_tile
                stride = left.to(tl.int64) * (BLOCK_M * BLOCK_N)
                tl.store(parts + piece * stride, acc)
                if is_last(brought_ptr + (tile - whole), PIECES):
                    tl.store(brought_ptr + (tile - whole), 0)
                    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                    for p in range(PIECES):
                        total += tl.load(parts + p * stride)
                    store_tile(c, c_ptr, total, first, column, rows, n, OUT_BLOCKS)
        else:
            store_tile(c, c_ptr, acc, first, column, rows, n, OUT_BLOCKS)
            if BLOCK_N1:
                store_tile(c1, c_ptr, acc1, first, column + BLOCK_N, rows, n, OUT_BLOCKS)
            if BLOCK_N2:
                store_tile(c2, c_ptr, acc2, first, column + BLOCK_N + BLOCK_N1, rows, n, OUT_BLOCKS)

    if dl.num_ranks() > 1:
        if link.call_ends(channel, PROGRAMS):
            link.end_call(channel, tl.cdiv(steps, SLICE_STEPS))
