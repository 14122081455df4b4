"""Products of few rows over ranks, in one persistent kernel: C = A[M, K] · B[K, N].

KIND "reduce" (GEMM + AllReduce): C on every rank is the sum over ranks, K being each rank's share. "scatter" (GEMM + ReduceScatter of few
rows): each rank has its own rows of that sum. "gather" (AllGather + GEMM of few rows): A's rows come from all ranks, C is this rank's.

Tiles are products the other way round, B's columns by A's rows, so that few rows of A waste nothing. With CUT the tiles left over for the
last round, which may be all, are laid end to end, and each program multiplies an equal share of their steps: the end of one tile and the
begin of the next. Who has the begin of a tile has it last, and adds the other programs' parts, in their order: a program leaves one part
in local memory at most.

"gather" begins with the rows: each program stores some of the rank's own to all ranks, and tells how many. First it waits until all ranks
have begun the call, and thus ended the one before, which read there.

Else finished tiles are summed over the ranks, in rank order in fp32. Few results, and all of "scatter", go where they are summed as packets
whose data is their flag (ops/device/marks.py): one flight, no fence, no signal. They lie by rows, so that a rank need not know the tiles of
others. More of them are stored as tiles and signalled: one shot, on every rank, which sums all tiles for itself; two shots, on the tile's
owner, which sums it and sends the sum to all.

With BEHIND a program sums while it multiplies: behind its product of a round it sums its tile of the round before, in one shot, or sends
that sum if this rank owns the tile and takes the sum of the round before that, in two. So parts and sums travel under products. What it
waits for is sent by the same program of another rank, at the end of an earlier round of that program or right behind one, and so comes.
All other sums, and other programs' parts of a tile, are waited for when a program has multiplied all its tiles.

Two sets of parts and packets are used in turn. Whoever has ended a call has heard of all ranks in it: of their parts in one shot, of
an owner who has in two; in "scatter", where some ranks may have no rows, that they have begun it. So it knows that all have ended the call
before: call e + 2 may overwrite what call e read, whichever way the calls between sum. Sums of two shots need one set: they are of parts
from all ranks, which have thus ended the call before. Every program counts every call.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link
from ops.device.calls import is_last_of
from ops.device.few_rows import PacketsChannel, RowsChannel
from ops.device.packets import end_call
from tandem.tilelink.product import Product, store_tile
from ops.device.signals import tell_all
from ops.device.tiles import place_in_shard
from tandem.simt import __syncthreads


@tandem.aggregate
class Tiles:
    """C's tiles. Without `group` all row blocks are one group, which takes no further arithmetic."""

    m: tl.tensor
    n: tl.tensor
    rows: tl.constexpr
    columns: tl.constexpr
    group: tl.constexpr

    @tandem.jit
    def place(self, tile):
        """The first row and column of a tile."""
        blocks = tl.cdiv(self.m, self.rows)
        if self.group:
            block, column = place_in_shard(tile, blocks, tl.cdiv(self.n, self.columns), self.group)
            return block * self.rows, column * self.columns
        return tile % blocks * self.rows, tile // blocks * self.columns

    @tandem.jit
    def rows_inside(self, row):
        """Which rows there are of a tile whose first one this is."""
        return (tl.arange(0, self.rows)[:, None] < self.m - row) & (tl.arange(0, self.columns) >= 0)[None, :]

    @tandem.jit
    def inside(self, row, column):
        """Which elements there are of a tile at this row and column."""
        return (tl.arange(0, self.rows)[:, None] < self.m - row) & (column + tl.arange(0, self.columns) < self.n)[None, :]


@tandem.jit
def send_sum(sums, tiles, tile):
    """The sum of a tile of this rank's to all ranks."""
    sums.send(tile, tiles.rows_inside(tiles.place(tile)[0]))


@tandem.jit
def store_sum(sums, tiles, c_ptr, tile):
    row, column = tiles.place(tile)
    store_tile(None, c_ptr, sums.take(tile, tiles.inside(row, column)), row, column, tiles.m - row, tiles.n, False)


@tandem.jit
def behind(jobs, rounds, flights, BEHIND: tl.constexpr):
    """How many of a program's whole tiles are summed when it has multiplied all its tiles, each `flights` rounds behind its product."""
    return tl.minimum(tl.maximum(jobs - flights, 0), rounds) if BEHIND else 0


