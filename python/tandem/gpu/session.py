"""A run on GPUs: the devices of its ranks, and its order with PyTorch's streams and tensors."""

import json
import math
import sys

from .. import _tandem
from ..host.session import Session
from ..host.team import Stream
from ..kernel.element_types import DTYPE_OF, element_word
from . import nvshmem
from .arguments import is_cuda_array, letter_of
from .device import rank_targets
from .device_array import DeviceTensor
from .streams import torch_stream


def device_count():
    """(how many GPUs there are, why none can be used)."""
    try:
        return len(json.loads(_tandem.gpu_devices())), ""
    except RuntimeError as error:
        return 0, str(error)


def check_devices(ranks, devices=None):
    """Raises one line with both numbers when the ranks do not get a GPU each."""
    count, reason = device_count()
    if devices is None and count < ranks or not count:
        need = "1 rank on a GPU needs 1 GPU" if ranks == 1 else f"{ranks} ranks on GPUs need {ranks} GPUs"
        counted = f"{need}, this machine has {count}"
        raise RuntimeError(f"{counted}: {reason}" if reason else counted)
    if devices is None:
        return list(range(ranks))
    devices = [int(d) for d in devices]
    if len(devices) != ranks:
        raise ValueError(f"`devices` names {len(devices)} GPUs for {ranks} ranks")
    wrong = [d for d in devices if not 0 <= d < count]
    if wrong:
        raise ValueError(f"`devices` names GPU {wrong[0]}, this machine has {count}")
    if len(set(devices)) < ranks:
        raise ValueError(f"`devices` is {devices}: each rank needs a GPU of its own")
    return devices


def milliseconds(wait_timeout):
    """The option of a session for a time in seconds, or None for no end."""
    if wait_timeout is None:
        return 0
    if isinstance(wait_timeout, bool) or not isinstance(wait_timeout, (int, float)) or not 0 < wait_timeout < 1e9:
        raise ValueError(f"`wait_timeout` is a number of seconds above 0, or None, not {wait_timeout!r}")
    return math.ceil(wait_timeout * 1000)


