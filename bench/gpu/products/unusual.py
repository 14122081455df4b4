"""Draws products in unusual loops, with unusual operands and ends (unusual_kernels.py): a form, types, tile, warps, stages and sizes."""

import random

import torch
from draw import Product, size
from woven import Woven

FORMS = (
    "ragged",
    "two_sums",
    "described_tiles",
    "streamed",
    "indexed",
    "scattered",
    "bytes_with_zeros",
    "block_scales",
    "words",
    "joined",
    "table",
    "promoted",
    "triangular",
    "groups",
    "low_rank",
    "nearest",
    "log_sum",
    "taps",
    "twice",
    "two_parts",
    "precisions",
    "turned",
    "listed",
    "normed_rows",
    "one_loop",
    "described_loop",
    "recurrent",
)
PACKED = ("words", "joined")  # weights of four bits
TWO = ("two_sums", "two_parts", "promoted", "normed_rows")  # registers for two sums
ANY = ("ragged", "described_tiles", "streamed", "taps", "listed", "one_loop", "described_loop", "indexed")  # 8-bit floats, too


def draw_kind(draw, form):
    if form in ("block_scales", "promoted"):
        return draw.choice(("e4m3", "e4m3", "e5m2"))
    if form == "bytes_with_zeros":
        return "int8"
    if form == "precisions":
        return draw.choice(("fp16", "tf32"))
    if form in ANY and draw.random() < 0.2:
        return draw.choice(("e4m3", "tf32"))
    return draw.choice(("bf16", "fp16"))


