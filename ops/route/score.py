"""Finds the experts of each token from its logits, a few lanes for each token."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.libdevice import popc
from tandem.simt import __ballot_sync, __shfl_sync_i32, __shfl_xor_sync_i32, __syncwarp, ld, st, tid

NONE = tl.constexpr(1 << 30)  # no expert


@tandem.jit
def best_of(sums, at, expert, COUNT: tl.constexpr, LANES: tl.constexpr):
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
def sort_pairs(values, experts, COUNT: tl.constexpr):
    """Both in the order of the values, the largest first, equal ones as they stand: neighbours change places, in COUNT rounds."""
    for turn in tl.static_range(COUNT):
        next_values = ()
        next_experts = ()
        for i in tl.static_range(COUNT):
            other: tl.constexpr = i + 1 if i % 2 == turn % 2 else i - 1
            value = values[i]
            expert = experts[i]
            if 0 <= other < COUNT:
                changes = values[max(i, other)] > values[min(i, other)]
                value = tl.where(changes, values[other], value)
                expert = tl.where(changes, experts[other], expert)
            next_values = next_values + (value,)
            next_experts = next_experts + (expert,)
        values = next_values
        experts = next_experts
    return values, experts


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
def choose_by_places(values, scores, sums, listed, at, lane, PADDED: tl.constexpr, K: tl.constexpr):
    """The lane's id and weight, if it is below K, of a token that a warp scores: without rounds. The K lanes whose best are the largest
    have all of the K best experts, none of which is less than the last of these lanes' best. So what is no less is listed, in the order of
    the experts, and an expert's place is the number of those in the list that come before it."""
    EACH: tl.constexpr = PADDED // 32
    head = float("-inf")
    for i in tl.static_range(EACH):
        head = tl.where(values[i] > head, values[i], head)
    dl.smem_store(sums, head, at + PADDED + lane)
    __syncwarp()
    place = 0
    for other in tl.static_range(32):
        theirs = dl.smem_load(sums, at + PADDED + other)
        place += ((theirs > head) | ((theirs == head) & (other < lane))).to(tl.int32)
    last = __ballot_sync(0xFFFFFFFF, place == K - 1)
    least = __shfl_sync_i32(0xFFFFFFFF, head, popc(last - 1))
    count = 0
    equal = 0
    lower = (1 << lane) - 1
    for i in tl.static_range(EACH):
        is_equal = (values[i] == least) & (least > float("-inf"))
        equals = __ballot_sync(0xFFFFFFFF, is_equal)
        is_listed = (values[i] > least) | (is_equal & (equal + popc(equals & lower) < K))
        equal += popc(equals)
        votes = __ballot_sync(0xFFFFFFFF, is_listed)
        if is_listed:
            to = at + count + popc(votes & lower)
            dl.smem_store(sums, values[i], to)
            dl.smem_store(listed, i * 32 + lane, to)
        count += popc(votes)
    if (lane < 8) & (count + lane < PADDED):
        dl.smem_store(sums, float("-inf"), at + count + lane)
    if lane < K:
        dl.smem_store(listed, NONE, at + PADDED + lane)
    __syncwarp()
    for nth in range(lane, count, 32):
        mine = dl.smem_load(sums, at + nth)
        place = 0
        for begin in range(0, count, 8):
            for behind in tl.static_range(8):
                theirs = dl.smem_load(sums, at + begin + behind)
                place += ((theirs > mine) | ((theirs == mine) & (begin + behind < nth))).to(tl.int32)
        if place < K:
            dl.smem_store(listed, dl.smem_load(listed, at + nth), at + PADDED + place)
    __syncwarp()
    id = dl.smem_load(listed, at + PADDED + lane % K)
    weight = 0.0
    if id < PADDED:
        weight = dl.smem_load(scores, at + id)
    return id, weight


@tandem.jit
def choose_in_rounds(values_of, scores, sums, at, lane, PADDED: tl.constexpr, K: tl.constexpr, LANES: tl.constexpr):
    """The ids and weights of a token that LANES lanes score, and the sum of its weights. Each round takes the best of all lanes' best."""
    EACH: tl.constexpr = PADDED // LANES
    SORTS: tl.constexpr = EACH <= 8
    OF_SET: tl.constexpr = 1 if SORTS else 8
    SETS: tl.constexpr = EACH // OF_SET
    STEPS: tl.constexpr = LANES.bit_length() - 1
    values = ()
    experts = ()
    for of in tl.static_range(SETS):
        value = float("-inf")
        expert = NONE
        for i in tl.static_range(of * OF_SET, (of + 1) * OF_SET):
            expert = tl.where(values_of[i] > value, i * LANES + lane, expert)
            value = tl.where(values_of[i] > value, values_of[i], value)
        values = values + (value,)
        experts = experts + (expert,)
    if SORTS:
        values, experts = sort_pairs(values, experts, EACH)
    ids = ()
    weights = ()
    total = 0.0
    for k in tl.static_range(K):
        value = values[0]
        expert = experts[0]
        for of in tl.static_range(1, 1 if SORTS else SETS):
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
        if SORTS:
            is_mine = expert == experts[0]
            for of in tl.static_range(SETS):
                next_value = values[of + 1] if of + 1 < SETS else float("-inf")
                next_expert = experts[of + 1] if of + 1 < SETS else NONE
                values = values[:of] + (tl.where(is_mine, next_value, values[of]),) + values[of + 1 :]
                experts = experts[:of] + (tl.where(is_mine, next_expert, experts[of]),) + experts[of + 1 :]
        elif k + 1 < K:
            of_mine = -1
            if (expert % LANES == lane) & (expert < PADDED):
                dl.smem_store(sums, float("nan"), at + expert)
                of_mine = expert // (OF_SET * LANES)
                value, expert = best_of(sums, at, of_mine * (OF_SET * LANES) + lane, OF_SET, LANES)
            next_values = ()
            next_experts = ()
            for of in tl.static_range(SETS):
                next_values = next_values + (tl.where(of == of_mine, value, values[of]),)
                next_experts = next_experts + (tl.where(of == of_mine, expert, experts[of]),)
            values = next_values
            experts = next_experts
    return ids, weights, total


