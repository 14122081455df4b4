"""Gradients of a mixture of experts, and its layer, on simulated ranks, against PyTorch's own of the same sums."""

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
from tandem.kernel.element_types import element_word
from tandem.ops.table import TABLES, flags_of, is_given, shape_of, type_of
from tandem.torch import world as worlds

TYPES = {"fp32": np.float32, "i32": np.int32}


class SimulatedOperators(StandIn):
    """Runs the operators of a rank of the simulator on PyTorch's memory."""

    def __init__(self, team):
        super().__init__()
        self.team = team

    def run(self, name, sizes, dtype, transposed, addresses, numbers, out_dtype, options=()):
        table, word = TABLES[name], element_word(dtype)
        chosen = [option for option, value in options if value]
        values = dict(zip((size["name"] for size in table["sizes"]), sizes)) | flags_of(table, dict(options))
        values |= dict(zip((n["name"] for n in table["numbers"]), numbers))
        arrays = []
        for t, address in zip(table["tensors"], addresses):
            if not is_given(t, word, chosen, address or None):
                arrays.append(None)
                continue
            shape, kind = shape_of(t, values, self.team.size, self.team.rank), TYPES[type_of(t, word, chosen)]
            bytes_ = (ctypes.c_char * max(1, int(np.prod(shape)) * 4)).from_address(address) if address else bytearray(1)
            arrays.append(np.frombuffer(bytes_, kind, int(np.prod(shape))).reshape(shape))
        *given, out = arrays
        operator = ops.CLASSES[name](self.team, *sizes, word, **dict(options))
        required = sum(not t["given_by"] for t in table["tensors"][:-1])
        more = {t["name"]: a for t, a in zip(table["tensors"][required:-1], given[required:]) if a is not None}
        told = [n for n, row in zip(numbers, table["numbers"]) if row["kind"] not in ("type", "flag")]
        # A route has words that nobody writes.
        into = self.team.local_from_array(np.zeros_like(out))
        out[:] = np.asarray(operator(*given[:required], *told, out=into, **more))
        operator.close()


class SimulatedWorld:
    device = torch.device("cpu")

    def __init__(self, team):
        self.team, self.rank, self.size = team, team.rank, team.size
        self.operators = SimulatedOperators(team)


