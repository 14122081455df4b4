"""Draws products as they stand inside applications (applied_kernels.py): a form, types, tile, warps, stages and sizes."""

import random

import torch
from draw import Product, size
from unusual import Unusual

FORMS = (
    "sized",
    "sparse_rows",
    "image",
    "narrow_middle",
    "adapters",
    "few_bits",
    "two_planes",
    "halves",
    "wide_weights",
    "nested_groups",
    "locked",
    "tickets",
    "tall",
    "shared_weight",
    "summed_batch",
    "symmetric",
    "weight_gradient",
    "three_matrices",
    "worded",
    "doubles",
    "worded_loop",
    "half_described",
    "interleaved",
    "row_ends",
    "largest",
    "dropped",
    "rotated",
    "windows",
    "backwards",
    "tokens",
)
WHOLE = ("few_bits", "two_planes", "halves", "wide_weights", "nested_groups", "worded_loop", "half_described", "interleaved", "rotated")
ONE_STEP = ("tall", "largest")  # K is one tile
WEIGHTS = ("few_bits", "two_planes", "halves", "wide_weights")


def draw_kind(draw, form):
    if form == "worded":
        return draw.choice(("e4m3", "e5m2", "tf32", "tf32", "fp16", "bf16"))
    if form == "nested_groups":
        return draw.choice(("int8", "e4m3"))
    if form in ("sized", "shared_weight", "summed_batch", "windows", "tickets", "locked", "image", "backwards") and draw.random() < 0.15:
        return "tf32"
    return draw.choice(("bf16", "fp16"))


