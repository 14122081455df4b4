"""Attention over ranks for its tests: which rows each rank has, and the results in float64."""

import numpy as np
from attention_reference import check, exact, tokens

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
        shape = {name: value for name, value in options.items() if name in ("causal", "softcap", "scale")}
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
        return op(*map(team.local_from_array, self.given(team.rank)), self.m, **more)

    def check(self, rank, found):
        rows = self.rows[rank]
        if len(rows):
            check(found[0], self.out[:, rows], 8e-3 if self.dtype == "bf16" else 2e-3)
            check(found[1], self.lse[:, :, rows], 1e-3)