@tandem.jit
def gemm_ar(
    a_ptr,
    b_ptr,
    c_ptr,
    own_ptr,
    rows_ptr,
    parts_ptr,
    sums_ptr,
    packets_ptr,
    splits_ptr,
    counted_ptr,
    ended_ptr,
    ready_ptr,
    done_ptr,
    begun_ptr,
    epoch_ptr,
    m,
    n,
    k,
    shard_rows,
    share,
    tile_steps,
    set_elements,
    set_packets,
    RANKS: tl.constexpr,
    KIND: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    CUT: tl.constexpr,
    ONE_SHOT: tl.constexpr,
    BEHIND: tl.constexpr,
    GROUP: tl.constexpr,
    PACKETS: tl.constexpr,
    ALIGNED: tl.constexpr,
    CHUNK: tl.constexpr,
    POLLS: tl.constexpr,
    B_BY_COLUMNS: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
):
    """A's rows are at `a`. To gather them there, the rank's own are at `own` and `rows` is the same as `a`. `shard_rows`: of a rank's
    share, but for "reduce". `share`: steps of the tiles left over for each program, of `tile_steps` of a tile, the
    last of which may be none. `set_elements`: of one rank's parts; `set_packets`: of all ranks' packets, in 8 bytes. Splits: [programs, BN,
    BM] in fp32, of this rank alone; `counted`: the call in which a program's is there; `ended`: a zero, which is a zero again in the end.
    GROUP: row blocks that share the columns they read, 0 for all of them. PACKETS: elements of a packet where such travel, else 0;
    ALIGNED: whole packets of them can be stored. CHUNK: elements of rows that are gathered at once."""
    rank = dl.rank()
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    epoch = tl.load(epoch_ptr + pid) + 1
    parts_ptr += (epoch % 2) * RANKS * set_elements
    packets_ptr += (epoch % 2) * set_packets
    if RANKS > 1 and KIND != "reduce":
        if pid == 0:
            tell_all(begun_ptr + rank, epoch, RANKS)
    grid = Tiles(m, n, BM, BN, GROUP)
    product = Product(b_ptr, n, k, BM, BN, BK, DESCRIPTORS, B_BY_COLUMNS, True)
    a = product.rows_of(a_ptr, m)
    tiles = tl.cdiv(m, BM) * tl.cdiv(n, BN)
    steps = tl.cdiv(k, BK)
    sums = link.SumsChannel(parts_ptr, sums_ptr, ready_ptr, done_ptr, epoch, tiles, RANKS, BM, BN, ONE_SHOT)
    packets = PacketsChannel(packets_ptr, m, n, shard_rows, RANKS, PACKETS, KIND == "scatter")

    whole = tiles
    first = 0
    last = 0
    if CUT:
        whole = tiles // programs * programs
        first = tl.minimum(pid * share, (tiles - whole) * tile_steps)
        last = tl.minimum(first + share, (tiles - whole) * tile_steps)
    rounds = tl.cdiv(tl.maximum(whole - pid, 0), programs)
    first_left = first // tile_steps
    feed = None
    if RANKS > 1 and KIND == "gather":
        feed = RowsChannel(rows_ptr, ready_ptr, begun_ptr, epoch, m, k, shard_rows, RANKS, CHUNK).send(own_ptr)
    jobs = rounds + tl.where(last > first, tl.cdiv(last, tile_steps) - first_left, 0)
    FLIGHTS: tl.constexpr = 1 if ONE_SHOT else 2
    for nth in tl.range(0, jobs, flatten=True):
        tile = pid + nth * programs
        begin = 0
        end = steps
        left = 0
        if CUT:
            left = first_left + nth - rounds
            tile = tl.where(nth < rounds, tile, whole + left)
            begin = tl.where(nth < rounds, 0, tl.maximum(first - left * tile_steps, 0))
            end = tl.where(nth < rounds, steps, tl.minimum(last - left * tile_steps, steps))
        row, column = grid.place(tile)
        (acc,) = product.tile(a, row, m - row, column, begin, end, feed)
        is_first = True
        if CUT:
            is_first = begin == 0
            at = splits_ptr + tl.arange(0, BN)[:, None] * BM + tl.arange(0, BM)[None, :]
            if not is_first:
                tl.store(at + pid.to(tl.int64) * (BM * BN), acc)
                dl.notify(counted_ptr + pid, rank, signal=epoch, sig_op="set", comm_scope="gpu")
            elif end < steps:
                until = tl.cdiv(left * tile_steps + steps, share)
                token = dl.wait(counted_ptr + pid + 1, until - pid - 1, "gpu", "acquire", waitValue=epoch, compare="ge")
                at = dl.consume_token(at, token)
                for program in range(pid + 1, until):
                    acc += tl.load(at + program.to(tl.int64) * (BM * BN))
        if is_first:
            part = acc.T
            if RANKS == 1 or KIND == "gather":
                store_tile(None, c_ptr, part, row, column, m - row, n, False)
            elif PACKETS:
                packets.push(part.to(parts_ptr.dtype.element_ty), row, column)
            else:
                sums.push(tile, part, grid.rows_inside(row))
        if BEHIND:
            # The parts of this program's tile of the round before have come under this product; in two shots the sum, a round later.
            if not ONE_SHOT:
                sent = pid + (nth - 1) * programs
                if (nth >= 1) & (nth <= rounds) & (sums.owner(sent) == rank):
                    send_sum(sums, grid, sent)
            if (nth >= FLIGHTS) & (nth < rounds + FLIGHTS):
                store_sum(sums, grid, c_ptr, pid + (nth - FLIGHTS) * programs)

    if RANKS > 1 and KIND != "gather":
        if PACKETS:
            packets.store(c_ptr, parts_ptr.dtype.element_ty, ALIGNED, POLLS)
        else:
            if not ONE_SHOT:
                for tile in range(pid + behind(jobs, rounds, 1, BEHIND) * programs, tiles, programs):
                    if sums.owner(tile) == rank:
                        send_sum(sums, grid, tile)
            for tile in range(pid + behind(jobs, rounds, FLIGHTS, BEHIND) * programs, tiles, programs):
                store_sum(sums, grid, c_ptr, tile)
    if RANKS > 1 and KIND == "scatter":
        if pid == 0:
            epoch = dl.consume_token(epoch, dl.wait(begun_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge"))
    if RANKS > 1 and KIND == "gather":
        __syncthreads()
        if is_last_of(ended_ptr, programs):
            tl.store(ended_ptr, 0)
            dl.notify(ready_ptr, rank, signal=0, sig_op="set", comm_scope="intra_node")
    end_call(epoch_ptr, epoch)
