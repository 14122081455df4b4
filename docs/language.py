"""The page of every function of the kernel language, from the compiler's table. `python docs/language.py` writes it anew."""

import collections
import itertools
import pathlib

import tandem  # noqa: F401
from tandem.kernel.names import meaning, table

PAGE = pathlib.Path(__file__).resolve().parent / "guide" / "language.md"
MODULES = {
    "tl": ("tandem.language", "Triton's language. `tl.math` has its elementwise functions, too."),
    "dl": ("tandem.dist", "Ranks, signals, vectors of a thread and shared memory."),
    "shmem": (
        "tandem.shmem",
        "OpenSHMEM on the device. Suffixes say which threads make a call together: `_warp` (also `_wave`), `_block` (also `_wg`).",
    ),
    "extra": ("tandem.simt", "Functions of a thread."),
    "dl.tma": ("tandem.dist.tma", "Mbarriers, bulk copies and tensor maps."),
    "tl.extra.cuda": ("tandem.language.extra.cuda", "Facts of the GPU."),
    "tl.target_info": ("tandem.language.target_info", "Facts of the target."),
}
HEAD = """# The kernel language

Every function that kernels may call, as the compiler's table has it (`compiler/frontend/builtin`, and `compiler/frontend/library` for what
is written in the language itself); `help(tl.load)` shows a row in Python. A rule (M5) is of the [memory model](../spec/memory_model.md).
The last column has what differs from the names under the heading: other libraries' functions that do the same, a star for the name here.
This page is written by `python docs/language.py`.
"""


def rows_of(module):
    is_own = lambda name: name.startswith("_") and not name.startswith("__")
    rows = [r for r in table()["names"] if r["module"] == module and r["kind"] != "constant" and not is_own(r["name"])]
    return [r for r in rows if not r["doc"].startswith("Not supported")]


def patterns(row):
    """What other libraries call a function, {(library, name)}, with a star for the name that it has here."""

    def pattern(name):
        there, own = name.rpartition("."), row["name"]
        return f"{there[0]}.*" if there[0] and there[2] == own else "shmem_*" if name == f"shmem_{own}" else name

    return {(library, pattern(name)) for library, name in row.get("elsewhere", {}).items()}


def named(pairs):
    names = {library: [f"`{name}`" for of, name in sorted(pairs) if of == library] for library in sorted({of for of, _ in pairs})}
    return "; ".join(f"{library} {', '.join(those)}" for library, those in names.items())


def elsewhere(rows, usual):
    """What functions that are described alike are called elsewhere, where that is not the module's `usual` way."""
    found = set().union(*map(patterns, rows))
    if not found:
        return "Tandem's own"
    missing = {library for library, _ in usual} - {library for library, _ in found}
    return "; ".join(filter(None, [named(found - usual), *(f"not in {library}" for library in sorted(missing))]))


def page():
    out = [HEAD]
    for module, (name, text) in MODULES.items():
        usual = collections.Counter(frozenset(patterns(row)) for row in rows_of(module)).most_common(1)[0][0]
        out.append(f"## `{name}`\n\n{text} Elsewhere: {named(usual)}.\n\n| Function | What it does | Elsewhere |\n| --- | --- | --- |")
        key = lambda r: (r["signature"], r["doc"])
        groups = {k: list(g) for k, g in itertools.groupby(sorted(rows_of(module), key=key), key)}
        for rows in sorted(groups.values(), key=lambda rows: rows[0]["name"]):
            names = ", ".join(f"`{r['name']}`" for r in sorted(rows, key=lambda r: (len(r["name"]), r["name"])))
            alone = meaning(rows[0]) if len({r.get("by") for r in rows}) == 1 else meaning({**rows[0], "by": "who its name says"})
            cells = [f"{names} `({rows[0]['signature']})`", alone, elsewhere(rows, usual)]
            out.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        out.append("")
    functions = ", ".join(f"`{r['name']}`" for r in rows_of("tl.extra.libdevice"))
    out.append(f"## `tandem.libdevice`\n\nThe functions of CUDA's libdevice, of each element: {functions}.\n")
    return "\n".join(out)


if __name__ == "__main__":
    PAGE.write_text(page())
