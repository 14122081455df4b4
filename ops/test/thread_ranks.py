"""PyTorch's side of operators without GPUs: operators that stand in for a GPU's, a rank that notes what they are told, and threads as ranks
that exchange tensors."""

import threading

import torch

from tandem.torch import world as worlds
from tandem.torch.operators import Operators


class StandIn(Operators):
    """Operators whose calls go to `run`, each with all that it is told."""

    def __init__(self):
        self._known = {}

    def ready(self, *call):
        return call

    def queue(self, call, addresses):
        name, sizes, dtype, transposed, *rest = call
        self.run(name, sizes, dtype, transposed, addresses, *rest)


class World(StandIn):
    device = torch.device("cpu")

    def __init__(self, rank=1, size=2):
        super().__init__()
        self.rank, self.size, self.operators, self.told = rank, size, self, []

    def run(self, name, sizes, dtype, transposed, addresses, numbers, out_dtype, options=()):
        self.told.append((name, sizes, numbers, dict(options), [bool(a) for a in addresses]))


class ThreadRanks:
    """`run(main)` calls main(rank) in a thread for each rank; there `exchanged(x)` gives what all ranks gave, in their order."""

    def __init__(self, size):
        self.size, self.meeting, self.given = size, threading.Barrier(size, timeout=60), [None] * size

    @property
    def rank(self):
        return worlds.current().rank

    def exchanged(self, x):
        self.given[self.rank] = x
        self.meeting.wait()
        all_given = list(self.given)
        self.meeting.wait()
        return all_given

    def run(self, main):
        found = [None] * self.size

        def of_rank(rank):
            worlds._of_thread.world = World(rank, self.size)
            try:
                found[rank] = main(rank)
            except BaseException as error:
                found[rank] = error
                self.meeting.abort()

        threads = [threading.Thread(target=of_rank, args=(rank,)) for rank in range(self.size)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        errors = [x for x in found if isinstance(x, BaseException)]
        for error in sorted(errors, key=lambda e: isinstance(e, threading.BrokenBarrierError)):
            raise error
        return found
