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
from tandem.simt import __ballot_sync, __shfl_xor_sync_i32, __syncthreads, __syncwarp, atomic_add, laneid, ld, st, sync_grid, tid


@tandem.jit
def best_of(sums, at, expert, COUNT: tl.constexpr, LANES: tl.constexpr, NONE: tl.constexpr):
    """The largest value, and the first expert that has it, of COUNT experts, each LANES behind the last. What is no number counts for
    nothing."""
    value = float("-inf")
    best = NONE
    for i in tl.static_range(COUNT):
        candidate = dl.smem_load(sums, at + expert + i * LANES)
        best = tl.where(candidate > value, expert + i * LANES, best)
        value = tl.where(candidate > value, candidate, value)
    return value, best


@tandem.jit
def keep_groups(sums, of_groups, at, at_groups, lane, E: tl.constexpr, LANES: tl.constexpr, GROUPS: tl.constexpr, TOP: tl.constexpr):
    """Marks the experts outside of the TOP groups whose best two have the largest sums. A lane begins in each group elsewhere than the
    others, so that they read different banks."""
    each: tl.constexpr = E // GROUPS
    for group in range(lane, GROUPS, LANES):
        best = float("-inf")
        second = float("-inf")
        for i in range(each):
            expert = group * each + (i + group) % each
            value = dl.smem_load(sums, at + expert)
            second = tl.maximum(second, tl.minimum(best, value))
            best = tl.maximum(best, value)
        dl.smem_store(of_groups, best + second, at_groups + group)
    __syncwarp()
    for group in range(lane, GROUPS, LANES):
        mine = dl.smem_load(of_groups, at_groups + group)
        above = 0
        for other in range(GROUPS):
            theirs = dl.smem_load(of_groups, at_groups + other)
            above += ((theirs > mine) | ((theirs == mine) & (other < group))).to(tl.int32)
        if above >= TOP:
            for i in range(each):
                dl.smem_store(sums, float("nan"), at + group * each + (i + group) % each)
    __syncwarp()


