"""Draws products at random: a form of kernel, types, the tile, warps, stages, sizes, strides and what happens at the end."""

import dataclasses
import random

import torch

F8 = (torch.float8_e4m3fn, torch.float8_e5m2)
FORMS = (
    "masked",
    "grouped",
    "hinted",
    "blocks",
    "described",
    "split",
    "batched",
    "persistent",
    "gathered",
    "gated",
    "quantised",
    "convolution",
)
TYPES = {
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "tf32": torch.float32,
    "ieee": torch.float32,
    "e4m3": F8[0],
    "e5m2": F8[1],
    "int8": torch.int8,
}


@dataclasses.dataclass
class Product:
    form: str
    kind: str
    M: int
    N: int
    K: int
    BM: int
    BN: int
    BK: int
    warps: int
    stages: int
    a_by: str = "k"  # the dimension in which A's elements are neighbours
    b_by: str = "n"
    pad: int = 0  # elements behind each row
    finish: str = "none"
    parts: int = 1
    batch: int = 1
    count: int = 0
    window: tuple = ()

    @property
    def name(self):
        size = f"{self.M}x{self.N}x{self.K}"
        tile = f"{self.BM}x{self.BN}x{self.BK} w{self.warps} s{self.stages}"
        more = f"{self.a_by}{self.b_by}" + (f" pad{self.pad}" if self.pad else "") + (f" {self.finish}" if self.finish != "none" else "")
        return (
            f"{self.form} {self.kind} {size} {tile} {more}"
            + (f" parts{self.parts}" if self.parts > 1 else "")
            + (f" batch{self.batch}" if self.batch > 1 else "")
            + (f" count{self.count}" if self.count else "")
            + (f" window{self.window}" if self.window else "")
        )

    @property
    def dtype(self):
        return TYPES[self.kind]

    @property
    def flops(self):
        return 2 * self.M * self.N * self.K * self.batch * (2 if self.form == "gated" else 1)


