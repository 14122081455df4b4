"""Both halves of layers against what bounds them: `python bench/gpu/moe/plot_ranks.py RESULTS.json PICTURE.png`. Needs matplotlib."""

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

# Each half of a layer has what bounds it, and who carries it out. Names are those of ranks.py's lines.
HALVES = {
    "AllGather + grouped product": (("dense_up", "nccl_gather"), ("ag_moe", "torch_up", "fused_moe_up")),
    "grouped product + ReduceScatter": (("dense_down", "slots_copied", "nccl_scatter"), ("moe_rs", "torch_down", "fused_moe_down")),
}
TOKENS = 8192
WHO = (("Tandem", "#1b6ca8", "o"), ("NCCL + torch._grouped_mm", "#e08e45", "s"), ("NCCL + SGLang's kernels", "#2a7f4f", "^"))


def main(path, picture):
    rows = [r for r in json.loads(pathlib.Path(path).read_text())["two_gpus_in_turns"] if r["shape"][0] == TOKENS]
    labels = sorted({", ".join(map(str, r["shape"][1:])) for r in rows})
    figure, halves = plt.subplots(1, 2, figsize=(10, 5), sharey=True)
    for axes, (title, (bounds, names)) in zip(halves, HALVES.items()):
        for name, (label, color, marker) in zip(names, WHO):
            points = {}  # of each layer the last one, over what bounded it in the same run
            for row in rows:
                if isinstance(row.get(name), float):
                    points[labels.index(", ".join(map(str, row["shape"][1:])))] = row[name] / max(row[b] for b in bounds if b in row)
            if points:
                axes.scatter(points.keys(), points.values(), label=label, color=color, marker=marker)
        axes.axhline(1, color="black", linewidth=0.8, zorder=0)
        axes.set_yscale("log", base=2)
        axes.set_yticks([1, 1.5, 2, 3, 4, 6, 8], ["1", "1.5", "2", "3", "4", "6", "8"])
        axes.set_xticks(range(len(labels)), labels, rotation=50, ha="right", fontsize=7)
        axes.grid(axis="y", color="#dddddd", linewidth=0.5)
        axes.set_title(title, fontsize=10)
    halves[0].set_ylabel("time over the longest of what bounds it")
    halves[0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
