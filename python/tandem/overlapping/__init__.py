"""tandem.overlap: plain kernels that compute while a collective brings what they read, or takes what they write, derived by the
compiler."""

import contextlib
import dataclasses
import itertools
import math
import statistics

import numpy as np

from ..errors import CompileError
from ..gpu.rank_launch import arrays_in
from ..host.call import grid_sizes
from ..host.current import current_team
from ..jit import JITFunction, KernelInterface
from ..kernel.mock_tensor import MockTensor
from ..tune.autotune import Autotuner, Heuristics
from ..tune.rank_clock import RankClock
from .derived import derived, named
from .gathering import Gathering, Loading
from .kept import Kept, bounds_of
from .launching import Replays, fills_multiprocessor, main_stream, product_instructions, refuse_capture, waits_for_host
from .order import Launches, Tiles, chunks_of, is_spread, launched, noted_of
from .plan import CACHE, PARTS, Call, Plan, best, machine_of, multiprocessors_of, parts_for, ranked
from .shares import Shares
from .summing import Adding, Summing, Sums

DEALT = {"leaving", "summing", "updating"}  # functions whose programs are dealt out to those that run at once


def fills_rounds(tiles, programs):
    """Whether programs that are dealt tiles are busy in nine of ten rounds: in others, plain ones were 2 to 25 % quicker
    (docs/performance/derived_overlap.md)."""
    return tiles >= 0.9 * -(-tiles // programs) * programs


WARM_CALLS, TIMED_CALLS = 3, 10  # of each plan: the first call compiles, the second is captured

COLLECTIVES = {
    "consumer": ["all_gather", "all_to_all"],
    "producer": ["reduce_scatter", "all_reduce", "all_to_all"],
    "producer and consumer": ["all_gather", "reduce_scatter", "all_reduce", "all_to_all"],
}


class _End:
    """A kernel at one end of a collective, and its arguments `over`, whose rows travel."""

    def __init__(self, kernel, over, is_consumer):
        self.kernel, self.over, self.is_consumer = kernel, over, is_consumer
        self.made = {}
        self.derived = self.of("arriving" if is_consumer else "leaving")
        self.tiles = Tiles(derived(kernel, over[:1], "spread"))
        self.defaults = {p.name: p.default for p in kernel.parameters if p.default is not p.empty}
        self.divided = {}  # kernels as they are: how many programs share the work of one of each
        self.sharing = {parts: derived(kernel, over[:1], "divided", str(parts)) for parts in PARTS}

    def of(self, function, *more, **how):
        """The kernel derived for a function of `dl`."""
        key = function, more, frozenset(name for name, is_so in how.items() if is_so)
        if key not in self.made:
            self.made[key] = derived(self.kernel, self.over, function, *more, **how)
        return self.made[key]

    def counting(self, function, grid):
        """The kernel that counts what one of these does, and notes what each program touches."""
        return self.of(function, "counted=True", ordered=True, spread=is_spread(grid))

    def programs(self, team, given, grid):
        """The programs of a derived kernel: those of the launch, or one for each tile that these deal out by a loop."""
        return self.tiles.spread(team, given, grid)

    def call(self, args, kwargs, grid):
        """All arguments of a call by name, and the sizes of its grid."""
        if len(args) > len(self.kernel.arg_names):
            raise TypeError(f"`{self.kernel.__name__}` takes {len(self.kernel.arg_names)} arguments, {len(args)} were given")
        by_place = dict(zip(self.kernel.arg_names, args))
        if twice := sorted(by_place.keys() & kwargs):
            raise TypeError(f"`{self.kernel.__name__}` got several values for its argument `{twice[0]}`")
        given = self.defaults | kwargs | by_place
        for over in self.over:
            if over not in given:
                raise TypeError(f"`{self.kernel.__name__}` needs its argument `{over}`")
            matrix = given[over]
            if not getattr(matrix, "symmetric", False):
                raise TypeError(f"`{over}` must be symmetric memory of the team, with all ranks' rows")
            if not matrix.ndim or not matrix.is_contiguous():
                raise ValueError(f"`{over}` must have rows, one behind the other: chunks of them travel")
        return given, grid_sizes(grid, given, {})

    def refuse_shared(self, given):
        """Raises an error if memory that travels is that of another argument, too."""
        for over in self.over:
            begin, end = bounds_of(given[over])
            for name, value in given.items():
                for first, last in map(bounds_of, arrays_in(value)) if name != over else ():
                    if first < end and begin < last:
                        raise ValueError(f"`{name}` and `{over}` are the same memory, which travels while the kernel runs")

    def matrices(self, given):
        """The memory that travels."""
        return [given[name] for name in self.over]

    def own(self, function, words, given, ranks=1):
        """Own arguments of a derived kernel for which a rank's share is one chunk, of one rank everything."""
        own = {}
        for nth, matrix in enumerate(self.matrices(given)):
            shares = Shares(matrix, ranks, 1)
            values = {"words": words, "chunk": shares.elements, "chunks": max(shares.chunks, 1)}
            values |= {"epoch": 1} if function == "arriving" else {}
            own |= {named(f"{function}_{name}", nth): value for name, value in values.items()}
        return own

    def warm(self, words, given, grid):
        """The derived kernel compiled."""
        own = self.own("arriving" if self.is_consumer else "leaving", words, given)
        return self.derived.run(grid=grid, warmup=True, **own, **given)

    def work(self, team, given, grid):
        """The operations of the launch's products, the bytes of all its tensors, its programs, whether most of them access all shares
        of the matrix, and the bytes of large tensors with other rows than the matrix has, which programs of any rows may read."""
        matrix, *_ = self.matrices(given)
        chunks = max(Shares(matrix, team.size, 1).chunks, 1)
        words = team.zeros(chunks + 1, "int64", name="work")
        if self.is_consumer:  # what cannot be derived is an error of that kernel
            self.warm(words, given, launched(grid))
        noted = noted_of(team, grid)
        own = self.own("leaving", words, given, team.size)
        self.counting("leaving", grid).run(grid=grid, program_order=noted, **own, **given)
        team.stream.signal_wait(words, 0, "ge")
        tensors = [value for value in given.values() if hasattr(value, "element_size")]
        size = lambda value: value.numel() * value.element_size()
        again = sum(size(value) for value in tensors if size(value) > CACHE and tuple(value.shape[:1]) != tuple(matrix.shape[:1]))
        first, behind = chunks_of(noted, own["leaving_chunk"], own["leaving_chunks"])
        of_all = 2 * np.sum(behind - first >= chunks) > len(first)
        return [int(words.numpy()[chunks]), sum(map(size, tensors)), math.prod(grid), bool(of_all), again]

    def parts(self, team, given, grid):
        """How many programs share the work of one, in this launch of the kernel as it is: one, or more if these multiply by the same
        instructions, which give the same bits."""
        wanted = parts_for(math.prod(grid), machine_of(team)) if team.size > 1 else []
        if not wanted or self._shares_memory(given):
            return 1
        whole = self.kernel.run(grid=grid, warmup=True, **given)
        key = whole, wanted[0]
        if key not in self.divided:
            self.divided[key] = next((parts for parts in wanted if self._divides(whole, given, grid, parts)), 1)
        return self.divided[key]

    @staticmethod
    def _shares_memory(given):
        """Whether the memory of one argument is that of another, so that programs may read what others write."""
        bounds = sorted(bounds_of(array) for value in given.values() for array in arrays_in(value))
        return any(begin < end for (_, end), (begin, _) in itertools.pairwise(bounds))

    def _divides(self, whole, given, grid, parts):
        of_whole = product_instructions(whole)
        if not of_whole or whole.info["folds"]:
            return False
        try:
            return of_whole == product_instructions(self._divided(parts, given, grid, warmup=True))
        except CompileError:
            return False

    def _divided(self, parts, given, grid, **keywords):
        columns, *others = grid
        return self.sharing[parts].run(grid=(columns * parts, *others), **given, **keywords)

    def launch(self, team, grid, given, keywords, own, matrices, order):
        """With the derived kernel's own arguments, or None: as the kernel is."""
        if own is None:
            grid = launched(grid)
            parts = self.parts(team, given, grid)
            return self._divided(parts, given, grid, **keywords) if parts > 1 else self.kernel.run(grid=grid, **given, **keywords)
        kinds = {"arriving_slice": "sliced", "arriving_chunk": "arriving", "leaving_parts": "summing", "leaving_ready": "updating"}
        kind = next((kind for name, kind in kinds.items() if name in own), "leaving")
        arguments = order | own | given | dict(zip(self.over, matrices))
        how = {"ordered": bool(order), "spread": is_spread(grid)}
        programs = multiprocessors_of(team)
        if how["spread"]:
            programs = min(programs, math.prod(launched(grid)))
        if (kind in DEALT and fills_rounds(math.prod(grid), programs) or how["spread"]) and math.prod(grid) > programs:
            dealt = self.of(kind, dealt=True, **how)
            numbers = dict(zip(("dealt_x", "dealt_y", "dealt_z"), (*grid, 1, 1)))
            with contextlib.suppress(CompileError):  # a kernel that cannot be dealt, as its programs may wait for others, stays as below
                if fills_multiprocessor(dealt.run(grid=(programs,), warmup=True, **numbers, **arguments)):
                    return dealt.run(grid=(programs,), **numbers, **keywords, **arguments)
            if self.is_consumer:  # whose loop stays, where several of its programs may run on a multiprocessor
                how, grid, arguments = {}, launched(grid), own | given | dict(zip(self.over, matrices))
        return self.of(kind, **how).run(grid=grid, **keywords, **arguments)


class Overlap(KernelInterface):
    """`overlap[grid](...)` launches like the kernel. A producer and a consumer are launched by `overlap[grid, grid](arguments, arguments)`,
    two dictionaries. All ranks call it, in the same order, with the matrix `over` in symmetric memory."""

    def __init__(self, producer, consumer, collective, bands, path, slices):
        self.producer, self.consumer, self.collective, self.bands, self.path = producer, consumer, collective, bands, path
        self.slices = slices
        self._exchanges = {}
        self._takes_stream = any("stream" in end.kernel.arg_names for end in (producer, consumer) if end)
        end = consumer or producer
        self.fn, self.__name__, self.arg_names = end.derived, end.kernel.__name__, end.kernel.arg_names  # for decorators

    def _call(self, args, kwargs, grid):
        """The producer's and the consumer's arguments by name and their grids; None for one that is not there."""
        if self.producer is None:
            return None, self.consumer.call(args, kwargs, grid)
        if self.consumer is None:
            return self.producer.call(args, kwargs, grid), None
        if len(args) != 2 or kwargs:
            raise TypeError("an overlapped producer and consumer take two dictionaries, the arguments of each")
        return [end.call((), given, of) for end, given, of in zip((self.producer, self.consumer), args, grid)]

    def _travelling(self, team, produce, consume):
        """The matrices whose rows are exchanged, the first of which decides how."""
        matrix = produce[0][self.producer.over[0]] if self.producer else None
        others = ()
        if self.consumer and self.collective != "reduce_scatter":
            read, *others = self.consumer.matrices(consume[0])
            for name, other in zip(self.consumer.over[1:], others):
                if other.shape[0] != read.shape[0]:
                    rows = f"`{name}` has {other.shape[0]} rows and `{self.consumer.over[0]}` {read.shape[0]}"
                    raise ValueError(f"{rows}: what travels together has equally many")
            if matrix is not None:
                own = Shares(read, team.size, 1).part_of(read, team.rank) if self.collective == "all_gather" else read
                if (matrix.address, matrix.nbytes) != (own.address, own.nbytes):
                    what = "this rank's rows of " if self.collective == "all_gather" else ""
                    raise ValueError(f"`{self.producer.over[0]}` of the producer must be {what}`{self.consumer.over[0]}` of the consumer")
            matrix = read
        if self.collective == "all_to_all" and matrix.shape[0] % team.size:
            raise ValueError(f"all_to_all: {matrix.shape[0]} rows do not divide among {team.size} ranks")
        return matrix, *others

    def _exchange(self, team, produce, consume):
        """What exchanges the rows of such a call, and its replays [collective]."""
        travelling = self._travelling(team, produce, consume)
        if team.size == 1:
            return Alone(), Replays(team)
        key = self._key(team, travelling)
        if key not in self._exchanges:
            refuse_capture(team, (self.consumer or self.producer).kernel)
            self._exchanges[key] = self._made(team, travelling, self._plans(team, travelling, produce, consume)[0])
        return self._exchanges[key]

    @staticmethod
    def _key(team, travelling):
        return team, *((of.address, tuple(of.shape), of.dtype) for of in travelling)

    def _made(self, team, travelling, plan):
        (matrix, shares), *others = divided = [(of, Shares(of, team.size, plan.bands, plan.slices)) for of in travelling]
        if self.collective not in COLLECTIVES["consumer"]:
            everywhere = self.collective == "all_reduce"
            copied = plan.path == "copies"
            exchange = Summing(team, matrix, shares, everywhere, plan.adds) if copied else Adding(team, matrix, shares, everywhere)
        elif plan.path == "loads":
            exchange = Loading(team, divided)
        else:
            exchange = Gathering(team, matrix, shares, self.collective, self.consumer is not None, others)
        exchange.plan = plan
        return exchange, Replays(team)

    def _plans(self, team, travelling, produce, consume):
        """The quickest by the model first, in the order that the first rank has [collective]."""
        matrix, nbytes = travelling[0], sum(of.nbytes for of in travelling)
        ends = zip((self.producer, self.consumer), (produce, consume))
        ends = [(end, call[0], end.programs(team, *call)) for end, call in ends if end]
        for end, given, _ in ends:
            end.refuse_shared(given)
        mine = [end.work(team, *call) for end, *call in ends]
        *work, again = map(max, zip(*(of_end for of_rank in team.gather(mine) for of_end in of_rank)))
        call = Call(self.collective, self.consumer is not None, team.size, nbytes, matrix.itemsize, *work, self.producer is not None)
        call = dataclasses.replace(call, adds=self._adds(team, matrix, produce), again=again)
        call = dataclasses.replace(call, parts=min(end.parts(team, given, launched(grid)) for end, given, grid in ends))
        possible = lambda bands, slices: Shares(matrix, team.size, bands, slices)
        sliced = self.producer is None and self.collective == "all_gather" and len(travelling) == 1
        plans = ranked(call, machine_of(team), self.bands, self.path, possible, self.slices if sliced else 1)
        first = team.gather([[plan.bands, plan.path, plan.slices, plan.adds] for plan in plans])[0]
        return [best(call, machine_of(team), bands, path, possible, slices, adds) for bands, path, slices, adds in first]

    def _adds(self, team, matrix, produce):
        """How a producer of sums may add the peers' parts in its stores, the same on all ranks, or nothing [collective]."""
        if self.collective != "reduce_scatter":
            return ""
        shares = Shares(matrix, team.size, 1)
        sums = Sums(team, matrix, shares, MockTensor(matrix.dtype), MockTensor(np.dtype("int64")))
        launches = Launches(team, shares.words)
        given, grid = produce
        leaving = {"leaving_words": launches.words, "leaving_chunk": shares.elements, "leaving_chunks": shares.chunks}
        launches.of(
            self.producer,
            leaving,
            given,
            self.producer.programs(team, given, grid),
            shares.row_elements,
            np.zeros(max(shares.chunks, 1)),
            last=False,
            sums=sums,
        )
        return launches.adds.way if launches.adds else ""

    def run(self, *args, grid, warmup=False, **kwargs):
        if not warmup:
            return self._run(args, kwargs, grid)
        if not self._takes_stream:
            kwargs.pop("stream", None)
        ends = zip((self.producer, self.consumer), self._call(args, kwargs, grid))
        return [end.warm(MockTensor(np.dtype("int64")), *call) for end, call in ends if end][-1]

    def tune(self, *args, grid, **kwargs):
        """Such a call by each plan a few times, on all ranks together; calls with this matrix are by the quickest from then on. Each begins
        with the same values, of which there are copies so long: afterwards all arrays are as one call leaves them. On simulated ranks
        it is a call as the model says [collective]."""
        return self._run(args, kwargs, grid, True)

    def _run(self, args, kwargs, grid, tune=False):
        team, taken = current_team(), self._takes_stream
        stream = None if taken else kwargs.pop("stream", None)
        produce, consume = self._call(args, kwargs, grid)
        calls = [call for call in (produce, consume) if call]
        values = [value for given, _ in calls for value in given.values()]
        main = main_stream(team, stream, values)

        def launch(exchange, replays):
            def queue(on):
                keywords = {} if on is main and stream is None or taken else {"stream": on}
                counts, *launches = self._launches(team, exchange, produce, consume, keywords)
                return exchange.call(on, *launches, counts)

            return queue(main) if taken else replays.run(main, calls, queue)

        if tune and can_time(team):
            refuse_capture(team, (self.consumer or self.producer).kernel)
            travelling = self._travelling(team, produce, consume)
            made = [self._made(team, travelling, plan) for plan in self._plans(team, travelling, produce, consume)]
            with Kept(team, main, values) as kept:
                self._exchanges[self._key(team, travelling)] = quickest(team, main, launch, made, kept, not waits_for_host(team, values))
        return launch(*self._exchange(team, produce, consume))

    def explain(self, *args, grid, **kwargs):
        """The plan of such a call on this rank, as text: what goes where, and the timeline that the model predicts [collective]."""
        produce, consume = self._call(args, kwargs, grid)
        team = current_team()
        exchange, _ = self._exchange(team, produce, consume)
        counts, _ = (
            exchange.count(self.producer, produce[0], self.producer.programs(team, *produce)) if produce and team.size > 1 else (None, {})
        )
        places = [f"behind `{self.producer.kernel.__name__}`"] if produce else []
        places += [f"ahead of `{self.consumer.kernel.__name__}`"] if consume else []
        over = "`, `".join((self.consumer or self.producer).over)
        return "\n".join([f"{self.collective} {' and '.join(places)}: {exchange.text(over, counts)}", exchange.plan.text()])

    def _launches(self, team, exchange, produce, consume, keywords):
        """How many signals the producer adds to each word, and two functions, or None, that launch the ends with the derived kernels' own
        arguments and matrices, or with None as they are."""

        def launch(end, call, order):
            if call is None:
                return None
            given, grid = call
            end.refuse_shared(given)
            return lambda own, matrices: end.launch(team, grid, given, keywords, own, matrices, order)

        if exchange.plan.path == "copies":
            produce = produce and (produce[0], self.producer.programs(team, *produce))
            consume = consume and (consume[0], self.consumer.programs(team, *consume))
        counts, leaving = exchange.count(self.producer, *produce) if produce else (None, {})
        arriving = exchange.place(self.consumer, *consume) if consume else {}
        return counts, launch(self.producer, produce, leaving), launch(self.consumer, consume, arriving)


def can_time(team):
    """Whether the time of a call says anything."""
    return team._session.is_gpu and team.size > 1


def quickest(team, stream, launch, made, kept, holds):
    """The exchange with its replays whose calls take least on the slowest rank [collective]. Each begins with what has been `kept`."""
    times = []
    with RankClock(team, stream) as clock:
        for one in made:
            for _ in range(WARM_CALLS):
                kept.restore()
                launch(*one)
            mine = []
            for _ in range(TIMED_CALLS):
                kept.restore()
                mine.append(clock.microseconds(lambda _, one=one: launch(*one), holds=holds))
            times.append(max(team.gather(statistics.median(mine))))
    return made[times.index(min(times))]


class Alone:
    """A team of one rank: nothing travels."""

    plan = Plan(1, "none", ())

    def text(self, over, counts):
        return "nothing travels"

    def count(self, *_):
        return None, {}

    def place(self, *_):
        return {}

    def call(self, main, produce, consume, counts):
        results = [launch(None, None) for launch in (produce, consume) if launch]
        return results[-1]


def overlap(*, collective, over, consumer=None, producer=None, bands=None, path=None, slices=None):
    """Kernels that compute while a collective exchanges the rows of their argument `over`, derived from unchanged plain kernels.
    all_gather or all_to_all brings what `consumer` reads: waits stand before its loads. reduce_scatter and all_reduce sum what
    `producer` writes, all_to_all exchanges it: signals stand behind its stores. Programs are in the order in which rows arrive, or
    in which peers need them. With both, `over` names the argument of each, and the consumer begins as the producer's rows come; with a
    consumer alone it may name several, like the keys and values of attention.
    `bands`: at most so many chunks of a rank's rows travel on their own. `path`: sums are made of what copy engines bring
    while the kernel runs ("copies"), or of what one kernel behind it loads from the peers ("loads"); rows that a consumer reads are copied
    while it runs, too, or loaded by one kernel ahead of it. `slices`: rows that all_gather brings to a consumer alone travel in at most so
    many slices of their columns, for which it waits one by one as its loop comes to them. Where one is not given, the machine's model
    chooses in the first call for a matrix. A kernel of which the compiler cannot tell what it accesses there is an error at the line. One
    under `autotune` or `heuristics` stays under it: among ranks on GPUs, configurations are timed as overlapped calls."""
    ends = {side: kernel for side, kernel in (("producer", producer), ("consumer", consumer)) if kernel is not None}
    sides = " and ".join(ends)
    if len(ends) == 1 and isinstance(ends.get(sides), (Autotuner, Heuristics)):
        inside = overlap(collective=collective, over=over, bands=bands, path=path, slices=slices, **{sides: ends[sides].fn})
        return ends[sides].around(inside)
    if not ends:
        raise ValueError("a kernel is overlapped: a `consumer`, a `producer` or both")
    if collective not in COLLECTIVES[sides]:
        wanted = ", ".join(map(repr, COLLECTIVES[sides]))
        raise ValueError(f"`collective` is {collective!r}; with a `{sides}` it is one of {wanted}")
    loads = collective in ("reduce_scatter", "all_reduce") or (collective == "all_gather" and producer is None)
    paths = ["copies", "loads"] if loads else ["copies"]
    if path not in (None, *paths):
        raise ValueError(f"`path` is {path!r}; with {collective} it is one of {', '.join(map(repr, paths))}")
    for name, most in (("bands", bands), ("slices", slices)):
        if most is not None and most < 1:
            raise ValueError(f"`{name}` is {most}, at least 1 is needed")
    if slices is not None and (collective, sides) != ("all_gather", "consumer"):
        raise ValueError("only rows that all_gather brings to a `consumer` alone travel in `slices`")
    names = (over,) * len(ends) if isinstance(over, str) else tuple(over)
    if len(names) != len(ends) and sides != "consumer":
        raise ValueError(f"`over` names {len(names)} arguments of {len(ends)} kernels")
    made = {}
    for (side, kernel), of_kernel in zip(ends.items(), [names] if sides == "consumer" else [(name,) for name in names]):
        if not isinstance(kernel, JITFunction):
            raise TypeError(f"`{side}` must be a kernel under `tandem.jit`, not `{type(kernel).__name__}`")
        for name in of_kernel:
            if name not in kernel.arg_names:
                raise ValueError(f"`{kernel.__name__}` has no argument `{name}`")
        made[side] = _End(kernel, of_kernel, side == "consumer")
    return Overlap(made.get("producer"), made.get("consumer"), collective, bands, path, slices)
