"""A kernel's IR as far as PyTorch's compiler reads it: a function whose operations are the stores through its parameters. From it PyTorch
learns which tensors a kernel of the user's writes, and copies no others."""

import itertools
import json

from .. import _tandem
from ..errors import CompileError
from ..gpu.arguments import is_descriptor
from ..kernel.element_types import element_word
from ..kernel.names import DType, constexpr
from ..kernel.scalars import scalar_type
from ..kernel.source import Source

_numbers = itertools.count()


class Context:
    """Triton's, which takes names of dialects; there is nothing in it here."""


def load_dialects(context):
    """Nothing is to be loaded."""


class _Entity:
    """A value, a block or a region: something that has a number."""

    def __init__(self):
        self._number = next(_numbers)

    def id(self):
        return self._number


class _Body(_Entity):
    """The block and the region of a function of `count` parameters."""

    def __init__(self, count):
        super().__init__()
        self.arguments, self._region = [_Entity() for _ in range(count)], _Entity()

    def get_num_arguments(self):
        return len(self.arguments)

    def get_argument(self, place):
        return self.arguments[place]

    def get_parent(self):
        return self._region


class _Operation:
    """One without results."""

    def __init__(self, name, block, operands=(), regions=(), attributes=None):
        self._name, self._block, self._operands, self._regions, self._attributes = name, block, operands, regions, attributes or {}

    def get_name(self):
        return self._name

    def get_block(self):
        return self._block

    def get_num_operands(self):
        return len(self._operands)

    def get_operand(self, place):
        return self._operands[place]

    def get_num_results(self):
        return 0

    def get_num_regions(self):
        return len(self._regions)

    def get_region(self, place):
        return self._regions[place]

    def get_str_attr(self, name):
        return self._attributes.get(name)


class Module:
    """A module with one function, which stores through the parameters of these numbers."""

    def __init__(self, name, count, written):
        body = _Body(count)
        stores = [_Operation("tt.store", body, [body.arguments[i]]) for i in written]
        ends = _Operation("tt.return", body)
        self._operations = [*stores, ends, _Operation("tt.func", None, (), [body.get_parent()], {"sym_name": name})]

    def verify(self):
        return True

    def walk(self, visit):
        """Inner operations come before those around them."""
        for operation in self._operations:
            visit(operation)


def module_of(request):
    """The Module of a request to the compiler. Raises CompileError, also where the kernel may write through other pointers."""
    try:
        written = json.loads(_tandem.emit(json.dumps(request), "writes"))
    except RuntimeError as error:
        raise CompileError(str(error).rstrip("\n")) from None
    name = request["functions"][request["kernel"]]["name"]
    if written is None:
        raise CompileError(f"kernel `{name}` writes through pointers that are no parameters; which memory that is cannot be told")
    sizes = (1 + 2 * len(a["descriptor"]["block_shape"]) if "descriptor" in a else 1 for a in request["arguments"] if "constexpr" not in a)
    return Module(name, sum(sizes), written)


def mangle_type(value, specialize=False):
    """The type of an argument in Triton's words."""
    return native_specialize_impl(None, value, False, specialize, True)[0]


def native_specialize_impl(backend, value, is_const, specialize_value, align):
    """(the type of an argument in Triton's words, "D" where it is a multiple of 16)."""
    aligned = lambda number: "D" if align and number % 16 == 0 else ""
    if isinstance(value, bool):
        return "u1", None
    if isinstance(value, int):
        return ("constexpr", 1) if specialize_value and value == 1 else (scalar_type(value), aligned(value) if specialize_value else "")
    if isinstance(value, float):
        return scalar_type(value), None
    if value is None or isinstance(value, (str, DType, Source, constexpr)):
        return "constexpr", value
    if is_descriptor(value):
        block = ", ".join(map(str, value.block_shape))
        return f"tensordesc<{element_word(value.base.dtype)}[{block}]>", None
    if hasattr(value, "data_ptr"):
        return f"*{'k' if is_const else ''}{element_word(value.dtype)}", aligned(value.data_ptr()) if specialize_value else ""
    raise TypeError(f"a `{type(value).__name__}` is no argument of a kernel")


def parse_attr(text):
    """What the key of an argument says of it."""
    return [["tt.divisibility", 16]] if "D" in text else []


def get_iterable_path(iterable, path):
    """The element of an element of nested tuples and lists."""
    for place in path:
        iterable = iterable[place]
    return iterable


def find_paths_if(iterable, is_wanted):
    """The places of the elements for which is_wanted(place, element)."""
    found = []

    def visit(path, element):
        if isinstance(element, (list, tuple)):
            for place, inner in enumerate(element):
                visit((*path, place), inner)
        elif is_wanted(path, element):
            found.append(path)

    visit((), iterable)
    return found
