"""One change of a program: something is taken away, weakened or moved. Which one is named by role, so that it is the same in every size."""

import dataclasses

from program import GPU, RELAXED, SYS, Kind

WAITS = (Kind.WAIT, Kind.SIGNAL_WAIT, Kind.POLL, Kind.POLL_THREAD)
ORDERS = (Kind.WAIT, Kind.POLL, Kind.POLL_THREAD, Kind.SET, Kind.SET_THREAD, Kind.TICKET, Kind.LOCK)
SCOPED = (Kind.NOTIFY, *ORDERS)
REMOVED = (*WAITS, Kind.NOTIFY, Kind.SIGNAL, Kind.FENCE, Kind.FENCE_PEER, Kind.QUIET, Kind.QUIET_PEER, Kind.BARRIER, Kind.LOCK)
MOVED = (Kind.NOTIFY, Kind.SIGNAL, Kind.SET, Kind.SET_THREAD, Kind.LOAD)


def _removed(o):
    return () if o.kind in REMOVED else None


def _relaxed(o):
    return (dataclasses.replace(o, order=RELAXED),) if o.kind in ORDERS and o.order != RELAXED else None


def _narrow(o):
    return (dataclasses.replace(o, scope=GPU),) if o.kind in SCOPED and o.scope == SYS else None


def _fewer(o):
    return (dataclasses.replace(o, value=o.value - 1),) if o.kind in WAITS and o.value > 1 else None


def _half(o):
    return (dataclasses.replace(o, value=o.value // 2),) if o.kind in WAITS and o.value > 2 else None


def _more(o):
    return (dataclasses.replace(o, value=o.value + 1),) if o.kind in WAITS else None


def _quiet_becomes_fence(o):
    weaker = {Kind.QUIET: Kind.FENCE, Kind.QUIET_PEER: Kind.FENCE_PEER}
    return (dataclasses.replace(o, kind=weaker[o.kind]),) if o.kind in weaker else None


def _other_peer(o):
    return (dataclasses.replace(o, peer=(o.peer + 1) % 2),) if o.kind in (Kind.FENCE_PEER, Kind.QUIET_PEER) else None


def _unordered(o):
    """A signal in place of a notify."""
    return (dataclasses.replace(o, kind=Kind.SIGNAL, scope=SYS),) if o.kind == Kind.NOTIFY else None


def _sets(o):
    return (dataclasses.replace(o, adds=False),) if o.kind in (Kind.NOTIFY, Kind.SIGNAL, Kind.PUT_SIGNAL) and o.adds else None


def _put_apart(o):
    """The signal of a put sent by itself."""
    if o.kind != Kind.PUT_SIGNAL:
        return None
    return (
        dataclasses.replace(o, kind=Kind.PUT_NBI, signal=0, value=0, adds=False),
        dataclasses.replace(o, kind=Kind.SIGNAL, index=o.signal, source=0, signal=0),
    )


def _not_blocking(o):
    return (dataclasses.replace(o, kind=Kind.PUT_NBI),) if o.kind == Kind.PUT else None


CHANGES = {
    "removed": _removed,
    "relaxed": _relaxed,
    "narrowed": _narrow,
    "one fewer": _fewer,
    "half": _half,
    "one more": _more,
    "made a fence": _quiet_becomes_fence,
    "of another peer": _other_peer,
    "unordered": _unordered,
    "set, not added": _sets,
    "put apart": _put_apart,
    "not blocking": _not_blocking,
}
EARLIER = "earlier"  # the operation changes places with the one before it


def mutations(program):
    """(role, change) of all that can be changed."""
    found = set()
    for rank in program.threads:
        for thread in rank:
            for at, o in enumerate(thread):
                found |= {(o.role, name) for name, change in CHANGES.items() if change(o) is not None}
                if at and o.kind in MOVED and all(x.kind != Kind.TICKET for x in thread):
                    found.add((o.role, EARLIER))
    return sorted(found)


@dataclasses.dataclass(frozen=True)
class Mutation:
    role: str
    change: str
    extent: str  # one of EXTENTS

    def __str__(self):
        return f"{self.role} {self.change}, {self.extent}"


EXTENTS = ("everywhere", "in one program", "once")


def mutate(program, mutation):
    """Changes every operation of the role, those of the last program of the last rank that has it, or of those the last but one, if any."""
    holders = [
        (r, p) for r, rank in enumerate(program.threads) for p, thread in enumerate(rank) if any(o.role == mutation.role for o in thread)
    ]

    def changed(r, p, thread):
        if mutation.extent != "everywhere" and (r, p) != holders[-1]:
            return thread
        places = [at for at, o in enumerate(thread) if o.role == mutation.role]
        if mutation.extent == "once":
            places = places[-2:][:1]
        result = []
        for at, o in enumerate(thread):
            if at not in places:
                result.append(o)
            elif mutation.change == EARLIER:
                result.insert(max(len(result) - 1, 0), o)
            else:
                new = CHANGES[mutation.change](o)
                result += (o,) if new is None else new
        return result

    return program.changed(f"{program.name}; {mutation}", changed)
