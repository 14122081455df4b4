"""Work that several programs share."""

import tandem
import tandem.language as tl
from tandem.simt import __syncthreads, ld, tid


@tandem.jit
def is_last_of(count_ptr, count):
    """True in the last of `count` programs that get here. It sees what the others did before; it has to put the count back to 0."""
    return tl.atomic_add(count_ptr, 1, sem="acq_rel", scope="gpu") == count - 1


@tandem.jit
def is_last(count_ptr, COUNT: tl.constexpr):
    return is_last_of(count_ptr, COUNT)


@tandem.jit
def meet(count_ptr, until):
    """All threads of a program wait here until `until` arrivals have been counted, its own among them. Programs that meet run at once; the
    count is never put back."""
    __syncthreads()
    if tid(0) == 0:
        tl.atomic_add(count_ptr, 1, sem="release", scope="gpu")
        while ld(count_ptr, scope="gpu", semantic="acquire") < until:
            pass
    __syncthreads()


@tandem.jit
def take(taken_ptr):
    """The next number that no program has taken, from 0: whoever is free does the next piece of work. The last program of the call puts the
    count back to 0. A program must not wait for what a larger number's program does, as nobody may have taken that one."""
    return tl.atomic_add(taken_ptr, 1, sem="relaxed", scope="gpu")
