"""Wrong kernels: one error each, at the right line and column.

The kernels lie in `wrong/`. A line that must be blamed ends in `# <-- TOKEN: WORDS | WORDS`: the error is at TOKEN
and its message, or a note, has each of the WORDS.
"""

import importlib.util
import pathlib
import re
import sys
import traceback
import warnings

import numpy as np
import pytest

import tandem

HERE = pathlib.Path(__file__).parent
MARK = "  # <-- "
ARGUMENTS = {
    "x_ptr": np.zeros(64, np.float32),
    "y_ptr": np.zeros(64, np.float32),
    "i_ptr": np.zeros(64, np.int32),
    "s_ptr": np.zeros(64, np.int64),
    "n": 10,
    "f": 2.5,
}


def imported(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


def marks(path):
    """(line, column, words) of every marked line of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        code, mark, rest = line.partition(MARK)
        if mark:
            token, _, words = rest.partition(": ")
            yield number, code.encode().find(token.encode()) + 1, [w.strip() for w in words.split("|") if w.strip()]


def compile_error(kernel):
    with pytest.raises(tandem.CompileError) as failure:
        kernel[(1,)](**{name: ARGUMENTS[name] for name in kernel.arg_names if name in ARGUMENTS})
    return str(failure.value)


def check(text, path, line, column, words):
    heads = [re.fullmatch(r"(.*?):(\d+):(\d+): (error|note): (.*)", row) for row in text.splitlines()]
    heads = [head.groups() for head in heads if head]
    assert [h[3] for h in heads].count("error") == 1, text
    assert heads[0][:4] == (str(path), str(line), str(column), "error"), text
    assert "\n" in text and "^" in text.splitlines()[2], text
    said = "\n".join(h[4] for h in heads)
    for word in words:
        assert word in said, text


def wrong_kernels():
    for path in sorted((HERE / "wrong").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        starts = [(text.count("\n", 0, m.start()) + 1, m[1]) for m in re.finditer(r"^def (\w+)", text, re.M)]
        for line, column, words in marks(path):
            name = [name for at, name in starts if at <= line][-1]
            yield pytest.param(path, name, line, column, words, id=f"{path.stem}-{name}")


@pytest.mark.parametrize("path, name, line, column, words", list(wrong_kernels()))
def test_wrong_kernel(path, name, line, column, words):
    kernel = getattr(imported(path), name)
    assert column > 0, "the marked token is on the line"
    check(compile_error(kernel), path, line, column, words)


def module_of(folder, text, name="k", newline="\n"):
    path = folder / f"wrong_{name}.py"
    path.write_bytes(("import tandem\nimport tandem.language as tl\n" + text).replace("\n", newline).encode())
    return path, imported(path)


def check_marked(path, kernel):
    ((line, column, words),) = marks(path)
    check(compile_error(kernel), path, line, column, words)


def test_tabs(tmp_path):
    path, m = module_of(tmp_path, "@tandem.jit\ndef k(x_ptr):\n\tif True:\n\t\ttl.store(x_ptr, zzz)  # <-- zzz\n")
    check_marked(path, m.k)


def test_windows_line_ends(tmp_path):
    path, m = module_of(tmp_path, "@tandem.jit\ndef k(x_ptr):\n    y = 1\n    tl.store(x_ptr, zzz)  # <-- zzz\n", newline="\r\n")
    check_marked(path, m.k)
    assert "\r" not in compile_error(m.k)


def test_letters_of_other_scripts_before_the_error(tmp_path):
    path, m = module_of(tmp_path, "@tandem.jit\ndef k(x_ptr):\n    größe = 'грöße 大'; tl.store(x_ptr, zzz)  # <-- zzz\n")
    text = compile_error(m.k)
    source, caret = text.splitlines()[1:3]
    assert source[caret.index("^") :].startswith("zzz"), text


def test_very_long_line(tmp_path):
    path, m = module_of(tmp_path, "@tandem.jit\ndef k(x_ptr):\n    y = [" + "1, " * 20000 + "zzz]  # <-- zzz\n")
    text = compile_error(m.k)
    assert f"{path}:5:60010: error: name `zzz` is not defined" in text
    source, caret = text.splitlines()[1:3]
    assert source[caret.index("^") :].startswith("zzz") and len(source) < 400


def test_kernel_in_a_function(tmp_path):
    path, m = module_of(
        tmp_path,
        """
def make(factor):
    if factor:
        @tandem.jit
        def k(x_ptr):
            tl.store(x_ptr, factor + zzz)  # <-- zzz: name `zzz` is not defined
    return k
""",
    )
    check_marked(path, m.make(3))


def test_kernel_in_a_class(tmp_path):
    path, m = module_of(
        tmp_path,
        """
class Holder:
    @staticmethod
    @tandem.jit
    def k(x_ptr):
        tl.store(x_ptr, zzz)  # <-- zzz: name `zzz` is not defined
""",
    )
    check_marked(path, m.Holder.k)


def test_stacked_decorators(tmp_path):
    path, m = module_of(
        tmp_path,
        """
@tandem.autotune(configs=[
    tandem.Config({"B": 16}),
], key=["n"])
@tandem.heuristics({"EVEN": lambda a: True})
@tandem.jit(
    do_not_specialize=["n"],
)
def k(
    x_ptr,
    n,
    B: tl.constexpr,
    EVEN: tl.constexpr,
):
    # A comment.
    tl.store(x_ptr + tl.arange(0, B), zzz)  # <-- zzz: name `zzz` is not defined
""",
    )
    check_marked(path, m.k)


def test_error_in_an_imported_function_names_both_files(tmp_path):
    inner, _ = module_of(tmp_path, "@tandem.jit\ndef f(x):\n    return x + zzz\n", name="inner")
    path, m = module_of(tmp_path, "from wrong_inner import f\n@tandem.jit\ndef k(x_ptr):\n    tl.store(x_ptr, f(1.0))\n")
    text = compile_error(m.k)
    check(text, inner, 5, 16, ["name `zzz` is not defined", "`f` is called from here"])
    assert f"{path}:6:21: note: `f` is called from here" in text


def test_error_through_three_calls_names_each(tmp_path):
    path, m = module_of(
        tmp_path,
        """
@tandem.jit
def inner(x):
    return tl.sum(x, axis=3)
@tandem.jit
def middle(x):
    return inner(x)
@tandem.jit
def k(x_ptr):
    tl.store(x_ptr, middle(tl.arange(0, 8)))
""",
    )
    text = compile_error(m.k)
    check(text, path, 6, 12, ["`inner` is called from here", "`middle` is called from here", "in `sum`"])
    assert f"{path}:9:12: note:" in text and f"{path}:12:21: note:" in text


def test_endless_recursion_over_constants_is_cut_short(tmp_path):
    path, m = module_of(
        tmp_path,
        """
@tandem.constexpr_function
def f(n):
    return f(n + 1)  # <-- f(n: `f` calls itself more than 100 deep
@tandem.jit
def k(x_ptr):
    tl.store(x_ptr, f(1))
""",
    )
    check_marked(path, m.k)
    text = compile_error(m.k)
    assert f"{path}:9:21: note:" in text and len(text.splitlines()) < 40


def test_recursion_names_the_call(tmp_path):
    path, m = module_of(
        tmp_path,
        """
@tandem.jit
def f(n):
    return f(n - 1)  # <-- f(n: `f` calls itself
@tandem.jit
def k(x_ptr, n):
    tl.store(x_ptr, f(n))
""",
    )
    check_marked(path, m.k)


def test_kernel_without_source():
    names = {}
    exec("import tandem, tandem.language as tl\n@tandem.jit\ndef k(x_ptr):\n    tl.store(x_ptr, 1.0)\n", names)
    with pytest.raises(ValueError, match="the source of `k` cannot be read.*define kernels in a file"):
        names["k"][(1,)](ARGUMENTS["x_ptr"])


def test_lambda_is_no_kernel():
    with pytest.raises(TypeError, match="made with `def`, not a lambda"):
        tandem.jit(lambda x_ptr: None)


@pytest.mark.parametrize("what", [3, "text", int, print])
def test_jit_of_no_function(what):
    with pytest.raises(TypeError, match="tandem.jit"):
        tandem.jit(what)


def test_compile_error_traceback_is_short(tmp_path):
    _, m = module_of(tmp_path, "@tandem.jit\ndef k(x_ptr):\n    tl.store(x_ptr, zzz)\n")
    with pytest.raises(tandem.CompileError) as failure:
        m.k[(1,)](ARGUMENTS["x_ptr"])
    package = pathlib.Path(tandem.__file__).parent
    ours = [entry for entry in failure.traceback if package in pathlib.Path(str(entry.path)).parents]
    assert len(ours) == 1


def test_an_assertion_of_constants_is_a_warning_without_debug(capfd):
    path = HERE / "wrong" / "control.py"
    imported(path).of_configuration[(1,)](np.zeros(1, np.float32))
    assert f"{path}:" in (errors := capfd.readouterr().err) and "warning: assertion fails: B is 3" in errors


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda team, x: x[99], IndexError, "index 99 is out of bounds"),
        (lambda team, x: x.__setitem__(..., np.zeros(3)), ValueError, "could not broadcast"),
        (lambda team, x: team.full(4, 1 << 40, "int32"), OverflowError, "out of bounds for int32"),
        (lambda team, x: team.zeros(4, "int32", name=5), TypeError, "`name` is a word, not 5"),
        (lambda team, x: team.stream.signal_write(x, "a"), TypeError, "`value` is an integer, not 'a'"),
        (lambda team, x: team.stream.signal_wait(x, None), TypeError, "`value` is an integer, not None"),
        (
            lambda team, x: team.stream.signal_write(team.zeros(1, "float32"), 1),
            TypeError,
            "signals are integers of 32 or 64 bits, not float32",
        ),
        (lambda team, x: team.stream.wait_event(None), TypeError, "`event` is an integer, not None"),
        (lambda team, x: tandem.ops.AllReduce(team, "64", "fp32"), TypeError, "`max_elements` must be an integer, not '64'"),
    ],
)
def test_a_wrong_value_of_the_host_is_an_error_at_its_line(call, error, message):
    with pytest.raises(error, match=re.escape(message)) as raised:
        tandem.launch(lambda team: call(team, team.zeros(4, "int64", name="x")))
    frames = traceback.extract_tb(raised.value.__traceback__)
    assert frames[-1].filename == __file__ and not any("/numpy/" in frame.filename for frame in frames)
