"""Abstract programs of ranks: what the oracle explores and the kernel runs. An operation acts for one program of a grid as a whole.

Memory of a rank: `x`, blocks of plain data; `word`, strong words of 32 bits; `flag`, signals of 64 bits. A place is (rank, index)."""

import dataclasses
import enum


class Kind(enum.IntEnum):
    STORE = 0  # a block at `peer`
    LOAD = 1  # a block at `peer`
    NOTIFY = 2  # releases the program
    WAIT = 3  # dl.wait on an own signal
    SIGNAL = 4  # signal_op: orders nothing before it
    SIGNAL_WAIT = 5  # signal_wait_until, which acquires at `sys`
    PUT = 6  # own block `source` to `peer`'s block `index`; the source may be reused at once
    PUT_NBI = 7  # the same, completed by quiet only
    PUT_SIGNAL = 8  # non-blocking, with a signal of its own
    FENCE = 9
    QUIET = 10
    SET = 11  # a strong word of `peer`, by the whole program
    SET_THREAD = 12  # the same by one thread behind `__syncthreads()`
    POLL = 13  # by the old value of an atomic that adds 0
    POLL_THREAD = 14  # by the loads of one thread, then `__syncthreads()`
    TICKET = 15  # adds 1 to a word of `peer`; who does not get `value` skips the next `source` operations
    LOCK = 16  # compare-and-swap from 0 to 1 until it succeeds
    BARRIER = 17  # barrier_all, by program 0 of each rank
    FENCE_PEER = 18  # fence_pe
    QUIET_PEER = 19  # quiet_pe
    NEXT_KERNEL = 20  # the rest is another kernel, on the same stream: all programs of a rank have as many of these


SYS, GPU = 0, 1
RELAXED, ORDERED = 0, 1  # ORDERED: acquire of what reads, release of what writes, both of what does both


@dataclasses.dataclass(frozen=True)
class Operation:
    kind: Kind
    role: str  # operations that one line of a protocol would be
    peer: int = 0
    index: int = 0  # of the block, word or signal
    value: int = 0
    source: int = 0
    signal: int = 0  # of PUT_SIGNAL
    adds: bool = False  # NOTIFY, SIGNAL, PUT_SIGNAL: not `set`
    order: int = ORDERED
    scope: int = SYS
    equal: bool = False  # waits: `eq`, not `ge`

    def __str__(self):
        shown = [
            f"{f.name}={getattr(self, f.name)}"
            for f in dataclasses.fields(self)
            if f.name not in ("kind", "role") and getattr(self, f.name) != f.default
        ]
        return f"{self.kind.name.lower()}({', '.join(shown)})  # {self.role}"


@dataclasses.dataclass(frozen=True)
class Program:
    """`threads[rank][program]`: the operations of each program of a rank's grid."""

    name: str
    threads: tuple

    @property
    def ranks(self):
        return len(self.threads)

    def roles(self):
        return sorted({o.role for rank in self.threads for thread in rank for o in thread})

    def changed(self, name, change):
        """`change(rank, program, operations)` gives the new operations of each program."""
        return Program(
            name, tuple(tuple(tuple(change(r, p, list(thread))) for p, thread in enumerate(rank)) for r, rank in enumerate(self.threads))
        )

    def __str__(self):
        lines = [self.name]
        for r, rank in enumerate(self.threads):
            for p, thread in enumerate(rank):
                lines += [f"rank {r}, program {p}:", *(f"    {o}" for o in thread)]
        return "\n".join(lines)
