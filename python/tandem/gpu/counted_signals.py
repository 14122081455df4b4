"""Launches whose signals the compiler counts before they run: of kernels that name the number of a call."""

import json

from .. import _tandem
from ..errors import CompileError
from ..host.arrays import Tensor
from ..host.call import bind_call, grid_sizes
from ..host.memory import host_array
from ..kernel.element_types import type_word
from .arguments import Arguments, is_cuda_array


class _Numbers(Arguments):
    """A call's arguments by type; the addresses of arrays are zeros."""

    def takes(self, value):
        return isinstance(value, Tensor) or is_cuda_array(value) or host_array(value) is not None

    def memory(self, name, value):
        if isinstance(value, Tensor):
            return type_word(value.dtype), 0, 1
        return (super().memory(name, value)[0] if is_cuda_array(value) else host_array(value).word()), 0, 1


def check_signals(kernel, team, grid, args, kwargs):
    """Raises the CompileError at the line of a signal or a wait that is wrong in such a launch on all ranks. Each is counted once."""
    arguments, options, _ = bind_call(kernel, args, kwargs)
    call = _Numbers(kernel)
    for parameter in kernel.parameters:
        call.add(parameter, arguments[parameter.name])
    numbers = [word - 2**64 if word >= 2**63 else word for word in call.words]
    ranks, sizes, options = team._session.ranks, grid_sizes(grid, arguments, options), {**options, "target": "sim", "debug": True}
    key = (json.dumps([call.specs, options, ranks, sizes]), *call.builder.items)
    deciding, counted = kernel.counted.get(key, ((), ()))
    if tuple(numbers[i] for i in deciding) in counted:
        return
    request = kernel.request(call.specs, options, call.builder, launch={"ranks": ranks, "grid": sizes, "numbers": numbers})
    try:
        deciding = json.loads(_tandem.emit(request, "signals"))
    except RuntimeError as error:
        raise CompileError(str(error).rstrip("\n")) from None
    _, counted = kernel.counted.setdefault(key, (deciding, set()))
    counted.add(tuple(numbers[i] for i in deciding))
