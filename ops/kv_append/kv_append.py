"""New keys and values go to their pages, behind a norm and a turn by their positions (RoPE); queries get theirs in the same launch.

Rows of queries, keys and values are dealt to the programs in tiles. Where a row goes follows from its token's sequence, its position and
the table of pages; a row that has no place is dropped.
"""

import tandem
import tandem.language as tl

LARGEST = tl.constexpr(448.0)  # of fp8e4nv
BAD_PAGE = tl.constexpr(1)
BAD_POSITION = tl.constexpr(2)
BAD_SEQUENCE = tl.constexpr(4)


@tandem.jit
def normed(x, weight_ptr, epsilon):
    D: tl.constexpr = x.shape[1]
    weight = tl.load(weight_ptr + tl.arange(0, D))
    return x * tl.rsqrt(tl.sum(x * x, 1) / D + epsilon)[:, None] * weight[None, :]


@tandem.jit
def turned(x, position, is_known, turns_ptr, ROPE: tl.constexpr, INTERLEAVED: tl.constexpr):
    """The first ROPE elements of the rows x turned by their positions' angles: pairs are neighbours, or of both halves."""
    ROWS: tl.constexpr = x.shape[0]
    D: tl.constexpr = x.shape[1]
    HALF: tl.constexpr = ROPE // 2
    RUNS: tl.constexpr = D // ROPE
    at = turns_ptr + position.to(tl.int64)[:, None] * ROPE + tl.arange(0, HALF)[None, :]
    is_first = (tl.arange(0, RUNS) == 0)[None, :, None]
    cos = tl.where(is_first, tl.load(at, mask=is_known[:, None], other=1.0)[:, None, :], 1.0)
    sin = tl.where(is_first, tl.load(at + HALF, mask=is_known[:, None], other=0.0)[:, None, :], 0.0)
    if INTERLEAVED:
        a, b = tl.split(tl.reshape(x, (ROWS, RUNS, HALF, 2)))
    else:
        a, b = tl.split(tl.permute(tl.reshape(x, (ROWS, RUNS, 2, HALF)), (0, 1, 3, 2)))
    pairs = tl.join(a * cos - b * sin, b * cos + a * sin)
    if not INTERLEAVED:
        pairs = tl.permute(pairs, (0, 1, 3, 2))
    return tl.reshape(pairs, (ROWS, D))


