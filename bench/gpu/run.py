"""Times Tandem's kernels on one GPU beside cuBLAS and Triton: `python bench/gpu/run.py OUT.json [PROGRAM BUNDLE]`. Needs PyTorch; Triton
where it is there. PROGRAM is bench/gpu/launch.cpp, built, and BUNDLE its kernel's folder.

Every contender of a row runs in turn in one loop; each result is checked against a product in float64 first.
"""

import functools
import hashlib
import json
import pathlib
import subprocess
import sys
import time
import typing

import grouped
import startup
import tandem
import torch
from contenders import kernels, microseconds

SQUARES = [(4096, 4096, 4096), (8192, 8192, 8192)]
SHAPES = SQUARES + [
    (8192, 1024, 12288),
    (8192, 1024, 14336),
    (8192, 896, 14336),
    (8192, 1152, 36864),
    (8192, 2048, 28672),
    (8192, 2048, 30720),
    (8192, 7168, 8192),
    (8192, 4096, 2048),
    (8192, 14336, 4096),
    (1024, 7168, 8192),
    (16, 7168, 8192),
    (64, 7168, 8192),
    (256, 7168, 8192),
]
FP8_SHAPES = [(4096, 4096, 4096), (8192, 8192, 8192), (8192, 7168, 8192), (8192, 2048, 28672), (1280, 4096, 12032)]


class Tile(typing.NamedTuple):
    """The division of a product: BN is one width, or those that make up a tile's; `way` picks the kernel."""

    BM: int
    BN: int | tuple
    BK: int
    warps: int
    stages: int
    programs: int = 132
    group: int = 8
    ctas: int = 1
    way: str = ""


LARGE = [
    Tile(128, 256, 64, 8, 4),
    Tile(128, 256, 64, 8, 3),
    Tile(128, 256, 64, 8, 4, group=16),
    Tile(256, 256, 64, 8, 4, 66, ctas=2),
    Tile(128, 128, 64, 8, 5),
    Tile(128, (128, 64), 64, 8, 5),
    Tile(128, (128, 64, 32), 64, 8, 4),
]
SMALL = [
    Tile(16, 64, 128, 4, 8, way="few"),
    Tile(16, 64, 256, 4, 5, way="few"),
    Tile(64, 64, 128, 4, 6, way="few"),
    Tile(64, 64, 128, 4, 6),
    Tile(64, 128, 128, 4, 4),
    Tile(128, 128, 64, 8, 6),
    Tile(256, 128, 64, 8, 6, 66, ctas=2),
    Tile(256, (64, 32, 16), 64, 8, 7, 66, ctas=2),
    Tile(128, 128, 64, 8, 4, way="halves"),
]
FP8 = [Tile(128, 256, 128, 8, 4), Tile(128, 256, 128, 8, 3), Tile(128, (256, 64), 64, 8, 6), Tile(128, 128, 128, 8, 6)]
POINTERS = LARGE[:2] + LARGE[4:5]


