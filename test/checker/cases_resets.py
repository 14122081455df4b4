"""Flags and counters that are no signals, and are put back too late or too early; loops that give up; bits and maxima in any order."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.simt import __syncthreads, atomic_add, clock, ld, st, tid

N = 32


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def put_back(x_ptr, y_ptr, flag_ptr, ack_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, FIXED: tl.constexpr):
    """Who finds its flag puts it back, and then tells the sender, or the other way round."""
    n = dl.num_ranks()
    right, left = (dl.rank() + 1) % n, (dl.rank() + n - 1) % n
    o = tl.arange(0, N)
    for r in range(ROUNDS):
        tl.store(dl.symm_at(x_ptr, right) + r * N + o, r)
        __syncthreads()
        if tid(0) == 0:
            st(dl.symm_at(flag_ptr, right), 1, scope="sys", semantic="release")  # <-- flag_put_back_behind_its_ack
            while ld(flag_ptr, scope="sys", semantic="acquire") != 1:  # <-- flag_put_back_behind_its_ack
                pass
            if FIXED:
                st(flag_ptr, 0, scope="sys", semantic="relaxed")
            st(dl.symm_at(ack_ptr, left), r + 1, scope="sys", semantic="release")
            if not FIXED:
                st(flag_ptr, 0, scope="sys", semantic="relaxed")  # <-- flag_put_back_behind_its_ack
            while ld(ack_ptr, scope="sys", semantic="acquire") < r + 1:
                pass
        __syncthreads()
        tl.store(y_ptr + r * N + o, tl.load(x_ptr + r * N + o))


@pair("signal-misuse", "M15")
def flag_put_back_behind_its_ack(team, fixed):
    put_back[(1,)](data(team, count=3 * N), data(team, "y", 3 * N), data(team, "flag", 1), data(team, "ack", 1), 3, N, fixed)


@tandem.jit
def set_again(flag_ptr, back_ptr, ROUNDS: tl.constexpr, FIXED: tl.constexpr):
    """The sender does not ask whether its flag has been put back; the last round tells it anyway."""
    if tid(0) == 0:
        for r in range(ROUNDS):
            if dl.rank() == 0:
                st(dl.symm_at(flag_ptr, 1), 1, scope="sys", semantic="release")  # <-- flag_set_before_it_is_put_back
                if FIXED:
                    while ld(back_ptr, scope="sys", semantic="acquire") < r + 1:
                        pass
            else:
                while ld(flag_ptr, scope="sys", semantic="acquire") != 1:  # <-- flag_set_before_it_is_put_back
                    pass
                st(flag_ptr, 0, scope="sys", semantic="relaxed")  # <-- flag_set_before_it_is_put_back
                st(dl.symm_at(back_ptr, 0), r + 1, scope="sys", semantic="release")


@pair("signal-misuse", "M15", ranks=(2,))
def flag_set_before_it_is_put_back(team, fixed):
    set_again[(1,)](data(team, "flag", 1), data(team, "back", 1), 3, fixed)


@tandem.jit
def meet(x_ptr, y_ptr, count_ptr, sense_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, FIXED: tl.constexpr):
    """A barrier of the ranks: the last one clears the counter and lets the others go, or the other way round."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    count, sense = dl.symm_at(count_ptr, 0), dl.symm_at(sense_ptr, 0)
    for r in range(ROUNDS):
        tl.store(x_ptr + r * N + o, me + r)
        __syncthreads()
        if tid(0) == 0:
            if atomic_add(count, 1, scope="sys", semantic="acq_rel") == n - 1:  # <-- counter_cleared_behind_the_release
                if FIXED:
                    st(count, 0, scope="sys", semantic="relaxed")
                st(sense, r + 1, scope="sys", semantic="release")
                if not FIXED:
                    st(count, 0, scope="sys", semantic="relaxed")  # <-- counter_cleared_behind_the_release
            while ld(sense, scope="sys", semantic="acquire") < r + 1:
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(dl.symm_at(x_ptr, (me + 1) % n) + r * N + o))


@pair("signal-misuse", "M15", ranks=(2, 4, 8))
def counter_cleared_behind_the_release(team, fixed):
    meet[(1,)](data(team, count=3 * N), data(team, "y"), data(team, "count", 1), data(team, "sense", 1), 3, N, fixed)


