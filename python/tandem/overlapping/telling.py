"""Signals between ranks around the copies of a matrix."""

import numpy as np

from .order import Launches


class Telling:
    """Words that count the programs of a producer which have written a chunk, and words by which ranks tell that they have begun a call.
    Every value of a signal is a constant, and each word is put back before it is written again, so that a captured call replays as it
    is: a peer writes rows and words of a call when this rank has begun it, which comes after it has put back those of the call before; and
    each rank has a word from each peer in each call, also one that has no rows, before it begins the next.
    `first`: the chunk with which the producer's memory begins."""

    sums = None  # what a producer needs to add the peers' parts in its stores

    def __init__(self, team, matrix, shares, first=0):
        self.team, self.matrix, self.shares, self.first = team, matrix, shares, first
        self.told = team.zeros(shares.words, "int64", name="told")
        self.begun = team.zeros(team.size, "int64", name="begun")
        self.launches = Launches(team, shares.words)

    def handshake(self, peers):
        """Tells the peers that this rank has begun the call, and waits for them."""
        word = lambda of, rank: of[rank : rank + 1]
        steps = [(word(self.begun.peer(peer), self.team.rank), 1) for peer in peers]
        for peer in peers:
            steps += [(word(self.begun, peer), 1, "eq"), (word(self.begun, peer), 0)]
        return steps

    def leaving(self, words):
        """A producer's arguments: the words, a chunk's elements, and how many chunks have rows."""
        chunks = max(self.shares.chunks - self.first, 0)
        return {"leaving_words": words[self.first :], "leaving_chunk": self.shares.elements, "leaving_chunks": chunks}

    def count(self, producer, given, grid):
        """How many signals a launch of the producer adds to each word, and what orders its programs: those come first whose chunks leave
        first."""
        places = np.full(max(self.shares.chunks - self.first, 1), len(self.sends))
        for nth, (_, chunk, rows, _) in reversed(list(enumerate(self.sends))):
            if rows:
                places[chunk - self.first] = nth
        own, row = self.leaving(self.launches.words), self.shares.row_elements
        return self.launches.of(producer, own, given, grid, row, places, last=False, sums=self.sums)

    def place(self, *_):
        """Arguments that order a consumer's programs."""
        return {}

    def text(self, over, counts):
        """What goes where, a line for each chunk."""
        shares, size = self.shares, self.shares.elements * self.matrix.itemsize
        lines = [f"the {shares.height} rows of `{over}` in chunks of {shares.rows}, {size} bytes"]
        if shares.slices > 1:
            lines[0] += f", in {shares.slices} slices of {shares.columns} columns"
        for peer, chunk, rows, _ in self.sends:
            if rows:
                behind = "" if counts is None else f", behind {counts[chunk]} signals of programs"
                first = chunk * shares.rows
                lines.append(f"rows {first} to {first + rows[1].shape[0] - 1} go to rank {peer}{behind}")
        return "\n".join(lines)

    def all_told(self, chunks, counts):
        """Waits until all programs have told of the chunks, and puts their words back."""
        words = [self.told[chunk : chunk + 1] for chunk in chunks]
        return [step for chunk, word in zip(chunks, words) for step in ((word, counts[chunk], "ge"), (word, 0))]

    def forgotten(self, chunks):
        """Puts back the words of chunks that stay here, behind the kernel that has told of them."""
        return [(self.told[chunks.start : chunks.stop], 0)] if chunks else []
