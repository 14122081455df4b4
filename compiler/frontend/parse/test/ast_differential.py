"""Compares our parser with CPython's `ast` on the standard library.

Every file that CPython accepts must be accepted, with the same nodes: kind, payload, first and last position.
Then the same files are damaged, one token at a time, and both must agree on whether the result is still Python.

usage: ast_differential.py PATH_TO_tandem_ast_dump [--files N] [--mutants N] [--seed N]
"""

import argparse
import ast
import collections
import os
import random
import re
import subprocess
import sys
import sysconfig
import tempfile
import unicodedata
import warnings

# Inside f-strings older versions have no exact positions, so there nodes are only counted.
EXACT_FSTRINGS = sys.version_info >= (3, 12)
TYPE_PARAMETERS = ("TypeVar", "TypeVarTuple", "ParamSpec")
FSTRING_PARTS = ("FString", "Unsupported `format spec`", "Unsupported `!r`", "Unsupported `!a`")

STATEMENTS = {
    "FunctionDef": "Function", "ClassDef": "Class", "Return": "Return", "Assign": "Assign", "AugAssign": "AugAssign",
    "AnnAssign": "AnnAssign", "For": "For", "While": "While", "If": "If", "With": "With", "Assert": "Assert",
    "Pass": "Pass", "Break": "Break", "Continue": "Continue", "Expr": "Expr", "Import": "Import",
    "ImportFrom": "ImportFrom",
    "Try": "Unsupported `try`", "TryStar": "Unsupported `try`", "AsyncFunctionDef": "Unsupported `async def`",
    "AsyncFor": "Unsupported `async for`", "AsyncWith": "Unsupported `async with`", "Global": "Unsupported `global`",
    "Nonlocal": "Unsupported `nonlocal`", "Delete": "Unsupported `del`", "Raise": "Unsupported `raise`",
    "Match": "Unsupported `match`", "TypeAlias": "Unsupported `type`",
}
EXPRESSIONS = {
    "Tuple": "Tuple", "List": "List", "Dict": "Dict", "Set": "Set", "Call": "Call", "Subscript": "Subscript",
    "Slice": "Slice", "IfExp": "Conditional", "Lambda": "Lambda", "Starred": "Starred", "NamedExpr": "Walrus",
    "Await": "Unsupported `await`", "Yield": "Unsupported `yield`", "YieldFrom": "Unsupported `yield from`",
    "JoinedStr": "FString",
}
COMPREHENSIONS = {"ListComp": "list", "SetComp": "set", "GeneratorExp": "generator", "DictComp": "dict"}
OPERATORS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**", "MatMult": "@",
    "LShift": "<<", "RShift": ">>", "BitAnd": "&", "BitOr": "|", "BitXor": "^", "USub": "-", "UAdd": "+", "Not": "not",
    "Invert": "~", "And": "and", "Or": "or", "Eq": "==", "NotEq": "!=", "Lt": "<", "LtE": "<=", "Gt": ">", "GtE": ">=",
    "Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in",
}


def op(node):
    return OPERATORS[type(node).__name__]


def describe_constant(value):
    if value is None or value is Ellipsis:
        return "None" if value is None else "Ellipsis"
    if isinstance(value, bool):
        return "Bool true" if value else "Bool false"
    if isinstance(value, int):
        return f"Int {value:#x}"
    if isinstance(value, float):
        return f"Float {value!r}"
    if isinstance(value, str):
        return "String " + value.encode("utf-8", "surrogatepass").hex()
    return "Unsupported `bytes`" if isinstance(value, bytes) else "Unsupported `complex`"


def describe(node):
    """Returns the node in the words of our listing, or None for a node that has none there."""
    name = type(node).__name__
    if name in STATEMENTS:
        payload = ""
        if name in ("FunctionDef", "ClassDef"):
            payload = " " + node.name
        elif name == "AugAssign":
            payload = " " + op(node.op)
        elif name == "ImportFrom":
            payload = " " + "." * node.level + (node.module or "")
        return STATEMENTS[name] + payload
    if name in EXPRESSIONS:
        return EXPRESSIONS[name]
    if name in COMPREHENSIONS:
        return "Comprehension " + COMPREHENSIONS[name]
    match name:
        case "Name":
            return "Name " + node.id
        case "Attribute":
            return "Attribute " + node.attr
        case "Constant":
            return describe_constant(node.value)
        case "UnaryOp":
            return "Unary " + op(node.op)
        case "BinOp":
            return "Binary " + op(node.op)
        case "BoolOp":
            return "BoolOp " + op(node.op)
        case "Compare":
            return "Compare " + " ".join(op(o) for o in node.ops)
        case "arg":
            return "parameter " + node.arg
        case "keyword":
            return "keyword " + (node.arg or "**")
        case "alias":
            return "name " + node.name + (" as " + node.asname if node.asname else "")
    return None


