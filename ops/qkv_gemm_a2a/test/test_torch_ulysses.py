"""What PyTorch's functions and its layer over heads of ranks tell the operators, and their gradients, by threads as ranks, without GPUs."""

import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from thread_ranks import ThreadRanks, World

import tandem.torch as tt
from tandem.ops import heads_of_rank, rows_of_rank
from tandem.torch import ulysses
from tandem.torch import world as worlds


@pytest.fixture
def world(monkeypatch):
    made = World()
    monkeypatch.setattr(worlds._of_thread, "world", made, raising=False)
    return made


def ones(*shape, **more):
    return torch.ones(*shape, dtype=torch.bfloat16, **more)


def test_what_the_operators_are_told(world):
    q, k, v = tt.qkv_gemm_a2a(ones(8, 32), ones(15 * 64, 32), 9, 3, 64)
    assert q.shape == (16, 6, 64) and k.shape == v.shape == (16, 2, 64)
    assert tt.a2a_o_gemm(q, ones(40, 9 * 64), 3, bands=2).shape == (8, 40)
    assert tt.a2a_o_gemm(q[:15].contiguous(), ones(40, 9 * 64), 3).shape == (7, 40)
    assert tt.qkv_gemm_a2a(ones(7, 32), ones(6 * 64, 32), 4, 1, 64, 15)[1].shape == (15, 1, 64)
    assert world.told == [
        ("qkv_gemm_a2a", (16, 32, 9, 3, 64), [16], {}, [True] * 4),
        ("a2a_o_gemm", (16, 40, 9, 3, 64), [16], {"bands": 2}, [True] * 3),
        ("a2a_o_gemm", (15, 40, 9, 3, 64), [15], {}, [True] * 3),
        ("qkv_gemm_a2a", (15, 32, 4, 1, 64), [15], {}, [True] * 4),
    ]


def test_traced_whole(world):
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()

    def layer(x):
        q, k, v = tt.qkv_gemm_a2a(x, ones(8 * 64, 32), 4, 2, 64)
        return tt.a2a_o_gemm(q, ones(40, 4 * 64), 2)

    assert torch.compile(layer, backend=counter, fullgraph=True)(ones(8, 32)).shape == (8, 40)
    assert counter.frame_count == 1


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda: tt.qkv_gemm_a2a(ones(8, 32), ones(512, 31), 4, 2, 64), r"`w` has shape \[512, 31\], \[512, 32\] is needed"),
        (lambda: tt.qkv_gemm_a2a(ones(8, 32), ones(512, 32).float(), 4, 2, 64), "`w` is torch.float32, torch.bfloat16 is needed"),
        (lambda: tt.qkv_gemm_a2a(ones(8, 32), ones(512, 32), 4, 2, 64, 15), r"`x` has shape \[8, 32\], \[7, 32\] is needed"),
        (lambda: tt.a2a_o_gemm(ones(8, 3, 64), ones(40, 256), 2), r"`x` has shape \[8, 3, 64\], \[8, 2, 64\] is needed"),
        (lambda: tt.a2a_o_gemm(ones(8, 128), ones(40, 256), 2), r"`x` has 2 dimensions, \[m, own_hq, d\] is needed"),
        (lambda: tt.ContextParallelAttention(64, 3, 2), "`heads` is 3, a multiple of `kv_heads`, 2, is needed"),
        (lambda: tt.ContextParallelAttention(64, 4, 2)(torch.ones(3, 2, 64), 5), "5 rows cannot be dealt alike to 2 ranks"),
        (
            lambda: tt.a2a_o_gemm(ones(8, 2, 64, requires_grad=True), ones(40, 256), 2, out=ones(4, 40)),
            "results cannot be given where `x` or `w` has a gradient",
        ),
    ],
)
def test_wrong_arguments(world, call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


class Ranks(ThreadRanks):
    """With the operators by plain sums."""

    def all_to_all(self, x, counts):
        parts = [x.split(row)[self.rank] for x, row in zip(self.exchanged(x.detach()), counts)]
        assert [len(p) for p in parts] == [row[self.rank] for row in counts]
        return torch.cat(parts)

    def qkv_gemm_a2a(self, x, w, hq, hkv, d, m=None, **options):
        own = heads_of_rank(hq, hkv, self.size, self.rank)
        q, k, v = (torch.cat(self.exchanged(x.detach())) @ w.detach().t()).unflatten(1, (-1, d)).split([hq, hkv, hkv], 1)
        return q[:, own.queries], torch.stack([k[:, own.keys], v[:, own.keys]])

    def a2a_o_gemm(self, x, w, hkv, m=None, **options):
        rows = [rows_of_rank(len(x), self.size, r) for r in range(self.size)]
        return (torch.cat(self.exchanged(x.detach()), 1).flatten(1) @ w.detach().t()).split(rows)[self.rank]


def plain_attention(q, k, v, is_causal, enable_gqa):
    if not q.shape[1]:
        return q
    return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal, enable_gqa=enable_gqa)


@pytest.mark.parametrize(
    "ranks, m, batch, heads, kv_heads",
    [(1, 5, 2, 4, 2), (2, 6, 2, 4, 4), (2, 7, 1, 9, 3), (3, 7, 1, 4, 2), (4, 8, 2, 4, 1), (3, 4, 1, 2, 1)],
)
def test_layer_and_its_gradients(monkeypatch, ranks, m, batch, heads, kv_heads):
    made = Ranks(ranks)
    for name in ("all_to_all", "qkv_gemm_a2a", "a2a_o_gemm"):
        monkeypatch.setitem(ulysses.FUNCTIONS, name, getattr(made, name))
    monkeypatch.setattr(ulysses, "attention", plain_attention)
    torch.manual_seed(m)
    x, grad = (torch.randn(m, batch, 12, dtype=torch.float64) for _ in range(2))
    turn = torch.randn(m, 1, 1, 8, dtype=torch.float64)

    def layer():
        kind = {"bias": True, "dtype": torch.float64, "device": "cpu", "turn": lambda q, k: (q * turn, k * turn)}
        return tt.ContextParallelAttention(12, heads, kv_heads, 8, **kind)

    module, whole = layer(), x.clone().requires_grad_()
    parameters = module.state_dict()

    def main(rank):
        module, shard = layer(), -(-m // ranks)
        module.load_state_dict(parameters)
        mine = x[rank * shard :][:shard].clone().requires_grad_()
        out = module(mine if batch > 1 else mine[:, 0], m)
        (out.view(mine.shape) * grad[rank * shard :][:shard]).sum().backward()
        return out.detach().view(mine.shape), mine.grad, [p.grad for p in module.parameters()]

    found = made.run(main)
    y = module.qkv(whole).unflatten(2, (-1, 8)).split([heads, kv_heads, kv_heads], 2)
    parts = [t.permute(1, 2, 0, 3) for t in (y[0] * turn, y[1] * turn, y[2])]
    out = module.out(plain_attention(*parts, True, True).permute(2, 0, 1, 3).flatten(2))
    (out * grad).sum().backward()
    assert torch.allclose(torch.cat([f[0] for f in found]), out)
    assert torch.allclose(torch.cat([f[1] for f in found]), whole.grad)
    for i, parameter in enumerate(module.parameters()):
        total = sum(torch.zeros_like(parameter) if f[2][i] is None else f[2][i] for f in found)
        assert torch.allclose(total, parameter.grad), i
