"""Looks whose value decides conditions: of an exchange that fails, and of several branches one after the other."""

import tandem
import tandem.language as tl
from case import pair

N = 32


def data(team, name, count=N):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def make_once(state_ptr, x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Who comes first makes the table; that somebody has begun to is not that it is there."""
    o = tl.arange(0, N)
    if tl.atomic_cas(state_ptr, 0, 1, sem="acq_rel", scope="gpu") == 0:
        tl.store(x_ptr + o, 5)  # <-- begun_is_not_done
        tl.atomic_xchg(state_ptr, 2, sem="release", scope="gpu")
    elif FIXED:
        while tl.atomic_or(state_ptr, 0, sem="acquire", scope="gpu") != 2:
            pass
    tl.store(y_ptr + tl.program_id(0) * N + o, tl.load(x_ptr + o))  # <-- begun_is_not_done


@pair("race", None, ranks=(1, 2))
def begun_is_not_done(team, fixed):
    make_once[(2,)](data(team, "state", 1), data(team, "x"), data(team, "y", 2 * N), N, fixed)


@tandem.jit
def look_back(part_ptr, state_ptr, y_ptr, LEAST: tl.constexpr):
    """A program looks at the one before it: 2 is a prefix, 1 a part alone, 0 is nothing yet."""
    me = tl.program_id(0)
    if me == 0:
        tl.store(part_ptr, 3)  # <-- nothing_yet_is_no_part
        tl.atomic_xchg(state_ptr, 1, sem="release", scope="gpu")
    else:
        total = 0
        looking = True
        while looking:
            state = tl.atomic_or(state_ptr, 0, sem="acquire", scope="gpu")
            if state == 2:
                total += tl.load(part_ptr + 1)
                looking = False
            elif state >= LEAST:
                total += tl.load(part_ptr)  # <-- nothing_yet_is_no_part
                looking = False
        tl.store(y_ptr, total)


@pair("race", None, ranks=(1, 2))
def nothing_yet_is_no_part(team, fixed):
    look_back[(2,)](data(team, "part", 2), data(team, "state", 1), data(team, "y", 1), 1 if fixed else 0)