class GpuSession(Session):
    """Ranks on GPUs: threads of this process, or, with `rank`, one rank of a run of several processes."""

    tensor_type = DeviceTensor
    is_gpu = True
    any_thread = True  # PyTorch's threads of autograd launch too

    def __init__(self, ranks, devices=None, wait_timeout=None, rank=None, rendezvous="", transport=None, trace=False):
        if isinstance(ranks, bool) or not isinstance(ranks, int):
            raise TypeError(f"`ranks` must be an integer, not {ranks!r}")
        if ranks < 1:
            raise ValueError(f"`ranks` must be 1 to 1024, not {ranks}")
        options = {"target": "cuda", "ranks": ranks, "wait_timeout_ms": milliseconds(wait_timeout)}
        if rank is None:
            self.devices = dict(enumerate(check_devices(ranks, devices)))
        else:
            self.devices = {rank: devices}
            options |= {"rank": rank, "rendezvous": rendezvous}
        if transport is not None:
            options["transport"] = transport
        if trace:
            options["trace"] = True
        nvshmem.announce()
        self._targets, self._adopted = {}, {}
        self._default, self._made = {}, {}  # by rank: the default stream, the handles of the streams made here
        self._busy = {}  # (rank, whether it is PyTorch's) -> the stream that was given work since the other kind was last ordered after it
        super().__init__(ranks, {**options, "devices": list(self.devices.values())})

    def device_of(self, rank):
        return self.devices[rank]

    def enter(self, rank):
        super().enter(rank)
        if "+" in self.target_of(rank):
            rank_targets[self.devices[rank]] = self.target_of(rank)
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_available():
            torch.cuda.set_device(self.devices[rank])

        self._made[rank] = []
        self._default[rank] = self._make_stream(rank)

    def _make_stream(self, rank):
        """(index, handle) of a new CUDA stream, which the session takes as one of the rank's."""
        handle = _tandem.gpu_stream_create(self.devices[rank])
        self._made[rank].append(handle)
        return self.guarded(_tandem.adopt_stream, rank, handle), handle

    def _destroy_streams(self, rank):
        for handle in self._made.pop(rank, ()):
            _tandem.gpu_stream_destroy(self.devices[rank], handle)

    def leave(self, rank):
        super().leave(rank)
        self._forget(rank)

    def fail(self, rank, why):
        super().fail(rank, why)
        self._forget(rank)

    def _forget(self, rank):
        rank_targets.pop(self.devices[rank], None)
        self._destroy_streams(rank)

    def default_stream(self, team):
        return Stream(team, *self._default[team.world_rank])

    def new_stream(self, team):
        return Stream(team, *self._make_stream(team.world_rank))

    def target_of(self, rank):
        """Returns the target of the rank's kernels."""
        if rank not in self._targets:
            self._targets[rank] = _tandem.session_target(self.handle, rank)
        return self._targets[rank]

    def is_traced(self, rank):
        return "+trace" in self.target_of(rank)

    def takes(self, array):
        return letter_of(array) in ("t", "i") and is_cuda_array(array)

    def shape_of(self, array):
        return tuple(array.shape if hasattr(array, "shape") else array.__cuda_array_interface__["shape"])

    def element_type(self, array):
        return DTYPE_OF[_word_of(array)]

    def memory_of(self, team, array, word):
        """(address, owner) of a CUDA array's elements in row-major order. They must be of the type."""
        self.adopt_framework(team)
        if _word_of(array) != word:
            raise TypeError(f"an array of `{_word_of(array)}` on a GPU is copied into a tensor of `{word}`")
        if hasattr(array, "contiguous"):
            array = array.contiguous()
            return array.data_ptr(), array
        interface = array.__cuda_array_interface__
        if interface.get("strides") is not None:
            raise ValueError("only contiguous arrays are copied on a GPU")
        return interface["data"][0], array

    def adopt(self, team, stream):
        """A CUDA stream, or its handle, as a stream of the team."""
        if isinstance(stream, Stream):
            owner = stream.owner()
            if owner is None or owner._session is not self or owner.world_rank != team.world_rank:
                raise ValueError("the stream is another rank's or another run's")
            return stream
        handle = getattr(stream, "cuda_stream", stream)
        if isinstance(handle, bool) or not isinstance(handle, int):
            raise TypeError(f"`stream` is a `{type(stream).__name__}`, not a stream of the team, a CUDA stream or its handle")
        key = team.world_rank, handle
        if key not in self._adopted:
            self._adopted[key] = team._call(_tandem.adopt_stream, handle)
        return Stream(team, self._adopted[key], handle)

    def adopt_framework(self, team):
        """PyTorch's current stream on the rank's GPU as a stream of the team; None when PyTorch is not in use."""
        current = torch_stream()
        return self.adopt(team, current(team.device)) if current else None

    def order_framework(self, team):
        """Lets PyTorch's current stream go on only after the work given to the team's default stream."""
        stream = self.adopt_framework(team)
        if stream is not None:
            self._order(team, stream, False)

    def note_queued(self, team, stream):
        if stream.index == team.stream.index:
            self._busy[team.world_rank, False] = stream

    def note_idle(self, team):
        for frameworks in (False, True):
            self._busy.pop((team.world_rank, frameworks), None)

    def order_launch(self, team, stream):
        """A launch for which no stream was named: PyTorch's stream and the team's default one keep the order of the calls."""
        frameworks = stream.index != team.stream.index
        self._order(team, stream, not frameworks)
        self._busy[team.world_rank, frameworks] = stream

    def _order(self, team, stream, after_framework):
        before = self._busy.pop((team.world_rank, after_framework), None)
        if before is not None and not is_capturing():
            event = team._call(_tandem.record_event, before.index)
            team._call(_tandem.wait_event, stream.index, event)


def _word_of(array):
    return element_word(array.dtype if hasattr(array, "data_ptr") else array.__cuda_array_interface__["typestr"])


def is_capturing():
    """True while PyTorch captures its current stream."""
    capturing = getattr(getattr(sys.modules.get("torch"), "_C", None), "_cuda_isCurrentStreamCapturing", None)
    return bool(capturing and capturing())