@tandem.jit
def gives_up(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, HOW: tl.constexpr, FIXED: tl.constexpr):
    """A loop that looks so many times, or so long. What reads behind it asks what it has found, or how it has ended."""
    right = (dl.rank() + 1) % dl.num_ranks()
    o = tl.arange(0, N)
    tl.store(dl.symm_at(x_ptr, right) + o, dl.rank())  # <-- read_whether_it_is_there_or_not
    __syncthreads()
    if tid(0) == 0:
        st(dl.symm_at(flag_ptr, right), 1, scope="sys", semantic="release")
    tries = 0
    if HOW == 0:
        while (ld(flag_ptr, scope="sys", semantic="acquire") != 1) & (tries < 10000):
            tries += 1
        ready = tries < 10000 if FIXED else True
    else:
        begin = clock()
        while (ld(flag_ptr, scope="sys", semantic="acquire") != 1) & (clock() - begin < 100000):
            pass
        ready = ld(flag_ptr, scope="sys", semantic="acquire") == 1 if FIXED else True
    if ready:
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- read_whether_it_is_there_or_not


@pair("race", "M6")
def read_whether_it_is_there_or_not(team, fixed):
    for how in range(2):
        gives_up[(1,)](data(team), data(team, "y"), data(team, "flag", 1), N, how, fixed)


