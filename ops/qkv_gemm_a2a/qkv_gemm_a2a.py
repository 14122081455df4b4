"""The projections before an attention whose heads are dealt to ranks: x[M, K] · Wᵀ, x sharded by rows, of which rank r gets all rows of
its heads of queries, keys and values.

One persistent kernel. The columns of the product are those of rank after rank: its queries, keys and values. Those of the peers come
first and stay in `away_q` and `away_kv`, from which copy engines of the peers take them: each peer's `brought` counts the tiles that are
there, and its host has queued what waits for all tiles of a band of rows, puts the count back and copies. The own ones follow, straight
into the results. Keys and values that several ranks have are multiplied once, in the turn of the first of these.

`begun` holds, for each rank, the number of the call, epoch + 1, that its kernel has begun: by then it has taken all of the call before,
which ended there. So a program looks there before its first store.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.calls import is_last
from ops.device.heads import heads_of_rank, part_of
from ops.device.tiles import place_in_shard
from tandem.tilelink import Product, scattered_tile


@tandem.jit
def store_part(to, to_ptr, part, matrix, row, column, rows, width, size, BLOCKS: tl.constexpr):
    """A tile of one of several matrices of `size` elements and `width` columns, of which `rows` rows are left."""
    if BLOCKS:
        to.store([matrix, row, column], part[None, :, :])
    else:
        in_block = tl.arange(0, part.shape[0])
        at = column + tl.arange(0, part.shape[1])
        pointers = to_ptr + matrix * size + (row + in_block)[:, None].to(tl.int64) * width + at[None, :]
        tl.store(pointers, part, mask=(in_block[:, None] < rows) & (at[None, :] < width))


@tandem.jit
def matrices(ptr, count, rows, width, size, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCKS: tl.constexpr):
    if BLOCKS:
        return tl.make_tensor_descriptor(ptr, shape=[count, rows, width], strides=[size, width, 1], block_shape=[1, BLOCK_M, BLOCK_N])
    return None


@tandem.jit
def qkv_gemm_a2a(
    x_ptr,
    w_ptr,
    q_ptr,
    kv_ptr,
    away_q_ptr,
    away_kv_ptr,
    brought_ptr,
    begun_ptr,
    epoch_ptr,
    done_ptr,
    m,
    k,
    own_rows,
    shard_rows,
    turn,
    own_q,
    own_kv,
    rank_count,
    part_count,
    HQ: tl.constexpr,
    HKV: tl.constexpr,
    D: tl.constexpr,
    Q_WIDTH: tl.constexpr,
    KV_WIDTH: tl.constexpr,
    SHARED: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    GROUP: tl.constexpr,
    PROGRAMS: tl.constexpr,
    BLOCKS: tl.constexpr,
):
    """BLOCKS: operands are read and results written as blocks, for which rows must be whole numbers of 16 bytes. q and kv: at this rank's
    rows; own_q, own_kv: their columns. Q_WIDTH, KV_WIDTH: the most columns of a rank, which matrices in `away` have: for each rank
    one of queries, for each part of the keys one, then of the values. turn: the tiles of a band of rows. SHARED: several ranks have
    the same keys."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    call = tl.load(epoch_ptr) + 1
    if (tl.program_id(0) == 0) & (ranks > 1):
        for distance in range(ranks):
            dl.notify(begun_ptr + rank, (rank + distance) % ranks, signal=call, sig_op="set", comm_scope="intra_node")
    Q_COLUMNS: tl.constexpr = (Q_WIDTH + BLOCK_N - 1) // BLOCK_N
    KV_COLUMNS: tl.constexpr = (KV_WIDTH + BLOCK_N - 1) // BLOCK_N
    COLUMNS: tl.constexpr = Q_COLUMNS + 2 * KV_COLUMNS
    N: tl.constexpr = (HQ + 2 * HKV) * D
    shard_blocks = tl.cdiv(shard_rows, BLOCK_M)
    shard_tiles = shard_blocks * COLUMNS
    steps = tl.cdiv(k, BLOCK_K)
    product = Product(w_ptr, N, k, BLOCK_M, BLOCK_N, BLOCK_K, BLOCKS, True)
    x = product.rows_of(x_ptr, own_rows)
    size_q = shard_rows.to(tl.int64) * Q_WIDTH
    size_kv = shard_rows.to(tl.int64) * KV_WIDTH
    size_own = m.to(tl.int64) * own_kv
    away_q = matrices(away_q_ptr, rank_count, shard_rows, Q_WIDTH, size_q, BLOCK_M, BLOCK_N, BLOCKS)
    away_kv = matrices(away_kv_ptr, 2 * part_count, shard_rows, KV_WIDTH, size_kv, BLOCK_M, BLOCK_N, BLOCKS)
    q = matrices(q_ptr, 1, own_rows, own_q, size_own, BLOCK_M, BLOCK_N, BLOCKS)
    kv = matrices(kv_ptr, 2, own_rows, own_kv, size_own, BLOCK_M, BLOCK_N, BLOCKS)
    for tile in tl.range(tl.program_id(0), ranks * shard_tiles, PROGRAMS, flatten=True):
        nth, local = scattered_tile(tile, ranks, shard_tiles, turn)
        owner = (rank + 1 + nth) % ranks
        block, column = place_in_shard(local, shard_blocks, COLUMNS, GROUP)
        first_q, end_q, first_k, end_k, first_rank, end_rank = heads_of_rank(owner, ranks, HQ, HKV)
        is_query = column < Q_COLUMNS
        value = tl.where(column < Q_COLUMNS + KV_COLUMNS, 0, 1)  # not key
        at = tl.maximum(column - tl.where(is_query, 0, Q_COLUMNS + value * KV_COLUMNS), 0) * BLOCK_N
        width = tl.where(is_query, end_q - first_q, end_k - first_k) * D
        of_w = tl.where(is_query, first_q, HQ + value * HKV + first_k) * D + at
        is_here = tl.where(is_query, owner == rank, (first_rank <= rank) & (rank < end_rank))
        # Of the ranks that have these keys, the one whose turn comes first; this rank's is the last one.
        turn_of = tl.where((first_rank <= rank) & (rank + 1 < end_rank), rank + 1, first_rank)
        is_turn = is_query | (owner == turn_of)
        rows = own_rows - block * BLOCK_M
        row = tl.maximum(block, 0) * BLOCK_M
        is_needed = is_turn & (at < width) & (rows > 0)
        (acc,) = product.tile(x, row, rows, of_w, 0, tl.where(is_needed, steps, 0))

        if (tile < PROGRAMS) & (ranks > 1):  # this program's first tile
            token = dl.wait(begun_ptr, ranks, "sys", "acquire", waitValue=call, compare="ge")
            row = dl.consume_token(row, token)
        part = acc.to(q_ptr.dtype.element_ty)
        if is_needed & (owner != rank):
            if is_query:
                store_part(away_q, away_q_ptr, part, owner, row, at, rows, Q_WIDTH, size_q, BLOCKS)
            else:
                matrix = value * part_count + part_of(owner, ranks, HKV)
                store_part(away_kv, away_kv_ptr, part, matrix, row, at, rows, KV_WIDTH, size_kv, BLOCKS)
        if is_needed & is_here:
            if is_query:
                store_part(q, q_ptr, part, 0, row, at, rows, own_q, size_own, BLOCKS)
            else:
                store_part(kv, kv_ptr, part, value, row, at, rows, own_kv, size_own, BLOCKS)
        if owner != rank:
            brought = brought_ptr + local // turn * ranks + rank
            if SHARED:
                if is_turn:
                    for peer in range(tl.where(is_query, owner, first_rank), tl.where(is_query, owner + 1, end_rank)):
                        if peer != rank:
                            dl.notify(brought, peer, signal=1, sig_op="add", comm_scope="intra_node")
            else:
                dl.notify(brought, owner, signal=1, sig_op="add", comm_scope="intra_node")

    # All programs have read the epoch when the last one is done.
    if is_last(done_ptr, PROGRAMS):
        tl.store(done_ptr, 0)
        tl.store(epoch_ptr, call)
