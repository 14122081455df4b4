"""Rows of random_shapes.py as pictures: `python plot_random.py RESULT.json FOLDER` writes how far each is ahead over its rows, and what the
model said against what was measured. Needs matplotlib."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from cases import errors_of
from random_shapes import MOST_BEHIND
from table import TITLES

COLOURS = {"ag_gemm": "#1b6ca8", "gemm_rs": "#e08e45", "gemm_ar": "#7a9e7e"}
BARS = (0.07, 0.15)  # of the model's error: its median, its 90th percentile


def ratios(rows, axes):
    for op, colour in COLOURS.items():
        points = [(row["m"], row["speedup_over_best"]) for row in rows if row["op"] == op]
        if points:
            axes.plot(*zip(*points), "o", markersize=3, label=TITLES[op], color=colour)
    axes.axhline(1, color="black", linewidth=0.8)
    axes.axhline(MOST_BEHIND, color="black", linewidth=0.5, linestyle=":")
    axes.set_xscale("log", base=2)
    axes.set_xlabel("rows (M)")
    axes.set_ylabel("best other / Tandem")


def predictions(rows, axes):
    told = [(row["op"], row["us"]["tandem"], row["chosen"]["predicted"]) for row in rows]
    for op, colour in COLOURS.items():
        points = [pair for name, *pair in told if name == op]
        if points:
            median, most = errors_of([(predicted, measured) for measured, predicted in points])
            axes.plot(*zip(*points), "o", markersize=3, label=f"{TITLES[op]}: {median:.1%}, P90 {most:.1%}", color=colour)
    ends = [min(us for _, us, _ in told), max(us for _, us, _ in told)]
    axes.plot(ends, ends, color="black", linewidth=0.8)
    for bar in BARS:
        axes.fill_between(ends, [e * (1 - bar) for e in ends], [e * (1 + bar) for e in ends], color="grey", alpha=0.15)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xlabel("measured, µs")
    axes.set_ylabel("by the model, µs")


def save(figure, axes, path):
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
    print(path)


def main(path, folder):
    report = json.loads(pathlib.Path(path).read_text())
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = [row for row in report["rows"] if "speedup_over_best" in row]
    pictures = {"random_ratios": (ratios, rows), "random_predictions": (predictions, [row for row in rows if "chosen" in row])}
    for name, (draw, shown) in pictures.items():
        if shown:
            figure, axes = plt.subplots(figsize=(8, 4.5))
            draw(shown, axes)
            axes.set_title(f"{report['machine']['ranks']} GPUs, {len(shown)} drawn shapes", fontsize=10)
            save(figure, axes, folder / f"{name}.png")


if __name__ == "__main__":
    main(*sys.argv[1:3])
