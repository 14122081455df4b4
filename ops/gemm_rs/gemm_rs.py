"""GEMM + ReduceScatter: rank r gets rows shard r of the sum over ranks of A[M, K_local] · B[K_local, N].

One persistent kernel. A tile for a peer gets into the peer's `parts`, and a tile of the own rows adds the peers' parts. The
peers' tiles come first, the own ones follow: their parts have mostly arrived by then. Parts travel in one of two ways.

COPIED: a tile stays in `outgoing`, and `brought` counts the tiles there of each turn for each peer. The host has queued what
waits for all of these, copies them and sets the peer's `ready` for this rank to the number of turns it has now. Each call
begins by putting `ready` back.

Else programs store: each tile goes straight to the peer, followed by its signal. One descriptor leads to the parts of all
ranks, so that GPUs copy tiles while they multiply the next ones.

Other signals hold the number of the call, epoch + 1, and are never reset. `begun` says, for each rank, which call its kernel
has begun: it has ended the one before, and read its parts. So a program looks there before its first store; that is
enough, as parts of one call are read in that call only. Nobody waits for a program that waits for a later tile: tiles
are done in one order on all ranks, and parts of an own tile come from tiles that stand before it.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.calls import is_last
from ops.device.product import add_product, columns_of, packed, product_by_pointers, store_tile
from ops.device.tiles import place_in_shard, scattered_tile


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
    Parts lie tile by tile, all BLOCK_M rows and BLOCK_N columns of each: that of the own tile t from the s-th peer begins at row
    (s * tiles + t) * BLOCK_M of a matrix of `parts_rows` rows. Rank 0's begins at `first_parts_ptr`, those of the others follow
    `rank_stride` elements apart; where COPIED that is `outgoing`, one matrix, where s counts the ranks after this one."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    call = tl.load(epoch_ptr) + 1
    if (tl.program_id(0) == 0) & (ranks > 1):
        if COPIED:
            for slot in range(ranks - 1):
                dl.notify(ready_ptr + slot, rank, signal=0, sig_op="set", comm_scope="intra_node")
        for distance in range(ranks):
            dl.notify(begun_ptr + rank, (rank + distance) % ranks, signal=call, sig_op="set", comm_scope="intra_node")
    columns = tl.cdiv(n, BLOCK_N)
    shard_blocks = tl.cdiv(shard_rows, BLOCK_M)
    shard_tiles = shard_blocks * columns
    steps = tl.cdiv(k, BLOCK_K)
    in_block = tl.arange(0, BLOCK_M)
    if BLOCKS:
        a = tl.make_tensor_descriptor(a_ptr, shape=[m, k], strides=[k, 1], block_shape=[BLOCK_M, BLOCK_K])
        b = columns_of(b_ptr, n, k, BLOCK_N, BLOCK_K, B_TRANSPOSED)
    peers = tl.make_tensor_descriptor(
        first_parts_ptr, shape=[rank_count, parts_rows, BLOCK_N], strides=[rank_stride, BLOCK_N, 1], block_shape=[1, BLOCK_M, BLOCK_N]
    )
    out = None
    if OUT_BLOCKS:
        out = tl.make_tensor_descriptor(out_ptr, shape=[own_rows, n], strides=[n, 1], block_shape=[BLOCK_M, BLOCK_N])
    turns = 0  # that have arrived from all peers, as far as this program knows
    there = 0
    for tile in tl.range(tl.program_id(0), ranks * shard_tiles, PROGRAMS, flatten=True):
        nth, local = scattered_tile(tile, ranks, shard_tiles, turn)
        owner = (rank + 1 + nth) % ranks
        block, tile_n = place_in_shard(local, shard_blocks, columns, GROUP)
        first = owner * shard_rows + block * BLOCK_M
        rows = tl.minimum(m - owner * shard_rows, shard_rows) - block * BLOCK_M
        column = tile_n * BLOCK_N
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        if BLOCKS:
            for step in range(steps):
                acc = add_product(a.load([first, step * BLOCK_K]), b, column, step * BLOCK_K, acc, B_TRANSPOSED)
        else:
            b_pitch = k if B_TRANSPOSED else n
            acc = product_by_pointers(acc, a_ptr, first, rows, k, b_ptr, column, n, b_pitch, k, 0, steps, BLOCK_K, B_TRANSPOSED)

        if (tile < PROGRAMS) & (ranks > 1):  # this program's first tile
            token = dl.wait(begun_ptr, ranks, "sys", "acquire", waitValue=call, compare="ge")
            local = dl.consume_token(local, token)
        in_part = in_block[:, None] * BLOCK_N + tl.arange(0, BLOCK_N)[None, :]
        if owner != rank:
            part = packed(acc.to(parts_ptr.dtype.element_ty), BLOCK_M, BLOCK_N)[None, :, :]
            if COPIED:
                peers.store([0, tl.maximum(nth * shard_tiles + local, 0) * BLOCK_M, 0], part)
                dl.notify(brought_ptr + local // turn * (ranks - 1) + nth, rank, signal=1, sig_op="add", comm_scope="intra_node")
            else:
                slot = rank - tl.where(rank > owner, 1, 0)
                peers.store([owner, tl.maximum(slot * shard_tiles + local, 0) * BLOCK_M, 0], part)
                dl.notify(ready_ptr + local * (ranks - 1) + slot, owner, signal=call, sig_op="set", comm_scope="intra_node")
        else:
            if ranks > 1:
                if not COPIED:
                    there = dl.wait(ready_ptr + local * (ranks - 1), ranks - 1, "sys", "acquire", waitValue=call, compare="ge")
                elif local // turn >= turns:
                    turns = local // turn + 1
                    there = dl.wait(ready_ptr, ranks - 1, "sys", "acquire", waitValue=turns, compare="ge")
                arrived = dl.consume_token(parts_ptr, there) + local.to(tl.int64) * (BLOCK_M * BLOCK_N)
                for slot in range(ranks - 1):
                    part = tl.load(arrived + slot.to(tl.int64) * shard_tiles * (BLOCK_M * BLOCK_N) + in_part)
                    acc += packed(part, BLOCK_M, BLOCK_N).to(tl.float32)
            store_tile(out, out_ptr, acc, block * BLOCK_M, column, rows, n, OUT_BLOCKS)

    # All programs have read the epoch when the last one is done.
    if is_last(done_ptr, PROGRAMS):
        tl.store(done_ptr, 0)
        tl.store(epoch_ptr, call)
