"""Barriers that count without a reset, that members leave, that readers leave late, of bytes, and of words that are put back."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from protocol import protocol
from tandem.simt import __syncthreads, fence, ld, st, sync_grid, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == sign_bit_barrier
@tandem.jit
def sign_bit_barrier_k(x_ptr, y_ptr, bar_ptr, TURN, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """The barrier of cooperative groups: the first program adds what turns the sign over when all have come; nobody resets it."""
    p, n = tl.program_id(0), tl.num_programs(0)
    o = tl.arange(0, N)
    for r in range(ROUNDS):
        tl.store(x_ptr + p * N + o, p + r)  # !1 !2 !3 !4 !5 !6
        if F != 1:
            __syncthreads()
        if tid(0) == (0 if F != 1 else 64):
            fence("acq_rel", "gpu" if F != 2 else "cta")
            step = tl.where(p == 0, TURN - n + (1 if F != 3 else 2), 1)
            old = tl.atomic_add(bar_ptr, step, sem="relaxed", scope="gpu")
            while (old ^ ld(bar_ptr, scope="gpu", semantic="acquire" if F != 6 else "relaxed")) >= 0:  # !4
                pass
        __syncthreads()
        tl.store(y_ptr + p * N + o, tl.load(x_ptr + (p + 1) % n * N + o))  # !1 !2 !3 !4 !5 !6
        if F != 5:
            __syncthreads()
            if tid(0) == 0:
                fence("acq_rel", "gpu")
                step = tl.where(p == 0, TURN - n + 1, 1)
                if (F != 4) | (p != 1):
                    old = tl.atomic_add(bar_ptr + 1, step, sem="relaxed", scope="gpu")
                    while (old ^ ld(bar_ptr + 1, scope="gpu", semantic="acquire")) >= 0:  # !4
                        pass
            __syncthreads()


@protocol({1: "race", 2: "race", 3: "race", 4: "race|livelock|deadlock", 5: "race", 6: "race"}, ranks=(1, 2))
def sign_bit_barrier(team, f):
    sign_bit_barrier_k[(3,)](z(team, "x", 3 * N), z(team, "y", 3 * N), z(team, "bar", 2), -(1 << 31), 3, N, f, launch_cooperative_grid=True)


# == grid_in_step
@tandem.jit
def grid_in_step_k(x_ptr, y_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Programs of a cooperative launch. Who goes on late behind a barrier learns nothing of what others have done since."""
    p, n = tl.program_id(0), tl.num_programs(0)
    o = tl.arange(0, N)
    for r in range(ROUNDS):
        tl.store(x_ptr + (r % 2 * n + p) * N + o, p + r)  # !1 !2 !3
        if (F != 2) | (r != 1):
            sync_grid()
        at = r % 2 if F != 1 else (r + 1) % 2
        tl.store(y_ptr + p * N + o, tl.load(x_ptr + (at * n + (p + 1) % n) * N + o))  # !1 !2 !3
        if F == 3:
            tl.store(x_ptr + ((r + 1) % 2 * n + p) * N + o, tl.load(x_ptr + ((r + 1) % 2 * n + (p + n - 1) % n) * N + o))  # !3


@protocol({1: "race|uninitialised-read", 2: "race|deadlock", 3: "race"}, ranks=(1, 2))
def grid_in_step(team, f):
    grid_in_step_k[(4,)](z(team, "x", 8 * N), z(team, "y", 4 * N), 3, N, f, launch_cooperative_grid=True)


