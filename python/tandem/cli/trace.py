"""`tandem trace`."""

from ..trace.timeline_svg import ROWS
from ..trace.trace_file import show
from .arguments import file, positive


def add(commands):
    trace = commands.add_parser(
        "trace",
        help="draw a trace that a run has written, simulated or on GPUs",
        description="Print the timeline and the totals of a trace that `--trace`, `write_trace` or "
        "TANDEM_TRACE has written; with `--svg` draw it.",
    )
    trace.add_argument("file")
    trace.add_argument("--kernel", metavar="NAME", help="only the last launch of this kernel, on all ranks")
    trace.add_argument("--svg", type=file, metavar="FILE", help="also draw it")
    trace.add_argument("--rows", type=positive, default=ROWS, metavar="N", help=f"rows of a rank in the drawing (default {ROWS})")
    trace.add_argument("--width", type=positive, default=80, metavar="N", help="columns of the timeline (default 80)")


def execute(parser, options, arguments):
    return show(options)
