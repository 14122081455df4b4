"""The arrows between rooms point one way: a file includes or imports only its own room and the rooms its row allows. Also: the house's
small rules."""

import ast
import graphlib
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# Longest prefix wins. A room may include the rooms listed here, and itself.
ROOMS = {
    "base": [],
    "abi": ["include/tandem/compare.h"],
    "model": [],
    "interpreter/kernels": ["interpreter/op.h", "interpreter/program.h", "base", "include/tandem/element_types.h"],
    "interpreter": ["interpreter/kernels", "model", "base", "include/tandem/compare.h", "include/tandem/element_types.h"],
    "compiler/dialect": ["compiler/layout", "include/tandem/compare.h"],
    "compiler/layout": [],
    "compiler/remark": ["abi"],
    "compiler/frontend/ast": ["base"],
    "compiler/frontend/lex": ["base"],
    "compiler/frontend/parse": ["compiler/frontend/ast", "compiler/frontend/lex", "base"],
    "compiler/frontend/semantic": ["compiler/frontend/ast", "compiler/dialect", "base", "include/tandem/element_types.h"],
    "compiler/frontend/builtin": [
        "compiler/frontend/semantic",
        "compiler/frontend/parse",
        "compiler/frontend/ast",
        "compiler/dialect",
        "base",
        "interpreter/kernels/kernels.h",
        "interpreter/program.h",
        "include/tandem/compare.h",
        "include/tandem/element_types.h",
    ],
    "compiler/frontend/emit": [
        "compiler/frontend/builtin",
        "compiler/frontend/semantic",
        "compiler/frontend/parse",
        "compiler/frontend/ast",
        "compiler/dialect",
        "base",
    ],
    "compiler/analysis": ["compiler/layout", "compiler/dialect", "abi"],
    "compiler/ptx": [],
    "compiler/lower/sim": [
        "compiler/dialect",
        "compiler/ptx",
        "interpreter/program.h",
        "interpreter/op.h",
        "base",
        "include/tandem/element_types.h",
    ],
    "compiler/target": ["base"],
    "compiler/codegen/gpu": [],
    "compiler/codegen/nvidia": ["compiler/codegen/gpu", "compiler/target", "base"],
    "compiler/transform/gpu": ["compiler/remark", "compiler/analysis", "compiler/layout", "compiler/target", "compiler/dialect", "base"],
    "compiler/transform/nvidia": [
        "compiler/transform/gpu",
        "compiler/remark",
        "compiler/analysis",
        "compiler/layout",
        "compiler/target",
        "compiler/dialect",
    ],
    "compiler/pipeline": ["compiler/transform", "compiler/dialect", "base"],
    "compiler/lower/gpu": [
        "compiler/analysis",
        "compiler/codegen/gpu",
        "compiler/layout",
        "compiler/target",
        "compiler/dialect",
        "base",
        "abi",
        "include/tandem/element_types.h",
    ],
    "compiler/lower/nvidia": [
        "compiler/lower/gpu",
        "compiler/analysis",
        "compiler/codegen",
        "compiler/layout",
        "compiler/target",
        "compiler/dialect",
        "base",
        "abi",
    ],
    "compiler/driver": [
        "compiler/analysis",
        "compiler/frontend",
        "compiler/lower",
        "compiler/pipeline",
        "compiler/transform",
        "compiler/dialect",
        "compiler/codegen/nvidia",
        "compiler/remark",
        "compiler/target",
        "interpreter/program.h",
        "base",
        "abi",
    ],
    "runtime": ["interpreter", "base", "include/tandem/compare.h"],
    "runtime/ranks": ["runtime/session.h", "interpreter/trace.h", "base", "abi"],
    "runtime/backend/cuda": ["runtime/ranks", "runtime/session.h", "runtime/grid.h", "interpreter/trace.h", "base", "abi"],
    "emulator": ["interpreter/kernels/narrow.h", "runtime/backend/cuda/driver_abi.h", "runtime/backend/cuda/host", "base"],
    "include/tandem": [],
    "api": [
        "compiler/driver/command_line.h",
        "compiler/driver/compile.h",
        "compiler/driver/image_cache.h",
        "compiler/driver/optimizer.h",
        "runtime",
        "interpreter",
        "model",
        "include/tandem",
        "base",
        "abi",
    ],
    "ops": [
        "model",
        "api/guarded.h",
        "api/handles.h",
        "api/required.h",
        "api/text_out.h",
        "base/meaning.h",
        "compiler/driver/build_id.h",
        "compiler/driver/image_cache.h",
        "compiler/target/target_info.h",
        "include/tandem",
    ],
    "python/bindings": ["include/tandem"],
    "test/null_gpu": ["compiler/lower/gpu", "compiler/transform/gpu", "base"],
    "tools": ["compiler", "interpreter", "base", "abi", "include/tandem"],
    "examples": ["include/tandem"],
    "bench": ["interpreter", "include/tandem", "base"],
}
MLIR_FREE = [
    "base",
    "model",
    "interpreter",
    "compiler/frontend/ast",
    "compiler/frontend/lex",
    "compiler/frontend/parse",
    "compiler/ptx",
    "runtime",
    "emulator",
    "include",
    "api",
    "ops",
    "python",
]
# The wings of the Python package and the modules that stand beside them. Each may import what is listed here, itself and PYTHON_BASE;
# imports inside of functions count. No two modules import each other, however many stand between.
WINGS = {
    "kernel": [],
    "host": ["kernel"],
    "gpu": ["host", "kernel"],
    "trace": [],
    "check": ["trace", "host"],
    "testing": ["gpu", "host"],
    "jit": ["gpu", "host", "kernel"],
    "session": ["gpu", "host", "trace"],
    **dict.fromkeys(["dist", "libdevice", "shmem", "simt"], ["kernel"]),
    "language": ["jit", "kernel"],
    "tune": ["language", "dist", "shmem", "simt", "jit", "session", "testing", "gpu", "host", "kernel"],
    "ops": ["tune", "host", "kernel"],
    "torch": ["ops", "session", "host", "kernel"],
    "prefix": [],
}
WINGS_FRONT = [
    "compat",
    "overlapping",
    "tilelink",
    "doctor",
    "rank_process",
    "pytest_plugin",
    "cli",
    "__main__",
    "",
]  # each may import all of the package
PYTHON_BUILT = ["_tandem", "operator_classes", "torch_functions"]  # by the build: the extension module, and stubs for type checkers
PYTHON_BASE = [*PYTHON_BUILT, "errors"]
# A dialect's ops and attributes have C++ names, with types and verifiers; a name in text says nothing when it is wrong.
DIALECT_TEXT = re.compile(r'"((?:tile|dist|simt|tgpu)\.[a-z_]*)"')
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "common", "misc"}
MAX_LINES = 600


