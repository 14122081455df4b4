"""Checks decoding and appending on one GPU against float64, then times them beside the read stream, Triton's kernel and PyTorch's SDPA.

    python -m torch.distributed.run --nproc-per-node 1 bench/gpu/decode.py [check] [gqa] [mla] [append]
        [drawn] [--seed N] [--variants] [--part i/n]

JSON lines; times in microseconds of a call in a CUDA graph of calls over caches that together are larger than L2. `of_stream`: bytes of
keys and values by time, over the speed of a kernel that reads as many and does nothing else. Triton's kernel is sglang's, where it can be
imported (bench/corpus/fetch.py), as are FlashInfer's. `--part 3/8` only compiles each eighth shape, from the third on, into the cache of
kernels: eight such processes at once make the run that comes after them short.
"""

import json
import random
import statistics
import sys

import torch

import tandem
import tandem.language as tl
import tandem.torch as tt

# Sequences, heads, heads of keys, keys of each.
GQA = {
    "1 x 8k": (1, 32, 8, 8192),
    "1 x 128k": (1, 32, 8, 131072),
    "1 x 1M": (1, 32, 8, 1 << 20),
    "16 x 8k": (16, 32, 8, 8192),
    "64 x 8k": (64, 64, 8, 8192),
    "32 x 32k": (32, 96, 12, 32768),
    "ragged": (64, 32, 8, [1, 18, 463, 1320, 17, 4000, 8192, 611]),
}
MLA = {"1 x 32k": (1, 64, 32768), "16 x 8k": (16, 64, 8192), "64 x 8k": (64, 64, 8192), "128 x 4k, 128 heads": (128, 128, 4096)}
VARIANTS = [(64, 4, 2, 2), (64, 4, 3, 2), (64, 4, 4, 1), (128, 8, 2, 1), (128, 4, 2, 1), (32, 4, 4, 2), (32, 2, 4, 2), (64, 8, 3, 1)]
MLA_VARIANTS = [(64, 8, 2, 1), (32, 8, 3, 1), (32, 8, 2, 1), (16, 8, 4, 1), (64, 16, 2, 1)]
PROGRAMS = 132


@tandem.jit
def read(x_ptr, out_ptr, n, TILE: tl.constexpr, TILES: tl.constexpr):
    """Reads n words, whole rounds of the programs, and keeps nothing."""
    step = tl.num_programs(0) * (TILE * TILES)
    acc = tl.zeros((TILE,), tl.int32)
    for start in range(tl.program_id(0) * (TILE * TILES), n, step):
        for i in tl.static_range(TILES):
            acc |= tl.load(x_ptr + start + i * TILE + tl.arange(0, TILE))
    if tl.max(acc, 0) == 12345:
        tl.store(out_ptr, 1)


PART, PARTS = 0, 0  # without parts everything is run


def say(**row):
    if not PARTS:
        print(json.dumps(row), flush=True)


class Turns:
    """Which shapes are this process's."""

    seen = 0

    @classmethod
    def is_mine(cls):
        cls.seen += 1
        return not PARTS or cls.seen % PARTS == PART


