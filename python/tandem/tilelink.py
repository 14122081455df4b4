"""Tile-centric primitives: a channel's mappings from tiles to rows, ranks and signals, and what kernels say through it.

A channel leads from producers to consumers of one matrix whose rows lie in shards over the ranks. Tiles are numbered shard by
shard. The mappings of the tile t, the `local`-th of its shard, are affine:

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
import tandem.shmem as shmem
from tandem.simt import __syncthreads, num_warps, tid


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


@tandem.aggregate
class StreamChannel:
    """A channel whose rows the peers' hosts bring by copies on streams (`rank_copy_slices`), each shard in `bands` of `band_rows` rows, a
    band in slices of its columns. The word of a band, `words[shard * bands + band]`, counts the slices that are there, and the kernel puts
    it back at the end of its call: every value is a constant, so a captured call replays as it is. Ahead of these words are others
    (`stream_words`): how many programs have ended the call, how many calls this rank has ended, and for each rank how many that one has."""

    words: tl.tensor
    bands: tl.tensor
    band_rows: tl.tensor


@tandem.jit
def slices_wait(channel, shard, row, slices):
    """Waits until so many slices of the shard's band of this row are there."""
    word = channel.words + shard * channel.bands + row // channel.band_rows
    return dl.wait(word, 1, "sys", "acquire", waitValue=slices, compare="ge")


