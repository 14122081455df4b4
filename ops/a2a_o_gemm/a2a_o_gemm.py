"""The projection behind an attention whose heads are dealt to ranks: each rank has all rows of its heads, and gets its rows of all heads
times Wᵀ.

One persistent kernel multiplies while copy engines bring this rank's rows of the peers' heads. It reads those of its own heads where they
are and multiplies them first, then the peers' out of `gathered`, where the heads of rank r begin at row r * pitch, those of the nearest
lower rank first. The channel counts the bands of rows of a rank's heads that are there, one behind the other, as slices."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link
from ops.device.heads import heads_of_rank
from tandem.tilelink.product import add_product, columns_of, product_by_pointers, store_tile
from ops.device.tiles import place_in_shard


@tandem.jit
def a2a_o_gemm(
    own_ptr,
    gathered_ptr,
    w_ptr,
    out_ptr,
    ready_ptr,
    n,
    own_rows,
    own_width,
    pitch,
    gathered_rows,
    bands,
    band_rows,
    HQ: tl.constexpr,
    HKV: tl.constexpr,
    D: tl.constexpr,
    WIDTH: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    PROGRAMS: tl.constexpr,
    BLOCKS: tl.constexpr,
    OUT_BLOCKS: tl.constexpr,
):
    """own: this rank's rows of its heads, own_width columns; WIDTH: the most columns of a rank, which `gathered` has. BLOCKS: operands are
    read as blocks, for which rows must be whole numbers of 16 bytes and BLOCK_K a divisor of D."""
    rank = dl.rank()
    channel = link.StreamChannel(ready_ptr, 1, 1)
    ranks = dl.num_ranks()
    blocks = tl.cdiv(own_rows, BLOCK_M)
    columns = tl.cdiv(n, BLOCK_N)
    K: tl.constexpr = HQ * D
    if BLOCKS:
        own = tl.make_tensor_descriptor(own_ptr, shape=[own_rows, own_width], strides=[own_width, 1], block_shape=[BLOCK_M, BLOCK_K])
        gathered = tl.make_tensor_descriptor(gathered_ptr, shape=[gathered_rows, WIDTH], strides=[WIDTH, 1], block_shape=[BLOCK_M, BLOCK_K])
        w = columns_of(w_ptr, n, K, BLOCK_N, BLOCK_K, True)
    out = None
    if OUT_BLOCKS:
        out = tl.make_tensor_descriptor(out_ptr, shape=[own_rows, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N])
    for tile in tl.range(tl.program_id(0), blocks * columns, PROGRAMS, flatten=True):
        block, tile_n = place_in_shard(tile, blocks, columns, GROUP)
        row, column = block * BLOCK_M, tile_n * BLOCK_N
        rows = own_rows - row
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for nth in range(ranks):
            source = (rank - nth + ranks) % ranks
            first, end, _, _, _, _ = heads_of_rank(source, ranks, HQ, HKV)
            inner, width = first * D, (end - first) * D
            at = row + tl.where(nth == 0, 0, source * pitch)
            if nth > 0:
                at = dl.consume_token(at, link.slices_wait(channel, source, 0, row // band_rows + 1))
            if BLOCKS:
                a = own if nth == 0 else gathered
                for step in range(width // BLOCK_K):
                    acc = add_product(a.load([at, step * BLOCK_K]), w, column, inner + step * BLOCK_K, acc, True)
            else:
                x_ptr, of_x = own_ptr if nth == 0 else gathered_ptr, own_width if nth == 0 else WIDTH
                steps = tl.cdiv(width, BLOCK_K)
                acc = product_by_pointers(acc, x_ptr, at, rows, of_x, w_ptr + inner, column, n, K, width, 0, steps, BLOCK_K, True)
        store_tile(out, out_ptr, acc, row, column, rows, n, OUT_BLOCKS)

    if ranks > 1:
        if link.call_ends(channel, PROGRAMS):
            link.end_call(channel, bands)
