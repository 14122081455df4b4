"""GEMM + ReduceScatter: rank r gets rows shard r of the sum over ranks of A[M, K_local] · B[K_local, N].

One persistent kernel. It multiplies the tiles in the channel's order, the peers' first: a peer's is a part for it, and to one of the own
rows it adds the peers' parts. Who takes parts to their owners, copies in turns or the programs that made them, is the channel's, too.
Where programs do, one descriptor leads to the parts of all ranks, so that GPUs copy tiles while they multiply the next ones.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link
from ops.device.calls import is_last
from ops.device.packed import packed
from ops.device.tiles import place_in_shard


@tandem.jit
def gemm_rs(
    a_ptr,
    b_ptr,
    out_ptr,
    parts_ptr,
    first_parts_ptr,
    ready_ptr,
    brought_ptr,
    begun_ptr,
    epoch_ptr,
    done_ptr,
    m,
    n,
    k,
    shard_rows,
    own_rows,
    turn,
    rank_count,
    parts_rows,
    rank_stride,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    COPIED: tl.constexpr,
    PROGRAMS: tl.constexpr,
    BLOCKS: tl.constexpr,
    OUT_BLOCKS: tl.constexpr,
    B_TRANSPOSED: tl.constexpr,
):
    """BLOCKS, OUT_BLOCKS: operands are read and the result is written as blocks, for which rows must be whole numbers of 16 bytes.
    A place of parts has all BLOCK_M rows and BLOCK_N columns of a tile, in a matrix of `parts_rows` rows. Rank 0's begins at
    `first_parts_ptr`, those of the others follow `rank_stride` elements apart; where COPIED that is `outgoing`, one matrix."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    call = tl.load(epoch_ptr) + 1
    columns = tl.cdiv(n, BLOCK_N)
    shard_blocks = tl.cdiv(shard_rows, BLOCK_M)
    shard_tiles = shard_blocks * columns
    steps = tl.cdiv(k, BLOCK_K)
    channel = link.PartsChannel(ready_ptr, brought_ptr, begun_ptr, call, shard_tiles, turn, COPIED)
    if (tl.program_id(0) == 0) & (ranks > 1):
        link.parts_begin(channel)
    product = link.Product(b_ptr, n, k, BLOCK_M, BLOCK_N, BLOCK_K, BLOCKS, B_TRANSPOSED)
    a = product.rows_of(a_ptr, m)
    result = link.Result(product, out_ptr, own_rows, OUT_BLOCKS)
    peers = tl.make_tensor_descriptor(
        first_parts_ptr, shape=[rank_count, parts_rows, BLOCK_N], strides=[rank_stride, BLOCK_N, 1], block_shape=[1, BLOCK_M, BLOCK_N]
    )
    in_part = tl.arange(0, BLOCK_M)[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
    turns = 0  # that have arrived from all peers, as far as this program knows
    there = 0
    for tile in tl.range(tl.program_id(0), ranks * shard_tiles, PROGRAMS, flatten=True):
        owner, local = link.part_at(channel, tile)
        block, tile_n = place_in_shard(local, shard_blocks, columns, GROUP)
        first = owner * shard_rows + block * BLOCK_M
        rows = tl.minimum(m - owner * shard_rows, shard_rows) - block * BLOCK_M
        (acc,) = product.tile(a, first, rows, tile_n * BLOCK_N, 0, steps)

        if (tile < PROGRAMS) & (ranks > 1):  # this program's first tile
            local = dl.consume_token(local, link.ranks_wait(channel))
        if owner != rank:
            part = packed(acc.to(parts_ptr.dtype.element_ty), BLOCK_M, BLOCK_N)[None, :, :]
            peers.store([0 if COPIED else owner, link.part_place(channel, owner, local) * BLOCK_M, 0], part)
            link.part_notify(channel, owner, local)
        else:
            if ranks > 1:
                turns, there = link.parts_wait(channel, local, turns, there)
                arrived = dl.consume_token(parts_ptr, there) + local.to(tl.int64) * (BLOCK_M * BLOCK_N)
                for slot in range(ranks - 1):
                    part = tl.load(arrived + slot.to(tl.int64) * shard_tiles * (BLOCK_M * BLOCK_N) + in_part)
                    acc += packed(part, BLOCK_M, BLOCK_N).to(tl.float32)
            result.store((acc,), block * BLOCK_M, tile_n * BLOCK_N, rows)

    # All programs have read the epoch when the last one is done.
    if is_last(done_ptr, PROGRAMS):
        tl.store(done_ptr, 0)
        tl.store(epoch_ptr, call)
