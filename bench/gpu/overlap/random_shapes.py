"""Times the operators on shapes that are drawn by a seed: `random_shapes.py OUT.json --draws 150`, and says where they are behind.

M is log-uniform from 1 to 32768. N and K are the sizes of a layer of one of models.py's models, dealt to 2, 4 or 8 ranks whatever the
number of GPUs. Contenders, checks and times are run.py's. The file is one that table.py and predict.py read. --summary-only needs no GPU.
"""

import itertools
import json
import math
import random

from cases import label
from models import MODELS
from run import arguments, measure

OPS = ("ag_gemm", "gemm_rs", "gemm_ar")
MOST_ROWS = 32768
MOST_RESULTS = 1 << 29  # elements of a product on a rank: several copies in float64 are compared
PARTS = (2, 4, 8)
MOST_BEHIND = 0.97
WORST = 10


def drawn(op, ranks, seed, rows=(1, MOST_ROWS)):
    """Cases of an operator without an end, M between the two `rows`. More draws of one seed begin with the same cases."""
    source = random.Random(f"{seed} {op}")
    while True:
        m = round(math.exp(source.uniform(math.log(rows[0]), math.log(rows[1]))))
        model, parts = source.choice(MODELS), source.choice(PARTS)
        if op == "ag_gemm":
            n, k = source.choice(model.column_parallel)
            local_n, local_k = n // parts, k
        else:
            n, k = source.choice(model.row_parallel)
            local_n, local_k = n, k // parts
        if op != "gemm_ar":
            m = -(-m // ranks) * ranks  # NCCL and PyTorch take equal shards only
        if m * local_n > MOST_RESULTS:
            continue
        # The sizes over the ranks that run.
        n, k = (local_n * ranks, local_k) if op == "ag_gemm" else (local_n, local_k * ranks)
        yield {"op": op, "m": m, "n": n, "k": k, "local_n": local_n, "local_k": local_k, "model": model.name, "parts": parts}


def all_drawn(options):
    """The operators take turns, so that a run which ends early has as many cases of each."""
    ops = options.only or OPS
    each = [itertools.islice(drawn(op, options.ranks, options.seed, options.rows), options.draws) for op in ops]
    return [case for turn in zip(*each) for case in turn]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(rows):
    """Lines: for each operator and for all, how many are behind and by how much; then the worst rows."""
    timed = [row for row in rows if "speedup_over_best" in row]
    lines = ["| operator | rows | behind | below 0.97 | least | geometric mean |", "| --- | --- | --- | --- | --- | --- |"]
    for op in [*dict.fromkeys(row["op"] for row in timed), "all"]:
        found = [row["speedup_over_best"] for row in timed if op in (row["op"], "all")]
        if not found:
            continue
        behind, far = (sum(ratio < bar for ratio in found) for bar in (1, MOST_BEHIND))
        share = f"{behind} ({behind / len(found):.0%})"
        lines.append(f"| {op} | {len(found)} | {share} | {far} | {min(found):.2f} | {geometric_mean(found):.3f} |")
    lines += ["", "| worst | Tandem, µs | best other | its µs | best other / Tandem |", "| --- | --- | --- | --- | --- |"]
    for row in sorted(timed, key=lambda row: row["speedup_over_best"])[:WORST]:
        times = f"{row['us']['tandem']:.1f} | {row['best']} | {row['us'][row['best']]:.1f}"
        lines.append(f"| {label(row)} | {times} | {row['speedup_over_best']:.2f} |")
    lines += [f"No ratio: {label(row)}: {row.get('errors') or 'Tandem is missing'}" for row in rows if row not in timed]
    return lines


def main():
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=150, help="of each operator")
    parser.add_argument("--rows", type=int, nargs=2, default=(1, MOST_ROWS), metavar=("LEAST", "MOST"), help="of M")
    parser.add_argument("--summary-only", action="store_true", help="of a file that is there")
    options = parser.parse_args()
    if not 1 <= options.rows[0] <= options.rows[1]:
        parser.error("--rows: 1 <= LEAST <= MOST")
    if unknown := set(options.only or ()) - set(OPS):
        parser.error(f"--only: no operator that multiplies: {', '.join(sorted(unknown))}")
    rows = json.loads(options.out.read_text())["rows"] if options.summary_only else measure(options, all_drawn(options))
    print("\n".join(summary(rows)))


if __name__ == "__main__":
    main()
