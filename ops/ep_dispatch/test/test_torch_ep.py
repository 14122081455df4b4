"""Gradients of dispatch and combine on simulated ranks, against PyTorch's own of the same sums."""

import ctypes
import pathlib
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from thread_ranks import StandIn

import tandem
import tandem.torch as tt
from tandem import ops
from tandem.ops.table import TABLES, flags_of, inputs, is_given, shape_of
from tandem.torch import world as worlds


class SimulatedOperators(StandIn):
    """Runs the two operators of a rank of the simulator on PyTorch's memory."""

    def __init__(self, team):
        super().__init__()
        self.team = team

    def run(self, name, sizes, dtype, transposed, addresses, numbers, out_dtype, options=()):
        assert dtype == torch.float32
        table, arrays = TABLES[name], {}
        values = flags_of(table, dict(options)) | dict(zip((size["name"] for size in table["sizes"]), sizes)) | {"m": numbers[0]}
        for t, address in zip(table["tensors"], addresses):
            if is_given(t, "fp32", dict(options), address or None):
                shape, kind = shape_of(t, values, self.team.size, self.team.rank), np.int32 if t["type"] == "i32" else np.float32
                bytes_ = (ctypes.c_char * max(1, int(np.prod(shape)) * 4)).from_address(address) if address else bytearray(1)
                arrays[t["name"]] = np.frombuffer(bytes_, kind, int(np.prod(shape))).reshape(shape)
        written = [t["name"] for t in table["tensors"] if t["output"] and t["name"] in arrays]
        # What nobody writes is no number.
        into = {n: self.team.local_from_array(np.full_like(arrays[n], 0 if arrays[n].dtype == np.int32 else np.nan)) for n in written}
        with ops.CLASSES[name](self.team, *sizes, "fp32", **dict(options)) as operator:
            needed = [t["name"] for t in inputs(table)]
            beside = {n: a for n, a in arrays.items() if n not in (*needed, *written)}
            operator(*(arrays[n] for n in needed), numbers[0], **into, **beside)
            for n in written:
                arrays[n][...] = np.array(into[n])


class SimulatedWorld:
    device = torch.device("cpu")

    def __init__(self, team):
        self.rank, self.size, self.operators = team.rank, team.size, SimulatedOperators(team)