@tandem.aggregate
class ShardRows:
    """Rows of a shard that come by a StreamChannel, from `row` of the shard on, all in one band, as a loop over steps reads them:
    `slice_steps` steps of columns are a slice. This rank's own shard is there."""

    channel: StreamChannel
    shard: tl.tensor
    row: tl.tensor
    slice_steps: tl.constexpr

    @tandem.jit
    def await_step(self, place, step, begin):
        """`place`, which leads to the rows, once what this step reads is there, in a loop that begins with the step `begin`."""
        if (self.shard != dl.rank()) & ((step == begin) | (step % self.slice_steps == 0)):
            place = dl.consume_token(place, slices_wait(self.channel, self.shard, self.row, step // self.slice_steps + 1))
        return place

    @tandem.jit
    def await_steps(self, place, end):
        """`place` once what all steps up to `end` read is there."""
        if self.shard != dl.rank():
            place = dl.consume_token(place, slices_wait(self.channel, self.shard, self.row, tl.cdiv(end, self.slice_steps)))
        return place


@tandem.jit
def call_ends(channel, programs):
    """True in the last of `programs` programs, which then says `end_call`. All threads of a program come here, behind all of its waits."""
    __syncthreads()
    ends = tl.atomic_add(channel.words - 1, 1, sem="acq_rel", scope="gpu") == programs - 1
    if ends:
        tl.store(channel.words - 1, 0)
        __syncthreads()
    return ends


@tandem.jit
def end_call(channel, slices):
    """Puts the words back once all of the call has arrived, `slices` of each band, and when all has, waits until every rank has done so.
    Each thread for its peers."""
    rank = dl.rank()
    call = tl.load(channel.words - 2) + 1
    done = channel.words - 2 - dl.num_ranks()
    for peer in range(tid(0), dl.num_ranks(), num_warps() * 32):
        if peer != rank:
            for band in range(peer * channel.bands, (peer + 1) * channel.bands):
                shmem.signal_wait_until(channel.words + band, shmem.NVSHMEM_CMP_EQ, slices)
                shmem.signal_op(channel.words + band, 0, shmem.NVSHMEM_SIGNAL_SET, rank)
    __syncthreads()
    for peer in range(tid(0), dl.num_ranks(), num_warps() * 32):
        if peer != rank:
            shmem.fence()
            shmem.signal_op(done + rank, call, shmem.NVSHMEM_SIGNAL_SET, peer)
            shmem.signal_wait_until(done + peer, shmem.NVSHMEM_CMP_GE, call)
    tl.store(channel.words - 2, call)


@tandem.jit
def scattered_tile(tile, ranks, shard_tiles, turn):
    """The owner of the tile-th tile, as the nth rank after this one, and the tile's number in its shard. Peers take turns by `turn`
    tiles; this rank is the last one."""
    peers = ranks - 1
    own = tile - peers * shard_tiles
    whole = shard_tiles // turn * turn  # of a shard, in whole turns
    is_whole = tile < peers * whole
    size = tl.where(is_whole, turn, tl.maximum(shard_tiles - whole, 1))
    first = tl.where(is_whole, 0, whole)
    other = tile - peers * first
    round_tiles = tl.maximum(peers * size, 1)
    nth = tl.where(own < 0, other % round_tiles // size, peers)
    return nth, tl.where(own < 0, first + other // round_tiles * size + other % size, own)


@tandem.aggregate
class PartsChannel:
    """A channel of sums: each rank makes a part of every tile, and the tile's owner adds them up. A rank owns `tiles` tiles. All ranks make
    the peers' parts first, `turn` for each peer in its turn, and their own last (`part_at`): the peers' have mostly arrived by then, and
    nobody waits for a program that waits for a later part. The part of the own tile t from the s-th peer is at place s * tiles + t.

    Programs store parts into the owner's memory, and `ready`, ranks - 1 words for each tile, holds the last call of which a part is there.
    With `copied` they store them at places of this rank's, where s counts the ranks after it, and a stream copies a turn of them at once
    (`rank_copy_parts`): `brought`, ranks - 1 words for each turn, counts those that are made, and `ready`, a word for each peer, the turns
    that it has sent in this call. `begun` and `call` are as a BlockChannel has them, but a launch's signals are not counted."""

    ready: tl.tensor
    brought: tl.tensor
    begun: tl.tensor
    call: tl.tensor
    tiles: tl.tensor
    turn: tl.tensor
    copied: tl.constexpr


@tandem.jit
def parts_begin(channel):
    """Tells all ranks that this one has begun the call: it reads no parts of the calls before any more. One program does so."""
    if channel.copied:
        for slot in range(dl.num_ranks() - 1):
            dl.notify(channel.ready + slot, dl.rank(), signal=0, sig_op="set", comm_scope="intra_node")
    for distance in range(dl.num_ranks()):
        rank_notify(channel, (dl.rank() + distance) % dl.num_ranks())


@tandem.jit
def ranks_wait(channel):
    """Waits until all ranks have begun this call: before the first part is stored."""
    return dl.wait(channel.begun, dl.num_ranks(), "sys", "acquire", waitValue=channel.call, compare="ge")


@tandem.jit
def part_at(channel, nth):
    """The owner of the nth part that a rank makes, and the tile's number among its owner's."""
    behind, local = scattered_tile(nth, dl.num_ranks(), channel.tiles, channel.turn)
    return (dl.rank() + 1 + behind) % dl.num_ranks(), local


@tandem.jit
def slot_of(channel, owner):
    """Which of its peers this rank is to the owner; where copies bring parts, which one the owner is, of those after this rank."""
    rank = dl.rank()
    if channel.copied:
        return owner - rank - 1 + tl.where(owner < rank, dl.num_ranks(), 0)
    return rank - tl.where(rank > owner, 1, 0)


@tandem.jit
def part_place(channel, owner, local):
    """The place of this rank's part of an owner's tile, in the owner's memory, or in this rank's where copies bring it."""
    return tl.maximum(slot_of(channel, owner) * channel.tiles + local, 0)


@tandem.jit
def part_notify(channel, owner, local):
    """Tells that this rank's part of an owner's tile is stored."""
    slot = slot_of(channel, owner)
    peers = dl.num_ranks() - 1
    if channel.copied:
        dl.notify(channel.brought + local // channel.turn * peers + slot, dl.rank(), signal=1, sig_op="add", comm_scope="intra_node")
    else:
        dl.notify(channel.ready + local * peers + slot, owner, signal=channel.call, sig_op="set", comm_scope="intra_node")


@tandem.jit
def parts_wait(channel, local, turns, token):
    """Waits for all peers' parts of an own tile. Returns how many turns are there, as far as this program knows, and the token, which it
    is given again with the next tile; both are 0 at first."""
    peers = dl.num_ranks() - 1
    if not channel.copied:
        token = dl.wait(channel.ready + local * peers, peers, "sys", "acquire", waitValue=channel.call, compare="ge")
    elif local // channel.turn >= turns:
        turns = local // channel.turn + 1
        token = dl.wait(channel.ready, peers, "sys", "acquire", waitValue=turns, compare="ge")
    return turns, token


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


@tandem.jit
def peer_tile_notify(channel, tile, peer):
    """Tells `peer` that this program's part of the producer tile is there: all that the program has written before."""
    rank, row = channel.place(tile, channel.producer_rows)
    tl.device_assert((rank >= 0) & (rank < dl.num_ranks()), "f_R leads to no rank")
    if row < channel.rows_of_rank(rank):
        dl.notify(channel.word(rank, row), peer, signal=1, sig_op="add", comm_scope="intra_node")


@tandem.jit
def producer_tile_notify(channel, tile, MODE: tl.constexpr):
    """Tells f_R(tile), with `p2p`, or all ranks, with `broadcast`, that the tile is there."""
    tl.static_assert(MODE == "p2p" or MODE == "broadcast", "the mode must be `p2p` or `broadcast`")
    if MODE == "p2p":
        peer_tile_notify(channel, tile, channel.place(tile, channel.producer_rows)[0])
    else:
        for distance in range(dl.num_ranks()):
            peer_tile_notify(channel, tile, (dl.rank() + distance) % dl.num_ranks())


@tandem.jit
def consumer_tile_wait(channel, tile):
    """Waits until all rows of the consumer tile are there. Loads of them go through `consume_token` with the token."""
    return channel.await_tile(tile)


@tandem.jit
def peer_tile_wait(channel, tile):
    """Waits until a peer has told of the producer tile by `peer_tile_notify`; a channel has one tile then."""
    tl.static_assert(channel.channel_rows == channel.producer_rows, "one tile a channel: channel_rows must be producer_rows")
    rank, row = channel.place(tile, channel.producer_rows)
    return channel.await_rows(rank, row, row + channel.producer_rows)


@tandem.jit
def rank_notify(channel, peer):
    """Tells `peer` that this rank has begun the call: it reads nothing of the calls before any more."""
    dl.notify(channel.begun + dl.rank(), peer, signal=channel.call, sig_op="set", comm_scope="intra_node")


@tandem.jit
def rank_wait(channel, peer):
    """Waits until `peer` has begun this call."""
    return dl.wait(channel.begun + peer, 1, "sys", "acquire", waitValue=channel.call, compare="ge")


@tandem.jit
def tile_addresses(channel, ptr, stride, tile, column, COLUMNS: tl.constexpr):
    """Addresses of the producer tile's elements in columns from `column` on, and which of its rows there are."""
    rank, row = channel.place(tile, channel.producer_rows)
    rows = row + tl.arange(0, channel.producer_rows)
    places = (rank * channel.shard_rows + rows)[:, None].to(tl.int64) * stride + (column + tl.arange(0, COLUMNS))[None, :]
    return ptr + places, (rows < channel.rows_of_rank(rank))[:, None]


@tandem.jit
def tile_push_data(channel, ptr, stride, tile, column, data, width, peer):
    """Stores `data`, the producer tile's part from `column` on, into the matrix of `peer`, which has `width` columns."""
    places, inside = tile_addresses(channel, dl.symm_at(ptr, peer), stride, tile, column, data.shape[1])
    tl.store(places, data, mask=inside & (column + tl.arange(0, data.shape[1]) < width)[None, :])


@tandem.jit
def tile_pull_data(channel, ptr, stride, tile, column, width, peer, COLUMNS: tl.constexpr):
    """The producer tile's part from `column` on, from the matrix of `peer`; zeros outside."""
    places, inside = tile_addresses(channel, dl.symm_at(ptr, peer), stride, tile, column, COLUMNS)
    return tl.load(places, mask=inside & (column + tl.arange(0, COLUMNS) < width)[None, :], other=0)


@tandem.jit
def tile_at(nth, tiles, ORDER: tl.constexpr):
    """The nth tile that a consumer takes, of `tiles` in each shard: with `ring` the own shard's and then those of the ranks behind, as
    `rank_copy_data` brings them, with `own_first` the own ones and then the others by number, with `all` all by number."""
    tl.static_assert(ORDER == "ring" or ORDER == "own_first" or ORDER == "all", "the order must be `ring`, `own_first` or `all`")
    nth_shard = nth // tiles
    shard = nth_shard
    if ORDER == "ring":
        shard = (dl.rank() + nth_shard) % dl.num_ranks()
    elif ORDER == "own_first":
        shard = tl.where(nth_shard == 0, dl.rank(), nth_shard - (nth_shard <= dl.rank()))
    return shard * tiles + nth % tiles


@tandem.jit
def gather_tiles(channel, ptr, stride, width, program, PROGRAMS: tl.constexpr, COLUMNS: tl.constexpr, RESOURCE: tl.constexpr):
    """The part of this program, of PROGRAMS, in bringing all ranks' rows to all: with `push` it stores own tiles into the peers' memory,
    with `pull` it loads theirs. A channel counts every COLUMNS of the `width` columns. `rank_copy_data` is the third way."""
    tl.static_assert(RESOURCE == "push" or RESOURCE == "pull", "the resource must be `push` or `pull`")
    rank = dl.rank()
    ranks = dl.num_ranks()
    tiles = tl.cdiv(channel.shard_rows, channel.producer_rows)
    if program == 0:
        for peer in range(ranks):
            rank_notify(channel, peer)
    for item in range(program, ranks * tiles, PROGRAMS):
        if RESOURCE == "push":
            peer = (rank + ranks - item // tiles) % ranks
            tile = rank * tiles + item % tiles
            source = rank
            to = peer
        else:
            peer = (rank + item // tiles) % ranks
            tile = peer * tiles + item % tiles
            source = peer
            to = rank
        begun = dl.consume_token(ptr, rank_wait(channel, peer))
        for column in range(0, width, COLUMNS):
            if peer != rank:
                data = tile_pull_data(channel, begun, stride, tile, column, width, source, COLUMNS)
                tile_push_data(channel, begun, stride, tile, column, data, width, to)
            peer_tile_notify(channel, tile, to)


def rank_copy_data(team, stream, matrix, words, call, m, shard_rows, columns, producer_rows, channel_rows):
    """A rank's own rows of a symmetric `matrix` to all peers by `stream`, a channel at a time, the ring's next one first; also
    tells this rank of its own rows. Takes the place of all `producer_tile_notify` of the channel."""
    rank = team.rank
    rows = max(min(m - rank * shard_rows, shard_rows), 0)
    channels = channels_of.fn(shard_rows, channel_rows)
    for distance in range(team.size):
        peer = (rank - distance) % team.size
        for first in range(0, rows, channel_rows):
            part = slice(rank * shard_rows + first, rank * shard_rows + min(first + channel_rows, rows))
            word = rank * channels + first // channel_rows
            all_there = arrivals_of.fn(rows - first, channel_rows, producer_rows) * columns
            if distance:
                stream.copy(matrix.peer(peer)[part], matrix[part])
            stream.signal_write(words.peer(peer)[word : word + 1], call * all_there)


def stream_words(team, bands):
    """The words of a StreamChannel whose shards have so many bands."""
    before = team.size + 2
    return team.zeros(before + team.size * bands, "int64", name="words of a channel")[before:]


def rank_copy_slices(team, stream, matrix, words, m, shard_rows, bands, band_rows, slices):
    """A rank's own rows of a symmetric `matrix` to all peers by `stream`, in so many slices of each band, the ring's next one first. The
    stream waits ahead of it for what has written them; the kernel that waits for the slices may be queued before or behind."""
    width = matrix.numel() // max(matrix.shape[0], 1)
    columns = -(-width // slices)
    own, rows = team.rank * shard_rows, max(min(m - team.rank * shard_rows, shard_rows), 0)
    for distance in range(1, team.size):
        peer = (team.rank - distance) % team.size
        for band in range(bands):
            part = slice(own + min(band * band_rows, rows), own + min((band + 1) * band_rows, rows))
            for nth in range(slices):
                first = min(nth * columns, width)
                if part.start < part.stop and first < width:
                    stream.copy_columns(matrix.peer(peer)[part], matrix[part], first, min(columns, width - first))
                word = team.rank * bands + band
                stream.signal_write(words.peer(peer)[word : word + 1], nth + 1)


def rank_copy_parts(team, stream, parts, made, ready, brought, tiles, turn):
    """A rank's parts, in `made`, to the peers' `parts` by a stream, for a PartsChannel that is `copied`; both have a row for each place.
    The stream waits ahead of it for what was queued before the kernel, and what is queued behind the kernel waits for the stream."""
    peers = team.size - 1
    for number, first in enumerate(range(0, tiles, turn)):
        count = min(turn, tiles - first)
        for nth in range(peers):
            peer = (team.rank + 1 + nth) % team.size
            slot = team.rank - (team.rank > peer)
            word = number * peers + nth
            stream.signal_wait(brought[word : word + 1], count, "ge")
            stream.signal_write(brought[word : word + 1], 0)
            to, source = slot * tiles + first, nth * tiles + first
            stream.copy(parts.peer(peer)[to : to + count], made[source : source + count])
            stream.signal_write(ready.peer(peer)[slot : slot + 1], number + 1)
