"""Times Tandem's operators beside cuBLAS, NCCL and PyTorch's symmetric memory on several GPUs: `run.py OUT.json`.

Starts one process a GPU itself. Every row is written as it is there. A contender that fails, hangs or takes its process with it is noted
and left out; the rest goes on. What is measured and how: docs/performance/overlap.md.
"""

import argparse
import json
import pathlib
import tempfile
import time

from cases import all_cases, label
from processes import Processes, free_port

HERE = pathlib.Path(__file__).resolve().parent
START_S, STALL_S = 120, 45
STARTS = 8
LAYOUTS = ("kn", "nk")


def arguments(description):
    """A parser of what every measurement takes."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=4, choices=(2, 4, 8))
    parser.add_argument("--only", action="append", metavar="OP", help="ag_gemm, gemm_rs, gemm_ar or all_reduce; may be given again")
    parser.add_argument("--quick", action="store_true", help="20 repetitions instead of 100, 10 instead of 30 for long ones")
    parser.add_argument("--no-graphs", action="store_true")
    parser.add_argument("--tune", action="store_true", help="tune each product, too, and keep what that gains")
    parser.add_argument("--weights", choices=LAYOUTS, default="kn", help="memory order of B: [K, N], or an [N, K] weight transposed")
    parser.add_argument("--lead-us", type=float, default=200, help="time the host is ahead of the device at each call; 0: as called")
    parser.add_argument("--without", action="append", default=[], choices=("tandem",), help="leave a contender out")
    parser.add_argument("--seconds", type=float, default=560, help="after which what is there must do")
    parser.add_argument("--seed", type=int, default=1)
    parser.set_defaults(resume=False)
    return parser


def parse():
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--shapes", type=int, help="only so many cases of each operation")
    return parser.parse_args()


def chosen(options):
    counts, found = {}, []
    for case in all_cases(options.ranks):
        counts[case["op"]] = counts.get(case["op"], 0) + 1
        if (not options.only or case["op"] in options.only) and (options.shapes is None or counts[case["op"]] <= options.shapes):
            found.append(case)
    return found


class Run:
    """All cases, over as many starts of the processes as failures make necessary."""

    def __init__(self, options, cases, folder, kept=()):
        """`kept`: rows of an earlier run, which stay in the file."""
        self.options, self.cases, self.folder = options, cases, pathlib.Path(folder)
        self.rows, self.kept = {}, list(kept)
        self.skip = {i: {} for i in range(len(self.cases))}  # case -> contender or contender@graph -> why
        self.report = {"machine": {}, "setup_errors": {}, "rows": []}
        self.end = time.monotonic() + options.seconds
        self.failed_starts = 0

    def write(self):
        """Whole or not at all: whoever ends this process loses no row."""
        self.report["rows"] = self.kept + [self.rows[i] for i in sorted(self.rows)]
        new = self.options.out.with_suffix(".new")
        new.write_text(json.dumps(self.report, indent=1))
        new.replace(self.options.out)

    def all(self):
        for start in range(STARTS):
            left = [i for i in range(len(self.cases)) if i not in self.rows]
            if not left or self.failed_starts > 1 or time.monotonic() > self.end:
                break
            self._once(start, left)
        for i in range(len(self.cases) if not self.options.resume else 0):
            if i not in self.rows:
                self.rows[i] = {**self.cases[i], "errors": {"case": "not measured: no time or starts left", **self._errors(i)}}
        self.write()

    def _errors(self, index):
        return {k.replace("@graph", " in a graph"): why for k, why in self.skip[index].items()}

    def _once(self, start, left):
        o = self.options
        progress, plan = self.folder / f"progress{start}", self.folder / f"plan{start}.json"
        progress.touch()
        items = [{"index": i, "case": self.cases[i], "skip": list(self.skip[i]), "errors": self._errors(i)} for i in left]
        plan.write_text(
            json.dumps(
                {
                    "cases": items,
                    "progress": str(progress),
                    "port": free_port(),
                    "seed": o.seed + start,
                    "lead_us": o.lead_us,
                    "weights": o.weights,
                    "without": o.without,
                    "graphs": not o.no_graphs,
                    "tune": o.tune,
                    "repetitions": 20 if o.quick else 100,
                    "long_repetitions": 10 if o.quick else 30,
                }
            )
        )
        processes = Processes(o.ranks, HERE / "worker.py", [plan], self.options.out.with_suffix(""))
        try:
            why, at = self._follow(processes, progress)
        finally:
            tails = processes.tails()
            processes.kill()
        if why:
            print(f"{why}\n{tails}", flush=True)
            self._blame(left, at, why)

    def _follow(self, processes, progress):
        """Reads the lines of rank 0 until the end. Returns (why it ended early or None, where it was)."""
        at, heard, broken = {"contender": "", "phase": "start"}, time.monotonic(), None
        with open(progress) as lines:
            while True:
                line = lines.readline()
                if line:
                    heard, message = time.monotonic(), json.loads(line)
                    match message["event"]:
                        case "at":
                            at = message
                        case "broken":
                            broken = message["error"]
                        case "done":
                            return None, at
                        case _:
                            self._take(message)
                    continue
                codes = processes.codes()
                if any(code is not None for code in codes) and time.monotonic() - heard > 2:
                    return broken or f"a process ended with {next(c for c in codes if c is not None)}", at
                if time.monotonic() - heard > (START_S if at["phase"] == "start" else STALL_S):
                    return f"no progress for {time.monotonic() - heard:.0f} s", at
                if time.monotonic() > self.end:
                    return "the time is over", at
                time.sleep(0.05)

    def _take(self, message):
        if message["event"] == "machine":
            self.report["machine"] |= message["machine"]
            self.report["setup_errors"] |= message["setup_errors"]
        else:
            self.rows[message["index"]] = message["row"]
            print(summary(message["row"]), flush=True)
        self.write()

    def _blame(self, left, at, why):
        """The contender that was at work is left out of its case next time; where several were, Tandem first, then all graphs."""
        index = next((i for i in left if i not in self.rows), None)
        if at["phase"] == "start":
            self.failed_starts += 1
        if index is None or at["phase"] == "start":
            return
        in_graph = "graph" in at["phase"]
        names = [at["contender"]] if at["contender"] not in ("", "case") else ["tandem", "async_tp", "one_shot", "two_shot", "nccl"]
        for name in names:
            key = f"{name}@graph" if in_graph else name
            if key not in self.skip[index] and name not in self.skip[index]:
                self.skip[index][key] = f"{why} (in `{at['phase']}`)"
                return
        self.rows[index] = {**self.cases[index], "errors": {"case": why, **self._errors(index)}}


def summary(row):
    parts = [label(row)]
    for name, us in row.get("us", {}).items():
        graph = row.get("graph_us", {}).get(name)
        parts.append(f"{name} {us:.1f}" + (f"/{graph:.1f}" if graph else ""))
    if "of_bound" in row:
        parts.append(f"bound {row['bound_us']:.1f} ({row['of_bound']:.2f})")
    if "speedup_over_best" in row:
        parts.append(f"x{row['speedup_over_best']:.2f} of {row['best']}")
    if "tandem" in row.get("relative_error", {}):
        parts.append(f"error {row['relative_error']['tandem']:.2g}")
    parts += [f"[{name}: {error[:90]}]" for name, error in row["errors"].items()]
    return "  ".join(parts)


def measure(options, cases, kept=()):
    """Measures the cases into `options.out`, behind the rows that are kept there. Returns all rows."""
    options.out = options.out.resolve()
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(options, cases, folder, kept)
        run.all()
    rows = run.report["rows"]
    wrong = [label(r) for r in rows if any("wrong result" in e for k, e in r["errors"].items() if k.startswith("tandem"))]
    measured = sum("tandem" in r.get("us", {}) for r in rows)
    print(f"{len(rows)} cases in {time.monotonic() - begin:.0f} s; Tandem measured in {measured}, wrong in {len(wrong)} {wrong or ''}")
    return rows


def main():
    options = parse()
    measure(options, chosen(options))


if __name__ == "__main__":
    main()
