"""Says of a route which of a number of ranks each token goes to, once for each, with its slots there.

Each program has a range of tokens. All count theirs for each rank, all meet, and each then knows what stands before its own.
"""

import tandem
import tandem.language as tl
from ops.device.routes import is_of_call, offsets_of, place_of
from tandem.simt import sync_grid


@tandem.jit
def slots_there(place_ptr, token, is_token, lows, highs, TOP_K: tl.constexpr):
    """Bits of the tokens' slots whose rows are a rank's, for each token and rank."""
    bits = tl.zeros((token.shape[0], lows.shape[0]), tl.int32)
    for slot in tl.static_range(TOP_K):
        place = tl.load(place_ptr + token * TOP_K + slot, mask=is_token, other=-1)[:, None]
        bits |= tl.where((place >= lows[None, :]) & (place < highs[None, :]), 1 << slot, 0)
    return bits


@tandem.jit
def route_ranks(
    route_ptr,
    offsets_ptr,
    slots_ptr,
    tokens_ptr,
    counts_ptr,
    findings_ptr,
    m,
    tokens_each,
    E: tl.constexpr,
    TOP_K: tl.constexpr,
    DESTINATIONS: tl.constexpr,
    PADDED: tl.constexpr,
    TOKENS: tl.constexpr,
    PROGRAMS: tl.constexpr,
    ROWS_AT_ONCE: tl.constexpr,
):
    """`counts`: [PROGRAMS, DESTINATIONS]. TOKENS: that a program has at once."""
    pid = tl.program_id(0)
    fits = is_of_call(route_ptr, findings_ptr, m, E, TOP_K, 0)
    tokens = tl.where(fits, m, 0)
    to_rank = tl.arange(0, PADDED)
    is_rank = to_rank < DESTINATIONS
    EACH: tl.constexpr = (E + DESTINATIONS - 1) // DESTINATIONS
    firsts = offsets_of(route_ptr)
    lows = tl.load(firsts + tl.minimum(to_rank * EACH, E), mask=is_rank & fits, other=0)
    highs = tl.load(firsts + tl.minimum((to_rank + 1) * EACH, E), mask=is_rank & fits, other=0)
    place_ptr = place_of(route_ptr, E, m * TOP_K)
    in_range = tl.arange(0, TOKENS)
    begin = tl.minimum(pid * tokens_each, tokens)
    end = tl.minimum(begin + tokens_each, tokens)

    count = tl.zeros((PADDED,), tl.int32)
    for first in range(begin, end, TOKENS):
        bits = slots_there(place_ptr, first + in_range, first + in_range < end, lows, highs, TOP_K)
        count += tl.sum((bits != 0).to(tl.int32), axis=0)
    total = count
    before = tl.zeros((PADDED,), tl.int32)
    if PROGRAMS > 1:
        tl.store(counts_ptr + pid * DESTINATIONS + to_rank, count, mask=is_rank)
        sync_grid()
        total = tl.zeros((PADDED,), tl.int32)
        for first in range(0, PROGRAMS, ROWS_AT_ONCE):
            program = first + tl.arange(0, ROWS_AT_ONCE)[:, None]
            at = counts_ptr + program * DESTINATIONS + to_rank[None, :]
            counts = tl.load(at, mask=(program < PROGRAMS) & is_rank[None, :], other=0)
            total += tl.sum(counts, axis=0)
            before += tl.sum(tl.where(program < pid, counts, 0), axis=0)
    behind = tl.cumsum(total, 0)
    entries = tl.sum(total)
    if pid == 0:
        tl.store(offsets_ptr + to_rank, behind - total, mask=is_rank)
        tl.store(offsets_ptr + DESTINATIONS, entries)
    base = behind - total + before
    for first in range(begin, end, TOKENS):
        token = first + in_range
        bits = slots_there(place_ptr, token, token < end, lows, highs, TOP_K)
        goes = (bits != 0).to(tl.int32)
        to = base[None, :] + tl.cumsum(goes, 0) - goes
        tl.store(tokens_ptr + to, tl.broadcast_to(token[:, None], (TOKENS, PADDED)), mask=bits != 0)
        tl.store(slots_ptr + to, bits, mask=bits != 0)
        base += tl.sum(goes, axis=0)
    BEHIND: tl.constexpr = 1024
    for first in range(entries + pid * BEHIND, m * TOP_K, PROGRAMS * BEHIND):
        to = first + tl.arange(0, BEHIND)
        tl.store(tokens_ptr + to, tl.full((BEHIND,), -1, tl.int32), mask=to < m * TOP_K)
        tl.store(slots_ptr + to, tl.zeros((BEHIND,), tl.int32), mask=to < m * TOP_K)
