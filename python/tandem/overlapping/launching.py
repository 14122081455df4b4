"""The stream of a call, and its replay from a CUDA graph."""

import re

import numpy as np

from .. import _tandem
from ..gpu.arguments import is_descriptor
from ..gpu.compiled import CompiledKernel
from ..gpu.device import devices
from ..gpu.rank_launch import kind_of, stream_of
from ..gpu.session import is_capturing
from ..host.arrays import Tensor
from ..kernel.source import Source

MOST_GRAPHS, MOST_KEYS = 64, 4096  # of one exchange
REGISTERS = 65536  # of a multiprocessor


def main_stream(team, given, values):
    """The stream on which a launch with these arguments goes."""
    if not team._session.is_gpu:
        return given or team.queue or team.stream
    stream = stream_of(team, given, values)
    if given is None:
        team._session.order_launch(team, stream)
    return stream


def refuse_capture(team, kernel):
    """Raises an error in a graph capture, where what a first call does is not possible."""
    if team._session.is_gpu and is_capturing():
        raise RuntimeError(
            f"the overlapped `{kernel.__name__}` has not run with these matrices before this graph capture; call it once before"
        )


def number_told(value):
    """What tells an argument that is no array from others."""
    return type(value), value if isinstance(value, Source) else repr(value)


def _layout(descriptor):
    return tuple(descriptor.shape), tuple(descriptor.strides), tuple(descriptor.block_shape), str(getattr(descriptor, "padding", ""))


def numbers_of(given):
    """What a kernel can know of these arguments before it reads memory, wherever that is."""

    def known(value):
        if is_descriptor(value):
            return known(value.base), *_layout(value)
        if isinstance(value, tuple):
            return tuple(map(known, value))
        return str(value.dtype) if hasattr(value, "dtype") and not isinstance(value, np.generic) else number_told(value)

    return tuple((name, known(value)) for name, value in sorted(given.items()))


def _told(value):
    """What a graph holds of an argument."""
    if is_descriptor(value):
        return _told(value.base), *_layout(value)
    if isinstance(value, Tensor):
        return value.address, value.shape, value.dtype, value.strides
    if hasattr(value, "data_ptr") and hasattr(value, "shape"):
        return value.data_ptr(), tuple(value.shape), value.dtype, tuple(value.stride())
    return id(value) if hasattr(value, "shape") else number_told(value)  # of an array of the host no graph is made


def product_instructions(compiled):
    """The kinds of instructions by which a kernel for a GPU multiplies, whatever their columns are; none of a simulated one."""
    if not isinstance(compiled, CompiledKernel):
        return set()
    return {re.sub(r"(m\d+)n\d+", r"\1", word) for word in re.findall(r"\b(?:wg)?mma\.\S+", compiled.asm["ptx"])}


def fills_multiprocessor(compiled):
    """Whether a multiprocessor has room for one block of the kernel and no other; true of a simulated one."""
    if not isinstance(compiled, CompiledKernel):
        return True
    shared = devices()[compiled.device]["max_shared_bytes"]
    threads = compiled.info["threads"]
    return 2 * compiled.shared > shared or 2 * threads * compiled.n_regs > REGISTERS


def waits_for_host(team, values):
    """Whether arrays of the host are among the arguments, which a call copies and waits for."""
    return any(kind_of(team, value) is None for value in values)


class Replays:
    """Calls of one exchange. On a GPU the second call with the same arguments is captured, and from then on the host queues one graph;
    the first has compiled and loaded the kernels. A call within another's capture becomes a part of that graph."""

    def __init__(self, team):
        self.team, self.graphs, self.once, self.stream = team, {}, set(), None

    def run(self, main, calls, queue):
        """`calls`: arguments by name, and a grid, of each kernel; `queue(stream)` queues them with their exchange on a stream."""
        session = self.team._session
        if not session.is_gpu or session.is_traced(self.team.world_rank) or is_capturing():
            return queue(main)
        key = tuple(self._key(given, grid) for given, grid in calls)
        if key not in self.graphs:
            if not self._is_second(key, calls):
                return queue(main)
            self._make_room()
            self.graphs[key] = self._captured(queue)
        graph, compiled = self.graphs[key]
        session.note_queued(self.team, main)
        main.pending = True
        _tandem.gpu_graph_launch(self.team.device, main.cuda_stream, graph)
        return compiled

    def _is_second(self, key, calls):
        """True if there has been such a call. Never of one with arrays of the host, which it copies and waits for."""
        if waits_for_host(self.team, [value for given, _ in calls for value in given.values()]):
            return False
        if key in self.once:
            return True
        if len(self.once) >= MOST_KEYS:
            self.once.clear()
        self.once.add(key)
        return False

    @staticmethod
    def _key(given, grid):
        return grid, *((name, _told(value)) for name, value in sorted(given.items()))

    def _captured(self, queue):
        self.stream = self.stream or self.team.new_stream()
        device, handle = self.team.device, self.stream.cuda_stream
        _tandem.gpu_graph_begin(device, handle)
        try:
            compiled = queue(self.stream)
        finally:
            graph = _tandem.gpu_graph_end(device, handle)
        return graph, compiled

    def _make_room(self):
        if len(self.graphs) < MOST_GRAPHS:
            return
        self.team.synchronize()
        for graph, _ in self.graphs.values():
            _tandem.gpu_graph_destroy(self.team.device, graph)
        self.graphs.clear()
