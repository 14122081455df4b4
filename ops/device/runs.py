"""Equal runs of the keys of all blocks of queries, one for each program. The blocks of all heads and sequences stand in one row, each with
as many places as it has keys and COST more, for what it costs however short. A program has the keys of its run, whole blocks and parts of
two at most. What it has of a block that began in an earlier run it leaves in memory; who has a block's first keys waits for the other parts
and puts them together, in their order: the same bits in every run."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.simt import __syncthreads, st, tid

COST = tl.constexpr(128)  # places


@tandem.jit
def places_before(block, keys, offset, BLOCK_M: tl.constexpr, CAUSAL: tl.constexpr):
    """The places of a lane's blocks before this one, which ends with the key `offset` behind its last query where it is CAUSAL."""
    if CAUSAL:
        return block * (offset + COST) + block * (block + 1) // 2 * BLOCK_M
    return block * (keys + COST)


@tandem.jit
def block_with(place, blocks, keys, offset, BLOCK_M: tl.constexpr, CAUSAL: tl.constexpr):
    """The block of a lane that has this place, where work grows along it."""
    half: tl.constexpr = BLOCK_M / 2
    linear = (offset + COST).to(tl.float32) + half
    block = ((tl.sqrt(linear * linear + 4 * half * place.to(tl.float32)) - linear) / (2 * half)).to(tl.int32)
    block += (places_before(block + 1, keys, offset, BLOCK_M, CAUSAL) <= place).to(tl.int32)
    block -= (places_before(block, keys, offset, BLOCK_M, CAUSAL) > place).to(tl.int32)
    return tl.minimum(block, blocks - 1)


