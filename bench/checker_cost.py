"""Measures the cost of the check: AllGather + GEMM on 8 ranks with and without it, each run in a process of its own.

    python bench/checker_cost.py [--ranks 8] [--m 1024] [--times 5]

Prints the median time of a warm run and the memory that a run adds to the process, and the ratios with their bars; the exit code is 1 when
one is missed.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import numpy as np

TIME_BAR, MEMORY_BAR = 4, 3


def resident_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(options):
    """Returns the median seconds of a run, and the MiB by which runs have raised the process's peak of memory."""
    from tandem.ops import AllGatherGemm, rows_of_rank, shard_rows
    from tandem.host.run import run_ranks

    m, n, k = options.m, 256, 256
    a = np.random.default_rng(0).standard_normal((m, k)).astype(np.float16)
    b = np.random.default_rng(1).standard_normal((k, n)).astype(np.float16)

    def main(team):
        op = AllGatherGemm(team, m, n, k, "fp16", block_m=64, block_n=64, block_k=32)
        first = team.rank * shard_rows(m, team.size)
        own = team.local_from_array(np.ascontiguousarray(a[first : first + rows_of_rank(m, team.size, team.rank)]))
        op(own, team.local_from_array(b), m)
        op.close()

    before, seconds = resident_mib(), []
    for seed in range(options.times + 1):  # the first compiles
        begin = time.perf_counter()
        run_ranks(main, options.ranks, (), seed=seed, check=options.child == "checked")
        seconds.append(time.perf_counter() - begin)
    return statistics.median(seconds[1:]), resident_mib() - before


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--m", type=int, default=1024)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--child", choices=("plain", "checked"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options)))
        return 0
    command = [sys.executable, __file__, *sys.argv[1:], "--child"]
    (plain_s, plain_mib), (checked_s, checked_mib) = [
        json.loads(subprocess.run([*command, kind], check=True, capture_output=True, text=True).stdout) for kind in ("plain", "checked")
    ]
    time_ratio, memory_ratio = checked_s / plain_s, checked_mib / plain_mib
    print(f"ag_gemm, {options.ranks} ranks, {options.m} x 256 x 256 fp16")
    print(f"time:   {1e3 * plain_s:.0f} ms without, {1e3 * checked_s:.0f} ms with the check: {time_ratio:.2f} x (bar {TIME_BAR} x)")
    print(f"memory: {plain_mib:.1f} MiB without, {checked_mib:.1f} MiB with the check: {memory_ratio:.2f} x (bar {MEMORY_BAR} x)")
    return int(time_ratio > TIME_BAR or memory_ratio > MEMORY_BAR)


if __name__ == "__main__":
    sys.exit(main())
