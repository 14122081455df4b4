"""AllGather on simulated ranks, under the checker: in packets and by copies, sizes, types, repeated calls, errors."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllGather, rows_of_rank, shard_rows

PACKETS = [0, 1 << 20]  # by copies, in packets


def whole(m, columns, dtype, seed=0):
    return np.random.default_rng([seed, m, columns]).integers(0, 120, (m, columns)).astype(as_dtype(dtype))


def own_rows(x, team):
    first = team.rank * shard_rows(len(x), team.size)
    return x[first : first + rows_of_rank(len(x), team.size, team.rank)]


def check(values, x):
    for value in values:
        assert value.tobytes() == x.tobytes()


@pytest.mark.parametrize("packets_bytes", PACKETS)
@pytest.mark.parametrize(
    "m, columns, dtype",
    [(1, 1, "fp16"), (3, 7, "int8"), (16, 64, "bf16"), (130, 33, "fp32"), (57, 9, "fp64"), (64, 5, "int16"), (40, 8, "int64")],
)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_sizes(ranks, m, columns, dtype, packets_bytes):
    x = whole(m, columns, dtype)

    def main(team):
        with AllGather(team, m, columns, dtype, packets_bytes=packets_bytes) as op:
            return np.array(op(own_rows(x, team), m))

    for seed, slots in enumerate([None, 1]):
        result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
        assert result.reports == []
        check(result.values, x)


@pytest.mark.parametrize("packets_bytes", [0, 1000, 1 << 20])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_many_calls_on_one_operator(ranks, packets_bytes):
    sizes = [64, 1, 64, 1, 1, 37, 64, 5, 50, 2, 64]
    data = [whole(m, 12, "fp16", seed=i) for i, m in enumerate(sizes)]

    def main(team):
        op = AllGather(team, 64, 12, "fp16", programs=3, num_warps=1, packets_bytes=packets_bytes)
        given = [team.local_from_array(own_rows(x, team)) for x in data]
        outs = []
        for m, x in zip(sizes, given):
            outs.append(op(x, m))
            team.stream.memset(x, 255)  # the next item of the stream
        return [np.array(o) for o in outs]

    for seed in range(6):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for i, x in enumerate(data):
            check([value[i] for value in result.values], x)


def test_element_types_by_the_kernel_languages_words():
    def main(team):
        op = AllGather(team, 4, 2, "i8")
        return str(np.array(op(np.full((2, 2), team.rank, np.int8), 4)).dtype)

    assert tandem.launch(main, ranks=2).values == ["int8", "int8"]


@pytest.mark.parametrize("packets_bytes", PACKETS)
def test_symmetric_results_and_rows_in_place(packets_bytes):
    x = whole(20, 6, "fp32")

    def main(team):
        op = AllGather(team, 20, 6, "fp32", packets_bytes=packets_bytes)
        out = team.empty((20, 6), "float32")
        for _ in range(3):
            assert op(own_rows(x, team), 20, out=out, symmetric_out=True) is out
        first = team.rank * shard_rows(20, team.size)
        mine = out[first : first + rows_of_rank(20, team.size, team.rank)]
        op(mine, 20, out=out, symmetric_out=True)
        return np.array(out)

    for seed in range(4):
        result = tandem.launch(main, ranks=4, seed=seed, check=True)
        assert result.reports == []
        check(result.values, x)


@pytest.mark.parametrize(
    "body, message",
    [
        (lambda team: AllGather(team, 8, 4, "fp32")(np.zeros((5, 4), np.float32), 9), "`m` is 9, the operator was made for 1 to 8"),
        (lambda team: AllGather(team, 8, 4, "fp32")(np.zeros((8, 4), np.float32), 8), r"`x` has shape \[8, 4\], \[4, 4\] is needed"),
        (lambda team: AllGather(team, 8, 4, "fp32")(np.zeros((4, 4), np.float16), 8), "`x` is fp16"),
        (lambda team: AllGather(team, 8, 4, "fp32")(np.zeros((4, 4), np.float32), 8.0), "`m` must be an integer, not 8.0"),
        (lambda team: AllGather(team, 8, 4, "fp32")([[0.0] * 4] * 4, 8), "`x` must be an array or a tensor of the team, not `list`"),
        (lambda team: AllGather(team, 0, 4, "fp32"), "`max_m` is 0"),
        (lambda team: AllGather(team, 8, 4, "fp32", words=3), "no option `words`"),
    ],
)
def test_wrong_arguments(body, message):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        tandem.launch(body, ranks=2)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
