"""Kernels in plain Triton: tables of peers' addresses, tiles of flags, atomics of tiles, inline PTX that polls, waves and pipelines."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.simt import fence, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == pads_of_signals
@tandem.jit
def raise_flag(addresses, SEM: tl.constexpr):
    tl.inline_asm_elementwise(
        "{ .reg .u32 %old; .reg .pred %taken; again: atom.global."
        + SEM
        + ".sys.cas.b32 %old, [$1], 0, 1; setp.ne.u32 %taken, %old, 0; @%taken bra again; mov.u32 $0, %old; }",
        "=r,l",
        [addresses],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@tandem.jit
def lower_flag(addresses, SEM: tl.constexpr):
    tl.inline_asm_elementwise(
        "{ .reg .u32 %old; .reg .pred %taken; again: atom.global."
        + SEM
        + ".sys.cas.b32 %old, [$1], 1, 0; setp.ne.u32 %taken, %old, 1; @%taken bra again; mov.u32 $0, %old; }",
        "=r,l",
        [addresses],
        dtype=tl.int32,
        is_pure=False,
        pack=1,
    )


@tandem.jit
def meet_at_pads(pads_ptr, me, WORLD: tl.constexpr, BEFORE: tl.constexpr, AFTER: tl.constexpr):
    """Program b of each rank meets program b of all others: it raises the peers' flags for it and lowers its own when they are raised."""
    block = tl.program_id(0)
    peer = tid(0)
    if BEFORE:
        tl.debug_barrier()
    if peer < WORLD:
        there = tl.load(pads_ptr + peer).to(tl.pointer_type(tl.int32), bitcast=True) + block * WORLD + me
        mine = tl.load(pads_ptr + me).to(tl.pointer_type(tl.int32), bitcast=True) + block * WORLD + peer
        raise_flag(there, "release" if BEFORE else "relaxed")
        lower_flag(mine, "acquire" if AFTER else "relaxed")
    if AFTER:
        tl.debug_barrier()


