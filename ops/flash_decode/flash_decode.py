"""Attention of a few queries a sequence over a long cache in pages: decoding.

An item is a sequence, a head of its keys and up to ROWS of the queries that look at it. Its keys go in blocks; the blocks of all items
stand in one row, each item's with COST places more for what it costs however short, or, where all are alike, with so many that items and
runs begin together. Every program takes an equal run of that row. So
lengths may be what they like, nothing but the lengths on the device decides who does what, and a captured launch serves them all.

A run has whole items and, at its ends, parts of two at most. Those a program leaves in memory of its own, with the maximum and the sum
of each query's exponentials. Who comes last to an item puts its parts together, in their order: the same bits in every run. Where parts are
large (TOGETHER), all who have one of an item wait for the others behind their runs and then share its rows.

Over ranks each has a part of every sequence's keys. The program that has an item's result sends it with the logarithms of its sums to all
ranks in packets that carry their flag; behind its run a program puts results of all ranks together, in their order. Slots are of
results, in two sets that take turns (ops/packets/packets.py says why two are enough).
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.calls import is_last_of
from ops.device.packets import end_call
from ops.flash_decode.parts import LOG2E, combine_ranks, elements_in_order, finish, keep_rows, load_heads, load_keys
from ops.flash_decode.parts import load_values, put_together
from tandem.simt import __syncthreads, ld

BAD_PAGE = tl.constexpr(1)
BAD_LENGTH = tl.constexpr(2)


@tandem.jit
def key_blocks(length, end, window, Q_LEN: tl.constexpr, BLOCK: tl.constexpr, WINDOW: tl.constexpr):
    """The first block of the keys that some query of a sequence sees, and how many there are."""
    first = 0
    if WINDOW:
        first = tl.maximum(end - Q_LEN - window + 1, 0) // BLOCK
    last = tl.cdiv(tl.maximum(tl.minimum(length, end), 0), BLOCK)
    return first, tl.maximum(last - first, 0)


@tandem.jit
def places_of(
    lengths_ptr, ends_ptr, seq, m, room, window, Q_LEN: tl.constexpr, BLOCK: tl.constexpr, COST: tl.constexpr, WINDOW: tl.constexpr
):
    """How many places an item of each of these sequences takes in the row; none behind the m-th sequence."""
    inside = seq < m
    length = tl.minimum(tl.load(lengths_ptr + seq, mask=inside, other=0), room)
    _, blocks = key_blocks(length, tl.load(ends_ptr + seq, mask=inside, other=0), window, Q_LEN, BLOCK, WINDOW)
    return tl.where(inside, blocks + COST, 0)


@tandem.jit
def whole_runs(here, total, each, ITEMS: tl.constexpr, PROGRAMS: tl.constexpr, COST: tl.constexpr):
    """How many places a run has, and how many an item has beside its blocks. Where all items are alike they begin with runs, or runs with
    them, so that no program has parts of two: unless that made the longest run longer by more than a sixteenth."""
    most = tl.max(here) // ITEMS
    items = tl.sum((here > 0).to(tl.int32)) * ITEMS
    blocks = tl.maximum(most - COST, 1)
    runs = tl.maximum(PROGRAMS // tl.maximum(items, 1), 1)  # of an item
    whole = tl.where(items <= PROGRAMS, tl.cdiv(blocks, runs), tl.cdiv(items, PROGRAMS) * blocks)
    places = tl.where(items <= PROGRAMS, tl.cdiv(blocks, whole) * whole, blocks)
    alike = (most > COST) & (most * items == total) & (whole * 16 <= each * 17)
    return tl.where(alike, whole, each), tl.where(alike, places - blocks, COST)


@tandem.jit
def flash_decode(
    q_ptr,
    q_turned_ptr,
    k_ptr,
    v_ptr,
    table_ptr,
    lengths_ptr,
    ends_ptr,
    sinks_ptr,
    scales_ptr,
    status_ptr,
    out_ptr,
    parts_ptr,
    stats_ptr,
    counts_ptr,
    results_ptr,
    slots_ptr,
    epochs_ptr,
    m,
    table_width,
    pages,
    window,
    rank_stride,
    scale,
    soft_cap,
    Q_LEN: tl.constexpr,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    DIM: tl.constexpr,
    D0: tl.constexpr,
    D1: tl.constexpr,
    TURNED: tl.constexpr,
    PAGE: tl.constexpr,
    ROWS: tl.constexpr,
    FEW_ROWS: tl.constexpr,
    SLICE: tl.constexpr,
    BLOCK: tl.constexpr,
    PROGRAMS: tl.constexpr,
    SEQS: tl.constexpr,
    MANY: tl.constexpr,
    LEAST: tl.constexpr,
    COST: tl.constexpr,
    WINDOW: tl.constexpr,
    CAPPED: tl.constexpr,
    SINKS: tl.constexpr,
    SCALED: tl.constexpr,
    TOLD: tl.constexpr,
    TOGETHER: tl.constexpr,
    BLOCKS: tl.constexpr,
    SIDE: tl.constexpr,
    RANKS: tl.constexpr,
    POLLS: tl.constexpr,
):
    """q [m, Q_LEN, HEADS, DIM], keys and values [pages, PAGE, KV_HEADS, DIM], table [m, table_width], lengths [m], out as q. D0 and D1:
    elements of the tiles that a head comes in, the second's perhaps 0. TURNED: keys and queries have so many elements more, and the keys'
    first DIM are the values. `ends`: where sequences end, counted from the first key here.
    SCALED: `scales` [2, KV_HEADS] of keys and values of fp8. SEQS sequences are looked at together; MANY: there may be more. A program
    takes LEAST places at least. TOGETHER: all must be resident. SLICE: elements of a head that are put together at once. BLOCKS: keys of
    TURNED are read as blocks, of which a page has some. SIDE: items of a sequence at which programs are side by side. TOLD: the status gets
    what was wrong with the table or a length, and with whose."""
    tl.extra.cuda.gdc_launch_dependents()
    tl.extra.cuda.gdc_wait()
    program = tl.program_id(0)
    GROUP: tl.constexpr = HEADS // KV_HEADS
    TILES: tl.constexpr = (Q_LEN * GROUP + ROWS - 1) // ROWS
    # Programs side by side have the same keys for other queries, which thus come from memory once, or other heads of these keys, whose
    # rows stand together; their numbers are far apart.
    RUNS: tl.constexpr = PROGRAMS // SIDE
    ITEMS: tl.constexpr = KV_HEADS * TILES // SIDE  # of a sequence
    side = program % SIDE
    pid = side * RUNS + program // SIDE
    WIDTH: tl.constexpr = DIM + TURNED
    epoch = 0
    set_ptr = slots_ptr
    if RANKS > 1:
        epoch = ld(epochs_ptr + program, semantic="weak") + 1
        set_ptr = slots_ptr + (epoch % 2) * rank_stride * RANKS
    room = table_width * PAGE

    # The program's run, the sequence at whose items it begins, and where these begin.
    here = places_of(lengths_ptr, ends_ptr, tl.arange(0, SEQS), m, room, window, Q_LEN, BLOCK, COST, WINDOW) * ITEMS
    total = tl.sum(here)
    if MANY:
        for some in range(SEQS, m, SEQS):
            total += (
                tl.sum(places_of(lengths_ptr, ends_ptr, some + tl.arange(0, SEQS), m, room, window, Q_LEN, BLOCK, COST, WINDOW)) * ITEMS
            )
    each = tl.maximum(tl.cdiv(total, RUNS), LEAST)
    cost = COST
    if not MANY:
        each, cost = whole_runs(here, total, each, ITEMS, RUNS, COST)
        here = tl.where(here > 0, here + (cost - COST) * ITEMS, 0)
        total = tl.sum(here)
    at = program // SIDE * each
    stop = tl.minimum(at + each, total)
    behind = tl.cumsum(here, 0)
    is_before = (behind <= at) & (here > 0)
    seq = tl.sum(is_before.to(tl.int32))
    begin = tl.max(tl.where(is_before, behind, 0))
    if MANY:
        before = tl.sum(here)
        for some in range(SEQS, m, SEQS):
            here = places_of(lengths_ptr, ends_ptr, some + tl.arange(0, SEQS), m, room, window, Q_LEN, BLOCK, COST, WINDOW) * ITEMS
            behind = before + tl.cumsum(here, 0)
            is_before = (behind <= at) & (here > 0)
            seq += tl.sum(is_before.to(tl.int32))
            begin = tl.maximum(begin, tl.max(tl.where(is_before, behind, 0)))
            before += tl.sum(here)

    in_tile = tl.arange(0, ROWS)
    in_block = tl.arange(0, BLOCK)
    if TURNED:
        turned = tl.arange(0, TURNED)
    if BLOCKS:  # of both tiles, of which one is multiplied while the other comes
        q_rows = m * (Q_LEN * HEADS)
        q_blocks = tl.make_tensor_descriptor(q_ptr, [q_rows, DIM], [DIM, 1], [ROWS, D0])
        q_turned_blocks = tl.make_tensor_descriptor(q_turned_ptr, [q_rows, TURNED], [TURNED, 1], [ROWS, TURNED])
        k_blocks = tl.make_tensor_descriptor(k_ptr, [pages, PAGE, WIDTH], [PAGE * WIDTH, WIDTH, 1], [1, BLOCK, D0])
        turned_blocks = tl.make_tensor_descriptor(k_ptr, [pages, PAGE, WIDTH], [PAGE * WIDTH, WIDTH, 1], [1, BLOCK, TURNED])
    MATH: tl.constexpr = tl.float16 if SCALED else q_ptr.dtype.element_ty
    # Warps read operands of 8 bits from shared memory as words; wgmma, of whole tiles of queries, has them stored as fp16.
    ORDERED: tl.constexpr = SCALED and not TURNED and ROWS < 64
    # The items that others have parts of, too: at the run's beginning and at its end.
    first_seq, first_nth, first_count, first_of_first = 0, 0, 0, 0
    last_seq, last_nth, last_count = 0, 0, 0
    while at < stop:
        given_length = tl.load(lengths_ptr + seq)
        length = tl.minimum(given_length, room)
        end = tl.load(ends_ptr + seq)
        first, blocks = key_blocks(length, end, window, Q_LEN, BLOCK, WINDOW)
        nth = (at - begin) // (blocks + cost)
        item = begin + nth * (blocks + cost)
        of_seq = nth * SIDE + side
        kv_head = of_seq // TILES
        first_row = of_seq % TILES * ROWS
        row = first_row + in_tile
        real = row < Q_LEN * GROUP
        at_seq = seq.to(tl.int64) * (Q_LEN * HEADS)
        table_row = table_ptr + seq.to(tl.int64) * table_width
        q_row = at_seq + row // GROUP * HEADS + kv_head * GROUP + row % GROUP
        if BLOCKS:  # ahead of the keys, from the same queue
            q = q_blocks.load([seq * (Q_LEN * HEADS) + first_row, 0])
            q_second = q_blocks.load([seq * (Q_LEN * HEADS) + first_row, D0])
            q_turned = q_turned_blocks.load([seq * (Q_LEN * HEADS) + first_row, 0])
        else:
            q = load_heads(q_ptr, q_row * DIM, real, 0, D0, DIM, ORDERED).to(MATH)
            q_second = load_heads(q_ptr, q_row * DIM, real, D0, D1, DIM, ORDERED).to(MATH) if D1 else None
        if TURNED and not BLOCKS:
            q_turned = tl.load(q_turned_ptr + q_row[:, None] * TURNED + turned[None, :], mask=real[:, None], other=0.0).to(MATH)
        of_scores = scale
        if SCALED:
            of_scores = scale * tl.load(scales_ptr + kv_head)
            if not CAPPED:  # the greatest product has the greatest score if queries have the scale's sign, and none where it is 0
                sign = tl.where(of_scores > 0, 1.0, tl.where(of_scores < 0, -1.0, 0.0)).to(MATH)
                of_scores = tl.where(of_scores == 0, 1.0, tl.abs(of_scores))
                q *= sign
                if D1:
                    q_second *= sign
                if TURNED:
                    q_turned *= sign
        last_key = end - Q_LEN + row // GROUP  # that a query sees
        greatest = tl.full((ROWS,), -float("inf"), tl.float32)
        sums = tl.zeros((ROWS,), tl.float32)
        acc = tl.zeros((ROWS, D0), tl.float32)
        acc_second = tl.zeros((ROWS, D1), tl.float32) if D1 else None
        is_bad = tl.zeros((BLOCK,), tl.int32)
        for block in range(first + at - item, first + tl.minimum(stop - item, blocks)):
            key = block * BLOCK + in_block
            if PAGE >= BLOCK:
                page = tl.load(table_row + block * BLOCK // PAGE)
                at_block = page.to(tl.int64) * PAGE + block * BLOCK % PAGE
                at_key = in_block
            else:
                page = tl.load(table_row + key // PAGE, mask=key < length, other=0)
                at_block = 0
                at_key = page.to(tl.int64) * PAGE + key % PAGE
            is_page = (page >= 0) & (page < pages)
            there = (key < length) & is_page
            if BLOCKS:
                # A block ends with the sequence: before its keys are some of the page that came before, or zeros.
                beyond = tl.maximum((block + 1) * BLOCK - length, 0)
                key -= beyond
                there = (key >= block * BLOCK) & is_page
            if TOLD:
                is_bad = is_bad | ((key < length) & ~is_page).to(tl.int32)
            if BLOCKS:
                in_page = block * BLOCK % PAGE - beyond
                k = k_blocks.load([page, in_page, 0]).reshape(BLOCK, D0)
                k_second = k_blocks.load([page, in_page, D0]).reshape(BLOCK, D1)
                k_turned = turned_blocks.load([page, in_page, DIM]).reshape(BLOCK, TURNED)
                v, v_second = k, k_second
            else:
                # A block's place, then its keys' among themselves, which is the same for all blocks of a page.
                at_head = at_block * KV_HEADS + kv_head
                k_block = k_ptr + at_head * WIDTH
                k_rows = at_key * (KV_HEADS * WIDTH)
                k = load_keys(k_block, k_rows, there, 0, D0, DIM, ORDERED, MATH)
                k_second = load_keys(k_block, k_rows, there, D0, D1, DIM, ORDERED, MATH) if D1 else None
                if TURNED:
                    k_turned = tl.load(k_block + (k_rows[:, None] + (DIM + turned)[None, :]), mask=there[:, None], other=0.0).to(MATH)
                    v, v_second = k, k_second
                else:
                    v_block = v_ptr + at_head * DIM
                    v_rows = at_key * (KV_HEADS * DIM)
                    v = load_values(v_block, v_rows, there, 0, D0, DIM, ORDERED, MATH)
                    v_second = load_values(v_block, v_rows, there, D0, D1, DIM, ORDERED, MATH) if D1 else None
            scores = tl.dot(q, k.T)
            if D1:
                scores = tl.dot(q_second, k_second.T, scores)
            if TURNED:
                scores = tl.dot(q_turned, k_turned.T, scores)
            by = of_scores * LOG2E
            if CAPPED:
                scores = soft_cap * LOG2E * (1 - 2 / (1 + tl.exp2(scores * (2 * by / soft_cap))))
                by = 1.0
            is_clear = False  # all queries see all keys
            if PAGE >= BLOCK and not (WINDOW or BLOCKS):
                is_clear = ((block + 1) * BLOCK <= tl.minimum(length, end - Q_LEN + 1)) & is_page
            if not is_clear:
                seen = there[None, :] & (key[None, :] <= last_key[:, None])
                if WINDOW:
                    seen = seen & (key[None, :] > last_key[:, None] - window)
                scores = tl.where(seen, scores, -float("inf"))
            highest = tl.maximum(greatest, tl.max(scores, 1) * by)
            base = tl.where(highest == -float("inf"), 0.0, highest)
            weights = tl.exp2(scores * by - base[:, None])
            shrink = tl.exp2(greatest - base)
            sums = sums * shrink + tl.sum(weights, 1)
            acc = tl.dot(weights.to(MATH), v, acc * shrink[:, None])
            if D1:
                acc_second = tl.dot(weights.to(MATH), v_second, acc_second * shrink[:, None])
            greatest = highest
        if TOLD:
            what = tl.max(is_bad, 0) * BAD_PAGE + ((given_length < 0) | (given_length > room)).to(tl.int32) * BAD_LENGTH
            if what != 0:
                tl.atomic_or(status_ptr, what, sem="relaxed")
                tl.atomic_max(status_ptr + 1, seq + 1, sem="relaxed")
        if SCALED:
            of_values = tl.load(scales_ptr + KV_HEADS + kv_head)
            acc *= of_values
            if D1:
                acc_second *= of_values
        if ORDERED:
            acc = elements_in_order(acc)
            if D1:
                acc_second = elements_in_order(acc_second)
        if (at == item) & (item + blocks <= stop):  # the places behind the blocks may be another's
            finish(
                (acc, acc_second),
                greatest,
                sums,
                first_row,
                sinks_ptr,
                out_ptr,
                results_ptr + 2 * pid * (ROWS * (DIM + 2)),
                set_ptr,
                at_seq,
                kv_head,
                epoch,
                rank_stride,
                Q_LEN,
                HEADS,
                GROUP,
                DIM,
                SINKS,
                RANKS,
            )
        elif at - item < blocks:
            part = pid * 2 + (at == item).to(tl.int32)
            tl.store(stats_ptr + part * (2 * ROWS) + in_tile, greatest, mask=real)
            tl.store(stats_ptr + part * (2 * ROWS) + ROWS + in_tile, sums, mask=real)
            part_ptr = parts_ptr + (part.to(tl.int64) * ROWS + in_tile[:, None]) * (D0 + D1)
            keep_rows(part_ptr, (acc, acc_second), 1 / tl.where(sums > 0, sums, 1.0), real)
            count = (item + blocks - 1) // each - item // each + 1
            if at == item:
                last_seq, last_nth, last_count = seq, of_seq, count
            else:
                first_seq, first_nth, first_count, first_of_first = seq, of_seq, count, side * RUNS + item // each
        at = item + blocks + cost
        if nth == ITEMS - 1:
            seq += 1
            begin = at
    __syncthreads()
    # Both items are told of at once.
    nth_count = tl.arange(0, 2)
    expected = tl.where(nth_count == 0, first_count, last_count)
    counted = tl.zeros((2,), tl.int32)
    if first_count + last_count > 0:
        counts = counts_ptr + 2 * tl.where(nth_count == 0, first_of_first, pid)
        counted = tl.atomic_add(counts, 1, mask=expected > 0, sem="release" if TOGETHER else "acq_rel", scope="gpu") + 1
    for which in range(2):
        count = tl.where(which == 0, first_count, last_count)
        first_pid = tl.where(which == 0, first_of_first, pid)
        if count > 0:
            mine = pid - first_pid
            source = parts_ptr
            stats = stats_ptr
            if TOGETHER:
                token = dl.wait(counts_ptr + 2 * first_pid, 1, "gpu", "acquire", waitValue=count, compare="ge")
                source = dl.consume_token(parts_ptr, token)
                stats = dl.consume_token(stats_ptr, token)
            elif tl.sum(tl.where((nth_count == which) & (counted == expected), 1, 0)) > 0:
                tl.store(counts_ptr + 2 * first_pid, 0)
                mine = 0
            else:
                mine = ROWS  # nothing
            put_together(
                source,
                stats,
                first_pid,
                count,
                tl.where(which == 0, first_nth, last_nth),
                tl.where(which == 0, first_seq, last_seq),
                mine,
                count if TOGETHER else 1,
                sinks_ptr,
                out_ptr,
                results_ptr + (2 * (pid if TOGETHER else first_pid) + 1) * (ROWS * (DIM + 2)),
                set_ptr,
                epoch,
                rank_stride,
                Q_LEN,
                HEADS,
                GROUP,
                DIM,
                D0,
                D1,
                ROWS,
                FEW_ROWS,
                SLICE,
                SINKS,
                RANKS,
            )
            if TOGETHER:
                __syncthreads()
                if is_last_of(counts_ptr + 2 * first_pid + 1, count):
                    tl.store(counts_ptr + 2 * first_pid, 0)
                    tl.store(counts_ptr + 2 * first_pid + 1, 0)
    if RANKS > 1:
        combine_ranks(sinks_ptr, out_ptr, set_ptr, m, epoch, rank_stride, Q_LEN, HEADS, DIM, PROGRAMS, SINKS, RANKS, POLLS)
        end_call(epochs_ptr, epoch)
