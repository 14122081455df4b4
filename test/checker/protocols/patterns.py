"""Protocols that are right, in any size: each function gives a Program. Their places do not overlap with those of another `base`."""

import random

from program import GPU, RELAXED, SYS, Kind, Operation, Program


class Writer:
    """Collects the operations of each program; places are counted from `base` on."""

    def __init__(self, ranks, programs, base):
        self.threads = [[[] for _ in range(programs)] for _ in range(ranks)]
        self.base = base

    def add(self, rank, program, kind, role, **fields):
        for name in ("index", "source", "signal"):
            if name in fields and not (name == "source" and kind == Kind.TICKET):
                fields[name] += self.base
        self.threads[rank][program].append(Operation(kind, role, **fields))

    def next_kernel(self, rank, size, round_):
        """Behind a round that is not the last, where the rounds are kernels of their own."""
        for program in range(len(self.threads[rank])):
            if size.apart and round_ < size.rounds:
                self.add(rank, program, Kind.NEXT_KERNEL, "kernel")

    def program(self, name):
        return Program(name, tuple(tuple(tuple(t) for t in rank) for rank in self.threads))


class Size:
    def __init__(self, ranks, programs, rounds, rng):
        self.ranks, self.programs, self.rounds, self.rng = ranks, programs, rounds, rng
        self.apart = rng.random() < 0.3  # each round is a kernel of its own


