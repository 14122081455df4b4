"""Operators on teams of some of the ranks: rows and columns of a grid at once, lists in any order, and what is no team of the caller's."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.ops import (
    AgMoe,
    AllGather,
    AllGatherGemm,
    AllReduce,
    AllToAll,
    Broadcast,
    EpCombine,
    EpDispatch,
    GemmAllReduce,
    GemmReduceScatter,
    ReduceScatter,
    rows_of_rank,
    shard_rows,
    workspace,
)

GRIDS = [(2, 2), (2, 4), (4, 2)]
M, N = 7, 16


def numbers(shape, *seed, most=3):
    return np.random.default_rng(seed).integers(-most, most + 1, shape).astype(np.float32)


def own(rows, team):
    shard = shard_rows(len(rows), team.size)
    return rows[team.rank * shard :][: rows_of_rank(len(rows), team.size, team.rank)]


def rows_and_columns(team, columns):
    """The caller's row and column of a grid, and the members of both."""
    row, column = divmod(team.rank, columns)
    members = [row * columns + c for c in range(columns)], [r * columns + column for r in range(team.size // columns)]
    return [(team.split(of), of) for of in members]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("grid", GRIDS)
def test_collectives_on_rows_and_columns(grid, seed):
    """Each rank calls those of its row and of its column in turn, and some of the whole run between."""

    def main(team):
        all_of_run = AllReduce(team, N, "fp32")
        axes = rows_and_columns(team, grid[1])
        made = [
            [cls(axis, M, N, "fp32") for cls in (AllGather, ReduceScatter, AllToAll)]
            + [AllReduce(axis, M * N, "fp32"), Broadcast(axis, M * N, "fp32")]
            for axis, _ in axes
        ]
        for turn in range(3):
            for (axis, members), (gather, scatter, exchange, reduce, broadcast) in zip(axes, made):
                whole = numbers((M, N), seed, turn, *members)
                parts = [numbers((M, N), seed, turn, r, *members) for r in members]
                mine = parts[axis.rank]
                np.testing.assert_array_equal(np.array(gather(own(whole, axis), M)), whole)
                np.testing.assert_array_equal(np.array(scatter(mine, M)), own(sum(parts), axis))
                np.testing.assert_array_equal(np.array(reduce(mine)), sum(parts))
                np.testing.assert_array_equal(np.array(broadcast(mine, axis.size - 1)), parts[-1])
                came = np.concatenate([own(part, axis) for part in parts])
                np.testing.assert_array_equal(np.array(exchange(mine, M)), came)
            np.testing.assert_array_equal(np.array(all_of_run(np.full(N, team.rank, np.float32))), sum(range(team.size)))
        for operators in made:
            for operator in operators:
                operator.close()

    assert tandem.launch(main, ranks=grid[0] * grid[1], seed=seed, check=True).reports == []


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("ranks, members", [(4, [2, 0]), (6, [4, 1, 3]), (8, [7, 2, 5, 0])])
def test_products_on_a_list_of_ranks(ranks, members, seed):
    """The other ranks have a team of their own, with other sizes."""
    m, n, k = 9, 24, 32

    def main(team):
        mine = members if team.rank in members else [r for r in range(ranks) if r not in members]
        part, rows = team.split(mine), m if mine is members else m + 4
        a = [numbers((rows, k), seed, r, most=1) for r in mine]
        b = [numbers((k, n), seed, r, 1, most=1) for r in mine]
        whole = a[0]
        gathered = AllGatherGemm(part, rows, n, k, "fp32")(own(whole, part), b[part.rank], rows)
        np.testing.assert_array_equal(np.array(gathered), whole @ b[part.rank])
        product = sum(x @ y for x, y in zip(a, b))
        for chosen in ({}, {"chunks": 0, "few_rows": 0}, {"chunks": 2, "few_rows": 0}):
            scattered = GemmReduceScatter(part, rows, n, k, "fp32", **chosen)(a[part.rank], b[part.rank], rows)
            np.testing.assert_array_equal(np.array(scattered), own(product, part))
        np.testing.assert_array_equal(np.array(GemmAllReduce(part, rows, n, k, "fp32")(a[part.rank], b[part.rank], rows)), product)

    assert tandem.launch(main, ranks=ranks, seed=seed, check=True).reports == []


@pytest.mark.parametrize("grid", GRIDS)
def test_experts_apart_on_columns_and_divided_on_rows(grid):
    """Tokens go to the experts' ranks along a column; each rank of a row has a part of an expert's inner layer."""
    experts, top_k, hidden, inner = 2 * grid[0], 2, 8, 6

    def main(team):
        (row, _), (column, _) = rows_and_columns(team, grid[1])
        local, at = experts // column.size, column.rank * (experts // column.size)
        up, down = numbers((experts, inner, hidden), 1, row.rank, most=1), numbers((experts, hidden, inner), 2, row.rank, most=1)
        tokens = [numbers((3 - r % 2, hidden), 3, r, most=1) for r in range(column.size)]
        ids = [
            np.random.default_rng((4, r)).permuted(np.tile(np.arange(experts), (len(t), 1)), axis=1)[:, :top_k]
            for r, t in enumerate(tokens)
        ]
        x, mine = tokens[column.rank], np.ascontiguousarray(ids[column.rank], np.int32)
        weights = np.ones((len(x), top_k), np.float32)
        dispatch = EpDispatch(column, 4, hidden, experts, top_k, "fp32", by_expert=True)
        combine = EpCombine(column, 4, hidden, experts, top_k, "fp32")
        came = dispatch(x, mine, weights, len(x))
        spans = np.array(came[2])
        rows, h = np.array(came[0][: spans.max()]), np.zeros((4 * column.size * top_k, hidden), np.float32)
        for expert, (first, end) in enumerate(zip(*spans)):
            h[first:end] = rows[first:end] @ up[at + expert].T @ down[at + expert].T
        h = np.array(AllReduce(row, h.size, "fp32")(h)).reshape(h.shape)
        out = np.array(combine(h, came[1], mine, len(x)))
        every = [[numbers(shape, kind, r, most=1) for r in range(row.size)] for kind, shape in ((1, up.shape), (2, down.shape))]
        for token, chosen, found in zip(x, mine, out):
            np.testing.assert_array_equal(found, sum(u[e] @ token @ d[e].T for e in chosen for u, d in zip(*every)))
        assert local == len(spans[0])

    assert tandem.launch(main, ranks=grid[0] * grid[1], check=True).reports == []


def test_what_operators_share_is_a_teams_own():
    def main(team):
        part = team.split([team.rank ^ 1, team.rank] if team.rank % 2 == 0 else [team.rank, team.rank ^ 1])
        made = [AgMoe(on, 16, 8, 32, 4, 2, "fp32", shared=True) for on in (team, team, part)]
        users = [sorted({piece["users"] for piece in workspace(on)}) for on in (team, part)]
        for op in reversed(made):
            op.close()
        return users, workspace(team), workspace(part)

    assert tandem.launch(main, ranks=4, check=True).values == [([[2], [1]], [], [])] * 4


@tandem.jit
def read_peer(x_ptr, out_ptr, peer):
    tl.store(out_ptr, tl.load(dl.symm_at(x_ptr, peer)))  # noqa: the line that is reported


def test_the_runs_numbers_in_a_team_are_found():
    """A kernel of the whole run that reads a team's memory on a peer by its number in the run."""

    def main(team):
        if team.rank % 2:
            part = team.split([1, 3])
            x = part.zeros(4, "fp32", name="x")
            read_peer[(1,)](x, team.local_empty(4, "fp32"), 3 if team.rank == 1 else 1)

    with pytest.raises(
        tandem.SimulationError, match=r"`x` of rank \d is memory of the team of ranks 1, 3, and the kernel runs on all ranks"
    ) as found:
        tandem.launch(main, ranks=4, check=True)
    assert found.value.reports[0]["line"] == next(
        n for n, line in enumerate(pathlib.Path(__file__).read_text().splitlines(), 1) if line.endswith("# noqa: the line that is reported")
    )


def test_kernels_on_a_team_know_its_numbers():
    def main(team, goes_wrong):
        if team.rank % 2 == 0:
            return
        part = team.split([3, 1])
        x, out = part.full(4, team.rank, "fp32", name="x"), team.local_from_array(np.zeros(1, np.float32))
        part.barrier()
        with tandem.on(part):
            read_peer[(1,)](x, out, 1 - part.rank)
        assert np.array(out)[0] == 4 - team.rank
        part.barrier()
        if goes_wrong and team.rank == 1:
            with tandem.on(part):
                read_peer[(1,)](x, out, 3)

    assert tandem.launch(main, ranks=4, check=True, args=(False,)).reports == []
    with pytest.raises(tandem.SimulationError, match=r"peer 3 is outside 0\.\.1"):
        tandem.launch(main, ranks=4, check=True, args=(True,))


def test_memory_of_another_team_is_refused():
    def main(team):
        part = team.split([2, 0] if team.rank % 2 == 0 else [1, 3])
        out = team.zeros((2, 8), "fp32", name="world's")
        with pytest.raises(IndexError, match="rank 2 is not one of the team's 2 ranks"):
            part.zeros(4, "fp32").peer(2)
        op = AllReduce(part, 16, "fp32", way="two_shot")
        with pytest.raises(
            RuntimeError, match=r"`all_reduce`: `out` .*`world's` of rank \d is not in rank \d's symmetric memory of team \d+"
        ):
            op(np.zeros((2, 8), np.float32), out=out, symmetric_out=True)
        mine = part.zeros((2, 8), "fp32")
        op(np.full((2, 8), team.rank, np.float32), out=mine, symmetric_out=True)
        np.testing.assert_array_equal(np.array(mine), 2 if team.rank % 2 == 0 else 4)

    assert tandem.launch(main, ranks=4, check=True).reports == []


def test_ranks_outside_and_lists_that_differ():
    def outside(team):
        team.split([0, 2])

    with pytest.raises(RuntimeError, match="`members` is 0, 2: rank 1 is not a member of the team it creates"):
        tandem.launch(lambda team: outside(team) if team.rank == 1 else None, ranks=3)
    with pytest.raises(RuntimeError, match="`members` has rank 3, 0 to 2 are possible"):
        tandem.launch(lambda team: team._call(tandem._tandem.create_team, [0, 3], 2) if team.rank == 0 else None, ranks=3)

    def differ(team):
        team.split([0, 1] if team.rank else [1, 0])

    with pytest.raises(RuntimeError, match="makes a team of `members` .*: the same on both, in one order"):
        tandem.launch(differ, ranks=2)


@pytest.mark.parametrize("seed", range(6))
def test_teams_made_one_behind_the_other(seed):
    """Who is through with one team makes the next while others of its members are still on their way out of the first."""
    draw = np.random.default_rng(seed)
    ranks = int(draw.integers(3, 7))
    lists = [[int(r) for r in draw.permutation(ranks)[: draw.integers(1, ranks + 1)]] for _ in range(5)]

    def main(team):
        parts = [team.split(members) for members in lists if team.rank in members]
        sums = [AllReduce(part, 1, "fp32") for part in parts]
        return [float(np.array(op(np.full(1, 2.0**team.rank, np.float32)))[0]) for op in sums]

    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    for rank, values in enumerate(result.values):
        assert values == [sum(2.0**r for r in members) for members in lists if rank in members]


def test_who_is_late_is_named_by_the_teams_number():
    def main(team):
        if team.rank != 1:
            op = AllReduce(team.split([2, 0]), 64, "fp32")
            never = team.local_from_array(np.zeros(1, np.int64))
            if team.rank == 2:
                team.stream.signal_wait(never, 1)
            op(np.zeros(8, np.float32))
            team.synchronize()

    with pytest.raises(tandem.SimulationError, match="a packet from rank 0, by their numbers in the team of ranks 2, 0"):
        tandem.launch(main, ranks=3)


def test_calls_that_differ_on_a_team_name_both_ranks():
    def main(team):
        if team.rank % 2 == 0:
            part = team.split([4, 0, 2])
            AllReduce(part, 64, "fp32")(np.zeros(8 if team.rank == 2 else 16, np.float32))
            team.synchronize()

    with pytest.raises(
        tandem.SimulationError,
        match=r"rank [024]'s call 1 of an operator is .* elements (8|16), .* where rank [024]'s is .* elements (8|16)",
    ):
        tandem.launch(main, ranks=6, check=True)


def test_operators_tests_on_teams():
    """Tests of single operators, on two teams at once (on_teams.py)."""
    here = pathlib.Path(__file__).parent
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "on_teams",
        "-k",
        "not in_the_trace",
        *(str(here.parent / name) for name in ON_TEAMS),
    ]
    run = subprocess.run(command, cwd=here, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(here)})
    assert run.returncode == 0, run.stdout[-3000:]


ON_TEAMS = [
    "ag_attention/test/test_ag_attention.py",
    "all_reduce_norm/test/test_all_reduce_norm.py::test_in_place_and_unaligned",
    "flash_decode/test/test_flash_decode.py",
    "gemm_rs/test/test_gemm_rs.py",
    "moe_mlp/test/test_moe.py::test_seeds",
    "qkv_gemm_a2a/test/test_heads_of_ranks.py::test_heads",
]