@tandem.jit
def whole_turns(blocks, CAUSAL: tl.constexpr):
    """How many blocks each program takes before its run: of equal blocks as many as leave one or more to each, so that those of a head,
    which read the same keys, are under way at the same time."""
    if CAUSAL:
        return 0
    return tl.maximum(blocks // tl.num_programs(0) - 1, 0)


@tandem.jit
def run_of(blocks, lanes, keys, offset, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CAUSAL: tl.constexpr):
    """The places of a run, the first of this program's, the first of its blocks in the row of all, and how many blocks it has, before its
    run and in it. The row of runs begins behind the blocks that programs take before."""
    before = whole_turns(blocks * lanes, CAUSAL)
    last = tl.minimum(offset + blocks * BLOCK_M, keys) if CAUSAL else keys
    in_lane = places_before(blocks - 1, keys, offset, BLOCK_M, CAUSAL) + last + COST
    total = in_lane * lanes - before * tl.num_programs(0) * (keys + COST)
    each = tl.cdiv(tl.cdiv(total, tl.num_programs(0)), BLOCK_N) * BLOCK_N
    at = tl.program_id(0) * each
    stop = tl.minimum(at + each, total)
    if CAUSAL:
        lane, last_lane = at // in_lane, (stop - 1) // in_lane
        block = block_with(at - lane * in_lane, blocks, keys, offset, BLOCK_M, CAUSAL)
        first, begin = lane * blocks + block, lane * in_lane + places_before(block, keys, offset, BLOCK_M, CAUSAL)
        end = tl.minimum(offset + (block + 1) * BLOCK_M, keys)
        behind = last_lane * blocks + block_with(stop - 1 - last_lane * in_lane, blocks, keys, offset, BLOCK_M, CAUSAL) + 1
    else:
        first, behind = at // (keys + COST), (stop - 1) // (keys + COST) + 1
        begin, end = first * (keys + COST), keys
    # Without keys of the first block the run begins with the next one.
    first += (tl.cdiv(at - begin, BLOCK_N) * BLOCK_N >= end).to(tl.int32)
    return each, at, before * tl.num_programs(0) + first, before + tl.where(at < total, behind - first, 0)


@tandem.jit
def part_at(turn, run, blocks, lanes, keys, offset, BLOCK_M: tl.constexpr, CAUSAL: tl.constexpr):
    """The block of a turn in the row of all, its first place in the row of runs, that of this run for a block that comes before, and
    whether it does."""
    each, at, first, _ = run
    before = whole_turns(blocks * lanes, CAUSAL)
    block = first + turn - before
    tl.assume(block >= 0)
    if CAUSAL:
        last = tl.minimum(offset + blocks * BLOCK_M, keys)
        in_lane = places_before(blocks - 1, keys, offset, BLOCK_M, CAUSAL) + last + COST
        return block, block // blocks * in_lane + places_before(block % blocks, keys, offset, BLOCK_M, CAUSAL), False
    begins = (block - before * tl.num_programs(0)) * (keys + COST)
    block = tl.where(turn < before, turn * tl.num_programs(0) + tl.program_id(0), block)
    tl.assume(block >= 0)
    return block, tl.where(turn < before, at, begins), turn < before


@tandem.jit
def keys_of_run(run, begins, end, is_whole, BLOCK_N: tl.constexpr):
    """What this program has of a block's keys, from the first to the second, whether the block began in an earlier run, and, if not, how
    many later ones have keys of it. is_whole: all of them."""
    each, at, _, _ = run
    begin = tl.maximum(tl.cdiv(at - begins, BLOCK_N), 0) * BLOCK_N
    rest = tl.where(is_whole | (begin > 0), 0, (tl.cdiv(end, BLOCK_N) * BLOCK_N - BLOCK_N + begins - at) // each)
    stop = tl.cdiv(at + each - begins, BLOCK_N) * BLOCK_N
    return begin, tl.where(is_whole, end, tl.minimum(end, stop)), begin > 0, rest


@tandem.jit
def keep_part(parts_ptr, stats_ptr, counts_ptr, sums, BLOCK_M: tl.constexpr, OV: tl.constexpr):
    """Leaves this program's part of a block in memory, and tells who waits for it."""
    V: tl.constexpr = OV[0] + OV[1]
    program = tl.program_id(0)
    row = tl.arange(0, BLOCK_M)
    tl.store(stats_ptr + program * (2 * BLOCK_M) + row, sums[1])
    tl.store(stats_ptr + program * (2 * BLOCK_M) + BLOCK_M + row, sums[2])
    rows_ptr = parts_ptr + (program.to(tl.int64) * BLOCK_M + row[:, None]) * V
    tl.store(rows_ptr + tl.arange(0, OV[0])[None, :], sums[0][0])
    if OV[1]:
        tl.store(rows_ptr + OV[0] + tl.arange(0, OV[1])[None, :], sums[0][1])
    __syncthreads()
    if tid(0) == 0:
        st(counts_ptr + program, 1, scope="gpu", semantic="release")


@tandem.jit
def with_parts(parts_ptr, stats_ptr, counts_ptr, sums, count, BLOCK_M: tl.constexpr, OV: tl.constexpr):
    """The sums of a block with those of the next `count` programs."""
    V: tl.constexpr = OV[0] + OV[1]
    acc, total, most = sums
    acc0, acc1 = acc
    row = tl.arange(0, BLOCK_M)
    for nth in range(count):
        other = tl.program_id(0) + 1 + nth
        token = dl.wait(counts_ptr + other, 1, "gpu", "acquire", waitValue=1)
        parts = dl.consume_token(parts_ptr, token)
        stats = dl.consume_token(stats_ptr, token) + other * (2 * BLOCK_M)
        rows_ptr = parts + (other.to(tl.int64) * BLOCK_M + row[:, None]) * V
        of_other = tl.load(stats + BLOCK_M + row)
        new = tl.maximum(most, of_other)
        alpha = tl.math.exp2(most - new)
        beta = tl.math.exp2(of_other - new)
        total = total * alpha + tl.load(stats + row) * beta
        acc0 = acc0 * alpha[:, None] + tl.load(rows_ptr + tl.arange(0, OV[0])[None, :]) * beta[:, None]
        if OV[1]:
            acc1 = acc1 * alpha[:, None] + tl.load(rows_ptr + OV[0] + tl.arange(0, OV[1])[None, :]) * beta[:, None]
        most = new
        __syncthreads()
        tl.store(counts_ptr + other, 0)
    return (acc0, acc1), total, most
