"""Rows of which the ranks have parts to add: reduce_scatter and all_reduce behind a producer."""

import contextlib
import typing

import numpy as np

from ..errors import CompileError
from ..ops import AllReduce
from .meeting import Meeting, blocks
from .order import is_spread
from .sums import add_parts, add_peers, count_others
from .telling import Telling

OF_ALL_REDUCE = ("float16", "bfloat16", "float32")


class Adds(typing.NamedTuple):
    """How a launch adds in its stores: the way (Sums), and of each rank the rows of which all programs do, [first, end)."""

    way: str
    rows: tuple


class Sums:
    """What a producer needs to add the peers' parts in its stores to this rank's rows. Of two ranks the part may come to these rows
    themselves, and stores are updates of it; else it is loaded from where parts lie."""

    def __init__(self, team, matrix, shares, parts, ready):
        self.team, self.matrix, self.shares, self.own = team, matrix, shares, shares.chunks_of(team.rank)
        updating = {"leaving_ready": ready, "leaving_bands": shares.bands}
        self.arguments = {"updating": updating} if team.size == 2 else {}
        self.arguments["summing"] = {"leaving_parts": parts, **updating}

    def marking(self, producer):
        """A function that counts a launch, and how often it stores each element."""
        self.marks = self.team.local_empty((self.matrix.numel(),), "int32")
        self.team.stream.memset(self.marks)
        return lambda grid, **given: producer.counting("marking", grid).run(grid=grid, leaving_parts=self.marks, **given)

    def agreed(self, *launch):
        """How all ranks add, or nothing [collective]: who sends must know where to."""
        ways, rows = zip(*self.team.gather(self._possible(*launch)))
        return Adds(ways[0], tuple(map(tuple, rows))) if ways[0] and all(way == ways[0] for way in ways) else None

    def _possible(self, producer, own, given, grid, noted):
        """The first way that is possible, and for which rows: each of this rank's elements must be stored once, and most of them by
        programs that store to no other rank's rows: those would wait for parts that come behind what they have not sent. What kernels
        cannot add is an error of their compilation."""
        once, rows = self._once(), self._own_rows(*noted.T)
        self.marks.free()
        if not once or not rows:
            return "", (0, 0)
        for way, arguments in self.arguments.items():
            with contextlib.suppress(CompileError):
                producer.of(way, spread=is_spread(grid)).run(grid=grid, warmup=True, **own, **arguments, **given)
                return way, rows
        return "", (0, 0)

    def _own_rows(self, first, last):
        """[first, end) of this rank's rows without those at either end that are, in part, of programs which store to other ranks' rows as
        well; nothing if that is not so simple. `first`, `last`: the elements of each program."""
        shares, row = self.shares, max(self.shares.row_elements, 1)
        begin, end = self.own.start * shares.elements, self.own.stop * shares.elements
        rows = min(begin // row, shares.height), min(end // row, shares.height)
        last = np.minimum(last, shares.chunks * shares.elements - 1)  # behind it is no rank's share
        touches = (first <= last) & (last >= begin) & (first < end)
        own = touches & (first >= begin) & (last < end)
        before, behind = touches & (first < begin), touches & (last >= end)
        if not self.own or (before & behind).any():
            return None if self.own else rows
        inner = max(last[before].max(initial=begin - 1) // row + 1, rows[0]), min(first[behind].min(initial=end) // row, rows[1])
        are_inside = (first[own] >= inner[0] * row) & (last[own] < inner[1] * row)
        return tuple(map(int, inner)) if inner[0] < inner[1] and are_inside.all() else None

    def _once(self):
        elements = range(self.own.start * self.shares.elements, min(self.own.stop * self.shares.elements, self.matrix.numel()))
        if not elements:
            return True
        others = self.team.local_from_array(np.zeros(1, np.int32))
        programs, block = blocks(len(elements))
        count_others[(programs,)](self.marks[elements.start : elements.stop], others, len(elements), BLOCK=block, num_warps=8)
        return not np.array(others)[0]


class Summing(Telling):
    """By copy engines: a chunk leaves when all programs that write there have told, and its owner adds it when it is there: in the stores
    of the kernel itself, which come last, if it `adds` and that is possible, or in a kernel of its own."""

    def __init__(self, team, matrix, shares, everywhere, adds):
        super().__init__(team, matrix, shares)
        ranks, rank = team.size, team.rank
        self.everywhere, self.own = everywhere, shares.chunks_of(rank)
        self.parts = team.empty((ranks * shares.share, *matrix.shape[1:]), matrix.dtype, name="parts")
        self.ready, summed = (team.zeros(shares.words, "int64", name=name) for name in ("ready", "summed"))
        self.summed = summed[: shares.chunks]
        self.sums = Sums(team, matrix, shares, self.parts, self.ready) if adds else None
        self.programs, self.block = blocks(shares.elements)
        self.rows = tuple(min(chunk * shares.rows, shares.height) for chunk in (self.own.start, self.own.stop))
        peers = [(rank + distance) % ranks for distance in range(1, ranks)]
        self.beginning = self.handshake(peers)
        self.ending = [(self.summed, self.programs, "ge"), (self.summed, 0)] if everywhere else []
        told = len(shares.telling_of(rank))
        mine = [self.ready[peer * shares.bands : peer * shares.bands + told] for peer in peers]
        self.ending += [(words, 1, "eq") for words in mine if not self.own] + [(words, 0) for words in mine]
        self.sends = []  # peers, chunks, their rows among parts, here, and of the peer's own, if any, and the words that tell of them
        for peer in peers:
            parts, ready = self.parts.peer(peer), self.ready.peer(peer)
            for nth, chunk in enumerate(shares.telling_of(peer)):
                there, rows = rank * shares.bands + nth, None
                if shares.chunks_of(peer):
                    source = shares.part(matrix, chunk)
                    rows = parts[there * shares.rows : there * shares.rows + source.shape[0]], source, shares.part(matrix.peer(peer), chunk)
                self.sends.append((peer, chunk, rows, ready[there : there + 1]))

    @property
    def reading(self):
        """The arguments of a consumer of all sums, as Gathering has them: a chunk is there when all programs that add it have stored."""
        return {"arriving_words": self.summed, "arriving_epoch": self.programs, **self.shares.arriving}

    def text(self, over, counts):
        """What goes where, and who adds."""
        rows = self.launches.adds.rows[self.team.rank] if self.launches.adds else (0, 0)
        some = f", of rows {rows[0]} to {rows[1] - 1}, and one kernel behind it, of the others," if rows != self.rows else ""
        adds = f"the kernel itself, in its last stores{some or ','}" if self.launches.adds else "one kernel behind it,"
        return f"{super().text(over, counts)}\n{adds} adds the parts of this rank's rows"

    def call(self, main, produce, consume, counts):
        """Queues a call. Afterwards this rank's rows, or all, are the sums, and what peers have had may be written again. A consumer reads
        the sums as they come, or behind all."""
        beside = self.team.stream_beside(main)
        beside.wait_event(main.record_event())
        adds = self.launches.adds
        compiled = produce(self.leaving(self.told) | (self.sums.arguments[adds.way] if adds else {}), [self.matrix])
        self._send(beside, counts, adds.rows if adds and adds.way == "updating" else None)
        rows = adds.rows[self.team.rank] if adds else (0, 0)
        if rows != self.rows:
            self._add(main, rows)
        if consume and self.everywhere:
            compiled = consume(self.reading, [self.matrix])
        main.wait_event(beside.record_event())
        main.signals(self.forgotten(self.own) + self.ending)
        if consume and not self.everywhere:
            compiled = consume(None, None)
        return compiled

    def _send(self, beside, counts, updating):
        """`updating`: of each rank the rows to which parts go that are updated there; others go to where parts lie."""
        steps = self.beginning
        for peer, chunk, rows, word in self.sends:
            if rows:
                beside.signals(steps + self.all_told([chunk], counts))
                part, source, own = rows
                height = source.shape[0]
                begin, end = (min(max(row - chunk * self.shares.rows, 0), height) for row in updating[peer]) if updating else (0, 0)
                for there, first, behind in ((part, 0, begin), (own, begin, end), (part, max(begin, end), height)):
                    if first < behind:
                        beside.copy(there[first:behind], source[first:behind])
                steps = []
            steps = [*steps, (word, 1)]
        beside.signals(steps)

    def _add(self, main, added):
        """`added`: the first and the end of rows that are sums already."""
        sizes = self.matrix.numel(), self.shares.elements, self.shares.bands, *(row * self.shares.row_elements for row in added)
        add_parts[self.programs, len(self.own)](
            self.matrix, self.parts, self.ready, self.summed, *sizes,
            EVERYWHERE=self.everywhere, BLOCK=self.block, num_warps=8, stream=main,
        )  # fmt: skip


class Adding(Meeting):
    """What adds stands behind the producer, for few rows: AllReduce where it has the type, else one kernel that loads the peers' parts
    where they are."""

    def __init__(self, team, matrix, shares, everywhere):
        super().__init__(team, matrix, shares)
        self.everywhere = everywhere
        fits = everywhere and matrix.numel() and matrix.dtype.name in OF_ALL_REDUCE
        self.reduce = AllReduce(team, matrix.numel(), matrix.dtype) if fits else None

    def text(self, over, counts):
        """What is added where."""
        if self.reduce:
            return f"AllReduce behind it adds the ranks' parts of the {self.shares.height} rows of `{over}`"
        return f"one kernel behind it adds the ranks' parts of a rank's {self.shares.share} rows of `{over}`"

    def count(self, *_):
        return None, {}  # nothing leaves while the kernel runs

    def place(self, *_):
        return {}

    def call(self, main, produce, consume, counts):
        """Queues a call, after which all is as after one of Summing."""
        compiled = produce(None, None)
        if self.reduce:
            self.reduce(self.matrix, out=self.matrix, stream=main)
        else:
            self.launch(add_peers, main, EVERYWHERE=self.everywhere)
        return consume(None, None) if consume else compiled
