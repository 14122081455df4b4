"""The oracle applies the memory model to an abstract program: every order of its synchronisation is tried, and every
update that a wait may see.

It shares no code with the checker. What an operation knows is a set of events, kept as the bits of an integer. A plain access changes
nothing that others see, so only synchronisation is tried in every order. A wait may see any update from the last one that it has to
know of on (M6), not only the newest."""

import collections
import dataclasses

from program import ORDERED, SYS, Kind

WAITS = (Kind.WAIT, Kind.SIGNAL_WAIT, Kind.POLL, Kind.POLL_THREAD)
UPDATES = (Kind.NOTIFY, Kind.SIGNAL, Kind.SET, Kind.SET_THREAD, Kind.TICKET, Kind.LOCK)
PUTS = (Kind.PUT, Kind.PUT_NBI, Kind.PUT_SIGNAL)
LIMIT = 3_000  # states
UNKNOWN = "unknown"  # there are more


@dataclasses.dataclass(frozen=True)
class Release:
    rank: int
    scope: int
    known: int
    thread: tuple | None = None  # of a release operation of one thread, which its later stores there continue


@dataclasses.dataclass(frozen=True)
class Update:
    """One value of a place, and what its reader acquires: its own release, those of the chain of `add`s that it continues, and those that
    its thread has made here before."""

    value: int
    event: int
    sets: bool
    releases: tuple


@dataclasses.dataclass(frozen=True)
class Thread:
    at: int = 0
    known: int = 0  # events
    fenced: tuple = ()  # (peer, events): what a signal without an order of its own carries to a peer
    views: tuple = ()  # (place, number of the update): what it can no longer see past
    puts: tuple = ()  # (peer, events, fenced): not completed by quiet
    owed: bool = False  # a non-blocking put that nothing has followed
    fences: tuple = ()  # (peer, how many)
    signals: tuple = ()  # of puts, on their way: (operation's index, known, views and fences to its peer at the call)
    late: tuple = ()  # of `signals`: those of programs that have ended
    waited: tuple = ()  # (place, number) of what its waits have read


class Wrong(Exception):
    """The first thing that is not right; its text is one of KINDS."""


KINDS = ("race", "deadlock", "misuse", "leftover", "unfinished")


