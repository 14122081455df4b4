"""Rows of random_shapes.py as pictures: `python plot_random.py RESULT.json FOLDER` writes how far each is ahead over its rows, and what the
model said for what was measured, as a part of it. Needs matplotlib."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from cases import errors_of
from random_shapes import MOST_BEHIND
from table import TITLES

LOOKS = {"ag_gemm": ("#1b6ca8", "o"), "gemm_rs": ("#d9762b", "^"), "gemm_ar": ("#4b8b57", "s")}
BARS = {0.15: "0.93", 0.07: "0.86"}  # of the model's error: its 90th percentile, its median; and their greys


def points(found, axes, op, name):
    colour, marker = LOOKS[op]
    axes.plot(*zip(*found), marker, markersize=4, label=name, color=colour, alpha=0.8, markeredgewidth=0)


def plain(axis, most):
    """Powers of two, written out."""
    ticks = [1 << power for power in range(0, most.bit_length(), 2)]
    axis.set_ticks(ticks, [str(tick) for tick in ticks])


def ratios(rows, axes):
    for op in LOOKS:
        if found := [(row["m"], row["speedup_over_best"]) for row in rows if row["op"] == op]:
            points(found, axes, op, TITLES[op])
    axes.axhline(1, color="black", linewidth=0.8)
    axes.axhline(MOST_BEHIND, color="black", linewidth=0.8, linestyle=":", label=str(MOST_BEHIND))
    axes.set_xscale("log", base=2)
    plain(axes.xaxis, max(row["m"] for row in rows))
    axes.set_xlabel("rows (M)")
    axes.set_ylabel("best other / Tandem")


def predictions(rows, axes):
    for op in LOOKS:
        if told := [(row["us"]["tandem"], row["chosen"]["predicted"]) for row in rows if row["op"] == op]:
            median, most = errors_of([(predicted, us) for us, predicted in told])
            points([(us, predicted / us) for us, predicted in told], axes, op, f"{TITLES[op]}: median {median:.1%}, P90 {most:.1%}")
    axes.axhline(1, color="black", linewidth=0.8)
    for bar, grey in BARS.items():
        axes.axhspan(1 - bar, 1 + bar, color=grey, linewidth=0, zorder=0, label=f"within {bar:.0%}")
    axes.set_xscale("log", base=2)
    plain(axes.xaxis, round(max(row["us"]["tandem"] for row in rows)))
    axes.set_xlim(left=min(row["us"]["tandem"] for row in rows) * 0.8)
    axes.set_xlabel("measured, µs")
    axes.set_ylabel("by the model / measured")


def save(figure, axes, path):
    axes.legend(fontsize=8, framealpha=0.9)
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
            gpu = report["machine"]["gpus"][0].split(",")[0]
            axes.set_title(f"{report['machine']['ranks']} × {gpu}, {len(shown)} drawn shapes", fontsize=10)
            save(figure, axes, folder / f"{name}.png")


if __name__ == "__main__":
    main(*sys.argv[1:3])
