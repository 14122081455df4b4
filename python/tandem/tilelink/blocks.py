"""Channels of a matrix whose rows lie in shards over the ranks: from tiles to rows, ranks and signals.

Tiles are numbered shard by shard. The mappings of the tile t, the `local`-th of its shard, are affine:

    f_R(t) = t // tiles of a shard                      the rank whose shard it is in
    f_S(t) = f_R(t) * shard_rows + local * ROWS         its first row; the last tile of a shard may have fewer rows
    f_C(t) = f_R(t) * channels + local * ROWS // CHANNEL_ROWS

Where routing decides which rows a consumer tile needs, a table has them instead (TableChannel).

A word in symmetric memory counts what arrived for CHANNEL_ROWS rows of one shard. How many arrivals are all of them follows from
the producers' f_S, so that consumers may have tiles of another size. Words are never reset: the n-th call waits for n times
as many.
"""

import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.jit
def channels_of(shard_rows, CHANNEL_ROWS: tl.constexpr):
    """The channels of a shard. Host code has it as `channels_of.fn`."""
    return (shard_rows + CHANNEL_ROWS - 1) // CHANNEL_ROWS


@tandem.jit
def arrivals_of(rows, CHANNEL_ROWS: tl.constexpr, PRODUCER_ROWS: tl.constexpr):
    """How many producer tiles lie in a channel that begins `rows` rows before its shard's end. Host code has it as `arrivals_of.fn`."""
    return (min(rows, CHANNEL_ROWS) + PRODUCER_ROWS - 1) // PRODUCER_ROWS


@tandem.aggregate
class BlockChannel:
    """`words`: ranks * channels_of(shard_rows) words in symmetric memory, zeros before the first call; `begun`: one for each rank,
    likewise. `columns`: how many producers bring parts of the same rows. `call`: 1 in the first call of all ranks, then one more each.
    `elsewhere`: not this kernel but copies on streams, or another kernel, bring the tiles; otherwise the signals of a launch are counted
    before it runs, and a tile that nobody tells of, one that is told of twice, and ranks that wait in a circle are errors of the launch."""

    words: tl.tensor
    begun: tl.tensor
    call: tl.tensor
    m: tl.tensor
    shard_rows: tl.tensor
    columns: tl.tensor
    producer_rows: tl.constexpr
    consumer_rows: tl.constexpr
    channel_rows: tl.constexpr

    @tandem.jit
    def __init__(
        self, words, begun, call, m, shard_rows, columns, producer_rows, consumer_rows, channel_rows, elsewhere: tl.constexpr = False
    ):
        tl.static_assert(
            channel_rows % producer_rows == 0, "a producer tile would lie in two channels: channel_rows must be a multiple of producer_rows"
        )
        tl.assume(shard_rows >= 0)
        self.words = words
        self.begun = begun
        self.call = call if elsewhere else dl.call_number(call)
        self.m = m
        self.shard_rows = shard_rows
        self.columns = columns
        self.producer_rows = producer_rows
        self.consumer_rows = consumer_rows
        self.channel_rows = channel_rows

    @tandem.jit
    def rows_of_rank(self, rank):
        return tl.maximum(tl.minimum(self.m - rank * self.shard_rows, self.shard_rows), 0)

    @tandem.jit
    def place(self, tile, ROWS: tl.constexpr):
        """f_R of the tile, and its first row in the shard."""
        tiles = tl.cdiv(self.shard_rows, ROWS)
        return tile // tiles, tile % tiles * ROWS

    @tandem.jit
    def word(self, rank, row):
        return self.words + rank * channels_of(self.shard_rows, self.channel_rows) + row // self.channel_rows

    @tandem.jit
    def await_rows(self, rank, first, last):
        """Waits for all channels of the shard's rows from `first` up to `last`, which is beyond them."""
        token = 0
        rows = self.rows_of_rank(rank)
        for channel in range(first // self.channel_rows, tl.cdiv(tl.minimum(last, rows), self.channel_rows)):
            row = channel * self.channel_rows
            all_there = arrivals_of(rows - row, self.channel_rows, self.producer_rows) * self.columns
            token = dl.wait(self.word(rank, row), 1, "sys", "acquire", waitValue=self.call * all_there, compare="ge", stays=True)
        return token

    @tandem.jit
    def await_tile(self, tile):
        """Waits for all rows of a consumer tile."""
        rank, row = self.place(tile, self.consumer_rows)
        tl.device_assert((rank >= 0) & (rank < dl.num_ranks()), "f_R leads to no rank")
        return self.await_rows(rank, row, row + self.consumer_rows)


@tandem.aggregate
class TableChannel:
    """A channel whose consumer tiles need rows from anywhere: f_S, f_R and f_C of the tile t are in tables on the device. It needs the
    channels needs[begins[t]] to needs[begins[t + 1] - 1], each numbered f_R * channels of a shard + its number there. Producers use
    `base`."""

    base: BlockChannel
    begins: tl.tensor
    needs: tl.tensor

    @tandem.jit
    def await_tile(self, tile):
        """Waits for all channels that the table has for a consumer tile."""
        token = 0
        channels = channels_of(self.base.shard_rows, self.base.channel_rows)
        for nth in range(tl.load(self.begins + tile), tl.load(self.begins + tile + 1)):
            channel = tl.load(self.needs + nth)
            rank = channel // channels
            row = channel % channels * self.base.channel_rows
            tl.device_assert((channel >= 0) & (rank < dl.num_ranks()), "the table's channel is of no rank")
            tl.device_assert(row < self.base.rows_of_rank(rank), "the table's channel has no rows, so nobody tells of it")
            token = self.base.await_rows(rank, row, row + self.base.channel_rows)
        return token
