"""What keeps a stream busy while the host queues the calls that are timed behind it, so that none of them waits for the host."""

import numpy as np

import tandem
import tandem.language as tl

LOADS = 3000  # one behind the other, of the second cache: about 2 ms


@tandem.jit
def _spin(zeros_ptr, loads):
    place = tl.load(zeros_ptr, cache_modifier=".cv")
    for _ in range(loads):
        place = tl.load(zeros_ptr + place, cache_modifier=".cv")
    tl.store(zeros_ptr + 1, place)


def host_ahead(team):
    """A function that queues about two milliseconds of waiting on the team's stream."""
    zeros = team.local_from_array(np.zeros(2, np.int32))
    return lambda: _spin[(1,)](zeros, LOADS)
