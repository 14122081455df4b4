"""Loops that load a word until it has a value: the update that may have ended them, its order and its scope."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.simt import __ballot_sync, __syncthreads, atomic_add, atomic_cas, fence, ld, st, tid

N = 32


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


def word(team, name="flag", count=1):
    return team.zeros(count, "int64", name=name)


@tandem.jit
def stream_of_messages(x_ptr, y_ptr, ready_ptr, N: tl.constexpr, LATE: tl.constexpr):
    """The reader polls for one message less than it reads."""
    o = tl.arange(0, N)
    for i in range(4):
        if dl.rank() == 0:
            tl.store(dl.symm_at(x_ptr, 1) + i * N + o, i)  # <-- poll_of_an_older_count
            dl.notify(ready_ptr, 1, signal=1, sig_op="add", comm_scope="intra_node")
        elif dl.rank() == 1:
            if tid(0) == 0:
                while ld(ready_ptr, scope="sys", semantic="acquire") < i + 1 - LATE:
                    pass
            __syncthreads()
            tl.store(y_ptr + o, tl.load(x_ptr + i * N + o))  # <-- poll_of_an_older_count


@pair("race", "M15")
def poll_of_an_older_count(team, fixed):
    stream_of_messages[(1,)](data(team, count=4 * N), data(team, "y"), word(team), N, 0 if fixed else 1)


@tandem.jit
def any_value(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Not zero is not yet two: the first of two values ends the loop, too."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
        tl.store(dl.symm_at(x_ptr, 1) + o, 5)  # <-- poll_for_any_value
        dl.notify(flag_ptr, 1, signal=2, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 1:
        if tid(0) == 0:
            if FIXED:
                while 2 != ld(flag_ptr, scope="sys", semantic="acquire"):
                    pass
            else:
                while ld(flag_ptr, scope="sys", semantic="acquire") == 0:
                    pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- poll_for_any_value


@pair("race", "M15")
def poll_for_any_value(team, fixed):
    any_value[(1,)](data(team), data(team, "y"), word(team), N, fixed)


@tandem.jit
def one_word_a_thread(x_ptr, y_ptr, flag_ptr, RANKS: tl.constexpr, POLLED: tl.constexpr, N: tl.constexpr):
    """Each thread polls the word of one peer; the last peer's is forgotten."""
    o = tl.arange(0, N)
    rank = dl.rank()
    for peer in range(RANKS):
        tl.store(dl.symm_at(x_ptr, peer) + rank * N + o, rank)  # <-- poll_of_too_few_words
        dl.notify(flag_ptr + rank, peer, signal=1, sig_op="set", comm_scope="intra_node")
    t = tid(0)
    if t < POLLED:
        while ld(flag_ptr + t, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    for peer in range(RANKS):
        tl.store(y_ptr + peer * N + o, tl.load(x_ptr + peer * N + o))  # <-- poll_of_too_few_words


@pair("race", None)
def poll_of_too_few_words(team, fixed):
    n = team.size
    one_word_a_thread[(1,)](data(team, count=n * N), data(team, "y", n * N), word(team, count=n), n, n if fixed else n - 1, N)


@tandem.jit
def relaxed_then_fence(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 4)  # <-- relaxed_poll_without_fence
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    if tid(0) == 0:
        while ld(flag_ptr, scope="sys", semantic="relaxed") != 1:
            pass
        if FIXED:
            fence(semantic="acq_rel", scope="sys")
    __syncthreads()
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- relaxed_poll_without_fence


@pair("race", "M4")
def relaxed_poll_without_fence(team, fixed):
    relaxed_then_fence[(1,)](data(team), data(team, "y"), word(team), N, fixed)


@tandem.jit
def generations(x_ptr, y_ptr, count_ptr, generation_ptr, PROGRAMS: tl.constexpr, N: tl.constexpr, ORDER: tl.constexpr):
    """A barrier of programs that counts generations: who comes last lets the others go on, who poll for a change."""
    o = tl.arange(0, N)
    me = tl.program_id(0)
    for turn in range(3):
        tl.store(x_ptr + (turn * PROGRAMS + me) * N + o, turn)  # <-- generation_given_relaxed
        __syncthreads()
        if tid(0) == 0:
            old = ld(generation_ptr, scope="gpu", semantic="relaxed")
            if atomic_add(count_ptr, 1, scope="gpu", semantic="acq_rel") == PROGRAMS - 1:
                st(count_ptr, 0, scope="gpu", semantic="relaxed")
                st(generation_ptr, old + 1, scope="gpu", semantic=ORDER)
            else:
                while ld(generation_ptr, scope="gpu", semantic="acquire") == old:
                    pass
        __syncthreads()
        tl.store(y_ptr + me * N + o, tl.load(x_ptr + (turn * PROGRAMS + (me + 1) % PROGRAMS) * N + o))  # <-- generation_given_relaxed


@pair("race", "M4", ranks=(1, 2))
def generation_given_relaxed(team, fixed):
    x, y = data(team, count=9 * N), data(team, "y", 3 * N)
    generations[(3,)](x, y, word(team, "count"), word(team, "generation"), 3, N, "release" if fixed else "relaxed")


@tandem.jit
def polled_by_atomic(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, ORDER: tl.constexpr):
    """Adding zero reads the newest value; the order is the atomic's."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 4)  # <-- relaxed_atomic_poll
    dl.notify(flag_ptr, peer, signal=1, sig_op="add", comm_scope="intra_node")
    if tid(0) == 0:
        while atomic_add(flag_ptr, 0, scope="sys", semantic=ORDER) < 1:
            pass
    __syncthreads()
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- relaxed_atomic_poll


@pair("race", "M4")
def relaxed_atomic_poll(team, fixed):
    polled_by_atomic[(1,)](data(team), data(team, "y"), word(team), N, "acquire" if fixed else "relaxed")


@tandem.jit
def late_poll(x_ptr, y_ptr, z_ptr, count_ptr, N: tl.constexpr, FORM: tl.constexpr, ENOUGH: tl.constexpr):
    """The reader has work to do before it polls for a count; another form of each poll by an atomic, and of loops around a load."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        for i in range(4):
            tl.store(dl.symm_at(x_ptr, 1) + i * N + o, i)  # <-- late_poll_of_an_older_count
            dl.notify(count_ptr, 1, signal=1, sig_op="add", comm_scope="intra_node")
    elif dl.rank() == 1:
        for i in range(200):
            tl.store(z_ptr + o, i)
        if FORM == 0:
            while tl.atomic_add(count_ptr, 0, sem="acquire", scope="sys") < ENOUGH:
                pass
        elif FORM == 1:
            while tl.atomic_or(count_ptr, 0, sem="acquire", scope="sys") < ENOUGH:
                pass
        elif FORM == 2:
            while ENOUGH > tl.atomic_max(count_ptr, 0, sem="acq_rel", scope="sys"):
                pass
        elif FORM == 3:
            goes_on = True
            while goes_on:
                goes_on = tl.atomic_add(count_ptr, 0, sem="acquire", scope="sys") < ENOUGH
        elif FORM == 4:
            seen = tl.atomic_and(count_ptr, -1, sem="acquire", scope="sys")
            while seen != 4 and seen < ENOUGH:
                seen = tl.atomic_and(count_ptr, -1, sem="acquire", scope="sys")
        elif FORM == 12:
            while tl.max(tl.atomic_add(count_ptr + tl.arange(0, 2), 0, sem="acquire", scope="sys"), axis=0) < ENOUGH:
                pass
        else:
            if tid(0) == 0:
                tries = 0
                if FORM == 5:
                    while ld(count_ptr, scope="sys", semantic="acquire") < ENOUGH:
                        tries += 1
                elif FORM == 6:
                    while atomic_add(count_ptr, 0, scope="sys", semantic="acquire") < ENOUGH:
                        tries = tries + 2
                elif FORM == 7:
                    while (ld(count_ptr, scope="sys", semantic="acquire") & 7) * 2 + 1 <= 2 * (ENOUGH - 1) + 1:
                        pass
                elif FORM == 8:
                    while ld(count_ptr, scope="sys", semantic="relaxed") < ENOUGH:
                        fence(semantic="acq_rel", scope="sys")
                    fence(semantic="acq_rel", scope="sys")
                elif FORM == 9:
                    while ENOUGH > tl.load(count_ptr, volatile=True) or tries < 0:
                        tries += 1
                    fence(semantic="acq_rel", scope="sys")
                elif FORM == 10:
                    done = False
                    while not done:
                        if ld(count_ptr, scope="sys", semantic="acquire") >= ENOUGH:
                            done = True
                else:
                    while atomic_cas(count_ptr, ENOUGH + 1, ENOUGH + 1, scope="sys", semantic="acquire") < ENOUGH:
                        pass
                tl.store(z_ptr + N, tries)
            __syncthreads()
        for i in range(4):
            tl.store(y_ptr + o, tl.load(x_ptr + i * N + o))  # <-- late_poll_of_an_older_count


FORMS = 13


@pair("race", "M15", ranks=(2,))
def late_poll_of_an_older_count(team, fixed):
    for form in range(FORMS if fixed else 1):
        x, y, z = data(team, count=4 * N), data(team, "y"), data(team, "z", 2 * N)
        late_poll[(1,)](x, y, z, word(team, "count", 2), N, form, 4 if fixed else 2)


@tandem.jit
def gathered(x_ptr, y_ptr, flag_ptr, FORM: tl.constexpr, LATE: tl.constexpr, N: tl.constexpr, ROUNDS: tl.constexpr):
    """Each rank sends rounds to all, with a flag of its own; the receiver looks at the flags of all senders in one loop."""
    o = tl.arange(0, N)
    me, n = dl.rank(), dl.num_ranks()
    for k in range(ROUNDS):
        for p in range(n):
            tl.store(dl.symm_at(x_ptr, p) + (k * n + me) * N + o, k)  # <-- looks_at_the_flags_of_all
            dl.notify(flag_ptr + me, p, signal=k + 1, sig_op="set", comm_scope="intra_node")
    for k in range(ROUNDS):
        enough = k + 1 - LATE
        if FORM == 0:  # one after the other
            j = 0
            while j < n:
                if ld(flag_ptr + j, scope="sys", semantic="acquire") >= enough:
                    j += 1
        elif FORM == 1:  # those that are there, counted
            there = 0
            while there < n:
                there = 0
                for j in range(n):
                    there += (ld(flag_ptr + j, scope="sys", semantic="acquire") >= enough).to(tl.int32)
        elif FORM == 2:  # those that are there, by bits; they are looked at again
            seen = 0
            while seen != (1 << n) - 1:
                for j in tl.static_range(4):
                    if j < n:
                        if ld(flag_ptr + j, scope="sys", semantic="acquire") >= enough:
                            seen = seen | (1 << j)
        elif FORM == 3:  # all in one expression
            ready = False
            while not ready:
                ready = True
                for j in tl.static_range(4):
                    if j < n:
                        ready = ready & (ld(flag_ptr + j, scope="sys", semantic="acquire") >= enough)
        elif FORM == 4:  # the least of all
            least = tl.zeros((), tl.int64)
            while least < enough:
                least = tl.full((), ROUNDS, tl.int64)
                for j in tl.static_range(4):
                    if j < n:
                        least = tl.minimum(least, ld(flag_ptr + j, scope="sys", semantic="acquire"))
        elif FORM == 5:  # a few tries, then a wait
            for j in range(n):
                got = False
                for _ in range(3):
                    if not got:
                        got = tl.atomic_or(flag_ptr + j, 0, sem="acquire", scope="sys") >= enough
                if not got:
                    dl.wait(flag_ptr + j, 1, "sys", "acquire", waitValue=enough, compare="ge")
        elif FORM == 6:  # the least of all, by a loop inside
            least = tl.zeros((), tl.int64)
            while least < enough:
                least = tl.full((), ROUNDS, tl.int64)
                for j in range(n):
                    least = tl.minimum(least, ld(flag_ptr + j, scope="sys", semantic="acquire"))
        elif FORM == 7:  # their sum, of what is there and what is not
            there = 0
            while there < n:
                there = 0
                for j in range(n):
                    there += tl.where(ld(flag_ptr + j, scope="sys", semantic="acquire") >= enough, 1, 0)
        else:  # a warp votes
            if tid(0) < 32:
                missing = 1
                while missing != 0:
                    missing = __ballot_sync(0xFFFFFFFF, ld(flag_ptr + tid(0) % n, scope="sys", semantic="acquire") < enough)
            __syncthreads()
        for j in range(n):
            tl.store(y_ptr + o, tl.load(x_ptr + (k * n + j) * N + o))  # <-- looks_at_the_flags_of_all


GATHERED_FORMS = 9


@pair("race", None, ranks=(2, 4))
def looks_at_the_flags_of_all(team, fixed):
    """No loop here only looks at one word; each look decides a condition, and one for too little is found under every schedule."""
    for form in range(GATHERED_FORMS):
        x, y = data(team, count=3 * team.size * N), data(team, "y")
        gathered[(1,)](x, y, word(team, "flag", team.size), form, 0 if fixed else 1, N, 3)
