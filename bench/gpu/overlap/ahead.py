"""Times calls that the host has queued before the first of them begins: what is ahead of them keeps the stream busy meanwhile."""

import statistics

import numpy as np

import tandem
import tandem.language as tl

SAMPLES, IN_A_ROW = 7, 8
LOADS = 3000  # one behind the other, of the second cache: about 2 ms


@tandem.jit
def _spin(zeros_ptr, loads):
    place = tl.load(zeros_ptr, cache_modifier=".cv")
    for _ in range(loads):
        place = tl.load(zeros_ptr + place, cache_modifier=".cv")
    tl.store(zeros_ptr + 1, place)


class Timer:
    """Microseconds of a call on all ranks of the team: in a row of calls, and by itself, each the median of some samples."""

    def __init__(self, team):
        self._team, self._zeros = team, team.local_from_array(np.zeros(2, np.int32))

    def _between(self, queue):
        team = self._team
        team.synchronize()
        team.barrier()
        team.stream.barrier()
        _spin[(1,)](self._zeros, LOADS)
        begin = team.stream.record_time()
        queue()
        return team.stream.microseconds(begin, team.stream.record_time())

    def _median(self, queue):
        return statistics.median(self._between(queue) for _ in range(SAMPLES))

    def in_a_row(self, call):
        for _ in range(3):
            call()
        return round(self._median(lambda: [call() for _ in range(IN_A_ROW)]) / IN_A_ROW, 1)

    def single(self, call):
        return round(self._median(call), 1)
