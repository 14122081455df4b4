"""What a launch's programs do with chunks that travel, and the order in which they begin, where their own would hold chunks up."""

import math

import numpy as np

from ..gpu.session import is_capturing
from .launching import numbers_of, refuse_capture
from .plan import multiprocessors_of


class Spread(tuple):
    """The sizes of a grid with a program for each tile that a loop deals out to those of a launch."""

    def __new__(cls, tiles, launched):
        made = super().__new__(cls, (tiles, 1, 1))
        made.launched = launched
        return made


def is_spread(grid):
    return isinstance(grid, Spread)


def launched(grid):
    """The sizes of the author's grid."""
    return grid.launched if is_spread(grid) else grid


class Tiles:
    """How many tiles a kernel's loop deals out. `counting`: the kernel that says it, 0 if there is no such loop."""

    def __init__(self, counting):
        self.counting, self.known = counting, {}

    def spread(self, team, given, grid):
        """The grid of the kernel without that loop. A launch that a graph capture is the first to make is as it is."""
        key = team, grid, numbers_of(given)
        if key not in self.known:
            if team._session.is_gpu and is_capturing():
                return grid
            count = team.local_from_array(np.zeros(1, np.int64))
            self.counting.run(grid=grid, spread_count=count, **given)
            tiles = int(np.array(count)[0])
            self.known[key] = Spread(tiles, grid) if tiles else grid
        return self.known[key]


# Of all programs: how far one may be from its place in the best order. Groups of rows that span chunks stay as the author has them.
LATE = 1 / 8
GROUP = 8  # rows of tiles in a group, as tutorials have it


def noted_of(team, grid):
    """Memory for what a counting kernel writes for each program of a launch: the first element that it touches, and the last one."""
    return team.local_from_array(np.full((math.prod(grid), 2), [0, -1], np.int64))


def chunks_of(noted, chunk, chunks):
    """Of each program the first chunk that it touches, and the one behind its last."""
    first, last = np.array(noted).reshape(-1, 2).T
    return np.maximum(first, 0) // chunk, np.clip(last // chunk + 1, 0, chunks)


def order_of(first, end, places, last, late=LATE, tiles=None, at_once=1):
    """For each program of a launch the number of the one that is to run as it, or None where they may stay as they are.
    `first`, `end`: of each program the first chunk that it touches, and the one behind its last. `places`: when a chunk travels, by its
    number. Programs go by the chunk of theirs that travels first, or with `last` by the last one. `late`: how far from its place one may
    stay. `tiles`: the programs' rows and columns in the matrix; those of one chunk are in the order of their numbers, or in groups of
    rows, whichever lets programs that run `at_once` have more operands in common."""
    when = np.full(first.shape, -1)
    for nth in range(int((end - first).max(initial=0))):
        of = places[np.minimum(first + nth, len(places) - 1)]
        better = (of > when) if last else (of < when) | (when < 0)
        when = np.where((first + nth < end) & better, of, when)
    order = np.argsort(when, kind="stable").astype(np.int32)
    if np.abs(order - np.arange(len(order))).max(initial=0) <= late * len(order):
        return None
    if tiles is None:
        return order
    rows, columns = tiles
    by_groups = np.lexsort((rows, columns, groups_of(rows, when), when)).astype(np.int32)
    return min(order, by_groups, key=lambda of: operands(rows[of], columns[of], at_once))


def groups_of(rows, when):
    """For each program the number of its group: of the rows of the programs that have the same `when`, GROUP or fewer, equally many."""
    groups = np.zeros(len(rows), np.int64)
    for of in np.unique(when):
        those = when == of
        different, nth = np.unique(rows[those], return_inverse=True)
        count = -(-len(different) // GROUP)
        groups[those] = nth * count // len(different)
    return groups


def operands(rows, columns, at_once):
    """How many rows and columns of tiles are read, if programs have in common what those read that run at once."""
    runs = range(0, len(rows), at_once)
    return sum(len(np.unique(of[first : first + at_once])) for of in (rows, columns) for first in runs)


class Launches:
    """What counting kernels have said of launches, each of which is counted once: numbers alone decide its signals. The order in which rows
    are read is that of the first launch with a grid; with other numbers another one may be better, but none is wrong."""

    def __init__(self, team, words):
        self.team, self.words = team, team.zeros(words + 1, "int64", name="counted")  # and the products' operations
        self.at_once = multiprocessors_of(team)
        self.known = {}
        self.adds = None  # how the launch that was last asked for adds in its stores (Sums)

    @staticmethod
    def _key(end, given, grid):
        return end, grid, () if end.is_consumer else numbers_of(given)

    def knows(self, end, given, grid):
        return self._key(end, given, grid) in self.known

    def of(self, end, own, given, grid, row, places, last, sums=None):
        """How many signals the launch adds to each word, and the argument that orders its programs, if one is needed. `row`: the
        elements of a row. `sums`: the producer may add in its stores to this rank's rows [then collective, of a launch that is new]."""
        key = self._key(end, given, grid)
        if key not in self.known:
            refuse_capture(self.team, end.kernel)
            before, noted = self.words.numpy().tolist(), noted_of(self.team, grid)
            counting = sums.marking(end) if sums else end.counting("leaving", grid).run
            counting(grid=grid, program_order=noted, **own, **given)
            self.team.stream.signal_wait(self.words, 0, "ge")
            counts = [now - then for now, then in zip(self.words.numpy().tolist(), before)][:-1]
            first, behind = chunks_of(noted, own["leaving_chunk"], own["leaving_chunks"])
            adds = sums.agreed(end, own, given, grid, np.array(noted)) if sums else None
            tiles = None if end.is_consumer else np.divmod(np.array(noted)[:, 0], max(row, 1))
            order = order_of(first, behind, places, last, 0 if adds else LATE, tiles, self.at_once)
            self.known[key] = counts, {} if order is None else {"program_order": self.team.local_from_array(order)}, adds
        *found, self.adds = self.known[key]
        return found
