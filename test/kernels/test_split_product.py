"""A product whose last round of tiles is cut along K: pieces are added up once, by whoever comes last, and the counts are zero again."""

import importlib.util
import pathlib

import numpy as np
import pytest
import tandem

PATH = pathlib.Path(__file__).resolve().parents[2] / "bench/gpu/kernels.py"


@pytest.fixture(scope="module")
def kernels():
    spec = importlib.util.spec_from_file_location("bench_gpu_kernels", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# Rounds and tiles left over; none left over; fewer tiles than programs, ragged in every dimension; more pieces than steps.
@pytest.mark.parametrize("m, n, k, programs, pieces", [(64, 48, 96, 5, 3), (64, 64, 64, 4, 2), (40, 72, 80, 20, 2), (16, 32, 64, 7, 5)])
def test_split_product(kernels, m, n, k, programs, pieces):
    rng = np.random.default_rng(m)
    a, b = (rng.integers(-3, 4, (rows, k)).astype(np.float16) for rows in (m, n))
    whole = a.astype(np.float32) @ b.astype(np.float32).T

    def main(team):
        c = team.zeros((m, n), "float32")
        parts, counts = team.zeros(pieces * programs * 16 * 16, "float32"), team.zeros(programs, "int32")
        for _ in range(2):
            c[...] = -1
            kernels.matmul_split[(programs,)](team.from_array(a), team.from_array(b), c, parts, counts, m, n, k, BM=16, BN=16, BK=16,
                                              GROUP=2, SMS=programs, PIECES=pieces)
            np.testing.assert_array_equal(np.asarray(c), whole)
            np.testing.assert_array_equal(np.asarray(counts), 0)

    for seed in range(3):
        assert tandem.launch(main, ranks=1, seed=seed).reports == []
