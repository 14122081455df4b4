"""How a derived call is carried out, by the machine's model: in how many chunks a share travels, and on which path. Microseconds."""

import dataclasses

from ..tune import machine_profile

STREAM_US = 1  # from the end of one stream's work to the begin of another's that waits for it


@dataclasses.dataclass(frozen=True)
class Call:
    """What the model knows of a call: its collective, the bytes of the matrix and of an element, how many operations the products of a rank
    have, the bytes that its kernel reads and writes, and how many programs it has."""

    collective: str
    consumed: bool
    ranks: int
    bytes: int
    itemsize: int
    operations: int
    moved: int
    programs: int


@dataclasses.dataclass(frozen=True)
class Plan:
    """`spans`: what happens from when to when."""

    bands: int
    path: str
    spans: tuple

    @property
    def microseconds(self):
        return max(end for _, _, end in self.spans)

    def text(self):
        """The predicted timeline."""
        if not self.spans:
            return ""
        lines = [f"{begin:9.1f} {end:9.1f}  {what}" for what, begin, end in self.spans]
        return "\n".join(["predicted, in microseconds:", *lines, f"{self.microseconds:9.1f} in all"])


def machine_of(team):
    """The machine whose time a simulated run models, or this one's."""
    named = None if team._session.is_gpu else team._session.machine
    return machine_profile.profile() if named is None else machine_profile.machine(named) if isinstance(named, str) else named


def kernel_time(call, machine):
    """The kernel by itself, and one of its programs."""
    rate = machine.gemm_fp8_tflops if call.itemsize == 1 else machine.gemm_bf16_tflops if call.itemsize == 2 else machine.gemm_fp32_tflops
    whole = max(call.operations / (rate * 1e6), call.moved / (machine.memory_gbps * 1e3))
    rounds = -(-call.programs // int(machine.multiprocessors))
    return whole, whole / max(rounds, 1)


def _copies(call, machine, bands, begin, written):
    """When each chunk is at its receiver: `written(i)` says when the i-th may leave."""
    part = call.bytes / call.ranks / bands / (machine.copy_gbps * 1e3)
    now, there = begin, []
    for chunk in range((call.ranks - 1) * bands):
        now = max(now, written(chunk)) + machine.copy_us + part
        there.append(now)
    return there


def ahead(call, machine, bands):
    """Rows arrive while a kernel reads them, which begins with its own."""
    whole, program = kernel_time(call, machine)
    begin = machine.launch_us + STREAM_US
    there = _copies(call, machine, bands, STREAM_US + machine.signal_write_us + machine.signal_round_trip_us, lambda _: 0)
    share = whole / call.ranks
    now, spans = begin + share, [("the kernel's own rows", begin, begin + share)]
    for i, time in enumerate(there):
        spans.append((f"chunk {i + 1} of the peers' rows arrives", there[i - 1] if i else STREAM_US, time))
        now = max(now, time + max(program - share / bands, 0)) + share / bands
    spans.append(("the kernel's other rows", begin + share, now))
    end = max([now, *there]) + STREAM_US + 2 * machine.signal_write_us
    return Plan(bands, "copies", (*spans, ("signals are put back", max([now, *there]), end)))


def sum_time(call, machine):
    """The owner's sum of all parts of its rows, which it loads, and its store."""
    return machine.launch_us + call.bytes / call.ranks * (call.ranks + 1) / (machine.memory_gbps * 1e3)


def behind(call, machine, bands):
    """Rows leave while a kernel writes them, which ends with its own; then they are added."""
    whole, program = kernel_time(call, machine)
    begin, chunk = machine.launch_us, whole / call.ranks / bands
    there = _copies(call, machine, bands, begin, lambda i: begin + max(chunk * (i + 1), program))
    spans = [("the kernel", begin, begin + whole)]
    for i, time in enumerate(there):
        left = begin + max(chunk * (i + 1), program)
        spans.append((f"chunk {i + 1} for the peers leaves", max(left, there[i - 1] if i else 0), time))
    last = max([begin + whole + machine.signal_write_us, *there])
    if call.collective == "all_to_all":
        end = last + machine.signal_write_us + call.bytes / (machine.local_copy_gbps * 1e3)
        return Plan(bands, "copies", (*spans, ("what came is put in its place", last, end)))
    # The last chunk is added when it is there, the others before.
    end = max(last + sum_time(call, machine) / bands, begin + whole + sum_time(call, machine))
    if call.collective == "all_reduce":
        end += call.bytes / call.ranks * (call.ranks - 1) / _store(machine) + machine.signal_round_trip_us
    return Plan(bands, "copies", (*spans, ("sums", begin + whole, end)))


def _store(machine):
    return max(machine.store_gbps.values()) * 1e3


def loads(call, machine):
    """One kernel behind the other loads the peers' parts of its rows and adds them."""
    whole, _ = kernel_time(call, machine)
    begin = machine.launch_us
    share = call.bytes / call.ranks * (call.ranks - 1)
    end = begin + whole + machine.launch_us + machine.signal_round_trip_us + 2 * machine.signal_fence_us
    end += share / (max(machine.load_gbps.values()) * 1e3)
    if call.collective == "all_reduce":
        end += share / _store(machine)
    return Plan(1, "loads", (("the kernel", begin, begin + whole), ("peers' parts are loaded and added", begin + whole, end)))


def best(call, machine, bands=None, path=None, possible=lambda bands: bands):
    """The plan that is quickest by the model, among those with the given number of chunks and path. `possible`: how many chunks a share
    really has of so many wanted."""
    if call.collective in ("all_gather", "all_to_all") and call.consumed:
        make = ahead
    else:
        make = behind
    counts = sorted({possible(count) for count in ([bands] if bands else [1, 2, 4, 8])})
    plans = [make(call, machine, count) for count in counts] if path != "loads" else []
    if call.collective in ("reduce_scatter", "all_reduce") and (path == "loads" or not (path or bands)):
        plans.append(loads(call, machine))
    return min(plans, key=lambda plan: plan.microseconds)
