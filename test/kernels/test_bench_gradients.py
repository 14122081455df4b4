"""The gradients of attention with sums over blocks of keys in memory: the same bits whoever runs when, and however many programs do."""

import importlib.util
import pathlib

import numpy as np
import pytest
import tandem

PATH = pathlib.Path(__file__).resolve().parents[2] / "bench/gpu/gradients.py"
LOG2E = 1.4426950408889634


@pytest.fixture(scope="module")
def kernels():
    spec = importlib.util.spec_from_file_location("bench_gpu_gradients", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exact(q, k, v, grad, causal):
    """One head of one sequence, in float64: the logarithms of the sums, delta, and the gradients of q, k and v."""
    q, k, v, grad = (x.astype(np.float64) for x in (q, k, v, grad))
    x = q @ k.T * q.shape[1] ** -0.5
    x = np.where(np.tril(np.ones_like(x)) > 0, x, -np.inf) if causal else x
    lse = np.logaddexp.reduce(x, axis=1)
    p = np.exp(x - lse[:, None])
    delta = (p @ v * grad).sum(1)
    of_x = p * (grad @ v.T - delta[:, None]) * q.shape[1] ** -0.5
    return lse, delta, of_x @ k, of_x.T @ q, p.T @ grad


def run(kernels, causal, length, sequences, hq, hkv, d, lanes, seed, slots):
    """The gradients of q, k and v, and the same in float64."""
    draw = np.random.default_rng(length)
    rows, M, N = sequences * length, 16, 32
    q, grad = (draw.standard_normal((rows, hq, d)).astype(np.float16) for _ in range(2))
    k, v = (draw.standard_normal((rows, hkv, d)).astype(np.float16) for _ in range(2))
    lse, delta = np.zeros((hq, rows), np.float32), np.zeros((hq, rows), np.float32)
    wanted = [np.zeros(x.shape) for x in (q, k, v)]
    for at in range(0, rows, length):
        of = slice(at, at + length)
        for head in range(hq):
            kv = head // (hq // hkv)
            lse[head, of], delta[head, of], of_q, of_k, of_v = exact(q[of, head], k[of, kv], v[of, kv], grad[of, head], causal)
            wanted[0][of, head] = of_q
            wanted[1][of, kv] += of_k
            wanted[2][of, kv] += of_v

    def main(team):
        sums, turns = np.full(q.shape, np.nan, np.float32), np.zeros(hq * rows, np.int32)
        of_q, of_k, of_v = (np.full(x.shape, np.nan, np.float16) for x in (q, k, v))
        sizes = {"HQ": hq, "HKV": hkv, "D": d, "BLOCK_M": M, "BLOCK_N": N, "LANES": lanes}
        for _ in range(2):
            kernels.gradients[(-(-length // N) * hkv * sequences,)](
                q, k, v, grad, lse, delta, sums, turns, of_k, of_v, d**-0.5 * LOG2E, length, sequences,
                CAUSAL=causal, WHOLE=length % N == 0, ORDERED=True, **sizes,
            )  # fmt: skip
        kernels.narrow[(-(-q.size // 1024),)](sums, of_q, d**-0.5, q.size, BLOCK=1024)
        assert not turns.any()
        return of_q, of_k, of_v

    result = tandem.launch(main, ranks=1, seed=seed, slots_per_rank=slots, check=True)
    assert result.reports == []
    return result.values[0], wanted


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("length, sequences, hq, hkv, d, lanes", [(128, 2, 4, 2, 16, 3), (83, 2, 2, 2, 32, 1), (112, 1, 3, 1, 16, 8)])
def test_one_order(kernels, causal, length, sequences, hq, hkv, d, lanes):
    runs = [run(kernels, causal, length, sequences, hq, hkv, d, lanes, seed, slots) for seed, slots in ((1, 132), (2, 3), (3, 1))]
    for found, wanted in zip(*runs[0], strict=True):
        assert np.linalg.norm(found.astype(np.float64) - wanted) < 1e-3 * np.linalg.norm(wanted)
    for other, _ in runs[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(runs[0][0], other, strict=True))
