"""Runs the checks on this machine's GPU: `python test/gpu [part of a name ...]`. Exit status 0 when all pass, 77 without a GPU."""

import argparse
import json
import os
import pathlib
import random
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parents[1] / "triton")]

import device
import pool


def _selected(names, parts):
    return [n for n in names if not parts or any(p in n for p in parts)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="run the checks whose names contain one of these")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--seconds", type=float, default=3600.0, help="for the whole run")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds for one check")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--json", help="file for all outcomes")
    parser.add_argument("--inline", action="store_true", help="in this process, for a debugger or a sanitizer")
    parser.add_argument("--every", type=int, default=1, help="take only every n-th of the checks selected")
    options = parser.parse_args()
    if not device.is_available():
        print("no GPU")
        return 77
    import checks

    names = _selected(checks.load_all(), options.parts)[:: options.every]
    random.Random(options.seed).shuffle(names)
    print(f"{len(names)} checks, seed {options.seed}", flush=True)
    if options.inline:
        for name in names:
            print(name, flush=True)
            checks.run(name, options.seed)
        return 0
    started, wrong = time.monotonic(), []

    def report(name, outcome):
        if outcome.status != "passed":
            wrong.append(name)
            message = outcome.message if outcome.status == "hung" else outcome.message[:300]
            print(f"{outcome.status}: {name} ({outcome.seconds:.1f} s): {message}", flush=True)

    outcomes = pool.run(names, options.workers, options.seed, options.seconds, options.patience, report)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({n: vars(o) for n, o in outcomes.items()}))
    passed = sum(o.status == "passed" for o in outcomes.values())
    unreached = sum(o.status == "not run" for o in outcomes.values())
    print(f"{passed} passed, {len(wrong)} failed, {unreached} not run in {time.monotonic() - started:.0f} s; seed {options.seed}")
    return 0 if passed == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
