"""The operators of one rank, made when first needed and kept: one for each operation, columns, inner size, type and layout of `b`, for as
many rows as were asked for, rounded up."""

import functools

import torch

from .. import _tandem, ops
from ..gpu import element_word

_LEAST_ROWS = 128


@functools.cache
def number(dtype):
    """The C ABI's number of an element type."""
    return ops._NUMBER[element_word(dtype)]


_CLASSES = {"ag_gemm": ops.AllGatherGemm, "gemm_rs": ops.GemmReduceScatter, "gemm_ar": ops.GemmAllReduce, "all_gather": ops.AllGather,
            "reduce_scatter": ops.ReduceScatter, "all_reduce": ops.AllReduce}
_TAKES_SYMMETRIC_OUT = ("all_gather", "all_reduce")


def create(team, operation, max_m, n, k, dtype, transposed):
    made = _CLASSES[operation]
    if operation == "all_reduce":
        return made(team, max_m, dtype)
    return made(team, max_m, n, dtype) if k is None else made(team, max_m, n, k, dtype, b_transposed=transposed)


class Made:
    """An operator, what it has run, and the stream it ran on last."""

    def __init__(self, operator, max_m):
        self.operator, self.max_m = operator, max_m
        self.ran = set()
        self.stream = None


class Operators:
    def __init__(self, team, device):
        self.team, self.device = team, device
        self._made, self._outgrown = {}, []  # graphs may have captured what is too small for later calls
        self._streams = {}

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
        words = (m, number(out_dtype)) if k is not None else (m, 0) if operation in _TAKES_SYMMETRIC_OUT else (m,)
        launch, op, stream = made.operator._launch, made.operator._op, self._stream(handle)
        self.team._session.guarded(lambda _: launch(op, stream, *addresses, *words))

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
        if key in self._made:
            self._outgrown.append(self._made[key])
        self._made[key] = Made(create(self.team, operation, max_m, n, k, element_word(dtype), transposed), max_m)
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
        made = [*self._outgrown, *self._made.values()]
        self._made, self._outgrown = {}, []
        for entry in made:
            entry.operator.close()
