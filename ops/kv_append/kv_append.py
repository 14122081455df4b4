"""New keys and values go to their pages, behind a norm and a turn by their positions (RoPE); queries get theirs in the same launch.

Tokens are dealt to the programs, those of queries, of keys and of values one after the other. Where a row goes follows from its token's
sequence, its position and the table of pages; a row that has no place is dropped.
"""

import tandem
import tandem.language as tl

LARGEST = tl.constexpr(448.0)  # of fp8e4nv
BAD_PAGE = tl.constexpr(1)
BAD_POSITION = tl.constexpr(2)
BAD_SEQUENCE = tl.constexpr(4)


@tandem.jit
def within(rows, element, D: tl.constexpr):
    """The mask of the first D elements of these rows, [tokens, heads]."""
    if D < element.shape[0]:
        return rows[:, :, None] & (element < D)[None, None, :]
    return rows[:, :, None]


@tandem.jit
def loaded(x_ptr, token, m, element, HEADS: tl.constexpr, PADDED: tl.constexpr, D: tl.constexpr, weight_ptr, epsilon, NORM: tl.constexpr):
    """These elements of the tokens' rows, [tokens, PADDED, elements], in fp32 and behind their norm; where they stand, and which there are.
    All D are among them."""
    head = tl.arange(0, PADDED)
    inside = within((token < m)[:, None] & (head < HEADS)[None, :], element, D)
    at = (token.to(tl.int64)[:, None] * HEADS + head[None, :])[:, :, None] * D + element[None, None, :]
    x = tl.load(x_ptr + at, mask=inside, other=0.0).to(tl.float32)
    if NORM:
        weight = tl.load(weight_ptr + element, mask=element < D, other=0.0)
        x = x * tl.rsqrt(tl.sum(x * x, 2) / D + epsilon)[:, :, None] * weight[None, None, :]
    return x, at, inside


@tandem.jit
def turned(
    x_ptr,
    token,
    m,
    weight_ptr,
    epsilon,
    positions_ptr,
    turns_ptr,
    turns,
    HEADS: tl.constexpr,
    PADDED: tl.constexpr,
    D: tl.constexpr,
    WIDE: tl.constexpr,
    NORM: tl.constexpr,
    ROPE: tl.constexpr,
    INTERLEAVED: tl.constexpr,
):
    """The tokens' rows as `loaded` gives them, with the first ROPE elements turned by the tokens' angles."""
    element = tl.arange(0, WIDE)
    x, at, inside = loaded(x_ptr, token, m, element, HEADS, PADDED, D, weight_ptr, epsilon, NORM)
    if D == WIDE and D % ROPE == 0:
        x = turned_in_pairs(x, token, m, positions_ptr, turns_ptr, turns, ROPE, INTERLEAVED)
    else:
        # Halves that are no powers of two: the other element of each one's pair is loaded, too.
        HALF: tl.constexpr = ROPE // 2
        is_second = element % 2 == 1 if INTERLEAVED else element >= HALF
        other = tl.where(is_second, -1, 1) * (1 if INTERLEAVED else HALF)
        others, _, _ = loaded(x_ptr, token, m, element + tl.where(element < ROPE, other, 0), HEADS, PADDED, D, weight_ptr, epsilon, NORM)
        position = tl.load(positions_ptr + token, mask=token < m, other=-1)
        is_turned = ((position >= 0) & (position < turns))[:, None] & (element < ROPE)[None, :]
        angle = element // 2 if INTERLEAVED else element % HALF
        angles = turns_ptr + position.to(tl.int64)[:, None] * ROPE + angle[None, :]
        cos = tl.load(angles, mask=is_turned, other=1.0)
        sin = tl.load(angles + HALF, mask=is_turned, other=0.0) * tl.where(is_second, 1.0, -1.0)[None, :]
        x = x * cos[:, None, :] + others * sin[:, None, :]
    return x, at, inside


@tandem.jit
def turned_in_pairs(x, token, m, positions_ptr, turns_ptr, turns, ROPE: tl.constexpr, INTERLEAVED: tl.constexpr):
    """The first ROPE elements of the rows x turned by their tokens' angles: pairs are neighbours, or of both halves."""
    TOKENS: tl.constexpr = x.shape[0]
    HEADS: tl.constexpr = x.shape[1]
    D: tl.constexpr = x.shape[2]
    HALF: tl.constexpr = ROPE // 2
    RUNS: tl.constexpr = D // ROPE
    position = tl.load(positions_ptr + token, mask=token < m, other=-1)
    is_known = ((position >= 0) & (position < turns))[:, None]
    at = turns_ptr + position.to(tl.int64)[:, None] * ROPE + tl.arange(0, HALF)[None, :]
    is_first = (tl.arange(0, RUNS) == 0)[None, None, :, None]
    cos = tl.where(is_first, tl.load(at, mask=is_known, other=1.0)[:, None, None, :], 1.0)
    sin = tl.where(is_first, tl.load(at + HALF, mask=is_known, other=0.0)[:, None, None, :], 0.0)
    if INTERLEAVED:
        a, b = tl.split(tl.reshape(x, (TOKENS, HEADS, RUNS, HALF, 2)))
    else:
        a, b = tl.split(tl.permute(tl.reshape(x, (TOKENS, HEADS, RUNS, 2, HALF)), (0, 1, 2, 4, 3)))
    pairs = tl.join(a * cos - b * sin, b * cos + a * sin)
    if not INTERLEAVED:
        pairs = tl.permute(pairs, (0, 1, 2, 4, 3))
    return tl.reshape(pairs, (TOKENS, HEADS, D))