@tandem.jit
def pads_of_signals_k(buffers_ptr, pads_ptr, y_ptr, me, WORLD: tl.constexpr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A one-shot all-reduce in PyTorch's symmetric memory: programs stage a part, meet, add up all peers' parts, and meet again."""
    block = tl.program_id(0)
    o = block * N + tl.arange(0, N)
    for r in range(ROUNDS):
        own = tl.load(buffers_ptr + me).to(tl.pointer_type(tl.int32), bitcast=True)
        tl.store(own + o, me + r)  # !1 !2 !3 !4 !5
        if F != 3:
            meet_at_pads(pads_ptr, me, WORLD, F != 1, F != 2)
        acc = tl.zeros((N,), tl.int32)
        for p in range(WORLD):
            other = (block if F != 5 else block + 1) % tl.num_programs(0) * N + tl.arange(0, N)
            acc += tl.load(tl.load(buffers_ptr + p).to(tl.pointer_type(tl.int32), bitcast=True) + other)  # !1 !2 !3 !4 !5
        tl.store(y_ptr + o, acc)
        if F != 4:
            meet_at_pads(pads_ptr, me, WORLD, True, True)


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 8))
def pads_of_signals(team, f):
    buffer, pads, y = z(team, "buffer", 2 * N), z(team, "pads", 2 * team.size), z(team, "y", 2 * N)
    tables = [team.local_from_array(np.array([t.peer(p).data_ptr() for p in range(team.size)], np.int64)) for t in (buffer, pads)]
    team.barrier()
    pads_of_signals_k[(2,)](*tables, y, team.rank, team.size, 3, N, f)
    if f == 0:
        assert (np.asarray(y) == sum(range(team.size)) + 2 * team.size).all()


# == tiles_of_flags
@tandem.jit
def tiles_of_flags_k(x_ptr, flags_ptr, y_ptr, call, WORLD: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A tile of atomics raises a flag at each peer; a tile of atomics that add nothing, or of volatile loads, looks until all are up."""
    me = dl.rank()
    o, peers = tl.arange(0, N), tl.arange(0, WORLD)
    stride = dl.symm_at(flags_ptr, 1).to(tl.int64) - dl.symm_at(flags_ptr, 0).to(tl.int64)
    there = (dl.symm_at(flags_ptr, 0).to(tl.int64) + stride * peers).to(tl.pointer_type(tl.int32), bitcast=True)
    for p in range(WORLD):
        tl.store(dl.symm_at(x_ptr, p) + (call % 2 * WORLD + me) * N + o, call)  # !1 !2 !3 !4 !5 !6
    if F == 1:
        tl.atomic_xchg(there + me, call, sem="relaxed", scope="sys")
    elif F == 2:
        tl.atomic_xchg(there + me, call, sem="release", scope="gpu")  # !2
    else:
        tl.atomic_xchg(there + me, call, sem="release", scope="sys")
    if call % 2 == 0:
        least = tl.cast(0, tl.int32)
        while least < call:
            least = tl.min(tl.atomic_add(flags_ptr + peers, 0, sem="acquire" if F != 3 else "relaxed", scope="sys"))
    else:
        waits = tl.cast(1, tl.int32)
        while waits > 0:
            up = tl.load(flags_ptr + peers, mask=peers < WORLD - (1 if F == 4 else 0), other=call, volatile=True) >= call - (
                1 if F == 6 else 0
            )
            waits = tl.sum((~up).to(tl.int32))
        if F != 5:
            fence("acq_rel", "sys")
        tl.debug_barrier()
    for p in range(WORLD):
        tl.store(y_ptr + p * N + o, tl.load(x_ptr + (call % 2 * WORLD + p) * N + o))  # !1 !2 !3 !4 !5 !6


@protocol({1: "race", 2: "scope", 3: "race", 4: "race", 5: "race", 6: "race"}, ranks=(2, 16))
def tiles_of_flags(team, f):
    words = z(team, "x", 2 * team.size * N), z(team, "flags", team.size), z(team, "y", team.size * N)
    for call in range(1, 5):
        tiles_of_flags_k[(1,)](*words, call, team.size, N, f)


# == wave_of_cells
@tandem.jit
def wave_of_cells_k(cell_ptr, done_ptr, ROWS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Columns of a table lie on the ranks; a cell needs the one above, the one on the left and the one between these. Each rank's programs
    take rows by turns."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    left = (me + n - 1) % n
    for row in range(tl.program_id(0), ROWS, tl.num_programs(0)):
        value = tl.zeros((N,), tl.int32) + 1
        if (row > 0) & (F != 1):
            while tl.atomic_add(done_ptr + row - 1, 0, sem="acquire" if F != 2 else "relaxed", scope="sys") == 0:
                pass
        if me > 0:
            if F != 3:
                while (
                    tl.atomic_add(
                        dl.symm_at(done_ptr, left) + row, 0, sem="acquire" if F != 4 else "relaxed", scope="sys" if F != 6 else "gpu"
                    )
                    == 0
                ):  # !6
                    pass
            value += tl.load(dl.symm_at(cell_ptr, left) + row * N + o)  # !3 !4 !5
            if row > 0:
                value += tl.load(dl.symm_at(cell_ptr, left) + (row - 1) * N + o)  # !3 !4 !5
        if row > 0:
            value += tl.load(cell_ptr + (row - 1) * N + o)  # !1 !2 !5 !7
        if F == 7:
            tl.atomic_xchg(done_ptr + row, 1, sem="release", scope="sys")
        tl.store(cell_ptr + row * N + o, value)  # !1 !2 !3 !4 !5 !7
        if F != 7:
            tl.atomic_xchg(done_ptr + row, 1, sem="release" if F != 5 else "relaxed", scope="sys")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "scope", 7: "race"}, ranks=(2, 8))
def wave_of_cells(team, f):
    cell = z(team, "cell", 6 * N)
    team.barrier()
    wave_of_cells_k[(2,)](cell, z(team, "done", 6), 6, N, f)


