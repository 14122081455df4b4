"""Sums of slots by threads that copy rows ahead into shared memory. What is under way takes no registers there, and a thread reads what it
has copied itself, so nobody meets; with few registers the program finds room beside one of a product's.

Each warp has some tokens of an item, whose rows it takes one after the other: the results of a token's slots, by their weights, and, of
this rank's own tokens, what the peers have sent. A table has all their addresses and weights. RING rows are under way at any time."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.routes import place_of, weights_of
from tandem.simt import (
    __shfl_sync_i32,
    __syncwarp,
    cp_async,
    cp_async_commit_group,
    cp_async_wait_group,
    laneid,
    ld,
    ld_vector,
    num_warps,
    st,
    st_vector,
    tid,
)


@tandem.jit
def make_ring(dtype: tl.constexpr, ROW: tl.constexpr, RING: tl.constexpr, TABLE: tl.constexpr, WARPS: tl.constexpr):
    """Of each warp RING rows of ROW elements, and tables of TABLE addresses and weights; all threads of the program make them."""
    rows = dl.allocate_smem(dtype, [WARPS * RING * ROW])
    return rows, dl.allocate_smem(tl.int64, [WARPS * TABLE]), dl.allocate_smem(tl.float32, [WARPS * TABLE])


@tandem.jit
def fill_table(slots, ring, table, rows_ptr, sums_ptr, first, count, ALL: tl.constexpr, RING: tl.constexpr):
    """The addresses and weights of the rows of `count` tokens from `first` on, ALL of each, in their order: of its slots, where the route
    has such tokens, and of peers' sums. Behind them are RING and two of no row; a slot that is dropped has none. `table`: where the warp's
    begins."""
    TOP_K: tl.constexpr = slots.top_k
    place_ptr = place_of(slots.route_ptr, slots.experts, slots.tokens * TOP_K) + first * TOP_K
    by_ptr = weights_of(slots.route_ptr, slots.experts, slots.tokens * TOP_K) + first * TOP_K
    with_slots = tl.where(slots.tokens > 0, count, 0)
    addresses, weights = ring[1:]
    __syncwarp()  # all lanes have read what stands there
    for i in range(laneid(), count * ALL + RING + 2, 32):
        token = i // ALL
        nth = i - token * ALL
        address = tl.cast(0, tl.int64)
        weight = 0.0
        if nth < TOP_K:
            if token < with_slots:
                place = ld(place_ptr + token * TOP_K + nth, semantic="weak")
                if place >= 0:
                    weight = ld(by_ptr + token * TOP_K + nth, semantic="weak")
                    address = (rows_ptr + place.to(tl.int64) * slots.width).to(tl.int64, bitcast=True)
        elif token < count:
            weight = 1.0
            address = (sums_ptr + (nth - TOP_K) * slots.shard + token.to(tl.int64) * slots.width).to(tl.int64, bitcast=True)
        dl.smem_store(addresses, address, [table + i])
        dl.smem_store(weights, weight, [table + i])
    __syncwarp()


@tandem.jit
def copy_row(rows, to, address, at, columns, COLUMNS: tl.constexpr, dtype: tl.constexpr):
    """Starts the copy of the lane's part of a row, which begins at its element `at`, to the element `to` of the ring's: zeros where there
    is none."""
    if at < COLUMNS:
        read = tl.where((address != 0) & (at < columns), 16, 0)
        cp_async(dl.smem_get_ptr(rows, [to]), address.to(tl.pointer_type(dtype), bitcast=True) + at, 16, read=read)
    cp_async_commit_group()


@tandem.jit
def row_at(rows, place, at, COLUMNS: tl.constexpr, dtype: tl.constexpr):
    """The lane's part of the row of the ring at `place`."""
    ELEMENTS: tl.constexpr = 128 // dtype.primitive_bitwidth
    values = dl.zeros_vector(ELEMENTS, dtype)
    if at < COLUMNS:
        values = ld_vector(dl.smem_get_ptr(rows, [place]), ELEMENTS, "cta", "weak")
    return values


@tandem.jit
def addresses_behind(addresses, nth):
    return dl.smem_load(addresses, [nth]), dl.smem_load(addresses, [nth + 1])


@tandem.jit
def weights_from(weights, nth):
    return dl.smem_load(weights, [nth]), dl.smem_load(weights, [nth + 1])


@tandem.jit
def with_pairs_changed(words, LOW: tl.constexpr):
    """Of four words of each of two lanes that differ by LOW, LOW apart in both, those across change places."""
    is_high = laneid() & LOW != 0
    changed = ()
    for i in tl.static_range(2):
        first: tl.constexpr = i if LOW == 2 else 2 * i
        theirs = __shfl_sync_i32(0xFFFFFFFF, tl.where(is_high, words[first], words[first + LOW]), laneid() ^ LOW)
        changed += ((tl.where(is_high, theirs, words[first]), tl.where(is_high, words[first + LOW], theirs)),)
    if LOW == 2:
        return changed[0][0], changed[1][0], changed[0][1], changed[1][1]
    return changed[0][0], changed[0][1], changed[1][0], changed[1][1]


