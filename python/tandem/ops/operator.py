"""The class of an operator, made from its table: for NumPy arrays and tensors of a team."""

import dataclasses
import json
import math
import operator
import pathlib

from .. import _tandem
from ..host.arrays import Tensor
from ..host.team import Stream
from ..kernel.element_types import ELEMENT_TYPES, as_dtype, type_word
from .signature import OF_TUNE, call, description, description_of_call
from .table import check_given, counts_of, flags_of, inputs, is_free, shape_of, type_of

NUMBER = {e.word: i for i, e in enumerate(ELEMENT_TYPES)}  # of tandem::DType, for the types that it has
# The kernel language's words, which NumPy reads otherwise: its "i8" has 8 bytes.
_INTEGERS = {e.word: e.framework for e in ELEMENT_TYPES if not e.is_float and e.word != "i1"}


@dataclasses.dataclass(frozen=True)
class Tuned:
    """The result of `tune`; times are microseconds of a call on the slowest rank."""

    config: dict  # may be given to another operator
    predicted: float  # by the model
    measured: float  # 0 on simulated ranks, which have no time
    untuned: float  # measured, of what the model would have taken
    tried: int  # 0: it was known


def _shape_of(array, name):
    if not hasattr(array, "shape") or not hasattr(array, "dtype"):
        raise TypeError(f"`{name}` must be an array or a tensor of the team, not `{type(array).__name__}`")
    return tuple(array.shape)


def _integer(name, value):
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"`{name}` must be an integer, not {value!r}") from None


