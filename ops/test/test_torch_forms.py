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

    def known(self, key, check):
        return check()

    def ready(self, name, sizes, dtype, transposed, numbers, out_dtype):
        return name, sizes, numbers

    def queue(self, ready, addresses):
        self.told.append(ready)


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


class SolvedWorld(World):
    def ready(self, name, sizes, dtype, transposed, numbers, out_dtype, options):
        return name, sizes, numbers, dict(options)


@pytest.mark.parametrize(
    "name, shapes, told, sizes, shape",
    [
        ("route", [(10, 6), (6,)], {"top_k": 2}, (10, 6, 2), (64 + 108 + 80,)),
        ("route_ids", [(10, 2), (10, 2)], {"experts": 6}, (10, 6, 2), (252,)),
        ("all_reduce_norm", [(10, 8), (10, 8), (8,)], {"eps": 1e-5, "way": "two_shot"}, (10, 8), (10, 8)),
        ("grouped_gemm", [(10, 8), (6, 4, 8), (252,)], {}, (10, 4, 8, 6, 2), (20, 4)),
        ("grouped_gemm", [(20, 8), (6, 8, 8), (252,)], {"m": 10, "sorted": True, "gated": True}, (10, 4, 8, 6, 2), (20, 4)),
        ("ep_combine", [(4 * 5 * 2, 8), (64 + 36 + 160,), (3, 2)], {"max_m": 5, "experts": 6}, (5, 8, 6, 2), (3, 8)),
        ("ep_combine", [(4 * 5 * 2, 8), (64 + 36 + 160,), (0, 2)], {"max_m": 5, "experts": 6}, (5, 8, 6, 2), (0, 8)),
        ("ag_moe", [(3, 8), (6, 4, 8), (64 + 108 + 96,)], {}, (12, 4, 8, 6, 2), (24, 4)),
        ("ag_moe", [(3, 8), (6, 4, 8), (252,)], {"m": 10}, (10, 4, 8, 6, 2), (20, 4)),
        ("moe_rs", [(20, 4), (6, 8, 4), (252,)], {"m": 10, "shared": True}, (10, 8, 4, 6, 2), (3, 8)),
        ("moe_ar", [(20, 4), (6, 8, 4), (252,)], {"m": 10}, (10, 8, 4, 6, 2), (10, 8)),
        ("moe_combine", [(40, 4), (2, 8, 4), (260,)], {"m": 3, "max_m": 5, "experts": 6, "top_k": 2}, (5, 8, 4, 6, 2), (3, 8)),
        ("moe_mlp", [(3, 8), (6, 8, 8), (6, 8, 4), (252,)], {"m": 10, "gated": True}, (10, 8, 4, 6, 2), (3, 8)),
        ("grouped_outer", [(20, 4), (10, 8), (252,)], {"weighted": True}, (10, 4, 8, 6, 2), (6, 4, 8)),
        ("mla_decode", [(3, 1, 8, 512), (3, 1, 8, 64), (5, 16, 576), (3, 4), (3,)], {}, (3, 1, 8, 512, 64, 5, 16, 4), (3, 1, 8, 512)),
        (
            "mla_append",
            [(7, 4, 32), (7, 32), (7, 512), (7,), (7,), (3, 4), (99, 32), (9, 16, 544)],
            {},
            (7, 4, 512, 32, 3, 9, 16, 4, 99),
            (7, 4, 32),
        ),
        (
            "kv_append",
            [(7, 4, 64), *[(7, 2, 64)] * 2, (7,), (7,), (3, 4), (99, 32), *[(9, 16, 2, 64)] * 2],
            {"interleaved": True},
            (7, 4, 2, 64, 3, 9, 16, 4, 99, 32),
            (7, 4, 64),
        ),
        (
            "flash_decode",
            [(3, 2, 8, 64), *[(5, 16, 2, 64)] * 2, (3, 4), (3,)],
            {"soft_cap": 1.5},
            (3, 2, 8, 2, 64, 5, 16, 4),
            (3, 2, 8, 64),
        ),
    ],
)
def test_sizes_that_follow_from_several_shapes(monkeypatch, name, shapes, told, sizes, shape):
    from torch._subclasses.fake_tensor import FakeTensorMode

    from tandem.ops.table import TABLES, inputs

    world = SolvedWorld()
    monkeypatch.setattr(worlds._of_thread, "world", world, raising=False)
    types = {"i32": torch.int32, "fp32": torch.float32, "": torch.int32 if name == "route_ids" else torch.bfloat16}
    kinds = [types[t["type"]] for t in inputs(TABLES[name])]
    options = {key: value for key, value in told.items() if key not in ("m", "max_m", "top_k", "experts")}

    def called():
        return getattr(tt, name)(*(torch.empty(s, dtype=kind) for s, kind in zip(shapes, kinds)), **told)

    assert tuple(called().shape) == shape
    numbers = {"ep_combine": [shape[0], 0, 0], "moe_combine": [shape[0]]}.get(name, [sizes[0]])
    assert world.told == [(name, sizes, numbers, options)]
    with FakeTensorMode():
        out = called()
    assert tuple(out.shape) == shape and out.dtype == (torch.int32 if name.startswith("route") else torch.bfloat16)


