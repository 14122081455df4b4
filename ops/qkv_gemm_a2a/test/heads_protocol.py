"""The operators before and behind an attention whose heads are dealt to ranks, as their hosts queue them, for kernels with errors and for
hosts with errors."""

import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "test"))

from changed_kernels import imported

from tandem.ops import heads_of_rank, rows_of_rank

BEFORE, BEHIND, CHANNEL = "qkv_gemm_a2a/qkv_gemm_a2a.py", "a2a_o_gemm/a2a_o_gemm.py", "tilelink/streams.py"
FILES = [BEFORE, BEHIND, CHANNEL, *(f"device/{name}.py" for name in ("calls", "heads", "tiles"))]
BLOCK, PROGRAMS = 16, 3


def kernels(folder, *changes):
    before, behind = imported(folder, FILES, ["qkv_gemm_a2a.qkv_gemm_a2a", "a2a_o_gemm.a2a_o_gemm"], *changes)
    return {"Before": before.qkv_gemm_a2a, "Behind": behind.a2a_o_gemm}


class Launches:
    """What both share: `host` names an error of the host."""

    def __init__(self, team, case, kernel, host):
        self.team, self.case, self.kernel, self.host = team, case, kernel, host
        hq, hkv, self.d = case.heads
        self.own = [heads_of_rank(hq, hkv, team.size, rank) for rank in range(team.size)]
        self.q_width, self.kv_width = (
            self.d * max(len(range(10**6)[h]) for h in some) for some in zip(*((o.queries, o.keys) for o in self.own))
        )
        self.shard = -(-case.m // team.size)
        self.beside = team.new_stream()
        self.epoch = team.local_from_array(np.zeros(1, np.int64))
        self.ended = team.local_from_array(np.zeros(1, np.int32))
        self.prepare()
        team.barrier()

    def zeros(self, count, name):
        return self.team.zeros((count,), "int64", name=name)

    def width(self, heads):
        return self.d * len(range(10**6)[heads])

    def rows_of(self, rank):
        return rows_of_rank(self.case.m, self.team.size, rank)

    def constants(self, **more):
        hq, hkv, d = self.case.heads
        sizes = {"HQ": hq, "HKV": hkv, "D": d, "BLOCK_M": BLOCK, "BLOCK_N": BLOCK, "BLOCK_K": BLOCK}
        return sizes | {"GROUP": 1, "PROGRAMS": PROGRAMS, "BLOCKS": True} | more

    def begin(self):
        if "before it is there" not in self.host:
            self.beside.wait_event(self.team.stream.record_event())

    def end(self):
        if "goes on too soon" not in self.host:
            self.team.stream.wait_event(self.beside.record_event())

    def copy(self, to, x):
        """The columns that both have."""
        if to.shape == x.shape:
            return self.beside.copy(to, x)
        columns = min(to.shape[1], x.shape[1])
        for i in range(x.shape[0]):
            self.beside.copy(to[i, :columns], x[i, :columns])


class BeforeLaunches(Launches):
    def prepare(self):
        team, ranks, dtype = self.team, self.team.size, self.case.dtype
        self.parts = min(self.case.heads[1], ranks)
        self.away_q = team.zeros((ranks * self.shard, self.q_width), dtype, name="away_q")
        self.away_kv = team.zeros((2 * self.parts * self.shard, self.kv_width), dtype, name="away_kv")
        self.brought, self.begun = self.zeros(8 * ranks, "brought"), self.zeros(ranks, "begun")

    def columns(self):
        return -(-self.q_width // BLOCK) + 2 * -(-self.kv_width // BLOCK)

    def pull(self, q, kv):
        rank, ranks, host, shard = self.team.rank, self.team.size, self.host, self.shard
        for band in range(-(-shard // BLOCK)):
            for distance in range(1, ranks):
                source = (rank - distance) % ranks
                peer = (source + 1) % ranks if "from the wrong rank" in host else source
                signal = self.brought[band * ranks + source : band * ranks + source + 1]
                first = band * BLOCK
                rows = min(max(self.rows_of(source) - first, 0), BLOCK)

                def take(away, matrix, out, before, peer=peer, source=source, first=first, rows=rows):
                    if rows and out.shape[1]:
                        at = matrix * shard + first
                        to = before + source * shard + first
                        self.copy(out[to : to + rows], away.peer(peer)[at : at + rows])

                def wait(signal=signal):
                    if "not waited for" not in host:
                        self.beside.signal_wait(signal, self.columns() - ("one tile too few" in host), "ge")
                    if "not put back" not in host:
                        self.beside.signal_write(signal, 0)

                if "keys before the wait" not in host:
                    wait()
                part = self.parts * rank // ranks
                for value in (0, 1):
                    take(self.away_kv, value * self.parts + part, kv, value * self.case.m)
                if "keys before the wait" in host:
                    wait()
                take(self.away_q, rank, q, 0)

    def __call__(self, x, w):
        team, m, shard = self.team, self.case.m, self.shard
        own = self.own[team.rank]
        q, kv = (
            team.local_from_array(np.zeros((rows, self.width(heads)), self.case.x.dtype), name=name)
            for rows, heads, name in ((m, own.queries, "q"), (2 * m, own.keys, "kv"))
        )
        self.begin()
        at = min(team.rank * shard, m - 1)
        pointers = (x, w, q[at:], kv[at:], self.away_q, self.away_kv, self.brought, self.begun, self.epoch, self.ended)
        numbers = (m, self.case.h, self.rows_of(team.rank), shard, self.columns(), q.shape[1], kv.shape[1], team.size, self.parts)
        widths = {"Q_WIDTH": self.q_width, "KV_WIDTH": self.kv_width, "SHARED": self.case.heads[1] < team.size}
        self.kernel[(PROGRAMS,)](*pointers, *numbers, **self.constants(**widths), num_warps=2)
        self.pull(q, kv)
        self.end()
        return q, kv


class BehindLaunches(Launches):
    def prepare(self):
        team, ranks = self.team, self.team.size
        self.pitch = -(-self.shard // BLOCK) * BLOCK
        self.gathered = team.zeros((ranks * self.pitch, self.q_width), self.case.dtype, name="gathered")
        self.ready = self.zeros(2 * ranks + 2, "ready")[ranks + 2 :]

    def push(self, x):
        rank, ranks, host = self.team.rank, self.team.size, self.host
        bands = -(-self.shard // BLOCK)
        for band in range(bands):
            for distance in range(1, ranks):
                peer = (rank + distance) % ranks
                slot = (rank + 1) % ranks if "to the wrong slot" in host else rank
                other = (rank + 1) % ranks if "of the wrong signal" in host else rank
                signal = self.ready.peer(peer)[other : other + 1]
                first = band * BLOCK
                rows = min(max(self.rows_of(peer) - first, 0), BLOCK)

                def send(peer=peer, slot=slot, first=first, rows=rows):
                    if rows and x.shape[1]:
                        to = self.gathered.peer(peer)[slot * self.pitch + first :][:rows]
                        self.copy(to, x[peer * self.shard + first :][:rows])

                def tell(signal=signal, rows=rows, band=band):
                    if rows or band + 1 == bands:
                        self.beside.signal_write(signal, band + 1)

                for step in (tell, send) if "signal first" in host else (send, tell):
                    step()

    def __call__(self, x, w):
        team, case, shard = self.team, self.case, self.shard
        rows, width = self.rows_of(team.rank), x.shape[1]
        out = team.local_empty((rows, case.n), case.dtype, name="out")
        self.begin()
        own = x[min(team.rank * shard, case.m - 1) :] if width else self.gathered
        pointers = (own, self.gathered, w, out, self.ready)
        numbers = (case.n, rows, width or self.q_width, self.pitch, team.size * self.pitch, -(-shard // BLOCK), BLOCK)
        blocks = {"BLOCKS": rows > 0, "OUT_BLOCKS": rows > 0}
        self.kernel[(PROGRAMS,)](*pointers, *numbers, **self.constants(WIDTH=self.q_width, **blocks), num_warps=2)
        self.push(x)
        self.end()
        return out


def calls(team, cases, kernel, host=""):
    """A call for each case; what it has read is overwritten behind it, as the next item of the stream."""
    kind = {"Before": BeforeLaunches, "Behind": BehindLaunches}[type(cases[0]).__name__]
    launches, outs = kind(team, cases[0], kernel, host), []
    for case in cases:
        x, w = case.given(team.rank)
        x = x.reshape(x.shape[0], -1)
        given = [team.local_empty(a.shape, case.dtype, name=n) for n, a in (("x", x), ("w", w))]
        for to, a in ((given[1], w), (given[0], x)):
            if a.size:
                team.stream.copy(to, team.local_from_array(a))
        out = launches(*given)
        outs.append([kept(team, x) for x in (out if isinstance(out, tuple) else (out,))])
        for to in given:
            if to.size:
                team.stream.memset(to, 255)
    return [found(case, out) for case, out in zip(cases, outs)]


def kept(team, x):
    """A copy by the next item of the stream."""
    to = team.local_empty(x.shape, x.dtype, name="kept")
    if x.size:
        team.stream.copy(to, x)
    return to


def found(case, out):
    if len(out) == 1:
        return np.array(out[0])
    (q, kv), d = out, case.heads[2]
    return [np.array(q).reshape(case.m, -1, d), np.array(kv).reshape(2, case.m, -1, d)]
