"""Draws a run's timeline: the spans of each rank's streams and resident programs, whole and with one layer's MLP enlarged."""

import json

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import PolyCollection

COLOURS = {"compute": "#2a78b8", "wait": "#f0c75e", "put": "#d1495b", "get": "#d1495b", "copy": "#d1495b", "barrier": "#c9c9c9"}
LEGEND = {"compute": "compute", "wait": "wait for a signal", "put": "move data", "barrier": "barrier of the host"}

PROGRAMS = 12  # what the products use; the elementwise kernel between them fills many more for a moment
STREAM_ROWS = 3  # the height of a stream, in programs
FIRST_STREAM = 10000  # the number of stream 0's lane


def boxes(events, rows):
    """The corners of one rectangle an event."""
    return [
        [(e["ts"], top), (e["ts"] + e["dur"], top), (e["ts"] + e["dur"], bottom), (e["ts"], bottom)]
        for e in events
        for top, bottom in (rows[e["tid"]],)
    ]


def rows_of(spans):
    """The top and bottom of each lane's row: the streams that copy or wait, then the programs."""
    streams = sorted({e["tid"] for e in spans if e["tid"] >= FIRST_STREAM and e["dur"] > 0})
    rows = {lane: (STREAM_ROWS * i, STREAM_ROWS * (i + 1) - 0.4) for i, lane in enumerate(streams)}
    first = STREAM_ROWS * len(streams) + 0.6
    rows.update({lane: (first + lane, first + lane + 0.92) for lane in range(PROGRAMS)})
    return rows, first + PROGRAMS


def panel(axis, spans, rows, height, rank, low, high):
    """One rank between two times."""
    mine = [e for e in spans if e["pid"] == rank and e["tid"] in rows and e["ts"] < high and e["ts"] + e["dur"] > low]
    for kind, colour in COLOURS.items():
        seen = boxes([e for e in mine if e["cat"] == kind], rows)
        edge = 0.8 if colour == COLOURS["put"] else 0  # short copies are seen, too
        axis.add_collection(PolyCollection(seen, facecolor=colour, edgecolor=colour, linewidth=edge))
    axis.set(xlim=(low, high), ylim=(height, 0), yticks=[])
    axis.spines[["top", "right", "left"]].set_visible(False)


def draw(trace_path, picture_path, zoom=(0.0, 0.165)):
    """Left the whole run, right the part between the two fractions `zoom`."""
    with open(trace_path) as file:
        spans = [e for e in json.load(file)["traceEvents"] if e["ph"] == "X" and e["cat"] in COLOURS]
    last = max(e["ts"] + e["dur"] for e in spans)
    ranks = sorted({e["pid"] for e in spans})
    rows, height = rows_of(spans)
    figure, axes = plt.subplots(len(ranks), 2, figsize=(13, 1.25 * len(ranks) + 1.1), squeeze=False, sharex="col")
    for rank, (whole, part) in zip(ranks, axes):
        panel(whole, spans, rows, height, rank, 0, last)
        panel(part, spans, rows, height, rank, zoom[0] * last, zoom[1] * last)
        whole.axvspan(zoom[0] * last, zoom[1] * last, color="#000000", alpha=0.06, zorder=0)
        whole.set_ylabel(f"rank {rank}", rotation=0, ha="right", va="center")
    axes[0, 0].set_title("six layers: above the stream that copies, below it a row for each resident program", fontsize=10)
    axes[0, 1].set_title("one layer: AllGather+GEMM, GELU, GEMM+ReduceScatter", fontsize=10)
    for axis in axes[-1]:
        axis.set_xlabel("modelled time (µs)")
    handles = [plt.Rectangle((0, 0), 1, 1, color=COLOURS[k]) for k in LEGEND]
    figure.legend(handles, LEGEND.values(), loc="upper center", ncol=len(LEGEND), frameon=False)
    figure.tight_layout(rect=(0, 0, 1, 0.94))
    figure.savefig(picture_path, dpi=100)
    plt.close(figure)
