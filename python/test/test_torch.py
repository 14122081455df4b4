"""tandem.torch without GPUs: ranks are threads whose operators are plain sums on the CPU. Tested is everything around the operators."""

import pytest

torch = pytest.importorskip("torch")

import plain_ranks
from plain_ranks import SIZE, on_ranks, raises, random, shard

import tandem.torch as tt
from tandem.torch import world as worlds

one_rank = plain_ranks.one_rank  # a fixture


@pytest.mark.parametrize("m", [16, 13])
@pytest.mark.parametrize("weight", [False, True])
def test_ag_gemm(m, weight):
    a, b = random(m, 8), random(8, 6, seed=1)
    right = b.t().contiguous().t() if weight else b
    for got in on_ranks(lambda rank: tt.ag_gemm(shard(a, rank), right, m)):
        torch.testing.assert_close(got, a @ b)


@pytest.mark.parametrize("m", [16, 13])
def test_gemm_rs_and_gemm_ar(m):
    a, b = random(m, 8), random(8, 6, seed=1)
    scattered = on_ranks(lambda rank: tt.gemm_rs(shard(a, rank, 1), shard(b, rank)))
    torch.testing.assert_close(torch.cat(scattered), a @ b)
    for got in on_ranks(lambda rank: tt.gemm_ar(shard(a, rank, 1), shard(b, rank))):
        torch.testing.assert_close(got, a @ b)


def test_collectives():
    x = random(16, 3, 2)
    for got in on_ranks(lambda rank: tt.all_gather(shard(x, rank))):
        torch.testing.assert_close(got, x)
    torch.testing.assert_close(torch.cat(on_ranks(lambda rank: tt.reduce_scatter(x * rank))), x * 6)
    for got in on_ranks(lambda rank: tt.all_reduce(x * rank)):
        torch.testing.assert_close(got, x * 6)


def test_a_given_output_is_written():
    a, b = random(16, 8), random(8, 6, seed=1)
    outs = [torch.full((16, 6), float("nan")) for _ in range(SIZE)]
    got = on_ranks(lambda rank: tt.ag_gemm(shard(a, rank), b, out=outs[rank]))
    for out, given in zip(outs, got):
        assert given is out
        torch.testing.assert_close(out, a @ b)


def gradients(function, *inputs):
    inputs = [x.detach().clone().requires_grad_() for x in inputs]
    (function(*inputs) ** 2).sum().backward()
    return [x.grad for x in inputs]


def test_gradients_of_products():
    a, b = random(16, 8), random(8, 12, seed=1)
    want_a, want_b = gradients(lambda a, b: a @ b, a, b)
    got = on_ranks(lambda rank: gradients(lambda x, w: tt.ag_gemm(x, w), shard(a, rank), shard(b, rank, 1)))
    torch.testing.assert_close(torch.cat([g[0] for g in got]), want_a)
    torch.testing.assert_close(torch.cat([g[1] for g in got], 1), want_b)
    for function in (tt.gemm_rs, tt.gemm_ar):
        got = on_ranks(lambda rank: gradients(function, shard(a, rank, 1), shard(b, rank)))
        torch.testing.assert_close(torch.cat([g[0] for g in got], 1), want_a)
        torch.testing.assert_close(torch.cat([g[1] for g in got]), want_b)


def test_the_gradient_of_gemm_rs_to_its_input_alone_is_ag_gemm():
    a, b = random(16, 8), random(8, 12, seed=1)

    def main(rank):
        x = shard(a, rank, 1).requires_grad_()
        tt.gemm_rs(x, shard(b, rank)).sum().backward()
        return [call[0] for call in worlds.current().operators.calls], x.grad

    got = on_ranks(main)
    assert all(calls == ["gemm_rs", "ag_gemm"] for calls, _ in got)
    torch.testing.assert_close(torch.cat([g for _, g in got], 1), torch.ones(16, 12) @ b.t())


def test_gradients_of_collectives():
    x = random(16, 3)
    for got in on_ranks(lambda rank: gradients(tt.all_gather, shard(x, rank))):
        assert got[0].shape == (4, 3)
    for rank, got in enumerate(on_ranks(lambda rank: gradients(tt.reduce_scatter, x))):
        torch.testing.assert_close(got[0], 2 * SIZE * x)


