"""Compares the checker with the oracle on random protocols, right ones and ones with one thing taken away, weakened or moved.

    python test/checker/protocols --programs 10000 --seed 0 [--out FILE]

Each program is drawn from a seed of its own, which every line about it names; `--show SEED` prints that program, what the oracle says
and the checker's reports. The exit code is 1 when checker and oracle disagree."""

import argparse
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from comparison import compare, draw, tally, verdict_of
from kernel import found_by_checker


def show(seed):
    case = draw(seed)
    print(case.program, f"oracle: {verdict_of(case)}", sep="\n")
    for report in found_by_checker(case.program, case.seeds[0]):
        print(report["text"])


def main():
    parser = argparse.ArgumentParser(description="Compare the checker with an oracle on random protocols.")
    parser.add_argument("--programs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0, help="of the first program")
    parser.add_argument("--out", help="write the counts as JSON")
    parser.add_argument("--show", type=int, metavar="SEED", help="print the program of a seed and what is said of it")
    options = parser.parse_args()
    if options.show is not None:
        return show(options.show)
    started, results = time.monotonic(), []
    for seed in range(options.seed, options.seed + options.programs):
        result = compare(seed)
        results.append(result)
        if result.disagrees:
            print(result, flush=True)
    counts = {**tally(results), "seconds": round(time.monotonic() - started)}
    print(json.dumps(counts, indent=1))
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(counts, indent=1) + "\n")
    return int(any(r.disagrees for r in results))


if __name__ == "__main__":
    sys.exit(main())