def on_ranks(ranks, main, seed=0):
    def body(team):
        worlds._of_thread.world = SimulatedWorld(team)
        return main(team.rank)

    result = tandem.launch(body, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    return result.values


def reference(x, ups, downs, ids, weights, up_biases, down_bias, gated):
    """The whole layer by loops; `ups`: of each rank."""
    out = []
    for token, row in enumerate(x):
        total = torch.zeros_like(row)
        for slot, expert in enumerate(ids[token]):
            if expert < 0:
                continue
            result = down_bias[expert] if down_bias is not None else 0
            for r, (up, down) in enumerate(zip(ups, downs)):
                y = up[expert] @ row + (up_biases[r][expert] if up_biases else 0)
                if gated:
                    gate, up_rows = y.chunk(2)
                    y = torch.nn.functional.silu(gate) * up_rows
                result = result + down[expert] @ y
            total = total + weights[token, slot] * result
        out.append(total)
    return torch.stack(out)


def drawn(*shape, seed):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("ranks, m", [(1, 7), (2, 8), (3, 10)])
@pytest.mark.parametrize("gated, bias", [(True, True), (False, False), (True, False)])
def test_gradients(ranks, m, gated, bias):
    hidden, inner, experts, top_k = 6, 5, 4, 2
    x, ids = drawn(m, hidden, seed=1), torch.stack([torch.randperm(experts)[:top_k] for _ in range(m)]).int()
    ids[2, 1] = -1
    weights, seeds = drawn(m, top_k, seed=2).abs(), drawn(m, hidden, seed=3)
    ups = [drawn(experts, inner * (1 + gated), hidden, seed=4 + r) for r in range(ranks)]
    downs = [drawn(experts, hidden, inner, seed=14 + r) for r in range(ranks)]
    up_biases = [drawn(experts, inner * (1 + gated), seed=24 + r) for r in range(ranks)] if bias else []
    down_bias = drawn(experts, hidden, seed=34) if bias else None
    wanted = [x, *ups, *downs, *up_biases, *([down_bias] if bias else [])]
    for tensor in wanted:
        tensor.requires_grad_()
    exact = reference(x, ups, downs, ids, weights, up_biases, down_bias, gated)
    (exact * seeds).sum().backward()
    shard = -(-m // ranks)

    def main(rank):
        rows = slice(rank * shard, min(m, (rank + 1) * shard))
        own = [t.detach().float().requires_grad_() for t in (x[rows], ups[rank], downs[rank])]
        biases = [t.detach().float().requires_grad_() for t in ((up_biases[rank], down_bias) if bias else ())]
        more = dict(zip(("up_bias", "down_bias"), biases))
        route = tt.route_ids(ids, weights.float(), experts)
        out = tt.moe_mlp(*own, route, m, gated=gated, **more)
        torch.testing.assert_close(out.double(), exact.detach()[rows], rtol=1e-4, atol=1e-4)
        (out * seeds[rows].float()).sum().backward()
        return [t.grad for t in (*own, *biases)]

    for rank, (of_x, of_up, of_down, *of_biases) in enumerate(on_ranks(ranks, main)):
        wants = [x.grad[rank * shard : (rank + 1) * shard], ups[rank].grad, downs[rank].grad]
        wants += [up_biases[rank].grad, down_bias.grad] if bias else []
        for found, want in zip((of_x, of_up, of_down, *of_biases), wants):
            torch.testing.assert_close(found.double(), want, rtol=1e-3, atol=1e-3)


def test_only_what_is_wanted():
    def main(rank):
        up, down = torch.ones(2, 4, 3), torch.ones(2, 3, 2)
        x = torch.ones(3, 3, requires_grad=True)
        route = tt.route_ids(torch.tensor([[0], [1], [0]], dtype=torch.int32), torch.ones(3, 1), 2)
        (of_x,) = torch.autograd.grad(tt.moe_mlp(x, up, down, route, gated=True).sum(), x)
        return of_x.shape

    assert on_ranks(1, main) == [(3, 3)]


@pytest.mark.parametrize("ranks, m", [(1, 5), (2, 7)])
def test_layer(ranks, m):
    hidden, inner, experts, top_k = 6, 4 * ranks, 5, 2
    x, seeds = drawn(m, hidden, seed=1), drawn(m, hidden, seed=2)
    shard = -(-m // ranks)

    def main(rank):
        torch.manual_seed(7 + rank)
        layer = tt.MixtureOfExperts(hidden, inner, experts, top_k, bias=True, dtype=torch.float32)
        with torch.no_grad():
            layer.router.weight.copy_(drawn(experts, hidden, seed=5))
            layer.down_bias.copy_(drawn(experts, hidden, seed=6))
        rows = x[rank * shard : (rank + 1) * shard].float().requires_grad_()
        out = layer(rows, m)
        (out * seeds[rank * shard : (rank + 1) * shard].float()).sum().backward()
        return out.detach(), rows.grad, {name: (p.detach(), p.grad) for name, p in layer.named_parameters()}

    found = on_ranks(ranks, main)
    parts = [{name: p.double().requires_grad_() for name, (p, _) in parameters.items()} for *_, parameters in found]
    router, down_bias = parts[0]["router.weight"], parts[0]["down_bias"]
    whole = x.clone().requires_grad_()
    weights, ids = torch.softmax(whole @ router.T, -1).topk(top_k, -1)
    ups, downs, biases = ([part[name] for part in parts] for name in ("up", "down", "up_bias"))
    out = reference(whole, ups, downs, ids, weights / weights.sum(-1, keepdim=True), biases, down_bias, True)
    (out * seeds).sum().backward()
    close = {"rtol": 1e-3, "atol": 1e-4}
    torch.testing.assert_close(torch.cat([f[0] for f in found]).double(), out.detach(), **close)
    torch.testing.assert_close(torch.cat([f[1] for f in found]).double(), whole.grad, **close)
    torch.testing.assert_close(sum(f[2]["router.weight"][1] for f in found).double(), router.grad, **close)
    for part, (*_, parameters) in zip(parts, found):
        for name in ("up", "down", "up_bias"):
            torch.testing.assert_close(parameters[name][1].double(), part[name].grad, **close)
        torch.testing.assert_close(parameters["down_bias"][1].double(), down_bias.grad, **close)


def test_wrong_arguments():
    def main(rank):
        with pytest.raises(ValueError, match="5 inner features cannot be shared by 2 ranks"):
            tt.MixtureOfExperts(4, 5, 2, 1)
        with pytest.raises(ValueError, match="`top_k` is 3, 1 to 2 are possible"):
            tt.MixtureOfExperts(4, 4, 2, 3)
        x = torch.zeros(1, 4, dtype=torch.float8_e4m3fn)
        up, down = torch.zeros(2, 4, 4, dtype=x.dtype), torch.zeros(2, 4, 4, dtype=x.dtype)
        route, scales = torch.zeros(64 + 20 + 8, dtype=torch.int32), torch.ones(2, 1, 1)
        with pytest.raises(ValueError, match="`moe_mlp`: `x_scales` is needed with fp8e4nv"):
            tt.moe_mlp(x, up, down, route)
        with pytest.raises(ValueError, match=r"`x_scales` has shape \[2, 1, 1\], \[1, 1\] is needed|dimension"):
            tt.moe_mlp(x, up, down, route, x_scales=scales, up_scales=scales, down_scales=scales)
        with pytest.raises(ValueError, match="`x_scales` goes with fp8 alone, not with fp32"):
            tt.moe_mlp(x.float(), up.float(), down.float(), route, x_scales=scales)

    on_ranks(2, main)
