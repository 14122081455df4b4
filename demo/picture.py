"""Draws a run's timeline: the spans of each rank's resident programs, whole and with one layer's MLP enlarged."""

import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import PolyCollection

COLOURS = {"compute": "#2a78b8", "wait": "#f0c75e", "put": "#d1495b", "get": "#d1495b", "copy": "#d1495b", "barrier": "#c9c9c9"}
LEGEND = {"compute": "compute", "wait": "wait for a signal", "put": "move data"}

ROWS = 14  # what the products use; the elementwise kernel between them fills many more for a moment


def boxes(events, row_of):
    """The corners of one rectangle an event."""
    return [
        [(e["ts"], row), (e["ts"] + e["dur"], row), (e["ts"] + e["dur"], row + 0.92), (e["ts"], row + 0.92)]
        for e in events
        for row in (row_of[e["tid"]],)
    ]


def panel(axis, spans, rank, low, high):
    """One rank: a row for each of its first resident programs."""
    mine = [e for e in spans if e["pid"] == rank and e["tid"] < ROWS and e["ts"] < high and e["ts"] + e["dur"] > low]
    row_of = {lane: lane for lane in range(ROWS)}
    for kind, colour in COLOURS.items():
        axis.add_collection(PolyCollection(boxes([e for e in mine if e["cat"] == kind], row_of), facecolor=colour, linewidth=0))
    axis.set(xlim=(low, high), ylim=(ROWS, 0), yticks=[])
    axis.spines[["top", "right", "left"]].set_visible(False)


def draw(trace_path, picture_path, zoom=(0.005, 0.165)):
    """Left the whole run, right the part between the two fractions `zoom`."""
    with open(trace_path) as file:
        spans = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X" and e["cat"] in COLOURS]
    last = max(e["ts"] + e["dur"] for e in spans)
    ranks = sorted({e["pid"] for e in spans})
    figure, axes = plt.subplots(len(ranks), 2, figsize=(13, 1.25 * len(ranks) + 1.1), squeeze=False, sharex="col")
    for rank, (whole, part) in zip(ranks, axes):
        panel(whole, spans, rank, 0, last)
        panel(part, spans, rank, zoom[0] * last, zoom[1] * last)
        whole.axvspan(zoom[0] * last, zoom[1] * last, color="#000000", alpha=0.06, zorder=0)
        whole.set_ylabel(f"rank {rank}", rotation=0, ha="right", va="center")
    axes[0, 0].set_title("six layers: a row is a resident program", fontsize=10)
    axes[0, 1].set_title("one layer: AllGather+GEMM, GELU, GEMM+ReduceScatter", fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("modelled time (µs)")
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[k]) for k in LEGEND]
    figure.legend(handles, LEGEND.values(), loc="upper center", ncol=3, frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    figure.savefig(picture_path, dpi=100)
    plt.close(figure)