def place_of(node, in_fstring):
    if in_fstring and not EXACT_FSTRINGS:
        return "in f-string"
    return f"{node.lineno}:{node.col_offset + 1}-{node.end_lineno}:{node.end_col_offset + 1}"


def cpython_nodes(tree):
    """Counts of "description range"."""
    nodes = collections.Counter()
    stack = [(tree, False)]
    while stack:
        node, in_fstring = stack.pop()
        description = describe(node)
        literal_text = in_fstring and isinstance(node, ast.Constant) and isinstance(node.value, str)
        nested_spec = in_fstring and isinstance(node, ast.JoinedStr)
        if description and not literal_text and not nested_spec:
            nodes[f"{description} {place_of(node, in_fstring)}"] += 1
        children = [c for c in ast.iter_child_nodes(node) if type(c).__name__ not in TYPE_PARAMETERS]
        if isinstance(node, ast.ClassDef):
            children = [c for c in children if not isinstance(c, ast.keyword)]
        if getattr(node, "is_async", 0) == 0 and any(getattr(c, "is_async", 0) for c in children):
            nodes["Unsupported `async for` " + place_of(node, in_fstring)] += 1
        inside = in_fstring or isinstance(node, ast.JoinedStr)
        stack.extend((child, inside) for child in children)
    return nodes


LINE = re.compile(r"( *)(?:(?:decorator|returns|annotation|default|else|for|in|if|with|as): )?(.*) (\d+:\d+-\d+:\d+)$")
STRING = re.compile(r'String "(.*)"$')
PARAMETER = re.compile(r"(parameter .*) \w+$")
SKIPPED = {"Unsupported `global`", "Unsupported `nonlocal`"}


def unescape(text):
    return re.sub(rb"\\x(..)", lambda m: bytes([int(m[1], 16)]), text.encode()).hex()


def our_nodes(listing):
    nodes = collections.Counter()
    fstring_depth = None
    scope_depth = None
    for line in listing:
        matched = LINE.match(line)
        if not matched:
            continue
        depth, description, place = len(matched[1]), matched[2], matched[3]
        if fstring_depth is not None and depth <= fstring_depth:
            fstring_depth = None
        if scope_depth is not None and depth <= scope_depth:
            scope_depth = None
        if scope_depth is not None:
            continue
        if description in SKIPPED:
            scope_depth = depth
        if description.startswith("String"):
            description = "String " + unescape(STRING.match(description)[1])
        elif description.startswith("parameter"):
            description = PARAMETER.match(description)[1]
        elif description.startswith("Int"):
            description = f"Int {int(description[4:], 0):#x}"
        elif description.startswith("Float"):
            description = f"Float {float(description[6:])!r}"
        if not description.isascii():
            description = unicodedata.normalize("NFKC", description)
        if fstring_depth is None:
            nodes[f"{description} {place}"] += 1
        elif not description.startswith("String") and description not in FSTRING_PARTS:
            nodes[f"{description} {place if EXACT_FSTRINGS else 'in f-string'}"] += 1
        if description == "FString" and fstring_depth is None:
            fstring_depth = depth
    return nodes


def run_dump(tool, paths):
    output = subprocess.run([tool, *paths], capture_output=True, check=True).stdout.decode("utf-8", "surrogateescape")
    results = {}
    for chunk in ("\n" + output).split("\n== /")[1:]:
        path, _, body = chunk.partition("\n")
        results["/" + path] = body
    return results


