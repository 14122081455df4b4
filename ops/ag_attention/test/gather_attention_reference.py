"""Attention over ranks for its tests: which rows each rank has, and the results in float64."""

import numpy as np
from attention_reference import begins, check, exact, tokens

from tandem.ops import AllGatherAttention, rows_of_rank


def rows_of_ranks(m, ranks, in_order=False):
    """The rows of a sequence that each rank has: first halves in the order of ranks, second halves from the last to the first."""
    counts = [rows_of_rank(m, ranks, r) for r in range(ranks)]
    low = counts if in_order else [-(-c // 2) for c in counts]
    parts = [[] for _ in counts]
    at = 0
    for r in [*range(ranks), *reversed(range(ranks))]:
        count = counts[r] - low[r] if len(parts[r]) else low[r]
        parts[r].append(np.arange(at, at + count))
        at += count
    return [np.concatenate(p) for p in parts]


class Case:
    """Sequences of m rows, dealt to ranks, and what each rank finds."""

    def __init__(self, ranks, m, batch=1, hq=2, hkv=1, d=64, dtype="fp16", sinks=False, seed=0, **options):
        self.ranks, self.m, self.batch, self.heads, self.d, self.dtype = ranks, m, batch, (hq, hkv), d, dtype
        self.dv, self.options = 128 if d == 192 else d, options
        shapes = ((hq, d), (hkv, d), (hkv, self.dv))
        self.q, self.k, self.v = (tokens((batch, m, *s), dtype, [seed, m, i]) for i, s in enumerate(shapes))
        self.sinks = np.random.default_rng([seed, 5]).standard_normal(hq).astype(np.float32) if sinks else None
        shape = {name: value for name, value in options.items() if name in ("causal", "softcap", "scale", "window")}
        one = [
            exact(*(x[b] for x in (self.q, self.k, self.v)), np.zeros((m, hq, self.dv)), [m], [m], self.sinks, **shape)
            for b in range(batch)
        ]
        self.out, self.lse = np.stack([o[0] for o in one]), np.stack([o[1] for o in one])
        self.rows = rows_of_ranks(m, ranks, options.get("in_order", False))

    def operator(self, team, max_m=None, **more):
        sizes = (max_m or self.m, self.batch, *self.heads, self.d, self.dv)
        return AllGatherAttention(team, *sizes, self.dtype, with_lse=True, **self.options, **more)

    def given(self, rank):
        rows = self.rows[rank]
        return [np.ascontiguousarray(x[:, rows]) for x in (self.q, self.k, self.v)]

    def call(self, op, team):
        more = {} if self.sinks is None else {"sinks": self.sinks}
        return op(*map(team.local_from_array, self.given(team.rank)), self.m, 1, self.m, **more)

    def check(self, rank, found):
        rows = self.rows[rank]
        if len(rows):
            check(found[0], self.out[:, rows], 8e-3 if self.dtype == "bf16" else 2e-3)
            check(found[1], self.lse[:, :, rows], 1e-3)


class Packed(Case):
    """Sequences of any lengths behind one another; every rank has room for `more` rows than it needs."""

    def __init__(self, ranks, lengths, hq=2, hkv=1, d=64, dtype="fp16", more=0, seed=0, **options):
        self.ranks, self.batch, self.heads, self.d, self.dv, self.dtype = ranks, 1, (hq, hkv), d, d, dtype
        self.lengths, self.options, self.sinks = lengths, options, None
        total, in_order = sum(lengths), options.get("in_order", False)
        self.q, self.k, self.v = (tokens((1, total, heads, d), dtype, [seed, total, i]) for i, heads in enumerate((hq, hkv, hkv)))
        told = {"causal": options.get("causal", False), "window": options.get("window", 0)}
        found = exact(self.q[0], self.k[0], self.v[0], np.zeros((total, hq, d)), lengths, lengths, None, **told)
        self.out, self.lse, self.cu = found[0][None], found[1][None], begins(lengths)
        dealt = [rows_of_ranks(n, ranks, in_order) for n in lengths]
        self.rows = [np.concatenate([first + rows[r] for first, rows in zip(self.cu, dealt)]) for r in range(ranks)]
        self.room = max(map(len, self.rows)) + more
        self.m = ranks * self.room

    def given(self, rank):
        return [np.concatenate([x, np.zeros((1, self.room - x.shape[1], *x.shape[2:]), x.dtype)], 1) for x in super().given(rank)]

    def call(self, op, team):
        sizes = (self.m, len(self.lengths), max(self.lengths))
        out, lse = op(*map(team.local_from_array, self.given(team.rank)), *sizes, cu=team.local_from_array(self.cu))
        count = len(self.rows[team.rank])
        return out[:, :count], lse[:, :, :count]
