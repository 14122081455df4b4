"""Attention over ranks: every rank has a part of each sequence's queries, keys and values. Copy engines bring the keys and values of the
others while a rank's programs are at its own; these are read where they are, then those of each peer as they arrive.

A rank's rows of a sequence are low ones, which come before those of the ranks behind it, and high ones, which come after theirs: so all
have as much to do, though a query sees only what is before it. Of a peer before this rank all queries see the low rows, of one behind it
the high queries see all. Where the rows of each rank stand together, all are low ones.

RING: the peers' keys go through two slots that take turns, so there is memory for no more. The first launch is for this rank's keys and
those of the first peer, and each other peer has one of its own; between launches the sums stand in memory."""

import tandem
import tandem.language as tl
import tandem.tilelink as link
from ops.device.attention import LOG2E, NEVER, blocks_of, keys_of, load_parts
from ops.device.attention_forward import along_keys, lse_of, no_sums, store_means, with_sink


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
def places_in_sequence(rows, rank, ranks, IN_ORDER: tl.constexpr):
    """Where in its sequence of `rows` a rank's low rows begin, and where its high ones."""
    shard = tl.cdiv(rows, ranks)
    whole = rows // tl.maximum(shard, 1)  # ranks with a whole shard
    rest = low_of(rows - whole * shard, IN_ORDER)
    low = tl.minimum(rank, whole) * low_of(shard, IN_ORDER) + tl.where(rank > whole, rest, 0)
    behind = tl.minimum(rank + 1, whole) * low_of(shard, IN_ORDER) + tl.where(rank + 1 > whole, rest, 0)
    return low, rows - tl.minimum((rank + 1) * shard, rows) + behind


@tandem.jit
def along_window(
    sums,
    place,
    rows,
    low,
    row,
    q,
    k_blocks,
    v_blocks,
    kv_head,
    start,
    ahead,
    window,
    scale,
    cap,
    arrival,
    QK: tl.constexpr,
    OV: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAP: tl.constexpr,
    ARRIVES: tl.constexpr,
):
    """The keys in the window of a rank's rows, which begin at `row`: low ones, then high ones, that stand at `place` in the sequence. The
    first query of the block is `ahead` of its number `start` there."""
    queries = start + tl.arange(0, BLOCK_M)
    for half in range(2):
        before = tl.where(half == 0, 0, low)
        n = tl.where(half == 0, low, rows - low)
        offset = ahead - tl.where(half == 0, place[0], place[1])
        begin, whole, part, end = keys_of(start, offset, n, window, BLOCK_M, BLOCK_N, True, True)
        there = arrival
        if ARRIVES:
            there = (arrival[0], arrival[1] + before, arrival[2], arrival[3], arrival[4], arrival[5])
        read = (row + before, q, k_blocks, v_blocks, 0, kv_head, 0, queries + offset, n, window, scale, cap, 0.0, there)
        clear = (whole, part)
        sums = along_keys(sums, begin, end, *read, clear, QK, OV, BLOCK_N, True, True, CAP, False, False, True, ARRIVES)
    return sums


@tandem.jit
def load_sums(state_ptr, row, inside, OV: tl.constexpr):
    """The sums of queries, in fp32: of values, both parts, of weights, and the most of the scores."""
    V: tl.constexpr = OV[0] + OV[1]
    second = 0
    at = state_ptr + row * (V + 4)
    in_part = inside[:, None]
    first = tl.load(at[:, None] + tl.arange(0, OV[0])[None, :], mask=in_part, other=0.0)
    if OV[1]:
        second = tl.load(at[:, None] + OV[0] + tl.arange(0, OV[1])[None, :], mask=in_part, other=0.0)
    return (first, second), tl.load(at + V, mask=inside, other=0.0), tl.load(at + V + 1, mask=inside, other=NEVER)