def draw_product(seed):
    draw = random.Random(f"applied {seed}")
    form = draw.choice(FORMS)
    kind = draw_kind(draw, form)
    bytes_ = 8 if form == "doubles" else 1 if kind in ("e4m3", "e5m2", "int8") else 4 if kind == "tf32" else 2
    odd = draw.random() < 0.15 and form not in WHOLE
    M, N, K = size(draw, 100, 5000, odd), size(draw, 100, 5000, odd and draw.random() < 0.5), size(draw, 128, 5000, odd)
    while True:
        BM, BN, BK = 2 ** draw.randint(4, 8), 2 ** draw.randint(4, 8), 2 ** draw.randint(4, 7)
        warps, stages = draw.choices((1, 2, 4, 8, 16), (1, 2, 8, 6, 1))[0], draw.choices((1, 2, 3, 4, 5, 6), (1, 4, 8, 5, 2, 1))[0]
        sums = BM * BN / (32 * warps) * (2 if form == "nested_groups" else 1)
        if form == "doubles":
            BK, sums = min(BK, 32), 2 * sums
        if form == "three_matrices":
            sums += BM * 64 / (32 * warps)
        if not 4 <= sums <= 160 or BK * bytes_ < 32 or BK * bytes_ > 256 or bytes_ == 1 and BK < 32 or form in WEIGHTS and BK < 32:
            continue
        if (BM + BN) * BK * bytes_ * max(2, stages) > 190 << 10 or form in WHOLE and BN < 32:
            continue
        break
    if form in ONE_STEP:
        K = min(K, BK)
    product = Product(form, kind, M, N, K, BM, BN, BK, warps, stages)
    product.b_by = "k" if bytes_ == 1 or form in ("halves", "largest") else draw.choice("nk")
    if form == "worded_loop":
        product.b_by, product.count = "n", draw.choice((132, 264))
        product.finish = draw.choice(("none", "flatten", "roles"))
    if form in WHOLE:
        product.M, product.N, product.K = (max(256, n // 256 * 256) for n in (M, N, K))
    if form in ("sized", "summed_batch", "shared_weight", "tokens", "adapters"):
        product.batch = draw.choice((4, 8, 24))
    if form in ("summed_batch", "shared_weight"):
        product.M, product.N, product.K = min(M, 1024), min(N, 1024), min(K, 1024)
    if form == "image":
        product.K, product.N = draw.choice((3, 16, 32, 64, 100)), draw.choice((32, 64, 100, 128, 256))
        product.M = draw.choice((14, 28, 56))
        product.window = draw.choice(((3, 3, 1, 1), (3, 3, 2, 1), (1, 1, 1, 0), (5, 5, 1, 2), (7, 7, 2, 3)))
    if form == "narrow_middle":
        product.parts = draw.choice((16, 32, 64))
    if form == "adapters":
        product.N = draw.choice((16, 32, 64, N))
    if form == "few_bits":
        product.parts, product.count = draw.choice((2, 3, 4)), draw.choice((32, 64, 128))
    if form == "locked":
        product.count = draw.choice((132, 264))
    if form in ("tickets", "weight_gradient"):
        product.parts = draw.choice((2, 4, 8))
    if form == "tall":
        product.M, product.N, product.count = 16 * M, min(N, BN), draw.choice((132, 528))
    if form == "row_ends":
        product.N = BN - draw.choice((0, 0, BN // 4, 3))
        product.finish = draw.choice(("softmax", "bytes"))
    if form == "three_matrices":
        product.M, product.N, product.K = min(M, 2048), min(N, 512), min(K, 256)
    if form == "doubles":
        product.M, product.N, product.K = min(M, 2048), min(N, 2048), min(K, 1024)
    if form == "worded":
        words = {"tf32": ("tf32x3", "bf16x3", "bf16x6", "tf32"), "e4m3": ("0", "32", "128"), "fp16": ("half", "none")}
        product.finish = draw.choice(words.get(kind, ("none",)))
    return product


def draws(count, seed=0):
    return [draw_product(seed * 100000 + i) for i in range(count)]


class Applied(Unusual):
    """A product's tensors, how `applied_kernels` is launched for it, and the result in float64."""

    def sized(self):
        p = self.p
        a, b, c = self.tensor(p.M, p.K), self.tensor(p.batch, p.K, p.N, by=p.b_by == "k"), self.out(p.M, p.N)
        inner = self.numbers(p.batch - 1, below=p.M + 1).sort().values
        bounds = torch.nn.functional.pad(torch.nn.functional.pad(inner, (1, 0)), (0, 1), value=p.M)
        sizes = bounds.diff().to(torch.int32)
        grid = (-(-p.M // p.BM) + p.batch, -(-p.N // p.BN))
        numbers = p.batch, p.M, p.N, p.K, a.stride(0), *b.stride(), c.stride(0)

        def exact():
            at = bounds.tolist()
            return torch.cat([a[i:j].double() @ b[g].double() for g, (i, j) in enumerate(zip(at, at[1:]))])

        self.set(c, lambda k, tl: k.sized[grid](a, b, c, sizes, *numbers, **self.tile()), exact)

    def sparse_rows(self):
        p = self.p
        p.M, p.K = max(1, p.M // p.BM) * p.BM, max(2, p.K // p.BK) * p.BK
        there = torch.rand(p.M // p.BM, p.K // p.BK, generator=self.random, device=self.device) < 0.4
        firsts = torch.nn.functional.pad(there.sum(1).cumsum(0), (1, 0)).to(torch.int32)
        columns = there.nonzero()[:, 1].to(torch.int32)
        values = self.tensor(max(1, len(columns)), p.BM, p.BK)
        b, c = self.tensor(p.K, p.N, by=p.b_by == "k"), self.out(p.M, p.N)
        numbers = p.M, p.N, p.K, *b.stride(), c.stride(0)
        grid = (-(-p.N // p.BN), p.M // p.BM)

        def exact():
            dense = torch.zeros(p.M // p.BM, p.K // p.BK, p.BM, p.BK, dtype=torch.float64, device=self.device)
            dense[there] = values[: len(columns)].double()
            return dense.transpose(1, 2).reshape(p.M, p.K) @ b.double()

        self.set(c, lambda k, tl: k.sparse_rows[grid](values, b, c, firsts, columns, *numbers, **self.tile()), exact)

    def image(self):
        p, count = self.p, 8
        R, S, stride, pad = p.window
        side, channels = p.M, p.K
        to = (side + 2 * pad - R) // stride + 1
        x, w = self.tensor(count, channels, side, side), self.tensor(p.N, channels, R, S)
        y = self.out(count, p.N, to, to)
        rows = count * to * to
        grid = (-(-rows // p.BM), -(-p.N // p.BN))
        numbers = rows, channels, side, side, to, to, p.N

        def launch(kernels, tl):
            kernels.image[grid](x, w, y, *numbers, **self.tile(R=R, S=S, STRIDE=stride, PAD=pad))

        def exact():
            tiles = torch.nn.functional.unfold(x.double(), (R, S), stride=stride, padding=pad)
            return (w.double().reshape(p.N, -1) @ tiles).reshape(y.shape)

        self.set(y, launch, exact)

    def narrow_middle(self):
        p = self.p
        a, u, v, c = self.tensor(p.M, p.K), self.tensor(p.K, p.parts), self.tensor(p.parts, p.N), self.out(p.M, p.N)
        if not self.empty:
            u = u * 0.1
        grid = (-(-p.M // p.BM),)
        launch = lambda k, tl: k.narrow_middle[grid](a, u, v, c, p.M, p.N, p.K, p.K, p.N, **self.tile(R=p.parts))
        self.set(c, launch, lambda: a.double() @ u.double() @ v.double())

    def adapters(self):
        p = self.p
        a, u, c = self.tensor(p.M, p.K), self.tensor(p.batch, p.N, p.K), torch.zeros(p.M, p.N, dtype=p.dtype, device=self.device)
        which = self.numbers(-(-p.M // p.BM), below=p.batch + 1) - 1
        grid = (-(-p.N // p.BN), -(-p.M // p.BM))

        def exact():
            out = torch.zeros(p.M, p.N, dtype=torch.float64, device=self.device)
            for i, w in enumerate(which.tolist()):
                rows = slice(i * p.BM, (i + 1) * p.BM)
                if w >= 0:
                    out[rows] = a[rows].double() @ u[w].double().T
            return out

        launch = lambda k, tl: k.adapters[grid](a, u, c, which, p.M, p.N, p.K, a.stride(0), c.stride(0), **self.tile())
        self.set(c, launch, exact)

    def few_bits(self):
        p = self.p
        bits, group, per = p.parts, p.count, 32 // p.parts
        a, c = self.tensor(p.M, p.K), self.out(p.M, p.N)
        y = self.numbers(p.K, p.N, below=2**bits)
        rows = -(-p.K // per)
        padded = torch.nn.functional.pad(y.long(), (0, 0, 0, rows * per - p.K)).reshape(rows, per, p.N)
        words = (padded << (torch.arange(per, device=self.device) * bits)[:, None]).sum(1)
        words = (words - (words >> 31 << 32)).to(torch.int32)
        scales = self.tensor(p.K // group, p.N)
        zeros = self.numbers(p.K // group, p.N, below=2**bits).to(p.dtype)

        def exact():
            s, z = (t.double().repeat_interleave(group, 0) for t in (scales, zeros))
            return a.double() @ ((y.double() - z) * s).to(p.dtype).double()

        more = {"BITS": bits, "PER": per, "GROUP": group}
        numbers = p.M, p.N, p.K, a.stride(0), c.stride(0)
        self.set(c, lambda k, tl: k.few_bits[self.grid()](a, words, c, scales, zeros, *numbers, **self.tile(**more)), exact)

    def two_planes(self):
        p = self.p
        a, c, scales = self.tensor(p.M, p.K), self.out(p.M, p.N), self.tensor(p.N, dtype=torch.float32)
        y = self.numbers(p.N, p.K, below=64)
        low = ((y[:, ::2] & 15) | ((y[:, 1::2] & 15) << 4)).to(torch.uint8)
        high = sum((y[:, i::4] >> 4) << (2 * i) for i in range(4)).to(torch.uint8)
        numbers = p.M, p.N, p.K, a.stride(0), c.stride(0)
        exact = lambda: a.double() @ (y.double() - 32).T * scales.double()
        self.set(c, lambda k, tl: k.two_planes[self.grid()](a, low, high, c, scales, *numbers, **self.tile()), exact)

    def halves(self):
        p = self.p
        a, c, scales = self.tensor(p.M, p.K), self.out(p.M, p.N), self.tensor(p.N, dtype=torch.float32)
        b = self.numbers(p.K // 2, p.N, below=256, dtype=torch.uint8)
        numbers = p.M, p.N, p.K, a.stride(0), c.stride(0)

        def exact():
            y = torch.stack(((b & 15).double() - 8, (b >> 4).double() - 8), 1).reshape(p.K, p.N)
            return a.double() @ y * scales.double()

        self.set(c, lambda k, tl: k.halves[self.grid()](a, b, c, scales, *numbers, **self.tile()), exact)

    def wide_weights(self):
        p = self.p
        a, c = self.tensor(p.M, p.K), self.out(p.M, p.N)
        b, scales = self.tensor(p.N, p.K, dtype=torch.float8_e4m3fn), self.tensor(p.N // 128, p.K // 128, dtype=torch.float32)
        numbers = p.M, p.N, p.K, a.stride(0), c.stride(0)

        def exact():
            s = scales.repeat_interleave(128, 0).repeat_interleave(128, 1)
            return a.double() @ (b.float() * s).to(p.dtype).double().T

        self.set(c, lambda k, tl: k.wide_weights[self.grid()](a, b, c, scales, *numbers, **self.tile()), exact)

    def nested_groups(self):
        p = self.p
        a, b, c = self.tensor(p.M, p.K), self.tensor(p.N, p.K), torch.empty(p.M, p.N, dtype=torch.bfloat16, device=self.device)
        groups = p.K // 256
        sa, sb = self.tensor(p.M, groups, dtype=torch.float32), self.tensor(p.N, groups, dtype=torch.float32)
        numbers = p.M, p.N, p.K, a.stride(0), c.stride(0)

        def exact():
            x, y = (t.double() * s.double().repeat_interleave(256, 1) for t, s in ((a, sa), (b, sb)))
            return x @ y.T

        self.set(c, lambda k, tl: k.nested_groups[self.grid()](a, b, c, sa, sb, *numbers, **self.tile(SUM=self.sum_type(tl))), exact)

    def locked(self):
        p = self.p
        a, b, _, numbers = self.matrices()
        c = torch.zeros(p.M, p.N, dtype=torch.float32, device=self.device)
        rows, columns = self.grid()
        locks = torch.zeros(rows * columns, dtype=torch.int32, device=self.device)
        launch = lambda k, tl: k.locked[(p.count,)](a, b, c, locks, *numbers, **self.tile(COUNT=p.count))
        self.set(c, launch, lambda: a.double() @ b.double())

    def tickets(self):
        p = self.p
        a, b, c, numbers = self.matrices()
        rows, columns = self.grid()
        counts = torch.zeros(rows * columns, dtype=torch.int32, device=self.device)
        parts = torch.empty(p.parts, p.M, p.N, dtype=torch.float32, device=self.device)
        grid = (rows * columns, p.parts)
        launch = lambda k, tl: k.tickets[grid](a, b, c, parts, counts, *numbers, **self.tile(PARTS=p.parts))
        self.set(c, launch, lambda: a.double() @ b.double())

    def tall(self):
        self.simple("tall", grid=(self.p.count,), COUNT=self.p.count)

    def shared_weight(self):
        p = self.p
        a, c = self.tensor(p.batch, p.M, p.K), self.out(p.batch, p.M, p.N)
        b = self.tensor(1, p.K, p.N, by=p.b_by == "k").expand(p.batch, p.K, p.N)
        rows, columns = self.grid()
        numbers = p.M, p.N, p.K, a.stride(0), a.stride(1), *b.stride(), c.stride(0), c.stride(1)
        launch = lambda k, tl: k.shared_weight[(rows * columns, p.batch)](a, b, c, *numbers, **self.tile())
        self.set(c, launch, lambda: a.double() @ b.double())

    def summed_batch(self):
        p = self.p
        a, b, c = self.tensor(p.batch, p.M, p.K), self.tensor(p.batch, p.K, p.N, by=p.b_by == "k"), self.out(p.M, p.N)
        numbers = p.batch, p.M, p.N, p.K, a.stride(0), a.stride(1), *b.stride(), c.stride(0)
        self.set(c, lambda k, tl: k.summed_batch[self.grid()](a, b, c, *numbers, **self.tile()), lambda: (a.double() @ b.double()).sum(0))

    def symmetric(self):
        p = self.p
        p.N = p.M
        a, c = self.tensor(p.M, p.K), self.out(p.M, p.M)
        launch = lambda k, tl: k.symmetric[self.grid()](a, c, p.M, p.K, a.stride(0), c.stride(0), 0.5, **self.tile())
        self.set(c, launch, lambda: a.double() @ a.double().T * 0.5)

    def weight_gradient(self):
        p = self.p
        rows = p.K
        x, dy, y = self.tensor(rows, p.M), self.tensor(rows, p.N), self.tensor(rows, p.N)
        c = torch.zeros(p.M, p.N, dtype=torch.float32, device=self.device)
        grid = (*self.grid(), p.parts)
        launch = lambda k, tl: k.weight_gradient[grid](x, dy, y, c, rows, p.M, p.N, p.M, p.N, **self.tile(PARTS=p.parts))
        self.set(c, launch, lambda: x.double().T @ (dy.double() * (y > 0)))

    def three_matrices(self):
        p, L = self.p, 1024
        a, b, d, c = self.tensor(p.M, p.K), self.tensor(p.K, L), self.tensor(L, p.N), self.out(p.M, p.N)
        if not self.empty:
            a = a * 0.1
        launch = lambda k, tl: k.three_matrices[self.grid()](a, b, d, c, p.M, L, p.K, p.N, **self.tile(BL=64))
        self.set(c, launch, lambda: a.double() @ b.double() @ d.double())

    def worded(self):
        finish = self.p.finish
        precision = finish if "x" in finish or finish == "tf32" else "tf32"
        imprecise = int(finish) if finish.isdigit() else None
        self.simple("worded", PRECISION=precision, IMPRECISE=imprecise, HALF=finish == "half")

    def doubles(self):
        p = self.p
        a, b = self.tensor(p.M, p.K, dtype=torch.float64), self.tensor(p.K, p.N, dtype=torch.float64, by=p.b_by == "k")
        c = torch.empty(p.M, p.N, dtype=torch.float64, device=self.device)
        numbers = p.M, p.N, p.K, a.stride(0), *b.stride(), c.stride(0)
        self.set(c, lambda k, tl: k.doubles[self.grid()](a, b, c, *numbers, **self.tile()), lambda: a @ b)

    def worded_loop(self):
        p = self.p
        a, b, c = self.tensor(p.M, p.K), self.tensor(p.K, p.N), self.out(p.M, p.N)
        rows, columns = self.grid()
        count = min(p.count, rows * columns)
        more = {"COUNT": count, "GROUP": 8, "FLATTEN": p.finish != "none", "WARPS": p.finish == "roles"}
        self.set(c, lambda k, tl: k.worded_loop[(count,)](a, b, c, p.M, p.N, p.K, **self.tile(**more)), lambda: a.double() @ b.double())

    def half_described(self):
        p = self.p
        a, b, c, _ = self.matrices()
        launch = lambda k, tl: k.half_described[self.grid()](a, b, c, p.M, p.N, p.K, *b.stride(), **self.tile())
        self.set(c, launch, lambda: a.double() @ b.double())

    def interleaved(self):
        p = self.p
        a, b = self.tensor(p.M, p.K), self.tensor(p.K, p.N, by=p.b_by == "k")
        c = self.out(p.M, p.N // 2)
        numbers = p.M, p.N, p.K, a.stride(0), *b.stride(), c.stride(0)

        def exact():
            product = a.double() @ b.double()
            return torch.nn.functional.silu(product[:, ::2]) * product[:, 1::2]

        self.set(c, lambda k, tl: k.interleaved[self.grid()](a, b, c, *numbers, **self.tile()), exact)

    def row_ends(self):
        p = self.p
        softmax = p.finish == "softmax"

        def exact(a, b):
            x = a @ b
            return (x * 0.1).softmax(1) if softmax else x / x.abs().amax(1, keepdim=True) * 127

        self.simple("row_ends", exact=exact, grid=(-(-p.M // p.BM),), SOFTMAX=softmax)

    def largest(self):
        self.by_rows("largest", lambda product: product.amax(1))

    def dropped(self):
        p = self.p

        def exact(a, b):
            rows, columns = (torch.arange(n, device=self.device) for n in (p.M, p.K))
            return a * (((rows[:, None] * 40503 + columns * 12289 + 7) >> 7 & 3) != 0) @ b

        self.simple("dropped", 7, exact=exact)

    def rotated(self):
        p = self.p
        u, v = self.tensor(p.M, p.N // 2), self.tensor(p.M, p.N // 2)

        def exact(a, b):
            one, two = (a @ b).chunk(2, 1)
            x, y = u.double(), v.double()
            return torch.cat((one * x - two * y, one * y + two * x), 1)

        self.simple("rotated", u, v, exact=exact)

    def windows(self):
        p = self.p
        step = p.K // 4
        signal, b, c = self.tensor(1, p.M * step + p.K), self.tensor(p.K, p.N, by=p.b_by == "k"), self.out(p.M, p.N)
        numbers = p.M, p.N, p.K, step, *b.stride(), c.stride(0)

        def exact():
            x = signal[0].double().unfold(0, p.K, step)[: p.M]
            return ((x @ b.double()).square() + 1).log()

        self.set(c, lambda k, tl: k.windows[self.grid()](signal, b, c, *numbers, **self.tile()), exact)

    def backwards(self):
        p = self.p
        order = torch.randperm(p.N, generator=self.random, device=self.device).to(torch.int32)

        def exact(a, b):
            out = torch.empty(p.M, p.N, dtype=torch.float64, device=self.device)
            out[:, order.long()] = a.flip(0) @ b
            return out

        self.simple("backwards", order, exact=exact)

    def tokens(self):
        p, top = self.p, 2
        a, b = self.tensor(p.M, p.K), self.tensor(p.batch, p.K, p.N, by=p.b_by == "k")
        chosen = self.numbers(p.M * top, below=p.batch)
        slots, experts = [], []
        for e in range(p.batch):
            mine = (chosen == e).nonzero()[:, 0]
            more = -len(mine) % p.BM
            slots.append(torch.nn.functional.pad(mine, (0, more), value=p.M * top))
            experts += [e] * ((len(mine) + more) // p.BM)
        slots, blocks = torch.cat(slots).to(torch.int32), len(experts)
        experts = torch.tensor(experts, dtype=torch.int32, device=self.device)
        weights, c = self.tensor(p.M * top, dtype=torch.float32), self.out(p.M * top, p.N)
        count = torch.tensor([len(slots)], dtype=torch.int32, device=self.device)
        grid = (blocks * -(-p.N // p.BN),)
        numbers = p.M, p.N, p.K, top, a.stride(0), *b.stride(), c.stride(0)

        def exact():
            out = torch.empty(p.M * top, p.N, dtype=torch.float64, device=self.device)
            rows = a.double().repeat_interleave(top, 0)
            for e in range(p.batch):
                out[chosen == e] = rows[chosen == e] @ b[e].double()
            return out * weights.double()[:, None]

        self.set(c, lambda k, tl: k.tokens[grid](a, b, c, slots, experts, weights, count, *numbers, **self.tile()), exact)
