"""Projections before and behind an attention whose heads are dealt to ranks, for their tests: what each rank has and finds, in float64."""

import numpy as np

from tandem.kernel.element_types import as_dtype
from tandem.ops import AllToAllOutGemm, QkvGemmAllToAll, heads_of_rank, rows_of_rank

TOLERANCE = {"fp32": 2e-6, "fp16": 1e-3, "bf16": 8e-3}

# Heads of queries, of keys, elements: dealt alike, one rank with more, keys that several ranks have, ranks without queries.
HEADS = [(8, 8, 16), (12, 6, 16), (9, 3, 32), (8, 2, 16), (5, 1, 16), (2, 1, 8), (3, 3, 5)]


def drawn(shape, dtype, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(as_dtype(dtype))


def rows_of(m, ranks, rank):
    first = min(m, rank * -(-m // ranks))
    return slice(first, first + rows_of_rank(m, ranks, rank))


def close(found, want, dtype):
    assert found.shape == want.shape
    found = found.astype(np.float64)
    assert np.linalg.norm(found - want) <= TOLERANCE[dtype] * max(np.linalg.norm(want), 1e-300)


class Before:
    """x[m, h] times the weights of queries, keys and values."""

    def __init__(self, ranks, m, heads=(4, 2, 16), h=48, dtype="fp32", seed=0):
        self.ranks, self.m, self.heads, self.h, self.dtype = ranks, m, heads, h, dtype
        hq, hkv, d = heads
        self.x, self.w = drawn((m, h), dtype, [seed, 0]), drawn(((hq + 2 * hkv) * d, h), dtype, [seed, 1])
        y = (self.x.astype(np.float64) @ self.w.astype(np.float64).T).reshape(m, hq + 2 * hkv, d)
        self.q, self.kv = y[:, :hq], np.stack([y[:, hq : hq + hkv], y[:, hq + hkv :]])

    def operator(self, team, max_m=None, **options):
        return QkvGemmAllToAll(team, max_m or self.m, self.h, *self.heads, self.dtype, **options)

    def given(self, rank):
        return [self.x[rows_of(self.m, self.ranks, rank)], self.w]

    def check(self, rank, found):
        q, kv = found
        own = heads_of_rank(*self.heads[:2], self.ranks, rank)
        close(q, self.q[:, own.queries], self.dtype)
        close(kv, self.kv[:, :, own.keys], self.dtype)


class Behind:
    """All heads of x[m, hq, d] times a weight."""

    def __init__(self, ranks, m, heads=(4, 2, 16), n=40, dtype="fp32", seed=0):
        self.ranks, self.m, self.heads, self.n, self.dtype = ranks, m, heads, n, dtype
        hq, _, d = heads
        self.x, self.w = drawn((m, hq, d), dtype, [seed, 2]), drawn((n, hq * d), dtype, [seed, 3])
        self.out = self.x.reshape(m, hq * d).astype(np.float64) @ self.w.astype(np.float64).T

    def operator(self, team, max_m=None, **options):
        return AllToAllOutGemm(team, max_m or self.m, self.n, *self.heads, self.dtype, **options)

    def given(self, rank):
        return [np.ascontiguousarray(self.x[:, heads_of_rank(*self.heads[:2], self.ranks, rank).queries]), self.w]

    def check(self, rank, found):
        close(found, self.out[rows_of(self.m, self.ranks, rank)], self.dtype)
