"""What PyTorch's function of attention over ranks tells the operator, and its shapes in a trace, without GPUs."""

import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from thread_ranks import ThreadRanks, World

import tandem.torch as tt
from tandem.ops import rows_of_rank
from tandem.torch import gathered_attention
from tandem.torch import world as worlds


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
        ("ag_attention", (16, 3, 4, 2, 64, 64), [16, 1, 16], {"causal": True}, [True] * 3 + [False] * 3 + [True]),
        ("ag_attention", (15, 3, 4, 2, 64, 64), [15, 1, 15], {"with_lse": True}, [True] * 3 + [False] + [True] * 3),
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


def test_gradients_are_gathered_and_scattered(world):
    q, k = rows(8, 4, requires_grad=True), rows(8, 2, requires_grad=True)
    sinks = torch.ones(4, requires_grad=True)
    tt.ag_attention(q, k, k, causal=True, sinks=sinks).sum().backward()
    gather, scatter, backward = ["all_gather"] * 2, ["reduce_scatter"] * 2, ["attention_backward"] * 6
    names = ["ag_attention", *gather, *gather, *backward, *scatter, *backward, *scatter, "all_reduce"]
    assert [told[0] for told in world.told] == names  # two groups: the second one's keys come before the first one's are read
    assert q.grad.shape == q.shape and k.grad.shape == k.shape and sinks.grad.shape == (4,)


