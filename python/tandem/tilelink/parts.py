"""Channels of sums whose parts go to who owns a tile, stored by programs or taken there by copies on streams."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.tilelink.tiles import rank_notify


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