# == phaser
@tandem.jit
def phaser_k(x_ptr, y_ptr, word_ptr, gate_ptr, N: tl.constexpr, F: tl.constexpr):
    """Rank r takes part in r + 1 phases and then leaves: later phases wait for one fewer. A word on rank 0 has the arrivals of the phase,
    above 8 those who leave with it, above 16 those who have left."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    word, gate = dl.symm_at(word_ptr, 0), dl.symm_at(gate_ptr, 0)
    for r in range(me + 1):
        tl.store(x_ptr + r * N + o, me + r)  # !1 !2 !3
        __syncthreads()
        if tid(0) == 0:
            step = 1 + tl.where((r == me) & (F != 5), 256, 0)
            old = tl.atomic_add(word, step, sem="acq_rel" if F != 1 else "relaxed", scope="sys" if F != 4 else "gpu")  # !3 !4
            after = old + step
            members = n - (after >> 16)
            if (after & 255) >= members - (1 if F == 3 else 0):
                left = (after >> 16) + ((after >> 8) & 255)
                st(word, left << 16, scope="sys", semantic="relaxed")  # !3
                st(gate, r + 1, scope="sys", semantic="release" if F != 2 else "relaxed")
            while ld(gate, scope="sys", semantic="acquire") < r + 1:  # !3 !5
                pass
        __syncthreads()
        right = (me + 1) % n
        if right >= r:
            tl.store(y_ptr + o, tl.load(dl.symm_at(x_ptr, right) + r * N + o))  # !1 !2 !3


@protocol({1: "race", 2: "race", 3: "race|signal-misuse|livelock", 4: "scope", 5: "livelock|deadlock"}, ranks=(2, 3))
def phaser(team, f):
    phaser_k[(1,)](z(team, "x", 8 * N), z(team, "y"), z(team, "word", 1), z(team, "gate", 1), N, f)


# == flags_by_turn
@tandem.jit
def flags_by_turn_k(x_ptr, y_ptr, flag_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Flags of each pair in two sets, as in TRT-LLM's block barrier: a round sets and awaits one set and leaves the other alone."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for r in range(1, ROUNDS + 1):
        turn = (r % 2 if F != 1 else 0) * n
        tl.store(x_ptr + (r % 2 if F != 5 else 0) * N + o, me + r)  # !1 !2 !3 !4 !5
        __syncthreads()
        peer = tid(0)
        if peer < n:
            st(dl.symm_at(flag_ptr, peer) + turn + me, r, scope="sys", semantic="release" if F != 2 else "relaxed")
            if (F != 4) | (me != 1) | (r != 2):
                while ld(flag_ptr + turn + peer, scope="sys", semantic="acquire" if F != 3 else "relaxed") != r:  # !1 !4
                    pass
        __syncthreads()
        for p in range(n):
            tl.store(y_ptr + p * N + o, tl.load(dl.symm_at(x_ptr, p) + (r % 2 if F != 5 else 0) * N + o))  # !1 !2 !3 !4 !5


@protocol({1: "race|livelock", 2: "race", 3: "race", 4: "race|livelock", 5: "race"}, ranks=(2, 3, 8), sometimes=(1,))
def flags_by_turn(team, f):
    flags_by_turn_k[(1,)](z(team, "x", 2 * N), z(team, "y", N * team.size), z(team, "flag", 2 * team.size), 4, N, f)


# == bytes_as_flags
@tandem.jit
def bytes_as_flags_k(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, F: tl.constexpr):
    """A byte for each sender; one thread polls each byte. Four bytes in one look are of another size."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for p in range(n):
        tl.store(dl.symm_at(x_ptr, p) + me * N + o, me)  # !1 !2 !4
    __syncthreads()
    t = tid(0)
    if t < n:
        flag = dl.symm_at(flag_ptr, t) + me
        st(flag, tl.cast(1, tl.int8), scope="sys" if F != 5 else "gpu", semantic="release" if F != 1 else "relaxed")  # !3 !5
        if F == 3:
            while ld(flag_ptr.to(tl.pointer_type(tl.int32)), scope="sys", semantic="acquire") == 0:  # !3
                pass
        if (F != 4) | (t > 0):
            while ld(flag_ptr + t, scope="sys", semantic="acquire" if F != 2 else "relaxed") != 1:
                pass
    __syncthreads()
    for p in range(n):
        tl.store(y_ptr + p * N + o, tl.load(x_ptr + p * N + o))  # !1 !2 !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "scope"}, ranks=(2, 4, 8))
def bytes_as_flags(team, f):
    bytes_as_flags_k[(1,)](z(team, "x", N * team.size), z(team, "y", N * team.size), z(team, "flag", 8, "int8"), N, f)


