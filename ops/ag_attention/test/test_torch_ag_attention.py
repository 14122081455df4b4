"""What PyTorch's function of attention over ranks tells the operator, and its shapes in a trace, without GPUs."""

import pytest

torch = pytest.importorskip("torch")

import tandem.torch as tt
from tandem.torch import world as worlds


class World:
    rank, size, device = 1, 2, torch.device("cpu")

    def __init__(self):
        self.operators, self.told = self, []

    def run(self, name, sizes, dtype, transposed, addresses, numbers, out_dtype, options):
        self.told.append((name, sizes, numbers, dict(options), [bool(a) for a in addresses]))


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(worlds._of_thread, "world", made, raising=False)
    return made


def rows(count, heads, **more):
    return torch.ones(3, count, heads, 64, dtype=torch.bfloat16, **more)


def test_what_the_operator_is_told(world):
    q, k = rows(8, 4), rows(8, 2)
    assert tt.ag_attention(q, k, k, causal=True).shape == q.shape
    out, lse = tt.ag_attention(rows(7, 4), rows(7, 2), rows(7, 2), m=15, with_lse=True, sinks=torch.ones(4))
    assert out.shape == (3, 7, 4, 64) and lse.shape == (3, 4, 7)
    assert world.told == [
        ("ag_attention", (16, 3, 4, 2, 64, 64), [16], {"causal": True}, [True] * 3 + [False] * 2 + [True]),
        ("ag_attention", (15, 3, 4, 2, 64, 64), [15], {"with_lse": True}, [True] * 6),
    ]


def test_traced_whole(world):
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    out = torch.compile(lambda q: tt.ag_attention(q, q, q, causal=True), backend=counter, fullgraph=True)(rows(8, 4))
    assert out.shape == (3, 8, 4, 64) and counter.frame_count == 1


def test_wrong_arguments(world):
    q = rows(8, 4)
    for given, told, message in [
        ((q, q, q[:, :7].contiguous()), {}, r"`v` has shape \[3, 7, 4, 64\]"),
        ((q, q, q), {"m": 15}, r"`q` has shape \[3, 8, 4, 64\]"),
        ((q, q, q.float()), {}, "`ag_attention`: `v` is torch.float32, torch.bfloat16 is needed"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            tt.ag_attention(*given, **told)
