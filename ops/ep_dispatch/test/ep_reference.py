"""What dispatch and combine give, in NumPy: tokens of all ranks, with experts that multiply by numbers of their own."""

import numpy as np

from tandem.kernel.element_types import as_dtype
from tandem.ops import route_parts


def drawn_placement(draw, places, placed, copies):
    """Some places stay empty where there are more of them, so ranks have unequal numbers of experts."""
    drawn = draw.permutation(places).astype(np.int32)
    table, spare = np.repeat(drawn[:placed, None], copies, 1), list(drawn[placed:])
    for expert, copy in np.ndindex(table.shape):
        if copy and spare and draw.random() < 0.5:
            table[expert, copy] = spare.pop()
    return table


class Layer:
    """Tokens of all ranks, `counts` of them on each, of at most `most`. Small integers: sums are exact whatever their order."""

    def __init__(self, counts, most, columns, experts, top_k, dtype="bf16", seed=0, dropped=0.2, owner=None, placed=None, copies=2):
        """`placed`: so many experts have `experts` places, as drawn, each of them up to `copies`."""
        draw = np.random.default_rng(seed)
        self.counts, self.most, self.columns, self.experts, self.top_k = counts, most, columns, experts, top_k
        self.ranks, self.local, self.dtype = len(counts), -(-experts // len(counts)), as_dtype(dtype)
        self.x = [draw.integers(-3, 4, (m, columns)).astype(self.dtype) for m in counts]
        self.placement = None if placed is None else drawn_placement(draw, experts, placed, copies)
        self.named = experts if placed is None else placed  # experts that ids name
        from_experts = np.arange(self.named) if owner is None else np.arange(owner * self.local, min((owner + 1) * self.local, experts))
        self.ids = [np.array([draw.permutation(from_experts)[:top_k] for _ in range(m)], np.int32).reshape(m, top_k) for m in counts]
        for ids in self.ids:
            ids[draw.random(ids.shape) < dropped] = -1
        self.weights = [draw.choice([0.5, 1.0, 2.0], (m, top_k)).astype(np.float32) for m in counts]

    def factor(self, expert):
        return 1 + expert % 3

    def places(self, rank):
        """The place of each slot's expert, -1 where there is none."""
        ids = self.ids[rank]
        is_expert = (ids >= 0) & (ids < self.named)
        if self.placement is None:
            return np.where(is_expert, ids, -1)
        table = self.table(rank)
        turn = (rank + np.arange(len(ids)))[:, None] % table.shape[1]
        return np.where(is_expert, table[np.where(is_expert, ids, 0), turn], -1)

    def table(self, rank):
        """A rank may have one of its own."""
        return self.placement if self.placement.ndim == 2 else self.placement[rank]

    def expert_at(self, place):
        return place if self.placement is None else int(np.argwhere(self.placement == place)[0][-2])

    def options(self):
        """Of the operators."""
        return {} if self.placement is None else dict(zip(("placed_experts", "copies"), self.placement.shape[-2:]))

    def here(self, rank):
        """[ranks * most, top_k]: the experts of a rank, counted from 0, for each slot of the tokens that come to it; -1 for others."""
        out = np.full((self.ranks, self.most, self.top_k), -1, np.int32)
        for source in range(self.ranks):
            places = self.places(source)
            out[source, : len(places)] = np.where((places >= 0) & (places // self.local == rank), places - rank * self.local, -1)
        return out.reshape(-1, self.top_k)

    def check_dispatch(self, rank, rows, route):
        here, tokens = self.here(rank), self.ranks * self.most
        parts = route_parts(route, tokens, self.local, self.top_k)
        flat = here.reshape(-1)
        order = np.argsort(np.where(flat < 0, self.local, flat), kind="stable")[: (flat >= 0).sum()]
        for expert in range(self.local):
            found = parts.order[parts.offsets[expert] : parts.offsets[expert + 1]]
            assert sorted(found) == sorted(s for s in order if flat[s] == expert), f"rank {rank}: slots of its expert {expert}"
        for row in np.flatnonzero((here >= 0).any(1)):
            source, token = divmod(int(row), self.most)
            assert np.array(rows[int(row)]).tobytes() == self.x[source][token].tobytes(), f"rank {rank}: row {row}"
            used = here[row] >= 0
            weights = parts.weights.reshape(tokens, -1)[row]
            assert np.array_equal(weights[used], self.weights[source][token][used]), f"rank {rank}: weights of row {row}"
        return parts

    def factor_at(self, rank, expert):
        """Of a rank's expert, counted from 0."""
        return self.dtype.type(self.factor(self.expert_at(expert + rank * self.local)))

    def results(self, rank, rows, parts):
        """What the rank's experts make of the rows, in the route's order; NaN where there is none, which nobody may read."""
        h = np.full((self.ranks * self.most * self.top_k, self.columns), np.nan, self.dtype)
        flat = self.here(rank).reshape(-1)
        for i, slot in enumerate(parts.order):
            h[i] = np.array(rows[int(slot) // self.top_k]) * self.factor_at(rank, flat[slot])
        return h

    def sums(self, rank, rows, parts):
        """Of the results of each token's slots here, weighed, where its row stands; NaN where none came."""
        h = np.full((self.ranks * self.most, self.columns), np.nan, np.float32)
        for row, experts in enumerate(self.here(rank)):
            slots = np.flatnonzero(experts >= 0)
            if len(slots):
                by = parts.weights.reshape(len(h), -1)[row, slots] * [self.factor_at(rank, experts[slot]) for slot in slots]
                h[row] = np.array(rows[row]).astype(np.float32) * by.astype(np.float32).sum()
        return h.astype(self.dtype)

    def by_expert(self, rank, rows, route, spans, align):
        """Checks rows that come by expert, and gives what the rank's experts make of them, at the same places."""
        flat, tokens = self.here(rank).reshape(-1), self.ranks * self.most
        parts, (firsts, ends) = route_parts(route, tokens, self.local, self.top_k), np.array(spans)
        assert (ends - firsts).tolist() == np.bincount(flat[flat >= 0], minlength=self.local).tolist(), f"rank {rank}: rows of experts"
        assert (firsts % max(align, 1) == 0).all() and (firsts[1:] >= ends[:-1]).all() and (firsts[1:] < ends[:-1] + max(align, 1)).all()
        h = np.full((tokens * self.top_k + align * self.local, self.columns), np.nan, self.dtype)
        assert np.array_equal(parts.place >= 0, flat >= 0)
        for slot in np.flatnonzero(flat >= 0):
            place, (source, token) = int(parts.place[slot]), divmod(int(slot) // self.top_k, self.most)
            assert firsts[flat[slot]] <= place < ends[flat[slot]], f"rank {rank}: slot {slot} at {place}"
            row = np.array(rows[place])
            assert row.tobytes() == self.x[source][token].tobytes(), f"rank {rank}: slot {slot}"
            h[place] = row * self.factor_at(rank, flat[slot])
        assert np.isfinite(h.astype(np.float32)).all(1).sum() == (flat >= 0).sum(), f"rank {rank}: two slots at one place"
        return h

    def wanted(self, rank):
        ids = self.ids[rank]
        share = np.where((ids >= 0) & (ids < self.named), self.weights[rank] * self.factor(ids), 0).sum(1)
        return self.x[rank].astype(np.float64) * share[:, None]

    def check_combine(self, rank, out):
        np.testing.assert_array_equal(out.astype(np.float64), self.wanted(rank).astype(self.dtype).astype(np.float64), f"rank {rank}")


def run(team, layer, dispatch, combine, align=None, summed=False):
    """One layer on this rank, checked: dispatch, the experts in NumPy, combine. `align`: of operators by expert."""
    rank = team.rank
    m = layer.counts[rank]
    moved = team.local_from_array
    x, ids, weights = moved(layer.x[rank]), moved(layer.ids[rank]), moved(layer.weights[rank])
    more = {} if layer.placement is None else {"placement": moved(layer.table(rank))}
    rows, route, *spans = dispatch(x, ids, weights, m, **more)
    if align is None:
        h = (layer.sums if summed else layer.results)(rank, rows, layer.check_dispatch(rank, rows, route))
    else:
        h = layer.by_expert(rank, rows, route, *spans, align)
    out = combine(moved(h), route, ids, m, **more)
    if m:
        layer.check_combine(rank, np.array(out))
