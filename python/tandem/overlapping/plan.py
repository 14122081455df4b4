"""How a derived call is carried out, by the machine's model: in how many chunks a share travels, and on which path. Microseconds."""

import dataclasses
import heapq

from ..gpu.device import devices
from ..tune import machine_profile

STREAM_US = 1  # from the end of one stream's work to the begin of another's that waits for it
# Of a call with copies that a graph replays, beside what it moves, multiplies and tells: what calls on two H200s took longer than that,
# whose rows arrive and whose rows leave.
CALL_US, LEAVING_US = 24, 12
# A product's rate, of the profile's: a short one's, in how many microseconds it would lose that, and the least; of 200 to 2800 us, H200s.
QUICK, POWER_US, SLOW = 1.08, 17000, 0.9
SLICED = 1.01  # how much quicker a plan with slices must be: its loop asks in each step whether it must wait
PARTS = 4, 2  # programs that share the work of one, where multiprocessors would be idle otherwise
CACHE = 40e6  # bytes that programs read again from the second cache
HELD = 0.3  # how much of the time that memory takes for what is read anew products take longer: two H200s, 2 and 4 chunks of 1024 rows
MOST_PROGRAMS = 4096  # of a launch that are placed one by one; more are taken as so many larger ones


@dataclasses.dataclass(frozen=True)
class Call:
    """What the model knows of a call: its collective, the bytes of the matrix and of an element, how many operations the products of a rank
    have, the bytes that its kernel reads and writes, how many programs it has, and at which ends of the collective kernels are.
    `whole`: programs go through all shares of the matrix, as those of attention through all keys."""

    collective: str
    consumed: bool
    ranks: int
    bytes: int
    itemsize: int
    operations: int
    moved: int
    programs: int
    whole: bool = False
    produced: bool = False
    parts: int = 1  # programs that share the work of one where nothing travels while the kernel runs
    adds: str = ""  # how the producer may add the peers' parts in its stores (Sums)
    again: int = 0  # bytes of what programs of any rows read, which each chunk of rows reads anew


@dataclasses.dataclass(frozen=True)
class Plan:
    """`spans`: what happens from when to when."""

    bands: int
    path: str
    spans: tuple
    slices: int = 1
    parts: int = 1
    adds: bool = False

    @property
    def microseconds(self):
        return max(end for _, _, end in self.spans)

    def text(self):
        """The predicted timeline."""
        if not self.spans:
            return ""
        lines = [f"{begin:9.1f} {end:9.1f}  {what}" for what, begin, end in self.spans]
        together = [f"{self.parts} programs share the work of each"] if self.parts > 1 else []
        return "\n".join([*together, "predicted, in microseconds:", *lines, f"{self.microseconds:9.1f} in all"])


def machine_of(team):
    """The machine whose time a simulated run models, or this one's."""
    named = None if team._session.is_gpu else team._session.machine
    return machine_profile.profile() if named is None else machine_profile.machine(named) if isinstance(named, str) else named


def multiprocessors_of(team):
    """How many programs run at once, of those that fill a multiprocessor each."""
    return devices()[team.device]["multiprocessors"] if team._session.is_gpu else int(machine_of(team).multiprocessors)


