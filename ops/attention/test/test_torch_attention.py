"""`tandem.torch.attention` in the place of scaled_dot_product_attention: what operators are told, its gradients' arguments, traces, errors,
without GPUs."""

import pathlib
import sys

import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from thread_ranks import World

import tandem.torch as tt
from tandem.torch import world as worlds


@pytest.fixture
def world(monkeypatch):
    made = World(0, 1)
    monkeypatch.setattr(worlds._of_thread, "world", made, raising=False)
    return made


def heads(batch, length, count, d, **more):
    return torch.ones(batch, length, count, d, dtype=torch.bfloat16, **more).transpose(1, 2)


def test_as_torch_calls_it(world):
    q, k = heads(2, 5, 4, 64), heads(2, 7, 2, 64)
    out = tt.attention(q, k, k, is_causal=True, enable_gqa=True, scale=0.5)
    assert out.shape == (2, 4, 5, 64)
    options = {"causal": True, "top_left": True, "scale": 0.5}
    given = [True] * 3 + [False] * 5 + [True]
    assert world.told == [("attention", (14, 4, 2, 64, 64), [10, 14, 2, 5], options, given)]


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("has_sinks", [False, True])
def test_gradients(world, has_sinks, deterministic, monkeypatch):
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: deterministic)
    q, k = heads(1, 6, 4, 64, requires_grad=True), heads(1, 6, 2, 64, requires_grad=True)
    sinks = torch.ones(4, requires_grad=True) if has_sinks else None
    tt.attention(q, k, k, enable_gqa=True, window=3, sinks=sinks).sum().backward()
    assert [told[0] for told in world.told] == ["attention", "attention_backward"]
    wants = {"wants_q": True, "wants_k": True, "window": 3, "top_left": True, **({"wants_sinks": True} if has_sinks else {})}
    wants |= {} if deterministic else {"any_order": True}
    name, sizes, numbers, options, given = world.told[1]
    assert (sizes, numbers, options) == ((6, 4, 2, 64, 64), [6, 6, 1, 6], wants)
    assert given == [True] * 6 + [False] * 2 + [has_sinks] * 2 + [True] * 3
    assert not has_sinks or sinks.grad.shape == (4,)


@pytest.mark.parametrize("needed", ["q", "k", "v", "qv", "kv"])
def test_only_gradients_that_are_needed(world, needed):
    q, k, v = (heads(1, 6, 2, 64, requires_grad=True) for _ in range(3))
    given = {"q": q, "k": k, "v": v}
    leaves, some = [given[name] for name in needed], [x if name in needed else x.detach() for name, x in given.items()]
    found = torch.autograd.grad(tt.attention(*some, sinks=torch.ones(2)).sum(), leaves)
    assert world.told[1][3] == {f"wants_{name}": True for name in needed if name != "v"}
    assert not any(world.told[1][4][8:10]) and [x.shape for x in found] == [x.shape for x in leaves]


def test_any_lengths(world):
    q, cu = torch.ones(9, 2, 64, dtype=torch.float16), torch.tensor([0, 4, 9], dtype=torch.int32)
    out = tt.attention_varlen(q, q, q, cu, cu, 5, is_causal=True, softcap=2.0)
    assert out.shape == q.shape
    assert world.told[0][1:4] == ((9, 2, 2, 64, 64), [9, 9, 2, 5], {"causal": True, "varlen": True, "softcap": 2.0})


