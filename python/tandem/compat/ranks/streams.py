"""`torch.cuda` for simulated ranks where PyTorch has only a CPU: streams and events are the simulator's, the device is one of the machine
that it models."""

import contextlib
import functools
import time
import types

from ...host.simulated_gpu import SIMULATED_GPU
from .rank import state

_FIRST_HANDLE = 0x1000


class Stream:
    """A stream of the calling rank. `queue` is the team's stream."""

    def __init__(self, device=None, priority=0, stream_id=None, device_index=None, device_type=None, queue=None):
        me = state()
        self.queue = queue or me.team.new_stream()
        self.priority = priority
        self.cuda_stream = _FIRST_HANDLE + self.queue.index if self.queue.index else 0
        self.stream_id = self.cuda_stream
        self.device_index = me.local_rank
        me.streams[self.cuda_stream] = self

    @property
    def device(self):
        import torch

        return torch.device("cuda", self.device_index)

    @property
    def busy(self):
        """Returns true if something may be queued that nobody has waited for."""
        return self.queue.pending

    def synchronize(self):
        self.queue.synchronize()
        me = state()
        if not any(stream.busy for stream in me.streams.values()):
            me.team._held.clear()

    def settle(self):
        """Waits for the stream if something is queued on it."""
        if self.busy:
            self.synchronize()

    def wait_stream(self, other):
        self.wait_event(other.record_event())

    def wait_event(self, event):
        if event.reached is not None:
            self.queue.wait_event(event.reached)

    def record_event(self, event=None):
        event = event or Event()
        event.record(self)
        return event

    def query(self):
        self.synchronize()
        return True

    @staticmethod
    def priority_range():
        return 0, -1

    def __cuda_stream__(self):
        return 0, self.cuda_stream

    def __eq__(self, other):
        return isinstance(other, Stream) and other.queue is self.queue

    def __hash__(self):
        return hash(self.cuda_stream)

    def __enter__(self):
        self._scope = stream(self)
        self._scope.__enter__()
        return self

    def __exit__(self, *failure):
        return self._scope.__exit__(*failure)

    def __repr__(self):
        return f"<torch.cuda.Stream device=cuda:{self.device_index} cuda_stream={self.cuda_stream:#x}>"


class ExternalStream:
    """The stream that a handle stands for."""

    def __new__(cls, handle, device=None):
        return state().stream(handle)


class Event:
    """An event of a stream. A simulated rank has no clock: `elapsed_time` is what the host took, and says nothing of a GPU."""

    def __init__(self, enable_timing=False, blocking=False, interprocess=False, external=False):
        self.reached, self.at, self.stream = None, None, None

    def record(self, stream=None):
        self.stream = stream or state().current
        self.reached = self.stream.queue.record_event()
        self.at = time.perf_counter()

    def wait(self, stream=None):
        (stream or state().current).wait_event(self)

    def synchronize(self):
        if self.stream is not None:
            self.stream.synchronize()

    def query(self):
        self.synchronize()
        return True

    def elapsed_time(self, end):
        if self.at is None or end.at is None:
            raise RuntimeError("both events must be recorded before their times are asked for")
        end.synchronize()
        return max(end.at - self.at, 1e-6) * 1e3


@contextlib.contextmanager
def stream(chosen):
    """Work queues on `chosen` meanwhile; None changes nothing."""
    me = state()
    before = me.current
    if chosen is not None:
        me.use(chosen)
    try:
        yield chosen
    finally:
        me.use(before)


def begin(me):
    """Gives the rank its default stream."""
    me.use(Stream(queue=me.team.stream))
    me.default = me.current


def synchronize(device=None):
    state().synchronize()


