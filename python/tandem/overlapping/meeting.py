"""A kernel of which the programs of all ranks meet, and load from the peers' matrices what lies there."""

import numpy as np

BLOCK = 4096  # elements that a program takes at a time
MOST_PROGRAMS = 128  # that wait for one another: all of them are resident


def blocks(elements):
    """Programs that take so many elements at once, and the elements of each."""
    block = min(BLOCK, 1 << (max(elements, 1) - 1).bit_length())
    return -(-elements // block), block


class Meeting:
    """The words of such a kernel for one matrix, which have the number of the call, that the device counts."""

    def __init__(self, team, matrix, shares):
        self.matrix, self.shares = matrix, shares
        self.share = shares.share * shares.row_elements
        programs, self.block = blocks(self.share)
        self.programs = min(programs, MOST_PROGRAMS)
        self.filled, self.read = (team.zeros(team.size * self.programs, "int64", name=name) for name in ("filled", "read"))
        self.epoch, self.ended = (team.local_from_array(np.zeros(1, dtype)) for dtype in ("int64", "int32"))

    def launch(self, kernel, stream, **constants):
        """Queues the kernel."""
        words = self.filled, self.read, self.epoch, self.ended
        kernel[(self.programs,)](
            self.matrix, *words, self.matrix.numel(), self.share, BLOCK=self.block, num_warps=8, stream=stream, **constants
        )
