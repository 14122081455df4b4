"""tandem.overlap: a plain kernel that computes while a collective brings what it reads, or sums what it writes, derived by the
compiler."""

from . import dist as dl
from . import language as tl
from .host.arrays import Tensor
from .host.current import current_team
from .jit import JITFunction, KernelInterface, jit
from .kernel.names import constexpr

_OWN = ["arrivals_words", "arrivals_chunk", "arrivals_chunks", "arrivals_epoch"]
_TOLD = ["told_words", "told_chunk", "told_chunks"]


def _derived(kernel, over, function, own, *more):
    """The kernel whose argument `over`, a pointer or a descriptor, goes through `dl.<function>` with arguments of its own."""

    def parameter(p):
        default = f"=default_{p.name}" if p.default is not p.empty else ""
        return p.name + (": constexpr" if kernel.is_constexpr(p) else "") + default

    passed = [f"dl.{function}({', '.join([name, *own, *more])})" if name == over else name for name in kernel.arg_names]
    text = f"def {kernel.__name__}({', '.join([*own, *map(parameter, kernel.parameters)])}):\n    kernel({', '.join(passed)})\n"
    names = {"__name__": kernel.__module__, "kernel": kernel, "dl": dl, "constexpr": constexpr}
    names |= {f"default_{p.name}": p.default for p in kernel.parameters}
    exec(text, names)
    derived = JITFunction(names[kernel.__name__], do_not_specialize=["arrivals_epoch", *kernel.do_not_specialize])
    derived._text = kernel.file, kernel.line, text
    return derived


def _chunks(matrix, ranks, bands):
    """How many chunks a rank's rows have, at most `bands`, and the rows of each."""
    rows = matrix.shape[0] // ranks
    if matrix.shape[0] % ranks:
        raise ValueError(f"the {matrix.shape[0]} rows of the matrix do not divide among {ranks} ranks")
    bands = max(b for b in range(1, max(min(bands, rows), 1) + 1) if rows % b == 0)
    return bands, rows // bands