def in_graph(functions, replays=7):
    """Microseconds of a call in a graph that calls each function in turn."""
    for function in functions:
        function()
        if PARTS:
            return 1.0
    torch.cuda.synchronize()
    graph, times = torch.cuda.CUDAGraph(), []
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        for _ in range(max(1, 8 // len(functions))):
            for function in functions:
                function()
    calls = max(1, 8 // len(functions)) * len(functions)
    for _ in range(replays + 1):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1000 / calls)
    return statistics.median(times[1:])


class Pool:
    """Random bits of 16-bit numbers around 1, of which caches are parts."""

    def __init__(self, size):
        piece = torch.randn(1 << 24, device="cuda").bfloat16()
        size = 1 << 20 if PARTS else size
        self.all = torch.empty(size // 2, dtype=torch.bfloat16, device="cuda")
        for part in self.all.split(piece.numel()):
            part.copy_(piece[: part.numel()])
        self.found = torch.zeros(1, dtype=torch.int32, device="cuda")
        self.known = {}

    def copies(self, size):
        """How many pieces of this many bytes take turns, so that none is in L2."""
        if PARTS:
            return 1
        return max(1, min(8, self.all.numel() * 2 // size, -(-(256 << 20) // size)))

    def speed(self, size):
        """Of the stream that reads so many bytes, in TB/s; the best of several forms."""
        size = min(size, self.all.numel() * 2)
        if PARTS:
            return 1.0
        if size not in self.known:
            words, best = self.all.view(torch.int32), 0
            for each, tile, tiles in ((4, 2048, 4), (8, 1024, 4), (2, 2048, 8)):
                round_ = PROGRAMS * each * tile * tiles
                count = max(1, size // 4 // round_) * round_
                parts = [words[i * count : (i + 1) * count] for i in range(self.copies(count * 4))]
                calls = [lambda x=x: read[(PROGRAMS * each,)](x, self.found, count, TILE=tile, TILES=tiles, num_warps=8) for x in parts]
                best = max(best, count * 4 / in_graph(calls) * 1e-6)
            self.known[size] = best
        return self.known[size]


class Cache:
    """Shuffled pages of the pool, and queries."""

    def __init__(self, pool, m, heads, kv_heads, lengths, dim=128, turned=0, page=64, q_len=1, dtype=torch.bfloat16, fp8=False):
        self.m, self.heads, self.kv_heads, self.dim, self.turned, self.q_len, self.fp8 = m, heads, kv_heads, dim, turned, q_len, fp8
        self.is_mine = Turns.is_mine()
        lengths = [lengths] * m if isinstance(lengths, int) else (list(lengths) * m)[:m]
        self.page, self.width = page, -(-max(lengths) // page)
        self.lengths = torch.tensor(lengths, dtype=torch.int32, device="cuda")
        counts = [-(-n // page) for n in lengths]
        order = torch.randperm(sum(counts), device="cuda").int()
        self.table = torch.zeros(m, self.width, dtype=torch.int32, device="cuda")
        for row, part in zip(self.table, order.split(counts)):
            row[: len(part)] = part
        self.pages, self.dtype, size = sum(counts), dtype, 1 if fp8 else 2
        row = kv_heads * (dim + turned) * size
        self.bytes = sum(lengths) * row * (1 if turned else 2)
        space = self.pages * page * row * (1 if turned else 2)
        shape = (self.pages, page, dim + turned) if turned else (self.pages, page, kv_heads, dim)
        self.kept = []
        if not self.is_mine:
            return
        bits = torch.empty(space, dtype=torch.int8, device="cuda") if PARTS else pool.all.view(torch.int8)
        for i in range(pool.copies(space)):
            kv = bits[i * space : (i + 1) * space]
            pieces = [kv] if turned else kv.chunk(2)
            if fp8:  # any bits but those of NaNs
                self.kept.append([(p & 0x3F).view(torch.float8_e4m3fn).view(shape) for p in pieces])
            else:
                self.kept.append([p.view(torch.bfloat16).to(dtype).view(shape) for p in pieces])
        self.q = torch.randn(m, q_len, heads, dim, device="cuda").to(dtype)
        self.q_turned = torch.randn(m, q_len, heads, turned, device="cuda").to(dtype)
        self.scales = torch.rand(2, kv_heads, device="cuda") + 0.5
        if turned:
            self.scales[1] = self.scales[0]
        self.out = torch.empty_like(self.q)

    def call(self, i=0, **options):
        if not self.is_mine:
            return None
        options = {**({"fp8_cache": True, "scales": self.scales} if self.fp8 else {}), **options}
        if self.turned:
            return tt.mla_decode(self.q, self.q_turned, self.kept[i][0], self.table, self.lengths, out=self.out, **options)
        return tt.flash_decode(self.q, *self.kept[i], self.table, self.lengths, out=self.out, **options)

    def time(self, **options):
        if PARTS:
            return 1.0
        return in_graph([lambda i=i: self.call(i, **options) for i in range(len(self.kept))])

    def of_pages(self, cache, rows):
        """The keys of these pages, [keys, heads, elements]; PyTorch gathers no fp8."""
        bits = cache.view(torch.int8 if self.fp8 else torch.int16)[rows]
        return bits.view(cache.dtype).view(-1, self.kv_heads, cache.shape[-1])

    def error(self, sequences, window=0, soft_cap=0.0, sinks=None, **_):
        """Of some sequences, against float64."""
        worst = 0.0
        for b in sequences:
            n = int(self.lengths[b])
            rows = self.table[b, : -(-n // self.page)].long()
            last, at = n - self.q_len + torch.arange(self.q_len, device="cuda")[:, None], torch.arange(n, device="cuda")
            hidden = (at > last) | ((at <= last - window) if window else False)
            group, exact = self.heads // self.kv_heads, []
            for head in range(self.kv_heads):
                of_head = slice(head * group, head * group + group)
                k, *v = (self.of_pages(c, rows)[:n, head].double() for c in self.kept[0])
                v = v[0] if v else k[:, : self.dim]
                if self.fp8:
                    k, v = k * self.scales[0, head], v * self.scales[1, head]
                q = torch.cat((self.q[b, :, of_head], self.q_turned[b, :, of_head]), -1).double()
                scores = torch.einsum("ihd,nd->hin", q, k) * (self.dim + self.turned) ** -0.5
                if soft_cap:
                    scores = soft_cap * torch.tanh(scores / soft_cap)
                scores = scores.masked_fill(hidden, -torch.inf)
                if sinks is not None:
                    scores = torch.cat((scores, sinks[of_head].double()[:, None, None].expand(-1, self.q_len, 1)), -1)
                exact.append(torch.einsum("hin,nd->ihd", torch.nan_to_num(scores.softmax(-1))[..., :n], v))
            exact = torch.cat(exact, 1)
            worst = max(worst, ((self.out[b].double() - exact).norm() / exact.norm().clamp_min(1e-30)).item())
        return worst

    def checked(self, sequences=None, **options):
        if PARTS:
            self.call(**options)
            return 0.0
        self.out.fill_(float("nan"))
        self.call(**options)
        return self.error(range(self.m) if sequences is None else sequences, **options)


def check(pool):
    draw, worst = random.Random(0), 0.0
    for i in range(28):
        latent = i % 4 == 3
        q_len, fp8 = draw.choice([1, 1, 2, 5, 8]), draw.random() < 0.3
        kv_heads = 1 if latent else draw.choice([1, 2, 8])
        heads = draw.choice([16, 64, 128]) if latent else kv_heads * draw.choice([1, 3, 4, 8, 16])
        m = draw.choice([1, 3, 17, 40])
        lengths = [draw.choice([q_len, 18, 463, 1320, draw.randint(q_len, 3000)]) for _ in range(m)]
        dim = draw.choice([128, 512]) if latent else draw.choice([64, 128, 256])
        shape = {"dim": dim, "turned": 64 * latent, "q_len": q_len, "fp8": fp8}
        shape |= {"page": draw.choice([1, 16, 64, 128]), "dtype": draw.choice([torch.bfloat16, torch.float16])}
        options = {"window": draw.choice([0, 0, 100]), "soft_cap": draw.choice([0, 0, 20.0])}
        options = {name: value for name, value in options.items() if value}
        if draw.random() < 0.3:
            options["sinks"] = torch.randn(heads, device="cuda")
        cache = Cache(pool, m, heads, kv_heads, lengths, **shape)
        error = cache.checked(**options)
        if PARTS:
            continue
        first = cache.out.clone()
        cache.call(**options)
        worst = max(worst, error)
        if not error < 1e-2 or not torch.equal(first, cache.out):
            told = {k: str(v)[:40] for k, v in (shape | options).items()}
            say(wrong=error, same=torch.equal(first, cache.out), m=m, heads=heads, kv_heads=kv_heads, lengths=lengths[:5], **told)
    say(checked=28, worst=worst)
    if PARTS:
        return
    cache = Cache(pool, 8, 32, 8, 5000)
    cache.call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=torch.cuda.Stream()):
        cache.call()
    worst = 0.0
    for _ in range(20):
        cache.lengths.copy_(torch.randint(0, 5000, (8,)))
        cache.out.fill_(float("nan"))
        graph.replay()
        worst = max(worst, cache.error(range(8)))
    say(replays_of_one_graph=20, worst=worst)


def triton_call(cache):
    """sglang's kernel, of tokens as pages, or None."""
    try:
        from sglang.kernels.ops.attention.decode_attention import decode_attention_fwd
    except Exception as missing:
        return None, repr(missing)[:120]
    m, splits, heads = cache.m, 16, cache.heads
    rows = cache.table.long()[:, :, None] * cache.page + torch.arange(cache.page, device="cuda")
    slots = torch.cat([r.flatten()[:n] for r, n in zip(rows, cache.lengths.tolist())]).int()
    starts = torch.cat((torch.zeros(1, device="cuda"), cache.lengths.cumsum(0))).int()
    partial, sums = torch.empty(m, heads, splits, cache.dim, device="cuda"), torch.empty(m, heads, splits, device="cuda")
    counts, q = torch.full((m,), splits, dtype=torch.int32, device="cuda"), torch.cat((cache.q, cache.q_turned), -1)[:, 0].contiguous()
    out = torch.empty_like(cache.out[:, 0])

    def call(i):
        k = cache.kept[i][0].view(-1, cache.kv_heads, cache.dim + cache.turned)
        v = k[..., : cache.dim] if cache.turned else cache.kept[i][1].view(-1, cache.kv_heads, cache.dim)
        decode_attention_fwd(q, k, v, out, starts, slots, partial, sums, counts, splits, (cache.dim + cache.turned) ** -0.5, 1.0, 1.0)

    return call, ""


def flashinfer_calls(cache):
    """FlashInfer's kernels of such a cache, by name; they are planned once, for these lengths."""
    try:
        import flashinfer
    except Exception as missing:
        return {}, repr(missing)[:120]
    counts = (cache.lengths.cpu() + cache.page - 1) // cache.page
    starts = torch.cat((torch.zeros(1), counts.cumsum(0))).int()
    pages = torch.cat([row[:n] for row, n in zip(cache.table, counts.tolist())]).int()
    calls, q, q_turned, out = {}, cache.q[:, 0], cache.q_turned[:, 0], cache.out[:, 0]
    for kind in ("fa3", "fa2") if cache.turned else ("tensor cores", "without tensor cores"):
        space = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
        if cache.turned:
            plan = flashinfer.mla.BatchMLAPagedAttentionWrapper(space, backend=kind)
            scale, rows = (cache.dim + cache.turned) ** -0.5, torch.arange(cache.m + 1, dtype=torch.int32, device="cuda")
            sizes = (cache.heads, cache.dim, cache.turned, cache.page, False, scale, cache.dtype, cache.dtype)
            plan.plan(rows, starts.cuda(), pages, cache.lengths, *sizes)
            parts = [(c[0][..., : cache.dim], c[0][..., cache.dim :]) for c in cache.kept]
            calls[kind] = lambda i, plan=plan, parts=parts: plan.run(q, q_turned, *parts[i], out=out)
        else:
            plan = flashinfer.BatchDecodeWithPagedKVCacheWrapper(space, "NHD", use_tensor_cores=kind == "tensor cores")
            last = (cache.lengths.cpu() - (counts - 1) * cache.page).int()
            types = {"q_data_type": cache.dtype, "kv_data_type": cache.dtype}
            plan.plan(starts, pages, last, cache.heads, cache.kv_heads, cache.dim, cache.page, **types)
            calls[kind] = lambda i, plan=plan: plan.run(q, tuple(cache.kept[i]), out=out)
    return calls, ""


def time_shape(name, cache, pool, variants, dense):
    speed = pool.speed(cache.bytes)
    row = {"shape": name, "mb": round(cache.bytes / 1e6, 1), "stream_tb_s": round(speed, 3)}
    for variant in [None, *variants]:
        options = dict(zip(("block_n", "num_warps", "num_stages", "programs"), variant)) if variant else {}
        if variant:
            options["programs"] *= PROGRAMS
        try:
            error, us = cache.checked(range(min(2, cache.m)), **options), cache.time(**options)
        except Exception as failed:
            say(**row, variant=variant, failed=repr(failed)[:200])
            continue
        of_stream = cache.bytes / us * 1e-6 / speed
        flops = 2 * int(cache.lengths.sum()) * cache.heads * cache.q_len * (2 * cache.dim + cache.turned)
        say(**row, variant=variant, us=round(us, 2), of_stream=round(of_stream, 3), tflops=round(flops / us * 1e-6), error=error)
    if PARTS:
        return
    others = {}
    call, why = triton_call(cache)
    if call and cache.bytes < 3e9:
        try:
            others["triton"] = round(in_graph([lambda i=i: call(i) for i in range(len(cache.kept))]), 2)
        except Exception as failed:
            why = repr(failed)[:160]
    try:
        theirs, missing = flashinfer_calls(cache) if cache.q_len == 1 and not cache.fp8 else ({}, "")
        why += missing
        for kind, run in theirs.items():
            others[f"flashinfer, {kind}"] = round(in_graph([lambda i=i: run(i) for i in range(len(cache.kept))]), 2)
    except Exception as failed:
        why += repr(failed)[:160]
    if dense:
        q = cache.q.transpose(1, 2)
        n = cache.page * cache.width
        kv = [[c[: cache.m * cache.width].view(cache.m, n, cache.kv_heads, -1).transpose(1, 2) for c in kept] for kept in cache.kept]
        sdpa = torch.nn.functional.scaled_dot_product_attention
        try:
            others["sdpa_dense"] = round(in_graph([lambda k=k, v=v: sdpa(q, k, v, enable_gqa=True) for k, v in kv]), 2)
        except Exception as failed:
            why += repr(failed)[:160]
    say(**row, **others, without=why)


def shapes(seed, count):
    """Calls of all kinds, most of 64 MB to 1.4 GB of keys and values, a third from 8 MB on."""
    draw, out = random.Random(seed), []
    while len(out) < count:
        latent = draw.random() < 0.2
        shape = {"fp8": draw.random() < (0.0 if latent else 0.4), "dtype": draw.choice([torch.bfloat16, torch.bfloat16, torch.float16])}
        page, shape["q_len"] = draw.choice([1, 16, 64, 64, 128]), draw.choice([1, 1, 1, 1, 2, 4])
        m = draw.choice([1, 1, 2, 4, 8, 16, 32, 64, 128, 256])
        if latent:
            dim, turned, kv_heads, heads = 512, 64, 1, draw.choice([16, 32, 64, 128])
            page = draw.choice([1, 16, 64, 128])
        else:
            dim, turned = draw.choice([64, 64, 80, 96, 128, 128, 128, 192, 256, draw.choice([72, 112, 160, 224])]), 0
            dim = dim // 16 * 16 if shape["fp8"] else dim
            kv_heads = draw.choice([1, 2, 4, 8, 8, 16])
            heads = kv_heads * draw.choice([1, 2, 4, 5, 8, 8, 12, 16])
        row = kv_heads * (dim + turned) * (1 if shape["fp8"] else 2) * (1 if turned else 2)
        size = 2 ** draw.uniform(3, 10.5) * 1e6 if draw.random() < 0.3 else 2 ** draw.uniform(6, 10.5) * 1e6
        mean = size / row / m
        if not 64 <= mean <= 131072:
            continue
        alike = draw.random() < 0.6
        lengths = int(mean) if alike else [max(shape["q_len"], min(131072, int(mean * draw.uniform(0.2, 1.8)))) for _ in range(m)]
        out.append({"m": m, "heads": heads, "kv_heads": kv_heads, "lengths": lengths, "dim": dim, "turned": turned, "page": page, **shape})
    return out


def drawn(pool, seed, count=44):
    """Times drawn calls; the geometric mean is of those of 64 MB and more."""
    ratios = []
    for shape in shapes(seed, count):
        cache = Cache(pool, **shape)
        error, us, speed = cache.checked(range(min(2, cache.m))), cache.time(), pool.speed(cache.bytes)
        of_stream, lengths = cache.bytes / us * 1e-6 / speed, cache.lengths.tolist()
        if cache.bytes >= 64e6:
            ratios.append(of_stream)
        told = {**shape, "lengths": (min(lengths), max(lengths)), "dtype": str(shape["dtype"])}
        say(**told, mb=round(cache.bytes / 1e6, 1), us=round(us, 2), of_stream=round(of_stream, 3), error=error)
    say(seed=seed, of_64_mb_and_more=len(ratios), mean=statistics.geometric_mean(ratios), least=min(ratios))


def append(pool):
    for m in (64, 8192, 32768):
        heads, kv_heads, dim, page = 32, 8, 128, 64
        seqs = 8
        pages = seqs * -(-(m // seqs) // page) + 1
        q, k, v = (torch.randn(m, h, dim, device="cuda").bfloat16() for h in (heads, kv_heads, kv_heads))
        caches = [torch.zeros(pages, page, kv_heads, dim, device="cuda").bfloat16() for _ in range(2)]
        table = torch.randperm(pages, device="cuda")[1:].view(seqs, -1).int()
        at = torch.arange(m, device="cuda")
        sequence, position = (at % seqs).int(), (at // seqs).int()
        angle = torch.arange(m, device="cuda")[:, None] / 10000 ** (torch.arange(64, device="cuda") / 64)
        turns, weight = torch.cat((angle.cos(), angle.sin()), 1).float(), torch.rand(dim, device="cuda") + 0.5
        out = torch.empty_like(q)
        call = lambda: tt.kv_append(q, k, v, sequence, position, table, turns, *caches, q_weight=weight, k_weight=weight, out=out)
        call()

        def exact(x):
            x = x.double()
            x = x * (x.pow(2).mean(-1, keepdim=True) + 1e-6).rsqrt() * weight.double()
            c, s = turns.double()[position.long()][:, None].chunk(2, -1)
            a, b = x.chunk(2, -1)
            return torch.cat((a * c - b * s, b * c + a * s), -1)

        rows = table[sequence.long(), position.long() // page].long()
        written = caches[0][rows, position.long() % page].double()
        errors = [((found.double() - want).norm() / want.norm()).item() for found, want in ((out, exact(q)), (written, exact(k)))]
        same = torch.equal(caches[1][rows, position.long() % page], v)
        if PARTS:
            break
        us, moved = in_graph([call]), 2 * 2 * m * dim * (heads + 2 * kv_heads)
        source, dest = pool.all[: moved // 4], torch.empty(moved // 4, dtype=torch.bfloat16, device="cuda")
        copied = in_graph([lambda: dest.copy_(source)])
        say(append=m, mb=round(moved / 1e6, 1), us=round(us, 2), of_copy=round(copied / us, 3), errors=errors, values_same=same)


def main():
    wanted = [a for a in sys.argv[1:] if a in ("check", "gqa", "mla", "append", "drawn")] or ["check", "gqa", "mla", "append"]
    seed = int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 0
    variants = "--variants" in sys.argv
    tt.init()
    global PROGRAMS, PART, PARTS
    if "--part" in sys.argv:
        PART, PARTS = map(int, sys.argv[sys.argv.index("--part") + 1].split("/"))
    PROGRAMS = torch.cuda.get_device_properties(0).multi_processor_count
    pool = Pool(7 << 30)
    say(device=torch.cuda.get_device_name(), stream_2gb_tb_s=round(pool.speed(2 << 30), 3))
    if "check" in wanted:
        check(pool)
    if "gqa" in wanted:
        for name, (m, heads, kv_heads, lengths) in GQA.items():
            for page in (64, 16) if name == "16 x 8k" else (64,):
                cache = Cache(pool, m, heads, kv_heads, lengths, page=page)
                tried = VARIANTS if variants and name in ("16 x 8k", "1 x 128k") and page == 64 else []
                time_shape(f"{name}, pages of {page}", cache, pool, tried, isinstance(lengths, int) and cache.bytes < 3e9)
                del cache
        time_shape("16 x 8k, fp8", Cache(pool, 16, 32, 8, 8192, fp8=True), pool, [], False)
        time_shape("16 x 8k, 4 queries", Cache(pool, 16, 32, 8, 8192, q_len=4), pool, [], False)
    if "mla" in wanted:
        a = torch.randn(8192, 8192, device="cuda").bfloat16()
        say(cublas_8192_tflops=round(2 * 8192**3 / in_graph([lambda: a @ a] * 2) * 1e-6))
        for name, (m, heads, keys) in MLA.items():
            cache = Cache(pool, m, heads, 1, keys, dim=512, turned=64)
            time_shape("mla " + name, cache, pool, MLA_VARIANTS if variants and m > 1 else [], False)
    if "append" in wanted:
        append(pool)
    if "drawn" in wanted:
        drawn(pool, seed)


if __name__ == "__main__":
    main()
