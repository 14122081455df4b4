"""tandem.torch.overlap_products: what it replaces in graphs of PyTorch's functional collectives, and what it leaves."""

import pytest

torch = pytest.importorskip("torch")

import torch.distributed as dist
import torch.distributed._functional_collectives as collectives
from functorch.compile import make_boxed_func
from plain_ranks import SIZE, PlainWorld, on_ranks, random, shard
from torch._dynamo.backends.common import aot_autograd
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.distributed.fake_pg import FakeStore

import tandem.torch as tt
from tandem.torch import world as worlds


@pytest.fixture(autouse=True)
def group():
    """A process group whose collectives can be traced; what runs are the operators of `on_ranks`."""
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=SIZE)
    yield dist.group.WORLD
    dist.destroy_process_group()


def gather(x):
    return collectives.all_gather_tensor(x, 0, dist.group.WORLD)


def scatter(x, kind="sum"):
    return collectives.reduce_scatter_tensor(x, kind, 0, dist.group.WORLD)


def reduce(x):
    return collectives.all_reduce(x, "sum", dist.group.WORLD)


def rewritten(function, *args):
    """The function's graph behind the pass, and how many operations of each kind it has."""
    traced = make_fx(function)(*args)
    on_ranks(lambda rank: tt.overlap_products(traced.graph) if rank == 0 else None)
    traced.recompile()
    names = [str(node.target) for node in traced.graph.nodes if node.op == "call_function"]
    return traced, {name: sum(f"tandem.{name}." in n for n in names) for name in ("ag_gemm", "gemm_rs", "gemm_ar")}, names


def mlp(x, up, bias, down):
    """A transformer's MLP with its sequence over the ranks, [sequence, batch, features]."""
    hidden = torch.nn.functional.gelu(torch.nn.functional.linear(gather(x), up, bias))
    return scatter(torch.nn.functional.linear(hidden, down))


def test_an_mlp():
    x, up, bias, down = random(16, 2, 8), random(24, 8, seed=1), random(24, seed=2), random(8, 24, seed=3)
    parts = [(shard(x, r), shard(up, r), shard(bias, r), shard(down, r, 1)) for r in range(SIZE)]
    traced, counts, names = rewritten(mlp, *parts[0])
    assert counts == {"ag_gemm": 1, "gemm_rs": 1, "gemm_ar": 0}
    assert not [name for name in names if "c10d" in name or "mm.default" in name and "aten" in name]
    want = torch.nn.functional.linear(torch.nn.functional.gelu(torch.nn.functional.linear(x, up, bias)), down)
    torch.testing.assert_close(torch.cat(on_ranks(lambda rank: traced(*parts[rank]))), want)


@pytest.mark.parametrize("bias", [False, True])
def test_rows_of_a_divided_sequence_behind_a_batch(bias):
    """As DTensor divides the second dimension where the first is longer: rows change places, ahead of a product or behind it. A bias of
    the last product is divided by the ranks before."""
    x, up, down, linear = random(3, 16, 8), random(24, 8, seed=1), random(8, 24, seed=3), torch.nn.functional.linear
    of_up, of_down = random(24, seed=4), random(8, seed=5)

    def block(x, up, of_up, down, of_down):
        whole = collectives.all_gather_tensor(x, 1, dist.group.WORLD)
        hidden = linear(whole, up, of_up if bias else None).relu()
        return collectives.reduce_scatter_tensor(linear(hidden, down, of_down / SIZE if bias else None), "sum", 1, dist.group.WORLD)

    parts = [(shard(x, r, 1), shard(up, r), shard(of_up, r), shard(down, r, 1), of_down) for r in range(SIZE)]
    traced, counts, names = rewritten(block, *parts[0])
    assert counts == {"ag_gemm": 1, "gemm_rs": 1, "gemm_ar": 0} and not [name for name in names if "c10d" in name]
    got = torch.cat(on_ranks(lambda rank: traced(*parts[rank])), 1)
    want = linear(linear(x, up, of_up if bias else None).relu(), down, of_down if bias else None)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)


