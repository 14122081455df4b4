"""The list of cases: shapes, sizes, and the bytes and operations that each must at least move and do."""

import statistics

LINK_GB_S = 397  # a copy engine between two GPUs, measured
PRODUCTS = [
    (8192, 4096, 12288),
    (8192, 4096, 14336),
    (8192, 3584, 14336),
    (8192, 4608, 36864),
    (8192, 8192, 28672),
    (8192, 8192, 30720),
    (8192, 28672, 8192),
    (8192, 8192, 8192),
    (4096, 28672, 8192),
    (1024, 28672, 8192),
]
SMALL_ROWS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
SMALL_PRODUCTS = [(8192, 8192), (8192, 28672)]  # N, K over all ranks
REDUCED_BYTES = [1 << p for p in range(11, 29)]  # 2 KB to 256 MB
COLUMN_SHARES = 4  # N of AG+GEMM is dealt to four ranks whatever their number, so that two ranks do the same product a rank


def all_cases(ranks):
    """Every case: operation, m, n, k as the table names them, and the sizes `b` has on a rank."""
    for m, n, k in PRODUCTS:
        yield {"op": "ag_gemm", "m": m, "n": n, "k": k, "local_n": n // COLUMN_SHARES, "local_k": k}
    for m, n, k in PRODUCTS:
        yield {"op": "gemm_rs", "m": m, "n": n, "k": k, "local_n": n, "local_k": k // ranks}
    for n, k in SMALL_PRODUCTS:
        for m in SMALL_ROWS:
            yield {"op": "gemm_ar", "m": m, "n": n, "k": k, "local_n": n, "local_k": k // ranks}
    for size in REDUCED_BYTES:
        yield {"op": "all_reduce", "bytes": size}


def link_bytes(case, ranks):
    """Bytes that a rank's link must carry in one direction; sums of fp8 are bf16."""
    share, part = (ranks - 1) / ranks, 2
    match case["op"]:
        case "ag_gemm":
            return share * case["m"] * case["k"] * (1 if case.get("dtype") == "e4m3" else 2)
        case "gemm_rs":
            return share * case["m"] * case["n"] * part
        case "gemm_ar":
            return 2 * share * case["m"] * case["n"] * part
        case "all_reduce":
            return 2 * share * case["bytes"]


def flop(case):
    return 0 if case["op"] == "all_reduce" else 2 * case["m"] * case["local_n"] * case["local_k"]


def label(case):
    if case["op"] == "all_reduce":
        return f"{case['op']} {case['bytes']} B"
    kind = case.get("dtype", "bf16")
    return f"{case['op']} {case['m']},{case['n']},{case['k']}" + (f" {kind}" if kind != "bf16" else "")


def derived(case, ranks, us):
    """Bound, ratio to it, overlap efficiency and the best other contender, from microseconds by contender."""
    link = link_bytes(case, ranks) / LINK_GB_S * 1e-3
    bound = max(us.get("gemm", 0), link)
    found = {"link_us": round(link, 2), "bound_us": round(bound, 2)}
    others = {k: v for k, v in us.items() if k not in ("tandem", "gemm", "nccl_alone", "copy_engine_alone")}
    if others:
        found["best"] = min(others, key=others.get)
    ours = us.get("tandem")
    if not ours:
        return found
    found["of_bound"] = round(bound / ours, 3)
    if others:
        found["speedup_over_best"] = round(others[found["best"]] / ours, 3)
    if "nccl" in us:
        found["speedup_over_sequence"] = round(us["nccl"] / ours, 3)
    if {"nccl", "gemm", "nccl_alone"} <= us.keys():
        found["overlap_efficiency"] = round((us["nccl"] - ours) / min(us["gemm"], us["nccl_alone"]), 3)
    return found


def errors_of(rows):
    """The median and the 90th percentile of |predicted / measured - 1|."""
    errors = sorted(abs(predicted / measured - 1) for predicted, measured in rows)
    return statistics.median(errors), errors[min(len(errors) - 1, round(0.9 * (len(errors) - 1)))]