# == stages_of_programs
@tandem.jit
def stages_of_programs_k(box_ptr, full_ptr, free_ptr, y_ptr, ITEMS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Programs of a rank are stages of a pipeline, and so are the ranks: a stage's box is its predecessor's to fill. Within a rank scope
    gpu is enough, between ranks it is not."""
    me, n = dl.rank(), dl.num_ranks()
    b, nb = tl.program_id(0), tl.num_programs(0)
    o = tl.arange(0, N)
    stage = me * nb + b
    for item in range(1, ITEMS + 1):
        value = tl.zeros((N,), tl.int32) + item * 100
        if stage > 0:
            while tl.atomic_add(full_ptr + b, 0, sem="acquire" if F != 1 else "relaxed", scope="sys") < item:
                pass
            if F == 2:
                tl.atomic_xchg(free_ptr + b, item, sem="release", scope="sys")
            value = tl.load(box_ptr + b * N + o)  # !1 !2 !3 !4
            if F != 2:
                tl.atomic_xchg(free_ptr + b, item, sem="release", scope="sys")
        if stage < n * nb - 1:
            last = b == nb - 1
            to = dl.symm_at(box_ptr, me + 1) if last else box_ptr + (b + 1) * N
            told = dl.symm_at(full_ptr, me + 1) if last else full_ptr + b + 1
            frees = dl.symm_at(free_ptr, me + 1) if last else free_ptr + b + 1
            if F != 3:
                while tl.atomic_add(frees, 0, sem="acquire", scope="sys") < item - 1:
                    pass
            tl.store(to + o, value + 1)  # !1 !2 !3 !4
            if last & (F != 5):
                tl.atomic_xchg(told, item, sem="release" if F != 4 else "relaxed", scope="sys")
            else:
                tl.atomic_xchg(told, item, sem="release", scope="gpu")  # !5
        else:
            tl.store(y_ptr + item * N + o, value)


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "scope"}, ranks=(2, 4))
def stages_of_programs(team, f):
    y = z(team, "y", 6 * N)
    stages_of_programs_k[(3,)](z(team, "box", 3 * N), z(team, "full", 3), z(team, "free", 3), y, 5, N, f)
    if f == 0 and team.rank == team.size - 1:
        assert (np.asarray(y).reshape(6, N)[1:, 0] == np.arange(1, 6) * 100 + 3 * team.size - 1).all()


# == roles_by_ticket
@tandem.jit
def roles_by_ticket_k(ticket_ptr, x_ptr, there_ptr, y_ptr, MAKERS: tl.constexpr, EACH: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Which program makes tiles and which one uses them is decided by the order in which they begin, so that makers always run."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    mine = tl.atomic_add(ticket_ptr, 1, sem="relaxed", scope="gpu")
    if F == 5:
        mine = tl.num_programs(0) - 1 - tl.program_id(0)
    if mine < MAKERS:
        for i in range(EACH):
            tile = mine * EACH + i
            for step in range(n):
                peer = (me + step) % n
                at = dl.symm_at(x_ptr, peer) + (me * MAKERS * EACH + tile) * N
                if F == 1:
                    dl.notify(there_ptr + me * MAKERS + mine, peer, signal=1, sig_op="add", comm_scope="intra_node")
                tl.store(at + o, tile)  # !1 !2 !3 !4
                if F != 1:
                    dl.notify(there_ptr + me * MAKERS + mine, peer, signal=1, sig_op="add", comm_scope="intra_node")
    else:
        for r in range(n):
            for m in range(MAKERS):
                for i in range(EACH):
                    word = there_ptr + r * MAKERS + (m if F != 4 else (m + 1) % MAKERS)
                    token = dl.wait(
                        word, 1, "sys", "acquire" if F != 2 else "relaxed", waitValue=i + (1 if F != 3 else 0), compare="ge"
                    )  # !5
                    x = dl.consume_token(x_ptr, token)
                    tl.store(y_ptr + o, tl.load(x + ((r * MAKERS + m) * EACH + i) * N + o))  # !1 !2 !3 !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(1, 2, 4))
def roles_by_ticket(team, f):
    makers, each = 2, 3
    x, there = z(team, "x", team.size * makers * each * N), z(team, "there", team.size * makers, "int64")
    roles_by_ticket_k[(makers + 1,)](z(team, "ticket", 1), x, there, z(team, "y"), makers, each, N, f)


# == climbers
@tandem.jit
def climbers_k(node_ptr, go_ptr, x_ptr, sum_ptr, ROUNDS: tl.constexpr, LEAVES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """All programs of all ranks come to the leaves of a tree of counters on rank 0; the second one to come to a node clears it and climbs,
    and who leaves the root adds up everybody's data and lets all go."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    worker = me * tl.num_programs(0) + tl.program_id(0)
    x, node = dl.symm_at(x_ptr, 0), dl.symm_at(node_ptr, 0)
    for r in range(1, ROUNDS + 1):
        tl.store(x + worker * N + o, r)  # !1 !2 !3 !4 !5
        at = (LEAVES + worker) // 2
        climbs = True
        while climbs:
            came = tl.atomic_add(node + at, 1, sem=("acq_rel" if F != 1 else "acquire") if F != 2 else "release", scope="sys")
            if F == 3:
                climbs = at > 1
                at = at // 2
            elif came == 1:
                tl.atomic_xchg(node + at, 0, sem="relaxed", scope="sys")
                climbs = at > 1
                at = at // 2
            else:
                climbs = False
        if at == 0:
            total = tl.zeros((N,), tl.int32)
            for w in range(LEAVES):
                total += tl.load(x + w * N + o)  # !1 !2 !3
            tl.store(sum_ptr + r * N + o, total)
            for p in range(n):
                tl.atomic_xchg(dl.symm_at(go_ptr, p), r, sem="release" if F != 4 else "relaxed", scope="sys")
        while tl.atomic_add(go_ptr, 0, sem="acquire" if F != 5 else "relaxed", scope="sys") < r:
            pass


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(2, 4))
def climbers(team, f):
    leaves = 2 * team.size
    climbers_k[(2,)](z(team, "node", leaves), z(team, "go", 1), z(team, "x", leaves * N), z(team, "sum", 4 * N), 3, leaves, N, f)