def test_biases_of_the_ranks():
    """Whatever each rank adds to its part of the sum."""
    x, down, biases = random(6, 24), random(24, 8, seed=1), random(SIZE, 8, seed=2)
    function = lambda x, down, bias: reduce(torch.addmm(bias, x, down))
    parts = [(shard(x, r, 1), shard(down, r), biases[r]) for r in range(SIZE)]
    traced, counts, _ = rewritten(function, *parts[0])
    assert counts["gemm_ar"] == 1
    for got in on_ranks(lambda rank: traced(*parts[rank])):
        torch.testing.assert_close(got, x @ down + biases.sum(0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("times", [1, 2])
def test_several_products_of_rows_that_change_places(times):
    """Queries, and keys with fewer columns, of a sequence that the ranks divide behind a batch of two, gathered once or for each."""
    x, query, key = random(2, 32, 8), random(16, 8, seed=1), random(8, 8, seed=2)

    def both(x, query, key):
        whole = [collectives.all_gather_tensor(x, 1, dist.group.WORLD) for _ in range(times)]
        return torch.nn.functional.linear(whole[0], query), torch.nn.functional.linear(whole[-1], key)

    parts = [(shard(x, r, 1), shard(query, r), shard(key, r)) for r in range(SIZE)]
    traced, counts, names = rewritten(both, *parts[0])
    assert counts["ag_gemm"] == 1 and not [name for name in names if "c10d" in name]
    for nth, weight in enumerate((query, key)):
        got = torch.cat([of_rank[nth] for of_rank in on_ranks(lambda rank: traced(*parts[rank]))], 2)
        torch.testing.assert_close(got, torch.nn.functional.linear(x, weight), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("views", [False, True])
def test_rows_behind_a_batch_of_one(views):
    """As DTensor and PyTorch's collectives divide the second dimension: by parts that are joined again."""
    x, up, down = random(1, 16, 8), random(24, 8, seed=1), random(8, 24, seed=3)
    linear = torch.nn.functional.linear

    def block(x, up, down):
        whole = gather(x).view(1, 16, 8) if views else collectives.all_gather_tensor(x, 1, dist.group.WORLD)
        return collectives.reduce_scatter_tensor(linear(linear(whole, up).relu(), down), "sum", 1, dist.group.WORLD)

    parts = [(shard(x, r, 1), shard(up, r), shard(down, r, 1)) for r in range(SIZE)]
    traced, counts, names = rewritten(block, *parts[0])
    assert counts == {"ag_gemm": 1, "gemm_rs": 1, "gemm_ar": 0} and not [name for name in names if "c10d" in name]
    got = torch.cat(on_ranks(lambda rank: traced(*parts[rank])), 1)
    torch.testing.assert_close(got, linear(linear(x, up).relu(), down))


def attention(x, q, k, v, bias, out):
    """Queries, keys and values of the same gathered rows, of which a view of heads follows; half as many heads of keys."""
    whole, linear = gather(x), torch.nn.functional.linear
    rows = whole.shape[0] * whole.shape[1]
    query, key, value = linear(whole, q, bias).view(rows, 2, -1), linear(whole, k).view(rows, 1, -1), linear(whole, v).view(rows, 1, -1)
    seen = (torch.softmax((query * key).sum(-1, keepdim=True), 1) * value).view(*whole.shape[:2], -1)
    return scatter(linear(seen, out))


def test_several_products_of_the_same_rows():
    x, weights = random(16, 2, 8), [random(n, 8, seed=n) for n in (16, 8, 8)]
    bias, out = random(16, seed=2), random(8, 16, seed=3)
    gate, up, down = random(24, 8, seed=4), random(24, 8, seed=5), random(8, 24, seed=6)

    def block(x, q, k, v, bias, out, gate, up, down):
        x = x + attention(x, q, k, v, bias, out)
        whole, linear = gather(x), torch.nn.functional.linear
        return x + scatter(linear(torch.nn.functional.silu(linear(whole, gate)) * linear(whole, up), down))

    given = [(*weights, bias), (out,), (gate, up), (down,)]
    parts = [(shard(x, r), *(shard(w, r, side) for some, side in zip(given, (0, 1, 0, 1)) for w in some)) for r in range(SIZE)]
    traced, counts, names = rewritten(block, *parts[0])
    assert counts == {"ag_gemm": 2, "gemm_rs": 2, "gemm_ar": 0} and not [name for name in names if "c10d" in name]
    linear = torch.nn.functional.linear
    results = torch.cat(on_ranks(lambda rank: traced(*parts[rank])))
    rows, sums = x.reshape(32, 8), torch.zeros(32, 8)
    for _, q, k, v, of_q, of_out, *_ in parts:
        query, key, value = linear(rows, q, of_q).view(32, 2, -1), linear(rows, k)[:, None], linear(rows, v)[:, None]
        sums += linear((torch.softmax((query * key).sum(-1, keepdim=True), 1) * value).reshape(32, -1), of_out)
    rows = rows + sums
    want = rows + linear(torch.nn.functional.silu(linear(rows, gate)) * linear(rows, up), down)
    torch.testing.assert_close(results.reshape(32, 8), want, rtol=1e-4, atol=1e-4)


def test_sums_on_all_ranks():
    x, up, down = random(5, 8), random(24, 8, seed=1), random(8, 24, seed=3)

    def whole(x, up, down):
        return reduce((x @ up.t()).relu() @ down.t()) + x

    traced, counts, _ = rewritten(whole, x, shard(up, 0), shard(down, 0, 1))
    assert counts == {"ag_gemm": 0, "gemm_rs": 0, "gemm_ar": 1}
    for got in on_ranks(lambda rank: traced(x, shard(up, rank), shard(down, rank, 1))):
        torch.testing.assert_close(got, (x @ up.t()).relu() @ down.t() + x)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, w: (lambda whole: whole @ w + whole.sum())(gather(x)),  # the gathered rows are wanted, too
        lambda x, w: scatter(x @ w, "avg"),
        lambda x, w: scatter((x @ w).relu()),
        lambda x, w: (lambda y: scatter(y) + y.sum())(x @ w),
        lambda x, w: collectives.reduce_scatter_tensor(x @ w, "sum", 1, dist.group.WORLD),  # columns
        lambda x, w: scatter(torch.addmm(x, x, w)),  # what is added has rows
        lambda x, w: (lambda whole: whole @ (whole @ w)[:8])(gather(x)),  # one product is of the other
        lambda x, w: (lambda whole: (whole @ w).sum() + whole @ w.repeat(1, 4))(gather(x)),  # fewer rows than columns
        lambda x, w: gather(x) @ torch.as_strided(w, (8, 4), (8, 2)),  # operators take no such strides
    ],
)
def test_left_alone(function):
    _, counts, names = rewritten(function, random(8, 8), random(8, 8, seed=1))
    assert not any(counts.values()) and any("c10d" in name for name in names)


def test_groups_of_some_ranks_are_left_alone():
    some = dist.new_group([0, 1])
    _, counts, _ = rewritten(lambda x, w: collectives.all_gather_tensor(x, 0, some) @ w, random(8, 8), random(8, 8, seed=1))
    assert not any(counts.values())


def test_in_torch_compile(monkeypatch):
    """Through Dynamo and AOTAutograd, as a backend's pass; operators are called, but do nothing."""
    calls, counts, world = [], [], PlainWorld(1, None)
    monkeypatch.setattr(worlds._of_thread, "world", world, raising=False)
    monkeypatch.setattr(world.operators, "run", lambda operation, *_: calls.append(operation))

    def compiler(traced, _):
        counts.append(tt.overlap_products(traced.graph))
        traced.recompile()
        return make_boxed_func(traced.forward)

    compiled = torch.compile(mlp, backend=aot_autograd(fw_compiler=compiler), fullgraph=True)
    with torch.no_grad():
        result = compiled(random(4, 2, 8), random(6, 8), random(6), random(8, 6))
    assert counts == [2] and calls == ["ag_gemm", "gemm_rs"] and result.shape == (4, 2, 8)