def accepts(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


def read_sources(root):
    sources = {}
    for folder, _, names in sorted(os.walk(root)):
        if "site-packages" in folder:
            continue
        for name in sorted(names):
            if name.endswith(".py"):
                sources[os.path.join(folder, name)] = None
    return list(sources)


def read_text(path):
    with open(path, "rb") as file:
        data = file.read()
    try:
        return data.decode("utf-8-sig"), data
    except UnicodeDecodeError:
        return None, data


def compare_files(tool, paths):
    failures = 0
    results = run_dump(tool, paths)
    compared = 0
    for path in paths:
        text, _ = read_text(path)
        tree = accepts(text) if text is not None else None
        if tree is None:
            continue
        compared += 1
        body = results[path]
        if body.startswith("error: "):
            print(f"{path}: refused: {body.strip()}")
            failures += 1
            continue
        theirs, ours = cpython_nodes(tree), our_nodes(body.splitlines())
        if "\\N{" in text:
            theirs, ours = without_strings(theirs), without_strings(ours)
        if theirs != ours:
            failures += 1
            print(f"{path}: trees differ")
            for node, count in list((theirs - ours).items())[:5]:
                print(f"  only CPython: {node} ({count})")
            for node, count in list((ours - theirs).items())[:5]:
                print(f"  only ours:    {node} ({count})")
    print(f"{compared} files compared, {failures} differ")
    return failures


def without_strings(nodes):
    return collections.Counter({node: count for node, count in nodes.items() if not node.startswith("String")})


TOKEN = re.compile(r"\w+|[^\w\s]|\n[ \t]*|[ \t]+")
INSERTED = ["(", ")", "[", "]", "{", "}", ",", ":", "=", ":=", "*", "**", ".", "not", "in", "is", "if", "else", "for",
            "lambda", "yield", "await", "async", "x", "1", "'s'", "None", "def", "class", "return", "as", "with",
            "from", "import", "@", "->", "~", "-", "and", ";", "\n", "del", "match", "case", "_", "type", "global",
            "...",
            "/",
            "=1", "f'{x}'", "b''", "except", "try", "finally", "elif", "while", "raise", "assert", "|", "!",
            "{x!r:>{y}}", "f'{", "}'", "lambda:", "def f[T]", "type X ="]


def mutate(lines, rng):
    """A few consecutive lines with one to three tokens removed, doubled, swapped or put in."""
    start = rng.randrange(len(lines))
    tokens = TOKEN.findall("".join(lines[start:start + rng.randrange(1, 8)]))
    for _ in range(rng.randrange(1, 4)):
        if not tokens:
            break
        at = rng.randrange(len(tokens))
        match rng.randrange(5):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case 2:
                other = rng.randrange(len(tokens))
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case _:
                tokens.insert(at, " " + rng.choice(INSERTED) + " ")
    return "".join(tokens)


# Returns true for text that Python 3.12 reads differently from the Python that runs this test.
def is_version_dependent(text):
    return not EXACT_FSTRINGS and (re.search(r"\btype\b", text) or re.search(r"(?i)\b(f|rf|fr)['\"]", text) or
                                           re.search(r"\b(def|class)\s+\w+\s*\[", text))


def make_mutants(paths, count, rng):
    texts = []
    for path in rng.sample(paths, min(len(paths), 100)):
        text, _ = read_text(path)
        if text and accepts(text):
            texts.append(text.splitlines(keepends=True))
    mutants = []
    while len(mutants) < count:
        text = mutate(rng.choice(texts), rng).lstrip("\n")
        indented = re.match(r"(?:[ \t\f]*(?:#.*|\\)?\n)*[ \t\f]+\S", text)
        if text.strip() and not indented and not is_version_dependent(text):
            mutants.append(text)
    return mutants


def compare_mutants(tool, paths, count, rng):
    failures, accepted = 0, 0
    mutants = make_mutants(paths, count, rng)
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for i, text in enumerate(mutants):
            names.append(os.path.join(folder, f"{i}.py"))
            with open(names[-1], "wb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
        results = {}
        for i in range(0, len(names), 1000):
            results.update(run_dump(tool, names[i:i + 1000]))
    for name, text in zip(names, mutants):
        tree = accepts(text)
        error = results[name].startswith("error: ")
        accepted += tree is not None
        if (tree is not None) != error:
            if error or "\\N{" in text or cpython_nodes(tree) == our_nodes(results[name].splitlines()):
                continue
            print(f"trees differ: {text!r}")
        else:
            print(f"{'refused' if tree else 'accepted'}: {text!r}\n  {results[name].splitlines()[:1] if error else ''}")
        failures += 1
    print(f"{count} damaged texts compared ({accepted} still Python), {failures} differ")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--mutants", type=int, default=2500)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    paths = read_sources(sysconfig.get_path("stdlib"))
    failures = compare_files(arguments.tool, sorted(rng.sample(paths, min(arguments.files, len(paths)))))
    failures += compare_mutants(arguments.tool, paths, arguments.mutants, rng)
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
