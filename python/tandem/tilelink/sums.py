"""Channels of sums that every rank gets, in one flight or two."""

import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.aggregate
class SumsChannel:
    """A channel of sums that every rank gets: each of the `ranks` makes a part of every tile. With `one_shot` all parts go to all ranks,
    which add them up for themselves; else to the tile's owner, which sends the sum to all: two flights, of fewer bytes. Parts are added in
    rank order in fp32, so every rank has the same bits.

    A tile is [rows, columns]; masks say which elements there are. Parts lie as [rank, tile], sums as [tile]. `ready`, a word for each rank
    of each tile, holds the last call of which its part is there, `done`, a word for each tile, that of its sum. All are in symmetric
    memory, the words zeros before the first call. Two sets of parts are used in turn: who has a sum of this call has heard of all ranks in
    it, and thus that they have ended the call before."""

    parts: tl.tensor
    sums: tl.tensor
    ready: tl.tensor
    done: tl.tensor
    call: tl.tensor
    tiles: tl.tensor
    ranks: tl.constexpr
    rows: tl.constexpr
    columns: tl.constexpr
    one_shot: tl.constexpr

    @tandem.jit
    def owner(self, tile):
        """Who adds the tile in two flights: of the tiles of one program all ranks have as many."""
        return (tile + tile // tl.num_programs(0)) % self.ranks

    @tandem.jit
    def at(self, ptr, place):
        return ptr + place.to(tl.int64) * (self.rows * self.columns)

    @tandem.jit
    def elements(self):
        """Where a tile's elements are, from its place on."""
        return tl.arange(0, self.rows)[:, None] * self.columns + tl.arange(0, self.columns)[None, :]

    @tandem.jit
    def to_all(self, ptr, place, value, mask, signal):
        """Stores a tile at its place at all ranks, and tells them."""
        to = self.at(ptr, place)
        for step in tl.static_range(1, self.ranks + 1):
            tl.store(dl.symm_at(to, (dl.rank() + step) % self.ranks) + self.elements(), value, mask=mask)
        for step in tl.static_range(1, self.ranks + 1):
            dl.notify(signal, (dl.rank() + step) % self.ranks, signal=self.call, sig_op="set", comm_scope="intra_node")

    @tandem.jit
    def push(self, tile, part, mask):
        """This rank's part of the tile to who adds it."""
        place = dl.rank().to(tl.int64) * self.tiles + tile
        value = part.to(self.parts.dtype.element_ty)
        signal = self.ready + tile * self.ranks + dl.rank()
        if self.one_shot:
            self.to_all(self.parts, place, value, mask, signal)
        else:
            owner = self.owner(tile)
            tl.store(dl.symm_at(self.at(self.parts, place), owner) + self.elements(), value, mask=mask)
            dl.notify(signal, owner, signal=self.call, sig_op="set", comm_scope="intra_node")

    @tandem.jit
    def added(self, tile, mask):
        """All ranks' parts of the tile, once they are there."""
        token = dl.wait(self.ready + tile * self.ranks, self.ranks, "sys", "acquire", waitValue=self.call, compare="ge")
        source = self.at(dl.consume_token(self.parts, token), tile) + self.elements()
        total = tl.zeros((self.rows, self.columns), dtype=tl.float32)
        for rank in tl.static_range(self.ranks):
            place = self.tiles.to(tl.int64) * (rank * self.rows * self.columns)
            total += tl.load(source + place, mask=mask, other=0.0).to(tl.float32)
        return total

    @tandem.jit
    def send(self, tile, mask):
        """The sum of a tile that this rank owns to all ranks, in two flights."""
        self.to_all(self.sums, tile, self.added(tile, mask).to(self.sums.dtype.element_ty), mask, self.done + tile)

    @tandem.jit
    def take(self, tile, mask):
        """The sum of a tile: of all parts, or as its owner sent it."""
        if self.one_shot:
            return self.added(tile, mask)
        token = dl.wait(self.done + tile, 1, "sys", "acquire", waitValue=self.call, compare="ge")
        return tl.load(self.at(dl.consume_token(self.sums, token), tile) + self.elements(), mask=mask, other=0.0)
