"""The measured numbers as Markdown tables: `python table.py RESULTS.json`."""

import json
import pathlib
import sys

TITLES = {"ag_gemm": "AllGather + GEMM", "gemm_rs": "GEMM + ReduceScatter", "gemm_ar": "GEMM + AllReduce", "all_reduce": "AllReduce"}
NAMES = {
    "tandem": "Tandem",
    "nccl": "cuBLAS, NCCL",
    "async_tp": "async-TP",
    "one_shot": "one-shot",
    "two_shot": "two-shot",
    "gemm": "GEMM alone",
    "nccl_alone": "NCCL alone",
    "copy_engine_alone": "copies alone",
}


def number(value, digits=1):
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 1000 else f"{value:.{digits}f}"


def size_of(row):
    if row["op"] != "all_reduce":
        return f"{row['m']}, {row['n']}, {row['k']}"
    count = row["bytes"]
    return f"{count >> 20} MB" if count >= 1 << 20 else f"{count >> 10} KB"


def table(rows, times="us"):
    """One operation's rows. `times`: "us", or "graph_us" for replays."""
    names = [n for n in NAMES if any(n in row.get(times, {}) for row in rows)]
    own = "graph" if times == "graph_us" else None
    heads = [
        "M, N, K" if rows[0]["op"] != "all_reduce" else "size",
        *(NAMES[n] for n in names),
        "bound",
        "bound / Tandem",
        "best other / Tandem",
        "overlap",
    ]
    lines = ["| " + " | ".join(heads) + " |", "| " + " | ".join("---" for _ in heads) + " |"]
    for row in rows:
        found = row.get(own, {}) if own else row
        cells = [
            size_of(row),
            *(number(row.get(times, {}).get(n)) for n in names),
            number(found.get("bound_us")),
            number(found.get("of_bound"), 2),
            number(found.get("speedup_over_best"), 2),
            number(found.get("overlap_efficiency"), 2),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def notes(rows):
    """Lists each failure once."""
    found = {}
    for row in rows:
        for name, error in row["errors"].items():
            found.setdefault((name, error), []).append(size_of(row))
    return [f"- {name} ({'; '.join(sizes)}): {error}" for (name, error), sizes in found.items()]


def main(path):
    report = json.loads(pathlib.Path(path).read_text())
    for op, title in TITLES.items():
        rows = [row for row in report["rows"] if row["op"] == op]
        for times, what in (("us", "calls"), ("graph_us", "replays of a CUDA graph")):
            if any(times in row for row in rows):
                print(f"## {title}, {what}, µs\n\n{table([r for r in rows if times in r], times)}\n")
        if failed := notes(rows):
            print("\n".join(failed) + "\n")
    print(json.dumps(report["machine"], indent=1))


if __name__ == "__main__":
    main(sys.argv[1])
