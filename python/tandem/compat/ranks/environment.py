"""`RANK`, `WORLD_SIZE` and the like, which torchrun sets for processes, for ranks that are threads."""

import os

from .rank import is_rank, state


def local_size(ranks):
    """Ranks of a node: LOCAL_WORLD_SIZE of the run's own environment where it divides the ranks, so that several nodes can be played."""
    try:
        size = int(os.environ.get("LOCAL_WORLD_SIZE", ranks))
    except ValueError:
        return ranks
    return size if 0 < size <= ranks and ranks % size == 0 else ranks


_OF_RANK = {
    "RANK": lambda me: me.team.rank,
    "WORLD_SIZE": lambda me: me.team.size,
    "LOCAL_RANK": lambda me: me.local_rank,
    "LOCAL_WORLD_SIZE": lambda me: me.local_size,
    "GROUP_RANK": lambda me: me.team.rank // me.local_size,
    "NODE_RANK": lambda me: me.team.rank // me.local_size,
    "TORCHELASTIC_RUN_ID": lambda me: "simulated",
    "MASTER_ADDR": lambda me: "localhost",
    "MASTER_PORT": lambda me: 29500,
}


class _Environment(type(os.environ)):
    """The process's environment, in which each rank finds its own place. What a script sets counts for all ranks."""

    def __getitem__(self, name):
        return str(_OF_RANK[name](state())) if name in _OF_RANK and is_rank() else super().__getitem__(name)

    def __iter__(self):
        return iter({**dict.fromkeys(super().__iter__()), **dict.fromkeys(_OF_RANK if is_rank() else ())})


def install():
    os.environ.__class__ = _Environment
