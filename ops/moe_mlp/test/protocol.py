"""The halves of a mixture of experts as their C++ classes queue them (ops/ag_moe/ag_moe.cpp, ops/moe_rs/moe_rs.cpp, ops/moe_ar/moe_ar.cpp
with ops/all_reduce in two flights), in Python, with kernels whose text may be changed: so that errors can be planted."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported
from moe_reference import rows_of, scales

from tandem.ops import RouteIds, route_parts, route_words, shard_rows

FILES = [f"device/{name}.py" for name in ("calls", "findings", "gathering", "packed", "routes", "signals", "slots")]
FILES += [
    "grouped_gemm/grouped_gemm.py",
    "grouped_gemm/places.py",
    "moe_rs/moe_rs.py",
    "moe_rs/few_slots.py",
    "moe_rs/items.py",
    "moe_rs/sums.py",
    "ag_moe/ag_moe.py",
    "moe_ar/moe_ar.py",
    "all_reduce/two_shot.py",
    "route/blocks.py",
    "route/route.py",
    "route/score.py",
]
BLOCK, PROGRAMS, COMBINERS, CHUNK, RING = 16, 3, 2, 96, 3


def kernels(folder, *changes):
    """The modules of the operators' kernels, imported from `folder`. Each change: a file, its text, the text in its place."""
    files = {"grouped_gemm": "grouped_gemm", "combine": "moe_rs", "order_rows": "ag_moe", "route": "route", "sum_slots": "moe_ar"}
    names = {**{name: f"{file}.{file}" for name, file in files.items()}, "two_shot": "all_reduce.two_shot"}
    return {name: getattr(module, name) for name, module in zip(names, imported(folder, FILES, list(names.values()), *changes))}


