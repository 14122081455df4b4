"""Adds of a counter that acquire, and whose old value nobody uses: any of them may come first."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.simt import ld

N = 32


def data(team, name, count=N):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def arrive_and_read(x_ptr, y_ptr, count_ptr, N: tl.constexpr, SEM: tl.constexpr, FIXED: tl.constexpr):
    """Rank 1 adds, too, and takes it that the other's add came before its own."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        tl.store(dl.symm_at(x_ptr, 1) + o, 1)  # <-- an_add_is_no_wait
        tl.atomic_add(dl.symm_at(count_ptr, 1), 1, sem=SEM, scope="sys")
    else:
        if FIXED:
            while ld(count_ptr, scope="sys", semantic="relaxed") < 1:
                pass
        tl.atomic_add(count_ptr, 1, sem=SEM, scope="sys")
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- an_add_is_no_wait


@pair("race", None, ranks=(2,))
def an_add_is_no_wait(team, fixed):
    """Behind a relaxed look the add comes after what that has seen, and acquires it."""
    arrive_and_read[(1,)](data(team, "x"), data(team, "y"), data(team, "count", 1), N, "acq_rel", fixed)


@tandem.jit
def count_to(x_ptr, y_ptr, count_ptr, N: tl.constexpr, ENOUGH: tl.constexpr):
    """Each program adds when it has stored, as `tl.atomic_add` does by itself: it acquires and releases."""
    o = tl.arange(0, N)
    me, all = tl.program_id(0), tl.num_programs(0)
    tl.store(x_ptr + me * N + o, me)  # <-- too_few_of_adds_that_acquire
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_add(count_ptr, 0, sem="acquire") < ENOUGH:
        pass
    for other in range(all):
        tl.store(y_ptr + (me * all + other) * N + o, tl.load(x_ptr + other * N + o))  # <-- too_few_of_adds_that_acquire


@pair("race", None, ranks=(1, 2))
def too_few_of_adds_that_acquire(team, fixed):
    count_to[(3,)](data(team, "x", 3 * N), data(team, "y", 9 * N), data(team, "count", 1), N, 3 if fixed else 2)


@tandem.jit
def one_of_many(x_ptr, y_ptr, count_ptr, all_ptr, P: tl.constexpr, N: tl.constexpr, ENOUGH: tl.constexpr):
    """Many programs add, one after the other or not; the reader of the first one's tile waits for all but one."""
    o = tl.arange(0, N)
    p = tl.program_id(0)
    if p < P:
        tl.store(x_ptr + p * N + o, p)  # <-- first_of_many_adds
        dl.notify(count_ptr, dl.rank(), signal=1, sig_op="add", comm_scope="gpu")
        tl.atomic_add(all_ptr, 1, sem="relaxed", scope="gpu")
    else:
        dl.wait(all_ptr, 1, "gpu", "relaxed", waitValue=P)
        dl.wait(count_ptr, 1, "gpu", "acquire", waitValue=ENOUGH, compare="ge")
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- first_of_many_adds


@pair("race", "M15", ranks=(1,))
def first_of_many_adds(team, fixed):
    words = [team.zeros(1, "int64", name=name) for name in ("count", "all")]
    one_of_many[(201,)](data(team, "x", 200 * N), data(team, "y"), *words, 200, N, 200 if fixed else 199)
