"""Signals to all ranks."""

import tandem
import tandem.dist as dl
from tandem.simt import __syncthreads, st, tid


@tandem.jit
def tell_all(signal_ptr, value, ranks):
    """One signal a rank, this one included, each from a thread of its own; releases what the program did before."""
    __syncthreads()
    peer = tid(0)
    if peer < ranks:
        st(dl.symm_at(signal_ptr, peer), value, scope="sys", semantic="release")