def properties(device=None):
    """The machine that the simulator models, in the form of `torch.cuda.get_device_properties`."""
    gpu = SIMULATED_GPU
    return types.SimpleNamespace(
        name=gpu["name"],
        major=gpu["major"],
        minor=gpu["minor"],
        multi_processor_count=gpu["multiprocessors"],
        total_memory=gpu["memory_bytes"],
        warp_size=gpu["warp_size"],
        L2_cache_size=gpu["l2_bytes"],
        max_threads_per_block=1024,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=gpu["max_registers"],
        shared_memory_per_block=48 << 10,
        shared_memory_per_block_optin=gpu["max_shared_bytes"],
        shared_memory_per_multiprocessor=gpu["max_shared_bytes"] + 1024,
        clock_rate=gpu["clock_khz"],
        memory_clock_rate=gpu["memory_clock_khz"],
        memory_bus_width=gpu["memory_bus_bits"],
        gcnArchName="",
        is_integrated=False,
        is_multi_gpu_board=False,
        uuid=f"simulated-{state().local_rank}",
    )


def _no_graphs(*_, **__):
    raise RuntimeError("simulated ranks have no CUDA graphs: run the script with its graphs turned off")


def _no_more(*_, **__):
    """What has no meaning without a GPU does nothing."""


@contextlib.contextmanager
def _on(device=None):
    yield


def _sleep(cycles):
    """Time is the schedule's business on simulated ranks."""


_MEMORY = (
    "memory_allocated max_memory_allocated memory_reserved max_memory_reserved reset_peak_memory_stats reset_max_memory_allocated "
    "empty_cache ipc_collect set_per_process_memory_fraction"
).split()


def _of_its_own(function):
    """A function that is no other's: PyTorch's compiler knows functions of `torch.cuda` by identity."""
    return functools.wraps(function)(lambda *args, **kwargs: function(*args, **kwargs))


def install(torch):
    """Makes `torch.cuda` speak of simulated ranks."""
    cuda = torch.cuda
    names = _names(torch)
    classes = {name: value for name, value in names.items() if isinstance(value, type)}
    cuda.__dict__.update({name: _of_its_own(value) for name, value in names.items()}, **classes)
    cuda.streams.Stream, cuda.streams.Event, cuda.streams.ExternalStream = Stream, Event, ExternalStream
    for name in ("range_push", "range_pop", "mark", "range_start", "range_end"):
        setattr(cuda.nvtx, name, _of_its_own(_no_more))
    cuda.nvtx.range = lambda *_, **__: contextlib.nullcontext()


def _names(torch):
    """What `torch.cuda` has for simulated ranks, by name."""
    return dict(
        {name: lambda *_, **__: 0 for name in _MEMORY},
        Stream=Stream,
        ExternalStream=ExternalStream,
        Event=Event,
        stream=stream,
        StreamContext=stream,
        set_stream=lambda chosen: state().use(chosen),
        current_stream=lambda device=None: state().current,
        default_stream=lambda device=None: state().default,
        synchronize=synchronize,
        is_available=lambda: True,
        is_initialized=lambda: True,
        init=_no_more,
        device_count=lambda: state().local_size,
        current_device=lambda: state().local_rank,
        set_device=_no_more,
        device=_on,
        device_of=_on,
        get_device_properties=properties,
        get_device_capability=lambda device=None: (SIMULATED_GPU["major"], SIMULATED_GPU["minor"]),
        get_device_name=lambda device=None: SIMULATED_GPU["name"],
        can_device_access_peer=lambda device, peer: True,
        mem_get_info=lambda device=None: (SIMULATED_GPU["memory_bytes"],) * 2,
        memory_stats=lambda device=None: {},
        clock_rate=lambda device=None: SIMULATED_GPU["clock_khz"] // 1000,
        manual_seed=_no_more,
        manual_seed_all=_no_more,
        get_rng_state=lambda device=None: torch.get_rng_state(),
        set_rng_state=lambda new, device=None: torch.set_rng_state(new),
        is_current_stream_capturing=lambda: False,
        is_bf16_supported=lambda *_, **__: True,
        CUDAGraph=_no_graphs,
        graph=_no_graphs,
        graph_pool_handle=_no_graphs,
        make_graphed_callables=_no_graphs,
        _sleep=_sleep,
    )
