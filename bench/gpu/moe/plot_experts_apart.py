"""Dispatch and combine by numbers of tokens: `python bench/gpu/moe/plot_experts_apart.py RESULTS.json PICTURE.png`. Needs matplotlib."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLUMNS = 7168
FORMS = [("dispatch", {}, "dispatch, bf16", "#1b6ca8"), ("dispatch", {"quantised": True}, "dispatch, fp8", "#62b0e0")]
FORMS += [
    ("combine", {}, "combine, bf16", "#2a7f4f"),
    ("nccl_dispatch", {}, "NCCL, dispatch", "#e08e45"),
    ("nccl_combine", {}, "NCCL, combine", "#b5523b"),
]


def main(path, picture):
    results = json.loads(pathlib.Path(path).read_text())
    rows = sorted((r for r in results["few"] if r["columns"] == COLUMNS), key=lambda r: r["rows"])
    figure, axes = plt.subplots(figsize=(8, 4.5))
    for name, options, label, color in FORMS:
        points = [(r["rows"], r[name]) for r in rows if r["options"] == options and name in r]
        axes.plot(*zip(*points), marker="o", label=label, color=color)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlabel("tokens of each of two ranks, of 7168 columns, with 8 of 256 experts")
    axes.set_ylabel("microseconds of a call in a graph")
    axes.grid(color="#dddddd", which="both", linewidth=0.5)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
