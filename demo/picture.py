"""Draws a run's timeline: what each rank's programs and copy engines did when."""

import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {"compute": "#2a78b8", "wait": "#e9c46a", "put": "#d1495b", "get": "#d1495b", "copy": "#d1495b", "barrier": "#b8b8b8"}


def draw(trace_path, picture_path, begin=0.0, end=None):
    """One panel a rank, one thin row a resident program, from `begin` to `end` (fractions of the run)."""
    with open(trace_path) as file:
        spans = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X" and e["cat"] in COLOURS]
    last = max(e["ts"] + e["dur"] for e in spans)
    low, high = begin * last, (end or 1.0) * last
    ranks = sorted({e["pid"] for e in spans})
    figure, axes = plt.subplots(len(ranks), 1, figsize=(12, 1.7 * len(ranks) + 1), sharex=True, squeeze=False)
    for rank, axis in zip(ranks, axes[:, 0]):
        mine = [e for e in spans if e["pid"] == rank and e["ts"] < high and e["ts"] + e["dur"] > low]
        lanes = {lane: i for i, lane in enumerate(sorted({e["tid"] for e in mine}))}
        for kind, colour in COLOURS.items():
            some = [e for e in mine if e["cat"] == kind]
            axis.barh([lanes[e["tid"]] for e in some], [e["dur"] for e in some], left=[e["ts"] for e in some], height=0.9, color=colour)
        axis.set_ylabel(f"rank {rank}\nprograms")
        axis.set_yticks([])
        axis.set_xlim(low, high)
        axis.spines[["top", "right"]].set_visible(False)
    axes[-1, 0].set_xlabel("modelled time (µs)")
    labels = {"compute": "compute", "wait": "wait", "put": "move data"}
    figure.legend([plt.Rectangle((0, 0), 1, 1, color=COLOURS[k]) for k in labels], labels.values(), loc="upper center", ncol=3, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.95))
    figure.savefig(picture_path, dpi=110)
    plt.close(figure)
