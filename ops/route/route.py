"""Deals tokens to experts: from scores or given ids to the rows of each expert, in one launch, the same bits in every run.

A counting sort. Each program has the slots of some tokens, each of its warps a range of them. All count their slots of each expert; a
program then knows what stands before its own: the rows of smaller experts, those of the programs before it, and of the warps before in
it. So each slot's row is its place among its warp's slots of the expert, behind these.

Programs follow one another as ag_moe gets their tokens: those of this rank's shard, then of the rank before it, and so on. So a block
needs the shards up to its last row's, and blocks stand in the order in which they can begin.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.findings import tell
from ops.device.routes import (
    ALIGN,
    BAD_IDS,
    BLOCK_ROWS,
    EXPERTS,
    FIRST_BAD,
    RANK,
    RANKS,
    ROWS,
    TOKENS,
    TOP_K,
    offsets_of,
    order_of,
    place_of,
    weights_of,
)
from ops.route.blocks import write_blocks
from ops.route.score import score
from tandem.libdevice import popc
from tandem.simt import __ballot_sync, __syncthreads, __syncwarp, atomic_add, expect, laneid, ld, st, sync_grid, tid


@tandem.jit
def like_me(expert, is_row, BITS: tl.constexpr):
    """Bits of the warp's lanes whose slots go to this lane's expert."""
    lanes = __ballot_sync(0xFFFFFFFF, is_row)
    for bit in tl.static_range(BITS):
        has_bit = ((expert >> bit) & 1) != 0
        vote = __ballot_sync(0xFFFFFFFF, has_bit)
        lanes = lanes & (vote if has_bit else ~vote)
    return lanes


@tandem.jit
def id_at(ids_ptr, at):
    """An id in 32 bits: the nearest number, if it has 64 and no room there, which is no expert's either."""
    id = ld(ids_ptr + at, semantic="weak")
    if ids_ptr.dtype.element_ty == tl.int64:
        id = tl.minimum(tl.maximum(id, -0x80000000), 0x7FFFFFFF).to(tl.int32)
    return id


