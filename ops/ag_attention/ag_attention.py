"""Attention over ranks: every rank has a part of each sequence's queries, keys and values. Copy engines bring the keys and values of the
others while a rank's programs are at its own; then they go on to those of each peer, as they arrive.

A rank's rows of a sequence are `low_rows` that come before those of the ranks behind it, and the rest, which come after theirs: so all
have as much to do, though a query sees only what is before it. Of a peer before this rank all queries see the low rows, of one behind it
the high queries see all. Where the rows of each rank stand together, all are low ones."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.attention import LOG2E, blocks_of, keys_of, load_parts
from ops.device.attention_forward import along_keys, lse_of, no_sums, store_means, with_sink
from ops.device.calls import end_gathering, is_last_of
from tandem.simt import __syncthreads


@tandem.jit
def rows_of(rows, rank, ranks):
    """The rows of a sequence that a rank has."""
    shard = tl.cdiv(rows, ranks)
    return tl.maximum(tl.minimum(rows - rank * shard, shard), 0)


@tandem.jit
def low_of(rows, IN_ORDER: tl.constexpr):
    return rows if IN_ORDER else tl.cdiv(rows, 2)


@tandem.jit
def block_of(rows, low, BLOCK_M: tl.constexpr, CAUSAL: tl.constexpr):
    """The program's first query, and the end of its low or high queries: of those that see most first."""
    blocks = tl.cdiv(low, BLOCK_M)
    high = tl.cdiv(rows - low, BLOCK_M)
    block = tl.program_id(0)
    if CAUSAL:
        block = tl.maximum(blocks + high - 1 - block, 0)
    start = tl.where(block < blocks, block * BLOCK_M, low + (block - blocks) * BLOCK_M)
    return start, tl.where(block < blocks, low, rows)


@tandem.jit
def ag_attention(
    q_ptr,
    k_ptr,
    v_ptr,
    sinks_ptr,
    lse_ptr,
    out_ptr,
    ready_ptr,
    done_ptr,
    ended_ptr,
    epoch_ptr,
    scale,
    cap,
    m,
    rows,
    most,
    pitch,
    gathered_rows,
    bands,
    band_rows,
    HQ: tl.constexpr,
    HKV: tl.constexpr,
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
    WHOLE: tl.constexpr,
    ARRIVES: tl.constexpr,
):
    """m: rows of a sequence over all ranks; rows: on this rank, most: the same, at least 1. k and v: of all ranks, of which those of rank r
    begin at row r * pitch. ARRIVES: there are others; ready[r]: how many of their `bands` are there. WHOLE: low and high rows are multiples
    of the blocks. The last program ends the call for the rank."""
    D: tl.constexpr = D0 + D1
    V: tl.constexpr = V0 + V1
    QK: tl.constexpr = (D0, D1)
    OV: tl.constexpr = (V0, V1)
    rank, ranks = dl.rank(), dl.num_ranks()
    head = tl.program_id(1)
    kv_head = head // (HQ // HKV)
    sequence = tl.program_id(2)
    low = low_of(rows, IN_ORDER)
    start, limit = block_of(rows, low, BLOCK_M, CAUSAL)
    at_q = (sequence.to(tl.int64) * rows, rows, 0, most)
    everywhere = (0, 0, 0, gathered_rows)
    queries = start + tl.arange(0, BLOCK_M)
    q = load_parts(blocks_of(q_ptr, at_q, HQ * D, BLOCK_M, QK, False), start, head * D, QK)
    k = blocks_of(k_ptr, everywhere, HKV * D, BLOCK_N, QK, False)
    v = blocks_of(v_ptr, everywhere, HKV * V, BLOCK_N, OV, False)
    sums = no_sums(BLOCK_M, OV)
    for nth in range(ranks):
        peer = (rank - nth + ranks) % ranks
        peer_rows = rows_of(m, peer, ranks)
        count = peer_rows
        if CAUSAL:
            count = tl.where(peer < rank, low_of(peer_rows, IN_ORDER), tl.where((nth > 0) & (start < low), 0, peer_rows))
        where = queries + tl.where(nth > 0, m, 0)  # a peer's keys that count have all queries behind them
        _, _, part, end = keys_of(tl.where(nth > 0, m, start), 0, count, 0, BLOCK_M, BLOCK_N, CAUSAL, False)
        first = sequence * peer_rows
        arrival = (ready_ptr + peer, tl.where(nth > 0, 1, 0), first, tl.num_programs(2) * peer_rows, band_rows)
        read = (peer * pitch + first, q, k, v, 0, kv_head * D, kv_head * V, where, count, 0, scale, cap, 0.0, arrival)
        sums = along_keys(sums, 0, part, *read, QK, OV, BLOCK_N, CAUSAL, False, CAP, False, False, False, ARRIVES)
        if CAUSAL or not WHOLE:
            sums = along_keys(sums, part, end, *read, QK, OV, BLOCK_N, CAUSAL, False, CAP, False, False, True, ARRIVES)
    if SINKS:
        sums = with_sink(sums, tl.load(sinks_ptr + head) * LOG2E, 0.0, OV)
    if LSE:
        to = lse_ptr + (sequence.to(tl.int64) * HQ + head) * rows + queries
        tl.store(to, lse_of(sums, 0.0), mask=queries < limit)
    store_means(out_ptr + at_q[0] * (HQ * V), sums, 0, start, limit, most, head * V, HQ * V, OV, not WHOLE)
    if ARRIVES:
        __syncthreads()
        if is_last_of(ended_ptr, tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2)):
            tl.store(ended_ptr, 0)
            __syncthreads()
            end_gathering(ready_ptr, done_ptr, epoch_ptr, 1, bands)
