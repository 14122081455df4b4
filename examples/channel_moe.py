"""AllGather + the first product of a mixture of experts, over a channel with tables.

Each rank has tokens; all ranks gather them, and each multiplies every token with its own part of the weights of the token's experts. A tile
of the product has tokens of one expert, from any rank: which channels it waits for is in tables that routing fills. Three choices change
by themselves: the rows of a tile, the order of tiles, and who brings the tokens.

tandem run --ranks 4 examples/channel_moe.py
"""

import numpy as np

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link

TOKENS, HIDDEN, COLUMNS, EXPERTS, TOP_K = 40, 32, 48, 4, 2
PRODUCER, CHANNEL, BLOCK = 8, 16, 16
TILES, ORDERS, RESOURCES = [16, 32, 64], ["ring", "own_first", "all"], ["copy", "push", "pull"]


@tandem.jit(do_not_specialize=["call"])  # it grows with each call
def grouped_product(
    a_ptr, weights_ptr, c_ptr, words_ptr, begun_ptr, call, begins_ptr, needs_ptr, slots_ptr, experts_ptr, order_ptr, tiles, m, n, k,
    shard_rows,
    PRODUCER: tl.constexpr, CHANNEL: tl.constexpr, TILE: tl.constexpr, BLOCK: tl.constexpr, TOP_K: tl.constexpr,
    GATHERERS: tl.constexpr, RESOURCE: tl.constexpr,
):  # fmt: skip
    """`slots` has TILE slots for each tile, -1 where there is none; slot s is of token s // TOP_K. The first GATHERERS programs gather."""
    base = link.BlockChannel(words_ptr, begun_ptr, call, m, shard_rows, tl.cdiv(k, BLOCK), PRODUCER, PRODUCER, CHANNEL)
    channel = link.TableChannel(base, begins_ptr, needs_ptr)
    program = tl.program_id(0)
    if GATHERERS > 0:
        if program < GATHERERS:
            link.gather_tiles(base, a_ptr, k, k, program, GATHERERS, BLOCK, RESOURCE)
    columns = tl.cdiv(n, BLOCK)
    first = tl.where(program < GATHERERS, tiles * columns, program - GATHERERS)
    for item in range(first, tiles * columns, tl.num_programs(0) - GATHERERS):
        tile = tl.load(order_ptr + item // columns)
        slots = tl.load(slots_ptr + tile * TILE + tl.arange(0, TILE))
        weights = weights_ptr + tl.load(experts_ptr + tile) * k * n
        across = item % columns * BLOCK + tl.arange(0, BLOCK)
        a = dl.consume_token(a_ptr, link.consumer_tile_wait(channel, tile))
        acc = tl.zeros((TILE, BLOCK), tl.float32)
        for begin in range(0, k, BLOCK):
            inner = begin + tl.arange(0, BLOCK)
            x = tl.load(a + (slots // TOP_K)[:, None] * k + inner[None, :], mask=(slots >= 0)[:, None] & (inner < k)[None, :], other=0)
            w = tl.load(weights + inner[:, None] * n + across[None, :], mask=(inner < k)[:, None] & (across < n)[None, :], other=0)
            acc = tl.dot(x, w, acc)
        tl.store(c_ptr + slots[:, None] * n + across[None, :], acc, mask=(slots >= 0)[:, None] & (across < n)[None, :])


def tables(experts_of, rank, ranks, tile, order, channels):
    """What routing gives: for each tile its slots and expert, the channels that it needs, and the order of tiles."""
    slots, experts, needs = [], [], []
    for expert in range(EXPERTS):
        of_expert = np.flatnonzero(experts_of.reshape(-1) == expert)
        for first in range(0, len(of_expert), tile):
            part = of_expert[first : first + tile]
            tokens = part // TOP_K
            slots.append(np.pad(part, (0, tile - len(part)), constant_values=-1))
            experts.append(expert)
            needs.append(np.unique(tokens // TOKENS * channels + tokens % TOKENS // CHANNEL))
    begins = np.cumsum([0, *map(len, needs)])
    turns = {"ring": lambda shard: (shard - rank) % ranks, "own_first": lambda shard: shard != rank, "all": lambda shard: 0}
    last = [max(turns[order](channel // channels) for channel in of_tile) for of_tile in needs]
    arrays = np.concatenate(slots), np.array(experts), begins, np.concatenate(needs), np.argsort(last, kind="stable")
    return [array.astype(np.int32) for array in arrays]


class Mixture:
    """The memory of one rank, and a call with any of the three choices."""

    def __init__(self, team):
        self.team, self.m = team, team.size * TOKENS
        self.channels = link.channels_of.fn(TOKENS, CHANNEL)
        self.a = team.zeros((self.m, HIDDEN), "float16", name="tokens")
        self.words = team.zeros(team.size * self.channels, "int64", name="words")
        self.begun = team.zeros(team.size, "int64", name="begun")
        self.stream, self.calls = team.new_stream(), 0

    def __call__(self, weights, experts_of, c, tile=TILES[0], order=ORDERS[0], resource=RESOURCES[0]):
        self.calls += 1
        slots, experts, begins, needs, ordered = tables(experts_of, self.team.rank, self.team.size, tile, order, self.channels)
        gatherers = 0 if resource == "copy" else 2
        if resource == "copy":
            self.team.barrier()  # nobody reads the tokens of the call before
            link.rank_copy_data(self.team, self.stream, self.a, self.words, self.calls, self.m, TOKENS, HIDDEN // BLOCK, PRODUCER, CHANNEL)
        grouped_product[(gatherers + 4,)](
            self.a, weights, c, self.words, self.begun, self.calls, begins, needs, slots, experts, ordered, len(experts), self.m, COLUMNS,
            HIDDEN, TOKENS, PRODUCER=PRODUCER, CHANNEL=CHANNEL, TILE=tile, BLOCK=BLOCK, TOP_K=TOP_K, GATHERERS=gatherers, RESOURCE=resource,
        )  # fmt: skip


def check(team, mixture, choices, seed=0):
    """Calls with different choices, and what they give."""
    draw = np.random.default_rng(seed)
    weights = team.local_from_array(draw.integers(-2, 3, (EXPERTS, HIDDEN, COLUMNS)).astype(np.float16))
    for choice in choices:
        tokens = draw.integers(-2, 3, (mixture.m, HIDDEN)).astype(np.float16)
        experts_of = np.stack([draw.permutation(EXPERTS)[:TOP_K] for _ in range(mixture.m)])
        own = slice(team.rank * TOKENS, (team.rank + 1) * TOKENS)
        team.barrier()
        mixture.a[own] = tokens[own]
        c = team.local_empty((mixture.m * TOP_K, COLUMNS), "float32")
        mixture(weights, experts_of, c, *choice)
        each = tokens.repeat(TOP_K, 0)[:, None, :].astype(np.float32) @ np.array(weights)[experts_of.reshape(-1)].astype(np.float32)
        np.testing.assert_array_equal(np.array(c), each[:, 0])


def main(team):
    first = TILES[0], ORDERS[0], RESOURCES[0]
    check(team, Mixture(team), [first, (32, *first[1:]), (16, "own_first", "copy"), (16, "ring", "push"), (16, "all", "pull")])


if __name__ == "__main__":
    team = tandem.init()
    main(team)
    if team.rank == 0:
        print(f"{team.size} ranks gathered {team.size * TOKENS} tokens for {EXPERTS} experts, with other tiles, orders and resources")
