"""Arguments for kernels of which only the file is there: what a launch would give, by what the kernel does with each parameter and by the
names that authors choose. A guess is good enough where Triton compiles it.

A guess is {parameter: value}: `*fp16` is a tensor, `tl.float16` a type, anything else a number or a text.
"""

import ast
import re

BOOLS = re.compile(
    r"^(is|has|use|even|do|enable|in_?place|store|return|mask|with|apply|load|save|allow|trans|norm|causal|fuse|add|output)", re.I
)
FLOATS = re.compile(
    r"eps|scale$|scaling|alpha|beta|^lr$|rate|^p$|theta|decay|momentum|softcap|prob|_weight$|temperature|factor|lambda|gamma|tau|threshold",
    re.I,
)
INDICES = re.compile(
    r"ind(ex|ices|ptr)|idx|ids?$|table|offset|lens?$|count|seq|slot|label|target|cu_|loc|perm|pos|row_?ptr|col_?ind|edge", re.I
)
WIDE = re.compile(r"lse|scale|sum|^m_|_m$|norm|mean|rstd|loss|delta|max|inv|stat|acc|state|exp_avg", re.I)
PLAIN = re.compile(r"stride|^n_|^num|size|start$|^[a-z]$|^[A-Z]$|dim$")
READS = {
    "load",
    "store",
    "make_block_ptr",
    "make_tensor_descriptor",
    "atomic_add",
    "atomic_max",
    "atomic_min",
    "atomic_cas",
    "atomic_xchg",
    "atomic_or",
}
TRIES = [  # columns of a block where there is no product, sizes of products' blocks and of heads, flags, floating type of tensors
    (1024, 64, True, "fp16"),
    (1024, 64, False, "fp16"),
    (1024, 64, True, "fp32"),
    (1024, 64, False, "fp32"),
    (64, 32, True, "fp32"),
    (16, 16, False, "fp32"),
]


def kernels(text):
    """{name: its function} of a file, without the helpers that other kernels of the file call."""
    tree = ast.parse(text)
    found = {f.name: f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) and any("jit" in ast.unparse(d) for d in f.decorator_list)}
    called = {_callee(c) for f in found.values() for c in ast.walk(f) if isinstance(c, ast.Call)}
    tuned = {name for name, f in found.items() if len(f.decorator_list) > 1}
    return {name: f for name, f in found.items() if name not in called or name in tuned}, found


def _callee(call):
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def _terms(value):
    """The names that an address is the sum of."""
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Add, ast.Sub)):
        return _terms(value.left) | _terms(value.right)
    if isinstance(value, ast.IfExp):
        return _terms(value.body) | _terms(value.orelse)
    if isinstance(value, ast.Call):
        inner = value.func.value if _callee(value) in ("to", "cast") and isinstance(value.func, ast.Attribute) else None
        inner = value.args[0] if value.args and not (inner and ast.unparse(inner) != "tl") else inner
        return _terms(inner) if inner else set()
    return set()


def pointers(function, functions, seen=()):
    """The parameters through which the kernel, or a helper that it calls, reads or writes."""
    reached, sums = set(), []
    for node in ast.walk(function):
        if isinstance(node, (ast.Assign, ast.AugAssign)) and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            sums += [(t.id, _terms(node.value)) for t in targets if isinstance(t, ast.Name)]
        if not isinstance(node, ast.Call):
            continue
        name, named = _callee(node), {k.arg: k.value for k in node.keywords}
        if name in READS and (node.args or named):
            reached |= _terms(node.args[0] if node.args else named.get("base") or named.get("pointer") or ast.Constant(0))
        elif name in functions and name not in seen and name != function.name:
            helper = functions[name]
            names = [a.arg for a in helper.args.args]
            inner = pointers(helper, functions, (*seen, function.name))
            for parameter, value in [*zip(names, node.args), *named.items()]:
                reached |= _terms(value) if parameter in inner else set()
    for _ in range(4):
        reached |= {term for target, terms in sums if target in reached for term in terms}
    names = [a.arg for a in function.args.args]
    return {n for n in names if n in reached and ("ptr" in n.lower() or not re.search(r"stride|offset|start|_len|^n_|num_", n))}


def guesses(function, functions, chosen):
    """Guesses of the arguments, the likeliest first; a tuner gives those in `chosen`."""
    read, arguments = pointers(function, functions), function.args.args + function.args.kwonlyargs
    defaults = dict(zip(reversed([a.arg for a in function.args.args]), reversed(function.args.defaults)))
    multiplies = "dot(" in ast.unparse(function) or any("dot(" in ast.unparse(functions[c]) for c in _helpers(function, functions))
    fixed = {a.arg for a in arguments if a.annotation and "constexpr" in ast.unparse(a.annotation)}
    blocks = [n for n in fixed if re.search(r"block", n, re.I)]
    for row, square, flag, kind in TRIES:
        side = square if multiplies or len(blocks) > 1 else row
        values = {}
        for argument in arguments:
            name = argument.arg
            if name in chosen or name in ("num_warps", "num_stages"):
                continue
            default = defaults.get(name)
            if name in fixed:
                known = isinstance(default, ast.Constant) and default.value is not None
                values[name] = default.value if known else _constant(name, side, square, flag, kind)
            elif name in read:
                values[name] = (
                    "*i32" if INDICES.search(name) else "*i1" if "mask" in name.lower() else "*fp32" if WIDE.search(name) else f"*{kind}"
                )
            elif FLOATS.search(name) and not PLAIN.search(name):
                values[name] = 0.5
            else:
                values[name] = 4096
        yield {**values, **_unit_strides(values)}


def _helpers(function, functions):
    return {_callee(c) for c in ast.walk(function) if isinstance(c, ast.Call)} & functions.keys() - {function.name}


def _constant(name, side, square, flag, kind):
    low = name.lower()
    if re.search(r"d?type$|^out_ty|_ty$", low):
        return {"fp16": "tl.float16", "fp32": "tl.float32"}[kind]
    if re.search(r"act|mode|reduc|kind|format|precision|eviction", low) and not re.search(r"size", low):
        return "ieee" if "precision" in low else ""
    if BOOLS.search(low) and not re.search(r"size|block|dim", low):
        return flag
    if re.search(r"group_size|group_m|^group$", low):
        return 8
    if re.search(r"num_stages|^stages|num_warps", low):
        return 2
    if re.search(r"num_sms", low):
        return 132
    if re.search(r"block|tile|chunk|^b[a-z]$|^bt$|size|padded|pow2", low):
        return side
    if re.search(r"dim|^d[a-z]?$|head_d|hidden|features|channels|rank", low):
        return square
    return 4 if re.search(r"^n_|num|heads|groups|top_?k|iters|steps|kernel|^[khw]$|ratio|bits|width|stages?$", low) else side


def _unit_strides(values):
    """The last stride of each tensor is 1: of parameters that follow each other and have all but their last letter or word in common."""
    strides = [name for name in values if "stride" in name.lower() and values[name] == 4096]
    groups = {}
    for name in strides:
        groups.setdefault(re.sub(r"_([a-zA-Z0-9]|[a-z0-9]{3,})$|(?<=_[a-z0-9])[a-z0-9]$", "", name), []).append(name)
    return {names[-1]: 1 for names in groups.values() if len(names) > 1}
