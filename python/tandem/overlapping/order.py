"""What a launch's programs do with chunks that travel, and the order in which they begin, where their own would hold chunks up."""

import math

import numpy as np

COUNTS = 2  # words behind those of the chunks: operations of products, programs that fold tiles
# Of all programs: how far one may be from its place in the best order. Groups of rows that span chunks stay as the author has them.
LATE = 1 / 8


def order_of(noted, places, last):
    """For each program of a launch the number of the one that is to run as it, or None where they may stay as they are.
    `noted`: what a counting kernel writes for each program, the first chunk that it touches, and above 16 bits the one behind its last.
    `places`: when a chunk travels, by its number. Programs go by the chunk of theirs that travels first, or with `last` by the last one."""
    first, end = noted & 0xFFFF, noted >> 16
    when = np.full(noted.shape, -1)
    for nth in range(int((end - first).max(initial=0))):
        of = places[np.minimum(first + nth, len(places) - 1)]
        better = (of > when) if last else (of < when) | (when < 0)
        when = np.where((first + nth < end) & better, of, when)
    order = np.argsort(when, kind="stable").astype(np.int32)
    return order if np.abs(order - np.arange(len(order))).max(initial=0) > LATE * len(order) else None


def noted_of(team, given, grid):
    """Memory for what a counting kernel writes for each program of a launch."""
    shape = grid(given) if callable(grid) else grid
    return team.local_from_array(np.zeros(math.prod(shape), np.int32))


class Launches:
    """What counting kernels have said of launches, each of which is counted once: numbers alone decide its signals. The order in which rows
    are read is that of the first launch with a grid; with other numbers another one may be better, but none is wrong."""

    def __init__(self, team, words):
        self.team, self.words = team, team.zeros(words + COUNTS, "int64", name="counted")
        self.known = {}

    @staticmethod
    def _key(end, given, grid):
        numbers = [] if end.is_consumer else [(name, repr(value)) for name, value in sorted(given.items()) if not hasattr(value, "shape")]
        return end, tuple(grid(given) if callable(grid) else grid), *numbers

    def knows(self, end, given, grid):
        return self._key(end, given, grid) in self.known

    def of(self, end, own, given, grid, places, last):
        """How many signals the launch adds to each word, and the argument that orders its programs, if one is needed."""
        key = self._key(end, given, grid)
        if key not in self.known:
            before, noted = self.words.numpy().tolist(), noted_of(self.team, given, grid)
            end.counting.run(grid=grid, program_order=noted, **own, **given)
            self.team.stream.signal_wait(self.words, 0, "ge")
            counts = [now - then for now, then in zip(self.words.numpy().tolist(), before)][:-COUNTS]
            order = order_of(np.array(noted), places, last)
            self.known[key] = counts, {} if order is None else {"program_order": self.team.local_from_array(order)}
        return self.known[key]
