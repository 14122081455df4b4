"""AllGather of keys and values + attention, over a channel.

Each rank has a part of a sequence: its queries, and its keys and values beside each other in the rows of one matrix, which all ranks gather
while each attends to what is there. Three choices change by themselves: how many keys a step takes, in which order, and who brings
them.

tandem run --ranks 4 examples/channel_attention.py; on GPUs, with --target cuda, `--tune` times all 27 choices.
"""

import itertools
import sys

import numpy as np

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link

SHARD, HEAD = 48, 32  # rows of a rank, and elements of a key or a value
PRODUCER, CHANNEL, QUERIES = 16, 16, 16
TILES, ORDERS, RESOURCES = [16, 32, 64], ["ring", "own_first", "all"], ["copy", "push", "pull"]


@tandem.jit
def attention(
    q_ptr, kv_ptr, out_ptr, words_ptr, begun_ptr, call_ptr, m, shard_rows, scale,
    PRODUCER: tl.constexpr, CHANNEL: tl.constexpr, TILE: tl.constexpr, QUERIES: tl.constexpr, HEAD: tl.constexpr,
    GATHERERS: tl.constexpr, ORDER: tl.constexpr, RESOURCE: tl.constexpr,
):  # fmt: skip
    """A program has QUERIES of this rank's queries and goes through all keys, TILE at a time. The first GATHERERS programs gather."""
    channel = link.BlockChannel(words_ptr, begun_ptr, tl.load(call_ptr), m, shard_rows, 2, PRODUCER, TILE, CHANNEL, RESOURCE == "copy")
    program = tl.program_id(0)
    if GATHERERS > 0:
        if program < GATHERERS:
            link.gather_tiles(channel, kv_ptr, 2 * HEAD, 2 * HEAD, program, GATHERERS, HEAD, RESOURCE)
    tiles = tl.cdiv(shard_rows, TILE)
    across = tl.arange(0, HEAD)
    first = tl.where(program < GATHERERS, shard_rows, (program - GATHERERS) * QUERIES)
    for start in range(first, shard_rows, shard_rows):  # once, or never in a program that gathers
        rows = start + tl.arange(0, QUERIES)
        q = tl.load(q_ptr + rows[:, None] * HEAD + across[None, :], mask=(rows < shard_rows)[:, None], other=0)
        largest = tl.full((QUERIES,), -float("inf"), tl.float32)
        total = tl.zeros((QUERIES,), tl.float32)
        acc = tl.zeros((QUERIES, HEAD), tl.float32)
        for nth in range(dl.num_ranks() * tiles):
            tile = link.tile_at(nth, tiles, ORDER)
            in_shard = tile % tiles * TILE + tl.arange(0, TILE)
            keys = tile // tiles * shard_rows + in_shard
            inside = (in_shard < shard_rows) & (keys < m)
            kv = dl.consume_token(kv_ptr, link.consumer_tile_wait(channel, tile)) + keys[:, None] * (2 * HEAD) + across[None, :]
            k = tl.load(kv, mask=inside[:, None], other=0)
            v = tl.load(kv + HEAD, mask=inside[:, None], other=0)
            scores = tl.where(inside[None, :], tl.dot(q, tl.trans(k)) * scale, -float("inf"))
            most = tl.maximum(largest, tl.max(scores, 1))
            weights = tl.exp(scores - most[:, None])
            kept = tl.exp(largest - most)
            total = total * kept + tl.sum(weights, 1)
            acc = tl.dot(weights.to(v.dtype), v, acc * kept[:, None])
            largest = most
        tl.store(out_ptr + rows[:, None] * HEAD + across[None, :], acc / total[:, None], mask=(rows < shard_rows)[:, None])


class Attention:
    """The memory of one rank, and a call with any of the three choices."""

    def __init__(self, team):
        self.team, self.m = team, team.size * SHARD
        self.kv = team.zeros((self.m, 2 * HEAD), "float16", name="keys and values")
        self.words = team.zeros(team.size * link.channels_of.fn(SHARD, CHANNEL), "int64", name="words")
        self.begun = team.zeros(team.size, "int64", name="begun")
        self.call = team.local_from_array(np.zeros(1, np.int64))
        self.stream, self.calls = team.new_stream(), 0

    def begin(self, arguments):
        """Before each launch: the number of the call, and the copies of those who do not gather by programs."""
        self.calls += 1
        self.team.barrier()  # nobody reads the keys of the call before
        self.call[...] = self.calls
        if arguments["RESOURCE"] == "copy":
            link.rank_copy_data(self.team, self.stream, self.kv, self.words, self.calls, self.m, SHARD, 2, PRODUCER, CHANNEL)

    def choosing(self, choices):
        """A call with the quickest of the choices, which all ranks time together on GPUs; simulated ranks take the first."""
        sizes = [dict(TILE=t, ORDER=o, RESOURCE=r, GATHERERS=0 if r == "copy" else 2) for t, o, r in choices]
        kernel = tandem.autotune([tandem.Config(size, pre_hook=self.begin) for size in sizes], key=["m"])(attention)
        grid = lambda meta: (meta["GATHERERS"] + tandem.cdiv(SHARD, QUERIES),)
        constants = dict(PRODUCER=PRODUCER, CHANNEL=CHANNEL, QUERIES=QUERIES, HEAD=HEAD)

        def call(q, out):
            kernel[grid](q, self.kv, out, self.words, self.begun, self.call, self.m, SHARD, HEAD**-0.5, **constants)
            return kernel.best_config

        return call


def check(team, attend, choices, seed=0):
    """Calls with different choices, and what they give."""
    draw = np.random.default_rng(seed)
    for choice in choices:
        q, k, v = draw.standard_normal((3, attend.m, HEAD)).astype(np.float16)
        own = slice(team.rank * SHARD, (team.rank + 1) * SHARD)
        team.barrier()
        attend.kv[own] = np.concatenate([k[own], v[own]], 1)
        out = team.local_empty((SHARD, HEAD), "float32")
        attend.choosing([choice])(team.local_from_array(q[own]), out)
        scores = q[own].astype(np.float64) @ k.T.astype(np.float64) * HEAD**-0.5
        weights = np.exp(scores - scores.max(1, keepdims=True))
        want = weights @ v.astype(np.float64) / weights.sum(1, keepdims=True)
        np.testing.assert_allclose(np.array(out), want, atol=2e-3)


def main(team):
    first = TILES[0], ORDERS[0], RESOURCES[0]
    check(team, Attention(team), [first, (64, *first[1:]), (16, "all", "copy"), (16, "ring", "push"), (16, "own_first", "pull")])


def tune(team):
    """The quickest of all 27 choices, on GPUs."""
    attend, out = Attention(team), team.local_empty((SHARD, HEAD), "float32")
    return attend.choosing(list(itertools.product(TILES, ORDERS, RESOURCES)))(team.zeros((SHARD, HEAD), "float16"), out)


if __name__ == "__main__":
    team = tandem.init()
    main(team)
    if team.rank == 0:
        print(f"{team.size} ranks attended to {team.size * SHARD} keys, with other tiles, orders and resources")
    if "--tune" in sys.argv:
        print(tune(team))