def rate(call, machine):
    """Of the call's products: short ones are quicker than long ones, which meet the power's limit. Those between which a program of all
    rows does something else are neither."""
    usual = machine.gemm_fp8_tflops if call.itemsize == 1 else machine.gemm_bf16_tflops if call.itemsize == 2 else machine.gemm_fp32_tflops
    count, places = max(call.programs, 1), int(machine.multiprocessors)
    length = call.operations / count * places * -(-count // places) / (usual * 1e6)
    return usual if call.whole else usual * max(QUICK - length / POWER_US, SLOW)


def parts_for(programs, machine):
    """In how many parts each program of a launch that leaves multiprocessors idle may be divided, the most first."""
    return [parts for parts in PARTS if programs * parts <= machine.multiprocessors]


def programs(call, machine, begin=0.0, ready=lambda share: [0.0], sums=lambda share: (0.0, 0.0), tells=0.0):
    """When the kernel's programs end, one after the other: each begins when a multiprocessor is free, and goes through slices of what it
    reads when each is there: at `ready` of the share of the launch that is before it. In a round of few programs each is faster. `sums`:
    from when on a program adds, and how long; `tells`: what it takes to tell of what it has stored."""
    count = max(min(call.programs, MOST_PROGRAMS), 1)
    places = int(machine.multiprocessors)
    operations, moved = call.operations / count / (rate(call, machine) * 1e6), call.moved / count * 1e-3
    anew = call.again / count * 1e-3
    between = tells + (machine.gemm_tile_us if call.operations else 0)
    first = begin + (machine.gemm_fill_us if call.operations else 0)
    free, ends = [first] * min(places, count), []
    for i in range(count):
        active = min(places, count - i // places * places)
        multiplies = operations * max(active, places / machine.gemm_alone_ratio)
        loads = moved * max(active / machine.memory_gbps, 1 / machine.program_gbps)
        held = HELD * anew * active / machine.memory_gbps
        slices, now = ready(i / count), heapq.heappop(free)
        for there in slices:
            now = max(now, there) + (max(multiplies, loads) + held) / len(slices)
        there, adding = sums(i / count)
        ends.append(max(now + between, there) + adding)
        heapq.heappush(free, ends[-1])
    return ends


def alone(call, machine, begin):
    """When the kernel ends that nothing travels beside."""
    return max(programs(dataclasses.replace(call, programs=call.programs * call.parts, again=0), machine, begin))


def _copies(call, machine, bands, begin, written, slices=1, rate=1.0):
    """When each slice of each chunk is at its receiver: `written(i)` says when the i-th chunk may leave. `rate`: of a copy of columns."""
    part = call.bytes / call.ranks / bands / slices / (machine.copy_gbps * 1e3 * rate)
    now, there = begin, []
    for chunk in range((call.ranks - 1) * bands):
        now, of_chunk = max(now, written(chunk)), []
        for _ in range(slices):
            now += machine.copy_us + part
            of_chunk.append(now)
        there.append(of_chunk)
    return there


def ahead(call, machine, bands, slices=1, width=0):
    """Rows arrive while a kernel reads them, which begins with its own. `width`: the bytes of a row of a slice."""
    call = dataclasses.replace(call, again=call.again * (call.ranks * bands - 1))
    begin = machine.launch_us + STREAM_US
    rate = min(max(0.5 + width / 10e3, 0.6), 0.97) if slices > 1 else 1
    of_chunks = _copies(call, machine, bands, STREAM_US + machine.signal_write_us + machine.signal_round_trip_us, lambda _: 0, slices, rate)
    there = [slices_there[-1] for slices_there in of_chunks]
    if call.whole:  # the last rank comes to its own rows last; what programs of the first round have waited for is there
        first = machine.multiprocessors / max(call.programs, 1)
        ready = lambda share: [*there, *[0] * bands] if share < first else [there[-1]]
    else:
        ready = lambda share: [0] if share * call.ranks < 1 else of_chunks[int((share * call.ranks - 1) * bands)]
    ends = programs(call, machine, begin, ready)
    last = max(ends)
    own = last if call.whole else max(ends[: -(-len(ends) // call.ranks)])
    spans = [("the kernel" if call.whole else "the kernel's own rows", begin, own)]
    for i, time in enumerate(there):
        spans.append((f"chunk {i + 1} of the peers' rows arrives", there[i - 1] if i else STREAM_US, time))
    if not call.whole:
        spans.append(("the kernel's other rows", min(own, last), last))
    end = max([last, *there]) + STREAM_US + 2 * machine.signal_write_us + CALL_US
    return Plan(bands, "copies", (*spans, ("signals are put back", max([last, *there]), end)), slices)


def loads_ahead(call, machine):
    """One kernel loads the peers' rows, and the kernel is behind it."""
    there = machine.launch_us + _meeting(machine) + call.bytes / call.ranks * (call.ranks - 1) / _load(machine)
    begin = there + machine.launch_us
    end = alone(call, machine, begin)
    return Plan(1, "loads", (("peers' rows are loaded", machine.launch_us, there), ("the kernel", begin, end)), parts=call.parts)


def sum_time(call, machine):
    """The owner's sum of all parts of its rows, which it loads, and its store, in a kernel that has begun."""
    return call.bytes / call.ranks * (call.ranks + 1) / (machine.memory_gbps * 1e3)


def behind(call, machine, bands, adds=False):
    """Rows leave while a kernel writes them, which ends with its own; then they are added, or as it ends, if it `adds` itself."""
    begin, chunks = machine.launch_us, call.ranks * bands
    call = dataclasses.replace(call, again=call.again * (chunks - 1))
    ends = programs(call, machine, begin, tells=machine.tile_fence_us)
    written = [max(ends[: -(-len(ends) * (i + 1) // chunks)]) + machine.copy_turn_us for i in range(chunks)]
    there = [time for (time,) in _copies(call, machine, bands, begin, written.__getitem__)]
    if adds:
        # The parts of a chunk of own rows are there when the last peer's is; as long as the way takes here, it takes there.
        of_own = there[-bands:]
        adding = call.bytes / max(call.programs, 1) * (call.ranks - 1) / (machine.part_add_gbps * 1e3) if call.adds == "summing" else 0
        own = lambda share: share * call.ranks - (call.ranks - 1)
        sums = lambda share: (of_own[int(own(share) * bands)], adding) if own(share) >= 0 else (0.0, 0.0)
        ends = programs(call, machine, begin, sums=sums, tells=machine.tile_fence_us)
    last = max(ends)
    spans = [("the kernel", begin, last)]
    for i, time in enumerate(there):
        spans.append((f"chunk {i + 1} for the peers leaves", max(written[i], there[i - 1] if i else 0), time))
    done = max([last + machine.signal_write_us, *there])
    if call.collective == "all_to_all":
        end = done + machine.signal_write_us + CALL_US + call.bytes / (machine.local_copy_gbps * 1e3)
        return Plan(bands, "copies", (*spans, ("what came is put in its place", done, end)))
    # The last chunk is added when it is there, the others before.
    end = done if adds else max(done + sum_time(call, machine) / bands, last + sum_time(call, machine)) + machine.launch_us
    end += LEAVING_US
    if call.collective == "all_reduce":
        end += call.bytes / call.ranks * (call.ranks - 1) / _store(machine) + machine.signal_round_trip_us
    return Plan(bands, "copies", (*spans, ("sums", last, end)), adds=adds)


def _store(machine):
    return max(machine.store_gbps.values()) * 1e3


def _load(machine):
    return max(machine.load_gbps.values()) * 1e3


def _meeting(machine):
    """Programs of all ranks tell each other that they have come, and that they are done."""
    return machine.signal_round_trip_us + 2 * machine.signal_fence_us


def loads(call, machine):
    """One kernel behind the other loads the peers' parts of its rows and adds them, or it is AllReduce, in one flight without meetings."""
    begin = STREAM_US
    last = alone(call, machine, begin)
    share = call.bytes / call.ranks * (call.ranks - 1)
    end = last + STREAM_US + share / _load(machine)
    if call.collective == "all_reduce":
        end += machine.signal_round_trip_us + share / _store(machine)
    else:
        end += _meeting(machine)
    return Plan(1, "loads", (("the kernel", begin, last), ("peers' parts are loaded and added", last, end)), parts=call.parts)


def ranked(call, machine, bands=None, path=None, possible=None, slices=1, adds=None):
    """The plans with the given number of chunks, path, slices, and who adds, the quickest by the model first. None: it may be any.
    `possible`: how a matrix is really divided in so many chunks and slices."""
    possible = possible or Division
    make = ahead if call.collective in ("all_gather", "all_to_all") and call.consumed else behind
    ways = {(count, 1) for count in ([bands] if bands else [1, 2, 4, 8])} if slices in (None, 1) else set()
    if slices != 1 and (slices or call.operations):
        ways |= {(count, pieces) for count in ([bands] if bands else [1, 2]) for pieces in ([slices] if slices else [4, 8])}
    divided = {(of.bands, of.slices): of for of in (possible(*way) for way in sorted(ways))} if path != "loads" else {}
    more = lambda of: (of.slices, of.columns * call.itemsize) if of.slices > 1 else ()
    plans = [make(call, machine, of.bands, *more(of)) for of in divided.values()]
    if call.adds:
        plans += [behind(call, machine, of.bands, adds=True) for of in divided.values()]
    if path == "loads" or not (path or bands or slices not in (None, 1)):
        if call.collective in ("reduce_scatter", "all_reduce"):
            plans.append(loads(call, machine))
        elif call.collective == "all_gather" and not call.produced:
            plans.append(loads_ahead(call, machine))
    plans = [plan for plan in plans if adds in (None, plan.adds)]
    return sorted(plans, key=lambda plan: plan.microseconds * (SLICED if plan.slices > 1 else 1))


@dataclasses.dataclass(frozen=True)
class Division:
    """Chunks of a share, and slices of so many columns."""

    bands: int
    slices: int
    columns: int = 4096


def best(*given, **more):
    """The quickest of them."""
    return ranked(*given, **more)[0]
