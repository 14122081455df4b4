"""The operators of one rank, made when first needed and kept: one for each operation, columns, inner size, type and layout of `b`, for as
many rows as were asked for, rounded up. Where each rank has rows of its own, the most of a rank is exact: it says where rows land."""

import functools

import torch

from .. import _tandem, ops
from ..kernel.element_types import element_word

_LEAST_ROWS = 128
_MOST_KNOWN = 4096  # kinds of calls

# The handle of a device's current stream, without the object around it. PyTorch has it where it is built for CUDA.
current_handle = getattr(torch._C, "_cuda_getCurrentRawStream", None)


@functools.cache
def number(dtype):
    """The C ABI's number of an element type."""
    return ops.NUMBER[element_word(dtype)]


@functools.cache
def has_own_rows(operation):
    return ops.number(ops.TABLES[operation], "own_rows") is not None


def create(team, operation, sizes, dtype, transposed, options=()):
    layout = {"b_transposed": True} if transposed else {}
    return ops.CLASSES[operation](team, *sizes, dtype, **layout, **dict(options))


class Made:
    """An operator, the calls that it has run, and the stream that it ran on last."""

    def __init__(self, operator, max_m):
        self.operator, self.max_m = operator, max_m
        self.has_type = operator is not None and ops.number(operator.table, "type") is not None
        self.ran = set()
        self.stream, self.handle = None, None


class Ready:
    """What queues a call but for its addresses: the operator, the numbers, and who keeps the stream."""

    def __init__(self, made, user, numbers):
        self.op, self.user, self.numbers = made.operator._op, user, numbers


class Operators:
    def __init__(self, team, device):
        self.team, self.device, self.index = team, device, device.index
        self._made, self._outgrown = {}, []  # graphs may have captured what is too small for later calls
        self._known = {}
        self._streams = {}
        self._sharing = Made(None, 0)  # the operators with memory in common serve one stream at a time together

    def known(self, key, check):
        """`check()`, a call's checks, which raise, and what follows from them, done once for calls that are alike: of one `key`. Done
        anew once an operator is made, so that all ranks take the same one."""
        try:
            found = self._known.get(key)
        except TypeError:  # what is not hashable is not a call's
            return check()
        if found is None:
            found = check()
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[key] = found
        return found

    def run(self, operation, sizes, dtype, transposed, addresses, numbers, out_dtype, options=()):
        """Queues a call on PyTorch's current stream, as `ready` and `queue` do."""
        self.queue(self.ready(operation, sizes, dtype, transposed, numbers, out_dtype, options), addresses)

    def ready(self, operation, sizes, dtype, transposed, numbers, out_dtype, options=()):
        """The operator of a call, made where there is none yet. `sizes`: those that it must be made for; `numbers`: of the call, but for
        the output's type."""
        m, *rest = sizes
        key = (operation, *(sizes if has_own_rows(operation) else rest), dtype, transposed, options)
        made = self._made.get(key)
        if made is None or m > made.max_m:
            made = self._make(key, m)
        if (m, out_dtype) not in made.ran:
            self._first(made, key, m, out_dtype)
        numbers = [*numbers, number(out_dtype)] if made.has_type else list(numbers)
        return Ready(made, self._sharing if ("shared", True) in options else made, numbers)

    def queue(self, ready, addresses):
        """Queues a call on PyTorch's current stream. `addresses`: of the inputs and the output."""
        handle, user, numbers = current_handle(self.index), ready.user, ready.numbers
        if handle != user.handle:
            self._change_stream(user, handle)
        stream = self._streams.get(handle)
        if stream is None:
            stream = self._streams[handle] = self.team._session.guarded(_tandem.adopt_stream, self.team.world_rank, handle)
        self.team._session.guarded(lambda _: _tandem.op_run(ready.op, stream, addresses, len(addresses), numbers, len(numbers)))

    def _make(self, key, m):
        operation, *rest, dtype, transposed, options = key
        self._refuse_capture(key, m)
        max_m = max(_LEAST_ROWS, 1 << (m - 1).bit_length())
        if has_own_rows(operation):
            max_m, *rest = rest
        if key in self._made:
            self._outgrown.append(self._made[key])
        self._known.clear()
        self._made[key] = Made(create(self.team, operation, (max_m, *rest), element_word(dtype), transposed, options), max_m)
        return self._made[key]

    def _first(self, made, key, m, out_dtype):
        """The first call of a size loads kernels, which a capture does not allow."""
        self._refuse_capture(key, m)
        made.ran.add((m, out_dtype))

    def _refuse_capture(self, key, m):
        operation, *rest, dtype, transposed, options = key
        rest = rest[has_own_rows(operation) :]
        if torch.cuda.is_current_stream_capturing():
            sizes = ", ".join(map(str, (m, *(rest or (1,)))))
            layout = "" if len(rest) < 2 or transposed else ", weight=False"
            raise RuntimeError(
                f"`{operation}` of this size has not run before this graph capture; before it, call it once or "
                f'tandem.torch.prepare("{operation}", {sizes}, dtype={dtype}{layout}) on every rank'
            )

    def _change_stream(self, made, handle):
        """An operator serves one stream at a time, so another stream waits for the last one's work."""
        if torch.cuda.is_current_stream_capturing():
            return
        stream = torch.cuda.current_stream(self.device)
        if made.stream is not None:
            stream.wait_stream(made.stream)
        made.stream, made.handle = stream, handle

    def close(self):
        torch.cuda.synchronize(self.device)
        made = [*self._outgrown, *self._made.values()]
        self._made, self._outgrown, self._known = {}, [], {}
        for entry in made:
            entry.operator.close()
