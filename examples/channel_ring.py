"""GEMM + ReduceScatter around a ring, over channels.

Each rank multiplies its columns of A with its rows of B; the sum over the ranks goes around the ring, tile by tile, and each rank ends up
with its rows of it. Three choices change by themselves: the rows of a tile, the order of a stage's tiles, and whether a rank stores what
it has added into its neighbour's memory or the neighbour loads it.

tandem run --ranks 4 examples/channel_ring.py
"""

import numpy as np

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link

ROWS, COLUMNS, INNER, BLOCK = 40, 48, 32, 16  # rows of a rank, columns, inner size of a rank
TILES, ORDERS, RESOURCES = [8, 16, 32], ["rows", "columns", "backwards"], ["push", "pull"]


@tandem.jit(do_not_specialize=["call"])  # it grows with each call
def product_ring(
    a_ptr, b_ptr, out_ptr, parts_ptr, words_ptr, begun_ptr, call, m, n, k, shard_rows,
    TILE: tl.constexpr, BLOCK: tl.constexpr, ORDER: tl.constexpr, RESOURCE: tl.constexpr,
):  # fmt: skip
    """Sums of a tile go around against the ranks' order; each rank adds its product, and the tile's owner is the last one. A tile has a
    channel of its own for each block of columns."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    left = (rank + ranks - 1) % ranks
    right = (rank + 1) % ranks
    to = left if RESOURCE == "push" else rank
    source = rank if RESOURCE == "push" else right
    tiles = tl.cdiv(shard_rows, TILE)
    columns = tl.cdiv(n, BLOCK)
    channel = link.BlockChannel(words_ptr, begun_ptr, call, m, shard_rows, 1, TILE, TILE, TILE)
    if tl.program_id(0) == 0:
        link.rank_notify(channel, right)  # it has read, or may write, what was of the call before
    parts = dl.consume_token(parts_ptr, link.rank_wait(channel, left))
    for stage in range(ranks):
        segment = (rank + 1 + stage) % ranks
        for item in range(tl.program_id(0), tiles * columns, tl.num_programs(0)):
            nth = tiles * columns - 1 - item if ORDER == "backwards" else item
            tile = segment * tiles + (nth % tiles if ORDER == "columns" else nth // columns)
            block = nth // tiles if ORDER == "columns" else nth % columns
            column = block * BLOCK
            of_block = link.BlockChannel(words_ptr + block * (ranks * tiles), begun_ptr, call, m, shard_rows, 1, TILE, TILE, TILE)
            a, in_rows = link.tile_addresses(of_block, a_ptr, k, tile, 0, BLOCK)
            across = column + tl.arange(0, BLOCK)
            acc = tl.zeros((TILE, BLOCK), tl.float32)
            for begin in range(0, k, BLOCK):
                inner = begin + tl.arange(0, BLOCK)
                x = tl.load(a + begin, mask=in_rows & (inner < k)[None, :], other=0)
                y = tl.load(b_ptr + inner[:, None] * n + across[None, :], mask=(inner < k)[:, None] & (across < n)[None, :], other=0)
                acc = tl.dot(x, y, acc)
            if stage > 0:
                arrived = dl.consume_token(parts, link.peer_tile_wait(of_block, tile))
                acc += link.tile_pull_data(of_block, arrived, n, tile, column, n, source, BLOCK)
            if segment != rank:
                link.tile_push_data(of_block, parts, n, tile, column, acc, n, to)
                link.peer_tile_notify(of_block, tile, left)
            else:
                out, _ = link.tile_addresses(of_block, out_ptr - rank * shard_rows * n, n, tile, column, BLOCK)
                tl.store(out, acc, mask=in_rows & (across < n)[None, :])


class Ring:
    """The memory of one rank, and a call with any of the three choices, for `m` rows of all ranks."""

    def __init__(self, team, m=None, n=COLUMNS, k=INNER):
        self.team, self.m, self.n, self.k = team, m or ROWS * team.size, n, k
        self.shard_rows = -(-self.m // team.size)
        self.parts = team.empty((team.size * self.shard_rows, n), "float32", name="parts")
        self.words, self.calls = {}, {}  # by the rows of a tile

    def __call__(self, a, b, out, tile=TILES[0], order=ORDERS[0], resource=RESOURCES[0]):
        if tile not in self.words:
            count = -(-self.n // BLOCK) * self.team.size * link.channels_of.fn(self.shard_rows, tile)
            self.words[tile] = [self.team.zeros(size, "int64", name=f"signals of {tile}") for size in (count, self.team.size)]
            self.calls[tile] = 0
        self.team.barrier()  # calls with another tile or resource have other words
        self.calls[tile] += 1
        product_ring[(3,)](
            a, b, out, self.parts, *self.words[tile], self.calls[tile], self.m, self.n, self.k, self.shard_rows,
            TILE=tile, BLOCK=BLOCK, ORDER=order, RESOURCE=resource,
        )  # fmt: skip


def check(team, ring, choices, seed=0):
    """Calls with different choices, and what they give."""
    draw = np.random.default_rng(seed)
    for choice in choices:
        lefts, rights = (draw.integers(-2, 3, (team.size, *shape)).astype(np.float16) for shape in ((ring.m, ring.k), (ring.k, ring.n)))
        out = team.local_from_array(np.zeros((ring.shard_rows, ring.n), np.float32))
        ring(team.local_from_array(lefts[team.rank]), team.local_from_array(rights[team.rank]), out, *choice)
        whole = np.sum([x.astype(np.float32) @ y.astype(np.float32) for x, y in zip(lefts, rights)], axis=0)
        want = whole[team.rank * ring.shard_rows : (team.rank + 1) * ring.shard_rows]
        np.testing.assert_array_equal(np.array(out)[: len(want)], want)


def main(team):
    first = TILES[0], ORDERS[0], RESOURCES[0]
    check(team, Ring(team), [first, (16, *first[1:]), (8, "columns", "push"), (8, "rows", "pull"), (32, "backwards", "pull")])


if __name__ == "__main__":
    team = tandem.init()
    main(team)
    if team.rank == 0:
        print(f"{team.size} ranks added their products around the ring, with other tiles, orders and resources")
