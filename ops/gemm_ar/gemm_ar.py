"""GEMM + AllReduce in one persistent kernel: C[M, N] on every rank is the sum over ranks of A[M, K_local] · B[K_local, N].

Tiles are products the other way round, B's columns by A's rows, so that few rows of A waste nothing. Each finished tile is
stored where it is summed and signalled: one shot, on every rank, which sums all tiles for itself; two shots, on the tile's
owner, which sums it and sends the sum to all. Few rows go in one shot as packets whose data is their flag, as in
ops/packets: one flight, no fence, no signal. Sums run in rank order in fp32. With SPLITS the inner
dimension of a tile is shared by several programs, which leave their parts in local memory first.

No program waits before it has multiplied all its tiles, so all that anybody waits for comes.

Two sets of parts, packets and sums are used in turn. Whoever has ended a call has heard of all ranks in it (one shot), or the
signal of an owner who has (two shots). So it knows that all have begun that call and thus ended the one before: call e + 2
may overwrite what call e read, whichever way the calls between sum. Every program counts every call.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.marks import take, without_marks
from ops.device.signals import tell_all
from tandem.simt import num_warps, st, st_vector, tid


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
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    B_BY_COLUMNS: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
):
    """The transposed tile [BN, BM] of steps * BK inner elements; a and b are descriptors, if there are.

    ops/device/product.py loads its left operand before its right one. Here B's block is the left one, and A's is loaded first: that
    file's loop with the operands changed round would load them in the other order."""
    row = first_row + tl.arange(0, BM)
    column = first_column + tl.arange(0, BN)
    acc = tl.zeros((BN, BM), dtype=tl.float32)
    for i in range(steps):
        at = first_k + i * BK
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
def push_part(
    part,
    parts_ptr,
    ready_ptr,
    tile,
    tiles,
    m,
    first_row,
    epoch,
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
        tell_all(ready_ptr + tile * RANKS + rank, epoch, RANKS)
    else:
        owner = tile % RANKS
        tl.store(dl.symm_at(dest_ptr, owner) + inside, value, mask=mask)
        dl.notify(ready_ptr + tile * RANKS + rank, owner, signal=epoch, sig_op="set", comm_scope="intra_node")


@tandem.jit
def sum_splits(splits_ptr, counted_ptr, tile, epoch, BM: tl.constexpr, BN: tl.constexpr, SPLITS: tl.constexpr):
    token = dl.wait(counted_ptr + tile * SPLITS, SPLITS, "gpu", "acquire", waitValue=epoch, compare="ge")
    inside = tl.arange(0, BM)[:, None] * BN + tl.arange(0, BN)[None, :]
    source = dl.consume_token(splits_ptr, token) + tile.to(tl.int64) * (SPLITS * BM * BN) + inside
    total = tl.load(source)
    for split in tl.static_range(1, SPLITS):
        total += tl.load(source + split * BM * BN)
    return total


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
def send_packets(part, packets_ptr, tile, tiles, rows, RANKS: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, ELEMENTS: tl.constexpr):
    """The first rows of `part` [BM, BN] to every rank, this one included. Packets lie as [rank, tile, BM, BN / ELEMENTS]."""
    rank = dl.rank()
    dest_ptr = packets_ptr + (rank.to(tl.int64) * tiles + tile) * (2 * BM * BN // ELEMENTS)
    with dl.simt_exec_region() as (thread, threads):
        for i in range(thread, rows * (BN // ELEMENTS), threads):
            row = i // (BN // ELEMENTS)
            column = i % (BN // ELEMENTS) * ELEMENTS
            values = dl.zeros_vector(ELEMENTS, part.dtype)
            for j in tl.static_range(ELEMENTS):
                values[j] = part[row, column + j]
            packet = without_marks(values)
            for step in tl.static_range(1, RANKS + 1):
                st_vector(dl.symm_at(dest_ptr, (rank + step) % RANKS) + 2 * i, packet, "sys", "relaxed")


@tandem.jit
def sum_packets(
    packets_ptr,
    c_ptr,
    tile,
    tiles,
    first_row,
    rows,
    first_column,
    n,
    dtype: tl.constexpr,
    RANKS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    ELEMENTS: tl.constexpr,
    POLLS: tl.constexpr,
):
    """Adds the packets of all ranks in rank order, each thread its own, and stores rows of C."""
    source_ptr = packets_ptr + tile.to(tl.int64) * (2 * BM * BN // ELEMENTS)
    stride = tiles.to(tl.int64) * (2 * BM * BN // ELEMENTS)
    for i in range(tid(0), rows * (BN // ELEMENTS), num_warps() * 32):
        slots = ()
        for source in tl.static_range(RANKS):
            slots += (source_ptr + source * stride + 2 * i,)
        packets = take(slots, POLLS)
        total = dl.zeros_vector(ELEMENTS, tl.float32)
        for source in tl.static_range(RANKS):
            total = total + packets[source].recast(dtype).to(tl.float32)
        column = first_column + i % (BN // ELEMENTS) * ELEMENTS
        out_ptr = c_ptr + (first_row + i // (BN // ELEMENTS)).to(tl.int64) * n + column
        for j in tl.static_range(ELEMENTS):
            if column + j < n:
                st(out_ptr + j, total[j].to(c_ptr.dtype.element_ty), semantic="weak")


@tandem.jit
def gemm_ar(
    a_ptr,
    b_ptr,
    c_ptr,
    parts_ptr,
    sums_ptr,
    packets_ptr,
    splits_ptr,
    ready_ptr,
    done_ptr,
    counted_ptr,
    epoch_ptr,
    m,
    n,
    k,
    set_elements,
    set_packets,
    RANKS: tl.constexpr,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    SPLITS: tl.constexpr,
    ONE_SHOT: tl.constexpr,
    PACKETS: tl.constexpr,
    POLLS: tl.constexpr,
    B_BY_COLUMNS: tl.constexpr,
    DESCRIPTORS: tl.constexpr,
):
    """`set_elements`: of one rank's parts, and of the sums; `set_packets`: of all ranks' packets, in 8 bytes. Splits: [tiles, SPLITS, BM,
    BN] in fp32, of this rank alone. PACKETS: elements of a packet where one shot is by packets, else 0."""
    rank = dl.rank()
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    epoch = tl.load(epoch_ptr + pid) + 1
    parts_ptr += (epoch % 2) * RANKS * set_elements
    sums_ptr += (epoch % 2) * set_elements
    packets_ptr += (epoch % 2) * set_packets
    rows = tl.cdiv(m, BM)
    tiles = rows * tl.cdiv(n, BN)
    steps = tl.cdiv(k, BK)
    row = tl.arange(0, BM)
    inside = row[:, None] * BN + tl.arange(0, BN)[None, :]
    a = b = None
    if DESCRIPTORS:
        a = tl.make_tensor_descriptor(a_ptr, shape=[m, k], strides=[k, 1], block_shape=[BM, BK])
        if B_BY_COLUMNS:
            b = tl.make_tensor_descriptor(b_ptr, shape=[n, k], strides=[k, 1], block_shape=[BN, BK])
        else:
            b = tl.make_tensor_descriptor(b_ptr, shape=[k, n], strides=[n, 1], block_shape=[BK, BN])

    steps_each = tl.cdiv(steps, SPLITS)
    for item in tl.range(pid, tiles * SPLITS, programs, flatten=True):
        tile = item // SPLITS
        split = item % SPLITS
        # This is the order of place_in_shard (ops/device/tiles.py) with one group of all row blocks, which takes no further arithmetic.
        first_row = tile % rows * BM
        first_step = split * steps_each
        count = tl.minimum(steps_each, steps - first_step)
        acc = multiply(
            a, b, a_ptr, b_ptr, m, n, k, first_row, tile // rows * BN, first_step * BK, count, BM, BN, BK, B_BY_COLUMNS, DESCRIPTORS
        )
        if SPLITS == 1:
            if PACKETS:
                send_packets(
                    acc.T.to(parts_ptr.dtype.element_ty), packets_ptr, tile, tiles, tl.minimum(m - first_row, BM), RANKS, BM, BN, PACKETS
                )
            else:
                push_part(acc.T, parts_ptr, ready_ptr, tile, tiles, m, first_row, epoch, RANKS, BM, BN, ONE_SHOT)
        else:
            tl.store(splits_ptr + item.to(tl.int64) * (BM * BN) + inside, acc.T)
            dl.notify(counted_ptr + item, rank, signal=epoch, sig_op="set", comm_scope="gpu")
    if SPLITS > 1:
        for tile in range(pid, tiles, programs):
            total = sum_splits(splits_ptr, counted_ptr, tile, epoch, BM, BN, SPLITS)
            if PACKETS:
                first_row = tile % rows * BM
                send_packets(
                    total.to(parts_ptr.dtype.element_ty), packets_ptr, tile, tiles, tl.minimum(m - first_row, BM), RANKS, BM, BN, PACKETS
                )
            else:
                push_part(total, parts_ptr, ready_ptr, tile, tiles, m, tile % rows * BM, epoch, RANKS, BM, BN, ONE_SHOT)

    if not ONE_SHOT:
        for tile in range(rank + pid * RANKS, tiles, programs * RANKS):
            mask = (tile % rows * BM + row < m)[:, None] & (inside >= 0)
            total = sum_parts(parts_ptr, ready_ptr, tile, tiles, mask, epoch, RANKS, BM, BN)
            dest_ptr = sums_ptr + tile.to(tl.int64) * (BM * BN)
            for step in tl.static_range(1, RANKS + 1):
                tl.store(dl.symm_at(dest_ptr, (rank + step) % RANKS) + inside, total.to(sums_ptr.dtype.element_ty), mask=mask)
            tell_all(done_ptr + tile, epoch, RANKS)
    for tile in range(pid, tiles, programs):
        first_row = tile % rows * BM
        first_column = tile // rows * BN
        if PACKETS:
            sum_packets(
                packets_ptr,
                c_ptr,
                tile,
                tiles,
                first_row,
                tl.minimum(m - first_row, BM),
                first_column,
                n,
                parts_ptr.dtype.element_ty,
                RANKS,
                BM,
                BN,
                PACKETS,
                POLLS,
            )
        else:
            column = first_column + tl.arange(0, BN)
            mask = (first_row + row < m)[:, None] & (column < n)[None, :]
            if ONE_SHOT:
                total = sum_parts(parts_ptr, ready_ptr, tile, tiles, mask, epoch, RANKS, BM, BN)
            else:
                token = dl.wait(done_ptr + tile, 1, "sys", "acquire", waitValue=epoch, compare="ge")
                total = tl.load(dl.consume_token(sums_ptr, token) + tile.to(tl.int64) * (BM * BN) + inside, mask=mask, other=0.0)
            out_ptrs = c_ptr + (first_row + row)[:, None].to(tl.int64) * n + column[None, :]
            tl.store(out_ptrs, total.to(c_ptr.dtype.element_ty), mask=mask)
    tl.store(epoch_ptr + pid, epoch)
