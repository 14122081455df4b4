"""Times the operators on shapes that are drawn by a seed: `random_shapes.py OUT.json --draws 150`, and says where they are behind.

M is log-uniform from 1 to 32768. N and K are the sizes of a layer of one of models.py's models, dealt to 2, 4 or 8 ranks whatever the
number of GPUs, or with --sizes any multiples of 16, log-uniform as well; the element type is one of --types, all three unless told, and
the memory order of B one of --layouts. Shapes come in an order that the seed shuffles, until
--seconds are over. Rows are in the file as soon as they are measured, and a second call goes on with what is not there yet. --worst FILE
repeats the rows that are behind in another file. Contenders, checks and times are run.py's. The file is one that table.py and predict.py
read. --summary-only needs no GPU.
"""

import itertools
import json
import math
import pathlib
import random

from cases import errors_of, label
from models import MODELS
from run import LAYOUTS, arguments, measure

OPS = ("ag_gemm", "gemm_rs", "gemm_ar")
TYPES = ("bf16", "fp16", "e4m3")
MOST_ROWS = 32768
MOST_RESULTS = 1 << 29  # elements of a product on a rank: several copies in float64 are compared
PARTS = (2, 4, 8)
SIZES = ("models", "any")
ANY_SIZES = (64, 16384)
MOST_BEHIND = 0.97
WORST = 10
CASE = ("op", "m", "n", "k", "local_n", "local_k", "dtype", "weights", "model", "parts")


def log_uniform(source, least, most):
    return round(math.exp(source.uniform(math.log(least), math.log(most))))


def drawn(op, ranks, seed, rows=(1, MOST_ROWS), types=("bf16",), sizes=("models",), layouts=("kn",)):
    """Cases of an operator without an end, M between the two `rows`. More draws of one seed begin with the same cases."""
    source, *others = (random.Random(f"{seed} {op}{what}") for what in ("", " type", " sizes", " layout"))
    of_type, of_sizes, of_layout = others
    while True:
        m = log_uniform(source, *rows)
        model, parts = source.choice(MODELS), source.choice(PARTS)
        name = model.name
        if of_sizes.choice(sizes) == "any":
            name, parts = "any", 1
            local_n, local_k = (log_uniform(source, *ANY_SIZES) // 16 * 16 for _ in range(2))
        elif op == "ag_gemm":
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
        dtype, weights = of_type.choice(types), of_layout.choice(layouts)
        yield {
            "op": op,
            "m": m,
            "n": n,
            "k": k,
            "local_n": local_n,
            "local_k": local_k,
            "dtype": dtype,
            "weights": weights,
            "model": name,
            "parts": parts,
        }


def all_drawn(options):
    """In an order that the seed decides: whenever a run ends, what it has measured is a fair part."""
    ops, layouts = options.only or OPS, options.layouts or [options.weights]
    cases = [
        case
        for op in ops
        for case in itertools.islice(
            drawn(op, options.ranks, options.seed, options.rows, options.types, options.sizes, layouts), options.draws
        )
    ]
    random.Random(options.seed).shuffle(cases)
    return cases


def case_of(row):
    return {name: row[name] for name in CASE if name in row}


def behind(rows):
    """The cases of rows that are behind, the furthest first."""
    found = [row for row in rows if row.get("speedup_over_best", 1) < 1]
    return [case_of(row) for row in sorted(found, key=lambda row: row["speedup_over_best"])]


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def summary(rows):
    """Lines: for each operator and for all, how many are behind and by how much, what tuning gains and how far the model is off; then the
    worst rows."""
    timed = [row for row in rows if "speedup_over_best" in row]
    lines = ["| operator | rows | behind | below 0.97 | least | geometric mean |", "| --- | --- | --- | --- | --- | --- |"]
    ops = [*dict.fromkeys(row["op"] for row in timed), "all"]
    for op in ops:
        found = [row["speedup_over_best"] for row in timed if op in (row["op"], "all")]
        if not found:
            continue
        late, far = (sum(ratio < bar for ratio in found) for bar in (1, MOST_BEHIND))
        share = f"{late} ({late / len(found):.0%})"
        lines.append(f"| {op} | {len(found)} | {share} | {far} | {min(found):.2f} | {geometric_mean(found):.3f} |")
    lines += ["", "| worst | Tandem, µs | best other | its µs | best other / Tandem | way |", "| --- | --- | --- | --- | --- | --- |"]
    for row in sorted(timed, key=lambda row: row["speedup_over_best"])[:WORST]:
        times = f"{row['us']['tandem']:.1f} | {row['best']} | {row['us'][row['best']]:.1f}"
        lines.append(f"| {label(row)} | {times} | {row['speedup_over_best']:.2f} | {way(row)} |")
    if any("chosen" in row for row in timed):
        lines += ["", "| operator | the model's error: median | P90 |", "| --- | --- | --- |"]
        for op in ops:
            told = [(row["chosen"]["predicted"], row["us"]["tandem"]) for row in timed if "chosen" in row and op in (row["op"], "all")]
            if told:
                median, most = errors_of(told)
                lines.append(f"| {op} | {median:.1%} | {most:.1%} |")
    if gains := [row["tuned"]["untuned"] / row["tuned"]["measured"] for row in timed if row.get("tuned")]:
        lines.append(f"Tuning gains {geometric_mean(gains) - 1:.1%} in the mean of {len(gains)} rows, {max(gains) - 1:.1%} at most.")
    lines += [f"No ratio: {label(row)}: {row.get('errors') or 'Tandem is missing'}" for row in rows if row not in timed]
    return lines


def way(row):
    """The way that the model chose, in words."""
    config = row.get("chosen", {}).get("config")
    if not config:
        return "–"
    for name, words in (("library", "library"), ("scattered", "scattered"), ("few_rows", "few rows")):
        if config.get(name, 0) > 0:
            return words + (f" {tile(config)}" if name == "few_rows" else "")
    return tile(config)


def tile(config):
    return f"{config['block_m']}×{config['block_n']}" + (f" in {config['pieces']}" if config.get("pieces", 0) > 1 else "")


def main():
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=150, help="of each operator")
    parser.add_argument("--rows", type=int, nargs=2, default=(1, MOST_ROWS), metavar=("LEAST", "MOST"), help="of M")
    parser.add_argument("--types", nargs="+", choices=TYPES, default=TYPES, help="from which each case draws one")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES[:1], help="where N and K of each case come from, one of these")
    parser.add_argument("--layouts", nargs="+", choices=LAYOUTS, help="memory orders of B, one for each case; else --weights")
    parser.add_argument("--worst", type=pathlib.Path, metavar="FILE", help="measure the rows that are behind in FILE, and no drawn ones")
    parser.add_argument("--summary-only", action="store_true", help="of a file that is there")
    parser.set_defaults(resume=True)
    options = parser.parse_args()
    if not 1 <= options.rows[0] <= options.rows[1]:
        parser.error("--rows: 1 <= LEAST <= MOST")
    if unknown := set(options.only or ()) - set(OPS):
        parser.error(f"--only: no operator that multiplies: {', '.join(sorted(unknown))}")
    kept = json.loads(options.out.read_text())["rows"] if options.out.exists() else []
    if options.summary_only:
        return print("\n".join(summary(kept)))
    wanted = behind(json.loads(options.worst.read_text())["rows"]) if options.worst else all_drawn(options)
    known = [case_of(row) for row in kept]
    print("\n".join(summary(measure(options, [case for case in wanted if case not in known], kept))))


if __name__ == "__main__":
    main()
