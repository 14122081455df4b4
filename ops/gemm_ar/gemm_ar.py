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
from ops.device.calls import is_last_of
from ops.device.marks import take, without_marks
from ops.device.packets import end_call, store_elements
from ops.device.signals import tell_all
from ops.device.tiles import place_in_shard
from tandem.simt import __syncthreads, num_warps, st_vector, tid


@tandem.jit
def multiply(
    a,
    b,
    a_ptr,
    b_ptr,
    m,
    n,
    k,
    first_row,
    first_column,
    first_k,
    steps,
    ready_ptr,
    gathered,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    B_BY_COLUMNS: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
    GATHERED: tl.constexpr,
):
    """The transposed tile [BN, BM] of steps * BK inner elements, where GATHERED when so many chunks of A are there; a and b are
    descriptors, if there are.

    ops/device/product.py loads its left operand before its right one. Here B's block is the left one, and A's is loaded first: that
    file's loop with the operands changed round would load them in the other order."""
    row = first_row + tl.arange(0, BM)
    column = first_column + tl.arange(0, BN)
    acc = tl.zeros((BN, BM), dtype=tl.float32)
    for i in range(steps):
        at = first_k + i * BK
        if GATHERED:
            if i == 0:
                token = dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=gathered, compare="ge")
                first_row = dl.consume_token(first_row, token)
                row = dl.consume_token(row, token)
        if DESCRIPTORS:
            x = a.load([first_row, at])
            y = b.load([first_column, at]) if B_BY_COLUMNS else b.load([at, first_column]).T
        else:
            inner = at + tl.arange(0, BK)
            x = tl.load(a_ptr + row[:, None].to(tl.int64) * k + inner[None, :], mask=(row[:, None] < m) & (inner[None, :] < k), other=0.0)
            b_mask = (column[:, None] < n) & (inner[None, :] < k)
            if B_BY_COLUMNS:
                y = tl.load(b_ptr + column[:, None].to(tl.int64) * k + inner[None, :], mask=b_mask, other=0.0)
            else:
                y = tl.load(b_ptr + inner[None, :].to(tl.int64) * n + column[:, None], mask=b_mask, other=0.0)
        acc = tl.dot(y, x.T, acc, input_precision="ieee")
    return acc


@tandem.jit
def notify_all(signal_ptr, epoch, RANKS: tl.constexpr):
    """As tell_all (ops/device/signals.py), by notifies: within the loop of products another warp sends these, and nobody waits for them."""
    for step in tl.static_range(1, RANKS + 1):
        dl.notify(signal_ptr, (dl.rank() + step) % RANKS, signal=epoch, sig_op="set", comm_scope="intra_node")


@tandem.jit
def push_part(
    part,
    parts_ptr,
    ready_ptr,
    tile,
    tiles,
    m,
    first_row,
    epoch,
    owner,
    RANKS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    ONE_SHOT: tl.constexpr,
):
    """`part` is [BM, BN]. Parts lie as [rank, tile, BM, BN]."""
    rank = dl.rank()
    row = tl.arange(0, BM)
    inside = row[:, None] * BN + tl.arange(0, BN)[None, :]
    mask = (first_row + row < m)[:, None] & (inside >= 0)
    dest_ptr = parts_ptr + (rank.to(tl.int64) * tiles + tile) * (BM * BN)
    value = part.to(parts_ptr.dtype.element_ty)
    if ONE_SHOT:
        for step in tl.static_range(1, RANKS + 1):
            tl.store(dl.symm_at(dest_ptr, (rank + step) % RANKS) + inside, value, mask=mask)
        notify_all(ready_ptr + tile * RANKS + rank, epoch, RANKS)
    else:
        tl.store(dl.symm_at(dest_ptr, owner) + inside, value, mask=mask)
        dl.notify(ready_ptr + tile * RANKS + rank, owner, signal=epoch, sig_op="set", comm_scope="intra_node")


