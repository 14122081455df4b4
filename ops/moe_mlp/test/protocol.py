"""The two halves of a mixture of experts as their C++ classes queue them (ops/ag_moe/ag_moe.cpp, ops/moe_rs/moe_rs.cpp), in Python, with
kernels whose text may be changed: so that errors can be planted."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported
from moe_reference import rows_of

from tandem.ops import RouteIds, route_parts, route_words, shard_rows

FILES = ["device/calls.py", "device/product.py", "device/routes.py", "device/slots.py", "grouped_gemm/grouped_gemm.py", "moe_rs/moe_rs.py"]
FILES += ["route/blocks.py", "route/route.py", "route/score.py"]
BLOCK, PROGRAMS, COMBINERS = 16, 3, 2


def kernels(folder, *changes):
    """The modules of the operators' kernels, imported from `folder`. Each change: a file, its text, the text in its place."""
    functions = {"grouped_gemm": "grouped_gemm", "moe_rs": "combine", "route": "route"}
    modules = imported(folder, FILES, [f"{name}.{name}" for name in functions], *changes)
    return {name: getattr(module, function) for module, (name, function) in zip(modules, functions.items())}


class Layer:
    """`host`: what the host does otherwise than it should."""

    def __init__(self, team, case, kernels, host=()):
        m, hidden, inner, experts, top_k = case.sizes
        self.team, self.case, self.kernels, self.host = team, case, kernels, host
        self.shard, slots, ranks = shard_rows(m, team.size), m * top_k, team.size
        self.gathered = team.zeros((ranks * self.shard, hidden), case.dtype, name="gathered")
        self.ready, self.done = team.zeros(ranks, "int64", name="ready"), team.zeros(ranks, "int64", name="done")
        self.ended, self.epoch = self._local((1,), "int32"), self._local((1,), "int64")
        self.slots = team.local_from_array(np.zeros((slots, hidden), np.float32), name="slots")
        self.parts = team.empty(((ranks - 1) * self.shard, hidden), case.dtype, name="parts")
        self.brought, self.begun = team.zeros(16, "int64", name="brought"), team.zeros(ranks, "int64", name="begun")
        self.signals = team.zeros((ranks - 1) * 64, "int64", name="ready parts")
        self.combined, self.calls = self._local((1,), "int32"), self._local((1,), "int64")
        self.counts = self._local((4 * experts,), "int32")
        self.route = team.local_from_array(np.zeros(route_words(m, experts, top_k), np.int32), name="route")
        self.h = team.local_empty((slots, inner), case.dtype, name="h")
        self.beside = team.new_stream()

    def _local(self, shape, dtype):
        return self.team.local_from_array(np.zeros(shape, dtype))

    def _constants(self):
        _, _, _, experts, top_k = self.case.sizes
        tiles = {"BLOCK_M": BLOCK, "BLOCK_N": 16, "BLOCK_K": 16, "E": experts, "TOP_K": top_k, "BLOCKS_OF_B": False}
        tiles |= {"BIASED": False, "SCALED": False, "QUANTISE": False}
        return {**tiles, "BLOCKS_OF_A": False, "EVEN_K": self.case.sizes[1] % 16 == 0, "GATED": False}

    def deal(self, ids, weights):
        m, _, _, experts, top_k = self.case.sizes
        padded = max(1 << (experts - 1).bit_length(), 8)
        constants = {"E": experts, "PADDED": padded, "BITS": (experts - 1).bit_length(), "K": top_k, "R": self.team.size, "WARPS": 1}
        constants |= {"MANY": False, "ROWS_AT_ONCE": 4, "LANES": 8, "SCORES": False, "SIGMOID": False, "GROUPS": 1}
        constants |= {"TOP_GROUPS": 1, "RENORMALISE": False, "BLOCK": BLOCK, "GROUP": 8}
        given = (weights, weights, ids, weights, self.route, self.counts, m, self.shard, self.shard, 1)
        self.kernels["route"][(1,)](*given, **constants, num_warps=1)

    def gather(self, x, w):
        """ag_moe: x [own rows, hidden], w [experts, inner, hidden]."""
        team, (m, hidden, inner, _, top_k) = self.team, self.case.sizes
        rank, ranks = team.rank, team.size
        self.beside.wait_event(team.stream.record_event())
        apart = (x.address - self.gathered.address) // x.itemsize - rank * self.shard * hidden
        arguments = (self.gathered, w, self.h, self.route, self.ready, self.done, self.ended, self.epoch, self.brought)
        arguments += (self.route,) * 4  # no bias and no scales
        ways = {"GATHER": True, "SCATTER": False, "WEIGH": False, "AWAITED": True, "COUNTED": False}
        sizes = (m, inner, hidden, m * top_k, self.shard, apart, 0, 1)
        self.kernels["grouped_gemm"][(PROGRAMS,)](*arguments, *sizes, PROGRAMS=PROGRAMS, **self._constants(), **ways, num_warps=1)
        for distance in range(1, ranks):
            peer = (rank + distance) % ranks
            there = self.gathered.peer(peer)[rank * self.shard : rank * self.shard + x.shape[0]]
            of = (rank + 1) % ranks if "wrong slot" in self.host else rank
            signal = self.ready.peer(peer)[of : of + 1]
            if "signal first" in self.host:
                self.beside.signal_write(signal, 1)
            self.beside.copy(there, x)
            if "signal first" not in self.host:
                self.beside.signal_write(signal, 1)
        team.stream.wait_event(self.beside.record_event())

    def scatter(self, w, out):
        """moe_rs: w [experts, hidden, inner], out [own rows, hidden]."""
        team, (m, hidden, inner, experts, top_k) = self.team, self.case.sizes
        if "combines early" not in self.host:
            self.beside.wait_event(team.stream.record_event())
        arguments = (self.h, w, self.slots, self.route, self.ready, self.done, self.ended, self.epoch, self.brought)
        arguments += (self.route,) * 4  # no bias and no scales
        ways = {"GATHER": False, "SCATTER": True, "WEIGH": True, "AWAITED": False, "COUNTED": True}
        sizes = (m * top_k, hidden, inner, m * top_k, m, 0, 0, 1)
        self.kernels["grouped_gemm"][(PROGRAMS,)](*arguments, *sizes, PROGRAMS=PROGRAMS, **self._constants(), **ways, num_warps=1)
        arguments = (self.slots, self.route, out, self.parts, self.brought, self.signals, self.begun, self.combined, self.calls)
        constants = {"E": experts, "TOP_K": top_k, "PROGRAMS": COMBINERS, "ROWS": 16, "COLUMNS": 16, "TILE_N": 16}
        sizes = (m, hidden, self.shard, 16)
        self.kernels["moe_rs"][(COMBINERS,)](*arguments, *sizes, **constants, num_warps=1, stream=self.beside)
        if "sums not awaited" not in self.host:
            team.stream.wait_event(self.beside.record_event())


