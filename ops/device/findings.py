"""What a kernel finds in data on the device that it cannot use: it computes nothing from that, and tells the host.

`findings_ptr`: words of the host's (ops/findings.h): what is wrong, what was seen, what is allowed, and two places. Simulated runs end at
once with a report.
"""

import tandem
import tandem.language as tl
from tandem.simt import st, tid


@tandem.jit
def tell(findings_ptr, what, seen, allowed, first, second):
    """By one thread. The first word is written last, so that who sees it sees the others."""
    st(findings_ptr + 1, seen, scope="sys")
    st(findings_ptr + 2, allowed, scope="sys")
    st(findings_ptr + 3, first, scope="sys")
    st(findings_ptr + 4, second, scope="sys")
    st(findings_ptr, what, scope="sys", semantic="release")


@tandem.jit
def is_first_of_call(told_ptr, call):
    """True in one of the threads that ask in a call, which are numbered from 1. `told_ptr`: the last call in which one asked."""
    return tl.atomic_max(told_ptr, call, sem="relaxed") < call


@tandem.jit
def tell_of_program(findings_ptr, what, seen, allowed):
    """The same, by the first program alone."""
    if (tl.program_id(0) == 0) & (tid(0) == 0):
        tell(findings_ptr, what, seen, allowed, 0, 0)