def size(draw, low, high, odd):
    value = int(low * (high / low) ** draw.random())
    return value | 1 if odd else max(64, value // 64 * 64) if draw.random() < 0.7 else max(16, value // 8 * 8)


def draw_product(seed):
    draw = random.Random(seed)
    form = draw.choice(FORMS)
    kind = draw.choices(tuple(TYPES), (30, 20, 10, 16, 10, 5, 9))[0]
    if form == "quantised":
        kind = draw.choice(("bf16", "fp16"))
    if form in ("split", "convolution") and kind == "int8" or form in ("described", "gated") and kind == "ieee":
        kind = "bf16"
    bytes_ = TYPES[kind].itemsize
    odd = draw.random() < 0.2 and form != "described"
    M, N = size(draw, 100, 6000, odd), size(draw, 100, 6000, odd and draw.random() < 0.6)
    K = size(draw, 128, 6000, odd)
    while True:
        BM, BN, BK = 2 ** draw.randint(4, 8), 2 ** draw.randint(4, 8), 2 ** draw.randint(4, 7)
        warps, stages = draw.choices((1, 2, 4, 8, 16), (1, 2, 8, 6, 1))[0], draw.choices((1, 2, 3, 4, 5), (1, 4, 8, 5, 2))[0]
        sums = BM * BN / (32 * warps) * (2 if form == "gated" else 1)
        if not 4 <= sums <= (160 if kind != "ieee" else 128) or BK * bytes_ < 32 or BK * bytes_ > 256:
            continue
        if bytes_ == 1 and BK < 32 or (BM + BN) * BK * bytes_ * max(2, stages) > 200 << 10:
            continue
        break
    product = Product(form, kind, M, N, K, BM, BN, BK, warps, stages)
    if form in ("masked", "grouped", "hinted", "batched", "persistent", "split"):
        product.a_by = draw.choices("km", (5, 1))[0]
        product.b_by = draw.choices("nk", (2, 1))[0]
    if form in ("described", "quantised") or bytes_ == 1 and draw.random() < 0.8:
        product.b_by = "k"
    if form in ("gathered", "gated") and draw.random() < 0.4:
        product.b_by = "k"
    if form == "blocks":
        product.b_by = "n"
    product.pad = draw.choices((0, 8, 3), (8, 1, 1))[0] if form in ("masked", "grouped", "hinted") and not odd else 0
    if form in ("masked", "grouped", "hinted", "blocks", "described", "persistent"):
        product.finish = draw.choice(("none", "none", "bias", "gelu", "residual", "scales"))
    if form == "described":  # rows of whole 16 bytes
        product.K = max(128, product.K // 64 * 64)
    if form == "split":
        product.parts = draw.choice((2, 4, 8))
    if form == "batched":
        product.batch, product.M, product.N, product.K = draw.choice((4, 8, 32)), min(M, 1024), min(N, 1024), min(K, 1024)
    if form == "persistent":
        product.count = draw.choice((0, 0, 132, 264))
    if form == "convolution":
        product.window = draw.choice(((1, 3, 3), (3, 3, 3), (1, 5, 5), (1, 1, 3), (3, 1, 1)))
        channels = draw.choice((16, 32, 64, 96, 128, 256))
        side = draw.choice((14, 28, 32, 56))
        depth = draw.choice((4, 8)) if product.window[0] > 1 else 1
        product.M, product.K = (depth, side, side), channels
        product.N = draw.choice((32, 64, 128, 192, 256))
    if kind == "ieee" or form == "convolution":  # multiply-adds and pixels take long
        if form != "convolution" and M * N * K > 1 << 31:
            product.M, product.N, product.K = min(M, 1024), min(N, 1024), min(K, 2048)
    return product


def draws(count, seed=0):
    return [draw_product(seed * 100000 + i) for i in range(count)]


class Call:
    """A product's tensors, how a module of kernels is launched for it, and the result in float64. `empty`: to compile for."""

    def __init__(self, product, device="cuda", seed=1, empty=False):
        self.p, self.device, self.empty = product, device, empty
        self.random = torch.Generator(device).manual_seed(seed)
        getattr(self, product.form if hasattr(self, product.form) else "plain")()

    def tensor(self, *shape, dtype=None, by=None, pad=0):
        """`by` "m": the last but one dimension's elements are neighbours."""
        dtype = dtype or self.p.dtype
        *outer, rows, columns = shape if len(shape) > 1 else (1, *shape)
        if by:
            rows, columns = columns, rows
        full = (*outer, rows, columns + pad)
        if self.empty:
            x = torch.empty(full, dtype=dtype, device=self.device)
        elif dtype == torch.int8:
            x = torch.randint(-8, 8, full, generator=self.random, device=self.device).to(dtype)
        else:
            x = (torch.randn(full, generator=self.random, device=self.device) * 0.5).to(dtype)
        x = x[..., :columns]
        if by:
            x = x.transpose(-1, -2)
        return x if len(shape) > 1 else x[0]

    @property
    def integer(self):
        return self.p.kind == "int8"

    def operands(self, batch=()):
        p = self.p
        a = self.tensor(*batch, p.M, p.K, by=p.a_by == "m", pad=p.pad)
        b = self.tensor(*batch, p.K, p.N, by=p.b_by == "k", pad=p.pad)
        return a, b

    def out(self, *shape):
        scaled = self.p.finish != "none"
        dtype = (
            (torch.float32 if scaled else torch.int32) if self.integer else self.p.dtype if self.p.dtype.itemsize > 1 else torch.bfloat16
        )
        return torch.empty(shape, dtype=dtype, device=self.device)

    def constants(self, tl):
        p = self.p
        return {
            "BM": p.BM,
            "BN": p.BN,
            "BK": p.BK,
            "PRECISION": "ieee" if p.kind == "ieee" else "tf32",
            "SUM": tl.int32 if self.integer else tl.float32,
            "num_warps": p.warps,
            "num_stages": p.stages,
        }

    def grid(self):
        p = self.p
        return -(-p.M // p.BM), -(-p.N // p.BN)

    def extras(self, c):
        p = self.p
        if p.finish == "scales":
            return self.tensor(p.N, dtype=torch.float32), self.tensor(p.M, dtype=torch.float32)
        other = torch.empty_strided(c.shape, c.stride(), dtype=torch.bfloat16, device=self.device)
        other.copy_(self.tensor(p.M, p.N, dtype=torch.bfloat16))
        return self.tensor(p.N, dtype=torch.bfloat16), other

    def finished(self, exact, bias, other):
        f = self.p.finish
        if f == "bias":
            return torch.relu(exact + bias.double())
        if f == "scales":
            return exact * bias.double() * other.double()[:, None]
        if f == "residual":
            return exact + other.double()
        if f == "gelu":
            return exact * torch.sigmoid(1.702 * exact)
        return exact

    def plain(self):
        p = self.p
        a, b = self.operands()
        self.result = c = self.out(p.M, p.N)
        bias, other = self.extras(c)
        rows, columns = self.grid()
        grid = {"masked": (rows, columns), "blocks": (rows, columns), "persistent": (min(p.count or 132, rows * columns),)}.get(
            p.form, (rows * columns,)
        )

        def launch(kernels, tl):
            more = {"FORM": p.finish}
            if p.form == "hinted":
                more["EVEN"] = p.K % p.BK == 0
            if p.form == "persistent":
                more["COUNT"] = p.count
            getattr(kernels, p.form)[grid](
                a, b, c, bias, other, p.M, p.N, p.K, *a.stride(), *b.stride(), c.stride(0), **self.constants(tl), **more
            )

        self.launch, self.exact = launch, lambda: self.finished(a.double() @ b.double(), bias, other)

    def described(self):
        p = self.p
        a, b = self.tensor(p.M, p.K), self.tensor(p.N, p.K)
        self.result = c = self.out(p.M, p.N)
        bias, other = self.extras(c)

        def launch(kernels, tl):
            kernels.described[self.grid()](
                a, b, c, bias, other, p.M, p.N, p.K, a.stride(0), b.stride(0), c.stride(0), FORM=p.finish, **self.constants(tl)
            )

        self.launch, self.exact = launch, lambda: self.finished(a.double() @ b.double().T, bias, other)

    def split(self):
        p = self.p
        a, b = self.operands()
        self.result = c = torch.zeros((p.M, p.N), dtype=torch.float32, device=self.device)
        rows, columns = self.grid()

        def launch(kernels, tl):
            kernels.split[(rows * columns, p.parts)](
                a, b, c, p.M, p.N, p.K, *a.stride(), *b.stride(), c.stride(0), PARTS=p.parts, **self.constants(tl)
            )

        self.launch, self.exact = launch, lambda: a.double() @ b.double()

    def batched(self):
        p = self.p
        a, b = self.operands((p.batch,))
        self.result = c = self.out(p.batch, p.M, p.N)

        def launch(kernels, tl):
            kernels.batched[(*self.grid(), p.batch)](
                a, b, c, p.M, p.N, p.K, *a.stride(), *b.stride(), c.stride(0), c.stride(1), **self.constants(tl)
            )

        self.launch, self.exact = launch, lambda: a.double() @ b.double()

    def gathered(self):
        p = self.p
        a, b = self.operands()
        self.result = c = self.out(p.M, p.N)
        index = torch.randint(0, p.M, (p.M,), generator=self.random, device=self.device, dtype=torch.int32)

        def launch(kernels, tl):
            kernels.gathered[self.grid()](a, b, c, index, p.M, p.N, p.K, *a.stride(), *b.stride(), c.stride(0), **self.constants(tl))

        self.launch, self.exact = launch, lambda: a.double()[index.long()] @ b.double()

    def gated(self):
        p = self.p
        a, b = self.operands()
        d = self.tensor(p.K, p.N, by=p.b_by == "k")
        c = self.result = torch.empty((p.M, p.N), dtype=torch.bfloat16, device=self.device)
        rows, columns = self.grid()

        def launch(kernels, tl):
            kernels.gated[(rows * columns,)](a, b, d, c, p.M, p.N, p.K, *a.stride(), *b.stride(), c.stride(0), **self.constants(tl))

        def exact():
            gate, up = a.double() @ b.double(), a.double() @ d.double()
            return gate * torch.sigmoid(gate) * up

        self.launch, self.exact = launch, exact

    def quantised(self):
        p = self.p
        a, b = self.tensor(p.M, p.K), self.tensor(p.K, p.N, dtype=torch.int8, by=p.b_by == "k")
        scales = self.tensor(p.N, dtype=torch.float32)
        self.result = c = self.out(p.M, p.N)

        def launch(kernels, tl):
            kernels.quantised[self.grid()](a, b, c, scales, p.M, p.N, p.K, *a.stride(), *b.stride(), c.stride(0), **self.constants(tl))

        self.launch, self.exact = launch, lambda: a.double() @ b.double() * scales.double()

    def convolution(self):
        p = self.p
        (D, H, W), channels = p.M, p.K
        kd, kh, kw = p.window
        n = max(1, (1 << 16) // (D * H * W))
        count = n * D * H * W
        x = self.tensor(n * D * H, W, channels).reshape(n, D, H, W, channels)
        w = self.tensor(p.N, kd * kh * kw * channels).reshape(p.N, kd, kh, kw, channels)
        self.result = y = self.out(count, p.N)
        self.pixels = count

        def launch(kernels, tl):
            grid = (-(-count // p.BM), -(-p.N // p.BN))
            kernels.convolution[grid](
                x, w, y, count, D, H, W, channels, p.N, *x.stride()[:4], w.stride(0), channels, KD=kd, KH=kh, KW=kw, **self.constants(tl)
            )

        def exact():
            out = torch.nn.functional.conv3d(
                x.permute(0, 4, 1, 2, 3).float(), w.permute(0, 4, 1, 2, 3).float(), padding=(kd // 2, kh // 2, kw // 2)
            )
            return out.permute(0, 2, 3, 4, 1).reshape(count, p.N).double()

        self.launch, self.exact = launch, exact
