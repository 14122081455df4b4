"""All-reduce in two flights: each rank adds up its share of the elements and sends the sums to all.

The elements are dealt to the ranks in shards, a shard to the programs in chunks: program p has chunks p, p + programs, ...
of every shard, and touches no others, so programs never wait for each other within a rank. In step j a program pushes
its j-th chunk of every peer's shard to that peer's workspace, adds up the chunk before of its own shard and pushes the
sums, and takes the sums of the chunk before that one out of its workspace. So links are busy while signals fly.

Signals hold the number of the program's call; each chunk has one from each rank in both flights, even where it is empty,
which makes one workspace enough. Whoever pushes parts in call e + 1 has ended call e, thus has seen every owner's signal
that sums were sent, and parts were read before. Whoever pushes sums of a chunk in call e + 1 has seen every rank's signal
of that chunk in call e + 1, and that rank took the sums of call e before.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl
from ops.device.signals import tell_all


@tandem.jit
def copy_range(source_ptr, dest_ptr, count, TILE: tl.constexpr):
    i = tl.arange(0, TILE)
    full = tl.maximum(count, 0) // TILE * TILE
    for start in range(0, full, TILE):
        tl.store(dest_ptr + start + i, tl.load(source_ptr + start + i))
    if full < count:
        mask = full + i < count
        tl.store(dest_ptr + full + i, tl.load(source_ptr + full + i, mask=mask), mask=mask)


@tandem.jit
def push_parts(x_ptr, parts_ptr, ready_ptr, start, chunk, shard, n, epoch, RANKS: tl.constexpr, TILE: tl.constexpr):
    """The part that starts at `start` in every peer's shard; source s has its parts at s * shard."""
    rank = dl.rank()
    for step in range(1, RANKS):
        owner = (rank + step) % RANKS
        first = owner * shard + start
        count = tl.minimum(tl.minimum(shard - start, n - first), chunk).to(tl.int32)
        copy_range(x_ptr + first, dl.symm_at(parts_ptr, owner) + rank * shard + start, count, TILE)
    tell_all(ready_ptr + rank, epoch, RANKS)


@tandem.jit
def sum_tile(x_ptr, parts_ptr, first, at, shard, mask, RANKS: tl.constexpr):
    """In rank order: this rank's own elements at `first`, the others' parts at `at` in their rows."""
    rank = dl.rank()
    own = tl.load(x_ptr + first, mask=mask).to(tl.float32)
    total = tl.zeros_like(own)
    for i in tl.static_range(RANKS - 1):
        source = i + (rank <= i).to(tl.int64)
        part = tl.load(parts_ptr + source * shard + at, mask=mask).to(tl.float32)
        total = tl.where(rank == i, total + own, total) + part
    return tl.where(rank == RANKS - 1, total + own, total)


@tandem.jit
def store_everywhere(out_ptr, sums_ptr, first, total, mask, RANKS: tl.constexpr, DIRECT: tl.constexpr):
    rank = dl.rank()
    value = total.to(sums_ptr.dtype.element_ty)
    tl.store(out_ptr + first, value, mask=mask)
    for step in tl.static_range(1, RANKS):
        target = dl.symm_at(out_ptr if DIRECT else sums_ptr, (rank + step) % RANKS)
        tl.store(target + first, value, mask=mask)


