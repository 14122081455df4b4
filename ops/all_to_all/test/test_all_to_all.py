"""AllToAll on simulated ranks, under the checker: equal and unequal counts, in packets and by copies, types, repeated calls, errors."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllToAll, rows_of_rank

PACKETS = [0, 1 << 20]  # by copies, in packets


def matrix(counts, ranks):
    return [[rows_of_rank(counts, ranks, r) for r in range(ranks)]] * ranks if isinstance(counts, int) else counts


def rows_from(rank, counts, columns, dtype, ranks, seed=0):
    count = sum(matrix(counts, ranks)[rank])
    return np.random.default_rng([seed, rank, columns]).integers(0, 120, (count, columns)).astype(as_dtype(dtype))


def expected(rank, counts, columns, dtype, ranks, seed=0):
    table, parts = matrix(counts, ranks), []
    for source in range(ranks):
        first = sum(table[source][:rank])
        parts.append(rows_from(source, counts, columns, dtype, ranks, seed)[first : first + table[source][rank]])
    return np.concatenate(parts)


def drawn(ranks, seed, most=9):
    """Unequal counts: none at all for one rank, all of one rank's for one other."""
    counts = np.random.default_rng(seed).integers(0, most, (ranks, ranks))
    counts[:, seed % ranks] = 0
    counts[(seed + 1) % ranks] = 0
    counts[(seed + 1) % ranks, (seed + 2) % ranks] = 2 * most
    return counts.tolist()


@pytest.mark.parametrize("packets_bytes", PACKETS)
@pytest.mark.parametrize("columns, dtype", [(1, "fp16"), (7, "int8"), (64, "bf16"), (33, "fp32"), (5, "int16"), (3, "fp64")])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_counts(ranks, columns, dtype, packets_bytes):
    def main(team):
        with AllToAll(team, 90, columns, dtype, packets_bytes=packets_bytes) as op:
            outs = [op(rows_from(team.rank, c, columns, dtype, ranks), c) for c in given]
            return [np.array(out) for out in outs]

    alike = [[5] * ranks] * ranks
    given = [16, 1, drawn(ranks, 0), 13, drawn(ranks, 1), matrix(13, ranks), drawn(ranks, 2), alike]
    for seed, slots in enumerate([None, 1]):
        result = tandem.launch(main, ranks=ranks, seed=seed, slots_per_rank=slots, check=True)
        assert result.reports == []
        for rank, values in enumerate(result.values):
            for value, counts in zip(values, given):
                assert value.tobytes() == expected(rank, counts, columns, dtype, ranks).tobytes()


@pytest.mark.parametrize("packets_bytes", [0, 600, 1 << 20])
@pytest.mark.parametrize("ranks", [2, 4])
def test_many_calls_on_one_operator(ranks, packets_bytes):
    given = [64, 1, drawn(ranks, 3, 12), 64, drawn(ranks, 4), 5, drawn(ranks, 3, 12), 50, [[0] * ranks] * ranks, 2, 64]

    def main(team):
        op = AllToAll(team, 64, 12, "fp16", programs=3, num_warps=1, packets_bytes=packets_bytes)
        inputs = [team.local_from_array(rows_from(team.rank, c, 12, "fp16", ranks, seed=i)) for i, c in enumerate(given)]
        outs = []
        for counts, x in zip(given, inputs):
            outs.append(op(x, counts))
            if x.size:
                team.stream.memset(x, 255)  # the next item of the stream
        return [np.array(o) for o in outs]

    for seed in range(6):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for rank, values in enumerate(result.values):
            for i, counts in enumerate(given):
                assert values[i].tobytes() == expected(rank, counts, 12, "fp16", ranks, seed=i).tobytes()


@pytest.mark.parametrize("packets_bytes", PACKETS)
def test_calls_in_which_no_rank_sends(packets_bytes):
    """A rank may go through such a call while others are still in the one before it."""

    def main(team):
        op = AllToAll(team, 8, 4, "int32", programs=1, num_warps=1, packets_bytes=packets_bytes)
        return [np.array(op(rows_from(team.rank, c, 4, "int32", ranks, seed=i), c)) for i, c in enumerate(given)]

    ranks = 4
    given = [8, [[0] * ranks] * ranks] * 12
    for seed in range(8):
        result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
        assert result.reports == []
        for rank, values in enumerate(result.values):
            for i, counts in enumerate(given):
                assert values[i].tobytes() == expected(rank, counts, 4, "int32", ranks, seed=i).tobytes()


@pytest.mark.parametrize("packets_bytes", PACKETS)
def test_symmetric_results(packets_bytes):
    counts = [[1, 5, 2], [0, 3, 4], [6, 0, 1]]

    def main(team):
        op = AllToAll(team, 12, 6, "fp32", packets_bytes=packets_bytes)
        out = team.empty((8, 6), "float32")
        mine = out[: len(expected(team.rank, counts, 6, "fp32", 3))]
        for _ in range(3):
            op(rows_from(team.rank, counts, 6, "fp32", 3), counts, out=mine, symmetric_out=True)
        return np.array(mine)

    for seed in range(4):
        result = tandem.launch(main, ranks=3, seed=seed, check=True)
        assert result.reports == []
        for rank, value in enumerate(result.values):
            assert value.tobytes() == expected(rank, counts, 6, "fp32", 3).tobytes()


def test_a_result_of_no_rows_is_symmetric_too():
    """Its address says where the others' results are."""
    counts = [[0, 2], [0, 3]]

    def main(team):
        out = team.empty((8, 6), "float32")[2 : 2 + 5 * team.rank]
        with AllToAll(team, 12, 6, "fp32", packets_bytes=0) as op:
            op(rows_from(team.rank, counts, 6, "fp32", 2), counts, out=out, symmetric_out=True)
            found = np.array(out)
            if team.rank == 0:
                with pytest.raises(RuntimeError, match="`out` is to be symmetric: .* is not in rank 0's symmetric memory"):
                    op(rows_from(0, counts, 6, "fp32", 2), counts, out=team.local_empty((0, 6)), symmetric_out=True)
        return found

    result = tandem.launch(main, ranks=2, check=True)
    assert result.reports == []
    for rank, value in enumerate(result.values):
        assert value.tobytes() == expected(rank, counts, 6, "fp32", 2).tobytes()


def failing(counts, rows, message, **given):
    def main(team):
        AllToAll(team, 8, 4, "fp32")(np.zeros((rows, 4), np.float32), counts(team.rank) if callable(counts) else counts, **given)

    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        tandem.launch(main, ranks=2)


def test_wrong_arguments():
    failing(8, 9, r"`x` has shape \[9, 4\], \[8, 4\] is needed")
    failing(9, 9, "`counts`: rank 0 sends 9 rows, the operator was made for up to 8")
    failing([[1, 2]], 3, "`counts` must be 2 lists of 2 numbers")
    failing([[1, 2], [3]], 3, "`counts` must be 2 lists of 2 numbers")
    failing([[1, -2], [3, 4]], -1, "negative dimensions|`x` has shape|sends -2 rows")
    failing([[8, 1], [0, 0]], 9, "`x` has shape|rank 0 sends 9 rows, the operator was made for up to 8")
    failing([[1, 2.5], [3, 4]], 3, "float")
    failing(2.5, 3, "`counts` must be an integer, not 2.5")
    failing(
        lambda rank: [[1, 2], [2, 1 + rank]], 3, "with symmetric_out 0, counts 1, 2, 2, 2, where rank 0's is .* counts 1, 2, 2, 1|has shape"
    )


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
