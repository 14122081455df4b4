"""The operators of one rank, made when first needed and kept: one for each operation, columns, inner size, type and layout of `b`, for as
many rows as were asked for, rounded up."""

import torch

from .. import _tandem, ops
from ..gpu import element_word

_LEAST_ROWS = 128


def _number(dtype):
    return ops._NUMBER[element_word(dtype)]


def create(team, operation, max_m, n, k, dtype, transposed):
    if operation == "all_reduce":
        return ops.AllReduce(team, max_m, dtype)
    if k is None:
        return {"all_gather": ops.AllGather, "reduce_scatter": ops.ReduceScatter}[operation](team, max_m, n, dtype)
    made = {"ag_gemm": ops.AllGatherGemm, "gemm_rs": ops.GemmReduceScatter, "gemm_ar": ops.GemmAllReduce}[operation]
    return made(team, max_m, n, k, dtype, **({"b_transposed": 1} if transposed else {}))


def _here(team):
    """The team for the calling thread: autograd runs gradients on threads of its own, while the rank's waits for them."""
    return type(team)(team._session, team.world_rank, team.members, team.id)


class Made:
    """An operator, what it has run, and the stream it ran on last."""

    def __init__(self, operator, max_m):
        self.operator, self.max_m = operator, max_m
        self.ran = set()
        self.stream = None


class Operators:
    def __init__(self, team, device):
        self.team, self.device = team, device
        self._made = {}
        self._streams = {}
        self._numbers = {d: _number(d) for d in (torch.float16, torch.bfloat16, torch.float32)}

    def run(self, operation, m, n, k, dtype, transposed, addresses, out_dtype):
        """Queues a call on PyTorch's current stream. `addresses`: of the inputs and the output."""
        key = (operation, n, k, dtype, transposed)
        made = self._made.get(key)
        handle = torch.cuda.current_stream(self.device).cuda_stream
        if made is None or m > made.max_m:
            made = self._make(key, m)
        if (m, out_dtype) not in made.ran:
            self._first(made, key, m, out_dtype)
        if handle != made.stream:
            self._change_stream(made, handle)
        self._launch(made.operator, self._stream(handle), addresses, m, out_dtype)

    def _launch(self, operator, stream, addresses, m, out_dtype):
        launch, op, number = operator._launch, operator._op, self._numbers[out_dtype]
        self.team._session.guarded(lambda _: launch(op, stream, *addresses, m, number))

    def _stream(self, handle):
        """The session's number of a stream."""
        found = self._streams.get(handle)
        if found is None:
            found = self._streams[handle] = self.team._session.guarded(_tandem.adopt_stream, self.team.world_rank, handle)
        return found

    def _make(self, key, m):
        operation, n, k, dtype, transposed = key
        self._refuse_capture(key, m)
        max_m = max(_LEAST_ROWS, 1 << (m - 1).bit_length())
        self._made[key] = Made(create(_here(self.team), operation, max_m, n, k, element_word(dtype), transposed), max_m)
        return self._made[key]

    def _first(self, made, key, m, out_dtype):
        """The first call of a size loads kernels, which a capture does not allow."""
        self._refuse_capture(key, m)
        made.ran.add((m, out_dtype))

    def _refuse_capture(self, key, m):
        operation, n, k, dtype, transposed = key
        if torch.cuda.is_current_stream_capturing():
            sizes = f"{m}, {n}" + (f", {k}" if k is not None else "")
            layout = "" if k is None or transposed else ", weight=False"
            raise RuntimeError(f"`{operation}` of this size has not run before this graph capture; before it, call it once or "
                               f"tandem.torch.prepare(\"{operation}\", {sizes}, dtype={dtype}{layout}) on every rank")

    def _change_stream(self, made, handle):
        """An operator serves one stream at a time, so another stream waits for the last one's work."""
        if torch.cuda.is_current_stream_capturing():
            return
        if made.stream is not None:
            torch.cuda.current_stream(self.device).wait_stream(torch.cuda.ExternalStream(made.stream, device=self.device))
        made.stream = handle

    def close(self):
        torch.cuda.synchronize(self.device)
        made, self._made = self._made, {}
        for entry in made.values():
            entry.operator.close()