class Layer:
    """`host`: what the host does otherwise than it should."""

    def __init__(self, team, case, kernels, host=(), ordered=False):
        m, hidden, inner, experts, top_k = case.sizes
        self.team, self.case, self.kernels, self.host = team, case, kernels, host
        self.ordered = ordered
        self.shard, slots, ranks = shard_rows(m, team.size), m * top_k, team.size
        self.gathered = team.zeros((ranks * self.shard, hidden), case.dtype, name="gathered")
        self.ready = team.zeros(2 * ranks + 2, "int64", name="ready")[ranks + 2 :]
        self.in_order = team.local_empty((slots, hidden), case.dtype, name="rows in order")
        width = -(-hidden // 32) * 32
        self.rows = team.local_from_array(np.zeros((slots, width), np.float32), name="rows")
        self.parts = team.empty(((ranks - 1) * self.shard, width), "float32", name="parts")
        self.begun, self.taken = team.zeros(ranks, "int64", name="begun"), self._local((1,), "int32")
        self.brought = team.zeros(4, "int64", name="brought")
        self.signals = team.zeros((ranks - 1) * 64, "int64", name="ready parts")
        self.combined, self.calls = self._local((1,), "int32"), self._local((1,), "int64")
        self.all = -(-m * hidden // ranks // 16) * 16  # elements of a rank's share of an all-reduce
        self.steps = -(-self.all // (COMBINERS * CHUNK))
        self.sums = self._local((m * hidden,), "float32")
        self.flights = [team.empty((ranks * self.all,), "float32", name=name) for name in ("parts of ranks", "sums of ranks")]
        self.flags = [team.zeros(COMBINERS * self.steps * ranks, "int64", name=name) for name in ("ready sums", "done")]
        self.reductions = self._local((COMBINERS,), "int64")
        self.findings = self._local((8,), "int32")
        self.counts = self._local((4 * experts,), "int32")
        self.route = team.local_from_array(np.zeros(route_words(m, experts, top_k), np.int32), name="route")
        self.h = team.local_empty((slots, inner), case.dtype, name="h")
        self.scaled = case.dtype == "fp8e4nv"
        if self.scaled:
            self.gathered_scales = team.empty((ranks * self.shard, 1), "float32", name="gathered scales")
            self.h_scales = team.local_empty((slots, 1), "float32", name="h scales")
        self.beside = team.new_stream()

    def _local(self, shape, dtype):
        return self.team.local_from_array(np.zeros(shape, dtype))

    def _constants(self):
        _, _, _, experts, top_k = self.case.sizes
        tile = 128 if self.scaled else 16
        tiles = {"BLOCK_M": BLOCK, "BLOCK_N": tile, "BLOCK_K": tile, "E": experts, "TOP_K": top_k, "BLOCKS_OF_B": False}
        tiles |= {"BIASED": False, "SCALED": self.scaled}
        return {**tiles, "BLOCKS_OF_A": False, "EVEN_K": self.case.sizes[1] % tile == 0, "GATED": False}

    def deal(self, ids, weights):
        m, _, _, experts, top_k = self.case.sizes
        padded = max(1 << (experts - 1).bit_length(), 8)
        constants = {"E": experts, "PADDED": padded, "BITS": (experts - 1).bit_length(), "K": top_k, "R": self.team.size, "WARPS": 1}
        constants |= {"MANY": False, "ROWS_AT_ONCE": 4, "LANES": 8, "SCORES": False, "TOLD": True, "SIGMOID": False, "GROUPS": 1}
        constants |= {"TOP_GROUPS": 1, "RENORMALISE": False, "BLOCK": BLOCK, "GROUP": 8}
        given = (weights, weights, ids, weights, self.route, self.route, self.counts, self.counts, self.findings)
        self.kernels["route"][(1,)](*given, m, self.shard, self.shard, 1, **constants, num_warps=1)

    def _push(self, x, x_scales):
        rank, ranks = self.team.rank, self.team.size
        for distance in range(1, ranks):
            peer = (rank + distance) % ranks
            there = self.gathered.peer(peer)[rank * self.shard : rank * self.shard + x.shape[0]]
            of = (rank + 1) % ranks if "wrong slot" in self.host else rank
            signal = self.ready.peer(peer)[of : of + 1]
            of = (rank + 1) % ranks if "scales in a wrong slot" in self.host else rank
            if "signal first" in self.host:
                self.beside.signal_write(signal, 1)
            self.beside.copy(there, x)
            if self.scaled and "scales behind the signal" not in self.host:
                self.beside.copy(self.gathered_scales.peer(peer)[of * self.shard : of * self.shard + x.shape[0]], x_scales)
            if "signal first" not in self.host:
                self.beside.signal_write(signal, 1)
            if "scales behind the signal" in self.host:
                self.beside.copy(self.gathered_scales.peer(peer)[of * self.shard : of * self.shard + x.shape[0]], x_scales)

    def gather(self, x, w, x_scales=None, w_scales=None):
        """ag_moe: x [own rows, hidden], w [experts, inner, hidden]. With scales, of 128 columns at most, the result has scales too."""
        team, (m, hidden, inner, experts, top_k) = self.team, self.case.sizes
        rank = team.rank
        self.beside.wait_event(team.stream.record_event())
        a, rows = self.gathered, m
        apart = (x.address - self.gathered.address) // x.itemsize - rank * self.shard * hidden
        if self.ordered:
            given = (a, self.route, self.in_order, self.route, self.route, self.ready, self.findings)
            constants = {"PROGRAMS": PROGRAMS, "E": experts, "TOP_K": top_k, "BLOCK_M": BLOCK, "ROWS": 8, "COLUMNS": 32}
            constants |= {"SCALED": False, "AWAITED": True}
            self.kernels["order_rows"][(PROGRAMS,)](*given, m, hidden, self.shard, apart, 0, **constants, num_warps=1)
            a, rows, apart = self.in_order, m * top_k, 0
            self._push(x, x_scales)
            if "loads the product" in self.host:  # for which a device may finish what it runs
                team.stream.synchronize()
        arguments = (a, w, self.h, self.route, self.ready, self.brought)
        arguments += (self.route, self.gathered_scales, w_scales, self.h_scales) if self.scaled else (self.route,) * 4
        ways = {
            "GATHER": not self.ordered,
            "SCATTER": False,
            "WEIGH": False,
            "AWAITED": not self.ordered,
            "COUNTED": False,
            "PACKED": False,
            "QUANTISE": self.scaled,
        }
        apart_scales = (x_scales.address - self.gathered_scales.address) // 4 - rank * self.shard if self.scaled else 0
        early = 64 if team.size == 2 else 256  # of 256 blocks
        sizes = (
            self.findings,
            self.route,
            self.route,
            rows,
            inner,
            hidden,
            m * top_k,
            self.shard,
            apart,
            apart_scales,
            early,
            w.shape[1],
            0,
            1,
        )
        self.kernels["grouped_gemm"][(PROGRAMS,)](*arguments, *sizes, PROGRAMS=PROGRAMS, **self._constants(), **ways, num_warps=1)
        if not self.ordered:
            self._push(x, x_scales)
        team.stream.wait_event(self.beside.record_event())

    def scatter(self, w, out, w_scales=None):
        """moe_rs: w [experts, hidden, inner], out [own rows, hidden]. A part has one column of tiles."""
        team, (m, hidden, inner, experts, top_k) = self.team, self.case.sizes
        self.beside.wait_event(team.stream.record_event())
        arguments = (self.h, w, self.rows, self.route, self.ready, self.brought)
        arguments += (self.route, self.h_scales, w_scales, self.route) if self.scaled else (self.route,) * 4
        ways = {"GATHER": False, "SCATTER": False, "WEIGH": False, "AWAITED": False, "COUNTED": True, "PACKED": True, "QUANTISE": False}
        constants = self._constants()
        sizes, tile = (m * top_k, hidden, inner, m * top_k, m, 0, 0, 0, hidden, 0, 1), constants["BLOCK_N"]
        sizes = (self.findings, self.route, self.route, *sizes)
        self.kernels["grouped_gemm"][(PROGRAMS,)](*arguments, *sizes, PROGRAMS=PROGRAMS, **constants, **ways, num_warps=1)
        arguments = (self.rows, self.route, out, self.parts, self.brought, self.signals, self.begun, self.taken, self.combined, self.calls)
        constants = {"E": experts, "TOP_K": top_k, "COLUMNS": min(tile, 32), "TILE_M": BLOCK, "TILE_N": tile}
        constants |= {"RANKS": team.size, "RING": 0 if "few" in self.host else RING, "TABLE": 16 * (top_k + team.size - 1) + RING + 2}
        sizes = (self.findings, m, out.shape[0], hidden, hidden, self.shard, tile, 16, 8)
        self.kernels["combine"][(COMBINERS,)](*arguments, *sizes, **constants, num_warps=1, stream=self.beside)
        if "sums not awaited" not in self.host:
            team.stream.wait_event(self.beside.record_event())

    def reduce(self, w, out):
        """moe_ar: w [experts, hidden, inner], out [m, hidden]."""
        team, (m, hidden, inner, experts, top_k), stream = self.team, self.case.sizes, self.team.stream
        self.beside.wait_event(stream.record_event())
        arguments = (self.h, w, self.rows, self.route, self.ready, self.brought)
        ways = {"GATHER": False, "SCATTER": False, "WEIGH": False, "AWAITED": False, "COUNTED": False, "QUANTISE": False, "PACKED": True}
        sizes = (*(self.route,) * 4, self.findings, self.route, self.route)
        sizes += (m * top_k, hidden, inner, m * top_k, m, 0, 0, 0, hidden, 0, 1)
        self.kernels["grouped_gemm"][(PROGRAMS,)](*arguments, *sizes, PROGRAMS=PROGRAMS, **self._constants(), **ways, num_warps=1)
        constants = {"PROGRAMS": COMBINERS, "E": experts, "TOP_K": top_k, "ROWS": 16, "COLUMNS": 16, "TILE_M": BLOCK, "TILE_N": 16}
        behind = self.beside if "slots not awaited" in self.host else stream
        self.kernels["sum_slots"][(COMBINERS,)](
            self.rows, self.route, self.sums, self.findings, m, hidden, **constants, num_warps=1, stream=behind
        )
        if behind is self.beside:
            stream.wait_event(behind.record_event())
        sizes = (self.reductions, m * hidden, self.all, CHUNK, self.steps)
        constants = {"RANKS": team.size, "TILE": 32, "DIRECT": False, "num_warps": 1}
        behind = self.beside if "own sums not awaited" in self.host else stream
        self.kernels["two_shot"][(COMBINERS,)](self.sums, out, *self.flights, *self.flags, *sizes, **constants, stream=behind)
        if behind is self.beside:
            stream.wait_event(behind.record_event())


def calls(team, cases, kernels, host=(), half="both"):
    """A call for each case, with operands that the stream overwrites between them; gives each one's route, h and out."""
    layer, kept = Layer(team, cases[0], kernels, host, half == "ordered"), []
    moved = team.local_from_array
    given = [[moved(a) for a in (c.ids, c.weights, rows_of(c.x, team), c.up[team.rank], c.down[team.rank])] for c in cases]
    if half in ("scatter", "reduce"):
        m, _, _, experts, top_k = cases[0].sizes
        for case, data in zip(cases, given):
            order = route_parts(RouteIds(team, m, experts, top_k, "i32")(case.ids, case.weights, m), m, experts, top_k).order
            h = np.zeros((m * top_k, case.sizes[2]), layer.h.dtype)
            h[: len(order)] = case.inner_of(team.rank)[order]
            data += [moved(h), moved(scales(len(h), 1))]
    ids, weights, x, up, down, *_ = (team.local_empty(a.shape, a.dtype) for a in given[0])
    out = team.local_empty(cases[0].x.shape if half == "reduce" else x.shape, "float32", name="out")
    experts = cases[0].sizes[3]
    of_x, of_up, of_down = (moved(scales(n, 1, *more)) for n, *more in ((x.shape[0],), (experts, 1), (experts, 1)))
    for data in given:
        for to, source in zip((ids, weights, x, up, down), data):
            team.stream.copy(to, source)
        layer.deal(ids, weights)
        result = [layer.h]
        if half in ("scatter", "reduce"):
            team.stream.copy(layer.h, data[5])
            if layer.scaled:
                (layer.beside if "scales not awaited" in host else team.stream).copy(layer.h_scales, data[6])
        else:
            layer.gather(x, up, of_x, of_up)
        if half == "reduce":
            layer.reduce(down, out)
            result = [out]
        elif half not in ("gather", "ordered"):
            layer.scatter(down, out, of_down)
            result = [out]
        for tensor in result:
            kept.append(team.local_empty(tensor.shape, tensor.dtype))
            team.stream.copy(kept[-1], tensor)
    return [np.array(a) for a in kept]
