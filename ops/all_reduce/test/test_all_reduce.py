"""AllReduce against float64 on simulated ranks, under the checker: ways, sizes, types, schedules, repeated calls, errors."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllReduce, all_reduce_way

WAYS = ["one_shot", "two_shot_packets", "two_shot"]
TOLERANCE = {"fp32": 1e-6, "fp16": 1e-3, "bf16": 8e-3}


def inputs(ranks, n, dtype, seed=0):
    generator = np.random.default_rng([seed, n])
    return [generator.standard_normal(n).astype(as_dtype(dtype)) for _ in range(ranks)]


def in_rank_order(xs):
    """What every way must give, to the bit."""
    total = np.zeros(xs[0].shape, np.float32)
    for x in xs:
        total = total + x.astype(np.float32)
    return total.astype(xs[0].dtype)


def check(values, xs, dtype):
    want = sum(x.astype(np.float64) for x in xs)
    for value in values:
        assert value.tobytes() == in_rank_order(xs).tobytes()
        assert np.linalg.norm(value.astype(np.float64) - want) <= TOLERANCE[dtype] * np.linalg.norm(want)


def run(ranks, n, dtype, way, seed=0, slots=None, **config):
    xs = inputs(ranks, n, dtype)

    def main(team):
        with AllReduce(team, n, dtype, way, **config) as op:
            return np.array(op(xs[team.rank]))

    result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
    assert result.reports == []
    check(result.values, xs, dtype)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("n", [1, 2, 7, 64, 1001, 4096])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_sizes(ranks, n, way):
    run(ranks, n, ["fp16", "bf16", "fp32"][(n + ranks) % 3], way, seed=n)


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_many_slots_of_a_thread(ranks):
    for seed in range(4):
        run(ranks, 20003 - seed, "bf16", "one_shot", seed=seed, slots=[None, 1][seed % 2], programs=2, num_warps=1 << seed % 3)


@pytest.mark.parametrize("way", WAYS)
def test_schedules_and_few_resident_programs(way):
    for seed in range(6):
        run(4, 3000, "bf16", way, seed=seed, slots=[None, 1, 2][seed % 3], chunk_bytes=512)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_many_calls_on_one_operator(ranks, way):
    """Size and inputs change from call to call, nothing waits between them, and each result is the next one's neighbour in place."""
    sizes = [900, 1, 900, 33, 2, 900, 5, 512, 64, 900]
    data = [inputs(ranks, n, "fp16", seed=i) for i, n in enumerate(sizes)]

    def main(team):
        op = AllReduce(team, 900, "fp16", way, programs=3, num_warps=1, chunk_bytes=256)
        given = [team.local_from_array(xs[team.rank]) for xs in data]
        outs = [op(x, out=x if i % 2 else None) for i, x in enumerate(given)]
        return [np.array(o) for o in outs]

    for seed in range(5):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for i, xs in enumerate(data):
            check([value[i] for value in result.values], xs, "fp16")


def test_ways_that_follow_one_another():
    sizes = [1, 80 << 10, (2 << 20) + 5, 3, 70 << 10, (2 << 20) + 5]  # of fp32 on 4 ranks: each way
    assert [all_reduce_way(4 * n, 4) for n in sizes[:3]] == ["one_shot", "two_shot_packets", "two_shot"]
    data = [inputs(4, n, "fp32", seed=i) for i, n in enumerate(sizes)]

    def main(team):
        op = AllReduce(team, max(sizes), "fp32", programs=16)
        given = [team.local_from_array(xs[team.rank]) for xs in data]
        outs = [op(x) for x in given]
        return [np.array(o) for o in outs]

    values = tandem.launch(main, ranks=4).values
    for i, xs in enumerate(data):
        check([value[i] for value in values], xs, "fp32")