class Oracle:
    """`verdict()`: None where no schedule is wrong, else one of KINDS, or UNKNOWN."""

    def __init__(self, program):
        self.program = program
        self.threads = [(r, operations) for r, rank in enumerate(program.threads) for operations in rank]
        self.first = [sum(4 * len(o) for _, o in self.threads[:k]) for k in range(len(self.threads))]
        self.everyone = range(program.ranks)
        self.writers = collections.defaultdict(set)
        for k, (rank, operations) in enumerate(self.threads):
            for o in operations:
                if o.kind in UPDATES:
                    self.writers[self._place(rank, o)].add(k)
                elif o.kind == Kind.PUT_SIGNAL:
                    self.writers["flag", o.peer, o.signal].add(k)
        self.leaders = [k for k, (r, _) in enumerate(self.threads) if k == 0 or self.threads[k - 1][0] != r]

    def verdict(self):
        return self._verdict(self._explore)

    def sampled(self, rng, paths):
        """What some random orders show: None says nothing."""
        return self._verdict(lambda: self._walk(rng, paths))

    @staticmethod
    def _verdict(search):
        try:
            return search()
        except Wrong as wrong:
            return str(wrong)

    def _start(self):
        return (tuple(Thread() for _ in self.threads), ()), {}

    def _explore(self):
        seen, todo = set(), [self._start()]
        while todo:
            state, accesses, steps = self._next_steps(*todo.pop())
            if state in seen:
                continue
            seen.add(state)
            if len(seen) > LIMIT:
                return UNKNOWN
            todo += [self._after(accesses, step) for step in steps]
        return None

    def _walk(self, rng, paths):
        for _ in range(paths):
            at = self._start()
            while at:
                _, accesses, steps = self._next_steps(*at)
                at = self._after(accesses, rng.choice(steps)) if steps else None
        return None

    def _next_steps(self, state, accesses):
        """The state once nothing but synchronisation is left to do, its accesses, its steps."""
        state, accesses = self._run_plain(state, dict(accesses))
        steps = self._steps(state)
        if not any(sure for _, sure, _ in steps):
            self._check_end(state)
        return state, accesses, steps

    def _after(self, accesses, step):
        after, _, access = step
        return after, self._strong(accesses, *access) if access else accesses

    # --- plain accesses ---

    def _bit(self, thread, at, part=0):
        return 1 << (self.first[thread] + 4 * at + part)

    def _access(self, accesses, place, bit, writes, known):
        for other, other_writes in accesses.get(place, ()):
            if (writes or other_writes) and not known & other:
                raise Wrong("race")
        accesses[place] = (*accesses.get(place, ()), (bit, writes))

    @staticmethod
    def _strong(accesses, place, bit, writes, known, rank, scope):
        """Strong accesses of one word race where a scope leaves the other's rank out (M14)."""
        for other, other_writes, other_rank, other_scope in accesses.get(place, ()):
            narrow = rank != other_rank and (scope != SYS or other_scope != SYS)
            if narrow and (writes or other_writes) and not known & other:
                raise Wrong("race")
        return {**accesses, place: (*accesses.get(place, ()), (bit, writes, rank, scope))}

    def _run_plain(self, state, accesses):
        threads, updates = state
        threads = list(threads)
        for k, (rank, operations) in enumerate(self.threads):
            t = threads[k]
            while t.at < len(operations):
                o = operations[t.at]
                bit = self._bit(k, t.at)
                if o.kind in (Kind.STORE, Kind.LOAD):
                    writes = o.kind == Kind.STORE
                    ordered = t.known | (self._fenced_puts(t, o.peer) if writes else 0)
                    self._access(accesses, ("x", o.peer, o.index), bit, writes, ordered)
                    t = dataclasses.replace(t, known=t.known | bit)
                elif o.kind in PUTS:
                    t = self._put(accesses, k, rank, t, o)
                elif o.kind in (Kind.FENCE, Kind.FENCE_PEER):
                    t = self._fence(t, self.everyone if o.kind == Kind.FENCE else (o.peer,))
                else:
                    break
                t = dataclasses.replace(t, at=t.at + 1)
            threads[k] = t
        return (tuple(threads), updates), accesses

    @staticmethod
    def _fence(t, peers):
        puts = tuple((peer, event, fenced or peer in peers) for peer, event, fenced in t.puts)
        fenced = {**dict(t.fenced), **dict.fromkeys(peers, t.known)}
        counts = dict(t.fences)
        fences = {**counts, **{peer: counts.get(peer, 0) + 1 for peer in peers}}
        return dataclasses.replace(t, fenced=tuple(sorted(fenced.items())), puts=puts, fences=tuple(sorted(fences.items())), owed=False)

    @staticmethod
    def _fenced_puts(t, peer):
        return sum(event for to, event, fenced in t.puts if fenced and to == peer)

    def _put(self, accesses, k, rank, t, o):
        read, write = self._bit(k, t.at, 1), self._bit(k, t.at, 2)
        self._access(accesses, ("x", rank, o.source), read, False, t.known)
        self._access(accesses, ("x", o.peer, o.index), write, True, t.known | self._fenced_puts(t, o.peer))
        known = t.known
        pending = write
        if o.kind == Kind.PUT:
            known |= read
        else:
            pending |= read
        signals = t.signals
        if o.kind == Kind.PUT_SIGNAL:
            signals += ((t.at, t.known | read | write, t.views, dict(t.fences).get(o.peer, 0)),)
        return dataclasses.replace(
            t, known=known, puts=(*t.puts, (o.peer, pending, False)), signals=signals, owed=t.owed or o.kind == Kind.PUT_NBI
        )

    # --- synchronisation ---

    def _steps(self, state):
        """Returns all steps that can happen next, or fewer where these are enough. An update of a place that nobody
        else updates comes at once: those who
        wait there may still see what was there before."""
        threads, updates = state
        for k, (rank, _) in enumerate(self.threads):
            o = self._next(k, threads[k])
            if o is not None and o.kind in UPDATES and o.kind != Kind.SIGNAL and self.writers[self._place(rank, o)] == {k}:
                return list(self._update(k, rank, threads[k], o, threads, updates))
        return list(self._all_steps(state))

    def _all_steps(self, state):
        """(state after, whether it can happen for sure: not only by seeing an old value, its strong access) of each."""
        threads, updates = state
        met = [k for k in self.leaders if self._next(k, threads[k]) is not None and self._next(k, threads[k]).kind == Kind.BARRIER]
        if len(met) == len(self.leaders):
            yield from self._meet(threads, updates)
        for k, (rank, _) in enumerate(self.threads):
            t = threads[k]
            yield from self._deliveries(k, rank, t, threads, updates)
            o = self._next(k, t)
            if o is None or o.kind == Kind.BARRIER:
                continue
            if o.kind == Kind.NEXT_KERNEL:
                if k in self.leaders:
                    yield from self._end_kernel(rank, threads, updates)
                continue
            if o.kind in (Kind.QUIET, Kind.QUIET_PEER):
                peers = self.everyone if o.kind == Kind.QUIET else (o.peer,)
                if all(self.threads[k][1][at].peer not in peers for at, *_ in t.signals):
                    yield self._with(threads, updates, k, dataclasses.replace(self._quiet(t, peers), at=t.at + 1)), True, None
            elif o.kind in WAITS:
                yield from self._wait(k, rank, t, o, threads, updates)
            else:
                yield from self._update(k, rank, t, o, threads, updates)

    def _quiet(self, t, peers):
        """All puts to these peers are complete; for signals to them it is a fence, too."""
        known = t.known | sum(event for peer, event, _ in t.puts if peer in peers)
        puts = tuple(put for put in t.puts if put[0] not in peers)
        return self._fence(dataclasses.replace(t, known=known, puts=puts), peers)

    def _next(self, k, t):
        operations = self.threads[k][1]
        return operations[t.at] if t.at < len(operations) else None

    def _kernel(self, k, t):
        return sum(o.kind == Kind.NEXT_KERNEL for o in self.threads[k][1][: t.at])

    @staticmethod
    def _with(threads, updates, k, t):
        return (*threads[:k], t, *threads[k + 1 :]), updates

    def _meet(self, threads, updates):
        if any(threads[k].signals for k in self.leaders):
            return
        known, views = 0, ()
        for k in self.leaders:
            t = threads[k]
            known |= self._quiet(t, self.everyone).known
            views = joined(views, t.views)
        changed = list(threads)
        for k in self.leaders:
            t = dataclasses.replace(self._quiet(changed[k], self.everyone), known=known, views=views)
            changed[k] = dataclasses.replace(self._fence(t, self.everyone), at=t.at + 1)
        yield (tuple(changed), updates), True, None

    def _end_kernel(self, rank, threads, updates):
        """All that its programs have done, but for their puts, comes before what the next kernel's do."""
        group = [k for k, (r, _) in enumerate(self.threads) if r == rank]
        if any((o := self._next(k, threads[k])) is None or o.kind != Kind.NEXT_KERNEL for k in group):
            return
        if any(threads[k].owed for k in group):
            raise Wrong("unfinished")
        known, views, changed = 0, (), list(threads)
        for k in group:
            known |= threads[k].known
            views = joined(views, threads[k].views)
        for k in group:
            t = threads[k]
            changed[k] = Thread(at=t.at + 1, known=known, views=views, late=t.late + t.signals, waited=t.waited)
        yield (tuple(changed), updates), True, None

    def _deliveries(self, k, rank, t, threads, updates):
        for signal in t.signals + t.late:
            at, known, views, fences = signal
            o = self.threads[k][1][at]
            if signal in t.signals and self._is_held(k, t, o.peer, fences):
                continue
            signals, late = (tuple(s for s in of if s is not signal) for of in (t.signals, t.late))
            changed = self._with(threads, updates, k, dataclasses.replace(t, signals=signals, late=late))[0]
            place = ("flag", o.peer, o.signal)
            bit = self._bit(k, at, 3)
            known |= self._signals_before_fence(k, at)
            yield (changed, self._updated(updates, place, o.value, o.adds, bit, Release(rank, SYS, known | bit), known, views)), True, None

    def _signals_before_fence(self, k, at):
        """Updates by earlier `put_signal`s to the same peer that a fence or quiet keeps before this one (M11)."""
        operations, events, unfenced = self.threads[k][1], 0, 0
        for number, o in enumerate(operations[:at]):
            if o.kind == Kind.PUT_SIGNAL and o.peer == operations[at].peer:
                unfenced |= self._bit(k, number, 3)
            elif o.kind in (Kind.FENCE, Kind.QUIET) or (o.kind in (Kind.FENCE_PEER, Kind.QUIET_PEER) and o.peer == operations[at].peer):
                events |= unfenced
        return events

    def _is_held(self, k, t, peer, fences):
        """Returns true if a fence holds a signal to `peer`, with this many before it, back behind one that is on its way there."""
        return any(count < fences and self.threads[k][1][at].peer == peer for at, _, _, count in t.signals)

    @staticmethod
    def _place(rank, o):
        if o.kind in (Kind.NOTIFY, Kind.SIGNAL):
            return ("flag", o.peer, o.index)
        if o.kind in (Kind.WAIT, Kind.SIGNAL_WAIT):
            return ("flag", rank, o.index)
        return ("word", o.peer, o.index)

    def _acquired(self, t, rank, o, update, place, number, reads):
        """The thread after it has read an update."""
        scope = SYS if o.kind == Kind.SIGNAL_WAIT else o.scope
        known, views = t.known, joined(t.views, ((place, number),))
        if reads == ORDERED:
            for release, released_views in update.releases:
                if release.rank == rank or (scope == SYS and release.scope == SYS):
                    known |= release.known
                    views = joined(views, released_views)
        return dataclasses.replace(t, known=known, views=views)

    def _wait(self, k, rank, t, o, threads, updates):
        place = self._place(rank, o)
        history = dict(updates).get(place, (Update(0, 0, True, ()),))
        from_ = max([dict(t.views).get(place, 0)] + [n for n, u in enumerate(history) if u.event & t.known])
        order = ORDERED if o.kind == Kind.SIGNAL_WAIT else o.order
        ends = lambda update: update.value == o.value if o.equal else update.value >= o.value
        bit, scope, tried = self._bit(k, t.at), SYS if o.kind == Kind.SIGNAL_WAIT else o.scope, []
        for number in range(from_, len(history)):
            after = self._acquired(t, rank, o, history[number], place, number, order)
            if not ends(history[number]) or any(brings_no_more(old, after, place) for old in tried):
                continue
            tried.append(after)
            after = dataclasses.replace(after, at=t.at + 1, known=after.known | bit, waited=joined(t.waited, ((place, number),)))
            access = (place, bit, o.kind == Kind.POLL, t.known, rank, scope)
            yield self._with(threads, updates, k, after), ends(history[-1]), access

    def _update(self, k, rank, t, o, threads, updates):
        place = self._place(rank, o)
        bit = self._bit(k, t.at)
        history = dict(updates).get(place, (Update(0, 0, True, ()),))
        newest = history[-1]
        value, adds = o.value, o.adds
        if o.kind == Kind.LOCK:
            if newest.value != 0:
                return
            value, adds = 1, False
        elif o.kind == Kind.TICKET:
            value, adds = 1, True
        reads = o.kind in (Kind.LOCK, Kind.TICKET)
        if o.kind == Kind.SIGNAL and self._is_held(k, t, o.peer, dict(t.fences).get(o.peer, 0)):
            return
        at = t.at + 1
        if reads:
            if o.kind == Kind.TICKET and newest.value != o.value:
                at += o.source
            t = self._acquired(t, rank, o, newest, place, len(history) - 1, o.order)
        carried = dict(t.fenced).get(o.peer, 0) | self._fenced_puts(t, o.peer)
        releases = o.kind == Kind.NOTIFY or (o.kind not in (Kind.SIGNAL, Kind.LOCK) and o.order == ORDERED)
        if releases:
            carried |= t.known
        if carried:  # by its own order or that of a fence: who acquires it comes after the update itself
            carried |= bit
        thread = (k, self._kernel(k, t)) if o.kind == Kind.SET_THREAD else None
        release = Release(rank, o.scope if o.kind != Kind.SIGNAL else SYS, carried, thread if releases else None)
        is_rmw = adds or reads or o.kind == Kind.SET  # an exchange continues the chain, too
        after = dataclasses.replace(t, at=at, known=t.known | bit, views=joined(t.views, ((place, len(history)),)))
        changed = self._with(threads, updates, k, after)[0]
        checks = place[0] == "flag"
        access = (place, bit, True, t.known, rank, release.scope)
        yield (changed, self._updated(updates, place, value, adds, bit, release, t.known, t.views, is_rmw, checks, thread)), True, access

    @staticmethod
    def _updated(updates, place, value, adds, bit, release, known, views, chained=None, checks=True, thread=None):
        history = dict(updates).get(place, (Update(0, 0, True, ()),))
        after = history[-1].value + value if adds else value
        if checks:
            seen = dict(views).get(place, 0)
            for number, u in enumerate(history[1:], 1):
                same = not adds and u.sets and u.value == after
                if (not adds or u.sets) and not same and not u.event & known and number > seen:
                    raise Wrong("misuse")
        chain = history[-1].releases if (adds if chained is None else chained) else ()
        own = (r for u in history for r in u.releases if thread is not None and r[0].thread == thread)
        update = Update(after, bit, not adds, (*dict.fromkeys((*chain, *own)), (release, views)))
        return tuple(sorted({**dict(updates), place: (*history, update)}.items()))

    # --- the end ---

    def _check_end(self, state):
        threads, updates = state
        if any(t.at < len(operations) for t, (_, operations) in zip(threads, self.threads)):
            raise Wrong("deadlock")
        if any(t.owed for t in threads):
            raise Wrong("unfinished")
        for place, history in updates:
            if place[0] == "flag" and history[-1].value and all(dict(t.waited).get(place) != len(history) - 1 for t in threads):
                raise Wrong("leftover")


def brings_no_more(old, new, place):
    """Returns true if a thread that has seen a newer update of `place` knows all that it would know after an old one."""
    views = dict(new.views)
    return not old.known & ~new.known and all(number <= views.get(p, 0) for p, number in old.views if p != place)


def joined(a, b):
    """The later of two views of each place."""
    if not b:
        return a
    views = dict(a)
    for place, number in b:
        views[place] = max(views.get(place, 0), number)
    return tuple(sorted(views.items()))
