"""Prints the operators' model beside the measured rows of AllGather + GEMM and GEMM + ReduceScatter. Needs no GPU.

python bench/gpu/overlap/predict.py RESULT.json [PROFILE.json]
"""

import json
import pathlib
import sys

from tandem.ops import choices


def local_sizes(row):
    return (row["m"], row["local_n"], row["k"]) if row["op"] == "ag_gemm" else (row["m"], row["n"], row["local_k"])


def main(result, profile=None):
    measured = json.loads(pathlib.Path(result).read_text())
    ranks = measured["machine"]["ranks"]
    profile = json.loads(pathlib.Path(profile).read_text()) if profile else None
    print("| operator | M, N, K | tile | predicted | measured | predicted / measured |\n| --- | --- | --- | --- | --- | --- |")
    for row in measured["rows"]:
        if row["op"] in ("ag_gemm", "gemm_rs") and "tandem" in row["us"]:
            best, took = choices(row["op"], *local_sizes(row), ranks, profile=profile)[0], row["us"]["tandem"]
            tile = f"{best['config']['block_m']} x {best['config']['block_n']}"
            print(f"| {row['op']} | {row['m']}, {row['n']}, {row['k']} | {tile} | {best['predicted']:.0f} | {took:.0f} | "
                  f"{best['predicted'] / took:.2f} |")


if __name__ == "__main__":
    main(*sys.argv[1:])
