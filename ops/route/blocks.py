"""The table of blocks of a route."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.routes import BLOCK_WORDS, BLOCKS, FIRST_TURN, blocks_of, inverse_of
from tandem.simt import __syncthreads, st, tid


@tandem.jit
def write_block(words, expert, row, by_experts, turn, first, height, end):
    st(words, expert, semantic="weak")
    st(words + 1, row, semantic="weak")
    st(words + 2, by_experts, semantic="weak")
    st(words + 3, turn, semantic="weak")
    st(words + 4, first, semantic="weak")
    st(words + 5, height, semantic="weak")
    st(words + 6, end, semantic="weak")
    st(words + 7, inverse_of(height), semantic="weak")


@tandem.jit
def write_blocks(
    counts_ptr,
    route_ptr,
    firsts,
    runs,
    total,
    slots,
    parts,
    nth_writer,
    writers,
    E: tl.constexpr,
    PADDED: tl.constexpr,
    R: tl.constexpr,
    WARPS: tl.constexpr,
    ROWS_AT_ONCE: tl.constexpr,
    BLOCK: tl.constexpr,
    GROUP: tl.constexpr,
    LANES: tl.constexpr,
):
    """The tables of blocks. A run is an expert's blocks of one turn; `runs` says of each its first block, how many blocks of the expert
    come before, and how many it has, and of each expert its first block of the table by experts. LANES write a run, and `writers` programs,
    of which this is the `nth_writer`, have some each. `firsts`: each expert's first row, and the number of rows."""
    expert = tl.arange(0, PADDED)
    all_blocks = tl.cdiv(total, BLOCK)
    all_of = 0
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
        if turn == 0:
            # Meetings of all warps take longest, so both tables' places are found at once.
            both = count.to(tl.int64) + (all_blocks.to(tl.int64) << 32)
            starts = tl.cumsum(both, 0) - both
            sums = tl.sum(both)
            all_of = (sums >> 32).to(tl.int32)
            tl.store(runs_ptr + expert, starts.to(tl.int32))
            tl.store(runs_ptr + 3 * PADDED + expert, (starts >> 32).to(tl.int32))
            blocks = sums.to(tl.int32)
            if nth_writer == 0:
                tl.store(route_ptr + FIRST_TURN, blocks)
        else:
            tl.store(runs_ptr + expert, blocks + tl.cumsum(count, 0) - count)
            blocks += tl.sum(count)
        tl.store(runs_ptr + PADDED + expert, before)
        tl.store(runs_ptr + 2 * PADDED + expert, count)
        before = behind
        __syncthreads()
        at_once: tl.constexpr = WARPS * 32 // LANES
        for of in range(nth_writer * at_once + tid(0) // LANES, E, writers * at_once):
            start = dl.smem_load(runs, of)
            above = dl.smem_load(runs, PADDED + of)
            count_of = dl.smem_load(runs, 2 * PADDED + of)
            row_of = dl.smem_load(firsts, of)
            end = dl.smem_load(firsts, of + 1)
            by_experts = dl.smem_load(runs, 3 * PADDED + of)
            blocks_ptr = blocks_of(route_ptr, E, slots)
            for nth in range(tid(0) % LANES, count_of, LANES):
                row = row_of + (above + nth) * BLOCK
                group = nth // GROUP * GROUP
                height = tl.minimum(count_of - group, GROUP)
                words = blocks_ptr + (start + nth) * BLOCK_WORDS
                write_block(words, of, row, by_experts + above + group, turn, start + group, height, end)
                if R > 1:
                    group = (above + nth) // GROUP * GROUP
                    height = tl.minimum(tl.cdiv(end - row_of, BLOCK) - group, GROUP)
                    words = blocks_ptr + (all_of + by_experts + above + nth) * BLOCK_WORDS
                    last = tl.where(group + height > above + count_of, R - 1, turn)
                    write_block(words, of, row, by_experts + group, last, by_experts + group, height, end)
        __syncthreads()
    if nth_writer == 0:
        tl.store(route_ptr + BLOCKS, blocks)
