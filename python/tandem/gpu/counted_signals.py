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

    def _aligned(self, spec, value, parameter):
        """What divides a number decides no signal."""
        return spec

    def memory(self, name, value):
        if isinstance(value, Tensor):
            return type_word(value.dtype), 0, 1
        return (super().memory(name, value)[0] if is_cuda_array(value) else host_array(value).word()), 0, 1


def _as_they_stand(kernel, ranks, grid, args, kwargs):
    """(what decides how a launch is specialized, its integers by name), from the arguments as they stand; None of a launch with others
    than arrays and numbers, or with a grid that is a function. Constants and options are numbers that decide."""
    if not isinstance(grid, tuple):
        return None
    parts, integers = [ranks, grid], {}
    for name, value in (*zip(kernel.arg_names, args), *kwargs.items()):
        if isinstance(value, Tensor):
            parts.append((name, value.dtype))
        elif type(value) is int and name in kernel.number_names:
            integers[name] = value
            parts.append((name, value == 1, -(2**31) <= value < 2**31))
        elif type(value) in (int, float, bool, str):
            parts.append((name, type(value), value))
        else:
            return None
    return tuple(parts), integers


def check_signals(kernel, team, grid, args, kwargs):
    """Raises the CompileError at the line of a signal or a wait that is wrong in such a launch on all ranks. Each is counted once."""
    ranks = team._session.ranks
    quickly = _as_they_stand(kernel, ranks, grid, args, kwargs)
    names, seen = kernel.counted.get(quickly[0], ((), ())) if quickly else ((), ())
    if quickly and tuple(quickly[1].get(name) for name in names) in seen:
        return
    arguments, options, _ = bind_call(kernel, args, kwargs)
    call, names = _Numbers(kernel), []  # of each word, whose it is
    for parameter in kernel.parameters:
        call.add(parameter, arguments[parameter.name])
        names += [parameter.name] * (len(call.words) - len(names))
    numbers = [word - 2**64 if word >= 2**63 else word for word in call.words]
    sizes, options = grid_sizes(grid, arguments, options), {**options, "target": "sim", "debug": True}
    key = (json.dumps([call.specs, options, ranks, sizes]), *call.builder.items)
    deciding, counted = kernel.counted.get(key, ((), ()))
    if tuple(numbers[i] for i in deciding) not in counted:
        request = kernel.request(call.specs, options, call.builder, launch={"ranks": ranks, "grid": sizes, "numbers": numbers})
        try:
            deciding = json.loads(_tandem.emit(request, "signals"))
        except RuntimeError as error:
            raise CompileError(str(error).rstrip("\n")) from None
        _, counted = kernel.counted.setdefault(key, (deciding, set()))
        counted.add(tuple(numbers[i] for i in deciding))
    if quickly:  # all but the integers is in the key, and arrays have no addresses
        names = tuple(names[i] for i in deciding if names[i] in quickly[1])
        kernel.counted.setdefault(quickly[0], (names, set()))[1].add(tuple(quickly[1][name] for name in names))