@tandem.jit
def any_of_all(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """A loop that goes round the flags of all ranks until it finds one; all tell of the same."""
    n = dl.num_ranks()
    o = tl.arange(0, N)
    if dl.rank() == 0:
        for p in range(n):
            tl.store(dl.symm_at(x_ptr, p) + o, 1)  # <-- told_by_whichever_flag
        __syncthreads()
        if tid(0) < n:
            for k in range(n):
                st(dl.symm_at(flag_ptr, tid(0)) + k, 1, scope="sys", semantic="release" if FIXED else "relaxed")
    if tid(0) == 0:
        k = 0
        while ld(flag_ptr + k % n, scope="sys", semantic="acquire") == 0:
            k += 1
    __syncthreads()
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- told_by_whichever_flag


@pair("race", None)
def told_by_whichever_flag(team, fixed):
    any_of_all[(1,)](data(team), data(team, "y"), data(team, "flag", team.size), N, fixed)


@tandem.jit
def bits_of_all(x_ptr, y_ptr, mask_ptr, N: tl.constexpr, MISSING: tl.constexpr):
    """Each rank sets its bit. Without the lowest one the word is large enough for a wait for one less."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    for p in range(n):
        tl.store(dl.symm_at(x_ptr, p) + me * N + o, me)  # <-- bits_of_all_but_the_lowest
    __syncthreads()
    if tid(0) < n:
        tl.atomic_or(dl.symm_at(mask_ptr, tid(0)), 1 << me, sem="release", scope="sys")
    if tid(0) == 0:
        while ld(mask_ptr, scope="sys", semantic="acquire") < (1 << n) - 1 - MISSING:
            pass
    __syncthreads()
    for p in range(n):
        tl.store(y_ptr + p * N + o, tl.load(x_ptr + p * N + o))  # <-- bits_of_all_but_the_lowest


@pair("race", "M15", ranks=(2, 4, 8))
def bits_of_all_but_the_lowest(team, fixed):
    x, y = data(team, count=N * team.size), data(team, "y", N * team.size)
    bits_of_all[(1,)](x, y, data(team, "mask", 1), N, 0 if fixed else 1)


@tandem.jit
def latest_of_two(x_ptr, y_ptr, latest_ptr, N: tl.constexpr, ENOUGH: tl.constexpr):
    """Ranks 1 and 2 raise a word of rank 0 to 1 and to 2; a wait for 1 may have seen the 2 alone."""
    me = dl.rank()
    o = tl.arange(0, N)
    if me == 0:
        while ld(latest_ptr, scope="sys", semantic="acquire") < ENOUGH:
            pass
        tl.store(y_ptr + o, tl.load(x_ptr + 2 * N + o))  # <-- lesser_of_two_maxima
    elif me < 3:
        tl.store(dl.symm_at(x_ptr, 0) + me * N + o, me)  # <-- lesser_of_two_maxima
        __syncthreads()
        if tid(0) == 0:
            tl.atomic_max(dl.symm_at(latest_ptr, 0), me, sem="release", scope="sys")


@pair("race", None, ranks=(3,))
def lesser_of_two_maxima(team, fixed):
    latest_of_two[(1,)](data(team, count=3 * N), data(team, "y"), data(team, "latest", 1), N, 2 if fixed else 1)


@tandem.jit
def count_at_all(count_ptr, go_ptr, ROUNDS: tl.constexpr, FIXED: tl.constexpr):
    """Each rank counts at every rank by a loop, waits for its own counter, puts it back and lets the others go, or the other way round."""
    me, n = dl.rank(), dl.num_ranks()
    if tid(0) == 0:
        for r in range(ROUNDS):
            for p in range(n):
                tl.atomic_add(dl.symm_at(count_ptr, p), 1, sem="release", scope="sys")  # <-- counters_of_all_put_back_late
            while ld(count_ptr, scope="sys", semantic="acquire") != n:
                pass
            if FIXED:
                st(count_ptr, 0, scope="sys", semantic="relaxed")
            for p in range(n):
                st(dl.symm_at(go_ptr, p) + me, r + 1, scope="sys", semantic="release")
            if not FIXED:
                st(count_ptr, 0, scope="sys", semantic="relaxed")  # <-- counters_of_all_put_back_late
            for p in range(n):
                while ld(go_ptr + p, scope="sys", semantic="acquire") < r + 1:
                    pass


@pair("signal-misuse", "M15", ranks=(2, 4))
def counters_of_all_put_back_late(team, fixed):
    count_at_all[(1,)](data(team, "count", 1), data(team, "go", team.size), 3, fixed)


@tandem.jit
def deal(ticket_ptr, left_ptr, done_ptr, SEM: tl.constexpr):
    """Programs take numbers; the last one of the run puts them back by an exchange, which is a store where nobody uses the old value."""
    ticket, left = dl.symm_at(ticket_ptr, 0), dl.symm_at(left_ptr, 0)
    number = -1
    while number < 6:
        number = tl.atomic_add(ticket, 1, sem="relaxed", scope="sys")  # <-- numbers_put_back_by_an_exchange
        tl.store(dl.symm_at(done_ptr, 0) + number, 1)
    if tl.atomic_add(left, 1, sem=SEM, scope="sys") == dl.num_ranks() - 1:
        tl.atomic_xchg(ticket, 0, sem="relaxed", scope="sys")  # <-- numbers_put_back_by_an_exchange


@pair("signal-misuse", "M15")
def numbers_put_back_by_an_exchange(team, fixed):
    deal[(1,)](data(team, "ticket", 1), data(team, "left", 1), data(team, "done"), "acq_rel" if fixed else "relaxed")


@tandem.jit
def bits_of_ranks(word_ptr, go_ptr, ROUNDS: tl.constexpr, FIXED: tl.constexpr):
    """Each rank turns its bit on at rank 0, which clears them by an `and` before it lets all go on, or behind that. In a second word each
    rank clears its own bit, which has nothing to do with the others."""
    me, n = dl.rank(), dl.num_ranks()
    word = dl.symm_at(word_ptr, 0)
    for r in range(1, ROUNDS + 1):
        tl.atomic_or(word, 1 << me, sem="release", scope="sys")  # <-- bits_cleared_late
        tl.atomic_or(word + 1, 1 << me, sem="relaxed", scope="sys")
        tl.atomic_and(word + 1, ~(1 << me), sem="relaxed", scope="sys")
        if me == 0:
            if tid(0) == 0:
                while ld(word_ptr, scope="sys", semantic="acquire") != (1 << n) - 1:
                    pass
                while ld(word_ptr + 1, scope="sys", semantic="acquire") != 0:
                    pass
            __syncthreads()
            if FIXED:
                tl.atomic_and(word, 0, sem="relaxed", scope="sys")
            for p in range(n):
                dl.notify(go_ptr, p, signal=r, sig_op="set", comm_scope="intra_node")
            if not FIXED:
                tl.atomic_and(word, 0, sem="relaxed", scope="sys")  # <-- bits_cleared_late
        dl.wait(go_ptr, 1, "sys", "acquire", waitValue=r)


@pair("signal-misuse", "M15")
def bits_cleared_late(team, fixed):
    bits_of_ranks[(1,)](data(team, "word", 2), team.zeros(1, "int64", name="go"), 2, fixed)
