"""Attention and its gradients on a GPU of each rank: the cases of the simulated test, and larger ones."""

import pathlib
import sys

from products import on_gpus

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from attention_reference import run
from test_attention import CASES

LARGE = [
    ((384, 384), (384, 384), 4, 2, 128, {"causal": True, "dtype": "bf16"}),
    ((1, 200, 333), (100, 500, 333), 2, 1, 64, {"causal": True, "window": 150, "sinks": True}),
    ((300,), (450,), 2, 1, 192, {"softcap": 2.0, "dv": 128}),
    ((300,) * 3, (450,) * 3, 4, 2, 72, {"dtype": "bf16"}),
    ((300, 450), (300, 450), 4, 2, 40, {"causal": True}),
    ((450,), (450,), 2, 1, 160, {"causal": True}),
    ((450,), (450,), 2, 2, 192, {"causal": True, "dtype": "bf16"}),
    ((256,), (256,), 2, 1, 256, {"causal": True}),
    ((512,), (512,), 2, 1, 128, {"causal": True, "dtype": "fp8e4nv"}),
    ((512,) * 2, (450,) * 2, 8, 4, 64, {"sinks": True}),
    ((512,) * 2, (512,) * 2, 4, 2, 128, {"causal": True, "window": 200, "dtype": "bf16"}),
    # More blocks than multiprocessors, which programs share.
    ((384,) * 12, (384,) * 12, 8, 4, 128, {"causal": True, "dtype": "bf16"}),
    ((300,) * 16, (450,) * 16, 8, 8, 128, {"sinks": True}),
    ((300,) * 16, (300,) * 16, 8, 8, 128, {"causal": True, "window": 100}),
    ((384,) * 8, (384,) * 8, 8, 4, 192, {"causal": True, "dv": 128}),
    ((300,) * 16, (300,) * 16, 8, 8, 112, {"causal": True, "dtype": "bf16"}),
    ((512,) * 10, (512,) * 10, 8, 8, 128, {"causal": True, "dtype": "fp8e4nv"}),
    # Fewer blocks than multiprocessors, or a thin last turn: runs of keys.
    ((2176,), (2176,), 4, 4, 64, {}),
    ((3001,), (3001,), 1, 1, 80, {"causal": True, "sinks": True, "dtype": "bf16"}),
    ((1500,), (2900,), 2, 1, 128, {"causal": True, "dtype": "bf16"}),
    ((1100,), (1100,), 16, 8, 160, {"softcap": 3.0}),
    ((4000,), (4000,), 1, 1, 128, {"causal": True, "dtype": "fp8e4nv"}),
]


def cases(ranks):
    def main(team):
        for i, (queries, keys, hq, hkv, d, options) in enumerate([*CASES, *LARGE]):
            run(team, queries, keys, hq, hkv, d, backward=options.get("dtype") != "fp8e4nv", seed=i, **options)

    on_gpus(main, ranks)


CHECKS = {"operators.attention.cases": cases}