@pytest.mark.parametrize("dtype, nan", [("fp32", 0xFFFFFFFF), ("bf16", 0xFFFF), ("fp16", 0xFFFF)])
def test_data_that_looks_like_marks(dtype, nan):
    """NaNs with all bits set arrive as NaNs, in every second half of a slot; zeros keep what chunks make of their signs."""
    bits = np.zeros(96, np.uint32 if dtype == "fp32" else np.uint16)
    bits[np.arange(96) // (2 if dtype == "fp32" else 4) % 2 == 1] = nan
    x, zeros = bits.view(as_dtype(dtype)), (-np.zeros(96, np.float32)).astype(as_dtype(dtype))

    def main(team):
        ops = [AllReduce(team, 96, dtype, way) for way in ("one_shot", "two_shot_packets", "two_shot")]
        return [np.array(op(given)) for _ in range(3) for given in (x, zeros) for op in ops]

    for found in tandem.launch(main, ranks=3, check=True).values:
        for one, two, chunks, given in zip(found[::3], found[1::3], found[2::3], [x, zeros] * 3):
            kept = ~np.isnan(given.astype(np.float32))
            for packets in (one, two):
                np.testing.assert_array_equal(np.isnan(packets.astype(np.float32)), ~kept)
                assert packets[kept].tobytes() == chunks[kept].tobytes()


def test_symmetric_results():
    xs = inputs(4, 2000, "fp16")

    def main(team):
        op = AllReduce(team, 2000, "fp16", "two_shot", chunk_bytes=256)
        x = team.from_array(xs[team.rank])
        out = team.empty((2000,), "float16")
        op(x, out=out, symmetric_out=True)
        op(x, out=x, symmetric_out=True)
        return np.array(out), np.array(x)

    for seed in range(4):
        result = tandem.launch(main, ranks=4, seed=seed, check=True)
        assert result.reports == []
        for i in range(2):
            check([value[i] for value in result.values], xs, "fp16")


@pytest.mark.parametrize("way", WAYS)
def test_tensors_that_are_not_aligned(way):
    xs = inputs(2, 500, "fp16")

    def main(team):
        op = AllReduce(team, 500, "fp16", way)
        part = team.local_from_array(np.concatenate([np.zeros(3, np.float16), xs[team.rank]]))[3:]
        return np.array(op(part, out=part))

    result = tandem.launch(main, ranks=2, check=True)
    check(result.values, xs, "fp16")


def test_two_operators_on_two_streams():
    xs = inputs(2, 700, "fp32")

    def main(team):
        ops = [AllReduce(team, 700, "fp32", way) for way in ("one_shot", "two_shot")]
        streams = [team.stream, team.new_stream()]
        outs = [op(xs[team.rank], stream=stream) for op, stream in zip(ops, streams)]
        return [np.array(o) for o in outs]

    for seed in range(4):
        values = tandem.launch(main, ranks=2, seed=seed, check=True).values
        for i in range(2):
            check([v[i] for v in values], xs, "fp32")


def test_the_table():
    ways = [all_reduce_way(1 << i, 4) for i in range(30)]
    assert ways[0] == "one_shot" and ways[-1] == "two_shot" and sorted(ways, key=WAYS.index) == ways
    assert all_reduce_way(234 << 10, 4) == "one_shot" and all_reduce_way(235 << 10, 4) == "two_shot_packets"
    for ranks, most, way in ((2, 16 << 20, "one_shot"), (4, 8 << 20, "two_shot_packets")):
        assert all_reduce_way(most, ranks) == way and all_reduce_way(most + 1, ranks) == "two_shot"
    assert all_reduce_way(128 << 10, 8) == "two_shot_packets"
    assert "two_shot_packets" not in [all_reduce_way(1 << i, 2) for i in range(30)]


def failing(message, body):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        tandem.launch(body, ranks=2)


def test_wrong_arguments():
    zeros = lambda n, dtype=np.float32: np.zeros(n, dtype)
    failing(r"`x` has 11 elements, the operator was made for 1 to 10", lambda team: AllReduce(team, 10, "fp32")(zeros(11)))
    failing(r"`x` has 0 elements", lambda team: AllReduce(team, 10, "fp32")(zeros(0)))
    failing(r"`x` is fp16, the operator was made for fp32", lambda team: AllReduce(team, 10, "fp32")(zeros(4, np.float16)))
    failing(r"`out` has shape \[5\], \[4\]", lambda team: AllReduce(team, 10, "fp32")(zeros(4), out=team.local_empty((5,))))
    failing("fp16, bf16 or fp32 is needed, not i32", lambda team: AllReduce(team, 10, "int32"))
    failing("`max_elements` is 0", lambda team: AllReduce(team, 0, "fp32"))
    failing(r"1099511627776 times 1 elements of fp32 are more than 2\*\*40 bytes", lambda team: AllReduce(team, 2**40, "fp32"))
    failing("`max_elements` is -1", lambda team: AllReduce(team, -1, "fp32"))
    failing("`x` must be an array or a tensor of the team, not `NoneType`", lambda team: AllReduce(team, 10, "fp32")(None))
    with pytest.raises(OverflowError):
        tandem.launch(lambda team: AllReduce(team, 2**64, "fp32"))
    failing("`way` is 'ring'", lambda team: AllReduce(team, 10, "fp32", "ring"))
    failing("`warps`", lambda team: AllReduce(team, 10, "fp32", warps=3))


@pytest.mark.parametrize("way", ["one_shot", "two_shot_packets"])
def test_who_is_late_is_named(way):
    def main(team):
        op, never = AllReduce(team, 100, "fp32", way), team.zeros(1, "int64")
        if team.rank == 2:
            team.stream.signal_wait(never, 1)
        op(np.ones(100, np.float32))
        team.synchronize()

    with pytest.raises(tandem.SimulationError, match=r"packets` \+ \d+ of rank 0 \(a packet from rank 2\)"):
        tandem.launch(main, ranks=3)


def test_closed_operators_refuse():
    def main(team):
        op = AllReduce(team, 8, "fp32")
        op.close()
        op.close()
        op(np.zeros(8, np.float32))

    failing("the operator is closed", main)


def test_memory_comes_back():
    def main(team):
        for _ in range(20):
            with AllReduce(team, 1 << 24, "fp32"):
                pass

    assert tandem.launch(main, ranks=2).reports == []


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
