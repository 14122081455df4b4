"""MlaDecode on a rank's GPU: latent keys by TMA, or by loads of what is not aligned; several items a program and several programs an item,
calls in a row."""

import pathlib
import sys

import numpy as np
from products import on_gpus

from tandem import Tensor
from tandem.ops import MlaDecode

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "flash_decode/test"))

from decode_reference import Case, error

LATENT = {"kv_heads": 1, "head_dim": 512, "turned": 64, "page": 64, "dtype": "bf16"}
SHAPES = [
    {"m": 5, "heads": 64, "width": 30},
    {"m": 3, "heads": 128, "width": 8, "alike": 500},
    {"m": 160, "heads": 64, "width": 3},
    {"m": 4, "heads": 24, "width": 9, "q_len": 2},
    {"m": 5, "heads": 64, "width": 90, "page": 16},
    {"m": 3, "heads": 24, "width": 50, "page": 32},
    {"m": 4, "heads": 32, "width": 300, "page": 1},
    {"m": 5, "heads": 64, "width": 30, "head_dim": 256, "turned": 128},  # one program a multiprocessor, all at once
]


def placed(team, x, first):
    """The array, so many elements behind an aligned address."""
    flat = team.local_from_array(np.concatenate([np.zeros(first, x.dtype), x.reshape(-1)]))
    return Tensor(team, flat[first:].address, x.shape, x.dtype, owner=flat, symmetric=False)


def calls(ranks, times=3):
    cases = [(Case(seed=i, **{**LATENT, **shape}), None) for i, shape in enumerate(SHAPES)]
    cases += [(cases[0][0], unaligned) for unaligned in range(3)]

    def main(team):
        found = []
        for case, unaligned in cases:
            sizes = (case.m, case.q_len, case.heads, case.head_dim, case.turned, case.pages, case.page, case.width)
            op = MlaDecode(team, *sizes, case.dtype)
            arrays = (case.q, case.q_turned, case.keys[0][:, :, 0], case.tables[0], case.lengths[0])
            given = [placed(team, a, int(nth == unaligned)) for nth, a in enumerate(arrays)]
            outs = [op(*given, case.m) for _ in range(times)]  # nothing is waited for between them
            found.append([np.array(out) for out in outs])
            op.close()
        return found

    values = on_gpus(main, ranks)
    for i, (case, _) in enumerate(cases):
        assert error(values[0][i][0], case.result()) < 1e-2
        assert len({out.tobytes() for found in values for out in found[i]}) == 1


CHECKS = {"operators.mla_decode.calls": calls}
