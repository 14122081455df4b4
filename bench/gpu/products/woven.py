"""Draws products that are woven into other work (woven_kernels.py): a form of kernel, types, the tile, warps, stages and sizes."""

import random

import torch
from draw import Call, Product, size

FORMS = (
    "normed",
    "gated_operand",
    "chained",
    "three",
    "block_orders",
    "skipping",
    "flattened",
    "transposed",
    "gram",
    "stepwise",
    "mixed",
    "four_bits",
    "deep",
    "scaled",
    "added",
    "along_columns",
    "counting_down",
)
WIDE = ("bf16", "fp16")
NARROW = ("e4m3", "int8", "e5m2")
PAIRS = ("bf16 int8", "fp16 int8", "bf16 e4m3", "fp16 e5m2", "bf16 fp32", "fp16 fp32", "fp32 bf16", "int8 bf16")  # A's, B's type
SCALED = ("e4m3 e4m3", "e5m2 e4m3", "bf16 e4m3", "bf16 e2m1", "e4m3 e2m1")
NAMES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16, "int8": torch.int8}
NAMES |= {"e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}


def draw_product(seed):
    draw = random.Random(f"woven {seed}")
    form = draw.choice(FORMS)
    kind = draw.choice(WIDE)
    if form in ("block_orders", "transposed") and draw.random() < 0.3:
        kind = draw.choice(("tf32", "e4m3"))
    if form == "stepwise":
        kind = draw.choice(NARROW)
    finish = {"mixed": draw.choice(PAIRS), "scaled": draw.choice(SCALED)}.get(form, "none")
    if form in ("normed", "added"):
        finish = draw.choice(("none", "more"))
    bytes_ = 1 if kind in NARROW else 4 if kind == "tf32" or "fp32" in finish else 2
    odd = draw.random() < 0.15 and form not in ("scaled", "four_bits")
    M, N, K = size(draw, 100, 5000, odd), size(draw, 100, 5000, odd and draw.random() < 0.5), size(draw, 128, 5000, odd)
    K = max(128, K // 64 * 64) if form in ("scaled", "four_bits") else K
    single = form in ("chained", "three", "along_columns")  # K is one tile
    while True:
        BM, BN, BK = 2 ** draw.randint(4, 8), 2 ** draw.randint(4, 8), 2 ** draw.randint(4, 7)
        warps, stages = draw.choices((1, 2, 4, 8, 16), (1, 2, 8, 6, 1))[0], draw.choices((1, 2, 3, 4, 5), (1, 4, 8, 5, 2))[0]
        sums = BM * BN / (32 * warps) * (2 if form == "three" else 1)
        if single:  # the second sum, and operands of the whole loop
            sums += (BN * BK * 2 if form == "three" else BM * 64) / (32 * warps)
        if not 4 <= sums <= 160 or BK * bytes_ < 32 or BK * bytes_ > 256:
            continue
        if (bytes_ == 1 or form in ("scaled", "four_bits")) and BK < 32 or (BM + BN) * BK * bytes_ * max(2, stages) > 190 << 10:
            continue
        if form == "three" and (BN * BK * 8 + BM * BK * 4 * stages + BM * BN * 4) > 200 << 10:
            continue
        break
    product = Product(form, kind, M, N, BK if single else K, BM, BN, BK, warps, stages, finish=finish)
    if form in ("block_orders", "transposed"):
        product.a_by = draw.choice("km")
    if form not in ("three", "along_columns", "gram", "deep"):
        product.b_by = "k" if form in ("scaled", "four_bits") or kind in NARROW else draw.choice("nk")
    if form == "deep":
        product.batch, product.parts = draw.choice((4, 12, 64)), draw.choice((1, 2, 4))
        product.M, product.N, product.K = min(M, 512), min(N, 512), min(K, 512)
        while product.parts > 1 and (
            BM * BN * product.parts > 160 * 32 * warps or (BM + BN) * BK * product.parts * 2 * max(2, stages) > 190 << 10
        ):
            product.parts //= 2
    if form == "flattened":
        product.count = draw.choice((132, 264))
    if form == "along_columns":
        product.parts = draw.choice((2, 4, 8))
    return product


def draws(count, seed=0):
    return [draw_product(seed * 100000 + i) for i in range(count)]


class Woven(Call):
    """A product's tensors, how `woven_kernels` is launched for it, and the result in float64."""

    def tile(self, **more):
        p = self.p
        return {"BM": p.BM, "BN": p.BN, "BK": p.BK, "num_warps": p.warps, "num_stages": p.stages, **more}

    def sum_type(self, tl):
        return tl.int32 if self.integer else tl.float32

    def set(self, c, launch, exact):
        """`launch(kernels, tl)`, and what C becomes."""
        self.result, self.launch, self.exact = c, launch, exact

    def matrices(self):
        p = self.p
        a, b = self.tensor(p.M, p.K), self.tensor(p.K, p.N, by=p.b_by == "k")
        c = self.out(p.M, p.N) if not self.integer else torch.empty((p.M, p.N), dtype=torch.bfloat16, device=self.device)
        return a, b, c, (p.M, p.N, p.K, a.stride(0), *b.stride(), c.stride(0))

    def normed(self):
        p = self.p
        a, b, c, numbers = self.matrices()
        gain, scale = self.tensor(p.K, dtype=torch.float32), self.tensor(p.M, dtype=torch.float32)
        silu = p.finish == "more"

        def exact():
            x = a.double() * scale.double()[:, None] * gain.double()
            return (x * torch.sigmoid(x) if silu else x) @ b.double()

        self.set(c, lambda k, tl: k.normed[self.grid()](a, b, c, gain, scale, *numbers, SILU=silu, **self.tile()), exact)

    def gated_operand(self):
        a, b, c, numbers = self.matrices()
        d = self.tensor(self.p.M, self.p.K)

        def exact():
            return torch.sigmoid(a.double()) * a.double() * d.double() @ b.double()

        self.set(c, lambda k, tl: k.gated_operand[self.grid()](a, d, b, c, *numbers, **self.tile()), exact)

    def chained(self):
        p, L = self.p, 256
        a, b, _, _ = self.matrices()
        d, c = self.tensor(p.N, L), self.out(p.M, L)
        numbers = p.M, p.N, p.K, L, a.stride(0), *b.stride(), d.stride(0), c.stride(0)

        def launch(kernels, tl):
            kernels.chained[(-(-p.M // p.BM), L // 64)](a, b, d, c, *numbers, **self.tile(BL=64))

        self.set(c, launch, lambda: torch.relu(a.double() @ b.double()) @ d.double())

    def three(self):
        p = self.p
        q, o = self.tensor(p.M, p.K), self.tensor(p.M, p.K)
        k, v = self.tensor(p.N, p.K), self.tensor(p.N, p.K)
        g = self.out(p.N, p.K)

        def launch(kernels, tl):
            kernels.three[(-(-p.N // p.BN),)](
                q, k, v, o, g, p.M, p.N, 0.125, BM=p.BM, BN=p.BN, D=p.K, num_warps=p.warps, num_stages=p.stages
            )

        def exact():
            x = (q.double() @ k.double().T * 0.125).tril()
            return x.T @ o.double() + (o.double() @ v.double().T * x).T @ q.double()

        self.set(g, launch, exact)

    def block_orders(self):
        p = self.p
        a, b = self.operands()
        c = self.out(p.M, p.N)
        numbers = p.M, p.N, p.K, *a.stride(), *b.stride(), c.stride(0)

        def launch(kernels, tl):
            kernels.block_orders[self.grid()](a, b, c, *numbers, AM=p.a_by == "m", BT=p.b_by == "k", **self.tile())

        self.set(c, launch, lambda: a.double() @ b.double())

    def skipping(self):
        p = self.p
        a, b, c, numbers = self.matrices()
        table = (torch.arange(-(-p.K // p.BK), device=self.device) % 3 != 1).to(torch.int32)

        def exact():
            kept = table.bool().repeat_interleave(p.BK)[: p.K]
            return a.double() * kept @ b.double()

        self.set(c, lambda k, tl: k.skipping[self.grid()](a, b, c, table, *numbers, **self.tile()), exact)

    def flattened(self):
        a, b, c, numbers = self.matrices()
        rows, columns = self.grid()
        count = min(self.p.count, rows * columns)
        self.set(c, lambda k, tl: k.flattened[(count,)](a, b, c, *numbers, COUNT=count, **self.tile()), lambda: a.double() @ b.double())

    def transposed(self):
        p = self.p
        a, b, c = self.tensor(p.K, p.M), self.tensor(p.N, p.K), self.out(p.M, p.N)
        numbers = p.M, p.N, p.K, a.stride(0), b.stride(0), c.stride(0)

        def launch(kernels, tl):
            kernels.transposed[self.grid()](a, b, c, *numbers, SUM=self.sum_type(tl), **self.tile())

        self.set(c, launch, lambda: a.double().T @ b.double().T)

    def gram(self):
        p = self.p
        p.N = p.M
        a, c = self.tensor(p.M, p.K), self.out(p.M, p.M)
        numbers = p.M, p.K, a.stride(0), c.stride(0)
        self.set(c, lambda k, tl: k.gram[self.grid()](a, c, *numbers, **self.tile()), lambda: a.double() @ a.double().T)

    def stepwise(self):
        p = self.p
        a, b, c, numbers = self.matrices()
        steps = -(-p.K // p.BK)
        sa, sb = self.tensor(p.M, steps, dtype=torch.float32), self.tensor(steps, p.N, dtype=torch.float32)

        def launch(kernels, tl):
            kernels.stepwise[self.grid()](a, b, c, sa, sb, *numbers, steps, SUM=self.sum_type(tl), **self.tile())

        def exact():
            x = a.double() * sa.double().repeat_interleave(p.BK, 1)[:, : p.K]
            return x @ (b.double() * sb.double().repeat_interleave(p.BK, 0)[: p.K])

        self.set(c, launch, exact)

    def mixed(self):
        p = self.p
        types = [NAMES[name] for name in p.finish.split()]
        a, b = self.tensor(p.M, p.K, dtype=types[0]), self.tensor(p.K, p.N, dtype=types[1], by=p.b_by == "k")
        c = torch.empty((p.M, p.N), dtype=torch.bfloat16, device=self.device)
        numbers = p.M, p.N, p.K, a.stride(0), *b.stride(), c.stride(0)
        half = torch.float16 if torch.float16 in types else torch.bfloat16

        def launch(kernels, tl):
            kernels.mixed[self.grid()](a, b, c, *numbers, TYPE=tl.float16 if half == torch.float16 else tl.bfloat16, **self.tile())

        self.set(c, launch, lambda: a.to(half).double() @ b.to(half).double())

    def four_bits(self):
        p, group = self.p, max(64, self.p.BK)
        a = self.tensor(p.M, p.K)
        b = torch.randint(0, 256, (p.N, p.K // 2), generator=self.random, device=self.device, dtype=torch.uint8)
        scales, c = self.tensor(-(-p.K // group), p.N, dtype=torch.float32), self.out(p.M, p.N)
        numbers = p.M, p.N, p.K, group, a.stride(0), b.stride(0), c.stride(0)

        def exact():
            y = torch.stack((b & 15, b >> 4), -1).reshape(p.N, p.K).double().T - 8
            return a.double() @ (y * scales.double().repeat_interleave(group, 0)[: p.K])

        self.set(c, lambda k, tl: k.four_bits[self.grid()](a, b, c, scales, *numbers, **self.tile()), exact)

    def deep(self):
        p = self.p
        a, b = self.tensor(p.batch, p.M, p.K), self.tensor(p.batch, p.K, p.N)
        c = self.out(p.batch, p.M, p.N)
        grid = (*self.grid(), -(-p.batch // p.parts))
        self.set(c, lambda k, tl: k.deep[grid](a, b, c, p.batch, p.M, p.N, p.K, **self.tile(BB=p.parts)), lambda: a.double() @ b.double())

    def scaled(self):
        p = self.p
        one, two = p.finish.split()
        packed = 2 if two == "e2m1" else 1
        a = self.tensor(p.M, p.K, dtype=NAMES[one])
        if packed == 2:
            b = torch.randint(0, 256, (p.N, p.K // 2), generator=self.random, device=self.device, dtype=torch.uint8)
        else:
            b = self.tensor(p.N, p.K, dtype=NAMES[two])
        sa, sb = (torch.randint(124, 131, (n, p.K // 32), generator=self.random, device=self.device, dtype=torch.uint8) for n in (p.M, p.N))
        c = torch.empty((p.M, p.N), dtype=torch.bfloat16, device=self.device)

        def launch(kernels, tl):
            more = {"A": one, "B": two, "PACK": packed}
            kernels.scaled[self.grid()](a, b, c, sa, sb, p.M, p.N, p.K, **self.tile(**more))

        def exact():
            x, y = a.double(), b.double()
            if packed == 2:
                numbers = torch.tensor((0, 0.5, 1, 1.5, 2, 3, 4, 6), dtype=torch.float64, device=self.device)
                y = torch.cat((numbers, -numbers))[torch.stack((b & 15, b >> 4), -1).reshape(p.N, p.K).long()]
            if one != "bf16":
                x = x * (sa.double() - 127).exp2().repeat_interleave(32, 1)
            return x @ (y * (sb.double() - 127).exp2().repeat_interleave(32, 1)).T

        self.set(c, launch, exact)

    def added(self):
        p = self.p
        a, b, c, numbers = self.matrices()
        c.copy_(self.tensor(p.M, p.N))
        out, more = torch.empty_like(c), p.finish == "more"

        def exact():
            return 0.5 * (c.double() + a.double() @ b.double() + (a.double().sum(1, keepdim=True) if more else 0))

        self.set(out, lambda k, tl: k.added[self.grid()](a, b, c, out, 0.5, *numbers, ROWS=more, **self.tile()), exact)

    def along_columns(self):
        p = self.p
        a, b, c, numbers = self.matrices()
        columns = -(-p.N // (p.parts * p.BN)) * p.BN
        grid = -(-p.M // p.BM), p.parts
        self.set(c, lambda k, tl: k.along_columns[grid](a, b, c, *numbers, columns, **self.tile()), lambda: a.double() @ b.double())

    def counting_down(self):
        a, b, c, numbers = self.matrices()
        self.set(c, lambda k, tl: k.counting_down[self.grid()](a, b, c, *numbers, **self.tile()), lambda: a.double() @ b.double())
