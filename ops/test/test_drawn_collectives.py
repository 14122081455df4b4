"""Collectives with sizes, types, places, options and orders of calls that nobody chose: several operators on two streams, tensors that
begin anywhere, results over their operands, in symmetric memory or not, on up to eight ranks, under the checker."""

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter, rows_of_rank, shard_rows

SUMMED = ["fp16", "bf16", "fp32"]
ANY = [*SUMMED, "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float64", "fp8e4nv", "fp8e5", "bool"]
GUARD, MOST_BEGIN = 3, 8  # elements or rows behind a tensor, and ahead of it


class Drawn:
    """One operator on all ranks, and its calls."""

    def __init__(self, draw, ranks):
        self.draw, self.ranks, self.name = draw, ranks, str(draw.choice(list(MADE)))
        self.dtype = str(draw.choice(SUMMED if self.name in ("all_reduce", "reduce_scatter") else ANY))
        self.most, self.columns = int(draw.integers(1, 40)), int(draw.choice([1, 2, 7, 16, 33]))
        self.options = {"programs": int(draw.integers(1, 6)), "num_warps": int(draw.choice([1, 2, 4]))}
        if draw.random() < 0.5:
            self.options["chunk_bytes"] = int(draw.integers(1, 2000))
        if self.name == "all_reduce":
            self.options["way"] = str(draw.choice(["one_shot", "two_shot_packets", "two_shot"]))
        else:
            self.options["packets_bytes"] = int(draw.choice([0, 15, 200, 1 << 20]))
        self.stream = int(draw.integers(0, 2))

    def made(self, team):
        if self.name in ("all_reduce", "broadcast"):
            return MADE[self.name](team, self.most * self.columns, self.dtype, **self.options)
        return MADE[self.name](team, self.most, self.columns, self.dtype, **self.options)

    def call(self):
        """What each rank gives and gets, and the numbers of the call."""
        draw, ranks, columns = self.draw, self.ranks, self.columns
        m = int(draw.integers(1, self.most + 1))
        shares = [rows_of_rank(m, ranks, rank) for rank in range(ranks)]
        drawn = lambda rows: draw.integers(-3 * (self.dtype[0] != "u"), 4, rows * columns).astype(as_dtype(self.dtype))
        if self.name == "all_gather":
            xs = [drawn(n) for n in shares]
            return xs, [np.concatenate(xs)] * ranks, (m,)
        if self.name == "all_to_all":
            counts = [shares] * ranks
            if draw.random() < 0.6:
                most = shard_rows(self.most, ranks)
                counts = draw.integers(0, most + 1, (ranks, ranks)) * (draw.random((ranks, ranks)) < 0.7)
                counts = [[int(n) for n in row] for row in counts]
            xs = [drawn(sum(row)) for row in counts]
            parts = [np.split(x, np.cumsum(row[:-1]) * columns) for x, row in zip(xs, counts)]
            given = counts if counts[0] is not shares else m
            return xs, [np.concatenate([of[rank] for of in parts]) for rank in range(ranks)], (given,)
        xs = [drawn(m) for _ in range(ranks)]
        if self.name == "broadcast":
            root = int(draw.integers(0, ranks))
            return xs, [xs[root]] * ranks, (root,)
        total = sum(x.astype(np.float32) for x in xs).astype(xs[0].dtype)
        if self.name == "all_reduce":
            return xs, [total] * ranks, ()
        ends = np.cumsum(shares) * columns
        return xs, [total[end - n * columns : end] for end, n in zip(ends, shares)], (m,)


MADE = {"all_gather": AllGather, "all_reduce": AllReduce, "all_to_all": AllToAll, "broadcast": Broadcast, "reduce_scatter": ReduceScatter}


def placed(values, begin, columns):
    """The values, or rows of them, from number `begin` on of an array of ones that goes on behind them."""
    shape = (columns,) if columns else ()
    rows = values.reshape(-1, *shape) if len(values) else values.reshape(0, *shape)
    array = np.full((begin + len(rows) + GUARD, *shape), 1).astype(values.dtype)
    array[begin : begin + len(rows)] = rows
    return array


def tensors(team, operator, x, want, m, begins, in_place, symmetric):
    """What a call reads and writes on this rank, the array that it writes to, and what that holds then. `m`: of a call that deals rows."""
    flat = operator.name in ("all_reduce", "broadcast")
    columns = 0 if flat else operator.columns
    rows = lambda values: len(values) // max(columns, 1)
    at, to = begins
    before = np.full_like(want, 0)
    if in_place and operator.name == "reduce_scatter":  # the result is where its own rows were
        array = team.local_from_array(placed(x, at, columns))
        read = array[at : at + rows(x)]
        first = min(team.rank * shard_rows(m, team.size), m)
        x = x.copy()
        x[first * columns :][: len(want)] = want
        return read, read[first : first + rows(want)], array, placed(x, at, columns)
    first = min(team.rank * shard_rows(m, team.size), m) if operator.name == "all_gather" else 0
    if in_place:
        before[first * max(columns, 1) :][: len(x)] = x
    array = placed(before, to, columns)
    if symmetric:
        most = operator.most * (operator.columns if flat else 1) + team.size
        room = team.empty((most + MOST_BEGIN + GUARD, *array.shape[1:]), array.dtype)
        room[: len(array)] = array
        array = room[: len(array)]
    else:
        array = team.local_from_array(array)
    out = array[to : to + rows(want)]
    if in_place:
        return out[first : first + rows(x)], out, array, placed(want, to, columns)
    return team.local_from_array(placed(x, at, columns))[at : at + rows(x)], out, array, placed(want, to, columns)


@pytest.mark.parametrize("seed", range(40))
def test_drawn_calls(seed):
    draw = np.random.default_rng(seed)
    ranks = int(draw.choice([1, 2, 3, 5, 6, 7, 8]))
    operators = [Drawn(draw, ranks) for _ in range(int(draw.integers(1, 4)))]
    calls = []
    for _ in range(int(draw.integers(3, 9))):
        which = int(draw.integers(0, len(operators)))
        name, call = operators[which].name, operators[which].call()
        begins = draw.integers(0, MOST_BEGIN + 1, (ranks, 2)).tolist()
        symmetric = bool(draw.random() < 0.3) and name != "reduce_scatter"
        if symmetric:
            begins = [[at, begins[0][1]] for at, _ in begins]
        calls.append((which, call, begins, bool(draw.random() < 0.3) and name != "all_to_all", symmetric))

    def main(team):
        made = [operator.made(team) for operator in operators]
        streams = [team.stream, team.new_stream()]
        kept = []
        for which, (xs, wanted, numbers), begins, in_place, symmetric in calls:
            operator, rank = operators[which], team.rank
            m = 0 if operator.name == "all_to_all" else sum(numbers)
            x, out, *written = tensors(team, operator, xs[rank], wanted[rank], m, begins[rank], in_place, symmetric)
            given = {"symmetric_out": True} if symmetric else {}
            made[which](x, *numbers, out=out, stream=streams[operator.stream], **given)
            kept.append(written)
        team.synchronize()
        for operator in made:
            operator.close()
        return [np.array(array).tobytes() == want.tobytes() for array, want in kept]

    policy = "slowest-rank" if seed % 3 == 2 else "random"
    result = tandem.launch(main, ranks=ranks, seed=seed, check=True, policy=policy)
    assert result.reports == []
    assert all(map(all, result.values)), [(operators[c[0]].name, v) for v, c in zip(zip(*result.values), calls)]