def plain(q, k, v, sinks, mask):
    """Attention, and the logarithms of its sums, of [batch, rows, heads, d]."""
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k.repeat_interleave(q.shape[2] // k.shape[2], 2)) * q.shape[3] ** -0.5
    scores = scores.masked_fill(~mask, -torch.inf)
    lse = torch.logsumexp(torch.cat([scores, sinks[None, :, None, None].expand(*scores.shape[:3], 1)], 3), 3)
    return torch.einsum("bhqk,bkhd->bqhd", torch.exp(scores - lse[..., None]), v.repeat_interleave(q.shape[2] // v.shape[2], 2)), lse


def plain_backward(q, k, v, out, lse, grad, batch, count, cu_q, cu_kv, sinks, causal=False, window=None, **wants):
    """What the operator gives, of packed rows: the weights follow from the logarithms of sums over more than the keys that are given."""
    all_keys, all_queries, end, there = len(k), count, cu_kv.tolist()[1], cu_q.tolist()[1]
    q, out, lse, grad, count = q[:there], out[:there], lse[:, :there], grad[:there], there
    q, out, grad = (x.unflatten(0, (batch, count)) for x in (q, out, grad))
    k, v = (x[:end].unflatten(0, (batch, -1)) for x in (k, v))
    group, scale = q.shape[2] // k.shape[2], q.shape[3] ** -0.5
    wide = [x.repeat_interleave(group, 2) for x in (k, v)]
    lse = lse.unflatten(1, (batch, count)).transpose(0, 1)
    scores = torch.einsum("bqhd,bkhd->bhqk", q, wide[0]) * scale
    if causal:
        mask = torch.ones(count, k.shape[1], dtype=torch.bool).tril(k.shape[1] - count)
        if window:
            mask = mask.triu(k.shape[1] - count - window + 1)
        scores = scores.masked_fill(~mask, -torch.inf)
    p, delta = torch.exp(scores - lse[..., None]), (out * grad).sum(3).transpose(1, 2)
    of_scores = p * (torch.einsum("bqhd,bkhd->bhqk", grad, wide[1]) - delta[..., None]) * scale
    of_k, of_v = torch.einsum("bhqk,bqhd->bkhd", of_scores, q), torch.einsum("bhqk,bqhd->bkhd", p, grad)
    of_k, of_v = (x.unflatten(2, (-1, group)).sum(3).flatten(0, 1) for x in (of_k, of_v))
    of_k, of_v = (torch.cat([x, torch.full((all_keys - end, *x.shape[1:]), torch.nan)]) for x in (of_k, of_v))  # not written
    of_sinks = -(torch.exp(sinks[None, :, None] - lse) * delta).sum((0, 2))
    of_q = torch.einsum("bhqk,bkhd->bqhd", of_scores, wide[0]).flatten(0, 1)
    of_q = torch.cat([of_q, torch.full((all_queries - there, *of_q.shape[1:]), torch.nan)])
    return of_v, of_sinks, of_q, of_k


@pytest.mark.parametrize(
    "ranks, m, options", [(1, 6, {"causal": True}), (3, 17, {"causal": True}), (2, 9, {}), (4, 5, {"causal": True, "in_order": True})]
)
def test_shares_of_gradients_add_up(ranks, m, options):
    from tandem.torch.gathered_attention import places_of, shares, spans_of

    torch.manual_seed(m)
    q, k, v = (torch.randn(2, m, heads, 8, dtype=torch.float64, requires_grad=True) for heads in (4, 2, 2))
    sinks, grad = torch.randn(4, dtype=torch.float64, requires_grad=True), torch.randn(2, m, 4, 8, dtype=torch.float64)
    mask = torch.ones(m, m, dtype=torch.bool)
    out, lse = plain(q, k, v, sinks, mask.tril() if options.get("causal") else mask)
    out.backward(grad)
    in_order = options.get("in_order", False)
    assert sorted(places_of(m, ranks, in_order, "cpu").tolist()) == list(range(m))
    of_q, sums = torch.zeros_like(q), [torch.zeros_like(x) for x in (k, v, sinks)]
    told = {name: value for name, value in options.items() if name != "in_order"}
    room, called = [count for _, count in spans_of(m, 0, ranks, in_order)], []

    def note(q, k, *given, **more):
        called[-1].append((q.shape, k.shape))
        return plain_backward(q, k, *given, **more)

    for rank in range(ranks):
        called.append([])
        spans = spans_of(m, rank, ranks, in_order)
        rows = torch.cat([torch.arange(first, first + count) for first, count in spans])
        mine = [x[:, rows] for x in (q, out, grad)]
        with torch.no_grad():
            found = shares(mine[0], k, v, sinks, mine[1], lse[:, :, rows], mine[2], spans, room, note, told)
        of_q[:, rows] = found[0]
        sums = [whole + part for whole, part in zip(sums, found[1:])]
    assert all(calls == called[0] for calls in called)
    for found, x in zip((of_q, *sums), (q, k, v, sinks)):
        assert torch.allclose(found, x.grad, atol=1e-5)


class Ranks(ThreadRanks):
    """With the operators by plain sums."""

    def all_gather(self, x, m):
        return torch.cat(self.exchanged(x))

    def reduce_scatter(self, x):
        rows = [rows_of_rank(len(x), self.size, rank) for rank in range(self.size)]
        return sum(self.exchanged(x)).split(rows)[self.rank]

    def all_reduce(self, x):
        return sum(self.exchanged(x))


@pytest.mark.parametrize(
    "ranks, m, heads, options",
    [(2, 8, (4, 4), {}), (3, 8, (6, 3), {"causal": True}), (2, 9, (4, 2), {"groups": 1}), (2, 9, (2, 2), {"causal": True, "window": 3})],
)
def test_gradients_of_whole_sequences(monkeypatch, ranks, m, heads, options):
    """In groups of heads, as they come and go."""
    made, (hq, hkv) = Ranks(ranks), heads
    torch.manual_seed(m)
    q, k, v = (torch.randn(2, m, h, 8, dtype=torch.float64, requires_grad=True) for h in (hq, hkv, hkv))
    sinks, grad = torch.randn(hq, dtype=torch.float64, requires_grad=True), torch.randn(2, m, hq, 8, dtype=torch.float64)
    mask = torch.ones(m, m, dtype=torch.bool)
    mask = mask.tril() if options.get("causal") else mask
    out, lse = plain(q, k, v, sinks, mask.triu(1 - options["window"]) if "window" in options else mask)
    out.backward(grad)

    def rows(rank):
        return torch.cat([torch.arange(f, f + n) for f, n in gathered_attention.spans_of(m, rank, ranks, False)])

    def forward(q, k, v, *numbers, with_lse, sinks, **options):
        return out.detach()[:, rows(made.rank)], lse.detach()[:, :, rows(made.rank)]

    for name in ("all_gather", "reduce_scatter", "all_reduce"):
        monkeypatch.setitem(gathered_attention.FUNCTIONS, name, getattr(made, name))
    monkeypatch.setitem(gathered_attention.FUNCTIONS, "ag_attention", forward)
    monkeypatch.setitem(gathered_attention.FUNCTIONS, "attention_backward", plain_backward)

    def main(rank):
        mine = [x.detach()[:, rows(rank)].requires_grad_() for x in (q, k, v)]
        of_sinks = sinks.detach().clone().requires_grad_()
        tt.ag_attention(*mine, m, sinks=of_sinks, **options).backward(grad[:, rows(rank)])
        return *(x.grad for x in mine), of_sinks.grad

    for rank, found in enumerate(made.run(main)):
        for x, of_x in zip((q, k, v), found):
            assert torch.allclose(of_x, x.grad[:, rows(rank)], atol=1e-5)
        assert torch.allclose(found[3], sinks.grad, atol=1e-5)