@tandem.jit
def column_of(at):
    """Of the element `at` of packed rows (ops/device/packed.py)."""
    return at // 32 * 32 + at % 8 // 2 * 8 + at % 32 // 8 * 2 + at % 2


@tandem.jit
def store_result(out_ptr, at, values, until, is_aligned, ELEMENTS: tl.constexpr, PACKED: tl.constexpr):
    """A lane's elements of a row, which stand from `at` on among the product's columns, of which the row has those up to `until`."""
    IN_ORDER: tl.constexpr = not PACKED or ELEMENTS == 8
    if PACKED and IN_ORDER:
        # Of 32 columns four lanes have four pairs each, and change them so that each has eight columns that follow one another.
        words = values.recast(tl.int32)
        words = with_pairs_changed(with_pairs_changed((words[0], words[1], words[2], words[3]), 1), 2)
        values = dl.make_vector(words[0], words[1], words[2], words[3]).recast(out_ptr.dtype.element_ty)
    if IN_ORDER & is_aligned & (at + ELEMENTS <= until):
        st_vector(out_ptr + at, values, "gpu", "weak")
    else:
        for i in tl.static_range(ELEMENTS):
            column = at + i if IN_ORDER else column_of(at + i)
            if column < until:
                st(out_ptr + column, values[i], semantic="weak")


@tandem.jit
def sum_item(slots, item, ring, RING: tl.constexpr, TABLE: tl.constexpr, OWN: tl.constexpr):
    """The sums of an item, of this rank's own tokens with OWN."""
    dtype: tl.constexpr = item.results_ptr.dtype.element_ty
    ELEMENTS: tl.constexpr = 128 // dtype.primitive_bitwidth
    ALL: tl.constexpr = slots.top_k + (slots.ranks - 1 if OWN else 0)  # rows of a token
    COLUMNS: tl.constexpr = slots.columns
    ring_rows, addresses, weights = ring
    columns = item.columns
    each = tl.cdiv(item.rows, num_warps())
    begin = tid(0) // 32 * each
    count = tl.maximum(tl.minimum(item.rows - begin, each), 0)
    to_ptr = item.to_ptr + begin.to(tl.int64) * slots.width
    out_ptr = item.out_ptr + begin.to(tl.int64) * slots.pitch
    table = tid(0) // 32 * TABLE
    fill_table(slots, ring, table, item.results_ptr + item.left, to_ptr, item.first + begin, count, ALL, RING)
    at = laneid() * ELEMENTS
    ring_begin = tid(0) // 32 * (RING * COLUMNS) + at
    for i in tl.static_range(RING):
        address = dl.smem_load(addresses, [table + i])
        copy_row(ring_rows, ring_begin + i * COLUMNS, address, at, columns, COLUMNS, dtype)
    ahead = addresses_behind(addresses, table + RING)
    by = weights_from(weights, table)
    place = 0  # in the ring, in elements
    until = tl.minimum(slots.n, item.left + columns)
    # Told by what only the device knows, so that these are loops: few registers hold two rows.
    pairs = tl.where(slots.width > 0, ALL // 2, 0)
    for token in range(count):
        total = dl.zeros_vector(ELEMENTS, tl.float32)
        for _pair in range(pairs):
            cp_async_wait_group(RING - 2)
            behind = tl.where(place == (RING - 1) * COLUMNS, 0, place + COLUMNS)
            values = row_at(ring_rows, ring_begin + place, at, COLUMNS, dtype)
            more = row_at(ring_rows, ring_begin + behind, at, COLUMNS, dtype)
            copy_row(ring_rows, ring_begin + place, ahead[0], at, columns, COLUMNS, dtype)
            copy_row(ring_rows, ring_begin + behind, ahead[1], at, columns, COLUMNS, dtype)
            table += 2
            ahead = addresses_behind(addresses, table + RING)
            total = total + values.to(tl.float32) * by[0]
            total = total + more.to(tl.float32) * by[1]
            by = weights_from(weights, table)
            place = tl.where(behind == (RING - 1) * COLUMNS, 0, behind + COLUMNS)
        if ALL % 2:
            cp_async_wait_group(RING - 1)
            only = row_at(ring_rows, ring_begin + place, at, COLUMNS, dtype)
            copy_row(ring_rows, ring_begin + place, ahead[0], at, columns, COLUMNS, dtype)
            table += 1
            ahead = addresses_behind(addresses, table + RING)
            total = total + only.to(tl.float32) * by[0]
            by = weights_from(weights, table)
            place = tl.where(place == (RING - 1) * COLUMNS, 0, place + COLUMNS)
        if OWN:
            if begin + token < item.own_rows:
                result = total.to(out_ptr.dtype.element_ty)
                store_result(out_ptr, item.left + at, result, until, slots.pitch % ELEMENTS == 0, ELEMENTS, slots.packed)
            out_ptr += slots.pitch
        else:
            if at < columns:
                st_vector(to_ptr + at, total.to(to_ptr.dtype.element_ty), "gpu", "weak")
            to_ptr += slots.width
    cp_async_wait_group(0)
