"""Barriers with a number: used by two groups of warps, counted unlike, by too many, by a producer that runs ahead."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.simt import ld, named_barrier_arrive, named_barrier_sync, st, tid

THREADS = 128


def words(team, name="x", count=THREADS):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def two_pairs(x_ptr, y_ptr, SECOND: tl.constexpr):
    """Two pairs of warps trade words; at one barrier a warp of each could meet."""
    t = tid(0)
    st(x_ptr + t, t, semantic="weak")
    if t < 64:
        named_barrier_sync(1, 64)  # <-- barrier_of_two_pairs
    else:
        named_barrier_sync(SECOND, 64)  # <-- barrier_of_two_pairs
    st(y_ptr + t, ld(x_ptr + (t ^ 32), semantic="weak"), semantic="weak")


@pair("race", "M3", ranks=(1, 2))
def barrier_of_two_pairs(team, fixed):
    two_pairs[(1,)](words(team), words(team, "y"), 2 if fixed else 1)


@tandem.jit
def count_unlike(x_ptr, y_ptr, COUNT: tl.constexpr):
    t = tid(0)
    st(x_ptr + t, t, semantic="weak")
    if t < 64:
        named_barrier_sync(1, 128)
    else:
        named_barrier_sync(1, COUNT)  # <-- barrier_of_two_counts
    st(y_ptr + t, ld(x_ptr + (t ^ 64), semantic="weak"), semantic="weak")


@pair("divergent-block-operation", None, ranks=(1, 2))
def barrier_of_two_counts(team, fixed):
    count_unlike[(1,)](words(team), words(team, "y"), 128 if fixed else 64)


@tandem.jit
def all_come(x_ptr, y_ptr, COUNT: tl.constexpr):
    t = tid(0)
    st(x_ptr + t, t, semantic="weak")
    named_barrier_sync(1, COUNT)  # <-- barrier_of_too_many
    st(y_ptr + t, ld(x_ptr + (t ^ 32), semantic="weak"), semantic="weak")


@pair("divergent-block-operation", None, ranks=(1, 2))
def barrier_of_too_many(team, fixed):
    all_come[(1,)](words(team), words(team, "y"), 128 if fixed else 64)


@tandem.jit
def hand_over(y_ptr, FIXED: tl.constexpr):
    """One warp fills a word for another, three times. Without the second barrier it may arrive twice in a round of the first."""
    word = dl.allocate_smem(tl.int32, [32])
    t = tid(0)
    for i in range(3):
        if t < 32:
            if FIXED or i == 0:
                dl.smem_store(word, i, [t])
            named_barrier_arrive(1, 64)  # <-- producer_runs_ahead
            if FIXED:
                named_barrier_sync(2, 64)
        elif t < 64:
            named_barrier_sync(1, 64)  # <-- producer_runs_ahead
            st(y_ptr + t, dl.smem_load(word, [t - 32]), semantic="weak")
            if FIXED:
                named_barrier_arrive(2, 64)


@pair("race", "M3", ranks=(1, 2))
def producer_runs_ahead(team, fixed):
    hand_over[(1,)](words(team, "y"), fixed)


@tandem.jit
def arrive_twice(y_ptr, FIXED: tl.constexpr):
    """A warp that comes twice stands for one that has not come."""
    t = tid(0)
    if t < 32:
        st(y_ptr + t, 1, semantic="weak")
        named_barrier_arrive(1, 64)
        if not FIXED:
            named_barrier_arrive(1, 64)  # <-- counted_for_another
    elif t < 64:
        named_barrier_sync(1, 64)


@pair("divergent-block-operation", None, ranks=(1, 2))
def counted_for_another(team, fixed):
    arrive_twice[(1,)](words(team, "y"), fixed)