@tandem.jit
def store_sums(state_ptr, row, inside, sums, OV: tl.constexpr):
    V: tl.constexpr = OV[0] + OV[1]
    at = state_ptr + row * (V + 4)
    in_part = inside[:, None]
    tl.store(at[:, None] + tl.arange(0, OV[0])[None, :], sums[0][0], mask=in_part)
    if OV[1]:
        tl.store(at[:, None] + OV[0] + tl.arange(0, OV[1])[None, :], sums[0][1], mask=in_part)
    tl.store(at + V, sums[1], mask=inside)
    tl.store(at + V + 1, sums[2], mask=inside)


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
    state_ptr,
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
    window,
    first_nth,
    end_nth,
    HQ: tl.constexpr,
    HKV: tl.constexpr,
    GROUPS: tl.constexpr,
    D: tl.constexpr,
    V: tl.constexpr,
    D0: tl.constexpr,
    D1: tl.constexpr,
    V0: tl.constexpr,
    V1: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    CAUSAL: tl.constexpr,
    IN_ORDER: tl.constexpr,
    WINDOW: tl.constexpr,
    CAP: tl.constexpr,
    SINKS: tl.constexpr,
    LSE: tl.constexpr,
    VARLEN: tl.constexpr,
    WHOLE: tl.constexpr,
    ARRIVES: tl.constexpr,
    RING: tl.constexpr,
    BEGINS: tl.constexpr,
    ENDS: tl.constexpr,
):
    """rank: of `ranks`, numbers that the producer warp need not load. m: rows over all ranks of a sequence; most: this rank's, at least
    1. own_rows: of all sequences. VARLEN: sequences by `firsts`, in so many rows. k and v: this rank's; all_k and all_v: those of rank r
    begin at row r * pitch, in a RING those of the n-th rank before this one at row n % 2 * pitch. The launch is for those from first_nth
    on, before end_nth; state[own_rows, HQ, V0 + V1 + 4]: the sums between launches. GROUPS of heads go one after the other, those of all
    sequences. ARRIVES: there are others; the channel counts their bands as slices, `bands` of each group. WHOLE: low and high rows
    are multiples of the blocks. WINDOW: a query sees the last `window` keys up to itself."""
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
    here, everywhere = (0, 0, 0, own_rows, 0, 1), (0, 0, 0, gathered_rows, 0, 1)
    q = load_parts(blocks_of(q_ptr, here, HQ, D, BLOCK_M, QK), first_q + start, head, QK)
    own_k, own_v = blocks_of(k_ptr, here, HKV, D, BLOCK_N, QK), blocks_of(v_ptr, here, HKV, V, BLOCK_N, OV)
    all_k, all_v = (blocks_of(all_k_ptr, everywhere, HKV, D, BLOCK_N, QK), blocks_of(all_v_ptr, everywhere, HKV, V, BLOCK_N, OV))
    in_state = (first_q + queries).to(tl.int64) * HQ + head
    sums = no_sums(BLOCK_M, OV) if BEGINS else load_sums(state_ptr, in_state, queries < limit, OV)
    count = tl.where(start < limit, rows, 0)
    own = (first_q, q, own_k, own_v, 0, kv_head, 0, queries, count, 0, scale, cap, 0.0, 0)
    if WINDOW:
        length = m
        if VARLEN:
            length = 0
            for r in range(ranks):
                _, n = place_of_rank(firsts_ptr, m, sequence, sequences, r, ranks, VARLEN)
                length += n
        place = places_in_sequence(length, rank, ranks, IN_ORDER)
        ahead = tl.where(start < low, place[0], place[1] - low)
        told = (kv_head, start, ahead, window, scale, cap)
        if BEGINS:
            some = (sums, place, count, tl.minimum(low, count), first_q, q, own_k, own_v)
            sums = along_window(*some, *told, 0, QK, OV, BLOCK_M, BLOCK_N, CAP, False)
    elif BEGINS:
        _, _, part, end = keys_of(start, 0, count, 0, BLOCK_M, BLOCK_N, CAUSAL, False)
        masks: tl.constexpr = CAUSAL or not WHOLE
        sums = along_keys(sums, 0, end, *own, (0, part), QK, OV, BLOCK_N, CAUSAL, False, CAP, False, False, masks, False)
    if ARRIVES:
        for nth in range(first_nth, end_nth):
            peer = (rank - nth + ranks) % ranks
            first, n = place_of_rank(firsts_ptr, m, sequence, sequences, peer, ranks, VARLEN)
            half = low_of(n, IN_ORDER)
            if CAUSAL and not WINDOW:  # keys that count have all queries behind them
                n = tl.where(peer < rank, half, tl.where(start < low, 0, n))
            n = tl.where(start < limit, n, 0)
            all_rows = rows_of_rank(m, peer, ranks) * (1 if VARLEN else sequences)
            slot = nth % 2 if RING else peer
            arrival = (ready_ptr + peer, first, all_rows, band_rows, 0, group * bands)
            read = (first + slot * pitch, q, all_k, all_v, 0, kv_head, 0, queries, n, 0, scale, cap, 0.0, arrival)
            if WINDOW:
                place = places_in_sequence(length, peer, ranks, IN_ORDER)
                some = (sums, place, n, tl.minimum(half, n), first + slot * pitch, q, all_k, all_v)
                sums = along_window(*some, *told, arrival, QK, OV, BLOCK_M, BLOCK_N, CAP, True)
            else:
                clear = (0, n // BLOCK_N * BLOCK_N)
                sums = along_keys(sums, 0, n, *read, clear, QK, OV, BLOCK_N, False, False, CAP, False, False, not WHOLE, True)
    if ENDS:
        if SINKS:
            sums = with_sink(sums, tl.load(sinks_ptr + head) * LOG2E, 0.0, OV)
        if LSE:
            if VARLEN:
                lse_ptr += head.to(tl.int64) * most + first_q
            else:
                lse_ptr += (sequence.to(tl.int64) * HQ + head) * rows
            tl.store(lse_ptr + queries, lse_of(sums, 0.0), mask=queries < limit)
        if WHOLE:
            store_means(out_ptr, sums, 0, first_q + start, limit, (0, 1, own_rows), head, HQ, V, OV, False)
        else:
            store_means(out_ptr, sums, first_q, start, limit, (0, 1, own_rows), head, HQ, V, OV, True)
    else:
        store_sums(state_ptr, in_state, queries < limit, sums, OV)
    if ARRIVES:
        channel = link.StreamChannel(ready_ptr, 1, 1)
        if link.call_ends(channel, tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2)):
            if not ENDS:  # also rows that nobody here sees have come when this slot is free
                for nth in range(first_nth, end_nth):
                    link.slices_wait(channel, (rank - nth + ranks) % ranks, 0, bands)
            else:
                link.end_call(channel, GROUPS * bands)