def draw_product(seed):
    draw = random.Random(f"unusual {seed}")
    form = draw.choice(FORMS)
    kind = draw_kind(draw, form)
    bytes_ = 1 if kind in ("e4m3", "e5m2", "int8") else 4 if kind == "tf32" else 2
    odd = draw.random() < 0.15 and form not in ("described_tiles", "described_loop", "block_scales", *PACKED)
    M, N, K = size(draw, 100, 5000, odd), size(draw, 100, 5000, odd and draw.random() < 0.5), size(draw, 128, 5000, odd)
    while True:
        BM, BN, BK = 2 ** draw.randint(4, 8), 2 ** draw.randint(4, 8), 2 ** draw.randint(4, 7)
        warps, stages = draw.choices((1, 2, 4, 8), (1, 2, 8, 6))[0], draw.choices((1, 2, 3, 4, 5), (1, 4, 8, 5, 2))[0]
        sums = BM * BN / (32 * warps) * (2 if form in TWO else 1)
        if form == "recurrent":  # the state's columns are the other tile
            BN, BK = draw.choice((64, 128)), draw.choice((32, 64, 128))
            sums = (BM * (BM + BK) + BN * BK) / (32 * warps)
        if not 4 <= sums <= 160 or BK * bytes_ < 32 or BK * bytes_ > 256 or bytes_ == 1 and BK < 32:
            continue
        if (
            form in PACKED
            and BK < 32
            or (BM + BN) * BK * bytes_ * (2 if form in ("two_sums", "two_parts") else 1) * max(2, stages) > 190 << 10
        ):
            continue
        break
    product = Product(form, kind, M, N, K, BM, BN, BK, warps, stages)
    product.b_by = "n" if form in (*PACKED, "groups", "recurrent") else "k" if bytes_ == 1 or form == "table" else draw.choice("nk")
    if form in ("described_tiles", "described_loop", *PACKED):
        product.M, product.N, product.K = (max(128, n // 128 * 128) for n in (M, N, K))
    if form == "block_scales":
        product.K = max(128, K // 16 * 16)
    if form in ("described_tiles", "streamed", "one_loop", "described_loop"):
        product.count = draw.choice((132, 264))
    if form in ("described_tiles", "indexed", "scattered"):
        product.finish = draw.choice(("none", "more"))
    if form == "promoted":
        product.parts = draw.choice((2, 4))
    if form == "taps":
        product.parts, product.K = draw.choice((2, 3, 4)), min(K, 1024)
    if form in ("scattered", "groups"):
        product.batch = draw.choice((4, 8, 32))
    if form == "groups":
        product.M, product.N = min(M, 1024), min(N, 1024)
    if form in ("low_rank", "normed_rows"):
        product.parts = draw.choice((16, 32, 64))
    if form == "normed_rows":
        product.N = BN - draw.choice((0, 0, BN // 4, 3))
    if form in ("nearest", "log_sum"):
        product.M, product.K = max(M, 2000), min(K, 512)
    if form == "recurrent":
        product.N, product.K, product.batch = draw.choice((64, 128)), BK, draw.choice((16, 64))
        product.M = min(M, 2048)
    return product


def draws(count, seed=0):
    return [draw_product(seed * 100000 + i) for i in range(count)]


class Unusual(Woven):
    """A product's tensors, how `unusual_kernels` is launched for it, and the result in float64."""

    def numbers(self, *shape, below, dtype=torch.int32):
        return torch.randint(0, below, shape, generator=self.random, device=self.device, dtype=dtype)

    def simple(self, form, *more, exact=None, grid=None, **constants):
        """A, B, C and `more` tensors behind C."""
        a, b, c, numbers = self.matrices()
        more = tuple(x(c) if callable(x) else x for x in more)

        def launch(kernels, tl):
            getattr(kernels, form)[grid or self.grid()](a, b, c, *more, *numbers, **self.tile(**constants))

        self.set(c, launch, lambda: exact(a.double(), b.double()) if exact else a.double() @ b.double())

    def ragged(self):
        p = self.p
        blocks = -(-p.M // p.BM)
        lengths = self.numbers(blocks, below=p.K + 1)

        def exact(a, b):
            ends = lengths.repeat_interleave(p.BM)[: p.M, None]
            return a.where(torch.arange(p.K, device=self.device) < ends, 0) @ b

        self.simple("ragged", lengths, exact=exact)

    def two_sums(self):
        a, b, c, numbers = self.matrices()
        d = self.tensor(self.p.M, self.p.K)

        def exact():
            return a.double() @ b.double() * torch.sigmoid(d.double() @ b.double())

        self.set(c, lambda k, tl: k.two_sums[self.grid()](a, d, b, c, *numbers, **self.tile()), exact)

    def described_tiles(self):
        self.with_descriptors("described_tiles", HALVES=self.p.finish == "more" and self.p.BN > 16)

    def with_descriptors(self, form, **more):
        p = self.p
        a, b, c = self.tensor(p.M, p.K), self.tensor(p.N, p.K), self.out(p.M, p.N)
        rows, columns = self.grid()
        count = min(p.count, rows * columns)

        def launch(kernels, tl):
            getattr(kernels, form)[(count,)](a, b, c, p.M, p.N, p.K, COUNT=count, **self.tile(**more))

        self.set(c, launch, lambda: a.double() @ b.double().T)

    def streamed(self):
        p = self.p
        a, b, _, numbers = self.matrices()
        c = torch.zeros(p.M, p.N, dtype=torch.float32, device=self.device)
        self.set(c, lambda k, tl: k.streamed[(p.count,)](a, b, c, *numbers, COUNT=p.count, **self.tile()), lambda: a.double() @ b.double())

    def indexed(self):
        p = self.p
        rows = p.finish == "more"
        index = self.numbers(p.K if rows else p.N, below=p.K if rows else p.N)
        self.simple("indexed", index, exact=lambda a, b: a @ (b[index.long()] if rows else b[:, index.long()]), ROWS=rows)

    def scattered(self):
        p = self.p
        a, b = self.tensor(p.M, p.K), self.tensor(p.batch, p.K, p.N, by=p.b_by == "k")
        index = torch.randperm(p.M, generator=self.random, device=self.device).to(torch.int32)
        weight, expert = self.tensor(p.M, dtype=torch.float32), self.numbers(-(-p.M // p.BM), below=p.batch)
        add = p.finish == "more"
        c = torch.zeros(p.M, p.N, dtype=torch.float32 if add else p.dtype, device=self.device)
        numbers = p.M, p.N, p.K, a.stride(0), *b.stride(), c.stride(0)

        def exact():
            out = torch.empty(p.M, p.N, dtype=torch.float64, device=self.device)
            for i, e in enumerate(expert.tolist()):
                rows = slice(i * p.BM, (i + 1) * p.BM)
                out[index[rows].long()] = a[rows].double() @ b[e].double() * weight[rows, None]
            return out

        self.set(c, lambda k, tl: k.scattered[self.grid()](a, b, c, index, weight, expert, *numbers, **self.tile(ADD=add)), exact)

    def bytes_with_zeros(self):
        p = self.p
        sa, sb = self.tensor(p.M, dtype=torch.float32), self.tensor(p.N, dtype=torch.float32)
        zeros = self.numbers(p.M, below=16)

        def exact(a, b):
            return (a @ b - zeros.double()[:, None] * b.sum(0)) * sa.double()[:, None] * sb.double()

        self.simple("bytes_with_zeros", sa, zeros, sb, exact=exact)

    def block_scales(self):
        p = self.p
        steps = -(-p.K // 128)
        sa, sb = self.tensor(p.M, steps, dtype=torch.float32), self.tensor(-(-p.N // 128), steps, dtype=torch.float32)
        a, b, c, numbers = self.matrices()

        def exact():
            x = a.double() * sa.double().repeat_interleave(128, 1)[:, : p.K]
            return x @ (b.double() * sb.double().repeat_interleave(128, 0)[: p.N].repeat_interleave(128, 1)[:, : p.K].T)

        self.set(c, lambda k, tl: k.block_scales[self.grid()](a, b, c, sa, sb, *numbers, steps, **self.tile()), exact)

    def words(self):
        p = self.p
        a, c = self.tensor(p.M, p.K), self.out(p.M, p.N)
        scales = self.tensor(p.K // 128, p.N)
        b, zeros = (self.numbers(*shape, below=2**31 - 1) for shape in ((p.K // 8, p.N), (p.K // 128, p.N // 8)))
        numbers = p.M, p.N, p.K, a.stride(0), b.stride(0), c.stride(0)

        def exact():
            shifts = torch.arange(0, 32, 4, device=self.device)
            y = ((b[:, None] >> shifts[:, None]) & 15).reshape(p.K, p.N) - ((zeros[:, :, None] >> shifts) & 15).reshape(
                -1, p.N
            ).repeat_interleave(128, 0)
            return a.double() @ (y.double() * scales.double().repeat_interleave(128, 0))

        self.set(c, lambda k, tl: k.words[self.grid()](a, b, c, scales, zeros, *numbers, **self.tile(GROUP=128)), exact)

    def joined(self):
        p = self.p
        a, c = self.tensor(p.M, p.K), self.out(p.M, p.N)
        b, scales = self.numbers(p.K // 2, p.N, below=256, dtype=torch.int16).sub(128).to(torch.int8), self.tensor(p.K // 128, p.N)
        numbers = p.M, p.N, p.K, a.stride(0), b.stride(0), c.stride(0)

        def exact():
            y = torch.stack(((b.int() << 28) >> 28, b.int() >> 4), 1).reshape(p.K, p.N)
            return a.double() @ (y.double() * scales.double().repeat_interleave(128, 0))

        self.set(c, lambda k, tl: k.joined[self.grid()](a, b, c, scales, *numbers, **self.tile(GROUP=128)), exact)

    def table(self):
        p = self.p
        a, c = self.tensor(p.M, p.K), self.out(p.M, p.N)
        b, values = self.numbers(p.N, p.K, below=16, dtype=torch.uint8), self.tensor(16)
        numbers = p.M, p.N, p.K, a.stride(0), b.stride(0), c.stride(0)
        launch = lambda k, tl: k.table[self.grid()](a, b, c, values, *numbers, **self.tile())
        self.set(c, launch, lambda: a.double() @ values.double()[b.long()].T)

    def promoted(self):
        self.simple("promoted", EVERY=self.p.parts)

    def triangular(self):
        self.simple("triangular", exact=lambda a, b: a.tril() @ b)

    def groups(self):
        p = self.p
        rows = p.K
        a, b = self.tensor(rows, p.M), self.tensor(rows, p.N)
        inner = self.numbers(p.batch - 1, below=rows + 1).sort().values
        bounds = torch.nn.functional.pad(torch.nn.functional.pad(inner, (1, 0)), (0, 1), value=rows)
        c = self.out(p.batch, p.M, p.N)
        grid = (*self.grid(), p.batch)

        def exact():
            at = bounds.tolist()
            return torch.stack([a[i:j].double().T @ b[i:j].double() for i, j in zip(at, at[1:])])

        self.set(c, lambda k, tl: k.groups[grid](a, b, c, bounds, p.M, p.N, a.stride(0), b.stride(0), **self.tile()), exact)

    def low_rank(self):
        p = self.p
        a, b, c, numbers = self.matrices()
        u, v = self.tensor(p.K, p.parts), self.tensor(p.parts, p.N)
        launch = lambda k, tl: k.low_rank[self.grid()](a, b, u, v, c, *numbers, **self.tile(R=p.parts))
        self.set(c, launch, lambda: a.double() @ b.double() + a.double() @ u.double() @ v.double())

    def by_rows(self, form, exact, *more):
        """`exact(A B)`, a number for each row."""
        p = self.p
        a, b, _, numbers = self.matrices()
        more = tuple(x(b) for x in more)
        c = torch.empty(p.M, dtype=torch.float32, device=self.device)
        grid = (-(-p.M // p.BM),)

        def launch(kernels, tl):
            getattr(kernels, form)[grid](a, b, *more, c, *numbers[:-1], **self.tile())

        self.set(c, launch, lambda: exact(a.double() @ b.double(), *more))

    def nearest(self):
        self.by_rows("nearest", lambda product, norms: (norms - 2 * product).amin(1), lambda b: b.float().square().sum(0))

    def log_sum(self):
        self.by_rows("log_sum", lambda product: (product * 0.125).logsumexp(1))

    def taps(self):
        p = self.p
        a, b, c = self.tensor(p.M, p.K), self.tensor(p.parts * p.K, p.N, by=p.b_by == "k"), self.out(p.M, p.N)
        numbers = p.M, p.N, p.K, a.stride(0), *b.stride(), c.stride(0)

        def exact():
            x = torch.nn.functional.pad(a.double(), (0, 0, p.parts - 1, 0))
            return sum(x[tap : tap + p.M] @ b[tap * p.K : (tap + 1) * p.K].double() for tap in range(p.parts))

        self.set(c, lambda k, tl: k.taps[self.grid()](a, b, c, *numbers, **self.tile(TAPS=p.parts)), exact)

    def pairs(self):
        a, b, c, numbers = self.matrices()
        return a, b, self.tensor(self.p.M, self.p.K), self.tensor(self.p.K, self.p.N, by=self.p.b_by == "k"), c, numbers

    def twice(self):
        a, b, d, e, c, numbers = self.pairs()

        def exact():
            return a.double() @ b.double() + d.double() @ e.double()

        self.set(c, lambda k, tl: k.twice[self.grid()](a, b, d, e, c, *numbers, **self.tile()), exact)

    def two_parts(self):
        a, b, d, e, c, numbers = self.pairs()

        def exact():
            x, y, w, z = a.double(), b.double(), d.double(), e.double()
            return (x @ y - w @ z).square() + (x @ z + w @ y).square()

        self.set(c, lambda k, tl: k.two_parts[self.grid()](a, d, b, e, c, *numbers, **self.tile()), exact)

    def precisions(self):
        self.simple("precisions", THREE=self.p.kind == "tf32")

    def turned(self):
        bias = self.tensor(self.p.N, dtype=torch.float32)
        self.simple("turned", bias, exact=lambda a, b: a @ b + bias.double())

    def listed(self):
        p = self.p
        there = torch.rand(-(-p.N // p.BN), -(-p.K // p.BK), generator=self.random, device=self.device) < 0.5
        firsts = torch.nn.functional.pad(there.sum(1).cumsum(0), (1, 0)).to(torch.int32)
        blocks = there.nonzero()[:, 1].to(torch.int32)

        def exact(a, b):
            kept = there.T.repeat_interleave(p.BK, 0)[: p.K].repeat_interleave(p.BN, 1)[:, : p.N]
            return a @ (b * kept)

        self.simple("listed", firsts, blocks, exact=exact)

    def normed_rows(self):
        p = self.p
        gain, sums = self.tensor(p.N, dtype=torch.float32), torch.zeros(p.N, dtype=torch.float32, device=self.device)

        def exact(a, b):
            product = a @ b
            return product * (product.square().mean(1, keepdim=True) + 1e-6).rsqrt() * gain.double()

        self.simple("normed_rows", gain, sums, exact=exact, grid=(-(-p.M // p.BM),))

    def one_loop(self):
        rows, columns = self.grid()
        count = min(self.p.count, rows * columns)
        self.simple("one_loop", grid=(count,), COUNT=count, GROUP=8)

    def described_loop(self):
        self.with_descriptors("described_loop")

    def recurrent(self):
        p = self.p
        q, k, v = (self.tensor(p.batch, p.M, n) for n in (p.K, p.K, p.N))
        if not self.empty:
            q, k = q * 0.2, k * 0.2
        o, decay, BL = self.out(p.batch, p.M, p.N), 0.9, min(p.BN, p.N)
        grid = (-(-p.N // BL), p.batch)

        def launch(kernels, tl):
            kernels.recurrent[grid](q, k, v, o, p.M, p.K, p.N, decay, BM=p.BM, BD=p.BK, BL=BL, num_warps=p.warps, num_stages=p.stages)

        def exact():
            x, y, z = q.double(), k.double(), v.double()
            block = torch.arange(p.M, device=self.device) // p.BM
            weight = decay ** (block[:, None] - block - 1).double() * (block[:, None] > block)
            weight = weight + ((block[:, None] == block) & torch.ones_like(weight, dtype=torch.bool).tril())
            return (x @ y.mT * weight) @ z

        self.set(o, launch, exact)
