"""Operations whose sizes follow from the shapes of several inputs."""

import functools
import json

import torch

from ..kernel.element_types import element_word
from ..ops.function import SolvedFunction, names_in
from ..ops.table import TABLES, check_given, dimension, extras, flags_of, is_solved, type_of
from . import world as worlds
from .arguments import check_contiguous, check_shape, like
from .shapes import rows_of_rank

_TYPES = {"i32": torch.int32, "fp32": torch.float32, "bf16": torch.bfloat16, "fp8e4nv": torch.float8_e4m3fn}


class Solved(SolvedFunction):
    """A function with the shapes of its calls."""

    def __init__(self, table):
        super().__init__(table)
        in_place = [t["name"] for t in table["tensors"] if t["in_place"]]
        self.kinds = {name: f"Tensor({name}!)" if name in in_place else "Tensor" for name in (*self.inputs, *self.more)}

    def values(self, shapes, told, options, ranks):
        """The table's names, from the inputs' shapes and what is told: a dimension with one unknown name gives it."""
        values = flags_of(self.table, options)
        values.update({name: value for name, value in zip(self.told, told) if value is not None})
        dimensions = []
        for t, shape in zip(self.tensors, shapes):
            if len(shape) != len(t["shape"]):
                raise ValueError(f"`{self.name}`: `{t['name']}` has {len(shape)} dimensions, [{', '.join(t['shape'])}] is needed")
            dimensions += zip(t["shape"], shape)
        for _ in self.table["sizes"]:
            for text, size in dimensions:
                unknown = self._unknown(text, values)
                if len(unknown) == 1:
                    self._solve(values, unknown.pop(), text, size, ranks)
        for name in [*self.numbers, *(s["name"] for s in self.told_sizes)]:
            if name not in values:
                raise ValueError(f"`{self.name}` needs `{name}`")
        return values

    def _unknown(self, text, values):
        """Names without a value, but for those that a flag that is not set stands beside."""
        flags = flags_of(self.table)
        terms = [term for term in map(names_in, text.split("+")) if all(values[name] for name in term & set(flags))]
        return set().union(*terms) - set(values)

    def _solve(self, values, name, text, size, ranks):
        if text == f"own({name})":
            values[name] = size * ranks
            return
        known = {**dict.fromkeys(names_in(text), 0), **values}  # what has no value stands beside a flag that is not set
        none, one = (dimension(text, {**known, name: value}, ranks, 0, rows_of_rank) for value in (0, 1))
        if one != none:
            values[name] = (size - none) // (one - none)

    def shape_of(self, tensor, values, world):
        return tuple(dimension(text, values, world.size, world.rank, rows_of_rank) for text in tensor["shape"])

    def sizes(self, values):
        told = tuple(values[s["name"]] for s in self.told_sizes)
        return told if len(told) == len(self.table["sizes"]) else (max(values[n] for n in self.numbers), *told)

    def type_of(self, tensor, x, options):
        own = element_word(x.dtype)
        word = type_of(tensor, own, [name for name, value in options.items() if value])
        return x.dtype if word == own else _TYPES[word]

    def empty(self, tensor, values, options, x, world):
        return x.new_empty(self.shape_of(tensor, values, world), dtype=self.type_of(tensor, x, options))

    def makes(self, options, tensor):
        """Whether a call with these options has the result beside the output."""
        return not tensor["given_by"] or bool(options.get(tensor["given_by"]))


OPERATIONS = {name: Solved(table) for name, table in TABLES.items() if is_solved(table)}


@functools.lru_cache(maxsize=4096)
def _known(name, shapes, told, options, ranks):
    return OPERATIONS[name].values(shapes, told, dict(options), ranks)


def values_of(name, tensors, told, options, ranks):
    """The same of calls whose shapes are numbers, found once for each; of a trace, which may have symbols, each time."""
    shapes = [t.shape for t in tensors]
    if torch.compiler.is_compiling():
        return OPERATIONS[name].values(shapes, told, options, ranks)
    return _known(name, tuple(shapes), tuple(told), tuple(options.items()), ranks)


def fake(name, tensors, told, options):
    operation, world = OPERATIONS[name], worlds.of(tensors[0])
    values = operation.values([t.shape for t in tensors], told, json.loads(options), world.size)
    return operation.empty(operation.output, values, json.loads(options), tensors[0], world)


def results(name, tensors, told, options):
    """Memory for the output and what is written beside it, None where this call has none."""
    operation, world = OPERATIONS[name], worlds.of(tensors[0])
    values = values_of(name, tensors, told, options, world.size)
    wanted = [operation.output, *(t if operation.makes(options, t) else None for t in operation.written)]
    return [None if t is None else operation.empty(t, values, options, tensors[0], world) for t in wanted]


def _check(operation, tensor, x, world, shape, name, wanted):
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"`{operation.name}`: `{name}` is a `{type(x).__name__}`, not a tensor")
    if x.device != world.device:
        raise ValueError(f"`{operation.name}`: `{name}` is on {x.device}, this rank's device is {world.device}")
    if x.dtype != wanted:
        raise TypeError(f"`{operation.name}`: `{name}` is {x.dtype}, {wanted} is needed")
    check_contiguous(operation.name, name, x)
    check_shape(operation.name, name, x, shape)


def call(name, world, tensors, more, told, options, out=None, flags=()):
    """Checks the arguments, allocates the output and queues the operator. `more`: tensors that only some calls have, None where this
    one has not; `options`: JSON; `flags`: those of the call that are set."""
    key = (name, options, tuple(told), tuple(flags), like((*tensors, *more, out)))
    shape, dtype, ready = world.operators.known(key, lambda: _checked(name, world, tensors, more, told, json.loads(options), out, flags))
    if out is None:
        out = tensors[0].new_empty(shape, dtype=dtype)
    world.operators.queue(ready, [0 if t is None else t.data_ptr() for t in (*tensors, *more, out)])
    return out


def _checked(name, world, tensors, more, told, given, out, flags):
    """The output's shape and type, and what queues the call."""
    operation = OPERATIONS[name]
    chosen = [option for option, value in given.items() if value]
    for tensor, x in zip(operation.tensors, tensors):
        if not isinstance(x, torch.Tensor):
            raise TypeError(f"`{name}`: `{tensor['name']}` is a `{type(x).__name__}`, not a tensor")
    values = values_of(name, tensors, told, given, world.size)
    all_given = list(zip(operation.tensors, tensors))
    for tensor, x in zip(extras(operation.table), more):
        if check_given(operation.table, tensor, element_word(tensors[0].dtype), chosen, x):
            all_given.append((tensor, x))
    for tensor, x in all_given:
        wanted = operation.type_of(tensor, tensors[0], given)
        _check(operation, tensor, x, world, operation.shape_of(tensor, values, world), tensor["name"], wanted)
    shape, dtype = operation.shape_of(operation.output, values, world), operation.type_of(operation.output, tensors[0], given)
    if out is not None:
        _check(operation, operation.output, out, world, shape, "out", dtype)
    numbers = [*(values[n] for n in operation.numbers), *(int(flag in flags) for flag in operation.flags)]
    passed = tuple(sorted(given.items()))
    return shape, dtype, world.operators.ready(name, operation.sizes(values), tensors[0].dtype, False, numbers, dtype, passed)
