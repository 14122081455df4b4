"""How many tiles of a grouped product stay whole: halves only where programs have less to do so."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported

import tandem

FILES = [f"device/{name}.py" for name in ("findings", "gathering", "packed", "routes")] + ["grouped_gemm/places.py"]
KERNEL = """

@tandem.jit
def told(out, blocks, halves, PROGRAMS: tl.constexpr):
    whole, behind, full, inverse = shared_out(blocks, halves, PROGRAMS)
    tl.store(out, whole)
    tl.store(out + 1, behind)
    tl.store(out + 2, full)
"""


def shares(told, blocks, halves, programs):
    def main(team):
        out = team.local_from_array(np.zeros(3, np.int32))
        told[(1,)](out, blocks, halves, PROGRAMS=programs, num_warps=1)
        return np.array(out).tolist()

    return tandem.launch(main, ranks=1).values[0]


def test_shares(tmp_path):
    end = "    return of_column, row, end, tl.minimum(row + tl.arange(0, BLOCK_M), end - 1)\n"
    told = imported(tmp_path, FILES, ["grouped_gemm.places"], ("grouped_gemm/places.py", end, end + KERNEL))[0].told
    assert shares(told, 576, 6, 132) == [1716, 24, 3]  # 13.09 rounds: 13, and one of halves
    assert shares(told, 160, 12, 132) == [924, 72, 6]  # 7.3
    assert shares(told, 144, 12, 132) == [864, 0, 6]  # 6.5: halves of 72 tiles would take two rounds
    assert shares(told, 377, 11, 132) == [1848, 74, 5]  # 5.5 tiles a block
    assert shares(told, 64, 23, 132) == [768, 0, 12]  # halves would take as long
    assert shares(told, 1, 1, 132) == [0, 0, 0]  # and the half behind no full column
    assert shares(told, 0, 7, 132) == [0, 0, 4]
