"""Products whose rows a channel brings, of sizes that are no whole tiles, steps and slices."""

import numpy as np
import pytest

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link

TILE, STEP = 16, 32


@tandem.jit
def gathered_product(
    a_ptr, b_ptr, c_ptr, words_ptr, n, k, pitch, shard,
    WIDTH: tl.constexpr, BLOCKS: tl.constexpr, SLICES: tl.constexpr, TILE: tl.constexpr, STEP: tl.constexpr,
):  # fmt: skip
    """Shards of `shard` rows stand `pitch` rows apart."""
    ranks = dl.num_ranks()
    channel = link.StreamChannel(words_ptr, 1, pitch)
    product = link.Product(b_ptr, n, k, TILE, WIDTH, STEP, BLOCKS, False)
    result = link.Result(product, c_ptr, ranks * shard, False)
    a = product.rows_of(a_ptr, ranks * pitch)
    steps, columns, tiles = tl.cdiv(k, STEP), tl.cdiv(n, WIDTH), tl.cdiv(pitch, TILE)
    for item in range(tl.program_id(0), ranks * tiles * columns, tl.num_programs(0)):
        tile, column = link.tile_at(item // columns, tiles, "ring"), item % columns * WIDTH
        owner, row = tile // tiles, tile % tiles * TILE
        feed = link.ShardRows(channel, owner, row, tl.cdiv(steps, SLICES))
        sums = product.tile(a, owner * pitch + row, pitch - row, column, 0, steps, feed)
        result.store(sums, owner * shard + row, column, shard - row)
    if link.call_ends(channel, tl.num_programs(0)):
        link.end_call(channel, SLICES)


def check(ranks, shard, n, k, width, blocks, slices, seed=0):
    pitch = -(-shard // TILE) * TILE
    draw = np.random.default_rng(seed)
    calls = [[draw.integers(-2, 3, shape).astype(np.float16) for shape in ((ranks, shard, k), (k, n))] for _ in range(3)]

    def main(team):
        a, c = team.zeros((ranks * pitch, k), "float16", name="a"), team.local_empty((ranks * shard, n), "float32")
        words, copies = link.stream_words(team, 1), team.new_stream()
        first = team.rank * pitch
        for rows, b in calls:
            a[first : first + shard] = rows[team.rank]
            copies.wait_event(team.stream.record_event())
            link.rank_copy_slices(team, copies, a, words, ranks * pitch, pitch, 1, pitch, slices, STEP)
            shape = {"WIDTH": width, "BLOCKS": blocks, "SLICES": slices, "TILE": TILE, "STEP": STEP}
            gathered_product[(3,)](a, team.local_from_array(b), c, words, n, k, pitch, shard, **shape)
            team.stream.wait_event(copies.record_event())
            whole = rows.reshape(-1, k).astype(np.float32) @ b.astype(np.float32)
            np.testing.assert_array_equal(np.asarray(c), whole)

    assert tandem.launch(main, ranks=ranks, seed=seed, check=True).reports == []


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
@pytest.mark.parametrize("blocks, width, n", [(True, 16, 40), (True, 48, 88), (False, 16, 21)])
def test_sizes(ranks, blocks, width, n):
    for seed, (shard, k, slices) in enumerate([(32, 96, 3), (21, 200, 3), (5, 72, 4), (17, 32, 2)]):
        check(ranks, shard, n, k, width, blocks, slices, seed)


def test_a_width_that_pointers_do_not_have():
    with pytest.raises(tandem.CompileError, match="the width of a tile must be a power of two"):
        check(2, 32, 48, 64, 48, False, 2)


def test_slices_that_are_no_whole_steps(monkeypatch):
    whole = link.rank_copy_slices
    monkeypatch.setattr(link, "rank_copy_slices", lambda *given: whole(*given[:-1]))
    with pytest.raises(tandem.SimulationError, match="race: .*`a`"):
        for seed in range(6):
            check(3, 32, 40, 200, 16, True, 3, seed)
