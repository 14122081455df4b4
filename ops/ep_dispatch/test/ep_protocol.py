"""An expert-parallel layer as a host queues it, with kernels whose text may be changed: so that errors can be planted."""

import importlib
import pathlib
import sys

import numpy as np

from tandem.ops import RouteIds, route_parts, route_words

OPS = pathlib.Path(__file__).parents[2]
FILES = [
    "device/brought.py",
    "device/calls.py",
    "device/exchange.py",
    "device/findings.py",
    "device/marks.py",
    "device/packets.py",
    "device/places.py",
    "device/routes.py",
    "device/scales.py",
    "device/signals.py",
    "ep_dispatch/about.py",
    "ep_dispatch/ep_dispatch.py",
    "ep_combine/brought.py",
    "ep_combine/ep_combine.py",
    "route/route.py",
    "route/blocks.py",
    "route/score.py",
]
ELEMENTS, LANES, PIECES = 4, 32, 2  # fp32
NO_ROUTE = dict.fromkeys(("E", "PADDED", "BITS", "ROWS_AT_ONCE", "BLOCK", "GROUP"), 1)


def kernels(folder, *changes):
    """The kernels, imported from `folder`. Each change: a file, its text, the text in its place."""
    texts = {name: (OPS / name).read_text() for name in FILES}
    for name, old, new in changes:
        assert texts[name].count(old) == 1, f"{name} has this {texts[name].count(old)} times: {old}"
        texts[name] = texts[name].replace(old, new)
    for name, text in texts.items():
        path = folder / "ops" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "ops" or name.startswith("ops.")}
    sys.path.insert(0, str(folder))
    try:
        functions = {"ep_dispatch": "dispatch", "ep_combine": "combine"}
        return {name: getattr(importlib.import_module(f"ops.{name}.{name}"), function) for name, function in functions.items()}
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name == "ops" or name.startswith("ops.")]:
            del sys.modules[name]
        sys.modules.update(kept)