@tandem.jit
def sum_parts(parts_ptr, ready_ptr, tile, tiles, mask, epoch, RANKS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    token = dl.wait(ready_ptr + tile * RANKS, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")
    inside = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    source = dl.consume_token(parts_ptr, token) + tile.to(tl.int64) * (BM * BN) + inside
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for rank in tl.static_range(RANKS):
        total += tl.load(source + tiles.to(tl.int64) * (rank * BM * BN), mask=mask, other=0.0).to(tl.float32)
    return total


@tandem.jit
def place_of(tile, rows, columns, GROUP: tl.constexpr):
    """Row block and column of a tile. Without GROUP all row blocks are one group, which takes no further arithmetic."""
    if GROUP:
        return place_in_shard(tile, rows, columns, GROUP)
    return tile % rows, tile // rows


@tandem.jit
def owner_of(tile, RANKS: tl.constexpr):
    """Who sums the tile in two shots: of the tiles of one program all ranks have as many."""
    return (tile + tile // tl.num_programs(0)) % RANKS


@tandem.jit
def send_sum(
    parts_ptr,
    sums_ptr,
    ready_ptr,
    done_ptr,
    tile,
    tiles,
    m,
    n,
    rows,
    epoch,
    RANKS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    GROUP: tl.constexpr,
):
    """The sum of a tile of this rank's to all ranks. `rows`: of tiles."""
    first_row = place_of(tile, rows, tl.cdiv(n, BN), GROUP)[0] * BM
    inside = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    mask = (first_row + tl.arange(0, BM) < m)[:, None] & (inside >= 0)
    total = sum_parts(parts_ptr, ready_ptr, tile, tiles, mask, epoch, RANKS, BM, BN).to(sums_ptr.dtype.element_ty)
    dest_ptr = sums_ptr + tile.to(tl.int64) * (BM * BN)
    for step in tl.static_range(1, RANKS + 1):
        tl.store(dl.symm_at(dest_ptr, (dl.rank() + step) % RANKS) + inside, total, mask=mask)
    notify_all(done_ptr + tile, epoch, RANKS)


@tandem.jit
def store_sum(
    parts_ptr,
    sums_ptr,
    c_ptr,
    ready_ptr,
    done_ptr,
    tile,
    tiles,
    m,
    n,
    rows,
    epoch,
    RANKS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    ONE_SHOT: tl.constexpr,
    GROUP: tl.constexpr,
):
    """The sum of a tile where the result has it: this rank adds the parts, or the owner's sum has come. `rows`: of tiles."""
    block, tile_n = place_of(tile, rows, tl.cdiv(n, BN), GROUP)
    row = block * BM + tl.arange(0, BM)
    column = tile_n * BN + tl.arange(0, BN)
    mask = (row < m)[:, None] & (column < n)[None, :]
    if ONE_SHOT:
        total = sum_parts(parts_ptr, ready_ptr, tile, tiles, mask, epoch, RANKS, BM, BN)
    else:
        token = dl.wait(done_ptr + tile, 1, "sys", "acquire", waitValue=epoch, compare="ge")
        inside = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
        total = tl.load(dl.consume_token(sums_ptr, token) + tile.to(tl.int64) * (BM * BN) + inside, mask=mask, other=0.0)
    tl.store(c_ptr + row[:, None].to(tl.int64) * n + column[None, :], total.to(c_ptr.dtype.element_ty), mask=mask)


@tandem.jit
def behind(jobs, rounds, flights, BEHIND: tl.constexpr):
    """How many of a program's whole tiles are summed when it has multiplied all its tiles, each `flights` rounds behind its product."""
    return tl.minimum(tl.maximum(jobs - flights, 0), rounds) if BEHIND else 0


@tandem.jit
def rows_from(first, count, m):
    return tl.maximum(tl.minimum(m - first, count), 0)


@tandem.jit
def chunks_of(source, m, k, shard_rows, CHUNK: tl.constexpr):
    return tl.cdiv(rows_from(source * shard_rows, shard_rows, m) * k, CHUNK)


@tandem.jit
def gather_rows(own_ptr, rows_ptr, ready_ptr, begun_ptr, m, k, shard_rows, epoch, RANKS: tl.constexpr, CHUNK: tl.constexpr):
    """The rank's own rows into all ranks' `rows`, in chunks of elements that a rank's `ready` counts."""
    rank = dl.rank()
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    dest_ptr = rows_ptr + (rank * shard_rows).to(tl.int64) * k
    count = rows_from(rank * shard_rows, shard_rows, m) * k
    chunks = chunks_of(rank, m, k, shard_rows, CHUNK)
    for chunk in range(pid, chunks, programs):
        at = chunk * CHUNK + tl.arange(0, CHUNK)
        values = tl.load(own_ptr + at, mask=at < count)  # the first are under way while the program waits
        if chunk == pid:
            token = dl.wait(begun_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")
            dest_ptr = dl.consume_token(dest_ptr, token)
        for step in tl.static_range(1, RANKS + 1):
            tl.store(dl.symm_at(dest_ptr, (rank + step) % RANKS) + at, values, mask=at < count)
    if pid < chunks:
        for step in tl.static_range(1, RANKS + 1):
            brought = (chunks - pid + programs - 1) // programs
            dl.notify(ready_ptr, (rank + step) % RANKS, signal=brought, sig_op="add", comm_scope="intra_node")


@tandem.jit
def send_packets(
    part,
    packets_ptr,
    m,
    n,
    first_row,
    first_column,
    shard_rows,
    RANKS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    ELEMENTS: tl.constexpr,
    SCATTER: tl.constexpr,
):
    """The tile's rows to every rank, this one included, or each to the one that it belongs to. Packets lie as [rank, row, slot]."""
    rank = dl.rank()
    slots = tl.cdiv(n, ELEMENTS)
    with dl.simt_exec_region() as (thread, threads):
        for i in range(thread, tl.minimum(m - first_row, BM) * (BN // ELEMENTS), threads):
            row = i // (BN // ELEMENTS)
            column = i % (BN // ELEMENTS) * ELEMENTS
            values = dl.zeros_vector(ELEMENTS, part.dtype)
            for j in tl.static_range(ELEMENTS):
                values[j] = part[row, column + j]
            packet = without_marks(values)
            row += first_row
            if first_column + column < n:
                if SCATTER:
                    owner = row // shard_rows
                    slot = ((rank - owner) * shard_rows + row).to(tl.int64) * slots + (first_column + column) // ELEMENTS
                    st_vector(dl.symm_at(packets_ptr + 2 * slot, owner), packet, "sys", "relaxed")
                else:
                    slot = (rank * m + row).to(tl.int64) * slots + (first_column + column) // ELEMENTS
                    for step in tl.static_range(1, RANKS + 1):
                        st_vector(dl.symm_at(packets_ptr + 2 * slot, (rank + step) % RANKS), packet, "sys", "relaxed")


@tandem.jit
def sum_packets(
    packets_ptr,
    c_ptr,
    rows,
    stride_rows,
    n,
    dtype: tl.constexpr,
    RANKS: tl.constexpr,
    ELEMENTS: tl.constexpr,
    ALIGNED: tl.constexpr,
    POLLS: tl.constexpr,
):
    """Adds the packets of all ranks in rank order, each thread its own, and stores C's `rows` rows; `stride_rows` from one rank's packets
    to the next one's."""
    slots = tl.cdiv(n, ELEMENTS)
    for i in range(tl.program_id(0) * (num_warps() * 32) + tid(0), rows * slots, tl.num_programs(0) * (num_warps() * 32)):
        sources = ()
        for source in tl.static_range(RANKS):
            sources += (packets_ptr + 2 * ((source * stride_rows).to(tl.int64) * slots + i),)
        packets = take(sources, POLLS)
        total = dl.zeros_vector(ELEMENTS, tl.float32)
        for source in tl.static_range(RANKS):
            total = total + packets[source].recast(dtype).to(tl.float32)
        row = i // slots
        first = row.to(tl.int64) * n
        store_elements(c_ptr, first + (i - row * slots) * ELEMENTS, first + n, total.to(c_ptr.dtype.element_ty), ELEMENTS, ALIGNED)


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
    rows = tl.cdiv(m, BM)
    tiles = rows * tl.cdiv(n, BN)
    steps = tl.cdiv(k, BK)
    row = tl.arange(0, BM)
    a = b = None
    if DESCRIPTORS:
        a = tl.make_tensor_descriptor(a_ptr, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
        if B_BY_COLUMNS:
            b = tl.make_tensor_descriptor(b_ptr, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
        else:
            b = tl.make_tensor_descriptor(b_ptr, shape=[k, n], strides=[n, 1], block_shape=[BK, BN])

    whole = tiles
    first = 0
    last = 0
    if CUT:
        whole = tiles // programs * programs
        first = tl.minimum(pid * share, (tiles - whole) * tile_steps)
        last = tl.minimum(first + share, (tiles - whole) * tile_steps)
    rounds = tl.cdiv(tl.maximum(whole - pid, 0), programs)
    first_left = first // tile_steps
    gathered = 0
    if RANKS > 1 and KIND == "gather":
        gather_rows(own_ptr, rows_ptr, ready_ptr, begun_ptr, m, k, shard_rows, epoch, RANKS, CHUNK)
        for source in tl.static_range(RANKS):
            gathered += chunks_of(source, m, k, shard_rows, CHUNK)
    jobs = rounds + tl.where(last > first, tl.cdiv(last, tile_steps) - first_left, 0)
    FLIGHTS: tl.constexpr = 1 if ONE_SHOT else 2
    for nth in tl.range(0, jobs, flatten=True):
        tile = pid + nth * programs
        first_step = 0
        count = steps
        left = 0
        if CUT:
            left = first_left + nth - rounds
            tile = tl.where(nth < rounds, tile, whole + left)
            first_step = tl.where(nth < rounds, 0, tl.maximum(first - left * tile_steps, 0))
            count = tl.where(nth < rounds, steps, tl.minimum(last - left * tile_steps, steps) - first_step)
        block, tile_n = place_of(tile, rows, tl.cdiv(n, BN), GROUP)
        first_row = block * BM
        first_column = tile_n * BN
        acc = multiply(
            a,
            b,
            a_ptr,
            b_ptr,
            m,
            n,
            k,
            first_row,
            first_column,
            first_step * BK,
            count,
            ready_ptr,
            gathered,
            BM,
            BN,
            BK,
            B_BY_COLUMNS,
            DESCRIPTORS,
            RANKS > 1 and KIND == "gather",
        )
        is_first = True
        if CUT:
            is_first = first_step == 0
            at = splits_ptr + tl.arange(0, BN)[:, None] * BM + row[None, :]
            if not is_first:
                tl.store(at + pid.to(tl.int64) * (BM * BN), acc)
                dl.notify(counted_ptr + pid, rank, signal=epoch, sig_op="set", comm_scope="gpu")
            elif count < steps:
                end = tl.cdiv(left * tile_steps + steps, share)
                token = dl.wait(counted_ptr + pid + 1, end - pid - 1, "gpu", "acquire", waitValue=epoch, compare="ge")
                at = dl.consume_token(at, token)
                for program in range(pid + 1, end):
                    acc += tl.load(at + program.to(tl.int64) * (BM * BN))
        if is_first:
            part = acc.T
            if RANKS == 1 or KIND == "gather":
                column = first_column + tl.arange(0, BN)
                out_ptrs = c_ptr + (first_row + row)[:, None].to(tl.int64) * n + column[None, :]
                tl.store(out_ptrs, part.to(c_ptr.dtype.element_ty), mask=(first_row + row < m)[:, None] & (column < n)[None, :])
            elif PACKETS:
                value = part.to(parts_ptr.dtype.element_ty)
                send_packets(value, packets_ptr, m, n, first_row, first_column, shard_rows, RANKS, BM, BN, PACKETS, KIND == "scatter")
            else:
                owner = owner_of(tile, RANKS)
                push_part(part, parts_ptr, ready_ptr, tile, tiles, m, first_row, epoch, owner, RANKS, BM, BN, ONE_SHOT)
        if BEHIND:
            # The parts of this program's tile of the round before have come under this product; in two shots the sum, a round later.
            if not ONE_SHOT:
                sent = pid + (nth - 1) * programs
                if (nth >= 1) & (nth <= rounds) & (owner_of(sent, RANKS) == rank):
                    send_sum(parts_ptr, sums_ptr, ready_ptr, done_ptr, sent, tiles, m, n, rows, epoch, RANKS, BM, BN, GROUP)
            if (nth >= FLIGHTS) & (nth < rounds + FLIGHTS):
                summed = pid + (nth - FLIGHTS) * programs
                store_sum(parts_ptr, sums_ptr, c_ptr, ready_ptr, done_ptr, summed, tiles, m, n, rows, epoch, RANKS, BM, BN, ONE_SHOT, GROUP)

    if RANKS > 1 and KIND != "gather":
        if PACKETS:
            own = m
            if KIND == "scatter":
                own = rows_from(rank * shard_rows, shard_rows, m)
            stride_rows = shard_rows if KIND == "scatter" else m
            dtype: tl.constexpr = parts_ptr.dtype.element_ty
            sum_packets(packets_ptr, c_ptr, own, stride_rows, n, dtype, RANKS, PACKETS, ALIGNED, POLLS)
        else:
            if not ONE_SHOT:
                for tile in range(pid + behind(jobs, rounds, 1, BEHIND) * programs, tiles, programs):
                    if owner_of(tile, RANKS) == rank:
                        send_sum(parts_ptr, sums_ptr, ready_ptr, done_ptr, tile, tiles, m, n, rows, epoch, RANKS, BM, BN, GROUP)
            for tile in range(pid + behind(jobs, rounds, FLIGHTS, BEHIND) * programs, tiles, programs):
                store_sum(parts_ptr, sums_ptr, c_ptr, ready_ptr, done_ptr, tile, tiles, m, n, rows, epoch, RANKS, BM, BN, ONE_SHOT, GROUP)
    if RANKS > 1 and KIND == "scatter":
        if pid == 0:
            epoch = dl.consume_token(epoch, dl.wait(begun_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge"))
    if RANKS > 1 and KIND == "gather":
        __syncthreads()
        if is_last_of(ended_ptr, programs):
            tl.store(ended_ptr, 0)
            dl.notify(ready_ptr, rank, signal=0, sig_op="set", comm_scope="intra_node")
    end_call(epoch_ptr, epoch)
