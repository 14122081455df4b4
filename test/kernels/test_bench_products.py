"""Products that are divided otherwise than into equal tiles of a power of two: widths put together, few rows as columns, K in halves."""

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


def check(m, n, k, call):
    """`call(team, a, b, c)`, twice, gives a b^T."""
    rng = np.random.default_rng(m + n)
    a, b = (rng.integers(-3, 4, (rows, k)).astype(np.float16) for rows in (m, n))
    whole = a.astype(np.float32) @ b.astype(np.float32).T

    def main(team):
        c = team.zeros((m, n), "float32")
        launch = call(team, team.from_array(a), team.from_array(b), c)
        for _ in range(2):
            c[...] = -1
            launch()
            np.testing.assert_array_equal(np.asarray(c), whole)

    for seed in range(3):
        assert tandem.launch(main, ranks=1, seed=seed).reports == []


# Whole tiles, and ragged ones that end in each of their parts.
@pytest.mark.parametrize("m, n, k, widths", [(64, 96, 96, (32, 16, 0)), (40, 168, 80, (32, 16, 16)), (32, 40, 64, (16, 32, 0))])
def test_widths_put_together(kernels, m, n, k, widths):
    def call(team, a, b, c):
        sizes = dict(zip(("BN", "BN1", "BN2"), widths), BM=16, BK=16, GROUP=2, SMS=5)
        return lambda: kernels.matmul_columns[(5,)](a, b, c, m, n, k, **sizes)

    check(m, n, k, call)


@pytest.mark.parametrize("m, n, k", [(16, 64, 64), (5, 72, 80)])
def test_few_rows(kernels, m, n, k):
    check(m, n, k, lambda team, a, b, c: lambda: kernels.matmul_few[(3,)](a, b, c, m, n, k, BM=16, BN=16, BK=32, SMS=3))


# An odd number of steps; ragged in every dimension.
@pytest.mark.parametrize("m, n, k", [(32, 64, 80), (40, 72, 72)])
def test_halves_of_k(kernels, m, n, k):
    programs = 2 * -(-m // 16) * -(-n // 32)

    def call(team, a, b, c):
        parts, flags = team.zeros(programs * 16 * 16, "float32"), team.zeros(programs, "int32")

        def launch():
            kernels.matmul_halves[(programs,)](a, b, c, parts, flags, m, n, k, BM=16, BN=16, BK=16)
            np.testing.assert_array_equal(np.asarray(flags), 0)

        return launch

    check(m, n, k, call)
