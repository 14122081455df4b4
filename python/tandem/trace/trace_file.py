"""`tandem trace`: a file that a run has written, as text and as a drawing. Knows the Chrome trace, not where the run was."""

import json
import sys

from .. import _tandem
from .timeline_svg import ROWS, trace_svg


class TraceFile:
    """A run's trace, simulated or measured on GPUs."""

    def __init__(self, path):
        try:
            with open(path) as file:
                self._trace = json.load(file)
            self.events = [e for e in self._trace["traceEvents"] if e["ph"] == "X"]
            self.is_measured = self._trace["otherData"]["clock"] == "measured"
        except OSError as error:
            raise ValueError(f"cannot read {path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path} is not a trace that Tandem wrote") from None

    def _described(self, width):
        return json.loads(_tandem.read_trace(json.dumps(self._trace), width))

    def timeline(self, width=80):
        return self._described(width)["timeline"]

    @property
    def summary(self):
        return self._described(1)["summary"]

    def keep_kernel(self, name):
        """Forgets everything before and after the last launch of a kernel, all ranks' launches taken together."""
        kernels = sorted((e for e in self.events if e["cat"] == "kernel"), key=lambda e: e["ts"])
        launches = {e["pid"]: e for e in kernels if e["name"] == f"kernel {name}"}
        if not launches:
            known = sorted({e["name"].removeprefix("kernel ") for e in kernels})
            raise ValueError(f"the trace has no launch of `{name}`; it has {', '.join(f'`{k}`' for k in known) or 'none at all'}")
        begin = min(e["ts"] for e in launches.values())
        end = max(e["ts"] + e["dur"] for e in launches.values())
        self.events = [_within(e, begin, end) for e in self.events if e["ts"] < end and e["ts"] + e["dur"] > begin]
        self._trace["traceEvents"] = [e for e in self._trace["traceEvents"] if e["ph"] != "X"] + self.events

    def svg(self, rows=ROWS):
        """A drawing that needs nothing else."""
        return trace_svg(self._trace, rows)


def _within(event, begin, end):
    first, last = max(event["ts"], begin), min(event["ts"] + event["dur"], end)
    return {**event, "ts": first, "dur": last - first}


def _totals(summary):
    yield f"{'rank':>4} {'compute':>12} {'wait':>12} {'transfer':>12} {'overlapped':>12} {'bytes':>14}"
    for r in summary["ranks"]:
        times = (f"{r[k] / 1000:9.1f} us" for k in ("compute_ns", "wait_ns", "transfer_ns", "overlapped_ns"))
        yield f"{r['rank']:>4} {' '.join(times)} {r['bytes']:>14}"


def show(options):
    try:
        trace = TraceFile(options.file)
        text = trace.timeline(options.width)  # reads every event, so what follows needs to check none
        if options.kernel:
            trace.keep_kernel(options.kernel)
            text = trace.timeline(options.width)
        print(text, end="")
        summary = trace.summary
        print(*_totals(summary), sep="\n")
        if summary["lost"]:
            print(f"{summary['lost']} records are missing: there was no room for them")
        if options.svg:
            with open(options.svg, "w") as file:
                file.write(trace.svg(options.rows))
    except OSError as error:
        print(f"tandem: cannot write {error.filename or 'the standard output'}: {error.strerror}", file=sys.stderr)
        return 1
    except (ValueError, RuntimeError) as error:
        print(f"tandem: {error}", file=sys.stderr)
        return 1
    return 0