# == log_of_many
@tandem.jit
def log_of_many_k(
    log_ptr, told_ptr, acked_ptr, commit_ptr, y_ptr, ENTRIES: tl.constexpr, ROOM: tl.constexpr, N: tl.constexpr, F: tl.constexpr
):
    """Rank 0 appends entries to all others' logs, and commits one when more than half have it; an entry's place is free again when all
    have applied what was there."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    if me == 0:
        for e in range(1, ENTRIES + 1):
            if e > ROOM:
                for p in range(1, n if F != 1 else n - 1):
                    while tl.atomic_add(acked_ptr + n + p, 0, sem="acquire", scope="sys") < e - ROOM:
                        pass
            for p in range(1, n):
                tl.store(dl.symm_at(log_ptr, p) + e % ROOM * N + o, e)  # !1 !2 !3 !4 !5
                tl.atomic_xchg(dl.symm_at(told_ptr, p), e, sem="release" if F != 2 else "relaxed", scope="sys")
            have = 1
            while have * 2 <= n:
                have = 1
                for p in range(1, n):
                    have += 1 if tl.atomic_add(acked_ptr + p, 0, sem="acquire", scope="sys") >= e else 0
            for p in range(1, n):
                tl.atomic_xchg(dl.symm_at(commit_ptr, p), e, sem="release", scope="sys")
    else:
        applied = tl.cast(0, tl.int32)
        told = tl.cast(0, tl.int32)
        while applied < ENTRIES:
            now = tl.atomic_add(told_ptr, 0, sem="acquire" if F != 3 else "relaxed", scope="sys")
            if now > told:
                told = now
                tl.atomic_xchg(dl.symm_at(acked_ptr, 0) + me, told, sem="release", scope="sys")
            until = tl.atomic_add(commit_ptr, 0, sem="acquire" if F != 3 else "relaxed", scope="sys")
            if F == 5:
                until = tl.minimum(told + 1, ENTRIES)
            if until > applied:
                if F == 4:
                    tl.atomic_xchg(dl.symm_at(acked_ptr, 0) + n + me, until, sem="release", scope="sys")
                for e in range(applied + 1, until + 1):
                    tl.store(y_ptr + e * N + o, tl.load(log_ptr + e % ROOM * N + o))  # !1 !2 !3 !4 !5
                applied = until
                if F != 4:
                    tl.atomic_xchg(dl.symm_at(acked_ptr, 0) + n + me, applied, sem="release", scope="sys")


@protocol({1: "race", 3: "race", 4: "race", 5: "race|uninitialised-read"}, ranks=(3, 4), sometimes=(1, 4, 5))
def log_of_many(team, f):
    y = z(team, "y", 9 * N)
    words = z(team, "told", 1), z(team, "acked", 2 * team.size), z(team, "commit", 1)
    log_of_many_k[(1,)](z(team, "log", 3 * N), *words, y, 8, 3, N, f)
    if f == 0 and team.rank:
        assert (np.asarray(y).reshape(9, N)[1:, 0] == np.arange(1, 9)).all()
