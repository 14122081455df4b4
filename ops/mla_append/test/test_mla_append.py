"""MlaAppend on simulated ranks, under the checker; what it shares with KvAppend is tested there. MlaDecode reads what it writes."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import MlaAppend, MlaDecode

M, HEADS, LATENT, TURNED, SEQS, PAGES, PAGE, WIDTH, TURNS = 7, 16, 64, 32, 2, 9, 4, 4, 16
SIZES = (M, HEADS, LATENT, TURNED, SEQS, PAGES, PAGE, WIDTH, TURNS)


def tokens(seed):
    draw = np.random.default_rng(seed)
    q, k_turned, k = (draw.standard_normal(shape).astype(np.float16) for shape in ((M, HEADS, TURNED), (M, TURNED), (M, LATENT)))
    table = draw.permutation(PAGES)[: SEQS * WIDTH].reshape(SEQS, WIDTH).astype(np.int32)
    sequence, position = np.array([0, 0, 0, 0, 0, 1, 1], np.int32), np.array([0, 1, 2, 3, 4, 0, 1], np.int32)
    angles = np.arange(TURNS)[:, None] / 30 ** (np.arange(0, TURNED, 2) / TURNED)
    cos_sin = np.concatenate([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    return q, k_turned, k, sequence, position, table, cos_sin, draw.uniform(0.5, 2, LATENT).astype(np.float32)


def turned(x, position, cos_sin):
    cos, sin = np.split(cos_sin[position].astype(np.float64).reshape(M, *[1] * (x.ndim - 2), -1), 2, -1)
    a, b = np.split(x.astype(np.float64), 2, -1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("fp8", [False, True])
def test_against_float64(normed, fp8):
    scales = np.full((2, 1), 0.5, np.float32)

    def main(team, given):
        *arrays, weight = given
        keys = team.local_from_array(np.zeros((PAGES, PAGE, LATENT + TURNED), as_dtype("fp8e4nv" if fp8 else "fp16")), name="keys")
        op = MlaAppend(team, *SIZES, "fp16", **({"fp8_cache": True} if fp8 else {}))
        more = {**({"weight": weight} if normed else {}), **({"scales": scales} if fp8 else {})}
        return np.array(op(*arrays, keys, M, **more)), np.array(keys)

    for seed in range(5):
        given = tokens(seed)
        q, k_turned, k, sequence, position, table, cos_sin, weight = given
        result = tandem.launch(lambda team, given=given: main(team, given), ranks=1, seed=seed, check=True)
        assert result.reports == []
        out, keys = result.values[0]
        latent = k.astype(np.float64)
        if normed:
            latent = latent / np.sqrt((latent**2).mean(1, keepdims=True) + 1e-6) * weight
        wanted = np.concatenate([latent, turned(k_turned, position, cos_sin)], 1) / (0.5 if fp8 else 1)
        found = keys[table[sequence, position // PAGE], position % PAGE].astype(np.float64)
        np.testing.assert_allclose(out.astype(np.float64), turned(q, position, cos_sin), rtol=2.0**-10, atol=1e-4)
        np.testing.assert_allclose(found, wanted, rtol=2.0**-3 if fp8 else 2.0**-10, atol=2.0**-9 if fp8 else 1e-4)
        assert np.count_nonzero(keys.astype(np.float32).any(-1)) == M


def test_decoding_reads_what_is_appended():
    q_turned, k_turned, k, sequence, position, table, cos_sin, _ = tokens(9)
    q = np.random.default_rng(9).standard_normal((SEQS, 1, HEADS, LATENT)).astype(np.float16)

    def main(team):
        keys = team.local_from_array(np.zeros((PAGES, PAGE, LATENT + TURNED), np.float16), name="keys")
        MlaAppend(team, *SIZES, "fp16")(q_turned, k_turned, k, sequence, position, table, cos_sin, keys, M)
        decode = MlaDecode(team, SEQS, 1, HEADS, LATENT, TURNED, PAGES, PAGE, WIDTH, "fp16")
        none = np.zeros((SEQS, 1, HEADS, TURNED), np.float16)
        return np.array(decode(q, none, keys, table, np.array([5, 2], np.int32), SEQS))

    result = tandem.launch(main, ranks=1, check=True)
    assert result.reports == []
    for seq in range(SEQS):
        own = k[sequence == seq].astype(np.float64)
        weights = np.exp(q[seq, 0].astype(np.float64) @ own.T / np.sqrt(LATENT + TURNED))
        wanted = weights @ own / weights.sum(1, keepdims=True)
        np.testing.assert_allclose(result.values[0][seq, 0].astype(np.float64), wanted, rtol=1e-2, atol=2e-3)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