class Operator:
    """Creation, calls, `tune` and `close` are collective: every rank makes the same operators in one order, with one config. Not so
    those of one rank alone, which `table["local"]` says: attention of a rank's own heads, a product of its own experts."""

    table: dict

    def _make(self, team, sizes, dtype, options):
        self.team = team
        self.dtype = type_word(as_dtype(_INTEGERS.get(dtype, dtype) if isinstance(dtype, str) else dtype))
        self._sizes = {size["name"]: _integer(size["name"], value) for size, value in zip(self.table["sizes"], sizes)}
        vars(self).update(self._sizes)
        self._options = {name: value for name, value in options.items() if value}
        words = (self.table["name"], list(self._sizes.values()), len(self._sizes), NUMBER[self.dtype], json.dumps(options))
        self._op = team._call_own(_tandem.op_create, *words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _values(self, arrays, given):
        """The numbers of a call by name, each checked as far as shapes follow from it."""
        values, most = {**flags_of(self.table, self._options), **self._sizes}, next(iter(self._sizes.values()))
        for n in self.table["numbers"]:
            name, kind = n["name"], n["kind"]
            if kind == "elements":
                values[name] = math.prod(_shape_of(arrays[0], inputs(self.table)[0]["name"]))
            elif kind == "counts":
                counts = given[name] if hasattr(given[name], "__len__") else _integer(name, given[name])
                values[name] = counts_of(counts, self.team.size)
            elif kind != "type":
                values[name] = _integer(name, given[name])
            least = 0 if kind == "own_rows" else 1
            if kind in ("rows", "own_rows") and not least <= values[name] <= most:
                raise ValueError(f"`{name}` is {values[name]}, the operator was made for {least} to {most}")
        return values

    def _numbers(self, values, given, out):
        """Returns the numbers as the C ABI takes them."""
        listed = []
        for n in self.table["numbers"]:
            if n["kind"] == "type":
                listed.append(NUMBER[type_word(out.dtype)])
            elif n["kind"] == "counts" and hasattr(given[n["name"]], "__len__"):
                listed += [count for row in values[n["name"]] for count in row]
            else:
                listed.append(given[n["name"]] if n["kind"] == "counts" else values[n["name"]])
        return listed

    def _input(self, argument, array, shape):
        name = argument["name"]
        if _shape_of(array, name) != (shape or tuple(array.shape)):
            raise ValueError(f"`{name}` has shape {list(array.shape)}, {list(shape)} is needed")
        needed = type_of(argument, self.dtype, self._options)
        if type_word(array.dtype) != needed:
            wanted = f"it must be {needed}" if argument["type"] else f"the operator was made for {needed}"
            raise TypeError(f"`{name}` is {type_word(array.dtype)}, {wanted}")
        if argument["in_place"]:
            self._of_team(name, array)
        return self._contiguous(name, array)

    def _of_team(self, name, tensor):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"`{name}` must be a tensor of the team, not `{type(tensor).__name__}`")

    def _contiguous(self, name, array):
        if isinstance(array, Tensor) and not array.is_contiguous():
            raise ValueError(f"`{name}` must be contiguous")
        return array

    def _output(self, argument, tensor, shape):
        name, needed = argument["name"], type_of(argument, self.dtype, self._options)
        if tensor is None:
            if argument["type_by"] and self.dtype.startswith("fp8"):
                needed = "bf16"
            return self.team.local_empty(shape, as_dtype(_INTEGERS.get(needed, needed)), name=f"{self.table['name']} {name}")
        self._of_team(name, tensor)
        if tuple(tensor.shape) != shape:
            raise ValueError(f"`{name}` has shape {list(tensor.shape)}, {list(shape)} is needed")
        if not argument["type_by"] and type_word(tensor.dtype) != needed:
            raise TypeError(f"`{name}` is {type_word(tensor.dtype)}, the operator was made for {needed}")
        return self._contiguous(name, tensor)

    def _checked(self, arrays, given, out):
        """The tensors but for the output, None for those that the call has not, the output and the numbers."""
        values, team, options = self._values(arrays, given), self.team, self._options
        *others, result = self.table["tensors"]
        checked = []
        for t, array in zip(others, arrays):
            if not check_given(self.table, t, self.dtype, options, array):
                checked.append(None)
                continue
            shape = shape_of(t, values, team.size, team.rank, options)
            checked.append(self._output(t, array, shape) if t["output"] else self._input(t, array, shape))
        shape = tuple(checked[0].shape) if is_free(result) else shape_of(result, values, team.size, team.rank, options)
        out = self._output(result, out, shape)
        return checked, out, self._numbers(values, given, out)

    def _stream_of(self, given):
        """The stream of a call: the team's own one, one of the team, or a CUDA stream."""
        if given is None:
            return self.team.stream
        return given if isinstance(given, Stream) else self.team.adopt(given)

    def _give(self, function, stream, arrays, out, numbers):
        stream = self._stream_of(stream)
        is_here = [x is None or isinstance(x, Tensor) for x in arrays]
        on_device = [x if here else self.team.local_from_array(x, name="host array") for x, here in zip(arrays, is_here)]
        words = ([*(x.address if x is not None else 0 for x in on_device), out.address], len(arrays) + 1, numbers, len(numbers))
        answer = self.team._call(lambda *_: function(self._op, stream.index, *words))
        for given, copy in zip(arrays, on_device):
            if copy is not given:
                self.team._call(_tandem.release_async, stream.index, copy.address)
        return answer

    def _run(self, arrays, given, out, stream):
        arrays, out, numbers = self._checked(arrays, given, out)
        self._give(_tandem.op_run, stream, arrays, out, numbers)
        made = [array for t, array in zip(self.table["tensors"], arrays) if t["output"] and array is not None]
        return (out, *made) if made else out

    def _tuned(self, arrays, given, out, stream):
        arrays, result, numbers = self._checked(arrays, given, out)
        found = self._give(_tandem.op_tune, stream, arrays, result, numbers)
        if out is None:
            self.team._call(_tandem.release_async, self._stream_of(stream).index, result.address)
        return Tuned(**json.loads(found))

    def memory(self):
        """The bytes that the operator has on this rank, without what it shares with others of its kind: {"symmetric", "local"}."""
        return json.loads(self.team._call(lambda *_: _tandem.op_memory(self._op)))

    def close(self):
        """Gives the operator's memory back [collective, unless the operator is of one rank alone]."""
        self.team._call(lambda *_: _tandem.op_close(self._op))


def made(table):
    """The class of a table's operator."""
    sizes, parameters, passed = [s["name"] for s in table["sizes"]], *call(table)
    chosen = ", ".join(f"{o['name']}=None" for o in table["options"])
    options = ", ".join(f'"{o["name"]}": {o["name"]}' for o in table["options"])
    text = f"""
def __init__(self, team, {", ".join(sizes)}, dtype, {chosen}, **others):
    options = {{{options}, **others}}
    self._make(team, [{", ".join(sizes)}], dtype, {{name: value for name, value in options.items() if value is not None}})

def __call__({parameters}):
    return self._run({passed})
"""
    if table["tunes"]:
        text += f"\ndef tune({parameters}):\n    return self._tuned({passed})\n"
    members = {}
    # Compiled, so that signatures and their errors are Python's own; as of this folder, whose frames are in no report.
    exec(compile(text, str(pathlib.Path(__file__).with_name(f"{table['class']}.py")), "exec"), members)
    members.pop("__builtins__")
    members["__doc__"] = description(table)
    members["__call__"].__doc__ = description_of_call(table)
    if table["tunes"]:
        members["tune"].__doc__ = OF_TUNE
    return type(table["class"], (Operator,), {**members, "table": table, "__module__": "tandem.ops"})