def cdiv(a, b):
    return -(-a // b)


def relative_error(c, a, b):
    rows = slice(0, 256)
    exact = a[rows].double() @ b.double()
    return ((c[rows].double() - exact).norm() / exact.norm()).item()


@functools.cache
def workspace(floats):
    return torch.empty(floats, device="cuda"), torch.zeros(1024, dtype=torch.int32, device="cuda")


def by_descriptors(module, a, b, c, tile):
    (m, k), n = a.shape, b.shape[0]
    sizes = {"BM": tile.BM, "BN": tile.BN, "BK": tile.BK, "num_warps": tile.warps, "num_stages": tile.stages}
    tiles = cdiv(m, tile.BM) * cdiv(n, sum(tile.BN) if isinstance(tile.BN, tuple) else tile.BN)
    if tile.way == "halves":
        parts, flags = workspace(2 * tiles * tile.BM * tile.BN)
        programs = 2 * cdiv(m, tile.BM) * cdiv(n, 2 * tile.BN)
        if programs > tile.programs:
            raise ValueError("more programs than run at one time")
        return lambda: module.matmul_halves[(programs,)](a, b, c, parts, flags, m, n, k, **sizes)
    sizes["SMS"] = tile.programs
    grid = (min(tile.programs, tiles),)
    if tile.way == "few":
        if m > tile.BM:
            raise ValueError("more rows than a tile")
        return lambda: module.matmul_few[grid](a, b, c, m, n, k, **sizes)
    sizes |= {"GROUP": tile.group}
    if tile.ctas > 1:
        sizes["num_ctas"] = tile.ctas
    if isinstance(tile.BN, tuple):
        sizes |= dict(zip(("BN", "BN1", "BN2"), (*tile.BN, 0)))
        return lambda: module.matmul_columns[grid](a, b, c, m, n, k, **sizes)
    return lambda: module.matmul_persistent[grid](a, b, c, m, n, k, **sizes)


def pointers(module, a, b, c, tile):
    (m, k), n = a.shape, b.shape[1]
    grid = (cdiv(m, tile.BM) * cdiv(n, tile.BN),)
    return lambda: module.matmul_pointers[grid](
        a,
        b,
        c,
        m,
        n,
        k,
        *a.stride(),
        *b.stride(),
        *c.stride(),
        BM=tile.BM,
        BN=tile.BN,
        BK=tile.BK,
        GROUP=8,
        num_warps=tile.warps,
        num_stages=tile.stages,
    )


def for_triton(tiles):
    """Returns a tile for which Triton has shared memory: it keeps whole tiles beside the stages."""
    fitting = [tile._replace(stages=min(tile.stages, 3 if tile.warps == 8 else 4)) for tile in tiles if tile.ctas == 1]
    return list(dict.fromkeys(fitting))


def quickest(make, configs):
    """The configuration that is quickest over a few calls, which take turns; those that do not fit are left out."""
    functions = {}
    for config in configs:
        try:
            functions[config] = make(config)
            functions[config]()
        except Exception as error:  # a compiler's refusal of one configuration is not the row's end
            functions.pop(config, None)
            print("  left out", config, str(error).splitlines()[0][:120])
    times = microseconds(*functions.values(), repetitions=12) if len(functions) > 1 else [0]
    return min(zip(times, functions))[1]


def product_row(name, shape, ours, theirs, make, transposed, configs):
    m, n, k = shape
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    b = torch.randn((n, k) if transposed else (k, n), device="cuda", dtype=torch.bfloat16)
    right = b.T if transposed else b
    c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    config = quickest(lambda x: make(ours, a, b, c, x), configs)
    c.fill_(float("nan"))
    make(ours, a, b, c, config)()
    row = {"kernel": name, "shape": shape, "config": config._asdict(), "error": relative_error(c, a, right)}
    functions = {"tandem": make(ours, a, b, c, config), "cublas": lambda: torch.matmul(a, right, out=c)}
    if theirs:
        best = quickest(lambda x: make(theirs, a, b, c, x), for_triton(configs))
        functions["triton"] = make(theirs, a, b, c, best)
    for key, time_us in zip(functions, microseconds(*functions.values())):
        row[key] = round(time_us, 2)
    row["ratio"] = round(min(v for k, v in row.items() if k in ("cublas", "triton")) / row["tandem"], 3)
    row["of_cublas"] = round(row["cublas"] / row["tandem"], 3)
    row["tflops"] = round(2e-6 * m * n * k / row["tandem"], 1)
    return row


def fp8_row(shape, ours, theirs):
    """e4m3 in, bf16 out; cuBLAS with its fast accumulation."""
    m, n, k = shape
    a, b = (torch.randn(rows, k, device="cuda").to(torch.float8_e4m3fn) for rows in (m, n))
    c = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    one = torch.ones((), device="cuda")
    config = quickest(lambda x: by_descriptors(ours, a, b, c, x), FP8)
    functions = {
        "tandem": by_descriptors(ours, a, b, c, config),
        "cublas": lambda: torch._scaled_mm(a, b.T, one, one, out_dtype=torch.bfloat16, use_fast_accum=True),
    }
    c.fill_(float("nan"))
    functions["tandem"]()
    row = {"kernel": "matmul, e4m3", "shape": shape, "config": config._asdict(), "error": relative_error(c, a.float(), b.float().T)}
    if theirs:
        best = quickest(lambda x: by_descriptors(theirs, a, b, c, x), for_triton(FP8))
        functions["triton"] = by_descriptors(theirs, a, b, c, best)
    for key, time_us in zip(functions, microseconds(*functions.values())):
        row[key] = round(time_us, 2)
    return row | {"of_cublas": round(row["cublas"] / row["tandem"], 3), "tflops": round(2e-6 * m * n * k / row["tandem"], 1)}


def memory_rows(ours, theirs):
    n, rows, columns = 1 << 27, 32768, 4096
    x, y = torch.randn(n, device="cuda"), torch.randn(n, device="cuda")
    out, weight, bias = torch.empty_like(x), torch.randn(columns, device="cuda"), torch.randn(columns, device="cuda")
    calls = {
        "vector_add": (12, lambda m: m.vector_add[(cdiv(n, 1024),)](x, y, out, n, BLOCK=1024)),
        "dropout": (8, lambda m: m.dropout[(cdiv(n, 1024),)](x, out, n, 0.5, 12, BLOCK=1024)),
        "fused_dropout": (8, lambda m: m.fused_dropout[(cdiv(n, 1024),)](x, out, n, 0.5, 12, BLOCK=1024)),
        "softmax": (8, lambda m: m.softmax[(rows,)](x, out, columns, columns, BLOCK=columns, num_warps=8)),
        "layer_norm": (8, lambda m: m.layer_norm[(rows,)](x, out, weight, bias, columns, columns, 1e-5, BLOCK=columns, num_warps=8)),
        "transpose": (8, lambda m: m.transpose[(rows // 64, columns // 64)](x, out, rows, columns, BM=64, BN=64)),
    }
    for name, (bytes_each, call) in calls.items():
        functions = {"tandem": lambda: call(ours), "copy": lambda: out.copy_(x)}
        if theirs:
            functions["triton"] = lambda: call(theirs)
        rates = {k: (8 if k == "copy" else bytes_each) * 1e-3 * n / t for k, t in zip(functions, microseconds(*functions.values()))}
        yield {"kernel": name, "unit": "GB/s", **{k: round(v) for k, v in rates.items()}}


def launch_row(ours, theirs):
    x = torch.zeros(1024, device="cuda")
    row = {"kernel": "launch from Python", "unit": "us"}
    for name, module in (("tandem", ours), ("triton", theirs)):
        if not module:
            continue
        call = lambda: module.vector_add[(1,)](x, x, x, 1024, BLOCK=1024)
        for _ in range(200):
            call()
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(5000):
            call()
        row[name] = round((time.perf_counter() - start) / 5000 * 1e6, 2)
        torch.cuda.synchronize()
    return row


def machine():
    query = ["nvidia-smi", "--query-gpu=name,driver_version,clocks.sm,clocks.max.sm,power.limit", "--format=csv,noheader"]
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, cwd=pathlib.Path(__file__).parent).stdout.strip()
    return {
        "gpu": subprocess.run(query, capture_output=True, text=True).stdout.strip().splitlines()[0],
        "cuda": torch.version.cuda,
        "torch": torch.__version__,
        "commit": commit,
        "library": hashlib.sha256((pathlib.Path(tandem.__file__).parent / "libtandem.so").read_bytes()).hexdigest()[:12],
    }


def main(path, *bundle):
    ours, theirs = kernels()
    report = {"machine": machine(), "rows": []}

    def keep(row):
        print(json.dumps(row), flush=True)
        report["rows"].append(row)
        pathlib.Path(path).write_text(json.dumps(report, indent=1))

    if len(bundle) == 2:
        keep(startup.cpp_row(*bundle))
    for row in startup.rows(theirs is not None):
        keep(row)
    for row in memory_rows(ours, theirs):
        keep(row)
    keep(launch_row(ours, theirs))
    for shape in FP8_SHAPES:
        keep(fp8_row(shape, ours, theirs))
    for shape in grouped.SHAPES:
        keep(grouped.row(shape, ours, theirs))
    for shape in SHAPES:
        keep(product_row("matmul", shape, ours, theirs, by_descriptors, True, SMALL if shape[0] <= 256 else LARGE))
    for shape in SQUARES:
        keep(product_row("matmul_pointers", shape, ours, theirs, pointers, False, POINTERS))


if __name__ == "__main__":
    main(*sys.argv[1:])
