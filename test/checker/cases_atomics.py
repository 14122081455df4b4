"""Atomics beside plain accesses, mixed and partly overlapping sizes, locks."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.simt import __syncthreads, atomic_add, atomic_cas, ld, ld_vector, st, st_vector, tid

N = 32


def word(team, dtype="int32", name="x", count=1):
    return team.zeros(count, dtype, name=name)


@tandem.jit
def count_and_read(x_ptr, y_ptr, FIXED: tl.constexpr):
    if tl.program_id(0) == 0:
        if FIXED:
            tl.store(y_ptr, tl.atomic_add(x_ptr, 0, sem="relaxed"))
        else:
            tl.store(y_ptr, tl.load(x_ptr))  # <-- plain_read_of_counter
    else:
        tl.atomic_add(x_ptr, 1, sem="relaxed")  # <-- plain_read_of_counter


@pair("race", "M13", ranks=(1, 2))
def plain_read_of_counter(team, fixed):
    count_and_read[(2,)](word(team), word(team, name="y"), fixed)


@tandem.jit
def count_and_clear(x_ptr, FIXED: tl.constexpr):
    if tl.program_id(0) == 0:
        if FIXED:
            tl.atomic_xchg(x_ptr, 0, sem="relaxed")
        else:
            tl.store(x_ptr, 0)  # <-- plain_clear_of_counter
    else:
        tl.atomic_add(x_ptr, 1, sem="relaxed")  # <-- plain_clear_of_counter


@pair("race", "M13", ranks=(1, 2))
def plain_clear_of_counter(team, fixed):
    count_and_clear[(2,)](word(team), fixed)


@tandem.jit
def sum_parts(x_ptr, y_ptr, FIXED: tl.constexpr):
    part = tl.program_id(0) + 1
    if FIXED:
        tl.atomic_add(y_ptr, part, sem="relaxed")
    else:
        tl.store(y_ptr, tl.load(y_ptr) + part)  # <-- sum_without_atomic


@pair("race", "M13", ranks=(1, 2))
def sum_without_atomic(team, fixed):
    sum_parts[(4,)](word(team), word(team, name="y"), fixed)


@tandem.jit
def whole_and_half(x_ptr, half_ptr, FIXED: tl.constexpr):
    if tid(0) == 0:
        if tl.program_id(0) == 0:
            st(x_ptr, 1, scope="gpu", semantic="relaxed")  # <-- mixed_sizes
        elif FIXED:
            ld(x_ptr, scope="gpu", semantic="relaxed")
        else:
            ld(x_ptr.to(tl.pointer_type(tl.int32), bitcast=True), scope="gpu", semantic="relaxed")  # <-- mixed_sizes


@pair("race", "M1", ranks=(1, 2))
def mixed_sizes(team, fixed):
    x = word(team, "int64")
    whole_and_half[(2,)](x, x, fixed)


@tandem.jit
def atomic_of_half(x_ptr, FIXED: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.atomic_add(x_ptr, 1, sem="relaxed")  # <-- atomics_of_mixed_sizes
    elif FIXED:
        tl.atomic_add(x_ptr, 1, sem="relaxed")
    else:
        tl.atomic_add(x_ptr.to(tl.pointer_type(tl.int32), bitcast=True) + 1, 1, sem="relaxed")  # <-- atomics_of_mixed_sizes


@pair("race", "M1", ranks=(1, 2))
def atomics_of_mixed_sizes(team, fixed):
    atomic_of_half[(2,)](word(team, "int64"), fixed)


@tandem.jit
def packet_and_word(x_ptr, FIXED: tl.constexpr):
    if tid(0) == 0:
        if tl.program_id(0) == 0:
            st_vector(x_ptr, dl.make_vector([tl.cast(1, tl.int64), tl.cast(1, tl.int64)]), "gpu", "relaxed")  # <-- half_of_an_element
        elif FIXED:
            ld(x_ptr + 1, scope="gpu", semantic="relaxed")
        else:
            ld((x_ptr + 1).to(tl.pointer_type(tl.int32), bitcast=True), scope="gpu", semantic="relaxed")  # <-- half_of_an_element


@pair("race", "M1", ranks=(1, 2))
def half_of_an_element(team, fixed):
    packet_and_word[(2,)](word(team, "int64", count=2), fixed)


@tandem.jit
def packet_in_halves(x_ptr, FIXED: tl.constexpr):
    if tid(0) == 0:
        one = tl.cast(1, tl.int32)
        if tl.program_id(0) > 0:
            ld_vector(x_ptr, 4, "gpu", "relaxed")  # <-- torn_packet
        elif FIXED:
            st_vector(x_ptr, dl.make_vector([one, one, one, one]), "gpu", "relaxed")
        else:
            st_vector(x_ptr, dl.make_vector([one, one]), "gpu", "relaxed")  # <-- torn_packet


@pair("race", "M1", ranks=(1, 2))
def torn_packet(team, fixed):
    packet_in_halves[(2,)](word(team, "int32", count=4), fixed)


@tandem.jit
def bytes_beside(x_ptr, AT: tl.constexpr):
    if tl.program_id(0) == 0:
        tl.store(x_ptr.to(tl.pointer_type(tl.int32), bitcast=True), 1)  # <-- byte_of_a_word
    else:
        tl.store(x_ptr + AT, 1)  # <-- byte_of_a_word


@pair("race", "M13", ranks=(1, 2))
def byte_of_a_word(team, fixed):
    bytes_beside[(2,)](word(team, "int8", count=8), 4 if fixed else 3)


@tandem.jit
def tiles_beside(x_ptr, N: tl.constexpr, AT: tl.constexpr):
    o = tl.arange(0, N)
    if tl.program_id(0) == 0:
        tl.store(x_ptr + o, 1, mask=o < N - 5)  # <-- one_element_too_many
    else:
        tl.store(x_ptr + AT + o, 2)  # <-- one_element_too_many


@pair("race", "M13", ranks=(1, 2))
def one_element_too_many(team, fixed):
    tiles_beside[(2,)](word(team, count=2 * N), N, N - 5 if fixed else N - 6)


@tandem.jit
def read_and_write_rows(x_ptr, N: tl.constexpr, FIXED: tl.constexpr, y_ptr):
    o = tl.program_id(0) * N + tl.arange(0, N)
    before = tl.load(x_ptr + o + N)  # <-- shifted_in_place
    tl.store((y_ptr if FIXED else x_ptr) + o, before)  # <-- shifted_in_place


@pair("race", "M13", ranks=(1, 2))
def shifted_in_place(team, fixed):
    read_and_write_rows[(2,)](word(team, count=3 * N), N, fixed, word(team, name="y", count=3 * N))


@tandem.jit
def lock_and_add(lock_ptr, x_ptr, TAKE: tl.constexpr, GIVE: tl.constexpr):
    if tid(0) == 0:
        while atomic_cas(lock_ptr, 0, 1, scope="gpu", semantic=TAKE) != 0:
            pass
        st(x_ptr, ld(x_ptr, semantic="weak") + 1, semantic="weak")  # <-- lock_taken_relaxed
        st(lock_ptr, 0, scope="gpu", semantic=GIVE)


@pair("race", "M4", ranks=(1, 2))
def lock_taken_relaxed(team, fixed):
    lock_and_add[(3,)](word(team, name="lock"), word(team), "acquire" if fixed else "relaxed", "release")


@tandem.jit
def lock_and_give(lock_ptr, x_ptr, GIVE: tl.constexpr):
    if tid(0) == 0:
        while atomic_cas(lock_ptr, 0, 1, scope="gpu", semantic="acquire") != 0:
            pass
        st(x_ptr, ld(x_ptr, semantic="weak") + 1, semantic="weak")  # <-- lock_given_relaxed
        st(lock_ptr, 0, scope="gpu", semantic=GIVE)


@pair("race", "M4", ranks=(1, 2))
def lock_given_relaxed(team, fixed):
    lock_and_give[(3,)](word(team, name="lock"), word(team), "release" if fixed else "relaxed")


@tandem.jit
def plain_flag(x_ptr, flag_ptr, FIXED: tl.constexpr):
    if tl.program_id(0) == 0:
        __syncthreads()
        if tid(0) == 0:
            st(flag_ptr, 1, scope="gpu", semantic="release" if FIXED else "weak")  # <-- flag_stored_plain
    elif tid(0) == 0:
        while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:  # <-- flag_stored_plain
            pass


@pair("race", "M13", ranks=(1, 2))
def flag_stored_plain(team, fixed):
    plain_flag[(2,)](word(team), word(team, name="flag"), fixed)


@tandem.jit
def last_one_sums(x_ptr, y_ptr, counter_ptr, PROGRAMS: tl.constexpr, FIXED: tl.constexpr):
    t = tid(0)
    if t < 16:
        st(x_ptr + tl.program_id(0) * 16 + t, t, semantic="weak")  # <-- counted_before_barrier
    if FIXED:
        __syncthreads()
    if t == 0:
        if atomic_add(counter_ptr, 1, scope="gpu", semantic="acq_rel") == PROGRAMS - 1:
            for i in range(PROGRAMS * 16):
                st(y_ptr, ld(x_ptr + i, semantic="weak"), semantic="weak")  # <-- counted_before_barrier


@pair("race", "M3", ranks=(1, 2))
def counted_before_barrier(team, fixed):
    last_one_sums[(2,)](word(team, count=32), word(team, name="y"), word(team, name="counter"), 2, fixed)