@pytest.mark.parametrize("sequence_parallel", [True, False])
def test_two_layers_are_the_unsharded_ones(sequence_parallel):
    torch.manual_seed(0)
    first, second = torch.nn.Linear(8, 12), torch.nn.Linear(12, 8)
    x = random(16, 2, 8)
    whole = x.clone().requires_grad_()
    want = second(torch.relu(first(whole)))
    want.square().sum().backward()

    def main(rank):
        up = tt.ColumnParallelLinear.from_linear(first, sequence_parallel)
        down = tt.RowParallelLinear.from_linear(second, sequence_parallel)
        mine = (shard(x, rank) if sequence_parallel else x.clone()).requires_grad_()
        out = down(torch.relu(up(mine)))
        out.square().sum().backward()
        return out.detach(), mine.grad, up.weight.grad, down.weight.grad, up.bias.grad, down.bias.grad

    got = on_ranks(main)
    for i, tensor in enumerate((want.detach(), whole.grad)):
        parts = [g[i] for g in got]
        torch.testing.assert_close(torch.cat(parts) if sequence_parallel else parts[2], tensor, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.cat([g[2] for g in got]), first.weight.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.cat([g[3] for g in got], 1), second.weight.grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(torch.cat([g[4] for g in got]), first.bias.grad, rtol=1e-4, atol=1e-4)
    bias = sum(g[5] for g in got) if sequence_parallel else got[0][5]
    torch.testing.assert_close(bias, second.bias.grad, rtol=1e-4, atol=1e-4)


def test_gradients_are_the_same_where_a_mode_sees_the_calls():
    """Plain tensors have a class of autograd, those that a mode is to see go through torch.library."""
    from torch.utils._python_dispatch import TorchDispatchMode

    class Seen(TorchDispatchMode):
        def __init__(self):
            super().__init__()
            self.names = set()

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.names.add(str(function))
            return function(*args, **(kwargs or {}))

    a, b = random(16, 8), random(8, 12, seed=1)

    def main(rank):
        plain, found = gradients(tt.gemm_ar, a, b), Seen()
        with found:
            seen = gradients(tt.gemm_ar, a, b)
        return plain, seen, "tandem.gemm_ar.default" in found.names

    for plain, seen, is_seen in on_ranks(main):
        assert is_seen and all(torch.equal(x, y) for x, y in zip(plain, seen, strict=True))


def test_gradients_go_by_the_counts_of_their_call(one_rank, monkeypatch):
    """A caller may use its list for the next call, before the gradients."""
    told = []
    monkeypatch.setattr(one_rank.operators, "run", lambda *call: told.append(call[5]))
    counts = [to + (to == by) for by in range(SIZE) for to in range(SIZE)]
    back = [counts[to * SIZE + by] for by in range(SIZE) for to in range(SIZE)]
    rows = tt.all_to_all(random(sum(counts[SIZE : 2 * SIZE]), 8).requires_grad_(), counts)
    counts[:] = [1] * len(counts)
    rows.sum().backward()
    assert told[1][-SIZE * SIZE :] == back


def test_compiled_without_a_break(one_rank):
    from torch._dynamo.testing import CompileCounter

    def model(x, w):
        y = torch.relu(tt.ag_gemm(x, w.t()))
        return tt.all_reduce(tt.gemm_rs(y, w))

    ran = []
    one_rank.operators.run = lambda *args: ran.append(args[0])
    counter = CompileCounter()
    with torch.no_grad():
        out = torch.compile(model, backend=counter, fullgraph=True)(random(4, 8), random(6, 8))
    assert out.shape == (4, 8)
    assert counter.frame_count == 1
    assert ran == ["ag_gemm", "gemm_rs", "all_reduce"]


def test_compiled_training_without_a_break():
    a, b = random(16, 8), random(8, 12, seed=1)
    want_a, want_b = gradients(lambda a, b: a @ b, a, b)

    def main(rank):
        compiled = torch.compile(lambda x, w: tt.ag_gemm(x, w), backend="aot_eager", fullgraph=True)
        return gradients(compiled, shard(a, rank), shard(b, rank, 1))

    got = on_ranks(main)
    torch.testing.assert_close(torch.cat([g[0] for g in got]), want_a)
    torch.testing.assert_close(torch.cat([g[1] for g in got], 1), want_b)


@pytest.mark.parametrize(
    "operation,x,shape",
    [("ag_gemm", (4, 8), (16, 6)), ("gemm_rs", (16, 8), (4, 6)), ("gemm_ar", (16, 8), (16, 6)), ("gemm_rs", (13, 8), (4, 6))],
)
def test_traced_shapes(one_rank, operation, x, shape):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        out = getattr(tt, operation)(torch.empty(x), torch.empty(8, 6), out_dtype=torch.bfloat16)
    assert tuple(out.shape) == shape and out.dtype == torch.bfloat16


def test_the_registration_is_well_formed():
    a, b = random(16, 8), random(8, 12, seed=1)

    def main(rank):
        for name in ("ag_gemm", "gemm_rs"):
            x = shard(a, rank, 0 if name == "ag_gemm" else 1).requires_grad_()
            w = (b if name == "ag_gemm" else shard(b, rank)).clone().requires_grad_()
            torch.library.opcheck(getattr(torch.ops.tandem, name).default, (x, w), test_utils=("test_schema", "test_autograd_registration"))

    on_ranks(main)


def test_errors_are_one_line(one_rank):
    a, b = torch.zeros(4, 8), torch.zeros(8, 6)
    raises(ValueError, r"`ag_gemm`: `a` is on meta, this rank's device is cpu", tt.ag_gemm, a.to("meta"), b)
    raises(ValueError, r"`a` of shape \[4, 8\] has strides \[1, 4\], it must be contiguous", tt.ag_gemm, torch.zeros(8, 4).t(), b)
    raises(ValueError, r"`b` of shape \[8, 6\] has strides \[12, 2\]", tt.ag_gemm, a, torch.zeros(8, 12)[:, ::2])
    raises(TypeError, r"`a` is float64; it must be fp16, bf16, fp32 or fp8", tt.ag_gemm, a.double(), b)
    raises(TypeError, r"`a` is float32 and `b` is float16", tt.gemm_rs, a, b.half())
    raises(ValueError, r"`gemm_ar`: `a` has 8 columns and `b` has 7 rows", tt.gemm_ar, a, torch.zeros(7, 6))
    raises(ValueError, r"the input has 4 rows; rank 1 of 4 holds 5 of 20", tt.ag_gemm, a, b, 20)
    raises(ValueError, r"`out` has shape \[4, 6\], \[16, 6\] is needed", tt.ag_gemm, a, b, out=torch.zeros(4, 6))
    raises(TypeError, r"`x` is a `list`, not a tensor", tt.all_reduce, [1.0])
    raises(ValueError, r"no operation `gemm`; there are ag_gemm", tt.prepare, "gemm", 1, 2, 3)
    raises(ValueError, r"`all_reduce` has no `k`", tt.prepare, "all_reduce", 1, 2, 3)
    raises(ValueError, r"10 output features cannot be shared by 4 ranks", tt.ColumnParallelLinear, 8, 10)


def test_no_session(monkeypatch):
    monkeypatch.setattr(worlds._of_thread, "world", None, raising=False)
    raises(RuntimeError, r"no session: call `tandem.torch.init\(\)` first", tt.all_reduce, torch.zeros(4))
    if not torch.cuda.is_available():
        raises(RuntimeError, "PyTorch sees no CUDA device", tt.init)


def test_a_call_is_checked_once_for_all_that_are_alike(one_rank, monkeypatch):
    from tandem.torch import functions

    checked, check = [], functions._checked
    monkeypatch.setattr(functions, "_checked", lambda *given: checked.append(given[0]) or check(*given))
    monkeypatch.setattr(one_rank.operators, "run", lambda *given: None)
    x, w = random(4, 8), random(8, 8)
    with torch.no_grad():
        for _ in range(3):
            assert tt.ag_gemm(x, w).shape == (16, 8)
            assert tt.ag_gemm(x, w.t()).shape == (16, 8)
            assert tt.all_gather(x, m=16).shape == (16, 8)
        assert len(checked) == 3
        raises(ValueError, "holds 5 of 20", tt.all_gather, x, m=20)
        raises(TypeError, "float64", tt.ag_gemm, x, w.double())
        raises(ValueError, "strides", tt.ag_gemm, x, random(8, 16)[:, ::2])
        raises(ValueError, "shape", tt.ag_gemm, x, w, out=random(15, 8))
        tt.ag_gemm(x, w, out=random(16, 8))
    assert len(checked) == 8
