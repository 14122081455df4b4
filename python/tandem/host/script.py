"""A script as the commands run it: read once, executed on each rank."""

import ast
import contextlib
import os
import sys
import traceback


def refuses_file(path):
    """Says why a file cannot be written there, as far as can be told before the work is done; None if nothing speaks
    against it."""
    if not os.path.isdir(os.path.dirname(os.path.abspath(path))):
        return "no such directory"
    return "Is a directory" if os.path.isdir(path) else None


class ScriptError(Exception):
    """The file cannot be run; the message says why."""


class _Sizes(ast.NodeTransformer):
    """Gives names other values where the script assigns them a constant."""

    def __init__(self, values):
        self.values = values
        self.used = set()

    def visit_Assign(self, node):
        for target in node.targets:
            if isinstance(target, ast.Name):
                node.value = self._changed(target, node.value)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts):
                node.value.elts = [self._changed(name, value) for name, value in zip(target.elts, node.value.elts)]
        return node

    def _changed(self, target, value):
        if not (isinstance(target, ast.Name) and target.id in self.values and isinstance(value, ast.Constant)):
            return value
        self.used.add(target.id)
        return ast.copy_location(ast.Constant(self.values[target.id]), value)


class Script:
    """`values`: constants by the names that the script assigns them to, instead of the script's own."""

    def __init__(self, name, arguments, values=None):
        self.name = name
        self.values = values or {}
        self.as_rank = contextlib.nullcontext  # the context of a team that a rank's thread enters
        self.path = os.path.abspath(name)
        self.arguments = arguments
        try:
            with open(self.path, "rb") as file:
                source = file.read()
            self._tree = ast.parse(source, self.path)
            sizes = _Sizes(self.values)
            self._code = compile(sizes.visit(ast.parse(source, self.path)) if values else source, self.path, "exec")
            if missing := sorted(set(self.values) - sizes.used):
                raise ScriptError(f"tandem: {name} assigns no constant to `{missing[0]}`, which `--set` would change")
        except OSError as error:
            raise ScriptError(f"tandem: cannot read {name}: {error.strerror}") from None
        except SyntaxError as error:
            if "null bytes" in str(error):
                raise ScriptError(f"tandem: {name} is no Python script: {error}") from None
            raise ScriptError("".join(traceback.format_exception_only(error)).rstrip()) from None
        except ValueError as error:
            raise ScriptError(f"tandem: {name} is no Python script: {error}") from None

    def install(self):
        """Sets `sys.argv` and `sys.path` as the script expects them."""
        sys.argv = [self.name, *self.arguments]
        sys.path.insert(0, os.path.dirname(self.path))

    def names(self, option):
        """Returns true if a text in the script begins with the option."""
        return any(isinstance(n, ast.Constant) and isinstance(n.value, str) and n.value.startswith(option) for n in ast.walk(self._tree))

    def imports(self, *packages):
        """Returns true if the script itself imports one of the packages or something in one."""
        found = [a.name for n in ast.walk(self._tree) if isinstance(n, ast.Import) for a in n.names]
        found += [n.module or "" for n in ast.walk(self._tree) if isinstance(n, ast.ImportFrom)]
        return any(name.split(".")[0] in packages for name in found)

    def launched_ranks(self):
        """The constants that it gives `launch` as `ranks=`."""
        calls = [
            n for n in ast.walk(self._tree) if isinstance(n, ast.Call) and getattr(n.func, "attr", getattr(n.func, "id", "")) == "launch"
        ]
        given = [k.value for call in calls for k in call.keywords if k.arg == "ranks"]
        return {n.value for n in given if isinstance(n, ast.Constant) and type(n.value) is int and n.value > 0}

    def offers_main(self):
        """Returns true if it has a `main(team)` of its own to call: one that takes the team, in a script that never
        asks for one."""
        calls_init = any(
            isinstance(n, ast.Call) and getattr(n.func, "attr", getattr(n.func, "id", None)) == "init" for n in ast.walk(self._tree)
        )
        mains = [n.args for n in self._tree.body if isinstance(n, ast.FunctionDef) and n.name == "main"]
        return not calls_init and any(len(a.posonlyargs + a.args) - len(a.defaults) == 1 for a in mains)

    def tell_forgotten_main(self):
        """Says so when nothing in it could have run the main(team) that it offers."""
        if self.offers_main() and not any(isinstance(n, ast.Name) and n.id == "main" for n in ast.walk(self._tree)):
            print(
                f"tandem: main(team) of {self.name} has not run: the script never calls tandem.init(); `--main` calls it", file=sys.stderr
            )

    def run(self, name="__main__"):
        """Executes the script with module globals of its own (imported modules are shared by the ranks), and returns them."""
        variables = {"__name__": name, "__file__": self.path, "__builtins__": __builtins__}
        exec(self._code, variables)
        return variables

    def main(self):
        """Executes the script as a module and gives its main(team)."""
        main = self.run("tandem_script").get("main")
        if not callable(main):
            raise SystemExit(f"tandem: {self.name} has no main(team), which `--main` calls")
        return main

    def entry(self, call_main, refuses_launch=None):
        """Returns the function that a rank runs: `main(team)` of the script, or the whole script as `__main__`, which
        `refuses_launch`, a text, forbids to start ranks of its own."""

        def body(team):
            team.refuses_launch = None if call_main else refuses_launch
            with self.as_rank(team):
                return self.main()(team) if call_main else self.run() and None

        return body
