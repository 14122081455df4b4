"""Warps by turns, rings of bulk copies, dependent launches, memory that is freed and had again, teams that cross, addresses in memory."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.dist import tma
from tandem.simt import __syncthreads, ld, named_barrier_arrive, named_barrier_sync, st, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == warps_in_turn
@tandem.jit
def warps_in_turn_k(x_ptr, y_ptr, ROUNDS: tl.constexpr, F: tl.constexpr):
    """FlashAttention 3: two groups of warps have the tensor cores by turns; each waits at its own barrier and lets the other one go."""
    t = tid(0)
    group = t // 64
    shared = dl.allocate_smem(tl.int32, [64])
    if group == 0:
        dl.smem_store(shared, t, [t])
    if (group == 1) & (F != 4):
        named_barrier_arrive(2, 128)
    for r in range(ROUNDS):
        if group == 0:
            if F != 1:
                named_barrier_sync(2, 128)  # !4 !5
            dl.smem_store(shared, dl.smem_load(shared, [t]) + r, [t])  # !1 !2 !3
            named_barrier_arrive(3 if F != 5 else 2, 128)  # !2 !5
        else:
            if F != 2:
                named_barrier_sync(3, 128)  # !4 !5
            at = t - 64
            if F == 3:
                named_barrier_arrive(2, 128)
            dl.smem_store(shared, dl.smem_load(shared, [at ^ 32]) + r, [at ^ 32])  # !1 !2 !3
            if F != 3:
                named_barrier_arrive(2, 128)  # !1
    if group == 0:
        named_barrier_sync(2, 128)
        st(y_ptr + t, dl.smem_load(shared, [t]), semantic="weak")  # !3


DIVERGENT = "divergent-block-operation"


@protocol({1: DIVERGENT, 2: DIVERGENT, 3: "race", 4: "deadlock", 5: DIVERGENT}, ranks=(1, 2))
def warps_in_turn(team, f):
    warps_in_turn_k[(1,)](z(team, "x"), z(team, "y", 64), 3, f)


# == ring_of_stages
@tandem.jit
def ring_of_stages_k(x_ptr, y_ptr, sig_ptr, CHUNKS: tl.constexpr, F: tl.constexpr):
    """A warp copies a peer's chunks by TMA into a ring of two stages as their flags come; two warps of consumers give stages back."""
    buffer = dl.allocate_smem(tl.int32, [2, 64])
    bars = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [4]))
    me, n = dl.rank(), dl.num_ranks()
    t = tid(0)
    if t < 2:
        tma.mbarrier_init(bars + t, 1)
        tma.mbarrier_init(bars + 2 + t, 64 if F != 5 else 32)
        tma.fence_mbarrier_init()
    if (t >= 64) & (t < 96):
        for c in range(CHUNKS):
            st(x_ptr + c * 64 + 2 * (t - 64), c, semantic="weak")  # !4
            st(x_ptr + c * 64 + 2 * (t - 64) + 1, c, semantic="weak")  # !4
    __syncthreads()
    if t == 96:
        for p in range(n):
            st(dl.symm_at(sig_ptr, p) + me, 1, scope="sys", semantic="release")
    if t == 32:
        src = dl.symm_at(x_ptr, (me + 1) % n)
        if F != 4:
            while ld(sig_ptr + (me + 1) % n, scope="sys", semantic="acquire") != 1:
                pass
        tma.fence_proxy_async()
        for c in range(CHUNKS):
            s = c % 2
            if c >= 2:
                if F != 1:
                    tma.mbarrier_wait_parity(bars + 2 + s, (c // 2 - 1) % 2 if F != 2 else (c // 2) % 2)  # !5
            tma.mbarrier_arrive_expect_tx(bars + s, 256)  # !1 !2
            tma.cp_async_bulk_global_to_shared(dl.smem_get_ptr(dl.smem_index(buffer, s)), src + c * 64, 256, bars + s)  # !1 !2 !3 !4 !5
    elif (t >= 128) & (t < 192):
        w = t - 128
        for c in range(CHUNKS):
            s = c % 2
            if F != 3:
                tma.mbarrier_wait_parity(bars + s, c // 2 % 2)
            v = dl.smem_load(dl.smem_index(buffer, s), [w])  # !1 !2 !3 !5
            st(y_ptr + c * 64 + w, v, semantic="weak")
            tma.mbarrier_arrive(bars + 2 + s)


@protocol({1: "race|mbarrier-misuse", 2: "race|mbarrier-misuse", 3: "race|uninitialised-read", 4: "race", 5: "race|deadlock"}, ranks=(2, 3))
def ring_of_stages(team, f):
    ring_of_stages_k[(1,)](z(team, "x", 6 * 64), z(team, "y", 6 * 64), z(team, "sig", team.size), 6, f, num_warps=8)


# == dependents
@tandem.jit
def dependents_k(x_ptr, y_ptr, w_ptr, call, N: tl.constexpr, F: tl.constexpr):
    """Each launch may begin while the one before it runs. One that does not wait for it lets those behind it run ahead, too."""
    o = tl.arange(0, N)
    p, n = tl.program_id(0), tl.num_programs(0)
    tl.store(w_ptr + (call * n + p) * N + o, call)  # !4
    if (F == 3) & (call % 3 == 1):
        tl.extra.cuda.gdc_launch_dependents()
    else:
        if (F != 1) & (F != 2):
            tl.extra.cuda.gdc_wait()
        v = tl.load(x_ptr + (call % 2 * n + (p + 1) % n) * N + o)  # !1 !2 !3
        if F == 2:
            tl.extra.cuda.gdc_wait()
        tl.store(x_ptr + ((call + 1) % 2 * n + p) * N + o, v + 1)  # !1 !2 !3 !4
        tl.extra.cuda.gdc_launch_dependents()
        if F == 4:
            tl.store(y_ptr + p * N + o, tl.load(w_ptr + ((call + 1) * n + p) * N + o))  # !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(1, 2))
def dependents(team, f):
    x, y, w = z(team, "x", 8 * N), z(team, "y", 4 * N), z(team, "w", 28 * N)
    for call in range(6):
        dependents_k[(4,)](x, y, w, call, N, f, launch_pdl=call > 0)


# == had_again
@tandem.jit
def had_again_k(x_ptr, y_ptr, flag_ptr, value, N: tl.constexpr, F: tl.constexpr):
    n = dl.num_ranks()
    right, left = (dl.rank() + 1) % n, (dl.rank() + n - 1) % n
    o = tl.arange(0, N)
    tl.store(dl.symm_at(x_ptr, right) + o, value)  # !1 !2
    dl.notify(flag_ptr, right, signal=1, sig_op="set", comm_scope="intra_node")
    if F != 2:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1 if F != 4 else 2)  # !4
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # !2
    dl.notify(flag_ptr + 1, left, signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr + 1, 1, "sys", "acquire", waitValue=1)
    tl.store(y_ptr + o, tl.load(dl.symm_at(x_ptr, right) + o))  # !3


@protocol({1: "use-after-free", 2: "race|uninitialised-read|use-after-free", 3: "use-after-free", 4: "deadlock"}, ranks=(2, 4))
def had_again(team, f):
    """Buffers and signals of each round are freed behind a barrier of the ranks, and the next round has the same addresses."""
    y = z(team, "y")
    for i in range(3):
        x, flag = team.empty(N, "int32", name="x"), team.zeros(2, "int64", name="flag")
        had_again_k[(1,)](x, y, flag, i, N, f)
        if f != 1:
            team.synchronize()
        if f not in (1, 3):
            team.barrier()
        x.free()  # !1 !3
        flag.free()


# == rows_and_columns
@tandem.jit
def rows_and_columns_k(x_ptr, y_ptr, flag_ptr, value, N: tl.constexpr, F: tl.constexpr):
    """All ranks of the team trade their rows; the flag of a sender counts calls."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for p in range(n):
        tl.store(dl.symm_at(x_ptr, p) + (value % 2 * n + me) * N + o, value)  # !1 !2 !3 !4
    __syncthreads()
    if tid(0) < n:
        st(dl.symm_at(flag_ptr, tid(0)) + me, value, scope="sys", semantic="release" if F != 1 else "relaxed")
        while ld(flag_ptr + tid(0), scope="sys", semantic="acquire" if F != 2 else "relaxed") < value - (1 if F == 3 else 0):
            pass
    __syncthreads()
    for p in range(n):
        tl.store(y_ptr + p * N + o, tl.load(x_ptr + (value % 2 * n + p) * N + o))  # !1 !2 !3 !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race|unmapped-peer|out-of-bounds"}, ranks=(4, 6))
def rows_and_columns(team, f):
    """A grid of ranks in rows of two and columns: two teams of each rank, each with memory of its own."""
    row = team.split([team.rank // 2 * 2, team.rank // 2 * 2 + 1])
    column = team.split(range(team.rank % 2, team.size, 2))
    had = [(t, z(t, "x", 2 * t.size * N), z(t, "y", t.size * N), z(t, "flag", t.size)) for t in (row, column)]
    for value in range(1, 5):
        for t, x, y, flag in had:
            with tandem.on(t):
                rows_and_columns_k[(1,)](x, y, flag, value if f != 4 else (value + 1) // 2, N, f)


# == addresses_in_memory
@tandem.jit
def addresses_k(box_ptr, x_ptr, y_ptr, back_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """A rank writes one of its buffers and gives its right neighbour the address; that one reads through it and gives the buffer back."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    for r in range(1, ROUNDS + 1):
        mine = x_ptr + r % 2 * N
        if (F != 1) & (r > 2):
            while ld(back_ptr, scope="sys", semantic="acquire" if F != 3 else "relaxed") < r - 2:
                pass
        __syncthreads()
        tl.store(mine + o, r)  # !1 !2 !3 !4 !5
        __syncthreads()
        if tid(0) == 0:
            st(dl.symm_at(box_ptr, right) + r % 2, mine.to(tl.int64), scope="sys", semantic="release" if F != 2 else "relaxed")
        where = tl.cast(0, tl.int64)
        while where == 0:
            where = ld(box_ptr + r % 2, scope="sys", semantic="acquire" if F != 4 else "relaxed")
        __syncthreads()
        if tid(0) == 0:
            st(box_ptr + r % 2, 0, scope="sys", semantic="relaxed")
        tl.store(y_ptr + o, tl.load(where.to(tl.pointer_type(tl.int32)) + o))  # !1 !2 !3 !4 !5
        if F != 5:
            __syncthreads()
        if tid(0) == (0 if F != 5 else 64):
            st(dl.symm_at(back_ptr, left), r, scope="sys", semantic="release")


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race"}, ranks=(3, 4))
def addresses_in_memory(team, f):
    addresses_k[(1,)](z(team, "box", 2, "int64"), z(team, "x", 2 * N), z(team, "y"), z(team, "back", 1), 5, N, f)


# == streams_and_signals
@tandem.jit
def add_up_k(x_ptr, y_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(y_ptr + o, tl.load(y_ptr + o) + tl.load(x_ptr + o))  # !1 !2 !3 !4


@protocol({1: "race", 2: "race", 3: "signal-misuse|race", 4: "race", 5: "deadlock"}, ranks=(2, 4))
def streams_and_signals(team, f):
    """Two streams of each rank: one copies to the right when its slot is free, the other adds what has come and frees the slot."""
    right, left = (team.rank + 1) % team.size, (team.rank - 1) % team.size
    src = team.full(N, team.rank, "int32", name="src")
    box, y, full, free = z(team, "box", 2 * N), z(team, "y"), z(team, "full", 1, "int64"), z(team, "free", 1, "int64")
    out, come = team.new_stream(), team.new_stream()
    team.barrier()
    for i in range(1, 5):
        at = slice(i % 2 * N, i % 2 * N + N)
        if i > 2 and f != 1:
            out.signal_wait(free, i - 2 if f != 5 else i, "ge")  # !5
        out.copy(box.peer(right)[at], src)  # !1 !2 !3 !4
        out.signal_write(full.peer(right), i)
        if f != 2:
            come.signal_wait(full, i if f != 4 else i - 1, "ge")
        add_up_k[(1,)](box[at], y, N, stream=come)
        if f != 3:
            come.signal_write(free.peer(left), i)
        else:
            team.new_stream().signal_write(free.peer(left), i)  # !3
    out.signal_wait(free, 4, "ge")
