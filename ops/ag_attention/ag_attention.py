"""Attention over ranks: every rank has a part of each sequence's queries, keys and values. Copy engines bring the keys and values of the
others while a rank's programs are at its own; these are read where they are, then those of each peer as they arrive.

A rank's rows of a sequence are low ones, which come before those of the ranks behind it, and high ones, which come after theirs: so all
have as much to do, though a query sees only what is before it. Of a peer before this rank all queries see the low rows, of one behind it
the high queries see all. Where the rows of each rank stand together, all are low ones."""

import tandem
import tandem.language as tl
from ops.device.attention import LOG2E, blocks_of, keys_of, load_parts
from ops.device.attention_forward import along_keys, lse_of, no_sums, store_means, with_sink
from ops.device.calls import end_gathering, is_last_of
from tandem.simt import __syncthreads


@tandem.jit
def rows_of_rank(rows, rank, ranks):
    """The rows of a sequence that a rank has."""
    shard = tl.cdiv(rows, ranks)
    return tl.maximum(tl.minimum(rows - rank * shard, shard), 0)


@tandem.jit
def firsts(cu_ptr, out_ptr, sequences, m, ranks, BLOCK: tl.constexpr):
    """out[ranks, sequences + 1]: the first row of each sequence among those of each rank, and the number of all. cu: the same of whole
    sequences. A program for each rank."""
    rank = tl.program_id(0)
    room = rows_of_rank(m, rank, ranks)
    out_ptr += rank * (sequences + 1)
    tl.store(out_ptr, 0)
    before = 0
    for start in range(0, sequences, BLOCK):
        i = start + tl.arange(0, BLOCK)
        begin = tl.load(cu_ptr + i, mask=i < sequences, other=0)
        end = tl.load(cu_ptr + i + 1, mask=i < sequences, other=0)
        rows = rows_of_rank(tl.maximum(end - begin, 0), rank, ranks)
        tl.store(out_ptr + 1 + i, tl.minimum(before + tl.cumsum(rows, 0), room), mask=i < sequences)
        before += tl.sum(rows, 0)


@tandem.jit
def place_of_rank(firsts_ptr, m, sequence, sequences, rank, ranks, VARLEN: tl.constexpr):
    """The first of a rank's rows that are this sequence's, and their number."""
    if VARLEN:
        at = firsts_ptr + rank * (sequences + 1) + sequence
        first = tl.load(at)
        return first, tl.load(at + 1) - first
    rows = rows_of_rank(m, rank, ranks)
    return sequence * rows, rows


@tandem.jit
def low_of(rows, IN_ORDER: tl.constexpr):
    return rows if IN_ORDER else tl.cdiv(rows, 2)


@tandem.jit
def block_of(rows, low, BLOCK_M: tl.constexpr, CAUSAL: tl.constexpr):
    """The program's first query, and the end of its low or high queries, or none: of those that see most first."""
    blocks = tl.cdiv(low, BLOCK_M)
    block = tl.program_id(1)
    if CAUSAL:
        block = blocks + tl.cdiv(rows - low, BLOCK_M) - 1 - block
    start = tl.where(block < blocks, block * BLOCK_M, low + (block - blocks) * BLOCK_M)
    limit = tl.where(block < blocks, low, rows)
    return tl.maximum(start, 0), tl.where(block < 0, 0, limit)


