"""Prints what the operators' model, or the simulator's clock, says of measured rows, and how far both are off. Needs no GPU.

python bench/gpu/overlap/predict.py RESULT.json [--profile PROFILE.json] [--simulate GFLOP] [--ops ag_gemm,gemm_ar]

The model knows the operators that multiply. With --simulate each row of at most so many operations (10^9, of all ranks) runs
on simulated ranks whose time goes by the same profile, carried out as the model chooses; a row of 1000 takes about two minutes.
"""

import argparse
import json
import pathlib

import ml_dtypes
import numpy as np

import tandem
from cases import errors_of
from tandem.ops import AllGatherGemm, AllReduce, GemmAllReduce, GemmReduceScatter, choices, rows_of_rank
from tandem.tune.machine_profile import machine, read_profile


def label(row):
    return f"{row['bytes']} B" if row["op"] == "all_reduce" else f"{row['m']}, {row['n']}, {row['k']}"


def local_sizes(row):
    return (row["m"], row["local_n"], row["k"]) if row["op"] == "ag_gemm" else (row["m"], row["n"], row["local_k"])


def modelled(row, ranks, profile):
    dtype = row.get("dtype", "bf16")
    word, transposed = ("fp8e4nv", True) if dtype == "e4m3" else (dtype, row.get("weights") == "nk")
    return choices(row["op"], *local_sizes(row), ranks, word, profile=profile, b_transposed=transposed)[0]


def call(team, row, config):
    """Makes the row's operator and calls it once, on zeros."""
    if row["op"] == "all_reduce":
        x = team.zeros(row["bytes"] // 2, "bf16")
        return AllReduce(team, row["bytes"] // 2, "bf16", programs=132, num_warps=4)(x, out=x)
    m, n, k = local_sizes(row)
    rows = rows_of_rank(m, team.size, team.rank)
    op = {"ag_gemm": AllGatherGemm, "gemm_rs": GemmReduceScatter, "gemm_ar": GemmAllReduce}[row["op"]](team, m, n, k, "bf16", **config)
    a = team.local_from_array(np.zeros((rows if row["op"] == "ag_gemm" else m, k), ml_dtypes.bfloat16))
    return op(a, team.local_from_array(np.zeros((k, n), ml_dtypes.bfloat16)), m)


def on_the_simulator(row, config):
    """The config of GPUs as simulated ranks take it: their slices are other ones, so copies take as many of them as come closest."""
    if "copies" not in config:
        return config
    steps = -(-local_sizes(row)[2] // config["block_k"])
    slices = -(-steps // -(-steps // min(12, steps)))
    copies = []
    for given in config["copies"]:
        ends = sorted({max(1, round(sum(given[: i + 1]) * slices / sum(given))) for i in range(len(given))})
        copies.append([end - begin for begin, end in zip([0, *ends], ends)])
    return {**config, "copies": copies}


def simulated(row, ranks, profile):
    """Microseconds from the first rank's call to the last one's end."""
    if row["op"] in ("ag_gemm", "gemm_rs"):
        config = on_the_simulator(row, modelled(row, ranks, profile)["config"])
    else:
        m = row.get("m", 0)
        tile = next((t for t in ((16, 64, 128, 4), (32, 64, 128, 4), (64, 64, 128, 4), (128, 64, 64, 4)) if m <= t[0]), (128, 128, 64, 8))
        config = dict(zip(("block_m", "block_n", "block_k", "num_warps"), tile), programs=132)
    result = tandem.launch(call, ranks=ranks, machine=profile, trace=True, slots_per_rank=132, args=(row, config), check=False)
    return result.summary["end_ns"] / 1e3


def report(what, rows):
    """Prints a table of (operator, label, predicted, measured), and its errors by operator."""
    print(f"**{what}**\n\n| operator | M, N, K | predicted | measured | predicted / measured |\n| --- | --- | --- | --- | --- |")
    for op, name, predicted, measured in rows:
        print(f"| {op} | {name} | {predicted:.1f} | {measured:.1f} | {predicted / measured:.2f} |")
    print("\n| operator | rows | median error | P90 |\n| --- | --- | --- | --- |")
    for op in [*dict.fromkeys(row[0] for row in rows), "all"]:
        of_op = [row[2:] for row in rows if op in (row[0], "all")]
        median, most = errors_of(of_op)
        print(f"| {op} | {len(of_op)} | {median:.1%} | {most:.1%} |")
    print()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("result", type=pathlib.Path)
    parser.add_argument("--profile", type=pathlib.Path)
    parser.add_argument("--simulate", type=float)
    parser.add_argument("--ops", default="ag_gemm,gemm_rs,gemm_ar,all_reduce")
    options = parser.parse_args()
    kept = json.loads(options.result.read_text())
    profile, ranks = read_profile(options.profile) if options.profile else machine("h200"), kept["machine"]["ranks"]
    measured = [row for row in kept["rows"] if row["op"] in options.ops.split(",") and "tandem" in row["us"]]
    if of_model := [row for row in measured if row["op"] != "all_reduce"]:
        report(
            "The operators' model",
            [(row["op"], label(row), modelled(row, ranks, profile)["predicted"], row["us"]["tandem"]) for row in of_model],
        )
    if options.simulate:
        small = [row for row in measured if row.get("flop", 0) * ranks <= options.simulate * 1e9]
        report("The simulator's clock", [(row["op"], label(row), simulated(row, ranks, profile), row["us"]["tandem"]) for row in small])


if __name__ == "__main__":
    main()
