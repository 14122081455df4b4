"""What a launch's programs do with chunks that travel, and the order in which they begin, where their own would hold chunks up."""

import math

import numpy as np

from .launching import numbers_of, refuse_capture

# Of all programs: how far one may be from its place in the best order. Groups of rows that span chunks stay as the author has them.
LATE = 1 / 8


def order_of(noted, places, last, late=LATE):
    """For each program of a launch the number of the one that is to run as it, or None where they may stay as they are.
    `noted`: what a counting kernel writes for each program, the first chunk that it touches, and above 16 bits the one behind its last.
    `places`: when a chunk travels, by its number. Programs go by the chunk of theirs that travels first, or with `last` by the last one.
    `late`: how far from its place one may stay."""
    first, end = noted & 0xFFFF, noted >> 16
    when = np.full(noted.shape, -1)
    for nth in range(int((end - first).max(initial=0))):
        of = places[np.minimum(first + nth, len(places) - 1)]
        better = (of > when) if last else (of < when) | (when < 0)
        when = np.where((first + nth < end) & better, of, when)
    order = np.argsort(when, kind="stable").astype(np.int32)
    return order if np.abs(order - np.arange(len(order))).max(initial=0) > late * len(order) else None


def noted_of(team, grid):
    """Memory for what a counting kernel writes for each program of a launch."""
    return team.local_from_array(np.zeros(math.prod(grid), np.int32))


class Launches:
    """What counting kernels have said of launches, each of which is counted once: numbers alone decide its signals. The order in which rows
    are read is that of the first launch with a grid; with other numbers another one may be better, but none is wrong."""

    def __init__(self, team, words):
        self.team, self.words = team, team.zeros(words + 1, "int64", name="counted")  # and the products' operations
        self.known = {}
        self.adds = ""  # how the launch that was last asked for adds in its stores (Sums)

    @staticmethod
    def _key(end, given, grid):
        return end, grid, () if end.is_consumer else numbers_of(given)

    def knows(self, end, given, grid):
        return self._key(end, given, grid) in self.known

    def of(self, end, own, given, grid, places, last, sums=None):
        """How many signals the launch adds to each word, and the argument that orders its programs, if one is needed. `sums`: the producer
        may add in its stores to this rank's rows (Sums) [then collective, of a launch that is new]."""
        key = self._key(end, given, grid)
        if key not in self.known:
            refuse_capture(self.team, end.kernel)
            before, noted = self.words.numpy().tolist(), noted_of(self.team, grid)
            counting = sums.marking(end) if sums else end.counting.run
            counting(grid=grid, program_order=noted, **own, **given)
            self.team.stream.signal_wait(self.words, 0, "ge")
            counts = [now - then for now, then in zip(self.words.numpy().tolist(), before)][:-1]
            adds = sums.agreed(end, own, given, grid, np.array(noted)) if sums else ""
            order = order_of(np.array(noted), places, last, late=0 if adds else LATE)
            self.known[key] = counts, {} if order is None else {"program_order": self.team.local_from_array(order)}, adds
        *found, self.adds = self.known[key]
        return found