def ring(size, base):
    """Each rank stores into its right neighbour's slot of the round, as many as there are; a slot is used again when its reader says so."""
    slots = size.rng.randint(1, 2)
    w = Writer(size.ranks, 1, base)
    full, free = slots * 2, slots * 3  # signals, by slot
    adds = size.rng.random() < 0.5
    for r in range(size.ranks):
        right, left = (r + 1) % size.ranks, (r - 1) % size.ranks
        for i in range(size.rounds):
            slot, turn = i % slots, i // slots + 1
            if turn > 1:
                w.add(r, 0, Kind.WAIT, "credit", index=free + slot, value=turn - 1)
            w.add(r, 0, Kind.STORE, "send", peer=right, index=slot, value=i + 1)
            w.add(r, 0, Kind.NOTIFY, "tell", peer=right, index=full + slot, value=1 if adds else turn, adds=adds)
            w.add(r, 0, Kind.WAIT, "receive", index=full + slot, value=turn)
            w.add(r, 0, Kind.LOAD, "read", peer=r, index=slot)
            w.add(r, 0, Kind.NOTIFY, "free", peer=left, index=free + slot, value=1 if adds else turn, adds=adds)
            w.next_kernel(r, size, i + 1)
        for slot in range(min(slots, size.rounds)):  # the last credits are taken, too
            w.add(r, 0, Kind.WAIT, "drain", index=free + slot, value=(size.rounds - slot + slots - 1) // slots)
    return w.program(f"ring of {slots} slots")


def epochs(size, base):
    """Each rank stores a block into every other and tells it the epoch;
    blocks of two epochs lie apart, as one holds back the next but one."""
    w = Writer(size.ranks, 1, base)
    for r in range(size.ranks):
        peers = [p for p in range(size.ranks) if p != r]
        for e in range(1, size.rounds + 1):
            half = e % 2 * size.ranks
            for p in peers:
                w.add(r, 0, Kind.STORE, "send", peer=p, index=half + r, value=e)
                w.add(r, 0, Kind.NOTIFY, "tell", peer=p, index=r, value=e)
            for p in peers:
                w.add(r, 0, Kind.WAIT, "receive", index=p, value=e)
            for p in peers:
                w.add(r, 0, Kind.LOAD, "read", peer=r, index=half + p)
            w.next_kernel(r, size, e)
    return w.program("epochs")


def arrivals(size, base):
    """Every program of every rank stores its block on rank 0 and adds to one counter; rank 0 waits for a round's and lets them go on."""
    w = Writer(size.ranks, size.programs, base)
    everyone = [(r, p) for r in range(size.ranks) for p in range(size.programs)]
    for i in range(size.rounds):
        for r, p in everyone:
            if i:
                w.add(r, p, Kind.WAIT, "go", index=1 + p, value=i)
            w.add(r, p, Kind.STORE, "send", peer=0, index=r * size.programs + p, value=i + 1)
            w.add(r, p, Kind.NOTIFY, "arrive", peer=0, index=0, value=1, adds=True)
        w.add(0, 0, Kind.WAIT, "all", index=0, value=(i + 1) * len(everyone))
        for r, p in everyone:
            w.add(0, 0, Kind.LOAD, "read", peer=0, index=r * size.programs + p)
        if i + 1 < size.rounds:
            for r, p in everyone:
                w.add(0, 0, Kind.NOTIFY, "release", peer=r, index=1 + p, value=i + 1)
        for r in range(size.ranks):
            w.next_kernel(r, size, i + 1)
    return w.program("arrivals")


def tree(size, base):
    """Blocks go up a binary tree of ranks and one comes down again."""
    w = Writer(size.ranks, 1, base)
    up, down = 0, 1
    for r in range(size.ranks):
        children = [c for c in (2 * r + 1, 2 * r + 2) if c < size.ranks]
        parent = (r - 1) // 2
        for i in range(1, size.rounds + 1):
            if children:
                w.add(r, 0, Kind.WAIT, "gather", index=up, value=i * len(children))
                for c in children:
                    w.add(r, 0, Kind.LOAD, "read", peer=r, index=1 + (c - 1) % 2)
            if r:
                w.add(r, 0, Kind.STORE, "up", peer=parent, index=1 + (r - 1) % 2, value=i)
                w.add(r, 0, Kind.NOTIFY, "tell up", peer=parent, index=up, value=1, adds=True)
                w.add(r, 0, Kind.WAIT, "result", index=down, value=i)
                w.add(r, 0, Kind.LOAD, "read result", peer=r, index=0)
            for c in children:
                w.add(r, 0, Kind.STORE, "down", peer=c, index=0, value=i)
                w.add(r, 0, Kind.NOTIFY, "tell down", peer=c, index=down, value=i)
            w.next_kernel(r, size, i)
    return w.program("tree")


def words(size, base):
    """Data and flag are one strong word (LL, Lamport): relaxed, each epoch greater than the last; nothing else is ordered by it."""
    w = Writer(size.ranks, 1, base)
    by_thread = size.rng.random() < 0.5
    for r in range(size.ranks):
        for e in range(1, size.rounds + 1):
            for p in range(size.ranks):
                w.add(r, 0, Kind.SET_THREAD if by_thread else Kind.SET, "send", peer=p, index=r, value=e, order=RELAXED)
            for p in range(size.ranks):
                w.add(r, 0, Kind.POLL_THREAD if by_thread else Kind.POLL, "receive", peer=r, index=p, value=e, order=RELAXED)
            w.next_kernel(r, size, e)
    return w.program("words")


def flags_in_words(size, base):
    """Program 0 of each rank makes a block for the other programs of its rank and, by a word at `sys`, for the next rank."""
    w = Writer(size.ranks, size.programs, base)
    poll, put = (Kind.POLL_THREAD, Kind.SET_THREAD) if size.rng.random() < 0.5 else (Kind.POLL, Kind.SET)
    scope = GPU if poll == Kind.POLL_THREAD or size.ranks == 1 else SYS  # a poll that adds 0 is an update for the other ranks
    for r in range(size.ranks):
        left = (r - 1) % size.ranks
        for i in range(1, size.rounds + 1):
            w.add(r, 0, Kind.STORE, "make", peer=r, index=i, value=i)
            w.add(r, 0, put, "publish", peer=r, index=0, value=i)
            for p in range(1, size.programs):
                w.add(r, p, poll, "see", peer=r, index=0, value=i, scope=scope)
                w.add(r, p, Kind.LOAD, "read", peer=r, index=i)
            if size.ranks > 1:
                w.add(r, 0, poll, "see peer", peer=left, index=0, value=i)
                w.add(r, 0, Kind.LOAD, "read peer", peer=left, index=i)
            w.next_kernel(r, size, i)
    return w.program("flags in words")


def tickets(size, base):
    """The program that arrives last at a counter reads the stores of all."""
    w = Writer(size.ranks, size.programs, base)
    everyone = [(r, p) for r in range(size.ranks) for p in range(size.programs)]
    for r, p in everyone:
        w.add(r, p, Kind.STORE, "part", peer=0, index=r * size.programs + p, value=1)
        w.add(
            r,
            p,
            Kind.TICKET,
            "arrive",
            peer=0,
            index=0,
            value=len(everyone) - 1,
            source=len(everyone),
            scope=SYS if size.ranks > 1 else GPU,
        )
        for k in range(len(everyone)):
            w.add(r, p, Kind.LOAD, "read", peer=0, index=k)
    return w.program("tickets")


def locks(size, base):
    """Every program changes one block under a lock."""
    w = Writer(size.ranks, size.programs, base)
    scope = SYS if size.ranks > 1 else GPU
    for r in range(size.ranks):
        for p in range(size.programs):
            for i in range(size.rounds):
                w.add(r, p, Kind.LOCK, "take", peer=0, index=0, scope=scope)
                w.add(r, p, Kind.LOAD, "read", peer=0, index=0)
                w.add(r, p, Kind.STORE, "change", peer=0, index=0, value=r * size.programs + p)
                w.add(r, p, Kind.SET, "give back", peer=0, index=0, value=0, scope=scope)
                if size.apart and i + 1 < size.rounds:
                    w.add(r, p, Kind.NEXT_KERNEL, "kernel")
    return w.program("locks")


def puts(size, base):
    """Each rank puts blocks to its right neighbour and tells it in one of the ways that OpenSHMEM has."""
    way = size.rng.choice(["put_signal", "fence", "fence of the peer", "quiet", "quiet of the peer", "blocking"])
    w = Writer(size.ranks, 1, base)
    n = size.rng.randint(1, 2)  # blocks a round
    for r in range(size.ranks):
        right = (r + 1) % size.ranks
        for i in range(1, size.rounds + 1):
            for k in range(n):
                at = (i - 1) * n + k
                w.add(r, 0, Kind.STORE, "make", peer=r, index=2 * at, value=i)
                if way == "put_signal":
                    w.add(r, 0, Kind.PUT_SIGNAL, "put", peer=right, index=2 * at + 1, source=2 * at, signal=0, value=1, adds=True)
                else:
                    w.add(r, 0, Kind.PUT if way == "blocking" else Kind.PUT_NBI, "put", peer=right, index=2 * at + 1, source=2 * at)
            if way.startswith(("fence", "blocking")):
                w.add(r, 0, Kind.FENCE_PEER if way.endswith("peer") else Kind.FENCE, "order", peer=right)
            if way.startswith("quiet"):
                w.add(r, 0, Kind.QUIET_PEER if way.endswith("peer") else Kind.QUIET, "complete", peer=right)
            if way != "put_signal":
                w.add(r, 0, Kind.SIGNAL, "tell", peer=right, index=0, value=n, adds=True)
            w.add(r, 0, Kind.SIGNAL_WAIT, "receive", index=0, value=i * n)
            for k in range(n):
                w.add(r, 0, Kind.LOAD, "read", peer=r, index=2 * ((i - 1) * n + k) + 1)
            if way == "put_signal":
                w.add(r, 0, Kind.QUIET if size.apart else Kind.FENCE, "order")  # a round's signals come before those of the next
            w.next_kernel(r, size, i)
        w.add(r, 0, Kind.QUIET, "end")
    return w.program(f"puts told by {way}")


def reused_source(size, base):
    """One block is put again and again; it may be changed after quiet, and the destination after the reader's credit."""
    w = Writer(size.ranks, 1, base)
    for r in range(size.ranks):
        right, left = (r + 1) % size.ranks, (r - 1) % size.ranks
        for i in range(1, size.rounds + 1):
            w.add(r, 0, Kind.STORE, "make", peer=r, index=0, value=i)
            if i > 1:
                w.add(r, 0, Kind.WAIT, "credit", index=1, value=i - 1)
            w.add(r, 0, Kind.PUT_SIGNAL, "put", peer=right, index=1, source=0, signal=0, value=i)
            w.add(r, 0, Kind.SIGNAL_WAIT, "receive", index=0, value=i)
            w.add(r, 0, Kind.LOAD, "read", peer=r, index=1)
            w.add(r, 0, Kind.NOTIFY, "free", peer=left, index=1, value=i)
            w.add(r, 0, Kind.QUIET, "complete")
            w.next_kernel(r, size, i)
        w.add(r, 0, Kind.WAIT, "drain", index=1, value=size.rounds)
    return w.program("reused source")


def barriers(size, base):
    """Phases between barriers of the ranks: write to the right, read the left rank's writes."""
    w = Writer(size.ranks, 1, base)
    for r in range(size.ranks):
        right = (r + 1) % size.ranks
        for i in range(1, size.rounds + 1):
            w.add(r, 0, Kind.STORE, "send", peer=right, index=0, value=i)
            w.add(r, 0, Kind.BARRIER, "sent")
            w.add(r, 0, Kind.LOAD, "read", peer=r, index=0)
            w.add(r, 0, Kind.BARRIER, "read by all")
            w.next_kernel(r, size, i)
    return w.program("barriers")


def dissemination(size, base):
    """A barrier of flags: in step k each rank tells the one 2**k on, and waits for the one 2**k back."""
    w = Writer(size.ranks, 1, base)
    steps = max(1, (size.ranks - 1).bit_length())
    for r in range(size.ranks):
        for i in range(1, size.rounds + 1):
            for p in range(size.ranks):
                w.add(r, 0, Kind.STORE, "send", peer=p, index=(i % 2) * size.ranks + r, value=i)
            for k in range(steps):
                w.add(r, 0, Kind.NOTIFY, "tell", peer=(r + 2**k) % size.ranks, index=k, value=i)
                w.add(r, 0, Kind.WAIT, "hear", index=k, value=i)
            for p in range(size.ranks):
                w.add(r, 0, Kind.LOAD, "read", peer=r, index=(i % 2) * size.ranks + p)
            w.next_kernel(r, size, i)
    return w.program("dissemination")


def queue(size, base):
    """Program 0 of each rank fills slots of a queue on the next rank; its other programs each wait for their slots' flags."""
    w = Writer(size.ranks, max(2, size.programs), base)
    consumers = max(2, size.programs) - 1
    for r in range(size.ranks):
        to = (r + 1) % size.ranks
        for i in range(size.rounds * consumers):
            w.add(r, 0, Kind.STORE, "fill", peer=to, index=i, value=i + 1)
            w.add(r, 0, Kind.NOTIFY, "ready", peer=to, index=i, value=1)
            w.add(r, 1 + i % consumers, Kind.WAIT, "take", index=i, value=1, equal=True)
            w.add(r, 1 + i % consumers, Kind.LOAD, "use", peer=r, index=i)
    return w.program("queue")


def scatter(size, base):
    """Each rank puts a block to every other and completes or orders them in turn, peer by peer, or all at once; then it tells them."""
    way = size.rng.choice([Kind.FENCE, Kind.FENCE_PEER, Kind.QUIET, Kind.QUIET_PEER])
    w = Writer(size.ranks, 1, base)
    for r in range(size.ranks):
        peers = [p for p in range(size.ranks) if p != r]
        for i in range(size.rounds):
            mine, slot = 2 * i * size.ranks, (2 * i + 1) * size.ranks
            w.add(r, 0, Kind.STORE, "make", peer=r, index=mine, value=i + 1)
            for p in peers:
                w.add(r, 0, Kind.PUT_NBI, "put", peer=p, index=slot + r, source=mine)
            for p in peers if way in (Kind.FENCE_PEER, Kind.QUIET_PEER) else peers[:1]:
                w.add(r, 0, way, "order", peer=p)
            for p in peers:
                w.add(r, 0, Kind.SIGNAL, "tell", peer=p, index=r, value=1, adds=True)
            for p in peers:
                w.add(r, 0, Kind.SIGNAL_WAIT, "receive", index=p, value=i + 1)
                w.add(r, 0, Kind.LOAD, "read", peer=r, index=slot + p)
            w.next_kernel(r, size, i + 1)
        w.add(r, 0, Kind.QUIET, "end")
    return w.program(f"scatter with {way.name.lower()}")


def messages(size, base):
    """Programs of rank 0 each send messages counted by one signal. The last rank has looked, without an order, at a flag that comes later
    still, before it waits for some of them and reads."""
    w = Writer(size.ranks, size.programs, base)
    to, adds = size.ranks - 1, size.programs > 1 or size.rng.random() < 0.5
    total = size.programs * size.rounds
    for p in range(size.programs):
        for i in range(size.rounds):
            w.add(0, p, Kind.STORE, "send", peer=to, index=p * size.rounds + i, value=i + 1)
            w.add(0, p, Kind.NOTIFY, "tell", peer=to, index=0, value=1 if adds else i + 1, adds=adds)
        w.add(0, p, Kind.NOTIFY, "last", peer=to, index=1, value=1, adds=True)
    w.add(to, 0, Kind.WAIT, "late", index=1, value=size.programs, order=RELAXED)
    part = total // 2 + 1 if size.programs == 1 else total  # of the messages of one program it reads some before it waits for the rest
    w.add(to, 0, Kind.WAIT, "receive", index=0, value=part)
    for k in range(part):
        w.add(to, 0, Kind.LOAD, "read", peer=to, index=k)
    w.add(to, 0, Kind.WAIT, "rest", index=0, value=total)
    return w.program("messages")


def central_barrier(size, base):
    """The program that comes last to a counter tells all the others by a word; blocks of two rounds lie apart."""
    w = Writer(size.ranks, size.programs, base)
    everyone = [(r, p) for r in range(size.ranks) for p in range(size.programs)]
    scope = SYS if size.ranks > 1 else GPU
    poll = size.rng.choice([Kind.POLL, Kind.POLL_THREAD])
    for me, (r, p) in enumerate(everyone):
        neighbour = (me + 1) % len(everyone)
        for i in range(1, size.rounds + 1):
            half = i % 2 * len(everyone)
            w.add(r, p, Kind.STORE, "part", peer=r, index=half + me, value=i)
            w.add(r, p, Kind.TICKET, "arrive", peer=0, index=0, value=i * len(everyone) - 1, source=1, scope=scope)
            w.add(r, p, Kind.SET, "let go", peer=0, index=1, value=i, scope=scope)
            w.add(r, p, poll, "go", peer=0, index=1, value=i, scope=scope)
            w.add(r, p, Kind.LOAD, "read", peer=everyone[neighbour][0], index=half + neighbour)
            if size.apart and i < size.rounds:
                w.add(r, p, Kind.NEXT_KERNEL, "kernel")
    return w.program("central barrier")


def fifo(size, base):
    """Program p of each rank sends through a queue of two slots to program p of the next rank: head and tail are words."""
    w = Writer(size.ranks, size.programs, base)
    put, poll = size.rng.choice([(Kind.SET, Kind.POLL), (Kind.SET_THREAD, Kind.POLL_THREAD)])
    for r in range(size.ranks):
        right, left = (r + 1) % size.ranks, (r - 1) % size.ranks
        for p in range(size.programs):
            head, tail, slots = 2 * p, 2 * p + 1, 2 * size.programs + 2 * p
            for i in range(size.rounds):
                if i >= 2:
                    w.add(r, p, poll, "room", peer=r, index=tail, value=i - 1)
                w.add(r, p, Kind.STORE, "send", peer=right, index=slots + i % 2, value=i)
                w.add(r, p, put, "sent", peer=right, index=head, value=i + 1)
                w.add(r, p, poll, "receive", peer=r, index=head, value=i + 1)
                w.add(r, p, Kind.LOAD, "read", peer=r, index=slots + i % 2)
                w.add(r, p, put, "taken", peer=left, index=tail, value=i + 1)
                if size.apart and i + 1 < size.rounds:
                    w.add(r, p, Kind.NEXT_KERNEL, "kernel")
    return w.program("queues of two slots")


def two_shots(size, base):
    """An AllReduce: every rank sends each other its part, sums its own, and sends the sum to all."""
    w = Writer(size.ranks, size.programs, base)
    for r in range(size.ranks):
        peers = [(r + k) % size.ranks for k in range(1, size.ranks)]
        for p in range(size.programs):
            signals, blocks = 2 * p * size.ranks, 2 * p * size.ranks
            for i in range(1, size.rounds + 1):
                half = i % 2 * 2 * size.programs * size.ranks
                for q in peers:
                    w.add(r, p, Kind.STORE, "part", peer=q, index=half + blocks + r, value=i)
                    w.add(r, p, Kind.NOTIFY, "part sent", peer=q, index=signals + r, value=i)
                for q in peers:
                    w.add(r, p, Kind.WAIT, "part come", index=signals + q, value=i)
                    w.add(r, p, Kind.LOAD, "add", peer=r, index=half + blocks + q)
                for q in peers:
                    w.add(r, p, Kind.STORE, "sum", peer=q, index=half + blocks + size.ranks + r, value=i)
                    w.add(r, p, Kind.NOTIFY, "sum sent", peer=q, index=signals + size.ranks + r, value=i)
                for q in peers:
                    w.add(r, p, Kind.WAIT, "sum come", index=signals + size.ranks + q, value=i)
                    w.add(r, p, Kind.LOAD, "take", peer=r, index=half + blocks + size.ranks + q)
    return w.program("two shots")


PATTERNS = (
    ring,
    epochs,
    arrivals,
    tree,
    words,
    flags_in_words,
    tickets,
    locks,
    puts,
    reused_source,
    barriers,
    dissemination,
    queue,
    scatter,
    messages,
    central_barrier,
    fifo,
    two_shots,
)


def after(first, second):
    """Each program does what it does in `first`, then what it does in `second`."""
    ranks = max(first.ranks, second.ranks)

    def operations(program, r, p):
        if r >= program.ranks:
            return ()
        if p < len(program.threads[r]):
            return program.threads[r][p]
        return tuple(o for o in program.threads[r][0] if o.kind == Kind.NEXT_KERNEL)

    counts = [max(len(x.threads[r]) if r < x.ranks else 0 for x in (first, second)) for r in range(ranks)]
    threads = tuple(tuple(operations(first, r, p) + operations(second, r, p) for p in range(counts[r])) for r in range(ranks))
    return Program(f"{first.name}, then {second.name}", threads)


def places(program):
    return 1 + max(max(o.index, o.signal, 0 if o.kind == Kind.TICKET else o.source) for rank in program.threads for t in rank for o in t)


def generate(choice, ranks, programs, rounds):
    """The program of a choice (a seed) in a size: the same patterns in every size."""
    rng = random.Random(choice)
    names = rng.sample(PATTERNS, 1 if rng.random() < 0.7 else 2)
    pieces, base = [], 0
    for pattern in names:
        pieces.append(pattern(Size(ranks, programs, rounds, random.Random(choice + 1)), base))
        base += places(pieces[-1])
    return pieces[0] if len(pieces) == 1 else after(*pieces)
