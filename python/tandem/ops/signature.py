"""How an operator's class looks: its calls' parameters and its docstrings, from its table. The class and its stub have both from here."""

from .table import extras, inputs, is_free, words_of

OF_TUNE = (
    "Times what the model finds quickest on all ranks together, and keeps the best for calls with this m, "
    "on disk too. Arguments as a call's. Returns Tuned [collective]."
)


def call(table):
    """Parameters of a call, and how they become `_run`'s arguments. Without `out` one is made; `stream` is the team's or a CUDA stream."""
    names, given = [t["name"] for t in inputs(table)], [n for n in table["numbers"] if n["kind"] not in ("elements", "type")]
    needed = [n["name"] for n in given if n["kind"] != "flag"]
    flags = [f"{n['name']}=False" for n in given if n["kind"] == "flag"]
    numbers = ", ".join(f'"{n["name"]}": {n["name"]}' for n in given)
    more = [t["name"] for t in extras(table)]
    parameters = ["self", *names, *needed, "out=None", "stream=None", *flags, *(f"{name}=None" for name in more)]
    return ", ".join(parameters), f"[{', '.join(names + more)}], {{{numbers}}}, out, stream"


def _described(rows):
    return "\n".join(f"- `{row['name']}`: {row['what']}" for row in rows)


def _tensors(table):
    def shape(t):
        turned = f" ({t['transposed_by']}: [{', '.join(t['shape'][::-1])}])" if t["transposed_by"] else ""
        return "any shape" if is_free(t) else f"[{', '.join(t['shape'])}]{turned}"

    return ", ".join(f"`{t['name']}: {shape(t)}`" for t in table["tensors"])


def description(table):
    """The docstring of the class."""
    return (
        f"{table['what']}\n\nMade for sizes\n\n{_described(table['sizes'])}\n\nand a type: {table['type_words']}. A call "
        f"takes {_tensors(table)} and\n\n{_described(table['numbers'])}\n\nOptions, which the operator else chooses "
        f"itself:\n\n{words_of(table)}"
    )


def description_of_call(table):
    return f"Queues a call and gives `out`: {_tensors(table)}."
