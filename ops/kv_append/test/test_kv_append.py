"""KvAppend on simulated ranks, under the checker: norms, turns, pages, types, places that are none, two tokens in one place."""

import pathlib
import re

import numpy as np
import pytest

import tandem
from tandem.kernel.element_types import as_dtype
from tandem.ops import KvAppend

TURNS = 64


class Tokens:
    def __init__(self, m=9, heads=4, kv_heads=2, head_dim=32, seqs=3, page=4, width=5, rope=32, dtype="fp16", fp8=False, seed=0):
        draw, kind = np.random.default_rng(seed), as_dtype(dtype)
        self.dtype, self.fp8, self.rope = dtype, fp8, rope
        self.pages = seqs * width + 1
        self.sizes = (m, heads, kv_heads, head_dim, seqs, self.pages, page, width, TURNS, rope)
        self.m, self.page = m, page
        self.q = draw.standard_normal((m, heads, head_dim)).astype(kind)
        self.k, self.v = (draw.standard_normal((m, kv_heads, head_dim)).astype(kind) for _ in range(2))
        self.table = draw.permutation(self.pages)[: seqs * width].reshape(seqs, width).astype(np.int32)
        places = draw.permutation(seqs * width * page)[:m]
        self.sequence, self.position = (places // (width * page)).astype(np.int32), (places % (width * page)).astype(np.int32)
        angles = np.arange(TURNS)[:, None] / 100 ** (np.arange(0, rope, 2) / rope)
        self.cos_sin = np.concatenate([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
        self.weights = draw.uniform(0.5, 2, (2, head_dim)).astype(np.float32)
        self.scales = draw.uniform(0.5, 2, (2, kv_heads)).astype(np.float32)
        stored = as_dtype("fp8e4nv") if fp8 else kind
        self.cache = draw.standard_normal((2, self.pages, page, kv_heads, head_dim)).astype(stored)

    def turned(self, x, weight, interleaved):
        x = x.astype(np.float64)
        if weight is not None:
            x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weight
        cos, sin = (a[:, None] for a in np.split(self.cos_sin[self.position].astype(np.float64), 2, 1))
        first, second = (
            (slice(0, self.rope, 2), slice(1, self.rope, 2)) if interleaved else (slice(self.rope // 2), slice(self.rope // 2, self.rope))
        )
        out = x.copy()
        out[..., first], out[..., second] = x[..., first] * cos - x[..., second] * sin, x[..., second] * cos + x[..., first] * sin
        return out

    def expected(self, normed=False, interleaved=False):
        """out, keys and values; in fp32, of which fp16 is a rounding."""
        of_q, of_k = self.weights if normed else (None, None)
        by = self.scales if self.fp8 else np.ones_like(self.scales)
        cache = self.cache.astype(np.float64)
        there = np.flatnonzero(self.sequence >= 0)
        page = self.table[self.sequence[there], self.position[there] // self.page]
        for i, rows in enumerate((self.turned(self.k, of_k, interleaved), self.v.astype(np.float64))):
            cache[i, page, self.position[there] % self.page] = (rows / by[i][:, None])[there]
        return self.turned(self.q, of_q, interleaved), cache

    def call(self, team, op, **more):
        cache = [team.local_from_array(a, name=name) for a, name in zip(self.cache, ("keys", "values"))]
        out = op(self.q, self.k, self.v, self.sequence, self.position, self.table, self.cos_sin, *cache, self.m, **more)
        return np.array(out), np.stack([np.array(a) for a in cache])


def run(tokens, seed=0, normed=False, ranks=1, **options):
    def main(team):
        more = {"q_weight": tokens.weights[0], "k_weight": tokens.weights[1]} if normed else {}
        if tokens.fp8:
            more["scales"], options["fp8_cache"] = tokens.scales, True
        return tokens.call(team, KvAppend(team, *tokens.sizes, tokens.dtype, **options), **more)

    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    return result.values


@pytest.mark.parametrize("normed", [False, True])
@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"dtype": "bf16", "head_dim": 64, "rope": 16, "page": 1, "width": 20},
        {"head_dim": 80, "rope": 32},
        {"head_dim": 96, "rope": 96, "kv_heads": 3},
        {"head_dim": 64, "rope": 48, "fp8": True},
        {"fp8": True, "kv_heads": 1},
        {"m": 1, "seqs": 1},
        {"m": 60},
    ],
)
def test_against_float64(shape, normed, interleaved):
    for seed in range(5):
        tokens = Tokens(**shape, seed=seed)
        out, cache = tokens.expected(normed, interleaved)
        found, written = run(tokens, seed, normed, interleaved=interleaved, ranks=1 + seed % 2)[0]
        step = 2.0**-7 if tokens.dtype == "bf16" else 2.0**-10
        np.testing.assert_allclose(found.astype(np.float64), out, rtol=step, atol=1e-4)
        np.testing.assert_allclose(
            written.astype(np.float64), cache, rtol=2.0**-3 if tokens.fp8 else step, atol=2.0**-9 if tokens.fp8 else 1e-4
        )
        untouched = cache == tokens.cache.astype(np.float64)
        assert (written[untouched] == tokens.cache[untouched]).all()


def test_what_has_no_place_is_dropped():
    tokens = Tokens()
    tokens.sequence[:5] = [-1, 3, -2, 0, 1]
    tokens.position[3], tokens.position[4] = 20, -1
    tokens.table[int(tokens.sequence[6]), int(tokens.position[6]) // tokens.page] = tokens.pages
    lost = set(range(5)) | {i for i in range(tokens.m) if tokens.table[tokens.sequence[i] % 3, tokens.position[i] // 4 % 5] == tokens.pages}

    def main(team):
        status = team.local_from_array(np.zeros(2, np.int32))
        op = KvAppend(team, *tokens.sizes, tokens.dtype)
        return *tokens.call(team, op, status=status), np.array(status).tolist()

    result = tandem.launch(main, ranks=1, check=True)
    _, written, status = result.values[0]
    tokens.sequence[sorted(lost)] = -1
    tokens.position[:] = np.maximum(tokens.position, 0)
    _, cache = tokens.expected()
    assert result.reports == [] and status == [7, max(lost) + 1]
    np.testing.assert_allclose(written.astype(np.float64), cache, rtol=2.0**-10, atol=1e-4)


def test_two_tokens_in_one_place():
    tokens = Tokens(m=2, heads=1, kv_heads=1, head_dim=1024, rope=64)
    tokens.sequence[:], tokens.position[:] = 1, 6
    with pytest.raises(tandem.SimulationError) as caught:
        run(tokens)
    assert caught.value.reports[0]["kind"] == "race" and "tl.store(cache_ptr + at" in caught.value.reports[0]["text"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({3: 40}, "`head_dim` is 40, a multiple of 16 from 16 to 1024 is needed"),
        ({6: 3}, "`page` is 3, a power of two from 1 to"),
        ({9: 64}, "`rope` is 64, a multiple of 2 from 2 to 32 is needed"),
    ],
)
def test_wrong_sizes(change, message):
    sizes = [change.get(i, size) for i, size in enumerate(Tokens().sizes)]
    with pytest.raises((ValueError, RuntimeError), match=message):
        tandem.launch(lambda team: KvAppend(team, *sizes, "fp16"), ranks=1)


def test_caches_must_be_the_teams():
    tokens = Tokens()

    def main(team):
        op = KvAppend(team, *tokens.sizes, "fp16")
        op(tokens.q, tokens.k, tokens.v, tokens.sequence, tokens.position, tokens.table, tokens.cos_sin, *tokens.cache, tokens.m)

    with pytest.raises(TypeError, match="`keys` must be a tensor of the team"):
        tandem.launch(main, ranks=1)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
