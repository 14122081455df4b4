"""AllGather + GEMM: C[M, N] = gather(A)[M, K] · B[K, N], A sharded by rows over the ranks.

One persistent kernel multiplies while copy engines push the shards. It reads the rank's own rows where they are and the
peers' out of `gathered`, where rank r's rows begin at row r * pitch. It knows nothing of how they get there: the channel says how many
slices of a band of rows have arrived, each of them SLICE_STEPS steps of K. So a tile begins with the first slice and ends shortly after the
last one.

BLOCK_N may be no power of two, where that divides the work more evenly among the programs.

Tiles left over for the last round, fewer than programs, may be cut into PIECES along K, so that more programs have work: first
the first pieces of all, which share what they read. Who brings the last piece of a tile adds up all, in their order.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link
from ops.device.calls import is_last
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
    BLOCK_K: tl.constexpr,
    SLICE_STEPS: tl.constexpr,
    GROUP: tl.constexpr,
    PIECES: tl.constexpr,
    PROGRAMS: tl.constexpr,
    BLOCKS: tl.constexpr,
    OUT_BLOCKS: tl.constexpr,
    B_TRANSPOSED: tl.constexpr,
):
    """BLOCKS: operands are read as blocks, for which rows must be whole numbers of 16 bytes; without, and with PIECES, BLOCK_N is a power
    of two. OUT_BLOCKS: so is C stored, whose row blocks must not reach into the next shard. `pieces`: room for the pieces of all tiles
    left over; `brought`: a zero for each of these tiles, which is a zero again in the end."""
    rank = dl.rank()
    channel = link.StreamChannel(ready_ptr, bands, band_rows)
    product = link.Product(b_ptr, n, k, BLOCK_M, BLOCK_N, BLOCK_K, BLOCKS, B_TRANSPOSED)
    own = product.rows_of(a_ptr, own_rows)
    gathered = product.rows_of(gathered_ptr, gathered_rows)
    result = link.Result(product, c_ptr, m, OUT_BLOCKS)
    shards = tl.cdiv(m, shard_rows)
    blocks = tl.cdiv(shard_rows, BLOCK_M)
    columns = tl.cdiv(n, BLOCK_N)
    steps = tl.cdiv(k, BLOCK_K)
    tiles = shards * blocks * columns
    left = tiles % PROGRAMS if PIECES > 1 else 0
    whole = tiles - left
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
        in_shard = block * BLOCK_M
        rows = tl.minimum(m - shard * shard_rows, shard_rows) - in_shard
        a = own if shard == rank else gathered
        row = in_shard + tl.where(shard == rank, 0, shard * pitch)
        sums = product.tile(a, row, rows, tile_n * BLOCK_N, begin, end, link.ShardRows(channel, shard, in_shard, SLICE_STEPS))
        to = (shard * shard_rows + in_shard, tile_n * BLOCK_N, rows)
        if PIECES > 1:
            if item < whole:
                result.store(sums, *to)
            else:
                in_tile = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
                parts = pieces_ptr + (tile - whole).to(tl.int64) * (BLOCK_M * BLOCK_N) + in_tile
                stride = left.to(tl.int64) * (BLOCK_M * BLOCK_N)
                tl.store(parts + piece * stride, sums[0])
                if is_last(brought_ptr + (tile - whole), PIECES):
                    tl.store(brought_ptr + (tile - whole), 0)
                    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
                    for p in range(PIECES):
                        total += tl.load(parts + p * stride)
                    result.store((total,), *to)
        else:
            result.store(sums, *to)

    if dl.num_ranks() > 1:
        if link.call_ends(channel, PROGRAMS):
            link.end_call(channel, tl.cdiv(steps, SLICE_STEPS))
