"""PyTorch's functions on teams of some of the ranks, with the operators of simulated ranks."""

import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "ep_dispatch/test"))

from test_torch_ep import SimulatedOperators

import tandem
import tandem.torch as tt
from tandem.torch import world as worlds


class SimulatedWorld(worlds.World):
    def __init__(self, team, device=torch.device("cpu")):
        super().__init__(team, device)
        self.operators = SimulatedOperators(team)


def drawn(*shape, seed):
    return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed)).float()


@pytest.mark.parametrize("rows, columns", [(2, 2), (2, 3)])
def test_rows_and_columns_with_gradients(rows, columns):
    """`backward` is called outside, where functions run on all ranks."""

    def main(team):
        worlds._of_thread.world = SimulatedWorld(team)
        row, column = divmod(team.rank, columns)
        axes = [row * columns + c for c in range(columns)], [r * columns + column for r in range(rows)][::-1]
        x, results = drawn(2, 5, seed=team.rank).requires_grad_(), []
        for members in axes:
            with tt.on(members) as part:
                assert (tt.rank(), tt.size(), part.members) == (members.index(team.rank), len(members), members)
                results.append(tt.all_gather(x))
        assert tt.size() == team.size
        for members, y in zip(axes, results):
            assert torch.equal(y, torch.cat([drawn(2, 5, seed=r) for r in members]))
        sum((y * drawn(*y.shape, seed=100 + team.rank)).sum() for y in results).backward()
        expected = torch.zeros(2, 5)
        for members, y in zip(axes, results):
            at = 2 * members.index(team.rank)
            expected += sum(drawn(*y.shape, seed=100 + r)[at : at + 2] for r in members)
        assert torch.equal(x.grad, expected)
        with pytest.raises(ValueError, match=f"`group` has ranks .*: rank {team.rank}, which calls, is not among them"):
            with tt.on([r for r in range(team.size) if r != team.rank]):
                pass

    tandem.launch(main, ranks=rows * columns, check=True)


def test_a_module_on_a_team():
    def main(team):
        worlds._of_thread.world = SimulatedWorld(team)
        with tt.on([2, 0] if team.rank % 2 == 0 else [1, 3]):
            assert tt.ColumnParallelLinear(4, 6).weight.shape == (3, 4)

    tandem.launch(main, ranks=4)