@tandem.jit
def ag_attention(
    q_ptr,
    k_ptr,
    v_ptr,
    all_k_ptr,
    all_v_ptr,
    firsts_ptr,
    sinks_ptr,
    lse_ptr,
    out_ptr,
    ready_ptr,
    done_ptr,
    ended_ptr,
    epoch_ptr,
    scale,
    cap,
    rank,
    ranks,
    m,
    most,
    own_rows,
    pitch,
    gathered_rows,
    bands,
    band_rows,
    HQ: tl.constexpr,
    HKV: tl.constexpr,
    GROUPS: tl.constexpr,
    D0: tl.constexpr,
    D1: tl.constexpr,
    V0: tl.constexpr,
    V1: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    IN_ORDER: tl.constexpr,
    CAP: tl.constexpr,
    SINKS: tl.constexpr,
    LSE: tl.constexpr,
    VARLEN: tl.constexpr,
    WHOLE: tl.constexpr,
    ARRIVES: tl.constexpr,
):
    """rank: of `ranks`, numbers that the producer warp need not load. m: rows over all ranks of a sequence; most: this rank's, at least 1.
    own_rows: of all sequences. VARLEN: sequences by `firsts`, in so many rows. k and v: this
    rank's; all_k and all_v: those of rank r begin at row r * pitch. GROUPS of heads go one after the other, those of all sequences.
    ARRIVES: there are others; ready[r]: how many of their bands are there, `bands` of each group. WHOLE: low and high rows are multiples of
    the blocks. The last program ends the call for the rank."""
    D: tl.constexpr = D0 + D1
    V: tl.constexpr = V0 + V1
    QK: tl.constexpr = (D0, D1)
    OV: tl.constexpr = (V0, V1)
    sequences = tl.num_programs(2) // GROUPS
    sequence, group = tl.program_id(2) % sequences, tl.program_id(2) // sequences
    head = group * (HQ // GROUPS) + tl.program_id(0)
    kv_head = head // (HQ // HKV)
    first_q, rows = place_of_rank(firsts_ptr, m, sequence, sequences, rank, ranks, VARLEN)
    low = low_of(rows, IN_ORDER)
    start, limit = block_of(rows, low, BLOCK_M, CAUSAL)
    queries = start + tl.arange(0, BLOCK_M)
    here, everywhere = (0, 0, 0, own_rows), (0, 0, 0, gathered_rows)
    q = load_parts(blocks_of(q_ptr, here, HQ * D, BLOCK_M, QK, True), first_q + start, head * D, QK)
    own_k, own_v = blocks_of(k_ptr, here, HKV * D, BLOCK_N, QK, True), blocks_of(v_ptr, here, HKV * V, BLOCK_N, OV, True)
    all_k, all_v = (
        blocks_of(all_k_ptr, everywhere, HKV * D, BLOCK_N, QK, True),
        blocks_of(all_v_ptr, everywhere, HKV * V, BLOCK_N, OV, True),
    )
    sums = no_sums(BLOCK_M, OV)
    count = tl.where(start < limit, rows, 0)
    own = (first_q, q, own_k, own_v, 0, kv_head * D, kv_head * V, queries, count, 0, scale, cap, 0.0, 0)
    _, _, part, end = keys_of(start, 0, count, 0, BLOCK_M, BLOCK_N, CAUSAL, False)
    sums = along_keys(sums, 0, part, *own, QK, OV, BLOCK_N, CAUSAL, False, CAP, False, False, False, False)
    if CAUSAL or not WHOLE:
        sums = along_keys(sums, part, end, *own, QK, OV, BLOCK_N, CAUSAL, False, CAP, False, False, True, False)
    if ARRIVES:
        for nth in range(1, ranks):
            peer = (rank - nth + ranks) % ranks
            first, n = place_of_rank(firsts_ptr, m, sequence, sequences, peer, ranks, VARLEN)
            if CAUSAL:  # keys that count have all queries behind them
                n = tl.where(peer < rank, low_of(n, IN_ORDER), tl.where(start < low, 0, n))
            n = tl.where(start < limit, n, 0)
            all_rows = rows_of_rank(m, peer, ranks) * (1 if VARLEN else sequences)
            arrival = (ready_ptr + peer, first, all_rows, band_rows, 0, group * bands)
            read = (first + peer * pitch, q, all_k, all_v, 0, kv_head * D, kv_head * V, queries, n, 0, scale, cap, 0.0, arrival)
            whole = n // BLOCK_N * BLOCK_N
            sums = along_keys(sums, 0, whole, *read, QK, OV, BLOCK_N, False, False, CAP, False, False, False, True)
            if not WHOLE:
                sums = along_keys(sums, whole, n, *read, QK, OV, BLOCK_N, False, False, CAP, False, False, True, True)
    if SINKS:
        sums = with_sink(sums, tl.load(sinks_ptr + head) * LOG2E, 0.0, OV)
    if LSE:
        if VARLEN:
            lse_ptr += head.to(tl.int64) * most + first_q
        else:
            lse_ptr += (sequence.to(tl.int64) * HQ + head) * rows
        tl.store(lse_ptr + queries, lse_of(sums, 0.0), mask=queries < limit)
    if WHOLE:
        store_means(out_ptr, sums, 0, first_q + start, limit, own_rows, head * V, HQ * V, OV, False)
    else:
        store_means(out_ptr, sums, first_q, start, limit, own_rows, head * V, HQ * V, OV, True)
    if ARRIVES:
        __syncthreads()
        if is_last_of(ended_ptr, tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2)):
            tl.store(ended_ptr, 0)
            __syncthreads()
            end_gathering(ready_ptr, done_ptr, epoch_ptr, 1, GROUPS * bands)
