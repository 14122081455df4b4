"""GEMM + ReduceScatter in one kernel: rank r gets rows shard r of the sum over ranks of A[M, K_local] · B[K_local, N].

Every program multiplies its share of tiles first, the next rank's rows first and its own last, and stores each finished
tile straight into its owner's workspace with one signal a tile and source. Then it sums its share of its own rows, tile
by tile as the parts arrive.

Two workspaces are used in turn, so that a store of call e lands where call e - 2 read. No call ends before every rank
has begun it, so whoever is in call e knows that all have begun call e - 1 and thus ended call e - 2, even those that
hold no rows. `begun` says, for each rank, how many calls it has begun.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.jit
def multiply_tile(a_ptr, b_ptr, rows, n, k, tile_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                  BLOCK_K: tl.constexpr):
    row = tl.arange(0, BLOCK_M)
    column = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + row[:, None].to(tl.int64) * k + inner[None, :]
    b_ptrs = b_ptr + inner[:, None].to(tl.int64) * n + column[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k0 in range(0, k, BLOCK_K):
        a = tl.load(a_ptrs, mask=(row[:, None] < rows) & (inner[None, :] < k - k0), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < k - k0) & (column[None, :] < n), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * n
    return acc


@tandem.jit
def say_begun(begun_ptr, epoch):
    rank = dl.rank()
    for peer in range(dl.num_ranks()):
        dl.notify(begun_ptr + rank, peer, signal=epoch + 1, sig_op="set", comm_scope="intra_node")


@tandem.jit
def gemm_rs(a_ptr, b_ptr, out_ptr, workspace_ptr, ready_ptr, begun_ptr, epoch_ptr, m, n, k, shard_rows,
            workspace_elements, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    rank = dl.rank()
    ranks = dl.num_ranks()
    epoch = tl.load(epoch_ptr)
    # Parts of source s lie at rows s * shard_rows.
    parts_ptr = workspace_ptr + (epoch % 2) * workspace_elements
    blocks = tl.cdiv(shard_rows, BLOCK_M)
    tiles_n = tl.cdiv(n, BLOCK_N)
    row = tl.arange(0, BLOCK_M)
    if tl.program_id(0) == 0:
        say_begun(begun_ptr, epoch)

    for tile in range(tl.program_id(0), ranks * blocks * tiles_n, tl.num_programs(0)):
        owner = (rank + 1 + tile // (blocks * tiles_n)) % ranks
        block = tile // tiles_n % blocks
        tile_n = tile % tiles_n
        first = owner * shard_rows + block * BLOCK_M
        rows = tl.minimum(tl.minimum(m - first, shard_rows - block * BLOCK_M), BLOCK_M)
        if rows > 0:
            part = multiply_tile(a_ptr + first.to(tl.int64) * k, b_ptr, rows, n, k, tile_n, BLOCK_M, BLOCK_N, BLOCK_K)
            column = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
            dest = dl.symm_at(parts_ptr, owner) + (rank * shard_rows + block * BLOCK_M).to(tl.int64) * n
            tl.store(dest + row[:, None].to(tl.int64) * n + column[None, :], part.to(parts_ptr.dtype.element_ty),
                     mask=(row[:, None] < rows) & (column[None, :] < n))
            ready = ready_ptr + (block * tiles_n + tile_n) * ranks + rank
            dl.notify(ready, owner, signal=epoch + 1, sig_op="set", comm_scope="intra_node")

    for tile in range(tl.program_id(0), blocks * tiles_n, tl.num_programs(0)):
        block = tile // tiles_n
        tile_n = tile % tiles_n
        rows = tl.minimum(tl.minimum(m - rank * shard_rows - block * BLOCK_M, shard_rows - block * BLOCK_M), BLOCK_M)
        if rows > 0:
            column = tile_n * BLOCK_N + tl.arange(0, BLOCK_N)
            mask = (row[:, None] < rows) & (column[None, :] < n)
            offsets = (block * BLOCK_M + row)[:, None].to(tl.int64) * n + column[None, :]
            token = dl.wait(ready_ptr + tile * ranks, ranks, "sys", "acquire", waitValue=epoch + 1, compare="ge")
            parts = dl.consume_token(parts_ptr, token)
            total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
            for source in range(ranks):
                part = tl.load(parts + source.to(tl.int64) * shard_rows * n + offsets, mask=mask, other=0.0)
                total += part.to(tl.float32)
            tl.store(out_ptr + offsets, total.to(out_ptr.dtype.element_ty), mask=mask)


@tandem.jit
def finish_call(begun_ptr, epoch_ptr):
    epoch = tl.load(epoch_ptr)
    dl.wait(begun_ptr, dl.num_ranks(), "sys", "acquire", waitValue=epoch + 1, compare="ge")
    tl.store(epoch_ptr, epoch + 1)
