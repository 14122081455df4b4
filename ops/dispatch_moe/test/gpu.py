"""DispatchMoe and MoeCombine on ranks on GPUs: sizes with and without bands, rows in order or not, ranks with any number of tokens."""

import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "ep_dispatch/test")]

from ep_reference import Layer
from fused_reference import Experts, run
from products import on_gpus

# The most tokens of a rank, columns, inner columns, experts of a rank, top_k.
SIZES = [(5, 64, 32, 3, 2), (64, 1024, 256, 4, 4), (300, 2048, 128, 8, 8)]


def layers(ranks):
    given = []
    for most, columns, inner, each, top_k in SIZES:
        counts = [[most] * ranks, [0, *[most] * (ranks - 1)], [most // 2 + r for r in range(ranks)]]
        some = [Layer(of, most, columns, each * ranks, top_k, "fp32", i) for i, of in enumerate(counts)]
        given.append((some, Experts(some[0], inner), inner))

    def main(team):
        for some, experts, inner in given:
            for ordered in (0, 1):
                run(team, some, experts, inner, ordered=ordered)

    on_gpus(main, ranks)


CHECKS = {f"operators.dispatch_moe.{check.__name__}": check for check in (layers,)}
