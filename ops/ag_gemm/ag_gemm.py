"""AllGather + GEMM in one kernel: C[M, N] = gather(A)[M, K] · B[K, N], A sharded by rows over the ranks.

The first NUM_COMM programs push this rank's shard to the peers, a block of rows at a time, each with its signal. The
others multiply, own shard first, then the peers', and wait only for the block of rows they are about to read.

Two workspaces are used in turn, so that a push of call e lands where call e - 2 read. No call ends before every rank
has begun it, so whoever is in call e knows that all have begun call e - 1 and thus ended call e - 2, even those that
hold no rows. `begun` says, for each rank, how many calls it has begun.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem


@tandem.jit
def push_shard(a_ptr, gathered_ptr, ready_ptr, arrival, m, k, shard_rows, max_blocks, BLOCK_M: tl.constexpr,
               NUM_COMM: tl.constexpr, ELEMENT_BYTES: tl.constexpr):
    rank = dl.rank()
    ranks = dl.num_ranks()
    rows = tl.minimum(tl.maximum(m - rank * shard_rows, 0), shard_rows)
    blocks = tl.cdiv(shard_rows, BLOCK_M)
    for item in range(tl.program_id(0), (ranks - 1) * blocks, NUM_COMM):
        peer = (rank + 1 + item // blocks) % ranks
        block = item % blocks
        first = block * BLOCK_M
        count = tl.minimum(tl.maximum(rows - first, 0), BLOCK_M)
        dest = gathered_ptr + (rank * shard_rows + first).to(tl.int64) * k
        ready = ready_ptr + rank * max_blocks + block
        source = a_ptr + first.to(tl.int64) * k
        bytes = count.to(tl.int64) * k * ELEMENT_BYTES
        if count > 0:  # nobody waits for a block without rows
            shmem.putmem_signal_nbi_block(dest, source, bytes, ready, arrival, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.quiet()  # A may be overwritten once the kernel has ended


@tandem.jit
def say_begun(begun_ptr, epoch):
    rank = dl.rank()
    for peer in range(dl.num_ranks()):
        dl.notify(begun_ptr + rank, peer, signal=epoch + 1, sig_op="set", comm_scope="intra_node")


@tandem.jit
def multiply_block(a_ptr, b_ptr, c_ptr, rows, n, k, tile_n, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
                   BLOCK_K: tl.constexpr):
    """One BLOCK_M x BLOCK_N tile of C from the rows at a_ptr to the rows at c_ptr."""
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
    c_ptrs = c_ptr + row[:, None].to(tl.int64) * n + column[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(row[:, None] < rows) & (column[None, :] < n))


@tandem.jit
def ag_gemm(a_ptr, b_ptr, c_ptr, workspace_ptr, ready_ptr, begun_ptr, epoch_ptr, m, n, k, shard_rows, max_blocks,
            workspace_elements, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
            NUM_COMM: tl.constexpr, FIRST_GEMM: tl.constexpr, ELEMENT_BYTES: tl.constexpr):
    rank = dl.rank()
    ranks = dl.num_ranks()
    epoch = tl.load(epoch_ptr)
    gathered_ptr = workspace_ptr + (epoch % 2) * workspace_elements
    pid = tl.program_id(0)
    if pid == 0:
        say_begun(begun_ptr, epoch)
    if pid < NUM_COMM:
        push_shard(a_ptr, gathered_ptr, ready_ptr, epoch + 1, m, k, shard_rows, max_blocks, BLOCK_M, NUM_COMM,
                   ELEMENT_BYTES)
    if pid >= FIRST_GEMM:  # NUM_COMM, or 0 where one program must do both
        blocks = tl.cdiv(shard_rows, BLOCK_M)
        tiles_n = tl.cdiv(n, BLOCK_N)
        for tile in range(pid - FIRST_GEMM, ranks * blocks * tiles_n, tl.num_programs(0) - FIRST_GEMM):
            shard = (rank - tile // (blocks * tiles_n) + ranks) % ranks
            block = tile // tiles_n % blocks
            first = shard * shard_rows + block * BLOCK_M
            rows = tl.minimum(tl.minimum(m - first, shard_rows - block * BLOCK_M), BLOCK_M)
            if rows > 0:
                if shard == rank:
                    source = a_ptr + (block * BLOCK_M).to(tl.int64) * k
                else:
                    ready = ready_ptr + shard * max_blocks + block
                    token = dl.wait(ready, 1, "sys", "acquire", waitValue=epoch + 1, compare="ge")
                    source = dl.consume_token(gathered_ptr + first.to(tl.int64) * k, token)
                dest = c_ptr + first.to(tl.int64) * n
                multiply_block(source, b_ptr, dest, rows, n, k, tile % tiles_n, BLOCK_M, BLOCK_N, BLOCK_K)


@tandem.jit
def finish_call(begun_ptr, epoch_ptr):
    epoch = tl.load(epoch_ptr)
    dl.wait(begun_ptr, dl.num_ranks(), "sys", "acquire", waitValue=epoch + 1, compare="ge")
    tl.store(epoch_ptr, epoch + 1)