class Case:
    """Tokens of all ranks, `counts` of them on each, with experts that multiply by e + 1."""

    def __init__(self, counts, most, columns, experts, top_k, seed=0, dropped=0.2, placement=None):
        """`placement`: a table [placed, copies] of `experts` places."""
        draw = np.random.default_rng(seed)
        self.counts, self.most, self.columns, self.experts, self.top_k = counts, most, columns, experts, top_k
        self.local, self.placement = -(-experts // len(counts)), placement
        self.named, self.expert_at = experts, np.arange(experts)  # the experts that ids name, and those of places
        if placement is not None:
            self.named = len(placement)
            self.expert_at[placement] = np.arange(self.named)[:, None]
        self.x = [draw.integers(-3, 4, (m, columns)).astype(np.float32) for m in counts]
        self.ids = [
            np.stack([draw.permutation(self.named)[:top_k] for _ in range(m)] or [np.zeros(top_k)])[:m].astype(np.int32) for m in counts
        ]
        for ids in self.ids:
            ids[draw.random(ids.shape) < dropped] = -1
        self.weights = [draw.choice([0.5, 1.0, 2.0], (m, top_k)).astype(np.float32) for m in counts]

    def places(self, rank):
        """The place of each slot's expert, -1 where there is none."""
        ids = self.ids[rank]
        is_expert = (ids >= 0) & (ids < self.named)
        if self.placement is None:
            return np.where(is_expert, ids, -1)
        turn = (rank + np.arange(len(ids)))[:, None] % self.placement.shape[1]
        return np.where(is_expert, self.placement[np.where(is_expert, ids, 0), turn], -1)

    def here(self, rank):
        """ids [ranks * most, top_k] of the tokens that come to a rank."""
        out = np.full((len(self.counts), self.most, self.top_k), -1, np.int32)
        for source in range(len(self.counts)):
            places = self.places(source)
            out[source, : len(places)] = np.where((places >= 0) & (places // self.local == rank), places - rank * self.local, -1)
        return out.reshape(-1, self.top_k)

    def result(self, rank):
        ids = self.ids[rank]
        share = np.where((ids >= 0) & (ids < self.named), self.weights[rank] * (ids + 1), 0).sum(1)
        return self.x[rank] * share[:, None]


class Layer:
    def __init__(
        self,
        team,
        case,
        kernels,
        two_calls=False,
        programs=2,
        warps=2,
        polls=2,
        beside=False,
        tellers=1,
        made=0,
        places=0,
        direct=False,
        copied=False,
        ring=0,
        owners=0,
    ):
        """`made`: so many calls were made before. `places`: rows come by expert, each one's at a multiple of it.
        `direct`: dispatched rows go to where they belong. `copied`: others bring them. `ring`: rows that combine has room for.
        `owners`: programs that store own rows while the others send."""
        self.team, self.case, self.kernels, self.two_calls = team, case, kernels, two_calls
        self.programs, self.warps, self.polls, self.beside, self.tellers = programs, warps, polls, beside, tellers
        rows = team.size * case.most
        self.shares = -(-case.columns // (ELEMENTS * LANES * PIECES))
        zeros = lambda shape, dtype: team.local_from_array(np.zeros(shape, dtype))
        self.abouts = [team.zeros((2, team.size, 1 + n, 2), "int64", name=f"about {i}") for i, n in enumerate((case.most * case.top_k, 0))]
        shape = (1 if beside else 2, team.size, case.most * self.shares * PIECES * LANES, 2)
        self.slots = [team.zeros(shape, "int64", name=f"rows {i}") for i in range(2)]
        for slots in self.slots:
            slots[...] = -1
        team.barrier()  # nobody sends before
        self.epochs = [team.local_from_array(np.full(self.programs + tellers, made, np.int64)) for _ in range(2)]
        self.ring, self.owners = ring, owners
        self.copied, self.places, slots = copied, places, rows * case.top_k
        of_rows = slots + places * case.local if places else rows
        self.direct, empty = direct, team.empty if direct else team.local_empty
        self.rows = empty((of_rows, case.columns), "float32", name="rows")
        self.route = zeros(route_words(rows, case.local, case.top_k), "int32")
        self.spans, self.routed = zeros((2, case.local), "int32"), team.zeros((1,), "int64", name="routed")
        self.signals = [
            team.zeros(shape, "int64", name=name) for name, shape in (("begun", (team.size,)), ("arrived", (programs, team.size)))
        ]
        self.here, self.by = (
            team.local_empty((rows, case.top_k), "int32", name="here"),
            team.local_empty((rows, case.top_k), "float32", name="by"),
        )
        self.findings, self.told = zeros(8, "int32"), zeros(2, "int64")
        self.counts = zeros(self.tellers * case.local, "int32")
        self.dealt = RouteIds(team, rows, case.local, case.top_k, "i32")

    def launch(self, kernel, tensors, which, m, programs=None, **constants):
        case = self.case
        sizes = (m, case.most, case.columns, case.experts, case.named, case.local, self.shares)
        constants |= {
            "TOP_K": case.top_k,
            "COPIES": 0 if case.placement is None else case.placement.shape[1],
            "RANKS": self.team.size,
            "ELEMENTS": ELEMENTS,
            "PIECES": PIECES,
            "ALIGNED": case.columns % ELEMENTS == 0,
            "POLLS": self.polls,
            "BESIDE": self.beside,
        }
        given = (*tensors, self.abouts[which], self.slots[which], self.epochs[which], *sizes)
        for part in [(True, False), (False, True)] if self.two_calls else [(True, True)]:
            kernel[(programs or self.programs,)](*given, **constants, SEND=part[0], RECEIVE=part[1], num_warps=self.warps)

    def placement(self, otherwise):
        table = self.case.placement
        return otherwise if table is None else self.team.local_from_array(table)

    def dispatch(self, x, ids, weights, m):
        tensors = (
            x,
            weights,
            ids,
            self.placement(ids),
            weights,
            self.rows,
            self.by,
            self.here,
            self.by,
            self.route,
            self.spans,
            self.routed,
            self.findings,
            self.told,
            self.counts,
            *self.signals,
        )
        self.launch(
            self.kernels["ep_dispatch"],
            tensors,
            0,
            m,
            programs=self.programs + (0 if self.beside or self.direct else self.tellers),
            TELLERS=self.tellers,
            ROUTES=bool(self.places),
            PLACES=self.places,
            DIRECT=self.direct,
            COPIED=self.copied,
            OWNERS=self.owners,
            QUANTISED=False,
            **self.route_constants(),
        )

    def route_constants(self):
        if not self.places:
            return NO_ROUTE
        experts = self.case.local
        sizes = {"E": experts, "PADDED": max(8, 1 << (experts - 1).bit_length()), "BITS": (experts - 1).bit_length()}
        return {**sizes, "ROWS_AT_ONCE": 4, "BLOCK": 16, "GROUP": 8}

    def combine(self, h, route, ids, out, m):
        self.launch(self.kernels["ep_combine"], (h, route, ids, self.placement(ids), out, self.findings), 1, m, RING=self.ring)

    def route_here(self, case):
        """The route of what comes to this rank, and its experts' results, from NumPy alone."""
        team, rows, here = self.team, self.team.size * case.most, case.here(self.team.rank)
        by, x = np.zeros((team.size, case.most, case.top_k), np.float32), np.zeros((team.size, case.most, case.columns), np.float32)
        for source, weights in enumerate(case.weights):
            by[source, : len(weights)], x[source, : len(weights)] = weights, case.x[source]
        route = self.dealt(here, by.reshape(rows, -1), rows)
        order, h = route_parts(route, rows, case.local, case.top_k).order, np.zeros((rows * case.top_k, case.columns), np.float32)
        h[: len(order)] = (
            x.reshape(rows, -1)[order // case.top_k] * (case.expert_at[here.reshape(-1)[order] + team.rank * case.local] + 1)[:, None]
        )
        return team.local_from_array(route), team.local_from_array(h)


def calls(team, cases, kernels, two_calls=False, half="both", **options):
    """A call for each case, of one half or of both, with nothing awaited between: gives here, rows and out of each."""
    layer, kept, moved = Layer(team, cases[0], kernels, two_calls, **options), [], team.local_from_array
    given = [[moved(a[team.rank]) for a in (case.x, case.ids, case.weights)] for case in cases]
    made = [layer.route_here(case) if half != "dispatch" else None for case in cases]
    team.barrier()
    for case, (x, ids, weights), later in zip(cases, given, made):
        layer.case, m = case, case.counts[team.rank]
        copies = []
        if half != "combine":
            layer.dispatch(x, ids, weights, m)
            for tensor in (layer.here, layer.by):
                copies.append(team.local_empty(tensor.shape, tensor.dtype))
                team.stream.copy(copies[-1], tensor)
            for row in np.flatnonzero((case.here(team.rank) >= 0).any(1)):
                copies.append(team.local_empty((case.columns,), "float32"))
                team.stream.copy(copies[-1], layer.rows[int(row)])
        if half != "dispatch":
            out = team.local_empty((max(m, 1), case.columns), "float32", name="out")
            layer.combine(later[1], later[0], ids, out, m)
            copies.append(out[:m] if m else None)
        kept.append(copies)
    return [[np.zeros(0) if c is None else np.array(c) for c in copies] for copies in kept]


def calls_by_expert(team, cases, kernels, align=4, tellers=1):
    """A dispatch for each case, with nothing awaited between: gives its route, spans, and rows where the route has places."""
    layer, kept, moved = Layer(team, cases[0], kernels, places=align, tellers=tellers), [], team.local_from_array
    given = [[moved(a[team.rank]) for a in (case.x, case.ids, case.weights)] for case in cases]
    team.barrier()
    for layer.case, tensors in zip(cases, given):
        layer.dispatch(*tensors, layer.case.counts[team.rank])
        case, copies = layer.case, [team.local_empty(t.shape, t.dtype) for t in (layer.route, layer.spans)]
        for copy, tensor in zip(copies, (layer.route, layer.spans)):
            team.stream.copy(copy, tensor)
        counts = np.bincount(case.here(team.rank)[case.here(team.rank) >= 0], minlength=case.local)
        for expert, first in enumerate(np.cumsum([0, *(-(-counts // align) * align)])[:-1]):
            for row in range(first, first + counts[expert]):
                copies.append(team.local_empty((case.columns,), "float32"))
                team.stream.copy(copies[-1], layer.rows[row])
        kept.append(copies)
    return [[np.array(c) for c in copies] for copies in kept]


def is_right_by_expert(values, cases, align=4):
    for rank, results in enumerate(values):
        for case, (route, (firsts, ends), *rows) in zip(cases, results):
            here = case.here(rank).reshape(-1)
            place = route_parts(route, len(here) // case.top_k, case.local, case.top_k).place
            counts = np.bincount(here[here >= 0], minlength=case.local)
            starts = np.cumsum([0, *(-(-counts // align) * align)])[:-1]
            at = dict(zip((p for first, n in zip(starts, counts) for p in range(first, first + n)), rows))
            if not (np.array_equal(firsts, starts) and np.array_equal(ends, starts + counts) and np.array_equal(place >= 0, here >= 0)):
                return False
            if sorted(place[here >= 0]) != sorted(at):
                return False
            for slot in np.flatnonzero(here >= 0):
                source, token = divmod(slot // case.top_k, case.most)
                is_of_expert = starts[here[slot]] <= place[slot] < starts[here[slot]] + counts[here[slot]]
                if not is_of_expert or not np.array_equal(at[place[slot]], case.x[source][token]):
                    return False
    return True


def is_right(values, cases, half="both"):
    for rank, results in enumerate(values):
        for case, found in zip(cases, results):
            here = case.here(rank)
            if half != "combine":
                used = np.flatnonzero((here >= 0).any(1))
                sent = [case.x[row // case.most][row % case.most] for row in used]
                if not np.array_equal(found[0], here) or not all(np.array_equal(a, b) for a, b in zip(found[2:], sent)):
                    return False
            if half != "dispatch" and case.counts[rank] and not np.array_equal(found[-1], case.result(rank)):
                return False
    return True