def calls(team, cases, kernels, host=(), half="both"):
    """A call for each case, with operands that the stream overwrites between them; gives each one's route, h and out."""
    layer, kept = Layer(team, cases[0], kernels, host), []
    moved = team.local_from_array
    given = [[moved(a) for a in (c.ids, c.weights, rows_of(c.x, team), c.up[team.rank], c.down[team.rank])] for c in cases]
    if half == "scatter":
        m, _, _, experts, top_k = cases[0].sizes
        for case, data in zip(cases, given):
            order = route_parts(RouteIds(team, m, experts, top_k, "i32")(case.ids, case.weights, m), m, experts, top_k).order
            h = np.zeros((m * top_k, case.sizes[2]), np.float32)
            h[: len(order)] = case.inner_of(team.rank)[order]
            data.append(moved(h))
    ids, weights, x, up, down, *_ = (team.local_empty(a.shape, a.dtype) for a in given[0])
    out = team.local_empty(x.shape, "float32", name="out")
    for data in given:
        for to, source in zip((ids, weights, x, up, down), data):
            team.stream.copy(to, source)
        layer.deal(ids, weights)
        result = [layer.h]
        if half == "scatter":
            team.stream.copy(layer.h, data[5])
        else:
            layer.gather(x, up)
        if half != "gather":
            layer.scatter(down, out)
            result = [out]
        for tensor in result:
            kept.append(team.local_empty(tensor.shape, "float32"))
            team.stream.copy(kept[-1], tensor)
    return [np.array(a) for a in kept]
