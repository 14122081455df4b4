"""The contenders of a case: Tandem, cuBLAS and NCCL in sequence, PyTorch's symmetric memory, and the parts alone.

A contender is a function without arguments that queues its work; its inputs and outputs are fixed tensors, so that it can be captured.
"""

import dataclasses
from typing import Callable

import torch
import torch.distributed as dist


TYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "e4m3": torch.float8_e4m3fn}


@dataclasses.dataclass
class Contender:
    call: Callable[[], object]
    output: Callable[[], torch.Tensor] | None = None  # what it computed; None for parts alone
    poison: Callable[[], object] = lambda: None
    reset: Callable[[], object] | None = None  # before each call, outside of what is timed


@dataclasses.dataclass
class Ranks:
    """The modules with which a rank builds contenders. `symm`: torch.distributed._symmetric_memory, or None;
    `tandem`: tandem.torch, or None."""

    rank: int
    size: int
    device: torch.device
    group: str
    symm: object = None
    tandem: object = None


class Case:
    """Inputs, reference and contenders of one case on one rank. A contender that cannot be built has its error in `errors`."""

    def __init__(self, case, ranks, weights="kn"):
        self.case, self.ranks = case, ranks
        self.dtype = TYPES[case.get("dtype", "bf16")]
        self.is_fp8 = self.dtype.itemsize == 1
        self.result = torch.bfloat16 if self.is_fp8 else self.dtype
        self.weights = "nk" if self.is_fp8 else weights  # fp8 instructions take no other
        self.one = torch.ones((), device=ranks.device)  # the scale of both operands
        self.contenders, self.errors = {}, {}
        getattr(self, "_" + case["op"])()

    def _add(self, name, make):
        try:
            made = make()
        except Exception as error:  # this contender's end, not the case's
            self.errors[name] = first_line(error)
            return
        if made is not None:
            self.contenders[name] = made

    def _empty(self, *shape):
        """A result, or a part of one."""
        return torch.empty(shape, dtype=self.result, device=self.ranks.device)

    def _operand(self, *shape):
        return torch.empty(shape, dtype=self.dtype, device=self.ranks.device)

    def _b(self, k, n):
        return self._operand(n, k).t() if self.weights == "nk" else self._operand(k, n)

    def _symmetric(self, *shape, dtype=None):
        tensor = self.ranks.symm.empty(shape, dtype=dtype or self.result, device=self.ranks.device)
        return tensor, self.ranks.symm.rendezvous(tensor, self.ranks.group)

    def fresh(self):
        """New random inputs, in place."""
        for tensor in self.inputs:
            if self.is_fp8:
                tensor.copy_(torch.randn(tensor.shape, dtype=torch.bfloat16, device=tensor.device))
            else:
                tensor.normal_()

    def _multiply(self, a, b, out):
        if self.is_fp8:
            torch._scaled_mm(a, b, self.one, self.one, out_dtype=self.result, use_fast_accum=True, out=out)
        else:
            torch.mm(a, b, out=out)

    def _gather(self, gathered, own):
        """NCCL's, which knows fp8 as bytes."""
        if self.is_fp8:
            gathered, own = gathered.view(torch.uint8), own.view(torch.uint8)
        dist.all_gather_into_tensor(gathered, own)

    @staticmethod
    def _exact_product(a, b):
        return a.to(torch.float64) @ b.to(torch.float64)

    def _tandem(self, name, *inputs, out):
        """Tandem's contender, where there is Tandem."""
        if self.ranks.tandem is None:
            return
        function = getattr(self.ranks.tandem, name)
        self._add("tandem", lambda: Contender(lambda: function(*inputs, out=out), lambda: out, lambda: out.fill_(float("nan"))))

    def _remember(self, name, compute):
        """A contender that allocates its result."""
        kept = {}

        def call():
            kept["result"] = compute()

        self._add(name, lambda: Contender(call, lambda: kept["result"], lambda: _fill_nan(kept)))

    def _ag_gemm(self):
        r, (m, n, k) = self.ranks, (self.case["m"], self.case["local_n"], self.case["local_k"])
        a, b = self._operand(m // r.size, k), self._b(k, n)
        gathered, out, theirs = self._operand(m, k), self._empty(m, n), self._empty(m, n)
        self.inputs = [a, b]

        def exact():
            self._gather(gathered, a)
            return self._exact_product(gathered, b)

        def sequence():
            self._gather(gathered, a)
            self._multiply(gathered, b, theirs)

        self.reference = exact
        self._tandem("ag_gemm", a, b, out=out)
        self._add("nccl", lambda: Contender(sequence, lambda: theirs, lambda: theirs.fill_(float("nan"))))
        self._add("gemm", lambda: Contender(lambda: self._multiply(gathered, b, theirs)))
        self._add("nccl_alone", lambda: Contender(lambda: self._gather(gathered, a)))
        if r.symm is None:
            return
        # Without `return_A` PyTorch would use multicast at few rows, where it believes there is any.
        return_a = m <= 2048

        def fused():
            if not self.is_fp8:
                return torch.ops.symm_mem.fused_all_gather_matmul(a, [b], 0, r.group, return_A=return_a)[1][0]
            rest = ([None], [None], [self.result], [True])  # biases, result scales, types, fast sums
            return torch.ops.symm_mem.fused_all_gather_scaled_matmul(a, [b], self.one, [self.one], 0, r.group, *rest)[1][0]

        self._remember("async_tp", fused)
        self._add("copy_engine_alone", lambda: self._pushes({p: a for p in self._peers()}, m // r.size, k))

    def _peers(self):
        return [(self.ranks.rank + step) % self.ranks.size for step in range(1, self.ranks.size)]

    def _gemm_rs(self):
        r, (m, n, k) = self.ranks, (self.case["m"], self.case["local_n"], self.case["local_k"])
        a, b = self._operand(m, k), self._b(k, n)
        rows = m // r.size
        partial, out, theirs = self._empty(m, n), self._empty(rows, n), self._empty(rows, n)
        self.inputs = [a, b]

        def exact():
            mine = torch.empty(rows, n, dtype=torch.float64, device=r.device)
            dist.reduce_scatter_tensor(mine, self._exact_product(a, b))
            return mine

        def sequence():
            self._multiply(a, b, partial)
            dist.reduce_scatter_tensor(theirs, partial)

        self.reference = exact
        self._tandem("gemm_rs", a, b, out=out)
        self._add("nccl", lambda: Contender(sequence, lambda: theirs, lambda: theirs.fill_(float("nan"))))
        self._add("gemm", lambda: Contender(lambda: self._multiply(a, b, partial)))
        self._add("nccl_alone", lambda: Contender(lambda: dist.reduce_scatter_tensor(theirs, partial)))
        if r.symm is None:
            return

        def fused():
            if not self.is_fp8:
                return torch.ops.symm_mem.fused_matmul_reduce_scatter(a, b, "sum", 0, r.group)
            rest = (r.group, [m, n], None, None, self.result, True)  # shape, bias, result scale, type, fast sums
            return torch.ops.symm_mem.fused_scaled_matmul_reduce_scatter(a, b, self.one, self.one, "sum", 0, 0, *rest)

        self._remember("async_tp", fused)
        parts = {p: partial[p * rows : (p + 1) * rows] for p in self._peers()}
        self._add("copy_engine_alone", lambda: self._pushes(parts, rows, n))

    def _pushes(self, parts, rows, columns):
        """Copies to each peer its part of this rank's data: that is quicker than a copy by the peer."""
        r = self.ranks
        dtype = next(iter(parts.values())).dtype
        landing, handle = self._symmetric(r.size, rows, columns, dtype=dtype)
        pairs = [(handle.get_buffer(p, landing.shape, dtype)[r.rank], part) for p, part in parts.items()]

        def call():
            for remote, own in pairs:
                remote.copy_(own)

        self._held = landing
        return Contender(call)

    def _gemm_ar(self):
        r, (m, n, k) = self.ranks, (self.case["m"], self.case["local_n"], self.case["local_k"])
        a, b = self._operand(m, k), self._b(k, n)
        out, theirs = self._empty(m, n), self._empty(m, n)
        self.inputs = [a, b]

        def exact():
            total = self._exact_product(a, b)
            dist.all_reduce(total)
            return total

        def sequence():
            self._multiply(a, b, theirs)
            dist.all_reduce(theirs)

        self.reference = exact
        self._tandem("gemm_ar", a, b, out=out)
        self._add("nccl", lambda: Contender(sequence, lambda: theirs, lambda: theirs.fill_(float("nan"))))
        self._add("gemm", lambda: Contender(lambda: self._multiply(a, b, theirs)))
        self._add("nccl_alone", lambda: Contender(lambda: dist.all_reduce(theirs), reset=lambda: theirs.normal_()))
        if r.symm is None:
            return
        self._add_symmetric_reductions((m, n), lambda symmetric: self._multiply(a, b, symmetric))

    def _all_reduce(self):
        r, count = self.ranks, self.case["bytes"] // 2
        x, out, theirs = self._empty(count), self._empty(count), self._empty(count)
        self.inputs = [x]

        def exact():
            total = x.double()
            dist.all_reduce(total)
            return total

        self.reference = exact
        self._tandem("all_reduce", x, out=out)
        self._add("nccl", lambda: Contender(lambda: dist.all_reduce(theirs), lambda: theirs, reset=lambda: theirs.copy_(x)))
        if r.symm is not None:
            self._add_symmetric_reductions((count,), None, x)

    def _add_symmetric_reductions(self, shape, produce, source=None):
        """PyTorch's two kernels over symmetric memory that `produce` writes as part of the call, or that holds `source` before it."""
        group, operations = self.ranks.group, torch.ops.symm_mem
        try:
            symmetric, _ = self._symmetric(*shape)
        except Exception as error:
            self.errors["one_shot"] = self.errors["two_shot"] = first_line(error)
            return
        kept = {}

        def one_shot():
            if produce:
                produce(symmetric)
            kept["result"] = operations.one_shot_all_reduce(symmetric, "sum", group)

        def two_shot():
            if produce:
                produce(symmetric)
            operations.two_shot_all_reduce_(symmetric, "sum", group)

        reset = None if produce else lambda: symmetric.copy_(source)
        self._add("one_shot", lambda: Contender(one_shot, lambda: kept["result"], lambda: _fill_nan(kept), reset))
        self._add("two_shot", lambda: Contender(two_shot, lambda: symmetric, reset=reset))


def _fill_nan(tensors):
    for tensor in tensors.values():
        tensor.fill_(float("nan"))


def first_line(error):
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300] if text else ''}"


def relative_error(out, exact):
    return ((out.double() - exact).norm() / exact.norm()).item()
