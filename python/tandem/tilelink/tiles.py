"""What producers and consumers of tiles say through a channel of blocks (tandem.tilelink.blocks): that a tile is there, that one is
needed, and where its data goes."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.tilelink.blocks import arrivals_of, channels_of


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
