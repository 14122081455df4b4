"""The end of a call, and of work that several programs share."""

import tandem
import tandem.language as tl


@tandem.jit
def is_last(count_ptr, COUNT: tl.constexpr):
    """True in the last of COUNT programs that get here. It sees what the others did before; it has to put the count back to 0."""
    return tl.atomic_add(count_ptr, 1, sem="acq_rel", scope="gpu") == COUNT - 1