@pytest.mark.parametrize("d, dv, whole, of_fp8", [(36, 36, (40, 40), 48), (88, 76, (88, 80), 96), (162, 128, (168, 128), 176)])
def test_other_heads_are_filled_with_zeros(world, d, dv, whole, of_fp8):
    q, v = heads(2, 5, 4, d, requires_grad=True), heads(2, 5, 4, dv, requires_grad=True)
    out = tt.attention(q, q, v)
    name, sizes, numbers, options, _ = world.told[0]
    assert out.shape == (2, 4, 5, dv) and sizes == (10, 4, 4, *whole) and options == {"scale": d**-0.5, "with_lse": True}
    assert [x.shape for x in torch.autograd.grad(out.sum(), (q, v))] == [q.shape, v.shape]
    eight = heads(2, 5, 4, d).to(torch.float8_e4m3fn)
    assert tt.attention(eight, eight, eight, scales=torch.ones(3)).shape == (2, 4, 5, d)
    assert world.told[-1][1][3:] == (of_fp8, of_fp8)
    cu = torch.tensor([0, 4, 10], dtype=torch.int32)
    packed = torch.ones(10, 4, d, dtype=torch.float16)
    assert tt.attention_varlen(packed, packed, packed, cu, cu, 6, scale=0.5).shape == packed.shape
    assert world.told[-1][3] == {"varlen": True, "scale": 0.5}


@pytest.mark.parametrize("d", [40, 72, 80, 160, 256])
def test_heads_that_need_no_copy(world, d):
    q = heads(2, 5, 4, d, requires_grad=True)
    (found,) = torch.autograd.grad(tt.attention(q, q, q).sum(), q)
    assert found.shape == q.shape
    assert world.told[0][1:4] == ((10, 4, 4, d, d), [10, 10, 2, 5], {"with_lse": True})
    name, sizes, numbers, options, _ = world.told[1]
    assert sizes[3:] == (d, d) and "scale" not in options


@pytest.mark.parametrize("before", [(), (2, 3)])
def test_any_dimensions_before_heads(world, before):
    q, k = (torch.ones(*before, h, n, 64, dtype=torch.float16) for h, n in ((4, 5), (2, 7)))
    out = tt.attention(q, k, k, enable_gqa=True)
    batch = 6 if before else 1
    assert out.shape == q.shape and world.told[0][1:3] == ((batch * 7, 4, 2, 64, 64), [batch * 5, batch * 7, batch, 5])


@pytest.mark.parametrize("before, m, n", [((), 0, 7), ((2,), 0, 7), ((2,), 5, 0), ((2, 3), 5, 0), ((2, 3), 0, 0), ((0,), 5, 7)])
def test_nothing_to_attend_to(world, before, m, n):
    q, k = (torch.ones(*before, 2, length, 64, dtype=torch.float16) for length in (m, n))
    out = tt.attention(q, k, k)
    assert out.shape == q.shape and not out.any() and world.told == []


def test_traced_whole(world):
    from torch._dynamo.testing import CompileCounter

    counter = CompileCounter()
    out = torch.compile(lambda q: tt.attention(q, q, q, is_causal=True), backend=counter, fullgraph=True)(heads(2, 5, 4, 128))
    assert out.shape == (2, 4, 5, 128) and counter.frame_count == 1


def test_wrong_arguments(world):
    q = heads(2, 5, 4, 64)
    for given, options, message in [
        ((q, q, q), {"attn_mask": q}, "`attention` has no `attn_mask`"),
        ((q, q, q), {"dropout_p": 0.1}, "`attention` has no `dropout_p`"),
        ((q[0], q, q), {}, r"`attention`: `query` has 3 dimensions, `key` 4; \[..., heads, length, d\] is needed of all"),
        ((q[0, 0], q[0, 0], q[0, 0]), {}, "`attention`: `query` has 2 dimensions"),
        ((q, q[:1], q), {}, r"`attention`: `key` has a batch of \(1,\), `query` of \(2,\)"),
        ((q, q[:, :2], q[:, :2]), {}, "`attention`: `query` has 4 heads, `key` 2, which needs `enable_gqa`"),
        ((q, q, q), {"scale": 0.0}, "`attention`: `scale` is 0, a number above 0 is needed"),
        ((q, q, q.float()), {}, "`attention`: `v` is torch.float32, torch.bfloat16 is needed"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            tt.attention(*given, **options)
