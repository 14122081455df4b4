"""Kernels made of an author's kernel, whose text stays as it is."""

from .. import dist as dl
from ..jit import JITFunction
from ..kernel.names import constexpr

_OWN = {
    "arriving": ["arriving_words", "arriving_chunk", "arriving_chunks", "arriving_epoch"],
    "sliced": ["arriving_words", "arriving_chunk", "arriving_chunks", "arriving_epoch", "arriving_row", "arriving_slice"],
    "leaving": ["leaving_words", "leaving_chunk", "leaving_chunks"],
    "summing": ["leaving_words", "leaving_chunk", "leaving_chunks", "leaving_parts", "leaving_ready", "leaving_bands"],
    "updating": ["leaving_words", "leaving_chunk", "leaving_chunks", "leaving_ready", "leaving_bands"],
    "marking": ["leaving_words", "leaving_chunk", "leaving_chunks", "leaving_parts"],
    "divided": [],
    "spread": ["spread_count"],
}
_DEALT = ["dealt_x", "dealt_y", "dealt_z"]


def named(name, nth):
    """The name of a parameter that each travelling argument has, for the nth of them."""
    return f"{name}_{nth}" if nth else name


def derived(kernel, over, function, *more, ordered=False, dealt=False, spread=False):
    """The kernel whose arguments `over`, pointers or descriptors, go through `dl.<function>`, each with its arguments as parameters of its
    own in front. `ordered`: the first of them through `dl.ordered`, too; `dealt`, `spread`: through `dl.dealt`, `dl.spread`."""

    def parameter(p):
        default = f"=default_{p.name}" if p.default is not p.empty else ""
        return p.name + (": constexpr" if kernel.is_constexpr(p) else "") + default

    names_of = {name: [named(own, nth) for own in _OWN[function]] for nth, name in enumerate(over)}
    said = {"sliced": "arriving", "summing": "leaving", "updating": "leaving", "marking": "leaving"}.get(function, function)
    pointer = {name: name for name in over}
    if spread:
        pointer[over[0]] = f"dl.spread({over[0]})"
    if dealt:
        pointer[over[0]] = f"dl.dealt({pointer[over[0]]}, {', '.join(_DEALT)})"
    if ordered:
        pointer[over[0]] = f"dl.ordered({pointer[over[0]]}, program_order)"
    keywords = {"leaving_ready": "ready=", "leaving_bands": "bands=", "spread_count": "count="}
    arguments = {name: [pointer[name], *(keywords.get(own, "") + own for own in names_of[name]), *more] for name in over}
    passed = [f"dl.{said}({', '.join(arguments[name])})" if name in over else name for name in kernel.arg_names]
    own = [*(["program_order"] if ordered else []), *(_DEALT if dealt else []), *(name for of_one in names_of.values() for name in of_one)]
    parameters = ", ".join([*own, *map(parameter, kernel.parameters)])
    text = f"def {kernel.__name__}({parameters}):\n    kernel({', '.join(passed)})\n"
    names = {"__name__": kernel.__module__, "kernel": kernel, "dl": dl, "constexpr": constexpr}
    names |= {f"default_{p.name}": p.default for p in kernel.parameters}
    exec(text, names)
    constants = [name for name in own if name.startswith("arriving_epoch") or name == _DEALT[0]]
    made = JITFunction(names[kernel.__name__], do_not_specialize=[*constants, *kernel.do_not_specialize])
    made._text = kernel.file, kernel.line, text
    return made
