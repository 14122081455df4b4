"""The measured numbers as pictures: `python plot.py RESULTS.json FOLDER` writes one PNG an operation. Needs matplotlib."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from table import NAMES, TITLES, size_of

COLOURS = {"tandem": "#1b6ca8", "nccl": "#9e9e9e", "async_tp": "#e08e45", "one_shot": "#e08e45", "two_shot": "#7a9e7e"}


def bars(rows, axes):
    """Speed relative to the bound: 1 is a product and a transfer that hide each other completely."""
    names = [n for n in COLOURS if any(n in row["us"] for row in rows)]
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        places = [x + (i - (len(names) - 1) / 2) * width for x in range(len(rows))]
        heights = [row["bound_us"] / row["us"][name] if name in row["us"] else 0 for row in rows]
        axes.bar(places, heights, width, label=NAMES[name], color=COLOURS[name])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xticks(range(len(rows)), [size_of(row) for row in rows], rotation=30, ha="right", fontsize=8)
    axes.set_ylabel("bound / time")
    axes.set_ylim(0, 1.2)


def curves(rows, axes, times):
    for name, colour in COLOURS.items():
        points = [(row["bytes"] if "bytes" in row else row["m"], row[times][name]) for row in rows if name in row.get(times, {})]
        if points:
            axes.plot(*zip(*points), marker="o", markersize=3, label=NAMES[name], color=colour)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("bytes" if "bytes" in rows[0] else "rows (M)")
    axes.set_ylabel("µs")


def picture(op, rows, folder, ranks):
    if op in ("ag_gemm", "gemm_rs"):
        figure, axes = plt.subplots(figsize=(9, 4))
        bars(rows, axes)
        axes.set_title(f"{TITLES[op]}, bf16, {ranks} GPUs")
        axes.legend(fontsize=8, loc="upper left", ncols=3)
    else:
        groups = {(row.get("n"), row.get("k")): None for row in rows}
        kinds = [(key, times) for key in groups for times in ("us", "graph_us") if any(times in row for row in rows)]
        figure, grid = plt.subplots(1, len(kinds), figsize=(4.5 * len(kinds), 4), squeeze=False)
        for (key, times), axes in zip(kinds, grid[0]):
            curves([row for row in rows if (row.get("n"), row.get("k")) == key and times in row], axes, times)
            of = f" N, K = {key[0]}, {key[1]}" if key[0] else ""
            axes.set_title(f"{TITLES[op]}{of}, {'calls' if times == 'us' else 'graph'}", fontsize=9)
            axes.legend(fontsize=8)
    figure.tight_layout()
    path = pathlib.Path(folder) / f"{op}.png"
    figure.savefig(path, dpi=130)
    plt.close(figure)
    print(path)


def main(path, folder):
    report = json.loads(pathlib.Path(path).read_text())
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    for op in TITLES:
        rows = [row for row in report["rows"] if row["op"] == op and row.get("us")]
        if rows:
            picture(op, rows, folder, report["machine"]["ranks"])


if __name__ == "__main__":
    main(*sys.argv[1:3])
