"""Products of the rows of each expert with that expert's matrix, over the blocks of a route (ops/device/routes.py).

One persistent kernel: a program takes every PROGRAMS-th tile, and an expert without rows has none. Tiles of a group of row blocks follow
one another column by column, as they read the same rows of B. Rows of A are read where the route says (GATHER), or stand in order.

Over ranks, rows of A may be on their way: AWAITED, this rank's stand `apart` elements behind where the others arrive, and the
channel says of each shard when it is there. Blocks of the first turn come first, so many that the others arrive meanwhile, then all blocks
of the experts behind those, each expert's together, then what is left: a matrix is read from memory once, those of the first blocks twice.

PACKED: results are for sums of slots (ops/device/slots.py), so each thread stores what it has. COUNTED: tiles come in parts of the columns,
and `brought` counts those of each part, so that the kernel behind, which may start beside this one, sums one part while the next is
multiplied.

MIXED: a tile's columns are two halves, and some tiles have the first one alone: the last column's where the second would be empty, and
those of the last round, where their halves are enough for all programs. Tiles of one half come last.

CUT: few tiles are cut along the inner size, into as many pieces of at least CUT steps as there are programs for. Who has the last piece of
a tile adds the others' sums, in their order.

Elements of fp8 have scales, 128 of a row of A one, and 128 rows and columns of B one: products of 128 of the inner size are scaled, then
summed. QUANTISE: so has the result.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link
from ops.device.gathering import arrived, both_arrived, is_of_shard
from ops.device.packed import packed, packed_width
from ops.device.routes import BLOCK_WORDS, BLOCKS, FIRST_TURN, ROWS, blocks_of, is_of_call, order_of, place_of, weights_of
from ops.grouped_gemm.places import order_of_blocks, place_behind, place_in_parts, place_of_mixed, rows_of, shared_out, slots_of, words_of
from tandem.libdevice import fast_dividef
from tandem.tilelink.product import add_product

SCALED_ELEMENTS = tl.constexpr(128)
LARGEST = tl.constexpr(448.0)  # of fp8e4nv


@tandem.jit
def silu(x):
    """x / (1 + exp(-x)), to two units in the last place: five instructions of a thread, where an exact quotient is nine."""
    return fast_dividef(x, 1 + tl.exp2(x * -1.4426950408889634))


@tandem.jit
def add_scaled(x, b, row, inner, a_scale, b_scale, acc, FEW: tl.constexpr):
    """acc and the product of the block x with b's block there, x's rows by these scales. FEW: acc is the transpose."""
    product = add_product(x, b, row, inner, tl.zeros(acc.shape, dtype=tl.float32), True, FEW)
    return acc + product * tl.expand_dims(a_scale * b_scale, 0 if FEW else 1)


@tandem.jit
def add_scaled_by_pointers(x, b_ptrs, mask, a_scale, b_scale, acc):
    product = tl.dot(x, tl.load(b_ptrs, mask=mask, other=0.0), tl.zeros(acc.shape, dtype=tl.float32), input_precision="ieee")
    return acc + product * (a_scale * b_scale)[:, None]


@tandem.jit
def together(first, second, ROWS: tl.constexpr):
    """Both tiles as one, `second` behind `first`: its columns, or its ROWS."""
    if ROWS:
        return tl.join(first, second).permute(2, 0, 1).reshape(2 * first.shape[0], first.shape[1])
    return tl.join(first, second).permute(0, 2, 1).reshape(first.shape[0], 2 * first.shape[1])


@tandem.jit
def sums_of(
    a,
    a_ptrs,
    b,
    row,
    of_expert,
    up_rows,
    begin,
    until,
    k,
    is_row,
    zero,
    a_scale_ptrs,
    scale_ptr,
    second_scale_ptr,
    BOTH: tl.constexpr,
    GATED: tl.constexpr,
    SCALED: tl.constexpr,
    BLOCKS_OF_A: tl.constexpr,
    EVEN_K: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """The sums of a tile of one half of its columns or BOTH, and of the up columns, if GATED: of the first half, then of the second."""
    first, first_up, second, second_up = zero, zero, zero, zero
    half: tl.constexpr = zero.shape[1]
    in_step = tl.arange(0, BLOCK_K)
    for step in range(begin, until):
        inner = step * BLOCK_K
        if BLOCKS_OF_A:
            x = a.load([row, inner])
        elif EVEN_K:
            x = tl.load(a_ptrs)
            a_ptrs += BLOCK_K
        else:
            x = tl.load(a_ptrs, mask=is_row[:, None] & (in_step[None, :] < k - inner), other=0.0)
            a_ptrs += BLOCK_K
        if SCALED:
            a_scale = tl.load(a_scale_ptrs + step)
            scale = tl.load(scale_ptr + step)
            if BOTH:
                second_scale = tl.load(second_scale_ptr + step)
            first = add_scaled(x, b, of_expert, inner, a_scale, scale, first, False)
            if BOTH:
                second = add_scaled(x, b, of_expert + half, inner, a_scale, second_scale, second, False)
        else:
            first = add_product(x, b, of_expert, inner, first, True)
            if GATED:
                first_up = add_product(x, b, of_expert + up_rows, inner, first_up, True)
            if BOTH:
                second = add_product(x, b, of_expert + half, inner, second, True)
                if GATED:
                    second_up = add_product(x, b, of_expert + up_rows + half, inner, second_up, True)
    return first, first_up, second, second_up


@tandem.jit
def clear_row(out_ptr, row, n, BLOCK_N: tl.constexpr):
    for column in range(0, n, BLOCK_N):
        n_range = column + tl.arange(0, BLOCK_N)
        tl.store(out_ptr + row.to(tl.int64) * n + n_range, tl.zeros((BLOCK_N,), out_ptr.dtype.element_ty), mask=n_range < n)


@tandem.jit
def clear_rows(out_ptr, first, until, n, SIZE: tl.constexpr):
    """Rows that follow one another, by all programs together."""
    begin = tl.cast(first, tl.int64) * n
    end = tl.cast(until, tl.int64) * n
    for at in range(begin + tl.program_id(0) * SIZE, end, tl.num_programs(0) * SIZE):
        i = at + tl.arange(0, SIZE)
        tl.store(out_ptr + i, tl.zeros((SIZE,), out_ptr.dtype.element_ty), mask=i < end)


@tandem.jit
def grouped_gemm(
    a_ptr,
    b_ptr,
    out_ptr,
    route_ptr,
    ready_ptr,
    brought_ptr,
    bias_ptr,
    a_scales_ptr,
    b_scales_ptr,
    out_scales_ptr,
    findings_ptr,
    sums_ptr,
    left_ptr,
    a_rows,
    n,
    k,
    slots,
    shard_rows,
    apart,
    apart_scales,
    early,
    b_rows,
    first_column,
    part_tiles,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    PROGRAMS: tl.constexpr,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    BLOCKS_OF_A: tl.constexpr,
    BLOCKS_OF_B: tl.constexpr,
    EVEN_K: tl.constexpr,
    GATED: tl.constexpr,
    GATHER: tl.constexpr,
    SCATTER: tl.constexpr,
    WEIGH: tl.constexpr,
    AWAITED: tl.constexpr,
    COUNTED: tl.constexpr,
    PACKED: tl.constexpr,
    BIASED: tl.constexpr,
    SCALED: tl.constexpr,
    QUANTISE: tl.constexpr,
    CLEARS: tl.constexpr = True,
    CUT: tl.constexpr = 0,
    MIXED: tl.constexpr = False,
):
    """out[rows, n] = A · B[e]^T, of B[E, n, k]. GATED: B[E, 2 n, k] has gate rows, then up rows, and out = silu(A · gate^T) · (A · up^T).
    GATHER: A's rows are tokens, else the route's rows. SCATTER: out's rows are slots, else the route's rows. WEIGH: rows are multiplied
    with the route's weights. BIASED: sums begin with the bias [E, n] of their expert, of 2 n if GATED. B has
    `b_rows` rows of an expert; the result is of those from `first_column` on, 0 if GATED. A part has `part_tiles` tiles a row
    block. BLOCKS_OF_A, BLOCKS_OF_B: these are read as blocks, for which rows must be whole numbers of 16 bytes. CLEARS: all
    rows behind the route's are zeros, else those of a block, which the next product may read. With CUT `sums` has room for a tile's, two if
    GATED, of each program in fp32, and `left` a zero for each, which is a zero again in the end."""
    if COUNTED:
        tl.extra.cuda.gdc_launch_dependents()
    rank = dl.rank()
    ranks = dl.num_ranks()
    fits = is_of_call(route_ptr, findings_ptr, slots // TOP_K, E, TOP_K, BLOCK_M)
    blocks = tl.where(fits, tl.load(route_ptr + BLOCKS), 0)
    rows = tl.where(fits, tl.load(route_ptr + ROWS), 0)
    blocks_ptr = blocks_of(route_ptr, E, slots)
    order = ()
    if AWAITED:
        order = order_of_blocks(blocks_ptr, blocks, tl.where(fits, tl.load(route_ptr + FIRST_TURN), 0), early)
    else:
        blocks_ptr += tl.where(ranks > 1, blocks * BLOCK_WORDS, 0)
    order_ptr = order_of(route_ptr, E)
    columns = tl.cdiv(n, BLOCK_N)
    steps = tl.cdiv(k, BLOCK_K)
    WIDE: tl.constexpr = 2 if GATED else 1
    # Columns of two scales are two products, as gate and up columns are.
    HALVES: tl.constexpr = SCALED and BLOCK_N > SCALED_ELEMENTS and not MIXED
    PAIR: tl.constexpr = GATED or HALVES
    PRODUCT_N: tl.constexpr = BLOCK_N // 2 if HALVES or MIXED else BLOCK_N
    # The unit that multiplies takes 64 rows: those of B, where A has fewer.
    FEW: tl.constexpr = BLOCKS_OF_B and BLOCK_M < 64
    if BLOCKS_OF_A:
        a = a_ptrs = tl.make_tensor_descriptor(a_ptr, shape=[a_rows, k], strides=[k, 1], block_shape=[BLOCK_M, BLOCK_K])
    else:
        a = a_ptr
    if BLOCKS_OF_B:
        b = tl.make_tensor_descriptor(b_ptr, shape=[E * b_rows, k], strides=[k, 1], block_shape=[PRODUCT_N, BLOCK_K])
    in_step = tl.arange(0, BLOCK_K)
    skipped = 0
    width = columns
    at = tl.program_id(0) // columns
    left = tl.program_id(0) - at * columns
    if COUNTED:
        skipped, width, at, left = place_in_parts(tl.program_id(0), blocks, columns, part_tiles)
    items = blocks * columns
    begin = 0
    until = steps
    if CUT:
        tiles = tl.maximum(items, 1)
        pieces = tl.maximum(tl.minimum(PROGRAMS // tiles, steps // CUT), 1)
        # A program has one of several pieces; where tiles are whole it may have several of these.
        piece = tl.where(pieces > 1, tl.program_id(0) // tiles, 0)
        of_piece = tl.program_id(0) - piece * tiles
        at = of_piece // columns
        left = of_piece - at * columns
        items *= pieces
        begin = piece * steps // pieces
        until = (piece + 1) * steps // pieces
        SUM_ROWS: tl.constexpr = BLOCK_N if FEW else BLOCK_M
        SUM_COLUMNS: tl.constexpr = BLOCK_M if FEW else BLOCK_N
        in_sum = tl.arange(0, SUM_ROWS)[:, None] * SUM_COLUMNS + tl.arange(0, SUM_COLUMNS)[None, :]
    leap = PROGRAMS // width
    if MIXED:
        halves = tl.cdiv(n, PRODUCT_N)
        shares = shared_out(blocks, halves, PROGRAMS)
        items = shares[0] + shares[1] + tl.where(halves > 2 * shares[2], blocks, 0)
        at, left, width, shift, is_whole = place_of_mixed(tl.program_id(0), shares)
    words = words_of(at, left, width, blocks_ptr, blocks, order, at < blocks, AWAITED)
    # A tile's slots are looked up a tile ahead, and its words two, so that copies of rows go on from tile to tile.
    AHEAD: tl.constexpr = GATHER
    if AHEAD:
        slot_ahead = slots_of(words, order_ptr, BLOCK_M)
        if MIXED:
            at, left, width, shift_ahead, is_whole_ahead = place_of_mixed(tl.program_id(0) + PROGRAMS, shares)
        else:
            at, left = place_behind(at, left, width, leap, PROGRAMS)
        words_ahead = words_of(at, left, width, blocks_ptr, blocks, order, at < blocks, AWAITED)
    source = a_ptr
    scales = a_scales_ptr
    known = 0
    for tile in tl.range(tl.program_id(0), items, PROGRAMS, flatten=True):
        expert = words[8]
        turn = tl.maximum(words[9], known)
        of_column, row, end, real_row = rows_of(words, BLOCK_M)
        column = (of_column + skipped * part_tiles) * BLOCK_N
        if MIXED:
            whole = is_whole
            column += shift * PRODUCT_N
        of_expert = expert * b_rows + first_column + column
        m_range = row + tl.arange(0, BLOCK_M)
        n_range = column + tl.arange(0, BLOCK_N)
        slot = real_row
        if AHEAD:
            slot = slot_ahead
            words = words_ahead
            slot_ahead = slots_of(words, order_ptr, BLOCK_M)
            if MIXED:
                shift, is_whole = shift_ahead, is_whole_ahead
                at, left, width, shift_ahead, is_whole_ahead = place_of_mixed(tile + 2 * PROGRAMS, shares)
            else:
                at, left = place_behind(at, left, width, leap, PROGRAMS)
            words_ahead = words_of(at, left, width, blocks_ptr, blocks, order, at < blocks, AWAITED)
        elif GATHER or SCATTER or WEIGH:
            slot = tl.load(order_ptr + real_row)
        if AWAITED and not SCALED:
            source = arrived(source, ready_ptr, rank, ranks, known, turn)
        acc = tl.zeros((PRODUCT_N, BLOCK_M) if FEW else (BLOCK_M, PRODUCT_N), dtype=tl.float32)
        if PAIR:
            second = n if GATED else PRODUCT_N
            up = tl.zeros(acc.shape, dtype=tl.float32)
        if SCALED:
            scaled_steps = tl.cdiv(k, SCALED_ELEMENTS)
            scaled_columns = tl.cdiv(n, SCALED_ELEMENTS)
            a_scale_row = real_row.to(tl.int64) * scaled_steps
            if GATHER:
                a_scale_row = (slot // TOP_K).to(tl.int64) * scaled_steps
                if AWAITED:
                    a_scale_row += tl.where(is_of_shard(slot // TOP_K, rank, shard_rows), apart_scales, 0)
            if AWAITED:
                source, scales = both_arrived(source, scales, ready_ptr, rank, ranks, known, turn)
            a_scale_ptrs = scales + a_scale_row
            scaled_rows = WIDE * tl.cdiv(b_rows // WIDE, SCALED_ELEMENTS)
            b_scale_row = expert * scaled_rows + (first_column + column) // SCALED_ELEMENTS
            b_scale_ptr = b_scales_ptr + b_scale_row.to(tl.int64) * scaled_steps
            second_scale_ptr = b_scale_ptr
            if GATED:
                second_scale_ptr += scaled_columns.to(tl.int64) * scaled_steps
            elif HALVES or MIXED:
                second_scale_ptr += tl.where(column + PRODUCT_N < n, scaled_steps, 0)
        if not BLOCKS_OF_A:
            a_row = real_row.to(tl.int64) * k
            if GATHER:
                token = slot // TOP_K
                a_row = token.to(tl.int64) * k
                if AWAITED:
                    a_row += tl.where(is_of_shard(token, rank, shard_rows), apart, 0)
            a_ptrs = source + a_row[:, None] + (begin * BLOCK_K + in_step)[None, :]
        if not BLOCKS_OF_B:
            of_product = tl.arange(0, PRODUCT_N)
            b_ptrs = b_ptr + (of_expert + of_product)[None, :].to(tl.int64) * k + (begin * BLOCK_K + in_step)[:, None]
            inside = (column + of_product)[None, :] < n
            inside_second = inside
            if HALVES:
                inside_second = (column + PRODUCT_N + of_product)[None, :] < n
        known = turn
        if MIXED:
            if not SCALED:
                a_scale_ptrs = b_scale_ptr = second_scale_ptr = a_scales_ptr
            operands = a, a_ptrs, b, row, of_expert, n, begin, until, k, m_range < end, acc
            scales_of = a_scale_ptrs, b_scale_ptr, second_scale_ptr
            if whole:
                acc, up, other, other_up = sums_of(*operands, *scales_of, True, GATED, SCALED, BLOCKS_OF_A, EVEN_K, BLOCK_K)
            else:
                acc, up, other, other_up = sums_of(*operands, *scales_of, False, GATED, SCALED, BLOCKS_OF_A, EVEN_K, BLOCK_K)
            acc = together(acc, other, False)
            if GATED:
                up = together(up, other_up, False)
        else:
            for step in range(begin, until):
                if BLOCKS_OF_A:
                    x = a.load([row, step * BLOCK_K])
                elif EVEN_K:
                    x = tl.load(a_ptrs)
                    a_ptrs += BLOCK_K
                else:
                    x = tl.load(a_ptrs, mask=(m_range < end)[:, None] & (in_step[None, :] < k - step * BLOCK_K), other=0.0)
                    a_ptrs += BLOCK_K
                if SCALED:
                    a_scale = tl.load(a_scale_ptrs + step)
                    b_scale = tl.load(b_scale_ptr + step)
                    if PAIR:
                        up_scale = tl.load(second_scale_ptr + step)
                    if BLOCKS_OF_B:
                        acc = add_scaled(x, b, of_expert, step * BLOCK_K, a_scale, b_scale, acc, FEW)
                        if PAIR:
                            up = add_scaled(x, b, of_expert + second, step * BLOCK_K, a_scale, up_scale, up, FEW)
                    else:
                        in_k = in_step[:, None] < k - step * BLOCK_K
                        acc = add_scaled_by_pointers(x, b_ptrs, inside & in_k, a_scale, b_scale, acc)
                        if PAIR:
                            second_ptrs = b_ptrs + tl.cast(second, tl.int64) * k
                            up = add_scaled_by_pointers(x, second_ptrs, inside_second & in_k, a_scale, up_scale, up)
                        b_ptrs += BLOCK_K
                elif BLOCKS_OF_B:
                    acc = add_product(x, b, of_expert, step * BLOCK_K, acc, True, FEW)
                    if GATED:
                        up = add_product(x, b, of_expert + n, step * BLOCK_K, up, True, FEW)
                else:
                    mask = inside & (in_step[:, None] < k - step * BLOCK_K)
                    acc = tl.dot(x, tl.load(b_ptrs, mask=mask, other=0.0), acc, input_precision="ieee")
                    if GATED:
                        up = tl.dot(x, tl.load(b_ptrs + n.to(tl.int64) * k, mask=mask, other=0.0), up, input_precision="ieee")
                    b_ptrs += BLOCK_K
        if HALVES:
            acc = together(acc, up, FEW)
        if CUT:
            if piece < pieces - 1:
                part_ptr = sums_ptr + tl.program_id(0).to(tl.int64) * (WIDE * BLOCK_M * BLOCK_N)
                tl.store(part_ptr + in_sum, acc)
                if GATED:
                    tl.store(part_ptr + (BLOCK_M * BLOCK_N + in_sum), up)
                tl.atomic_xchg(left_ptr + tl.program_id(0), 1, sem="release", scope="gpu")
                end = row  # nothing of it is a result
            else:
                for nth in range(pieces - 1):
                    program = of_piece + nth * tiles
                    is_left = dl.wait(left_ptr + program, 1, "gpu", "acquire", waitValue=1)
                    part_ptr = dl.consume_token(sums_ptr, is_left) + program.to(tl.int64) * (WIDE * BLOCK_M * BLOCK_N)
                    acc += tl.load(part_ptr + in_sum)
                    if GATED:
                        up += tl.load(part_ptr + (BLOCK_M * BLOCK_N + in_sum))
                    tl.store(dl.consume_token(left_ptr, is_left) + program, 0)
        if FEW:
            acc = acc.T
            if GATED:
                up = up.T
        if BIASED:
            bias_ptrs = bias_ptr + expert * b_rows + first_column + n_range
            acc += tl.load(bias_ptrs, mask=n_range < n, other=0.0)[None, :]
            if GATED:
                up += tl.load(bias_ptrs + n, mask=n_range < n, other=0.0)[None, :]
        if GATED:
            acc = silu(acc) * up
        if WEIGH:
            acc *= tl.load(weights_of(route_ptr, E, slots) + slot)[:, None]
        to = slot if SCATTER else m_range
        if QUANTISE:
            largest = tl.max(tl.where(n_range[None, :] < n, tl.abs(acc), 0.0), axis=1)
            acc *= tl.where(largest > 0, LARGEST / largest, 0.0)[:, None]
            at_scale = to.to(tl.int64) * tl.cdiv(n, SCALED_ELEMENTS) + column // SCALED_ELEMENTS
            tl.store(out_scales_ptr + at_scale, largest / LARGEST, mask=m_range < end)
        part = skipped
        if not AHEAD:
            # The next tile's words come while this one is stored.
            if MIXED:
                at, left, width, shift, is_whole = place_of_mixed(tile + PROGRAMS, shares)
            else:
                at, left = place_behind(at, left, width, leap, PROGRAMS)
            if COUNTED:
                if at >= blocks:
                    skipped, width, at, left = place_in_parts(tile + PROGRAMS, blocks, columns, part_tiles)
                    leap = PROGRAMS // width
            words = words_of(at, left, width, blocks_ptr, blocks, order, at < blocks, AWAITED)
        result = acc.to(out_ptr.dtype.element_ty)
        row_columns = n
        if PACKED:
            row_columns = packed_width(n)
            result = packed(result, BLOCK_M, BLOCK_N)
        column_end = row_columns
        if MIXED:
            column_end = tl.where(whole, row_columns, tl.minimum(column + PRODUCT_N, row_columns))
        c_ptrs = out_ptr + to[:, None].to(tl.int64) * row_columns + n_range[None, :]
        tl.store(c_ptrs, result, mask=(m_range < end)[:, None] & (n_range[None, :] < column_end))
        if COUNTED:
            dl.notify(brought_ptr + part, rank, signal=1, sig_op="add", comm_scope="gpu")

    # Rows that no slot goes to.
    if SCATTER:
        if rows < slots:
            for slot in range(tl.program_id(0), slots, PROGRAMS):
                if (tl.load(place_of(route_ptr, E, slots) + slot) < 0) | (rows == 0):
                    clear_row(out_ptr, slot, n, BLOCK_N)
                    if QUANTISE:
                        clear_row(out_scales_ptr, slot, tl.cdiv(n, SCALED_ELEMENTS), BLOCK_N)
    elif not PACKED:
        until = slots if CLEARS else tl.minimum(rows + BLOCK_M, slots)
        clear_rows(out_ptr, rows, until, n, BLOCK_M * BLOCK_N // 8)
        if QUANTISE:
            clear_rows(out_scales_ptr, rows, until, tl.cdiv(n, SCALED_ELEMENTS), BLOCK_N)
    if AWAITED:
        channel = link.StreamChannel(ready_ptr, 1, 1)
        if link.call_ends(channel, PROGRAMS):
            link.end_call(channel, 1)
