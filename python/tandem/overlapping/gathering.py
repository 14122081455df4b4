"""Rows that travel by copy engines to where they are read: all_gather and all_to_all ahead of a consumer, behind a producer or between
both."""

import numpy as np

from ..gpu.session import is_capturing
from .derived import named
from .meeting import Meeting
from .sums import load_peers
from .telling import Telling


class Gathering(Telling):
    """all_gather: `matrix` is where the rows arrive, and a producer writes this rank's own. all_to_all: they arrive in memory apart, where
    a consumer reads them. `others`: more of as many rows, with their shares, that the consumer reads."""

    def __init__(self, team, matrix, shares, collective, consumed, others=()):
        ranks, rank = team.size, team.rank
        self.apart = apart = collective == "all_to_all"  # what this rank sends must stay until it is sent
        self.own = own = shares.chunks_of(rank)
        super().__init__(team, matrix, shares, 0 if apart else own.start)
        travelling = [(matrix, shares), *others]
        self.arriving = [team.empty(of.shape, of.dtype, name="arriving") if apart else of for of, _ in travelling]
        self.produced = matrix if apart else shares.part_of(matrix, rank)
        self.words = [team.zeros(shares.words, "int64", name="arrivals") for _ in travelling]
        self.divided = [of for _, of in travelling]
        peers = [(rank - distance) % ranks for distance in range(1, ranks)]  # the rank before this one comes to this rank's rows first
        self.beginning = self.handshake(peers)
        self.sends = []  # peers, chunks, their rows there and here, if any, and the words that tell of them, or none
        receivers = [rank, *peers] if apart and consumed else peers
        for peer in receivers:
            for nth, chunk in enumerate(shares.telling_of(rank)):
                source = peer * shares.bands + nth if apart else chunk
                for (of, divided), arriving, words in zip(travelling, self.arriving, self.words):
                    rows = (divided.part(arriving.peer(peer), chunk), divided.part(of, source)) if own else None
                    told = consumed or chunk + 1 == shares.telling_of(rank).stop
                    self.sends.append((peer, source, rows, words.peer(peer)[chunk : chunk + 1] if told else None))
        arrived = [(words, shares.telling_of(peer)) for words in self.words for peer in receivers]
        # A rank sends its chunks one behind the other: where the last one is, those before are, too. Programs wait for each.
        last = [(words, chunks[-1:]) for words, chunks in arrived]
        self.ending = [(words[chunks.start : chunks.stop], shares.slices, "eq") for words, chunks in last]
        self.ending += [(words[chunks.start : chunks.stop], 0) for words, chunks in (arrived if consumed else last)]
        if not apart:
            for words in self.words:
                words[own.start : own.stop] = shares.slices  # own rows are always there

    @property
    def reading(self):
        """A consumer's arguments: the words, what the word of a chunk has that is there, and the chunks."""
        of_each = [{"arriving_words": words, "arriving_epoch": 1, **of.arriving} for words, of in zip(self.words, self.divided)]
        return {named(name, nth): value for nth, own in enumerate(of_each) for name, value in own.items()}

    def place(self, consumer, given, grid):
        """Arguments that order a consumer's programs: those come first whose chunks are here first, this rank's own, then those of the
        ranks behind it. A launch that a graph capture is the first to make is as it is."""
        if self.team._session.is_gpu and is_capturing() and not self.launches.knows(consumer, given, grid):
            return {}
        shares, words = self.shares, self.launches.words
        ranks, nth = np.divmod(np.arange(max(shares.chunks, 1)), shares.bands)
        places = (ranks - self.team.rank) % self.team.size * shares.bands + nth
        own = {}
        for number, of in enumerate(self.divided):
            values = {"leaving_words": words, "leaving_chunk": of.elements, "leaving_chunks": of.chunks}
            own |= {named(name, number): value for name, value in values.items()}
        return self.launches.of(consumer, own, given, grid, shares.row_elements, places, last=True)[1]

    def call(self, main, produce, consume, counts):
        """Queues a call. Afterwards all rows are there, those too that no program waits for, and this rank may write its own again."""
        beside = self.team.stream_beside(main)
        beside.wait_event(main.record_event())
        if produce:
            compiled = produce(self.leaving(self.told), [self.produced])
        self._send(beside, counts)
        if consume:
            compiled = consume(self.reading, self.arriving)
        main.wait_event(beside.record_event())
        stay = self.own if self.apart and not consume else ()
        main.signals(self.forgotten(stay) + self.ending)
        if self.apart and not consume:
            self._take_back(main)
        return compiled

    def _take_back(self, main):
        """What has arrived for this rank goes to where the producer has written."""
        rank = self.team.rank
        for ranks in (range(rank), range(rank + 1, self.team.size)):
            if ranks:
                rows = slice(ranks.start * self.shares.share, ranks.stop * self.shares.share)
                main.copy(self.matrix[rows], self.arriving[0][rows])

    def _send(self, beside, counts):
        """Own rows go to all peers, or to each its share; behind a producer when they are written."""
        steps, left = self.beginning, set()
        for _, chunk, rows, word in self.sends:
            if rows and counts and chunk not in left:
                steps = steps + self.all_told([chunk], counts)
                left.add(chunk)
            if not rows:
                steps = [*steps, (word, self.shares.slices)]
                continue
            for nth in range(self.shares.slices):
                beside.signals(steps)
                self._copy(beside, nth, *rows)
                steps = [(word, nth + 1)] if word is not None else []
        beside.signals(steps)

    def _copy(self, beside, nth, there, here):
        """A slice of rows; all of them, if there is one."""
        if self.shares.slices == 1:
            return beside.copy(there, here)
        first, row = nth * self.shares.columns, self.shares.row_elements
        beside.copy_columns(there, here, first, min(self.shares.columns, row - first))


class Loading:
    """all_gather by one kernel ahead of the consumer, for few rows: it loads the peers' rows where they are, of each matrix."""

    def __init__(self, team, travelling):
        self.meetings = [Meeting(team, matrix, shares) for matrix, shares in travelling]

    def text(self, over, counts):
        """What is loaded from where."""
        return f"one kernel ahead of it loads the peers' rows of `{over}`, {self.meetings[0].shares.share} of each"

    def place(self, *_):
        return {}  # all rows are there

    def call(self, main, produce, consume, counts):
        """Queues a call, after which all is as after one of Gathering."""
        for meeting in self.meetings:
            meeting.launch(load_peers, main)
        return consume(None, None)
