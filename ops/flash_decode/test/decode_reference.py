"""Decoding in float64: caches in shuffled pages with lengths of every kind, and what comes out of them."""

import dataclasses

import numpy as np

from tandem.kernel.element_types import as_dtype


@dataclasses.dataclass
class Case:
    """Sequences whose keys are dealt to `ranks` in runs that may be empty; every rank has its own pages, table and lengths."""

    ranks: int = 1
    m: int = 3
    q_len: int = 1
    heads: int = 4
    kv_heads: int = 2
    head_dim: int = 64
    page: int = 16
    width: int = 4
    dtype: str = "fp16"
    window: int = 0
    soft_cap: float = 0.0
    sinks: bool = False
    turned: int = 0
    fp8: bool = False
    alike: int | None = None  # every length
    seed: int = 0

    def __post_init__(self):
        self.draw = draw = np.random.default_rng(self.seed)
        kind, room = as_dtype(self.dtype), self.page * self.width
        self.pages = self.m * self.width + 2
        self.q = draw.standard_normal((self.m, self.q_len, self.heads, self.head_dim)).astype(kind)
        self.q_turned = draw.standard_normal((self.m, self.q_len, self.heads, self.turned)).astype(kind)
        self.scale = (self.head_dim + self.turned) ** -0.5
        self.sink = draw.standard_normal(self.heads).astype(np.float32) if self.sinks else None
        self.scales = (draw.integers(1, 5, (2, self.kv_heads)) / 4).astype(np.float32)
        self.lengths = draw.integers(0, room + 1, (self.ranks, self.m)).astype(np.int32)
        self.lengths[:, 0] = room
        if self.m > 2:
            self.lengths[:, 1] = 0
        if self.alike is not None:
            self.lengths[:] = self.alike
        self.totals = self.lengths.sum(0)
        self.ends = (self.totals - np.cumsum(self.lengths, 0) + self.lengths).astype(np.int32)
        self.tables = np.stack([draw.permutation(self.pages)[: self.m * self.width].reshape(self.m, -1) for _ in range(self.ranks)]).astype(
            "i4"
        )
        stored = np.dtype(as_dtype("fp8e4nv")) if self.fp8 else kind
        shape = (self.ranks, self.pages, self.page, self.kv_heads, self.head_dim + self.turned)
        self.keys, self.values = (draw.standard_normal(shape).astype(stored) for _ in range(2))
        if self.turned:
            self.values = self.keys[..., : self.head_dim]

    def of_sequence(self, cache, seq):
        """The sequence's keys or values, of all ranks in order: [total, kv_heads, elements]."""
        parts = []
        for rank in range(self.ranks):
            at = np.arange(self.lengths[rank, seq])
            page = self.tables[rank, seq, at // self.page]
            is_page = (page >= 0) & (page < self.pages)
            found = cache[rank, np.where(is_page, page, 0), at % self.page].astype(np.float64)
            found[~is_page] = np.nan
            parts.append(found)
        return np.concatenate(parts)

    def result(self):
        out = np.zeros(self.q.shape)
        q = np.concatenate([self.q, self.q_turned], -1).astype(np.float64)
        by_k, by_v = self.scales if self.fp8 else np.ones((2, self.kv_heads))
        for seq in range(self.m):
            keys, values = self.of_sequence(self.keys, seq), self.of_sequence(self.values, seq)
            at = np.arange(len(keys))
            for i in range(self.q_len):
                last = len(keys) - self.q_len + i
                seen = (at <= last) & ~np.isnan(keys[:, 0, 0])
                if self.window:
                    seen &= at > last - self.window
                for head in range(self.heads):
                    group = head // (self.heads // self.kv_heads)
                    scores = keys[seen][:, group] @ q[seq, i, head] * self.scale * by_k[group]
                    if self.soft_cap:
                        scores = self.soft_cap * np.tanh(scores / self.soft_cap)
                    sink = [self.sink[head]] if self.sinks else []
                    if len(scores) == 0:
                        continue
                    weights = np.exp(np.append(scores, sink) - max(*scores, *sink, -np.inf))
                    out[seq, i, head] = weights[: len(scores)] @ values[seen][:, group] / weights.sum() * by_v[group]
        return out

    def options(self):
        names = {"window": self.window, "soft_cap": self.soft_cap, "fp8_cache": self.fp8, "over_ranks": self.ranks > 1}
        return {name: value for name, value in names.items() if value}

    def more(self, rank):
        more = {"sinks": self.sink} if self.sinks else {}
        if self.fp8:
            more["scales"] = self.scales
        if self.ranks > 1:
            more["ends"] = self.ends[rank]
        return more


def error(found, wanted):
    assert np.isfinite(np.asarray(found, np.float64)).all()
    return np.linalg.norm(found - wanted) / max(np.linalg.norm(wanted), 1e-30)