@tandem.jit
def place_of(
    token, m, sequences_ptr, positions_ptr, table_ptr, status_ptr, sequences, width, pages, PAGE: tl.constexpr, TOLD: tl.constexpr
):
    """Where in the cache the tokens' keys go, -1 where nowhere."""
    inside = token < m
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
def put(
    x, place, cache_ptr, scales_ptr, HEADS: tl.constexpr, D: tl.constexpr, STRIDE: tl.constexpr, AT: tl.constexpr, SCALED: tl.constexpr
):
    """Writes the first D elements of the rows x, [tokens, heads, elements], to their places."""
    head = tl.arange(0, x.shape[1])
    element = tl.arange(0, x.shape[2])
    if SCALED:
        x = tl.clamp(x / tl.load(scales_ptr + head, mask=head < HEADS, other=1.0)[None, :, None], -LARGEST, LARGEST)
    at = (place[:, None] * HEADS + head[None, :])[:, :, None] * STRIDE + AT + element[None, None, :]
    mask = within((place >= 0)[:, None] & (head < HEADS)[None, :], element, D)
    tl.store(cache_ptr + at, x.to(cache_ptr.dtype.element_ty), mask=mask)


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
    WIDE: tl.constexpr,
    VALUE_D: tl.constexpr,
    VALUE_WIDE: tl.constexpr,
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
    PADDED: tl.constexpr,
    KV_PADDED: tl.constexpr,
    TOKENS: tl.constexpr,
    KEY_TOKENS: tl.constexpr,
    VALUE_TOKENS: tl.constexpr,
    STAGES: tl.constexpr,
):
    """q, out [m, HEADS, D]; k [m, KV_HEADS, D]; v [m, KV_HEADS, VALUE_D]; turns [turns, ROPE]: cosines, then sines, of each position. A
    place of the cache has KV_HEADS keys and values, KEY_STRIDE and VALUE_STRIDE elements apart; keys begin at KEY_AT. WIDE, VALUE_WIDE: D
    and VALUE_D as powers of two."""
    pid = tl.program_id(0)
    for tile in tl.range(pid, tl.cdiv(m, TOKENS), programs, num_stages=STAGES):
        token = tile * TOKENS + tl.arange(0, TOKENS)
        q, at, inside = turned(
            q_ptr, token, m, q_weight_ptr, epsilon, positions_ptr, turns_ptr, turns, HEADS, PADDED, D, WIDE, NORM_Q, ROPE, INTERLEAVED
        )
        tl.store(out_ptr + at, q.to(out_ptr.dtype.element_ty), mask=inside)
    # The program that had the last tile of queries is behind those that had none.
    first = (pid + programs - tl.cdiv(m, TOKENS) % programs) % programs
    for tile in tl.range(first, tl.cdiv(m, KEY_TOKENS), programs, num_stages=STAGES):
        token = tile * KEY_TOKENS + tl.arange(0, KEY_TOKENS)
        k, _, _ = turned(
            k_ptr, token, m, k_weight_ptr, epsilon, positions_ptr, turns_ptr, turns, KV_HEADS, KV_PADDED, D, WIDE, NORM_K, ROPE, INTERLEAVED
        )
        place = place_of(token, m, sequences_ptr, positions_ptr, table_ptr, status_ptr, sequences, width, pages, PAGE, TOLD)
        put(k, place, keys_ptr, scales_ptr, KV_HEADS, D, KEY_STRIDE, KEY_AT, SCALED)
    first = (first + programs - tl.cdiv(m, KEY_TOKENS) % programs) % programs
    for tile in tl.range(first, tl.cdiv(m, VALUE_TOKENS), programs, num_stages=STAGES):
        token = tile * VALUE_TOKENS + tl.arange(0, VALUE_TOKENS)
        v, _, _ = loaded(v_ptr, token, m, tl.arange(0, VALUE_WIDE), KV_HEADS, KV_PADDED, VALUE_D, v_weight_ptr, epsilon, NORM_V)
        place = place_of(token, m, sequences_ptr, positions_ptr, table_ptr, status_ptr, sequences, width, pages, PAGE, False)
        put(v, place, values_ptr, scales_ptr + KV_HEADS, KV_HEADS, VALUE_D, VALUE_STRIDE, 0, SCALED)