def test_results_beside_the_output(monkeypatch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    world = SolvedWorld()
    monkeypatch.setattr(worlds._of_thread, "world", world, raising=False)

    def called(m, **options):
        x, ids, weights = torch.empty(m, 8).bfloat16(), torch.empty(m, 2, dtype=torch.int32), torch.empty(m, 2)
        return tt.ep_dispatch(x, ids, weights, 5, 6, **options)

    for m in (3, 0):
        rows, route = called(m)
        assert rows.shape == (20, 8) and route.shape == (64 + 36 + 160,) and route.dtype == torch.int32
        assert world.told[-1] == ("ep_dispatch", (5, 8, 6, 2), [m, 0, 0], {})
    x, ids, weights = torch.empty(3, 8).bfloat16(), torch.empty(3, 2, dtype=torch.int32), torch.empty(3, 2)
    given = tt.ep_dispatch(x, ids, weights, 5, 6, send_only=True)
    assert world.told[-1][2] == [3, 1, 0]
    rows, route = tt.ep_dispatch(x, ids, weights, 5, 6, out=given[0], route=given[1], receive_only=True)
    assert world.told[-1][2] == [3, 0, 1] and rows is given[0] and route is given[1]
    with FakeTensorMode():
        rows, route = called(3)
    assert rows.shape == (20, 8) and rows.dtype == torch.bfloat16 and route.shape == (260,)
    rows, route, scales = called(3, quantised=True)
    assert rows.dtype == torch.float8_e4m3fn and scales.shape == (20, 1) and scales.dtype == torch.float32


def test_ids_of_64_bits(monkeypatch):
    world = SolvedWorld()
    monkeypatch.setattr(worlds._of_thread, "world", world, raising=False)
    ids, weights = torch.zeros(10, 2, dtype=torch.int64), torch.zeros(10, 2)
    assert tt.route_ids(ids, weights, 6).dtype == torch.int32
    assert world.told == [("route_ids", (10, 6, 2), [10], {})]


def test_lists_of_a_route(monkeypatch):
    from torch._subclasses.fake_tensor import FakeTensorMode

    world = SolvedWorld()
    monkeypatch.setattr(worlds._of_thread, "world", world, raising=False)

    def called():
        route = torch.empty(252, dtype=torch.int32)
        lists = *tt.route_align(route, 6, 2, 16), *tt.route_ranks(route, 6, 2, 3)
        assert all(a.dtype == torch.int32 for a in lists)
        return [tuple(a.shape) for a in lists]

    shapes = [(20 + 6 * 16,), (1,), (26,), (20,), (4,), (20,)]
    assert called() == shapes
    assert world.told == [("route_align", (10, 6, 2, 16), [10], {}), ("route_ranks", (10, 6, 2, 3), [10], {})]
    with FakeTensorMode():
        assert called() == shapes


def test_tensors_that_a_call_writes_to(monkeypatch):
    monkeypatch.setattr(worlds._of_thread, "world", SolvedWorld(), raising=False)
    q, cache, table, status = torch.empty(3, 1, 4, 64), torch.empty(5, 16, 2, 64), torch.empty(3, 2, dtype=torch.int32), torch.zeros(2)

    def called(status):
        return tt.flash_decode(q.half(), cache.half(), cache.half(), table, table[:, 0].contiguous(), status=status)

    assert "Tensor(status!)? status" in str(torch.ops.tandem.flash_decode.default._schema)
    assert torch.compile(called, backend="aot_eager", fullgraph=True)(status.int()).shape == q.shape
    with pytest.raises(TypeError, match="`status` is torch.float32, torch.int32 is needed"):
        called(status)


def test_tensors_that_only_some_calls_have(monkeypatch):
    from torch._dynamo.testing import CompileCounter
    from torch._subclasses.fake_tensor import FakeTensorMode

    world = SolvedWorld()
    monkeypatch.setattr(worlds._of_thread, "world", world, raising=False)

    def called():
        x, w = torch.empty(3, 200, dtype=torch.float8_e4m3fn), torch.empty(6, 8, 200, dtype=torch.float8_e4m3fn)
        more = {"x_scales": torch.empty(3, 2), "w_scales": torch.empty(6, 2, 2), "bias": torch.empty(6, 8)}
        route = torch.empty(252, dtype=torch.int32)
        plain = tt.ag_moe(x, w, route, m=10, gated=True, **more)
        return plain, *tt.ag_moe(x, w, route, m=10, gated=True, quantised=True, **more)

    def check(out, rounded, scales):
        assert out.shape == rounded.shape == (20, 4) and out.dtype == torch.bfloat16 and rounded.dtype == torch.float8_e4m3fn
        assert scales.shape == (20, 1) and scales.dtype == torch.float32

    check(*called())
    assert [dict(told[3]) for told in world.told] == [{"gated": True}, {"gated": True, "quantised": True}]
    with FakeTensorMode():
        check(*called())
    counter = CompileCounter()
    check(*torch.compile(called, backend=counter, fullgraph=True)())
    assert counter.frame_count == 1
    with pytest.raises(ValueError, match="`ag_moe`: `w_scales` is needed with fp8e4nv"):
        x, w = torch.empty(3, 8, dtype=torch.float8_e4m3fn), torch.empty(6, 4, 8, dtype=torch.float8_e4m3fn)
        tt.ag_moe(x, w, torch.empty(252, dtype=torch.int32), m=10, x_scales=torch.empty(3, 1))


def test_wrong_shapes_of_several_inputs(monkeypatch):
    monkeypatch.setattr(worlds._of_thread, "world", SolvedWorld(), raising=False)
    x, w, route = torch.empty(3, 8), torch.empty(6, 4, 8), torch.empty(252, dtype=torch.int32)
    for given, message in [
        ((x, w.transpose(1, 2), route), r"`ag_moe`: `w` of shape .* must be contiguous|`w` has shape"),
        ((x, torch.empty(6, 4, 7), route), r"`ag_moe`: `w` has shape \[6, 4, 7\], \[6, 4, 8\] is needed"),
        ((x, w, route.long()), "`ag_moe`: `route` is torch.int64, torch.int32 is needed"),
        ((x, w, route[:-1]), r"`ag_moe`: `route` has shape \[251\]"),
        ((x, w[0], route), r"`ag_moe`: `w` has 2 dimensions, \[experts, n \+ gated\*n, k\] is needed"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            tt.ag_moe(*given, m=10)
    with pytest.raises(ValueError, match="`moe_rs` needs `m`"):
        tt.moe_rs(torch.empty(20, 8), w, route)


def test_a_norm_in_place_and_quantised(monkeypatch):
    from torch._dynamo.testing import CompileCounter

    world = SolvedWorld()
    monkeypatch.setattr(worlds._of_thread, "world", world, raising=False)
    assert "Tensor(residual!) residual" in str(torch.ops.tandem.all_reduce_norm.default._schema)

    def called(x, residual, weight):
        plain = tt.all_reduce_norm(x, residual, weight)
        return plain, *tt.all_reduce_norm(plain, residual, weight, quantised=True, row_scales=True, eps=1e-5)

    given, counter = [torch.empty(5, 300), torch.empty(5, 300), torch.empty(300)], CompileCounter()
    for run in (called, torch.compile(called, backend=counter, fullgraph=True), torch.compile(called, backend="aot_eager", fullgraph=True)):
        plain, rounded, scales = run(*given)
        assert plain.shape == rounded.shape == (5, 300) and plain.dtype == torch.float32 and rounded.dtype == torch.float8_e4m3fn
        assert scales.shape == (5, 1) and scales.dtype == torch.float32
    assert counter.frame_count == 1
    assert dict(world.told[1][3]) == {"quantised": True, "row_scales": True, "eps": 1e-5}
    for wrong, message in [
        ((given[0], given[1][:4], given[2]), r"`all_reduce_norm`: `residual` has shape \[4, 300\], \[5, 300\] is needed"),
        ((given[0], given[1].half(), given[2]), "`all_reduce_norm`: `residual` is torch.float16, torch.float32 is needed"),
        ((given[0], given[1], given[2][:8]), r"`all_reduce_norm`: `weight` has shape \[8\]"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            tt.all_reduce_norm(*wrong)
