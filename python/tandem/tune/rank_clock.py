"""Times work on a stream of a rank on a GPU, by events. It does not know what the work is."""

import numpy as np


class RankClock:
    """Holds a stream until the host has queued all that is timed: the host's own time is not measured."""

    def __init__(self, team, stream):
        self.team, self.stream = team, stream
        self._gate = team.local_from_array(np.zeros(1, np.uint64))
        self._aside = team.new_stream()
        self._held = 0

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure is None:
            self._gate.free()

    def microseconds(self, queue, calls=1, together=True, holds=True):
        """Returns the time of one of `calls` calls of `queue(stream)`. `together`: every rank of the team does the
        same, and they begin at one time. Without
        `holds` calls may wait for the stream."""
        self._held += 1
        if holds:
            self.stream.signal_wait(self._gate, self._held, compare="ge")
        if together:
            self.stream.barrier()
        try:
            begin = self.stream.record_time()
            for _ in range(calls):
                queue(self.stream)
            end = self.stream.record_time()
        finally:
            if holds:
                self._aside.signal_write(self._gate, self._held)
        return self.stream.microseconds(begin, end) / calls
