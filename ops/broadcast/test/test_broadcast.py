"""Broadcast on simulated ranks, under the checker: in packets and by copies, sizes, types, roots, repeated calls, errors."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import Broadcast

PACKETS = [0, 1 << 20]  # by copies, in packets


def data_of(rank, count, dtype):
    return np.random.default_rng([rank, count]).integers(0, 120, count).astype(as_dtype(dtype))


def check(values, x):
    for value in values:
        assert value.tobytes() == x.tobytes()


@pytest.mark.parametrize("packets_bytes", PACKETS)
@pytest.mark.parametrize(
    "count, dtype", [(1, "fp16"), (37, "int8"), (1024, "bf16"), (4301, "fp32"), (513, "fp64"), (6, "int16"), (64, "int64")]
)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_sizes(ranks, count, dtype, packets_bytes):
    root = count % ranks

    def main(team):
        with Broadcast(team, count, dtype, packets_bytes=packets_bytes) as op:
            return np.array(op(data_of(team.rank, count, dtype), root))

    for seed, slots in enumerate([None, 1]):
        result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
        assert result.reports == []
        check(result.values, data_of(root, count, dtype))


@pytest.mark.parametrize("packets_bytes", [0, 4000, 1 << 20])
@pytest.mark.parametrize("ranks", [2, 3, 8])
def test_many_calls_with_changing_roots(ranks, packets_bytes):
    calls = [(count, root % ranks) for count, root in [(700, 0), (1, 0), (700, 0), (1, 1), (900, 7), (5, 7), (700, 0), (3, 2), (900, 1)]]

    def main(team):
        op = Broadcast(team, 900, "fp16", programs=3, num_warps=1, packets_bytes=packets_bytes)
        given = [team.local_from_array(data_of(10 * i + team.rank, count, "fp16")) for i, (count, _) in enumerate(calls)]
        outs = []
        for (_, root), x in zip(calls, given):
            outs.append(op(x, root))
            team.stream.memset(x, 255)  # the next item of the stream
        return [np.array(o) for o in outs]

    for seed in range(6):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for i, (count, root) in enumerate(calls):
            check([value[i] for value in result.values], data_of(10 * i + root, count, "fp16"))


@pytest.mark.parametrize("packets_bytes", PACKETS)
@pytest.mark.parametrize("symmetric", [False, True])
def test_in_place_and_in_symmetric_memory(packets_bytes, symmetric):
    def main(team):
        op = Broadcast(team, 300, "fp32", packets_bytes=packets_bytes)
        x = (team.from_array if symmetric else team.local_from_array)(data_of(team.rank, 300, "fp32"))
        assert op(x, 1, out=x, symmetric_out=symmetric) is x
        first = np.array(x)
        op(x, 1, out=x, symmetric_out=symmetric)
        return first, np.array(x)

    for seed in range(4):
        result = tandem.launch(main, ranks=3, seed=seed, check=True)
        assert result.reports == []
        for which in range(2):
            check([value[which] for value in result.values], data_of(1, 300, "fp32"))


@pytest.mark.parametrize(
    "body, message",
    [
        (lambda team: Broadcast(team, 8, "fp32")(np.zeros(9, np.float32), 0), "`x` has 9 elements, the operator was made for 1 to 8"),
        (lambda team: Broadcast(team, 8, "fp32")(np.zeros(8, np.float32), 2), "`root` is 2, 0 to 1 are possible"),
        (lambda team: Broadcast(team, 8, "fp32")(np.zeros(8, np.float32), -1), "`root` is -1, 0 to 1 are possible"),
        (lambda team: Broadcast(team, 8, "fp32")(np.zeros(8, np.float32), 0.5), "`root` must be an integer, not 0.5"),
        (
            lambda team: Broadcast(team, 8, "fp32")(np.zeros(8, np.float32), team.rank),
            "with elements 8, root 1, .* with elements 8, root 0",
        ),
        (lambda team: Broadcast(team, 8, "fp32")(np.zeros(8, np.float16), 0), "`x` is fp16, the operator was made for fp32"),
        (lambda team: Broadcast(team, 0, "fp32"), "`max_elements` is 0"),
        (lambda team: Broadcast(team, 8, "fp32", words=3), "`broadcast` has no option `words`; it takes `programs`"),
    ],
)
def test_wrong_arguments(body, message):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        tandem.launch(body, ranks=2)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
