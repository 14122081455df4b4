"""tandem.overlap: a plain kernel that computes while a collective brings what it reads, derived by the compiler."""

from . import dist
from .host.arrays import Tensor
from .host.current import current_team
from .jit import JITFunction, KernelInterface
from .kernel.names import constexpr

_OWN = ["arrivals_words", "arrivals_chunk", "arrivals_chunks", "arrivals_epoch"]


def _awaiting(kernel, over):
    """The kernel whose argument `over`, a pointer or a descriptor, arrives while it runs."""

    def parameter(p):
        default = f"=default_{p.name}" if p.default is not p.empty else ""
        return p.name + (": constexpr" if kernel.is_constexpr(p) else "") + default

    passed = [f"dl.arriving({', '.join([name, *_OWN])})" if name == over else name for name in kernel.arg_names]
    text = f"def {kernel.__name__}({', '.join([*_OWN, *map(parameter, kernel.parameters)])}):\n    kernel({', '.join(passed)})\n"
    names = {"__name__": kernel.__module__, "kernel": kernel, "dl": dist, "constexpr": constexpr}
    names |= {f"default_{p.name}": p.default for p in kernel.parameters}
    exec(text, names)
    derived = JITFunction(names[kernel.__name__], do_not_specialize=["arrivals_epoch", *kernel.do_not_specialize])
    derived._text = kernel.file, kernel.line, text
    return derived


class _Gathering:
    """What the ranks of one team tell each other of one matrix: words that are never reset, as each call waits for its own number."""

    def __init__(self, team, matrix, bands):
        ranks = team.size
        rows = matrix.shape[0] // ranks
        if matrix.shape[0] % ranks:
            raise ValueError(f"the {matrix.shape[0]} rows of the gathered matrix do not divide among {ranks} ranks")
        self.team, self.matrix, self.call = team, matrix, 0
        self.bands = max(b for b in range(1, max(min(bands, rows), 1) + 1) if rows % b == 0)
        self.rows = rows // self.bands  # of a chunk
        self.words = team.zeros(ranks * self.bands, "int64", name="arrivals")
        self.begun = team.zeros(ranks, "int64", name="begun")  # calls that a peer has begun: it reads no rows of those before
        self.stream = team.new_stream()
        own = range(team.rank * self.bands, (team.rank + 1) * self.bands)
        self.own_words = self.words[own.start : own.stop]
        self.sends = []  # for each peer: this rank's word there, its word here, and for each chunk the copy and the word that tells of it
        for distance in range(1, ranks):
            # The rank before this one in the ring comes to this rank's rows first.
            peer = (team.rank - distance) % ranks
            there, words = matrix.peer(peer), self.words.peer(peer)
            parts = [slice(word * self.rows, (word + 1) * self.rows) for word in own]
            chunks = [(there[part], matrix[part], words[word : word + 1]) for part, word in zip(parts, own)]
            self.sends.append((self.begun.peer(peer)[team.rank : team.rank + 1], self.begun[peer : peer + 1], chunks))

    @property
    def arguments(self):
        elements = self.rows * (self.matrix.numel() // max(self.matrix.shape[0], 1))
        return dict(zip(_OWN, (self.words, max(elements, 1), self.words.numel(), self.call)))

    def begin(self):
        """Own rows go to all peers."""
        main, stream = self.team.stream, self.stream
        self.call += 1
        for there, _, _ in self.sends:
            main.signal_write(there, self.call)
        stream.wait_event(main.record_event())
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


class Overlap(KernelInterface):
    """`overlap[grid](...)` launches like the kernel. All ranks call it, with the symmetric matrix of which each has filled its own rows;
    afterwards it holds those of all."""

    def __init__(self, consumer, over, bands):
        self.kernel, self.over, self.bands = consumer, over, bands
        self.derived = _awaiting(consumer, over)
        self._gatherings = {}

    def _gathering(self, matrix):
        team = current_team()
        if not getattr(matrix, "symmetric", False):
            raise TypeError(f"`{self.over}` must be symmetric memory of the team, with all ranks' rows")
        key = team, matrix.address, tuple(matrix.shape)
        if key not in self._gatherings:
            self._gatherings[key] = _Gathering(team, matrix, self.bands)
        return self._gatherings[key]

    def run(self, *args, grid, warmup=False, **kwargs):
        kwargs |= zip(self.kernel.arg_names, args)
        if self.over not in kwargs:
            raise TypeError(f"`{self.kernel.__name__}` needs its argument `{self.over}`")
        matrix = kwargs[self.over]
        gathering = self._gathering(matrix)
        for name, value in kwargs.items():
            if name != self.over and isinstance(value, Tensor) and 0 <= value.address - matrix.address < matrix.nbytes:
                raise ValueError(f"`{name}` and `{self.over}` are the same memory, which arrives while the kernel runs")
        if warmup:
            return self.derived.run(grid=grid, warmup=True, **gathering.arguments, **kwargs)
        gathering.begin()
        compiled = self.derived.run(grid=grid, **gathering.arguments, **kwargs)
        gathering.end()
        return compiled


def overlap(*, collective, consumer, over, bands=4):
    """A kernel that computes while `collective` brings the rows of its argument `over`: `consumer`, an unchanged plain kernel, with waits
    before its loads and its programs in the order in which rows arrive. `bands`: at most so many pieces of a rank's rows travel on
    their own. A kernel of which the compiler cannot tell what it reads there is an error at the load's line."""
    if collective != "all_gather":
        raise ValueError(f"`collective` is {collective!r}; it is 'all_gather'")
    if not isinstance(consumer, JITFunction):
        raise TypeError(f"`consumer` must be a kernel under `tandem.jit`, not `{type(consumer).__name__}`")
    if over not in consumer.arg_names:
        raise ValueError(f"`{consumer.__name__}` has no argument `{over}`")
    return Overlap(consumer, over, bands)