@tandem.jit
def place_of(
    token, inside, sequences_ptr, positions_ptr, table_ptr, status_ptr, sequences, width, pages, PAGE: tl.constexpr, TOLD: tl.constexpr
):
    """Where in the cache the tokens' keys go, -1 where nowhere."""
    sequence = tl.load(sequences_ptr + token, mask=inside, other=-1)
    position = tl.load(positions_ptr + token, mask=inside, other=0)
    is_sequence = (sequence >= 0) & (sequence < sequences)
    is_position = (position >= 0) & (position < width * PAGE)
    known = is_sequence & is_position
    page = tl.load(table_ptr + sequence.to(tl.int64) * width + position // PAGE, mask=known, other=-1)
    is_page = (page >= 0) & (page < pages)
    if TOLD:
        what = tl.where(is_sequence, tl.where(is_position, tl.where(is_page, 0, BAD_PAGE), BAD_POSITION), BAD_SEQUENCE)
        wrong = (what != 0) & (sequence != -1)
        tl.atomic_or(status_ptr + tl.zeros_like(token), what, mask=wrong, sem="relaxed")
        tl.atomic_max(status_ptr + 1 + tl.zeros_like(token), token + 1, mask=wrong, sem="relaxed")
    return tl.where(known & is_page, page.to(tl.int64) * PAGE + position % PAGE, -1)


@tandem.jit
def put(x, place, head, cache_ptr, scales_ptr, KV_HEADS: tl.constexpr, STRIDE: tl.constexpr, AT: tl.constexpr, SCALED: tl.constexpr):
    D: tl.constexpr = x.shape[1]
    if SCALED:
        x = tl.clamp(x / tl.load(scales_ptr + head)[:, None], -LARGEST, LARGEST)
    at = (place * KV_HEADS + head)[:, None] * STRIDE + AT + tl.arange(0, D)[None, :]
    tl.store(cache_ptr + at, x.to(cache_ptr.dtype.element_ty), mask=(place >= 0)[:, None])


@tandem.jit
def kv_append(
    q_ptr,
    k_ptr,
    v_ptr,
    sequences_ptr,
    positions_ptr,
    table_ptr,
    turns_ptr,
    q_weight_ptr,
    k_weight_ptr,
    v_weight_ptr,
    scales_ptr,
    status_ptr,
    out_ptr,
    keys_ptr,
    values_ptr,
    m,
    sequences,
    width,
    pages,
    turns,
    programs,
    epsilon,
    HEADS: tl.constexpr,
    KV_HEADS: tl.constexpr,
    D: tl.constexpr,
    VALUE_D: tl.constexpr,
    KEY_STRIDE: tl.constexpr,
    KEY_AT: tl.constexpr,
    VALUE_STRIDE: tl.constexpr,
    PAGE: tl.constexpr,
    ROPE: tl.constexpr,
    INTERLEAVED: tl.constexpr,
    NORM_Q: tl.constexpr,
    NORM_K: tl.constexpr,
    NORM_V: tl.constexpr,
    SCALED: tl.constexpr,
    TOLD: tl.constexpr,
    ROWS: tl.constexpr,
    VALUE_ROWS: tl.constexpr,
):
    """q, out [m, HEADS, D]; k [m, KV_HEADS, D]; v [m, KV_HEADS, VALUE_D]; turns [turns, ROPE]: cosines, then sines, of each position. A
    place of the cache has KV_HEADS keys and values, KEY_STRIDE and VALUE_STRIDE elements apart; keys begin at KEY_AT."""
    tiles_of_q = tl.cdiv(m * HEADS, ROWS)
    tiles_of_k = tl.cdiv(m * KV_HEADS, ROWS)
    tiles = tiles_of_q + tiles_of_k + tl.cdiv(m * KV_HEADS, VALUE_ROWS)
    in_tile = tl.arange(0, ROWS)
    d = tl.arange(0, D)
    for tile in range(tl.program_id(0), tiles, programs):
        if tile < tiles_of_q:
            row = tile * ROWS + in_tile
            inside = row < m * HEADS
            at = row.to(tl.int64)[:, None] * D + d[None, :]
            x = tl.load(q_ptr + at, mask=inside[:, None], other=0.0).to(tl.float32)
            if NORM_Q:
                x = normed(x, q_weight_ptr, epsilon)
            position = tl.load(positions_ptr + row // HEADS, mask=inside, other=-1)
            x = turned(x, position, (position >= 0) & (position < turns), turns_ptr, ROPE, INTERLEAVED)
            tl.store(out_ptr + at, x.to(out_ptr.dtype.element_ty), mask=inside[:, None])
        elif tile < tiles_of_q + tiles_of_k:
            row = (tile - tiles_of_q) * ROWS + in_tile
            token = row // KV_HEADS
            inside = row < m * KV_HEADS
            x = tl.load(k_ptr + row.to(tl.int64)[:, None] * D + d[None, :], mask=inside[:, None], other=0.0).to(tl.float32)
            if NORM_K:
                x = normed(x, k_weight_ptr, epsilon)
            position = tl.load(positions_ptr + token, mask=inside, other=-1)
            x = turned(x, position, (position >= 0) & (position < turns), turns_ptr, ROPE, INTERLEAVED)
            place = place_of(token, inside, sequences_ptr, positions_ptr, table_ptr, status_ptr, sequences, width, pages, PAGE, TOLD)
            put(x, place, row % KV_HEADS, keys_ptr, scales_ptr, KV_HEADS, KEY_STRIDE, KEY_AT, SCALED)
        else:
            row = (tile - tiles_of_q - tiles_of_k) * VALUE_ROWS + tl.arange(0, VALUE_ROWS)
            token = row // KV_HEADS
            inside = row < m * KV_HEADS
            of_values = row.to(tl.int64)[:, None] * VALUE_D + tl.arange(0, VALUE_D)[None, :]
            x = tl.load(v_ptr + of_values, mask=inside[:, None], other=0.0).to(tl.float32)
            if NORM_V:
                x = normed(x, v_weight_ptr, epsilon)
            place = place_of(token, inside, sequences_ptr, positions_ptr, table_ptr, status_ptr, sequences, width, pages, PAGE, False)
            put(x, place, row % KV_HEADS, values_ptr, scales_ptr + KV_HEADS, KV_HEADS, VALUE_STRIDE, 0, SCALED)