@tandem.jit
def share_of(row, rank, m, shard_rows, tokens_each, parts, R: tl.constexpr):
    """The first and the last token, exclusive, of the row-th range of tokens."""
    shard = (rank - row // parts + R) % R
    end = tl.minimum((shard + 1) * shard_rows, m)
    first = tl.minimum(shard * shard_rows + row % parts * tokens_each, end)
    return first, tl.minimum(first + tokens_each, end)


@tandem.jit
def deal(
    pid,
    logits_ptr,
    bias_ptr,
    ids_ptr,
    given_ptr,
    route_ptr,
    spans_ptr,
    counts_ptr,
    findings_ptr,
    m,
    shard_rows,
    tokens_each,
    parts,
    E: tl.constexpr,
    PADDED: tl.constexpr,
    BITS: tl.constexpr,
    K: tl.constexpr,
    R: tl.constexpr,
    WARPS: tl.constexpr,
    MANY: tl.constexpr,
    ROWS_AT_ONCE: tl.constexpr,
    LANES: tl.constexpr,
    SCORES: tl.constexpr,
    TOLD: tl.constexpr,
    SIGMOID: tl.constexpr,
    GROUPS: tl.constexpr,
    TOP_GROUPS: tl.constexpr,
    RENORMALISE: tl.constexpr,
    BLOCK: tl.constexpr,
    GROUP: tl.constexpr,
    SCALE: tl.constexpr = 1.0,
    SHARED: tl.constexpr = 0,
    PLACES: tl.constexpr = 0,
):
    """SCORES: ids are found from the logits [m, E - SHARED] and the bias; else they are given, with their weights. TOLD: the host is told
    of what is no expert's. The tokens of a shard are divided into `parts` ranges of `tokens_each`. MANY: a program for each range, and one
    that writes the blocks; else one, 0, has all. PLACES: each expert's places begin at a multiple of it, and `spans`, [2, E],
    gets its first one and the one behind its last; 0: places are rows, and nothing is told of them."""
    rank = dl.rank()
    ranges = R * parts
    slots = m * K
    EACH: tl.constexpr = 1 if MANY else R  # ranges of a program; if it has all, a shard has one
    threads: tl.constexpr = WARPS * 32
    warp = tid(0) // 32
    weights_ptr = weights_of(route_ptr, E, slots)
    seen = dl.allocate_smem(tl.int32, [EACH * WARPS * E])
    bases = dl.allocate_smem(tl.int32, [EACH * PADDED])
    firsts = dl.allocate_smem(tl.int32, [2 * PADDED])
    runs = dl.allocate_smem(tl.int32, [4 * PADDED])
    if PLACES > 1:
        shifts = dl.allocate_smem(tl.int32, [PADDED])
    if not MANY:
        counts_ptr = dl.smem_get_ptr(dl.allocate_smem(tl.int32, [EACH * E]), 0)
    if pid < ranges:
        for i in range(tid(0), EACH * WARPS * E, threads):
            dl.smem_store(seen, 0, i)
        if (pid == 0) & (tid(0) == 0):
            st(route_ptr + BAD_IDS, 0, semantic="weak")
            st(route_ptr + FIRST_BAD, 0x7FFFFFFF, semantic="weak")
        if SCORES:
            COLUMNS: tl.constexpr = max(1 << (E - SHARED - 1).bit_length(), 8)
            scores = dl.allocate_smem(tl.float32, [threads // LANES * (COLUMNS + LANES)])
            sums = dl.allocate_smem(tl.float32, [threads // LANES * (COLUMNS + LANES)])
            of_groups = dl.allocate_smem(tl.float32, [threads // LANES * GROUPS])
        __syncthreads()
        for nth in range(EACH):
            first, last = share_of(pid * EACH + nth, rank, m, shard_rows, tokens_each, parts, R)
            if SCORES:
                score(
                    logits_ptr,
                    ids_ptr,
                    weights_ptr,
                    bias_ptr,
                    scores,
                    sums,
                    of_groups,
                    first,
                    last,
                    E - SHARED,
                    COLUMNS,
                    K - SHARED,
                    SHARED,
                    WARPS,
                    LANES,
                    SIGMOID,
                    GROUPS,
                    TOP_GROUPS,
                    RENORMALISE,
                    SCALE,
                )
                __syncthreads()
            each = tl.cdiv((last - first) * K, threads) * 32
            begin = first * K + warp * each
            for i in range(begin + laneid(), tl.minimum(begin + each, last * K), 32):
                expert = id_at(ids_ptr, i)
                if not SCORES:
                    weight = ld(given_ptr + i, semantic="weak")
                    st(weights_ptr + i, weight, semantic="weak")
                if (expert >= 0) & (expert < E):
                    atomic_add(dl.smem_get_ptr(seen, (nth * WARPS + warp) * E + expert), 1, "cta", "relaxed")
        __syncthreads()
        for e in range(tid(0), EACH * E, threads):
            count = 0
            for w in range(WARPS):
                at = (e // E * WARPS + w) * E + e % E
                of_warp = dl.smem_load(seen, at)
                dl.smem_store(seen, count, at)
                count += of_warp
            st(counts_ptr + pid * EACH * E + e, count, semantic="weak")
        __syncthreads()
    if MANY:
        sync_grid()

    column = tl.arange(0, PADDED)
    real = column < E
    totals = tl.zeros((ROWS_AT_ONCE, PADDED), tl.int32)
    befores = tl.zeros((ROWS_AT_ONCE, PADDED), tl.int32)
    for row in range(0, ranges, ROWS_AT_ONCE):
        of_range = row + tl.arange(0, ROWS_AT_ONCE)[:, None]
        counts = tl.load(counts_ptr + of_range * E + column[None, :], mask=(of_range < ranges) & real[None, :], other=0)
        totals += counts
        befores += tl.where(of_range < pid * EACH, counts, 0)
    total = tl.sum(totals, axis=0)
    behind = tl.cumsum(total, 0)
    shift = tl.zeros((PADDED,), tl.int32)  # from rows to places
    if PLACES > 1:
        padding = tl.cdiv(total, PLACES) * PLACES - total
        shift = tl.cumsum(padding, 0) - padding
    if pid == ranges * MANY:
        rows = tl.sum(total)
        tl.store(dl.smem_get_ptr(firsts, 0) + column, behind - total)
        tl.store(offsets_of(route_ptr) + column, behind - total, mask=real)
        tl.store(offsets_of(route_ptr) + E, rows)
        tl.store(route_ptr + ROWS, rows)
        tl.store(route_ptr + TOKENS, m)
        tl.store(route_ptr + TOP_K, K)
        tl.store(route_ptr + EXPERTS, E)
        tl.store(route_ptr + BLOCK_ROWS, BLOCK)
        tl.store(route_ptr + RANKS, R)
        tl.store(route_ptr + RANK, rank)
        tl.store(route_ptr + ALIGN, PLACES if PLACES > 1 else 0)
        if PLACES:
            tl.store(spans_ptr + column, behind - total + shift, mask=real)
            tl.store(spans_ptr + E + column, behind + shift, mask=real)
        if PADDED == E:
            tl.store(dl.smem_get_ptr(firsts, 0) + E, rows)
        write_blocks(counts_ptr, route_ptr, firsts, runs, total, slots, parts, E, PADDED, R, WARPS, ROWS_AT_ONCE, BLOCK, GROUP)
    if pid < ranges:
        base = behind - total + tl.sum(befores, axis=0)
        if PLACES > 1:
            tl.store(dl.smem_get_ptr(shifts, 0) + column, shift)
        for nth in tl.static_range(EACH):
            tl.store(dl.smem_get_ptr(bases, 0) + nth * PADDED + column, base)
            if EACH > 1:
                base += tl.load(counts_ptr + nth * E + column, mask=real, other=0)
        __syncthreads()
        order_ptr = order_of(route_ptr, E)
        place_ptr = place_of(route_ptr, E, slots)
        for nth in range(EACH):
            first, last = share_of(pid * EACH + nth, rank, m, shard_rows, tokens_each, parts, R)
            each = tl.cdiv((last - first) * K, threads) * 32
            begin = first * K + warp * each
            end = tl.minimum(begin + each, last * K)
            for i in range(begin, end, 32):
                at = i + laneid()
                expert = -1
                if at < end:
                    expert = id_at(ids_ptr, at)
                is_row = (expert >= 0) & (expert < E)
                alike = like_me(expert, is_row, BITS)
                lower = popc(alike & ((1 << laneid()) - 1))
                row = -1
                place = -1
                above = 0
                if is_row:
                    above = dl.smem_load(seen, (nth * WARPS + warp) * E + expert) + lower
                    row = dl.smem_load(bases, nth * PADDED + expert) + above
                    st(order_ptr + row, at, semantic="weak")
                    place = row
                    if PLACES > 1:
                        place += dl.smem_load(shifts, expert)
                if at < end:
                    st(place_ptr + at, place, semantic="weak")
                    if (expert < -1) | (expert >= E):
                        is_first = tl.atomic_add(route_ptr + BAD_IDS, 1, sem="relaxed") == 0
                        tl.atomic_min(route_ptr + FIRST_BAD, at, sem="relaxed")
                        if TOLD:
                            expect(False, "a token's logit is no number" if SCORES else "an id is no expert's")
                            if is_first:
                                what: tl.constexpr = (FIRST_BAD if SCORES else BAD_IDS) + 1
                                tell(findings_ptr, what, expert, E - 1, at // K, at % K)
                __syncwarp()
                if is_row & (lower + 1 == popc(alike)):
                    dl.smem_store(seen, above + 1, (nth * WARPS + warp) * E + expert)
                __syncwarp()


@tandem.jit
def route(
    logits_ptr,
    bias_ptr,
    ids_ptr,
    given_ptr,
    route_ptr,
    spans_ptr,
    counts_ptr,
    findings_ptr,
    m,
    shard_rows,
    tokens_each,
    parts,
    E: tl.constexpr,
    PADDED: tl.constexpr,
    BITS: tl.constexpr,
    K: tl.constexpr,
    R: tl.constexpr,
    WARPS: tl.constexpr,
    MANY: tl.constexpr,
    ROWS_AT_ONCE: tl.constexpr,
    LANES: tl.constexpr,
    SCORES: tl.constexpr,
    TOLD: tl.constexpr,
    SIGMOID: tl.constexpr,
    GROUPS: tl.constexpr,
    TOP_GROUPS: tl.constexpr,
    RENORMALISE: tl.constexpr,
    BLOCK: tl.constexpr,
    GROUP: tl.constexpr,
    SCALE: tl.constexpr = 1.0,
    SHARED: tl.constexpr = 0,
    PLACES: tl.constexpr = 0,
):
    deal(
        tl.program_id(0),
        logits_ptr,
        bias_ptr,
        ids_ptr,
        given_ptr,
        route_ptr,
        spans_ptr,
        counts_ptr,
        findings_ptr,
        m,
        shard_rows,
        tokens_each,
        parts,
        E,
        PADDED,
        BITS,
        K,
        R,
        WARPS,
        MANY,
        ROWS_AT_ONCE,
        LANES,
        SCORES,
        TOLD,
        SIGMOID,
        GROUPS,
        TOP_GROUPS,
        RENORMALISE,
        BLOCK,
        GROUP,
        SCALE,
        SHARED,
        PLACES,
    )
