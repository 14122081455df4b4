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
from ops.device.routes import (
    BAD_IDS,
    BLOCK_ROWS,
    BLOCK_WORDS,
    BLOCKS,
    EXPERTS,
    FIRST_BAD,
    RANK,
    RANKS,
    ROWS,
    TOKENS,
    TOP_K,
    blocks_of,
    offsets_of,
    order_of,
    place_of,
    weights_of,
)
from tandem.libdevice import popc
from tandem.simt import __ballot_sync, __syncthreads, __syncwarp, atomic_add, laneid, ld, st, sync_grid, tid


@tandem.jit
def chosen_groups(selection, GROUPS: tl.constexpr, TOP_GROUPS: tl.constexpr):
    """`selection`, -inf outside of the TOP_GROUPS groups of experts whose best two scores have the largest sums."""
    tokens: tl.constexpr = selection.shape[0]
    of_group: tl.constexpr = selection.shape[1] // GROUPS
    grouped = selection.reshape(tokens, GROUPS, of_group)
    inside = tl.arange(0, of_group)[None, None, :]
    best, where = tl.max(grouped, axis=2, return_indices=True)
    second = tl.max(tl.where(inside == where[:, :, None], float("-inf"), grouped), axis=2)
    sums = best + second
    group = tl.arange(0, GROUPS)[None, :]
    kept = group < 0
    for _ in tl.static_range(TOP_GROUPS):
        _, index = tl.max(tl.where(kept, float("-inf"), sums), axis=1, return_indices=True)
        kept = kept | (group == index[:, None])
    return tl.where(kept[:, :, None], grouped, float("-inf")).reshape(tokens, GROUPS * of_group)


@tandem.jit
def score(
    logits_ptr,
    bias_ptr,
    ids_ptr,
    weights_ptr,
    first,
    last,
    E: tl.constexpr,
    PADDED: tl.constexpr,
    K: tl.constexpr,
    TOKENS_AT_ONCE: tl.constexpr,
    SIGMOID: tl.constexpr,
    GROUPS: tl.constexpr,
    TOP_GROUPS: tl.constexpr,
    RENORMALISE: tl.constexpr,
):
    """Ids and weights of the tokens from `first` to `last`. The bias counts for the choice alone."""
    expert = tl.arange(0, PADDED)[None, :]
    slot = tl.arange(0, tl.next_power_of_2(K))[None, :]
    bias = tl.load(bias_ptr + expert, mask=expert < E, other=0.0)
    for begin in range(first, last, TOKENS_AT_ONCE):
        token = begin + tl.arange(0, TOKENS_AT_ONCE)[:, None]
        inside = (token < last) & (expert < E)
        logits = tl.load(logits_ptr + token.to(tl.int64) * E + expert, mask=inside, other=float("-inf")).to(tl.float32)
        if SIGMOID:
            scores = tl.sigmoid(logits)
        else:
            exponential = tl.exp(logits - tl.max(tl.where(token < last, logits, 0.0), axis=1)[:, None])
            scores = exponential / tl.sum(exponential, axis=1)[:, None]
        selection = tl.where(inside, scores + bias, float("-inf"))
        if TOP_GROUPS < GROUPS:
            selection = chosen_groups(selection, GROUPS, TOP_GROUPS)
        ids = tl.zeros((TOKENS_AT_ONCE, tl.next_power_of_2(K)), tl.int32)
        weights = tl.zeros((TOKENS_AT_ONCE, tl.next_power_of_2(K)), tl.float32)
        for k in tl.static_range(K):
            _, index = tl.max(selection, axis=1, return_indices=True)
            taken = expert == index[:, None]
            ids = tl.where(slot == k, index[:, None], ids)
            weights = tl.where(slot == k, tl.sum(tl.where(taken, scores, 0.0), axis=1)[:, None], weights)
            selection = tl.where(taken, float("-inf"), selection)
        if RENORMALISE:
            weights = weights / tl.sum(weights, axis=1)[:, None]
        at = token.to(tl.int64) * K + slot
        tl.store(ids_ptr + at, ids, mask=(token < last) & (slot < K))
        tl.store(weights_ptr + at, weights, mask=(token < last) & (slot < K))


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
def larger(a, b):
    return tl.maximum(a, b)


