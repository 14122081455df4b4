"""How an operator looks as a function of PyTorch's tensors: its parameters and its docstring, from its table. `tandem.torch` has both from
here, and so has its stub, for which nothing imports PyTorch."""

import re

from .table import OF_HEADS, extras, flags_of, inputs, is_free, is_solved, number, output, words_of

_OPTIONS = {"number": "int", "tile": "int", "flag": "bool", "real": "float", "lists": "list[list[int]]"}
_DOCS = {
    "m": "Rows are dealt out in shards of cdiv(m, ranks); `m` must be told where the last shards are shorter.",
    "counts": "`counts[i][j]`: rows that rank i sends to rank j, the same lists on every rank; else every rank's rows are dealt alike.",
}
LAYERS = {
    "output": "y = x @ weight.T + bias, this rank's columns of it: weight is [out_features / ranks, in_features].",
    "input": "y = sum over ranks of x @ weight.T, + bias: weight is [out_features, in_features / ranks], x this rank's columns of all "
    "rows.",
}


def names_in(text):
    """The names of sizes and numbers in a dimension."""
    return set(re.findall(r"[a-z_]+", text)) - {"own", "scales", "shard", "ranks", *OF_HEADS}


def _found(texts, known):
    """The names that dimensions give one after the other, each the only unknown one of its text."""
    found, unknown = set(), [names_in(text) - known for text in texts]
    for _ in unknown:
        found |= set().union(*(names for names in unknown if len(names - found) == 1))
    return found


def _shapes(table):
    """What a call takes, in elements, and gives last."""
    shapes = [f"`{t['name']}: {'any shape' if is_free(t) else '[' + ', '.join(t['shape']) + ']'}`" for t in table["tensors"]]
    own = " own(m): this rank's rows of m." if any("own(m)" in shape for shape in shapes) else ""
    return f"Shapes: {', '.join(shapes)}.{own}"


def _call(table):
    who = "It is of this rank alone, and" if table["local"] else "All ranks call it [collective]; it"
    return f"{table['what']} {who} is queued on PyTorch's current stream."


def _optional(kind, name):
    return f"{name}: {kind} | None = None"


class Function:
    """The function of an operator whose sizes follow from its first input. `gathers`: that is a shard of rows, so a call may be told `m`.
    `multiplies`: matrices in, a matrix out; else the input's rows may have any shape."""

    result = "Tensor"

    def __init__(self, table):
        self.table, self.name = table, table["name"]
        self.inputs = [t["name"] for t in inputs(table)]
        self.first, self.output = table["tensors"][0], output(table)
        self.multiplies = len(self.inputs) > 1
        self.gathers = self.first["shape"][0] == "own(m)"
        self.is_free = is_free(self.first)
        self.moves_any_type = not table["types"]
        self.has_type = number(table, "type") is not None
        # The numbers of a call that are told, with their defaults.
        self.told = {"m": None} if self.gathers else {}
        if number(table, "rank"):
            self.told[number(table, "rank")["name"]] = 0
        if number(table, "counts"):
            self.told["counts"] = None

    def parameters(self):
        kinds = {"m": _optional("int", "m"), "counts": _optional("Sequence[Sequence[int]]", "counts")}
        told = [kinds.get(name, f"{name}: int = {default}") for name, default in self.told.items()]
        given = [_optional("dtype", "out_dtype")] * self.has_type + [_optional("Tensor", "out")]
        return ", ".join([*(f"{name}: Tensor" for name in self.inputs), *told, "*", *given])

    def description(self):
        more = [_DOCS[name] for name in self.told if name in _DOCS]
        if self.multiplies:
            more.append("`b` is contiguous or the transpose of a contiguous weight (`weight.t()`).")
        return "\n\n".join([_call(self.table), _shapes(self.table), *more])


class SolvedFunction:
    """The function of an operator whose sizes follow from several shapes, with its options as keywords. `inputs`: what every call takes;
    `more`: what only some take; `written`: results beside the output that only some have. `told`: the sizes and numbers that no input's
    shape has, then `m`, which may be left out where an input is this rank's rows or all of them."""

    def __init__(self, table):
        self.table, self.name = table, table["name"]
        self.tensors, self.output = inputs(table), output(table)
        self.inputs, self.more = [t["name"] for t in self.tensors], [t["name"] for t in extras(table) if not t["output"]]
        self.written = [t for t in extras(table) if t["output"]]
        of_ranks = number(table, "own_rows") is not None  # no call says how many rows the other ranks have at most
        shown = _found([re.sub(r"shard\([a-z_]+\)", "", text) for t in self.tensors for text in t["shape"]], {"m", *flags_of(table)})
        shown -= {table["sizes"][0]["name"]} if of_ranks else set()
        self.numbers = [n["name"] for n in table["numbers"] if n["kind"] in ("rows", "own_rows")]
        self.flags = [n["name"] for n in table["numbers"] if n["kind"] == "flag"]
        unseen = [n for n in self.numbers if n != "m" and n not in shown]
        self.told_sizes = table["sizes"] if of_ranks else table["sizes"][1:]
        self.needed = [*(s["name"] for s in self.told_sizes if s["name"] not in shown), *unseen]
        self.told = [*self.needed, "m"]
        self.options = [o["name"] for o in table["options"]]

    @property
    def keywords(self):
        """The options that are no sizes which a call is told."""
        return [o for o in self.table["options"] if o["name"] not in self.told]

    @property
    def result(self):
        """Of a function that gives results beside its output in some calls only, a checker of types cannot tell."""
        if any(t["given_by"] for t in self.written):
            return "Any"
        return f"tuple[{', '.join(['Tensor'] * (len(self.written) + 1))}]" if self.written else "Tensor"

    def parameters(self):
        given = [_optional("Tensor", name) for name in (*self.more, *(t["name"] for t in self.written))]
        options = [_optional(self._kind(option), option["name"]) for option in self.keywords]
        flags = [f"{name}: bool = False" for name in self.flags]
        needed = [f"{name}: Tensor" for name in self.inputs] + [f"{name}: int" for name in self.needed]
        return ", ".join([*needed, _optional("int", "m"), "*", *given, *options, _optional("Tensor", "out"), *flags])

    def _kind(self, option):
        return f"Literal[{', '.join(map(repr, option['words']))}]" if option["kind"] == "word" else _OPTIONS[option["kind"]]

    def description(self):
        return f"{_call(self.table)}\n\n{_shapes(self.table)}\n\nOptions:\n\n{words_of(self.table)}"


def function_of(table):
    return SolvedFunction(table) if is_solved(table) else Function(table)


def description_of_layer(tables):
    """The docstring of a linear layer. `tables`: of the operators that are its forms."""
    forms = {table["linear"]["sequence_parallel"]: table["linear"]["what"] for table in tables}
    what = LAYERS[tables[0]["linear"]["splits"]]
    return f"{what}\n\nWith `sequence_parallel` {forms[True]};\nelse {forms.get(False, 'x is the same on all ranks')}."


def layers_of(tables):
    """The linear layers by name, each with the tables of its operators."""
    named = {}
    for table in tables:
        if "linear" in table:
            named.setdefault(table["linear"]["class"], []).append(table)
    return named