def _elements(matrix, rows):
    return max(rows * (matrix.numel() // max(matrix.shape[0], 1)), 1)


def _part(matrix, chunk, rows):
    return matrix[chunk * rows : (chunk + 1) * rows]


class _Gathering:
    """What the ranks of one team tell each other of one matrix: words that are never reset, as each call waits for its own number."""

    def __init__(self, team, matrix, bands, collective):
        ranks = team.size
        self.team, self.matrix, self.call = team, matrix, 0
        apart = collective == "all_to_all"  # what this rank sends must stay until it is sent
        self.arriving = team.empty(matrix.shape, matrix.dtype, name="arriving") if apart else matrix
        self.bands, self.rows = _chunks(matrix, ranks, bands)
        self.words = team.zeros(ranks * self.bands, "int64", name="arrivals")
        self.begun = team.zeros(ranks, "int64", name="begun")  # calls that a peer has begun: it reads no rows of those before
        self.stream = team.new_stream()
        own = range(team.rank * self.bands, (team.rank + 1) * self.bands)
        self.own_words = self.words[own.start : own.stop]
        rows = slice(own.start * self.rows, own.stop * self.rows)
        self.kept = (self.arriving[rows], matrix[rows]) if apart else None
        self.sent = []  # peers and chunks, in their order
        self.sends = []  # for each peer: this rank's word there, its word here, and for each chunk the copy and the word that tells of it
        for distance in range(1, ranks):
            # The rank before this one in the ring comes to this rank's rows first.
            peer = (team.rank - distance) % ranks
            there, words = self.arriving.peer(peer), self.words.peer(peer)
            sources = range(peer * self.bands, (peer + 1) * self.bands) if apart else own
            chunks = []
            for word, source in zip(own, sources):
                self.sent.append((peer, source))
                chunks.append((_part(there, word, self.rows), _part(matrix, source, self.rows), words[word : word + 1]))
            self.sends.append((self.begun.peer(peer)[team.rank : team.rank + 1], self.begun[peer : peer + 1], chunks))

    @property
    def arguments(self):
        return dict(zip(_OWN, (self.words, _elements(self.matrix, self.rows), self.words.numel(), self.call)))

    def run(self, kernels, over, grid, kwargs):
        self.begin()
        compiled = kernels[0].run(grid=grid, **self.arguments, **(kwargs | {over: self.arriving}))
        self.end()
        return compiled

    def begin(self):
        """Own rows go to all peers, or to each its share."""
        main, stream = self.team.stream, self.stream
        self.call += 1
        for there, _, _ in self.sends:
            main.signal_write(there, self.call)
        stream.wait_event(main.record_event())
        if self.kept:
            stream.copy(*self.kept)
        stream.signal_write(self.own_words, self.call)
        for _, here, chunks in self.sends:
            stream.signal_wait(here, self.call, "ge")
            for dest, source, word in chunks:
                stream.copy(dest, source)
                stream.signal_write(word, self.call)

    def end(self):
        """All rows are there, those too that no program waits for; this rank may write its own again."""
        main = self.team.stream
        main.signal_wait(self.words, self.call, "ge")
        main.wait_event(self.stream.record_event())


@jit(do_not_specialize=["call"])
def _add_parts(matrix_ptr, parts_ptr, ready_ptr, summed_ptr, call, chunk, EVERYWHERE: tl.constexpr, BLOCK: tl.constexpr):
    """This rank's rows of the sum over the ranks, in their order, in fp32: here, or with EVERYWHERE on all ranks, which `summed` tells."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    band = tl.program_id(1)
    bands = tl.num_programs(1)
    inside = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    own_ptr = matrix_ptr + (rank * bands + band).to(tl.int64) * chunk
    total = tl.zeros((BLOCK,), tl.float32)
    for source in range(ranks):
        chunk_of_source = source * bands + band
        if source == rank:
            total += tl.load(own_ptr + inside, mask=inside < chunk, other=0).to(tl.float32)
        else:
            token = dl.wait(ready_ptr + chunk_of_source, 1, "sys", "acquire", waitValue=call, compare="ge")
            part_ptr = dl.consume_token(parts_ptr, token) + chunk_of_source.to(tl.int64) * chunk
            total += tl.load(part_ptr + inside, mask=inside < chunk, other=0).to(tl.float32)
    value = total.to(matrix_ptr.dtype.element_ty)
    if EVERYWHERE:
        for distance in range(1, ranks + 1):
            tl.store(dl.symm_at(own_ptr, (rank + distance) % ranks) + inside, value, mask=inside < chunk)
        for distance in range(1, ranks + 1):
            dl.notify(summed_ptr, (rank + distance) % ranks, signal=1, sig_op="add", comm_scope="intra_node")
    else:
        tl.store(own_ptr + inside, value, mask=inside < chunk)


class _Sending:
    """Of a matrix that each rank writes whole: words that count the programs that have written a chunk, what peers have written of this
    rank's rows, and what the ranks tell each other. No word is ever reset."""

    def __init__(self, team, matrix, bands, collective):
        ranks, rank = team.size, team.rank
        self.team, self.matrix, self.collective, self.call = team, matrix, collective, 0
        self.bands, self.rows = _chunks(matrix, ranks, bands)
        self.told = team.zeros(ranks * self.bands, "int64", name="told")
        self.own = slice(rank * self.bands, (rank + 1) * self.bands)
        self.own_told = self.told[self.own]
        self.counted = team.zeros(ranks * self.bands, "int64", name="counted")
        self.targets = [0] * (ranks * self.bands)  # of `told`, after this call
        self.counts = {}  # for each launch: what it adds to them
        self.parts = team.empty(matrix.shape, matrix.dtype, name="parts")
        self.ready = team.zeros(ranks * self.bands, "int64", name="ready")
        self.begun = team.zeros(ranks, "int64", name="begun")  # calls that a peer has begun: it reads no parts of those before
        self.summed = team.zeros(1, "int64", name="summed")
        self.stream = team.new_stream()
        self.sent = []  # peers and chunks, in their order
        self.sends = []  # for each peer: this rank's word there, its word here, and for each chunk its number, the copy, the word there
        for distance in range(1, ranks):
            peer = (rank + distance) % ranks
            parts, ready, begun = self.parts.peer(peer), self.ready.peer(peer), self.begun.peer(peer)
            chunks = []
            for band in range(self.bands):
                there, here = rank * self.bands + band, peer * self.bands + band
                self.sent.append((peer, here))
                chunks.append((here, _part(parts, there, self.rows), _part(matrix, here, self.rows), ready[there : there + 1]))
            self.sends.append((begun[rank : rank + 1], self.begun[peer : peer + 1], chunks))

    @property
    def arguments(self):
        return dict(zip(_TOLD, (self.told, _elements(self.matrix, self.rows), self.told.numel())))

    def count(self, counting, grid, kwargs):
        """How many signals this launch adds to each word. Numbers alone decide that, so that the same launch is counted once."""
        shape = tuple(grid(kwargs) if callable(grid) else grid)
        numbers = [(name, repr(value)) for name, value in sorted(kwargs.items()) if not hasattr(value, "shape")]
        key = shape, tuple(numbers)
        if key not in self.counts:
            before = self.counted.numpy().tolist()
            counting.run(grid=grid, **(self.arguments | {"told_words": self.counted}), **kwargs)
            self.team.stream.signal_wait(self.counted, 0, "ge")
            self.counts[key] = [now - then for now, then in zip(self.counted.numpy().tolist(), before)]
        return self.counts[key]

    def run(self, kernels, over, grid, kwargs):
        main, stream, derived = self.team.stream, self.stream, kernels[0]
        counts = self.count(kernels[1], grid, kwargs)
        self.targets = [target + count for target, count in zip(self.targets, counts)]
        self.call += 1
        for there, _, _ in self.sends:
            main.signal_write(there, self.call)
        compiled = derived.run(grid=grid, **self.arguments, **kwargs)
        main.signal_wait(self.own_told, min(self.targets[self.own]), "ge")  # the kernel before has told
        for _, here, chunks in self.sends:
            stream.signal_wait(here, self.call, "ge")
            for chunk, dest, source, word in chunks:
                stream.signal_wait(self.told[chunk : chunk + 1], self.targets[chunk], "ge")
                stream.copy(dest, source)
                stream.signal_write(word, self.call)
        if self.sends and self.collective != "all_to_all":
            self._sum(main)
        main.wait_event(stream.record_event())  # what peers have had may be written again
        if self.collective == "all_to_all":
            self._take(main)
        return compiled

    def _take(self, main):
        share = self.bands * self.rows
        for peer in range(self.team.size):
            if peer != self.team.rank:
                main.signal_wait(_part(self.ready, peer, self.bands), self.call, "ge")
                main.copy(_part(self.matrix, peer, share), _part(self.parts, peer, share))

    def _sum(self, main):
        elements = _elements(self.matrix, self.rows)
        block = min(4096, 1 << (elements - 1).bit_length())
        programs = -(-elements // block), self.bands
        everywhere = self.collective == "all_reduce"
        _add_parts[programs](
            self.matrix, self.parts, self.ready, self.summed, self.call, elements, EVERYWHERE=everywhere, BLOCK=block, num_warps=8
        )
        if everywhere:
            main.signal_wait(self.summed, self.call * self.team.size * programs[0] * programs[1], "ge")


class Overlap(KernelInterface):
    """`overlap[grid](...)` launches like the kernel. All ranks call it, in the same order, with the matrix `over` in symmetric memory.
    Ahead of a consumer, all_gather: each has filled its own rows; afterwards it holds those of all; all_to_all: each has filled all
    rows, a share for each rank, and the kernel reads the ranks' shares for its own. Behind a producer, which writes all rows:
    afterwards this rank's own, or all, are the sum over the ranks, or each share is what that rank has written for this one."""

    def __init__(self, kernel, over, collective, consumes, bands):
        self.kernel, self.over, self.collective, self.consumes, self.bands = kernel, over, collective, consumes, bands
        if consumes:
            self.derived = [_derived(kernel, over, "arriving", _OWN)]
        else:
            self.derived = [_derived(kernel, over, "leaving", _TOLD), _derived(kernel, over, "leaving", _TOLD, "True")]
        self._exchanges = {}

    def _exchange(self, matrix):
        team = current_team()
        if not getattr(matrix, "symmetric", False):
            raise TypeError(f"`{self.over}` must be symmetric memory of the team, with all ranks' rows")
        key = team, matrix.address, tuple(matrix.shape)
        if key not in self._exchanges:
            self._exchanges[key] = (_Gathering if self.consumes else _Sending)(team, matrix, self.bands, self.collective)
        return self._exchanges[key]

    def run(self, *args, grid, warmup=False, **kwargs):
        kwargs |= zip(self.kernel.arg_names, args)
        if self.over not in kwargs:
            raise TypeError(f"`{self.kernel.__name__}` needs its argument `{self.over}`")
        matrix = kwargs[self.over]
        exchange = self._exchange(matrix)
        for name, value in kwargs.items():
            if name != self.over and isinstance(value, Tensor) and 0 <= value.address - matrix.address < matrix.nbytes:
                raise ValueError(f"`{name}` and `{self.over}` are the same memory, which travels while the kernel runs")
        if warmup:
            return self.derived[0].run(grid=grid, warmup=True, **exchange.arguments, **kwargs)
        return exchange.run(self.derived, self.over, grid, kwargs)

    def explain(self, *args, grid, **kwargs):
        """The plan of such a call on this rank, as text [collective]. The timeline of a run with `tandem.launch(..., machine="h200",
        trace=True)` is its prediction."""
        kwargs |= zip(self.kernel.arg_names, args)
        matrix = kwargs[self.over]
        exchange = self._exchange(matrix)
        counts = None if self.consumes else exchange.count(self.derived[1], grid, kwargs)
        size = _elements(matrix, exchange.rows) * matrix.itemsize
        where = "ahead of" if self.consumes else "behind"
        rows = f"the {matrix.shape[0]} rows of `{self.over}` in chunks of {exchange.rows}, {size} bytes"
        lines = [f"{self.collective} {where} `{self.kernel.__name__}`: {rows}"]
        for peer, chunk in exchange.sent:
            behind = "" if counts is None else f", behind {counts[chunk]} signals of programs"
            lines.append(f"rows {chunk * exchange.rows} to {(chunk + 1) * exchange.rows - 1} go to rank {peer}{behind}")
        return "\n".join(lines)


def overlap(
    *, collective: str, over: str, consumer: JITFunction | None = None, producer: JITFunction | None = None, bands: int = 4
) -> Overlap:
    """A kernel that computes while a collective exchanges the rows of its argument `over`, derived from an unchanged plain kernel.
    all_gather or all_to_all brings what `consumer` reads: waits stand before its loads. reduce_scatter and all_reduce sum what
    `producer` writes, all_to_all exchanges it: signals stand behind its stores. Programs are in the order in which rows arrive, or
    in which peers need them. `bands`: at most so many pieces of a rank's rows travel on their own. A kernel of which the compiler
    cannot tell what it accesses there is an error at the line."""
    if (consumer is None) == (producer is None):
        raise ValueError("one kernel is overlapped: a `consumer` or a `producer`")
    side, kernel = ("consumer", consumer) if producer is None else ("producer", producer)
    collectives = {"consumer": ["all_gather", "all_to_all"], "producer": ["reduce_scatter", "all_reduce", "all_to_all"]}[side]
    if collective not in collectives:
        raise ValueError(f"`collective` is {collective!r}; with a `{side}` it is one of {', '.join(map(repr, collectives))}")
    if not isinstance(kernel, JITFunction):
        raise TypeError(f"`{side}` must be a kernel under `tandem.jit`, not `{type(kernel).__name__}`")
    if over not in kernel.arg_names:
        raise ValueError(f"`{kernel.__name__}` has no argument `{over}`")
    return Overlap(kernel, over, collective, side == "consumer", bands)
