"""Teams that cross, channels of tiles, servers on a stream of their own, epochs that go on for long, and fetches on request."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
import tandem.tilelink as link
from protocol import protocol

from tandem.simt import __syncthreads, atomic_add, sync_grid, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == rows_then_columns
@tandem.jit
def rows_then_columns_k(x_ptr, part_ptr, y_ptr, row, column, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Two teams of each rank meet one after the other, and with that all ranks have met: sums along rows, then along columns."""
    o = tl.arange(0, N)
    r, rows = dl.rank(row), dl.num_ranks(row)
    columns = dl.num_ranks(column)
    for i in range(ROUNDS):
        tl.store(x_ptr + o, i + r)  # !1 !2 !3 !4 !6
        if F != 1:
            shmem.barrier_block(row if F != 2 else column)
        acc = tl.zeros((N,), tl.int32)
        for p in range(rows):
            acc += tl.load(dl.symm_at(x_ptr, p, row) + o)  # !1 !2 !4 !6
        tl.store(part_ptr + o, acc)  # !3 !4 !5 !6
        if F != 3:
            shmem.barrier_block(column)
        acc = tl.zeros((N,), tl.int32)
        for p in range(columns):
            acc += tl.load(dl.symm_at(part_ptr, p, column if F != 5 else row) + o)  # !3 !4 !5 !6
        tl.store(y_ptr + o, acc)
        if F == 6:
            shmem.barrier_block(column)
        elif F != 4:
            shmem.barrier_block(row)
            shmem.barrier_block(column)


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race|bad-rank", 6: "race"}, ranks=(4, 16))
def rows_then_columns(team, f):
    wide = 2 if team.size < 16 else 4
    row = team.split(range(team.rank // wide * wide, team.rank // wide * wide + wide))
    column = team.split(range(team.rank % wide, team.size, wide))
    rows_then_columns_k[(1,)](z(team, "x"), z(team, "part"), z(team, "y"), row.id, column.id, 3, N, f)


# == halves_of_halves
@tandem.jit
def halves_of_halves_k(x_ptr, y_ptr, sig_ptr, inner, outer, call, N: tl.constexpr, F: tl.constexpr):
    """A team within a team: ranks of the inner one pass data on around by puts with signals, its first rank to the other inner team's."""
    o = tl.arange(0, N)
    me, n = dl.rank(inner), dl.num_ranks(inner)
    world = shmem.NVSHMEM_TEAM_WORLD
    to = shmem.team_translate_pe(inner, (me + 1) % n, world)
    at = call % 2 * N
    if F != 1:
        shmem.putmem_signal_nbi_block(y_ptr + at, x_ptr + at, N * 4, sig_ptr, call, shmem.NVSHMEM_SIGNAL_SET, to)  # !1 !2 !3 !4
    else:
        shmem.putmem_nbi_block(y_ptr + at, x_ptr + at, N * 4, to)  # !1
        shmem.signal_op(sig_ptr, call, shmem.NVSHMEM_SIGNAL_SET, to)
    shmem.signal_wait_until(sig_ptr, shmem.NVSHMEM_CMP_GE, call - (1 if F == 2 else 0))
    got = tl.load(y_ptr + at + o)  # !1 !2 !4
    if me == 0:
        other = shmem.team_translate_pe(outer, 1 - dl.rank(outer), world)
        tl.store(dl.symm_at(y_ptr, other) + 2 * N + at + o, got)  # !3 !5
        if F == 3:
            shmem.signal_op(sig_ptr + 1, call, shmem.NVSHMEM_SIGNAL_SET, other)
        else:
            dl.notify(sig_ptr + 1, other, signal=call, sig_op="set", comm_scope="intra_node")
        dl.wait(sig_ptr + 1, 1, "sys", "acquire" if F != 5 else "relaxed", waitValue=call, compare="ge")
        tl.store(x_ptr + 2 * N + at + o, tl.load(y_ptr + 2 * N + at + o))  # !3 !5
    shmem.quiet()
    if F != 4:
        shmem.barrier_block(inner)
        if me == 0:
            shmem.barrier_block(outer)


@protocol({1: "race", 2: "race", 3: "race", 5: "race"}, ranks=(4, 8))
def halves_of_halves(team, f):
    half = team.size // 2
    inner = team.split(range(team.rank // half * half, team.rank // half * half + half))
    outer = team.split([0, half]) if team.rank % half == 0 else None
    words = z(team, "x", 4 * N), z(team, "y", 4 * N), z(team, "sig", 2, "int64")
    for call in range(1, 5):
        halves_of_halves_k[(1,)](*words, inner.id, outer.id if outer else 0, call, N, f)


# == channel_of_tiles
@tandem.jit
def channel_of_tiles_k(x_ptr, words_ptr, begun_ptr, y_ptr, call, SHARD: tl.constexpr, P: tl.constexpr, C: tl.constexpr, F: tl.constexpr):
    """A gather over a channel: program 0 pushes a rank's tiles to all, the others use tiles of another size."""
    rank, ranks = dl.rank(), dl.num_ranks()
    channel = link.BlockChannel(words_ptr, begun_ptr, call, ranks * SHARD, SHARD, 1, P, C, C, True)
    lanes = tl.arange(0, P)
    if tl.program_id(0) == 0:
        for d in range(1, ranks):
            link.rank_notify(channel, (rank + d) % ranks)
        for tile in range(rank * (SHARD // P), (rank + 1) * (SHARD // P)):
            tl.store(x_ptr + tile * P + lanes, call)  # !1 !2 !3 !4 !6
            if F == 1:
                link.producer_tile_notify(channel, tile, "broadcast")
            for d in range(1, ranks):
                peer = (rank + d) % ranks
                there = x_ptr
                if F != 2:
                    there = dl.consume_token(x_ptr, link.rank_wait(channel, peer))
                tl.store(dl.symm_at(there, peer) + tile * P + lanes, call)  # !1 !2 !3 !4 !6
            if F != 1:
                if F != 5:
                    link.producer_tile_notify(channel, tile, "broadcast")
                else:
                    link.producer_tile_notify(channel, tile, "p2p")
    else:
        tiles = SHARD // C
        for nth in range(tl.program_id(0) - 1, ranks * tiles, tl.num_programs(0) - 1):
            tile = (nth + rank * tiles) % (ranks * tiles)
            data = x_ptr
            if F != 3:
                token = link.consumer_tile_wait(channel, tile if F != 4 else (tile + 1) % (ranks * tiles))
                data = dl.consume_token(x_ptr, token)
            tl.store(y_ptr + tile * C + tl.arange(0, C), tl.load(data + tile * C + tl.arange(0, C)))  # !1 !2 !3 !4 !6


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "deadlock"}, ranks=(2, 8))
def channel_of_tiles(team, f):
    shard = 64
    x, y = z(team, "x", team.size * shard), z(team, "y", team.size * shard)
    words = z(team, "words", team.size * link.channels_of.fn(shard, 32), "int64"), z(team, "begun", team.size, "int64")
    for call in range(1, 4):
        channel_of_tiles_k[(3,)](x, *words, y, call, shard, 16, 32, f)


# == server_beside
@tandem.jit
def server_beside_k(job_ptr, posted_ptr, served_ptr, stop_ptr, x_ptr, y_ptr, ROOM: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A kernel that stays on a stream of its own serves what later kernels post, until a stream tells it to stop."""
    o = tl.arange(0, N)
    served = tl.cast(0, tl.int32)
    stops = tl.cast(0, tl.int32)
    while (stops == 0) | (served < stops):
        posted = tl.atomic_add(posted_ptr, 0, sem="acquire" if F != 1 else "relaxed", scope="sys")
        stops = tl.atomic_add(stop_ptr, 0, sem="relaxed", scope="sys").to(tl.int32)
        while served < posted:
            at = tl.load(job_ptr + served % ROOM)  # !1 !2 !3
            if F == 4:
                tl.atomic_xchg(served_ptr, served + 1, sem="release", scope="sys")
            tl.store(y_ptr + at * N + o, tl.load(x_ptr + at * N + o) + 1)  # !1 !2 !4 !5
            served += 1
            if F != 4:
                tl.atomic_xchg(served_ptr, served, sem="release" if F != 5 else "relaxed", scope="sys")


@tandem.jit
def client_k(job_ptr, posted_ptr, served_ptr, x_ptr, y_ptr, number, ROOM: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(x_ptr + number % ROOM * N + o, number)  # !1 !2 !3
    tl.store(job_ptr + number % ROOM, number % ROOM)  # !1 !2 !3
    tl.atomic_xchg(posted_ptr, number + 1, sem="release" if F != 2 else "relaxed", scope="sys")
    if number >= ROOM - 1:
        while tl.atomic_add(served_ptr, 0, sem="acquire", scope="sys") < number + 1 - (ROOM - 1 if F != 3 else ROOM):
            pass
    if number == 5:
        while tl.atomic_add(served_ptr, 0, sem="acquire", scope="sys") < number + 1:
            pass
        tl.store(x_ptr + o, tl.load(y_ptr + number % ROOM * N + o))  # !4 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "livelock|deadlock"}, ranks=(1, 2))
def server_beside(team, f):
    room = 2
    words = [z(team, name, 1) for name in ("posted", "served")]
    stop, x, y = z(team, "stop", 1, "int64"), z(team, "x", room * N), z(team, "y", room * N)
    job = z(team, "job", room)
    team.barrier()
    beside = team.new_stream()
    server_beside_k[(1,)](job, *words, stop, x, y, room, N, f, stream=beside)
    for number in range(6):
        client_k[(1,)](job, *words, x, y, number, room, N, f)
    if f != 6:
        team.stream.signal_write(stop, 6)


# == many_epochs
@tandem.jit
def many_epochs_k(src_ptr, box_ptr, sig_ptr, free_ptr, y_ptr, EPOCHS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Two buffers by turns for 40 epochs between neighbours in a ring; one fault is in a late epoch alone."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    for e in range(1, EPOCHS + 1):
        at = e % 2 * N
        if e > 2:
            free = e - 2
            if F == 1:
                free = e - 3 if e == EPOCHS - 3 else free
            if F != 2:
                dl.wait(free_ptr, 1, "sys", "acquire", waitValue=free, compare="ge")
            elif e != EPOCHS - 5:
                dl.wait(free_ptr, 1, "sys", "acquire", waitValue=free, compare="ge")
        tl.store(dl.symm_at(box_ptr, right) + at + o, e)  # !1 !2 !3 !4 !5
        dl.notify(sig_ptr, right, signal=e, sig_op="set", comm_scope="intra_node")
        if (F == 3) & (e == 30):
            dl.wait(sig_ptr, 1, "sys", "acquire", waitValue=e - 1, compare="ge")
        elif (F == 4) & (e == 30):
            dl.wait(sig_ptr, 1, "sys", "relaxed", waitValue=e, compare="ge")
        else:
            dl.wait(sig_ptr, 1, "sys", "acquire", waitValue=e, compare="ge")
        if (F == 5) & (e == 33):
            dl.notify(free_ptr, left, signal=e, sig_op="set", comm_scope="intra_node")
        tl.store(y_ptr + o, tl.load(box_ptr + at + o))  # !1 !2 !3 !4 !5
        if (F != 5) | (e != 33):
            dl.notify(free_ptr, left, signal=e, sig_op="set", comm_scope="intra_node")
    dl.wait(free_ptr, 1, "sys", "acquire", waitValue=EPOCHS, compare="ge")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(3, 4))
def many_epochs(team, f):
    words = z(team, "src", 2 * N), z(team, "box", 2 * N), z(team, "sig", 1, "int64"), z(team, "free", 1, "int64")
    many_epochs_k[(1,)](*words, z(team, "y"), 40, N, f)


# == fetched_on_request
@tandem.jit
def fetched_on_request_k(src_ptr, here_ptr, ask_ptr, fin_ptr, ITEMS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A sender asks its right neighbour to fetch what lies at a place of its buffer, by one word with length and place; the neighbour gets
    it, and says when it has."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    for i in range(1, ITEMS + 1):
        slot = i % 2
        length = N if i % 3 else N // 2
        if (i > 2) & (F != 1):
            shmem.signal_wait_until(fin_ptr, shmem.NVSHMEM_CMP_GE, i - 2)
        tl.store(src_ptr + slot * N + o, i)  # !1 !2 !3 !4
        word = tl.cast(i, tl.int64) << 40 | slot << 20 | length
        if F == 2:
            shmem.signal_op(ask_ptr, word, shmem.NVSHMEM_SIGNAL_SET, right)
        else:
            dl.notify(ask_ptr, right, signal=word, sig_op="set", comm_scope="intra_node")
        asked = shmem.signal_wait_until(ask_ptr, shmem.NVSHMEM_CMP_GE, tl.cast(i, tl.int64) << 40)
        theirs = ((asked >> 20) & 1023).to(tl.int32)
        size = (asked & 1023).to(tl.int32)
        shmem.getmem_nbi_block(here_ptr + theirs * N, src_ptr + theirs * N, size * 4, left)  # !1 !2 !3 !4 !5
        if (F != 3) & (F != 5):
            shmem.quiet()
        if F == 5:
            shmem.fence()
        if (F != 4) & (F != 5):
            tl.store(here_ptr + theirs * N + o, tl.load(here_ptr + theirs * N + o) + 1)  # !3
        dl.notify(fin_ptr, left, signal=i, sig_op="set", comm_scope="intra_node")
        if F == 5:
            tl.store(here_ptr + theirs * N + o, tl.load(here_ptr + theirs * N + o) + 1)  # !5
            shmem.quiet()
    shmem.signal_wait_until(fin_ptr, shmem.NVSHMEM_CMP_GE, ITEMS)


@protocol({1: "race|signal-misuse", 2: "race", 3: "race", 5: "race"}, ranks=(3, 4), sometimes=(1,))
def fetched_on_request(team, f):
    words = z(team, "src", 2 * N), z(team, "here", 2 * N), z(team, "ask", 1, "int64"), z(team, "fin", 1, "int64")
    fetched_on_request_k[(1,)](*words, 7, N, f)


# == kernels_let_go
@tandem.jit
def kernels_let_go_k(x_ptr, y_ptr, sig_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """Launches that may begin early: what reads the last launch's data waits for it, and so does who tells the neighbour."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N) + tl.program_id(0) * N
    tl.extra.cuda.gdc_launch_dependents()
    if F != 1:
        tl.extra.cuda.gdc_wait()
    value = tl.load(x_ptr + (call + 1) % 2 * 2 * N + o)  # !1 !5
    if F == 5:
        tl.store(x_ptr + (call + 1) % 2 * 2 * N + tl.arange(0, N), value)  # !5
    tl.store(x_ptr + call % 2 * 2 * N + o, value + 1)  # !1 !2 !3 !4
    at = dl.symm_at(y_ptr, (me + 1) % n) + call % 2 * 2 * N + o
    if call > 2:
        token = dl.wait(sig_ptr + 2 + tl.program_id(0), 1, "sys", "acquire" if F != 4 else "relaxed", waitValue=call - 2, compare="ge")
        at = dl.consume_token(at, token)
    tl.store(at, value)  # !2 !3 !4
    if F == 2:
        shmem.signal_op(sig_ptr + tl.program_id(0), call, shmem.NVSHMEM_SIGNAL_SET, (me + 1) % n)
    else:
        dl.notify(sig_ptr + tl.program_id(0), (me + 1) % n, signal=call, sig_op="set", comm_scope="intra_node")
    token = dl.wait(sig_ptr + tl.program_id(0), 1, "sys", "acquire", waitValue=call - (1 if F == 3 else 0), compare="ge")
    value = tl.load(dl.consume_token(y_ptr, token) + call % 2 * 2 * N + o)  # !2 !3 !4
    tl.store(x_ptr + 4 * N + o, value)
    dl.notify(sig_ptr + 2 + tl.program_id(0), (me + n - 1) % n, signal=call, sig_op="set", comm_scope="intra_node")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(3, 4))
def kernels_let_go(team, f):
    words = z(team, "x", 6 * N), z(team, "y", 4 * N), z(team, "sig", 4, "int64")
    team.barrier()
    for call in range(1, 6):
        kernels_let_go_k[(2,)](*words, call, N, f, launch_pdl=True)
    team.stream.signal_wait(words[2], 5, "ge")


# == grids_that_meet
@tandem.jit
def grids_that_meet_k(x_ptr, box_ptr, y_ptr, sig_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A cooperative grid: programs fill a rank's buffer, meet, program 0 puts it to the right and waits for the left one's, and all meet
    again. Ranks have grids of different sizes."""
    me, n = dl.rank(), dl.num_ranks()
    b, nb = tl.program_id(0), tl.num_programs(0)
    o = tl.arange(0, N)
    for r in range(1, ROUNDS + 1):
        for piece in range(b, 4, nb):
            tl.store(x_ptr + piece * N + o, r)  # !1 !2 !5
        if F != 1:
            sync_grid()
        if b == 0:
            shmem.putmem_signal_nbi_block(
                box_ptr + r % 2 * 4 * N, x_ptr, 4 * N * 4, sig_ptr, r, shmem.NVSHMEM_SIGNAL_SET, (me + 1) % n
            )  # !1 !3 !4 !5
            shmem.signal_wait_until(sig_ptr, shmem.NVSHMEM_CMP_GE, r - (1 if F == 3 else 0))
            if F != 5:
                shmem.quiet()
        if F != 2:
            sync_grid()
        for piece in range(b, 4, nb):
            tl.store(y_ptr + piece * N + o, tl.load(box_ptr + (r % 2 * 4 + 3 - piece) * N + o))  # !2 !3 !4
        if r % 2 == 1:
            if F != 4:
                sync_grid()
            if b == 0:
                shmem.barrier_all_block()
            sync_grid()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(3, 4))
def grids_that_meet(team, f):
    words = z(team, "x", 4 * N), z(team, "box", 8 * N), z(team, "y", 4 * N), z(team, "sig", 1, "int64")
    team.barrier()
    grids_that_meet_k[(1 + team.rank % 3 if f not in (1, 2) else 3,)](*words, 6, N, f, launch_cooperative_grid=True)


# == cta_is_too_narrow
@tandem.jit
def cta_is_too_narrow_k(x_ptr, count_ptr, told_ptr, y_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """The last program of a rank adds up what all have left, and tells the next rank: `cta`, `gpu` and `sys` where each is enough."""
    me, n = dl.rank(), dl.num_ranks()
    b, nb = tl.program_id(0), tl.num_programs(0)
    o = tl.arange(0, N)
    for r in range(1, ROUNDS + 1):
        here = dl.allocate_smem(tl.int32, [1])
        if tid(0) == 0:
            dl.smem_store(here, 0, 0)
        __syncthreads()
        if tid(0) % 32 == 0:
            atomic_add(dl.smem_get_ptr(here), 1, scope="cta", semantic="relaxed")
        __syncthreads()
        tl.store(x_ptr + b * N + o, dl.smem_load(here, 0))  # !1 !2 !3 !5
        came = tl.atomic_add(count_ptr, 1, sem="acq_rel" if F != 2 else "relaxed", scope="gpu" if F != 1 else "cta")  # !1
        if came == r * nb - 1:
            acc = tl.zeros((N,), tl.int32)
            for p in range(nb):
                acc += tl.load(x_ptr + p * N + o)  # !1 !2
            tl.store(dl.symm_at(y_ptr, (me + 1) % n) + r * N + o, acc)  # !4
            tl.atomic_xchg(
                dl.symm_at(told_ptr, (me + 1) % n), r, sem="release" if F != 4 else "relaxed", scope="sys" if F != 3 else "gpu"
            )  # !3
            while tl.atomic_add(told_ptr, 0, sem="acquire", scope="sys") < r:
                pass
            tl.store(x_ptr + nb * N + o, tl.load(y_ptr + r * N + o))  # !4
            tl.atomic_xchg(count_ptr + 1, r, sem="release" if F != 5 else "relaxed", scope="gpu")
        while tl.atomic_add(count_ptr + 1, 0, sem="acquire", scope="gpu") < r:
            pass
        __syncthreads()


@protocol({1: "race|scope", 2: "race", 3: "scope", 4: "race", 5: "race"}, ranks=(2, 4))
def cta_is_too_narrow(team, f):
    cta_is_too_narrow_k[(3,)](z(team, "x", 4 * N), z(team, "count", 2), z(team, "told", 1), z(team, "y", 4 * N), 3, N, f)
