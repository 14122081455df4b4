"""The arrays of the host among a launch's arguments."""

import numpy as np

from .. import _tandem
from .frames import host_place
from .layout import Memory


class HostArrays:
    """The host arrays of one launch on the device; those that overlap in memory share one place. A simulated rank uses them where they lie,
    except for those that are read-only; they, and all on GPUs, are copied there and back."""

    def __init__(self, kernel, team, stream):
        self.kernel, self.team, self.stream = kernel, team, stream
        self.arrays = []
        self.names = {}  # of the arguments, by address
        self.ranges = []  # [begin, end, device address, writable]
        self.unwritable = []  # (name, read-only host memory, what it would be now)

    def add(self, name, array):
        self.arrays.append(array)
        self.names.setdefault(array.begin, name)

    def plan(self):
        """Decides which arrays share a place; `offset` is known from here on. Places are in the arguments' order: addresses are other ones
        in each run."""
        firsts = []  # of each range, the first argument
        for at, array in sorted(enumerate(self.arrays), key=lambda a: (a[1].begin, -a[1].end)):
            last = self.ranges[-1] if self.ranges else None
            if last and array.begin < last[1]:
                last[1] = max(last[1], array.end)
                last[3] |= array.writable
                firsts[-1] = min(firsts[-1], at)
            else:
                self.ranges.append([array.begin, array.end, 0, array.writable])
                firsts.append(at)
        self.ranges = [r for _, r in sorted(zip(firsts, self.ranges))]

    def place(self):
        for r in self.ranges:
            if self._is_mapped(r):
                r[2] = self.team._call(_tandem.map_host, r[0], r[1] - r[0], "host array", *host_place())
                continue
            r[2] = self.team._call(_tandem.allocate, r[1] - r[0], 0, 0, "host array", *host_place())
            self.team._call(_tandem.copy_from_host, self.stream.index, r[2], r[0], r[1] - r[0])

    def _is_mapped(self, r):
        return r[3] and r[0] < r[1] and not self.team._session.is_gpu

    def _range(self, array):
        return next(r for r in self.ranges if r[0] <= array.begin < r[1] or r[0] == r[1] == array.begin)

    def offset(self, array):
        """Bytes from the start of its place."""
        return array.address - self._range(array)[0]

    def address(self, array):
        return self._range(array)[2] + self.offset(array)

    def give_back(self):
        """Ends the use of the places and copies back, in stream order; the team holds on to the host memory until it has synchronised."""
        for r in self.ranges:
            begin, end, device, writable = r
            if self._is_mapped(r):
                self.team._call(_tandem.release_async, self.stream.index, device)
                continue
            came_back = begin
            if not writable:
                copy = np.empty(end - begin, np.uint8)
                came_back = copy.ctypes.data
                self.unwritable.append((self.names[begin], _bytes_at(begin, end), copy))
            self.team._call(_tandem.copy_to_host, self.stream.index, came_back, device, end - begin)
            self.team._call(_tandem.release_async, self.stream.index, device)

    def finish(self, waits):
        """After `give_back`: waits for the stream, or has the team keep the host memory until it is idle."""
        if waits and self.ranges:
            self.stream.synchronize()
            self.check_unwritable()
        elif self.ranges:
            self.team.hold(self)

    def check_unwritable(self):
        for name, before, after in self.unwritable:
            if (before != after).any():
                raise ValueError(f"kernel `{self.kernel.__name__}` wrote to argument `{name}`, a host array that is read-only")


def _bytes_at(begin, end):
    return np.asarray(Memory(begin, (end - begin,), (1,), np.dtype(np.uint8), False, None))
