"""The PyTorch functions that are made from tables: shapes for tracing, and what an operator is told, without GPUs."""

import pytest

torch = pytest.importorskip("torch")

import tandem.torch as tt
from tandem.torch import world as worlds

COUNTS = [[1, 2, 0, 4], [0, 0, 0, 0], [5, 1, 1, 1], [2, 2, 2, 2]]


class World:
    """Rank 1 of 4, whose operators note what they are told."""

    rank, size, device = 1, 4, torch.device("cpu")

    def __init__(self):
        self.operators, self.told = self, []

    def run(self, name, sizes, dtype, transposed, addresses, numbers, out_dtype):
        self.told.append((name, sizes, numbers))


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(worlds._of_thread, "world", made, raising=False)
    return made


@pytest.mark.parametrize(
    "name, given, told, shape, numbers",
    [
        ("broadcast", (5, 3), (2,), (5, 3), [15, 2, 0]),
        ("broadcast", (7,), (), (7,), [7, 0, 0]),
        ("all_to_all", (8, 3, 2), (), (8, 3, 2), [0] + [2] * 16),
        ("all_to_all", (9, 3), (), (12, 3), [0] + [3, 3, 3, 0] * 4),
        ("all_to_all", (0, 3), (COUNTS,), (5, 3), [0, 1, 2, 0, 4, 0, 0, 0, 0, 5, 1, 1, 1, 2, 2, 2, 2]),
        ("all_gather", (3, 2), (10,), (10, 2), [10, 0]),
        ("reduce_scatter", (10, 2), (), (3, 2), [10]),
    ],
)
def test_shapes_and_numbers(world, name, given, told, shape, numbers):
    from torch._subclasses.fake_tensor import FakeTensorMode

    assert tuple(getattr(tt, name)(torch.empty(given), *told).shape) == shape
    assert world.told[0][0] == name and world.told[0][2] == numbers
    with FakeTensorMode():
        assert tuple(getattr(tt, name)(torch.empty(given), *told).shape) == shape


@pytest.mark.parametrize(
    "name, given, told, message",
    [
        ("all_to_all", (3, 2), (COUNTS,), "the input has 3 rows; rank 1 of 4 holds 0 of"),
        ("all_to_all", (3, 2), ([[1, 2]],), "`counts`"),
        ("broadcast", (), (), "`broadcast`: `x` has no dimension"),
    ],
)
def test_wrong_arguments(world, name, given, told, message):
    with pytest.raises(ValueError, match=message):
        getattr(tt, name)(torch.empty(given), *told)


def test_traced_whole(world):
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    with torch.no_grad():
        out = torch.compile(lambda x: tt.all_to_all(tt.broadcast(x, 1)), backend=counter, fullgraph=True)(torch.ones(8, 3))
    assert out.shape == (8, 3) and counter.frame_count == 1
    assert [call[0] for call in world.told] == ["broadcast", "all_to_all"]