@tandem.jit
def reduce_chunk(
    x_ptr,
    out_ptr,
    parts_ptr,
    sums_ptr,
    ready_ptr,
    done_ptr,
    start,
    chunk,
    shard,
    n,
    epoch,
    RANKS: tl.constexpr,
    TILE: tl.constexpr,
    DIRECT: tl.constexpr,
):
    rank = dl.rank()
    token = dl.wait(ready_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")
    parts = dl.consume_token(parts_ptr, token)
    first = rank * shard + start
    count = tl.maximum(tl.minimum(tl.minimum(shard - start, n - first), chunk), 0).to(tl.int32)
    i = tl.arange(0, TILE)
    full = count // TILE * TILE
    for tile in range(0, full, TILE):
        total = sum_tile(x_ptr, parts, first + tile + i, start + tile + i, shard, None, RANKS)
        store_everywhere(out_ptr, sums_ptr, first + tile + i, total, None, RANKS, DIRECT)
    if full < count:
        mask = full + i < count
        total = sum_tile(x_ptr, parts, first + full + i, start + full + i, shard, mask, RANKS)
        store_everywhere(out_ptr, sums_ptr, first + full + i, total, mask, RANKS, DIRECT)
    tell_all(done_ptr + rank, epoch, RANKS)


@tandem.jit
def take_sums(out_ptr, sums_ptr, done_ptr, start, chunk, shard, n, epoch, RANKS: tl.constexpr, TILE: tl.constexpr, DIRECT: tl.constexpr):
    token = dl.wait(done_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")
    if not DIRECT:
        sums = dl.consume_token(sums_ptr, token)
        for step in range(1, RANKS):
            first = (dl.rank() + step) % RANKS * shard + start
            count = tl.minimum(tl.minimum(shard - start, n - first), chunk).to(tl.int32)
            copy_range(sums + first, out_ptr + first, count, TILE)


@tandem.jit
def two_shot(
    x_ptr,
    out_ptr,
    parts_ptr,
    sums_ptr,
    ready_ptr,
    done_ptr,
    epoch_ptr,
    n,
    shard,
    chunk,
    most_steps,
    RANKS: tl.constexpr,
    TILE: tl.constexpr,
    DIRECT: tl.constexpr,
):
    """`shard` and `chunk` are multiples of 16 elements. Signals: [programs, most_steps, RANKS] in each flight."""
    pid = tl.program_id(0)
    epoch = tl.load(epoch_ptr + pid) + 1
    signals = pid * most_steps * RANKS
    shard = tl.cast(shard, tl.int64)
    steps = tl.cdiv(shard, tl.num_programs(0).to(tl.int64) * chunk).to(tl.int32)
    for step in range(steps + 2):
        start = (step * tl.num_programs(0) + pid).to(tl.int64) * chunk
        back = tl.num_programs(0).to(tl.int64) * chunk
        ready, done = ready_ptr + signals + step * RANKS, done_ptr + signals + step * RANKS
        if step < steps:
            push_parts(x_ptr, parts_ptr, ready, start, chunk, shard, n, epoch, RANKS, TILE)
        if (step >= 1) & (step <= steps):
            reduce_chunk(
                x_ptr, out_ptr, parts_ptr, sums_ptr, ready - RANKS, done - RANKS, start - back, chunk, shard, n, epoch, RANKS, TILE, DIRECT
            )
        if step >= 2:
            take_sums(out_ptr, sums_ptr, done - 2 * RANKS, start - 2 * back, chunk, shard, n, epoch, RANKS, TILE, DIRECT)
    tl.store(epoch_ptr + pid, epoch)


@tandem.jit
def reduce_scatter(
    x_ptr, out_ptr, parts_ptr, ready_ptr, epoch_ptr, n, shard, chunk, most_steps, set_elements, RANKS: tl.constexpr, TILE: tl.constexpr
):
    """The first flight alone: out is this rank's shard of the sum. Two sets of parts are used in turn: whoever pushes in call e + 2
    has ended call e + 1, thus seen everybody's signals of it, sent after call e had ended there."""
    rank = dl.rank()
    pid = tl.program_id(0)
    programs = tl.num_programs(0)
    epoch = tl.load(epoch_ptr + pid) + 1
    parts_ptr += (epoch % 2) * set_elements
    signals = pid * most_steps * RANKS
    shard = tl.cast(shard, tl.int64)
    stride = programs.to(tl.int64) * chunk
    steps = tl.cdiv(shard, stride).to(tl.int32)
    i = tl.arange(0, TILE)
    for step in range(steps + 1):
        start = (step * programs + pid).to(tl.int64) * chunk
        ready = ready_ptr + signals + step * RANKS
        if step < steps:
            push_parts(x_ptr, parts_ptr, ready, start, chunk, shard, n, epoch, RANKS, TILE)
        if step >= 1:
            start -= stride
            token = dl.wait(ready - RANKS, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")
            parts = dl.consume_token(parts_ptr, token)
            first = rank * shard + start
            count = tl.maximum(tl.minimum(tl.minimum(shard - start, n - first), chunk), 0).to(tl.int32)
            full = count // TILE * TILE
            for tile in range(0, full, TILE):
                total = sum_tile(x_ptr, parts, first + tile + i, start + tile + i, shard, None, RANKS)
                tl.store(out_ptr + start + tile + i, total.to(out_ptr.dtype.element_ty))
            if full < count:
                mask = full + i < count
                total = sum_tile(x_ptr, parts, first + full + i, start + full + i, shard, mask, RANKS)
                tl.store(out_ptr + start + full + i, total.to(out_ptr.dtype.element_ty), mask=mask)
    tl.store(epoch_ptr + pid, epoch)
