"""Deals tokens to experts: from scores or given ids to the rows of each expert, in one launch, the same bits in every run.

A counting sort. Each program has the slots of some tokens, each of its warps a range of them. All count their slots of each expert; a
program then knows what stands before its own: the rows of smaller experts, those of the programs before it, and of the warps before in
it. So each slot's row is its place among its warp's slots of the expert, behind these. Where programs are many, those of a clan sum their
counts while they count, so that each reads the sums of the clans and the counts of its own clan, not all programs' counts.

Programs follow one another as ag_moe gets their tokens: those of this rank's shard, then of the rank before it, and so on. So a block
needs the shards up to its last row's, and blocks stand in the order in which they can begin.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.calls import meet
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

CLAN_HEADER = tl.constexpr(8)


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
def slots_of_warp(first, last, warp, K: tl.constexpr, WARPS: tl.constexpr):
    """The first and the last slot, exclusive, of the warp's share of these tokens' slots."""
    each = tl.cdiv((last - first) * K, WARPS * 32) * 32
    begin = first * K + warp * each
    return begin, tl.minimum(begin + each, last * K)


@tandem.jit
def id_if(ids_ptr, at, end):
    """The id at `at`, of a slot before `end`; else -1."""
    id = -1
    if at < end:
        id = id_at(ids_ptr, at)
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
    programs,
    logits_ptr,
    bias_ptr,
    ids_ptr,
    given_ptr,
    route_ptr,
    spans_ptr,
    counts_ptr,
    clans_ptr,
    findings_ptr,
    m,
    shard_rows,
    tokens_each,
    parts,
    meeting,
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
    CLAN: tl.constexpr = 0,
    MOST_CLANS: tl.constexpr = 0,
):
    """SCORES: ids are found from the logits [m, E - SHARED] and the bias; else they are given, with their weights. TOLD: the host is told
    of what is no expert's. The tokens of a shard are divided into `parts` ranges of `tokens_each`. MANY: a program for each range, and the
    others write the blocks; else one, 0, has all. These `programs` are the grid, or a part of it, which meets by `meeting`
    (device/calls.py). PLACES: each expert's places begin at a multiple of it, and `spans`, [2, E], gets its first one and the one behind
    its last; 0: places are rows, and nothing is told of them. CLAN: so many ranges of a shard sum their counts, in at most MOST_CLANS
    clans of all shards; 0: none do. `clans` begins with a word that says which half of [2, MOST_CLANS, E] behind CLAN_HEADER words has
    this launch's sums; the other half is for the next one, and cleared in this one."""
    rank = dl.rank()
    ranges = R * parts
    slots = m * K
    EACH: tl.constexpr = 1 if MANY else R  # ranges of a program; if it has all, a shard has one
    threads: tl.constexpr = WARPS * 32
    warp = tid(0) // 32
    SUMMED: tl.constexpr = 8 if WARPS % 8 == 0 else WARPS  # warps whose counts are under way together
    filled = tl.minimum(tl.cdiv(tokens_each * K, 32), WARPS)  # no warp behind these has slots
    weights_ptr = weights_of(route_ptr, E, slots)
    seen = dl.allocate_smem(tl.int32, [EACH * WARPS * E])
    bases = dl.allocate_smem(tl.int32, [EACH * PADDED])
    firsts = dl.allocate_smem(tl.int32, [2 * PADDED])
    runs = dl.allocate_smem(tl.int32, [4 * PADDED])
    if PLACES > 1:
        shifts = dl.allocate_smem(tl.int32, [PADDED])
    if not MANY:
        counts_ptr = dl.smem_get_ptr(dl.allocate_smem(tl.int32, [EACH * E]), 0)
    heads_ptr = counts_ptr  # the rows that all programs read
    heads_of_turn = parts
    mine = pid * EACH
    if CLAN:
        half = ld(clans_ptr, semantic="weak")
        heads_ptr = clans_ptr + (CLAN_HEADER + half * (MOST_CLANS * E))
        next_ptr = clans_ptr + (CLAN_HEADER + (1 - half) * (MOST_CLANS * E))
        heads_of_turn = tl.cdiv(parts, CLAN)
        mine = pid // parts * heads_of_turn + pid % parts // CLAN
        for i in range(pid * threads + tid(0), MOST_CLANS * E, programs * threads):
            st(next_ptr + i, 0, semantic="weak")
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
            listed = dl.allocate_smem(tl.int32, [threads // LANES * (COLUMNS + LANES) if LANES == 32 else 1])
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
                    listed,
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
            begin, end = slots_of_warp(first, last, warp, K, WARPS)
            for i in range(begin + laneid(), end, 32):
                expert = id_at(ids_ptr, i)
                if not SCORES:
                    weight = ld(given_ptr + i, semantic="weak")
                    st(weights_ptr + i, weight, semantic="weak")
                if (expert >= 0) & (expert < E):
                    atomic_add(dl.smem_get_ptr(seen, (nth * WARPS + warp) * E + expert), 1, "cta", "relaxed")
        __syncthreads()
        for e in range(tid(0), EACH * E, threads):
            count = 0
            for first_warp in range(0, filled, SUMMED):
                at = (e // E * WARPS + first_warp) * E + e % E
                of_warps = ()
                for w in tl.static_range(SUMMED):
                    of_warps = of_warps + (dl.smem_load(seen, at + w * E),)
                for w in tl.static_range(SUMMED):
                    dl.smem_store(seen, count, at + w * E)
                    count += of_warps[w]
            st(counts_ptr + pid * EACH * E + e, count, semantic="weak")
            if CLAN:
                if count > 0:
                    atomic_add(heads_ptr + mine * E + e, count, "gpu", "relaxed")
        __syncthreads()
    if MANY and not len(meeting):
        sync_grid()
    elif MANY:
        meet(*meeting)

    # The first ids come beside the counts, not behind them.
    token, last_token = share_of(tl.minimum(pid, ranges - 1) * EACH, rank, m, shard_rows, tokens_each, parts, R)
    begin, end = slots_of_warp(token, last_token, warp, K, WARPS)
    ahead = id_if(ids_ptr, begin + laneid(), end)
    column = tl.arange(0, PADDED)
    real = column < E
    totals = tl.zeros((ROWS_AT_ONCE, PADDED), tl.int32)
    befores = tl.zeros((ROWS_AT_ONCE, PADDED), tl.int32)
    heads = R * heads_of_turn
    own = pid - tl.where(pid < ranges, pid % parts % CLAN, 0) if CLAN else pid  # the first range of the clan
    for row in range(0, tl.maximum(heads, CLAN), ROWS_AT_ONCE):
        of_head = row + tl.arange(0, ROWS_AT_ONCE)[:, None]
        counts = tl.load(heads_ptr + of_head * E + column[None, :], mask=(of_head < heads) & real[None, :], other=0)
        if CLAN:
            of_own = own + of_head
            befores += tl.load(counts_ptr + of_own * E + column[None, :], mask=(of_own < pid) & real[None, :], other=0)
        totals += counts
        befores += tl.where(of_head < mine, counts, 0)
    total = tl.sum(totals, axis=0)
    behind = tl.cumsum(total, 0)
    shift = tl.zeros((PADDED,), tl.int32)  # from rows to places
    if PLACES > 1:
        padding = tl.cdiv(total, PLACES) * PLACES - total
        shift = tl.cumsum(padding, 0) - padding
    if pid >= ranges * MANY:
        rows = tl.sum(total)
        tl.store(dl.smem_get_ptr(firsts, 0) + column, behind - total)
        if PADDED == E:
            tl.store(dl.smem_get_ptr(firsts, 0) + E, rows)
        is_first = pid == ranges * MANY
        if is_first:
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
            if CLAN:
                tl.store(clans_ptr, 1 - half)
            if PLACES:
                tl.store(spans_ptr + column, behind - total + shift, mask=real)
                tl.store(spans_ptr + E + column, behind + shift, mask=real)
        nth = pid - ranges if MANY else 0
        writers = programs - ranges if MANY else 1
        write_blocks(
            heads_ptr,
            route_ptr,
            firsts,
            runs,
            total,
            slots,
            heads_of_turn,
            nth,
            writers,
            E,
            PADDED,
            R,
            WARPS,
            ROWS_AT_ONCE,
            BLOCK,
            GROUP,
            8 if MANY else min(max(threads // PADDED, 2), 8),
        )
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
            begin, end = slots_of_warp(first, last, warp, K, WARPS)
            if nth > 0:
                ahead = id_if(ids_ptr, begin + laneid(), end)
            for i in range(begin, end, 32):
                at = i + laneid()
                expert = ahead
                ahead = id_if(ids_ptr, at + 32, end)
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
    clans_ptr,
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
    CLAN: tl.constexpr = 0,
    MOST_CLANS: tl.constexpr = 0,
):
    # A launch that may begin early, as this one may, is there when the one before it ends.
    tl.extra.cuda.gdc_wait()
    tl.extra.cuda.gdc_launch_dependents()
    deal(
        tl.program_id(0),
        tl.num_programs(0),
        logits_ptr,
        bias_ptr,
        ids_ptr,
        given_ptr,
        route_ptr,
        spans_ptr,
        counts_ptr,
        clans_ptr,
        findings_ptr,
        m,
        shard_rows,
        tokens_each,
        parts,
        (),
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
        CLAN,
        MOST_CLANS,
    )