@tandem.jit
def score(
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
    E: tl.constexpr,
    PADDED: tl.constexpr,
    K: tl.constexpr,
    SHARED: tl.constexpr,
    WARPS: tl.constexpr,
    LANES: tl.constexpr,
    SIGMOID: tl.constexpr,
    GROUPS: tl.constexpr,
    TOP_GROUPS: tl.constexpr,
    RENORMALISE: tl.constexpr,
    SCALE: tl.constexpr,
):
    """Ids and weights, times SCALE, of the tokens from `first` to `last`, LANES lanes for each. The bias counts for the choice alone.
    Behind the K experts that are chosen among E a token has the SHARED ones that follow these, with weight 1.

    A lane has every LANES-th expert's score in shared memory, and beside it the sum with the bias. A warp that has one token finds the
    places of its best experts. Else the best of all lanes' best is taken: a lane of few experts has them in order, so that its next is at
    hand, or it has them in sets, and knows the best of each: what is taken becomes no number, and its lane looks through its set again."""
    EACH: tl.constexpr = PADDED // LANES
    PLACES: tl.constexpr = LANES == 32 and EACH <= 8
    TOKENS: tl.constexpr = 32 // LANES
    STEPS: tl.constexpr = LANES.bit_length() - 1
    nth = tid(0) // LANES
    lane = tid(0) % LANES
    at = nth * (PADDED + LANES)  # tokens of a warp in different banks
    for begin in range(first + tid(0) // 32 * TOKENS, last, WARPS * TOKENS):
        token = begin + nth % TOKENS
        row_ptr = logits_ptr + tl.minimum(token, last - 1).to(tl.int64) * E
        logits = ()
        biases = ()
        for i in tl.static_range(EACH):
            logit = float("-inf")
            bias = float("nan")
            if i * LANES + lane < E:
                logit = ld(row_ptr + (i * LANES + lane), semantic="weak").to(tl.float32)
                bias = ld(bias_ptr + (i * LANES + lane), semantic="weak")
            logits = logits + (logit,)
            biases = biases + (bias,)
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
        values = ()
        for i in tl.static_range(EACH):
            if SIGMOID:
                value = tl.sigmoid(logits[i])
            else:
                value = exponentials[i] * share
            dl.smem_store(scores, value, at + i * LANES + lane)
            values = values + (value + biases[i],)
            if not PLACES or TOP_GROUPS < GROUPS:
                dl.smem_store(sums, values[i], at + i * LANES + lane)
        __syncwarp()
        if TOP_GROUPS < GROUPS:
            keep_groups(sums, of_groups, at, nth * GROUPS, lane, E, LANES, GROUPS, TOP_GROUPS)

        if TOP_GROUPS < GROUPS:
            values = ()
            for i in tl.static_range(EACH):
                values = values + (dl.smem_load(sums, at + i * LANES + lane),)
        if PLACES:
            id, weight = choose_by_places(values, scores, sums, listed, at, lane, PADDED, K)
            ids = (id,)
            weights = (weight,)
            if RENORMALISE:
                total = 0.0
                for k in tl.static_range(K):
                    total += __shfl_sync_i32(0xFFFFFFFF, weight, k)
        else:
            ids, weights, total = choose_in_rounds(values, scores, sums, at, lane, PADDED, K, LANES)
        if RENORMALISE:
            share = SCALE / total
        for begin_k in tl.static_range(0, K, LANES):
            id = ids[begin_k]
            weight = weights[begin_k]
            if not PLACES:
                for k in tl.static_range(begin_k + 1, min(K, begin_k + LANES)):
                    id = tl.where(lane == k - begin_k, ids[k], id)
                    weight = tl.where(lane == k - begin_k, weights[k], weight)
            if RENORMALISE:
                weight *= share
            elif SCALE != 1:
                weight *= SCALE
            if (token < last) & (begin_k + lane < K):
                st(ids_ptr + (token * (K + SHARED) + begin_k + lane), id, semantic="weak")
                st(weights_ptr + (token * (K + SHARED) + begin_k + lane), weight, semantic="weak")
        for begin_k in tl.static_range(0, SHARED, LANES):
            if (token < last) & (begin_k + lane < SHARED):
                st(ids_ptr + (token * (K + SHARED) + K + begin_k + lane), E + begin_k + lane, semantic="weak")
                st(weights_ptr + (token * (K + SHARED) + K + begin_k + lane), 1.0, semantic="weak")