@tandem.jit
def score(
    logits_ptr,
    ids_ptr,
    weights_ptr,
    biases,
    scores,
    sums,
    of_groups,
    first,
    last,
    E: tl.constexpr,
    PADDED: tl.constexpr,
    K: tl.constexpr,
    WARPS: tl.constexpr,
    LANES: tl.constexpr,
    SIGMOID: tl.constexpr,
    GROUPS: tl.constexpr,
    TOP_GROUPS: tl.constexpr,
    RENORMALISE: tl.constexpr,
):
    """Ids and weights of the tokens from `first` to `last`, LANES lanes for each. The bias counts for the choice alone.

    A lane has every LANES-th expert's score in shared memory, and beside it the sum with the bias, in sets, and knows the best of each set.
    The best of all lanes' is taken and becomes no number; its lane then looks through its set again."""
    EACH: tl.constexpr = PADDED // LANES
    OF_SET: tl.constexpr = min(EACH, 8)
    SETS: tl.constexpr = EACH // OF_SET
    TOKENS: tl.constexpr = 32 // LANES
    STEPS: tl.constexpr = LANES.bit_length() - 1
    nth = tid(0) // LANES
    lane = tid(0) % LANES
    at = nth * (PADDED + LANES)  # tokens of a warp in different banks
    for begin in range(first + tid(0) // 32 * TOKENS, last, WARPS * TOKENS):
        token = begin + nth % TOKENS
        row_ptr = logits_ptr + tl.minimum(token, last - 1).to(tl.int64) * E
        logits = ()
        for i in tl.static_range(EACH):
            logit = float("-inf")
            if i * LANES + lane < E:
                logit = ld(row_ptr + (i * LANES + lane), semantic="weak").to(tl.float32)
            logits = logits + (logit,)
        total = 1.0
        if not SIGMOID:
            top = logits[0]
            for i in tl.static_range(1, EACH):
                top = tl.maximum(top, logits[i])
            for step in tl.static_range(STEPS):
                top = tl.maximum(top, __shfl_xor_sync_i32(0xFFFFFFFF, top, 1 << step))
            total = 0.0
            exponentials = ()
            for i in tl.static_range(EACH):
                exponentials = exponentials + (tl.exp(logits[i] - top),)
                total += exponentials[i]
            for step in tl.static_range(STEPS):
                total += __shfl_xor_sync_i32(0xFFFFFFFF, total, 1 << step)
            share = 1 / total
        __syncwarp()
        for i in tl.static_range(EACH):
            if SIGMOID:
                value = tl.sigmoid(logits[i])
            else:
                value = exponentials[i] * share
            dl.smem_store(scores, value, at + i * LANES + lane)
            both = value + dl.smem_load(biases, i * LANES + lane)
            dl.smem_store(sums, tl.where(i * LANES + lane < E, both, float("nan")), at + i * LANES + lane)
        __syncwarp()
        if TOP_GROUPS < GROUPS:
            keep_groups(sums, of_groups, at, nth * GROUPS, lane, E, LANES, GROUPS, TOP_GROUPS)

        values = ()
        experts = ()
        for of in tl.static_range(SETS):
            value, expert = best_of(sums, at, of * OF_SET * LANES + lane, OF_SET, LANES, PADDED)
            values = values + (value,)
            experts = experts + (expert,)
        ids = ()
        weights = ()
        total = 0.0
        for k in tl.static_range(K):
            value = values[0]
            expert = experts[0]
            for of in tl.static_range(1, SETS):
                expert = tl.where(values[of] > value, experts[of], expert)
                value = tl.where(values[of] > value, values[of], value)
            for step in tl.static_range(STEPS):
                other = __shfl_xor_sync_i32(0xFFFFFFFF, value, 1 << step)
                of_other = __shfl_xor_sync_i32(0xFFFFFFFF, expert, 1 << step)
                is_better = (other > value) | ((other == value) & (of_other < expert))
                value = tl.where(is_better, other, value)
                expert = tl.where(is_better, of_other, expert)
            weight = dl.smem_load(scores, at + tl.minimum(expert, PADDED - 1))
            ids = ids + (expert,)
            weights = weights + (weight,)
            total += weight
            if k + 1 < K:
                of_mine = -1
                if (expert % LANES == lane) & (expert < PADDED):
                    dl.smem_store(sums, float("nan"), at + expert)
                    of_mine = expert // (OF_SET * LANES)
                    value, expert = best_of(sums, at, of_mine * (OF_SET * LANES) + lane, OF_SET, LANES, PADDED)
                next_values = ()
                next_experts = ()
                for of in tl.static_range(SETS):
                    next_values = next_values + (tl.where(of == of_mine, value, values[of]),)
                    next_experts = next_experts + (tl.where(of == of_mine, expert, experts[of]),)
                values = next_values
                experts = next_experts
        if RENORMALISE:
            share = 1 / total
        for begin_k in tl.static_range(0, K, LANES):
            id = ids[begin_k]
            weight = weights[begin_k]
            for k in tl.static_range(begin_k + 1, min(K, begin_k + LANES)):
                id = tl.where(lane == k - begin_k, ids[k], id)
                weight = tl.where(lane == k - begin_k, weights[k], weight)
            if RENORMALISE:
                weight *= share
            if (token < last) & (begin_k + lane < K):
                st(ids_ptr + (token * K + begin_k + lane), id, semantic="weak")
                st(weights_ptr + (token * K + begin_k + lane), weight, semantic="weak")


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
def write_blocks(
    counts_ptr,
    route_ptr,
    firsts,
    runs,
    total,
    slots,
    parts,
    E: tl.constexpr,
    PADDED: tl.constexpr,
    R: tl.constexpr,
    WARPS: tl.constexpr,
    ROWS_AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
    GROUP: tl.constexpr,
):
    """The table of blocks. A run is an expert's blocks of one turn; `runs` says of each its first block, how many blocks of the expert
    come before, and how many it has. Eight lanes write a run. `firsts`: each expert's first row, and the number of rows."""
    expert = tl.arange(0, PADDED)
    all_blocks = tl.cdiv(total, BLOCK)
    here = tl.zeros((PADDED,), tl.int32)
    before = tl.zeros((PADDED,), tl.int32)
    blocks = 0
    runs_ptr = dl.smem_get_ptr(runs, 0)
    for turn in tl.static_range(R):
        if turn + 1 < R:
            for begin in range(turn * parts, (turn + 1) * parts, ROWS_AT_ONCE):
                program = begin + tl.arange(0, ROWS_AT_ONCE)[:, None]
                mask = (program < (turn + 1) * parts) & (expert < E)[None, :]
                here += tl.sum(tl.load(counts_ptr + program * E + expert[None, :], mask=mask, other=0), axis=0)
            behind = tl.where(here == total, all_blocks, here // BLOCK)
        else:
            behind = all_blocks
        count = behind - before
        tl.store(runs_ptr + expert, blocks + tl.cumsum(count, 0) - count)
        tl.store(runs_ptr + PADDED + expert, before)
        tl.store(runs_ptr + 2 * PADDED + expert, count)
        blocks += tl.sum(count)
        before = behind
        __syncthreads()
        for of in range(tid(0) // 8, E, WARPS * 4):
            start = dl.smem_load(runs, of)
            above = dl.smem_load(runs, PADDED + of)
            count_of = dl.smem_load(runs, 2 * PADDED + of)
            row_of = dl.smem_load(firsts, of)
            end = dl.smem_load(firsts, of + 1)
            for nth in range(tid(0) % 8, count_of, 8):
                words = blocks_of(route_ptr, E, slots) + (start + nth) * BLOCK_WORDS
                row = row_of + (above + nth) * BLOCK
                group = nth // GROUP * GROUP
                st(words, of, semantic="weak")
                st(words + 1, row, semantic="weak")
                st(words + 2, tl.minimum(row + BLOCK, end), semantic="weak")
                st(words + 3, turn, semantic="weak")
                st(words + 4, start + group, semantic="weak")
                st(words + 5, tl.minimum(count_of - group, GROUP), semantic="weak")
                st(words + 6, end, semantic="weak")
                st(words + 7, 0, semantic="weak")
        __syncthreads()
    tl.store(route_ptr + BLOCKS, blocks)


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
    SIGMOID: tl.constexpr,
    GROUPS: tl.constexpr,
    TOP_GROUPS: tl.constexpr,
    RENORMALISE: tl.constexpr,
    BLOCK: tl.constexpr,
    GROUP: tl.constexpr,
):
    """SCORES: ids are found from the logits [m, E] and the bias [E]; else they are given, with their weights. The tokens of a shard are
    divided into `parts` ranges of `tokens_each`. MANY: a program for each range, and one that writes the blocks; else one has all."""
    rank = dl.rank()
    pid = tl.program_id(0)
    ranges = R * parts
    slots = m * K
    EACH: tl.constexpr = 1 if MANY else R  # ranges of a program; if it has all, a shard has one
    threads: tl.constexpr = WARPS * 32
    warp = tid(0) // 32
    weights_ptr = weights_of(route_ptr, E, slots)
    seen = dl.allocate_smem(tl.int32, [EACH * WARPS * E])
    bases = dl.allocate_smem(tl.int32, [EACH * PADDED])
    firsts = dl.allocate_smem(tl.int32, [2 * PADDED])
    runs = dl.allocate_smem(tl.int32, [3 * PADDED])
    if not MANY:
        counts_ptr = dl.smem_get_ptr(dl.allocate_smem(tl.int32, [EACH * E]), 0)
    if pid < ranges:
        for i in range(tid(0), EACH * WARPS * E, threads):
            dl.smem_store(seen, 0, i)
        if (pid == 0) & (tid(0) == 0):
            st(route_ptr + BAD_IDS, 0, semantic="weak")
            st(route_ptr + FIRST_BAD, 0x7FFFFFFF, semantic="weak")
        if SCORES:
            biases = dl.allocate_smem(tl.float32, [PADDED])
            scores = dl.allocate_smem(tl.float32, [threads // LANES * (PADDED + LANES)])
            sums = dl.allocate_smem(tl.float32, [threads // LANES * (PADDED + LANES)])
            of_groups = dl.allocate_smem(tl.float32, [threads // LANES * GROUPS])
            for e in range(tid(0), PADDED, threads):
                bias = 0.0
                if e < E:
                    bias = ld(bias_ptr + e, semantic="weak")
                dl.smem_store(biases, bias, e)
        __syncthreads()
        for nth in range(EACH):
            first, last = share_of(pid * EACH + nth, rank, m, shard_rows, tokens_each, parts, R)
            if SCORES:
                score(
                    logits_ptr,
                    ids_ptr,
                    weights_ptr,
                    biases,
                    scores,
                    sums,
                    of_groups,
                    first,
                    last,
                    E,
                    PADDED,
                    K,
                    WARPS,
                    LANES,
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
        if PADDED == E:
            tl.store(dl.smem_get_ptr(firsts, 0) + E, rows)
        write_blocks(counts_ptr, route_ptr, firsts, runs, total, slots, parts, E, PADDED, R, WARPS, ROWS_AT_ONCE, BLOCK, GROUP)
    if pid < ranges:
        base = behind - total + tl.sum(befores, axis=0)
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
                    expert = ld(ids_ptr + at, semantic="weak")
                is_row = (expert >= 0) & (expert < E)
                alike = like_me(expert, is_row, BITS)
                lower = popc(alike & ((1 << laneid()) - 1))
                row = -1
                above = 0
                if is_row:
                    above = dl.smem_load(seen, (nth * WARPS + warp) * E + expert) + lower
                    row = dl.smem_load(bases, nth * PADDED + expert) + above
                    st(order_ptr + row, at, semantic="weak")
                if at < end:
                    st(place_ptr + at, row, semantic="weak")
                    if (expert < -1) | (expert >= E):
                        tl.atomic_add(route_ptr + BAD_IDS, 1, sem="relaxed")
                        tl.atomic_min(route_ptr + FIRST_BAD, at, sem="relaxed")
                __syncwarp()
                if is_row & (lower + 1 == popc(alike)):
                    dl.smem_store(seen, above + 1, (nth * WARPS + warp) * E + expert)
                __syncwarp()
