"""The measured numbers of one GPU as a picture: `python bench/gpu/plot.py RESULTS.json PICTURE.png`. Needs matplotlib."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

TANDEM, TRITON = "#1b6ca8", "#e08e45"
PRODUCTS = {"matmul": "", "matmul_pointers": "pointers ", "matmul, e4m3": "e4m3 "}


def pairs(axes, labels, ours, theirs, title, unit):
    """Two points a label, as multiples of the contender that is 1."""
    places = range(len(labels))
    axes.vlines(places, theirs, ours, color="#cccccc", zorder=1)
    axes.scatter(places, ours, label="Tandem", color=TANDEM, zorder=3)
    axes.scatter(places, theirs, label="Triton 3.6, same source", color=TRITON, marker="s", s=20, zorder=2)
    axes.axhline(1, color="black", linewidth=0.8, zorder=0)
    axes.set_xticks(places, labels, rotation=40, ha="right", fontsize=7)
    axes.set_ylim(0.6, 1.25)
    axes.set_ylabel(unit)
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, loc="upper left", ncols=2)


def main(path, picture):
    rows = json.loads(pathlib.Path(path).read_text())["rows"]
    products = [r for r in rows if r["kernel"] in PRODUCTS]
    moved = [r for r in rows if "copy" in r]
    figure, (upper, lower) = plt.subplots(2, 1, figsize=(10, 8))
    labels = [PRODUCTS[r["kernel"]] + "×".join(map(str, r["shape"])) for r in products]
    pairs(
        upper,
        labels,
        *([r["cublas"] / r[who] for r in products] for who in ("tandem", "triton")),
        "Products, M×N×K, bf16 and e4m3",
        "speed, cuBLAS = 1",
    )
    pairs(
        lower,
        [r["kernel"] for r in moved],
        *([r[who] / r["copy"] for r in moved] for who in ("tandem", "triton")),
        "Memory-bound kernels, float32",
        "bytes moved, a device copy = 1",
    )
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