# == fenced_counter
@tandem.jit
def fenced_counter_k(x_ptr, y_ptr, count_ptr, gate_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """__threadfence_system(), atomicAdd: a relaxed counter that rank 0 waits for and puts back before it lets the others go."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    count, gate = dl.symm_at(count_ptr, 0), dl.symm_at(gate_ptr, 0)
    for r in range(1, ROUNDS + 1):
        tl.store(x_ptr + r % 2 * N + o, me + r)  # !2 !3 !4
        __syncthreads()
        if tid(0) == 0:
            if F != 2:
                fence("acq_rel", "sys")
            tl.atomic_add(count, 1, sem="relaxed", scope="sys")  # !1 !4
            if me == 0:
                while ld(count, scope="sys", semantic="relaxed") < n - (1 if F == 4 else 0):  # !4 !5
                    pass
                if F != 3:
                    fence("acq_rel", "sys")
                if F != 1:
                    st(count, 0, scope="sys", semantic="relaxed")  # !4
                if F != 5:
                    st(gate, r, scope="sys", semantic="release")
                if F == 1:
                    st(count, 0, scope="sys", semantic="relaxed")  # !1
            while ld(gate, scope="sys", semantic="acquire") < r:  # !5
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(dl.symm_at(x_ptr, (me + 1) % n) + r % 2 * N + o))  # !2 !3 !4


@protocol({1: "signal-misuse", 2: "race", 3: "race", 4: "race|signal-misuse|livelock", 5: "livelock|deadlock"}, ranks=(2, 3))
def fenced_counter(team, f):
    fenced_counter_k[(1,)](z(team, "x", 2 * N), z(team, "y"), z(team, "count", 1), z(team, "gate", 1), 3, N, f)


# == last_of_the_grid
@tandem.jit
def last_of_the_grid_k(part_ptr, y_ptr, count_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """The sample of `__threadfence()`: the last program, by a relaxed ticket, sums what all have left, and puts the counter back."""
    p, n = tl.program_id(0), tl.num_programs(0)
    o = tl.arange(0, N)
    tl.store(part_ptr + p * N + o, p + 1)  # !1 !2 !3 !5
    if F != 1:
        __syncthreads()
    ticket = tl.cast(0, tl.int32)
    if tid(0) == (0 if F != 1 else 64):
        fence("acq_rel", "gpu" if F != 2 else "cta")
        ticket = tl.atomic_add(count_ptr, 1, sem="relaxed", scope="gpu")  # !4
        if ticket == n - (1 if F != 5 else 2):
            if F != 3:
                fence("acq_rel", "gpu")
            total = 0
            for k in range(n):
                total += ld(part_ptr + k * N, semantic="weak")  # !1 !2 !3 !4 !5
            st(y_ptr, total, semantic="weak")  # !4
            st(count_ptr, 0, scope="gpu", semantic="relaxed")
        if F == 4:
            if ticket == 0:
                st(count_ptr, 1, scope="gpu", semantic="relaxed")  # !4


@protocol({1: "race", 2: "race", 3: "race", 4: "signal-misuse|race", 5: "race|signal-misuse"}, ranks=(1, 2))
def last_of_the_grid(team, f):
    part, y, count = z(team, "part", 4 * N), z(team, "y", 1), z(team, "count", 2)
    for launch in range(2):
        last_of_the_grid_k[(4,)](part, y, count, 1, N, f)


# == greatest_mark
@tandem.jit
def greatest_mark_k(mark_ptr, y_ptr, ack_ptr, ROUNDS: tl.constexpr, F: tl.constexpr):
    """Rank 1 raises a mark on rank 0, which takes it when it is high enough and puts it back."""
    me = dl.rank()
    mark = dl.symm_at(mark_ptr, 0)
    if tid(0) == 0:
        for r in range(1, ROUNDS + 1):
            if me == 1:
                tl.atomic_max(mark, 5, sem="release" if F != 2 else "relaxed", scope="sys" if F != 3 else "gpu")  # !1 !2 !3
                while ld(ack_ptr, scope="sys", semantic="acquire") < r:  # !4
                    pass
            elif me == 0:
                while ld(mark, scope="sys", semantic="acquire") != 5:  # !1 !2
                    pass
                if (F != 1) & (F != 2):
                    st(mark, 0, scope="sys", semantic="relaxed")  # !3
                if F != 4:
                    st(dl.symm_at(ack_ptr, 1), r, scope="sys", semantic="release")
                if (F == 1) | (F == 2):
                    st(mark, 0, scope="sys", semantic="relaxed")  # !1 !2


@protocol({1: "signal-misuse|livelock", 2: "signal-misuse|livelock", 3: "scope", 4: "livelock|deadlock"}, ranks=(2, 3))
def greatest_mark(team, f):
    greatest_mark_k[(1,)](z(team, "mark", 1), z(team, "y", 1), z(team, "ack", 1), 3, f)