def layer(x, ids, weights, factors, local, most, experts, **placed):
    """Each place multiplies by its own row of `factors`."""
    rows, route = tt.ep_dispatch(x, ids, weights, most, experts, **placed)
    parts = ops.route_parts(route.numpy(), len(rows), local, ids.shape[1])
    order, counts = torch.from_numpy(parts.order.copy()).long(), torch.from_numpy(parts.counts.copy()).long()
    mine = factors[worlds.current().rank * local :][: len(counts)].repeat_interleave(counts, 0)
    h = torch.cat([rows[order // ids.shape[1]] * mine, rows.new_full((route_slots(rows, ids) - len(order), x.shape[1]), torch.nan)])
    return tt.ep_combine(h, route, ids, most, experts, weights=weights, **placed)


def layer_by_expert(x, ids, weights, factors, local, most, experts, align, **placed):
    rows, route, (firsts, ends) = tt.ep_dispatch(x, ids, weights, most, experts, by_expert=True, align=align, **placed)
    mine = torch.full_like(rows, torch.nan)
    for expert, (first, end) in enumerate(zip(firsts.tolist(), ends.tolist())):
        mine[first:end] = factors[worlds.current().rank * local + expert]
    return tt.ep_combine(rows * mine, route, ids, most, experts, weights=weights, align=align, **placed)


def layer_of_sums(x, ids, weights, factors, local, most, experts, **placed):
    """The sums of a token's slots here are PyTorch's."""
    rows, route = tt.ep_dispatch(x, ids, weights, most, experts, **placed)
    parts = ops.route_parts(route.numpy(), len(rows), local, ids.shape[1])
    order, counts = torch.from_numpy(parts.order.copy()).long(), torch.from_numpy(parts.counts.copy()).long()
    mine = factors[worlds.current().rank * local :][: len(counts)].repeat_interleave(counts, 0)
    by = torch.from_numpy(parts.weights.copy())[order, None] * mine
    h = torch.zeros_like(rows).index_add(0, order // ids.shape[1], rows[order // ids.shape[1]] * by)
    return tt.ep_combine(h, route, ids, most, experts, summed=True, **placed)


def route_slots(rows, ids):
    return len(rows) * ids.shape[1]


@pytest.mark.parametrize("is_placed, align", [(False, None), (True, None), (False, 1), (True, 5), (False, "sums"), (True, "sums")])
@pytest.mark.parametrize("ranks, counts", [(1, [3]), (2, [2, 3]), (3, [0, 4, 1])])
def test_gradients(ranks, counts, is_placed, align):
    """`align`: rows come by expert, or combine gets sums, whose weights have no gradient of its."""
    most, columns, experts, top_k, local = 4, 6, 2 * ranks, 2, 2
    draw = torch.Generator().manual_seed(ranks)
    factors = torch.randn(experts, columns, generator=draw)
    # Two places for each of half as many experts, whose factors are alike.
    placement = (
        torch.randperm(experts, generator=draw).int().view(ranks, 2) if is_placed else torch.arange(experts, dtype=torch.int32)[:, None]
    )
    factors[placement.flatten()] = factors[placement[:, :1].expand_as(placement).flatten()]
    of_expert, placed = factors[placement[:, 0].long()], {"placement": placement} if is_placed else {}
    named, top_k = len(placement), min(top_k, len(placement))
    given = []
    for m in counts:
        ids = torch.stack([torch.randperm(named, generator=draw)[:top_k] for _ in range(m)] or [torch.zeros(top_k)])[:m].int()
        ids[torch.rand(ids.shape, generator=draw) < 0.2] = -1
        x, grad = (torch.randn(m, columns, generator=draw) for _ in range(2))
        given.append((x, ids, torch.rand(m, top_k, generator=draw), grad))

    def main(team):
        worlds._of_thread.world = SimulatedWorld(team)
        x, ids, weights, grad = (t.clone() for t in given[team.rank])
        x.requires_grad_()
        weights.requires_grad_()
        if align == "sums":
            out = layer_of_sums(x, ids, weights, factors, local, most, experts, **placed)
        elif align is None:
            out = layer(x, ids, weights, factors, local, most, experts, **placed)
        else:
            out = layer_by_expert(x, ids, weights, factors, local, most, experts, align, **placed)
        out.backward(grad)
        return [t.detach().numpy() for t in (out, x.grad, weights.grad)[: 2 if align == "sums" else 3]]

    result = tandem.launch(main, ranks=ranks, check=True)
    assert result.reports == []
    for found, (x, ids, weights, grad) in zip(result.values, given):
        x, weights = x.clone().requires_grad_(), weights.clone().requires_grad_()
        by = torch.where(ids >= 0, weights, 0)[..., None] * of_expert[ids.clamp_min(0).long()]
        out = x * by.sum(1)
        out.backward(grad)
        for ours, theirs in zip(found, (out.detach(), x.grad, weights.grad)):
            torch.testing.assert_close(torch.from_numpy(ours), theirs)


def test_rows_in_fp8_have_the_bits_of_torch():
    from tandem.ops import EpDispatch

    x = torch.randn(4, 300, generator=torch.Generator().manual_seed(3)) * 2.0 ** torch.arange(-20, 280).remainder(31).sub(15)
    x[1, 128:256] = 0

    def main(team):
        with EpDispatch(team, 4, 300, 2, 1, "fp32", quantised=True) as op:
            ids = np.full((4, 1), 1 - team.rank, np.int32)
            rows, _, scales = op(x.numpy(), ids, np.ones((4, 1), np.float32), 4)
        begin = 4 * (1 - team.rank)
        return np.array(rows[begin : begin + 4]), np.array(scales[begin : begin + 4])

    padded = torch.nn.functional.pad(x, (0, 84)).view(4, 3, 128)
    largest = padded.abs().amax(2)
    most = torch.full_like(largest, 448)
    true = (padded * torch.where(largest > 0, most / largest, 0)[..., None]).to(torch.float8_e4m3fn).flatten(1)[:, :300]
    for rows, scales in tandem.launch(main, ranks=2, check=True).values:
        assert np.array_equal(scales, (largest / most).numpy())
        assert rows.view(np.uint8).tobytes() == true.contiguous().view(torch.uint8).numpy().tobytes()


def test_operators_have_the_room_that_is_told(monkeypatch):
    """Where rows land follows from the most that a rank has, so an operator made for more would write elsewhere."""
    from types import SimpleNamespace

    from tandem.torch import operators

    made = []

    def create(team, name, sizes, *more):
        made.append((name, sizes))
        return SimpleNamespace(table=TABLES[name], _op=0)

    monkeypatch.setattr(operators, "create", create)
    monkeypatch.setattr(operators, "current_handle", lambda index: 0)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=0))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    team = SimpleNamespace(world_rank=0, _session=SimpleNamespace(guarded=lambda *given: 0))
    of_rank = operators.Operators(team, torch.device("cuda", 0))
    for most in (5, 130, 5, 4):
        of_rank.run("ep_combine", (most, 8, 4, 2), torch.float32, False, [0], [3, 0, 0], torch.float32)
    of_rank.run("all_gather", (5, 8), torch.float32, False, [0], [5], torch.float32)
    assert made == [("ep_combine", (5, 8, 4, 2)), ("ep_combine", (130, 8, 4, 2)), ("ep_combine", (4, 8, 4, 2)), ("all_gather", (128, 8))]


def test_what_has_no_gradient():
    x, ids = torch.ones(2, 8, requires_grad=True), torch.zeros(2, 2, dtype=torch.int32)
    with pytest.raises(RuntimeError, match="`ep_dispatch` has no gradient through fp8"):
        tt.ep_dispatch(x, ids, torch.ones(2, 2), 4, 2, quantised=True)
    with pytest.raises(ValueError, match="`out` and `route` cannot be given where `x` has a gradient"):
        tt.ep_dispatch(x, ids, torch.ones(2, 2), 4, 2, out=torch.empty(4, 8))
    with pytest.raises(ValueError, match="`out` cannot be given where `h` or `weights` has a gradient"):
        tt.ep_combine(x, ids, ids, 4, 2, out=torch.empty(2, 8))