@tandem.jit
def write_blocks(
    counts_ptr,
    marks_ptr,
    runs_ptr,
    route_ptr,
    slots,
    parts,
    E: tl.constexpr,
    PADDED: tl.constexpr,
    R: tl.constexpr,
    ROWS_AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
    GROUP: tl.constexpr,
    AT_ONCE: tl.constexpr,
):
    """The table of blocks. A run is an expert's blocks of one turn; `runs` says of each its first block, how many blocks of the expert
    come before, and how many it has."""
    expert = tl.arange(0, PADDED)
    real = expert < E
    first = tl.load(offsets_of(route_ptr) + expert, mask=real, other=0)
    total = tl.load(offsets_of(route_ptr) + expert + 1, mask=real, other=0) - first
    all_blocks = tl.cdiv(total, BLOCK)
    for begin in range(0, tl.sum(all_blocks), AT_ONCE):
        tl.store(marks_ptr + begin + tl.arange(0, AT_ONCE), 0)
    here = tl.zeros((PADDED,), tl.int32)
    before = tl.zeros((PADDED,), tl.int32)
    blocks = 0
    for turn in tl.static_range(R):
        for begin in range(turn * parts, (turn + 1) * parts, ROWS_AT_ONCE):
            program = begin + tl.arange(0, ROWS_AT_ONCE)[:, None]
            mask = (program < (turn + 1) * parts) & real[None, :]
            here += tl.sum(tl.load(counts_ptr + program * E + expert[None, :], mask=mask, other=0), axis=0)
        behind = tl.where(here == total, all_blocks, here // BLOCK)
        count = behind - before
        start = blocks + tl.cumsum(count, 0) - count
        run = turn * E + expert
        tl.store(runs_ptr + 3 * run, start, mask=real)
        tl.store(runs_ptr + 3 * run + 1, before, mask=real)
        tl.store(runs_ptr + 3 * run + 2, count, mask=real)
        tl.store(marks_ptr + start, run, mask=real & (count > 0))
        blocks += tl.sum(count)
        before = behind
    tl.store(route_ptr + BLOCKS, blocks)
    last = 0
    for begin in range(0, blocks, AT_ONCE):
        block = begin + tl.arange(0, AT_ONCE)
        mine = tl.maximum(tl.associative_scan(tl.load(marks_ptr + block), 0, larger), last)
        last = tl.max(mine)
        of = mine % E
        from_block = tl.load(runs_ptr + 3 * mine)
        nth = block - from_block
        row = tl.load(offsets_of(route_ptr) + of) + (tl.load(runs_ptr + 3 * mine + 1) + nth) * BLOCK
        group = nth // GROUP * GROUP
        words = blocks_of(route_ptr, E, slots) + block * BLOCK_WORDS
        inside = block < blocks
        tl.store(words, of, mask=inside)
        tl.store(words + 1, row, mask=inside)
        tl.store(words + 2, tl.minimum(row + BLOCK, tl.load(offsets_of(route_ptr) + of + 1)), mask=inside)
        tl.store(words + 3, mine // E, mask=inside)
        tl.store(words + 4, from_block + group, mask=inside)
        tl.store(words + 5, tl.minimum(tl.load(runs_ptr + 3 * mine + 2) - group, GROUP), mask=inside)
        tl.store(words + 6, 0, mask=inside)
        tl.store(words + 7, 0, mask=inside)


@tandem.jit
def share_of(row, rank, m, shard_rows, tokens_each, parts, R: tl.constexpr):
    """The first and the last token, exclusive, of the row-th range of tokens."""
    shard = (rank - row // parts + R) % R
    end = tl.minimum((shard + 1) * shard_rows, m)
    first = tl.minimum(shard * shard_rows + row % parts * tokens_each, end)
    return first, tl.minimum(first + tokens_each, end)


@tandem.jit
def route(
    logits_ptr,
    bias_ptr,
    ids_ptr,
    given_ptr,
    route_ptr,
    counts_ptr,
    base_ptr,
    marks_ptr,
    runs_ptr,
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
    TOKENS_AT_ONCE: tl.constexpr,
    SCORES: tl.constexpr,
    SIGMOID: tl.constexpr,
    GROUPS: tl.constexpr,
    TOP_GROUPS: tl.constexpr,
    RENORMALISE: tl.constexpr,
    BLOCK: tl.constexpr,
    GROUP: tl.constexpr,
    AT_ONCE: tl.constexpr,
):
    """SCORES: ids are found from the logits [m, E] and the bias [E]; else they are given, with their weights. The tokens of a shard are
    divided into `parts` ranges of `tokens_each`. MANY: a program for each range, and one that writes the blocks; else one has all."""
    rank = dl.rank()
    pid = tl.program_id(0)
    ranges = R * parts
    slots = m * K
    EACH: tl.constexpr = 1 if MANY else R  # ranges of a program; if it has all, a shard has one
    threads = WARPS * 32
    warp = tid(0) // 32
    weights_ptr = weights_of(route_ptr, E, slots)
    seen = dl.allocate_smem(tl.int32, [EACH * WARPS * E])
    if pid < ranges:
        for i in range(tid(0), EACH * WARPS * E, threads):
            dl.smem_store(seen, 0, i)
        if (pid == 0) & (tid(0) == 0):
            st(route_ptr + BAD_IDS, 0, semantic="weak")
            st(route_ptr + FIRST_BAD, 0x7FFFFFFF, semantic="weak")
        for nth in range(EACH):
            first, last = share_of(pid * EACH + nth, rank, m, shard_rows, tokens_each, parts, R)
            if SCORES:
                score(
                    logits_ptr,
                    bias_ptr,
                    ids_ptr,
                    weights_ptr,
                    first,
                    last,
                    E,
                    PADDED,
                    K,
                    TOKENS_AT_ONCE,
                    SIGMOID,
                    GROUPS,
                    TOP_GROUPS,
                    RENORMALISE,
                )
            __syncthreads()
            each = tl.cdiv((last - first) * K, threads) * 32
            begin = first * K + warp * each
            for i in range(begin + laneid(), tl.minimum(begin + each, last * K), 32):
                expert = ld(ids_ptr + i, semantic="weak")
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
    total = tl.zeros((PADDED,), tl.int32)
    before = tl.zeros((PADDED,), tl.int32)
    for row in range(0, ranges, ROWS_AT_ONCE):
        of_range = row + tl.arange(0, ROWS_AT_ONCE)[:, None]
        counts = tl.load(counts_ptr + of_range * E + column[None, :], mask=(of_range < ranges) & real[None, :], other=0)
        total += tl.sum(counts, axis=0)
        before += tl.sum(tl.where(of_range < pid * EACH, counts, 0), axis=0)
    behind = tl.cumsum(total, 0)
    if pid == ranges * MANY:
        tl.store(offsets_of(route_ptr) + column, behind - total, mask=real)
        rows = tl.sum(total)
        tl.store(offsets_of(route_ptr) + E, rows)
        tl.store(route_ptr + ROWS, rows)
        tl.store(route_ptr + TOKENS, m)
        tl.store(route_ptr + TOP_K, K)
        tl.store(route_ptr + EXPERTS, E)
        tl.store(route_ptr + BLOCK_ROWS, BLOCK)
        tl.store(route_ptr + RANKS, R)
        tl.store(route_ptr + RANK, rank)
        write_blocks(counts_ptr, marks_ptr, runs_ptr, route_ptr, slots, parts, E, PADDED, R, ROWS_AT_ONCE, BLOCK, GROUP, AT_ONCE)
    if pid < ranges:
        base = behind - total + before
        for nth in tl.static_range(EACH):
            tl.store(base_ptr + (pid * EACH + nth) * E + column, base, mask=real)
            if EACH > 1:
                base += tl.load(counts_ptr + nth * E + column, mask=real, other=0)
        __syncthreads()
        for e in range(tid(0), EACH * E, threads):
            above = ld(base_ptr + pid * EACH * E + e, semantic="weak")
            for w in range(WARPS):
                at = (e // E * WARPS + w) * E + e % E
                dl.smem_store(seen, above + dl.smem_load(seen, at), at)
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
                    expert = ld(ids_ptr + at, semantic="weak")
                    if not SCORES:
                        st(weights_ptr + at, ld(given_ptr + at, semantic="weak"), semantic="weak")
                is_row = (expert >= 0) & (expert < E)
                alike = like_me(expert, is_row, BITS)
                lower = popc(alike & ((1 << laneid()) - 1))
                row = -1
                if is_row:
                    row = dl.smem_load(seen, (nth * WARPS + warp) * E + expert) + lower
                    st(order_ptr + row, at, semantic="weak")
                if at < end:
                    st(place_ptr + at, row, semantic="weak")
                    if (expert < -1) | (expert >= E):
                        tl.atomic_add(route_ptr + BAD_IDS, 1, sem="relaxed")
                        tl.atomic_min(route_ptr + FIRST_BAD, at, sem="relaxed")
                __syncwarp()
                if is_row & (lower + 1 == popc(alike)):
                    dl.smem_store(seen, row + 1, (nth * WARPS + warp) * E + expert)
                __syncwarp()