def room_of(path):
    return max((r for r in ROOMS if path == r or path.startswith(r + "/")), key=len, default=None)


def files(root=ROOT):
    """The names of the repository's files: those that git tracks, and others that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout
    return [name for name in sorted(set(listed.split("\0")) - {""}) if (root / name).is_file()]


def sources():
    for name in files():
        if name.endswith((".h", ".cpp", ".td", ".py", ".c")) and not name.startswith("."):
            yield name, (ROOT / name).read_text(encoding="utf-8")


def check_includes(name, text):
    room = room_of(name)
    allowed = ROOMS.get(room, [])
    for target in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
        full = "include/" + target if target.startswith("tandem/") else target
        if full.endswith(".inc"):
            continue
        there = room_of(full)
        if there is None and "/" not in full:
            continue  # beside the file
        in_test = "/test/" in name
        if there == room or any(full == a or full.startswith(a + "/") for a in allowed):
            continue
        if in_test and (full.startswith(("interpreter", "compiler", "base", "runtime"))):
            continue  # tests may reach for the rooms they need
        yield f"{name}: includes `{full}`, which its room `{room}` may not"
    if any(room and (room + "/").startswith(r + "/") for r in MLIR_FREE) and "/test/" not in name:
        for target in re.findall(r"^\s*#\s*include\s+<((?:mlir|llvm)/[^>]+)>", text, re.M):
            yield f"{name}: includes <{target}>, but `{room}` knows nothing of MLIR"


def module_of(name):
    """A file's module below `tandem`: "host.arrays", "host" of the wing's `__init__.py`; None of a file that is not in the package."""
    inside = name.removeprefix("python/tandem/")
    return None if inside == name or not name.endswith(".py") else inside[:-3].replace("/", ".").removesuffix("__init__").removesuffix(".")


def imports_of(module, name, text, modules):
    """(line, module of the package) of every import, those inside of functions too."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            package = ["tandem", *module.split(".")]
            package = package if name.endswith("__init__.py") else package[:-1]
            base = ".".join(filter(None, [*(package[: len(package) - node.level + 1] if node.level else []), node.module]))
            found = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for full in found:
            top, _, inside = full.partition(".")
            while inside and inside not in modules:  # a name in a module
                inside = inside.rpartition(".")[0]
            if top == "tandem":
                yield node.lineno, inside


def check_wings(texts):
    """Checks the package's files, {name: text}."""
    modules = {module_of(name) for name in texts} | set(PYTHON_BUILT)
    graph = {}
    for name, text in texts.items():
        module = module_of(name)
        wing = module.split(".")[0]
        if wing not in WINGS and wing not in [*WINGS_FRONT, *PYTHON_BASE]:
            yield f"{name}: `{wing}` is no wing that test/rooms.py knows"
            continue
        graph[module] = set()
        for line, target in imports_of(module, name, text, modules):
            there = target.split(".")[0]
            graph[module].add(target)
            if wing not in WINGS_FRONT and there not in [wing, *PYTHON_BASE, *WINGS.get(wing, [])]:
                yield f"{name}:{line}: imports `tandem{target and '.' + target}`, which `{wing}` may not"
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        yield f"python/tandem: modules import each other in a circle: {' <- '.join(error.args[1])}"


def check_file(name, text):
    path = pathlib.PurePosixPath(name)
    if path.stem in FORBIDDEN_NAMES:
        yield f"{name}: a file is named for what it holds, not `{path.stem}`"
    lines = text.count("\n")
    if lines > MAX_LINES:
        yield f"{name}: {lines} lines; split it by construct (at most {MAX_LINES})"
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > 140:
            yield f"{name}:{number}: {len(line)} columns (at most 140)"
        if re.search(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", line):
            yield f"{name}:{number}: unfinished work is not left in the code"


def check_dialect_text(name, text):
    if name.startswith("compiler/dialect/") or "/test/" in name or not name.startswith("compiler/"):
        return
    for number, line in enumerate(text.split("\n"), 1):
        for word in DIALECT_TEXT.findall(line):
            yield f"{name}:{number}: names `{word}` in text; its dialect has an op or an accessor of that name"


def main():
    problems = []
    count = 0
    package = {}
    for name, text in sources():
        count += 1
        if module_of(name) is not None:
            package[name] = text
        problems += check_file(name, text)
        if name.endswith((".h", ".cpp", ".c")) and room_of(name):
            problems += check_includes(name, text)
            problems += check_dialect_text(name, text)
    problems += check_wings(package)
    print("\n".join(problems))
    print(f"{count} files, {len(problems)} problems")
    return 1 if problems or count < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
