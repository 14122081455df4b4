"""What an editor shows: jedi completes names and shows their text, and checkers of types find nothing in the examples."""

import pathlib
import re
import subprocess
import sys

import pytest

import tandem

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(tandem.__file__).parent
EXAMPLES = sorted(map(str, (ROOT / "examples").glob("[!t]*.py")))
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("0*.md"))]  # the tenth's program imports Triton
USE = """
from typing import assert_type
import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.ops import AllReduce

@tandem.jit
def kernel(x_ptr, BLOCK: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, BLOCK), dl.rank())

def main(team: tandem.Team) -> float:
    x = team.zeros(64, "float32", name="x")
    kernel[(1,)](x, BLOCK=64)
    operator = AllReduce(team, 64, "fp32")
    assert_type(operator, AllReduce)
    assert_type(team.rank, int)
    return float(x[0])

result = tandem.launch(main, ranks=2)
assert_type(result, tandem.Result)
print(result.values)
"""


def script(code):
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(ROOT, added_sys_path=[str(PACKAGE.parent)], smart_sys_path=False)
    return jedi.Script(code, project=project, environment=jedi.InterpreterEnvironment())


@pytest.mark.parametrize(
    "code, names",
    [
        ("import tandem\ntandem.", ["jit", "launch", "explore", "overlap", "Team", "autotune", "language", "torch"]),
        ("import tandem.language as tl\ntl.", ["load", "store", "arange", "dot", "softmax", "float32", "constexpr", "math"]),
        ("import tandem.dist as dl\ndl.", ["notify", "wait", "symm_at", "consume_token", "arriving", "tma"]),
        ("import tandem.shmem as shmem\nshmem.putmem_", ["putmem_block", "putmem_nbi", "putmem_signal_nbi_block"]),
        ("import tandem.simt as simt\nsimt.", ["tid", "ld", "st", "atomic_add"]),
        ("import tandem\ndef main(team: tandem.Team):\n    team.", ["rank", "size", "zeros", "barrier", "new_stream", "local_empty"]),
        ("import tandem\nresult = tandem.launch(print, ranks=2)\nresult.", ["values", "reports", "summary", "write_trace"]),
        ("import tandem\n@tandem.jit\ndef f(x): pass\nf.", ["warmup", "cache_key"]),
        ("from tandem.ops import ", ["AllGatherGemm", "FlashDecode", "choices"]),
        ("import tandem.torch as tt\ntt.", ["init", "ag_gemm", "moe_mlp", "attention", "ep_combine", "RowParallelLinear", "prepare"]),
    ],
    ids=lambda value: value.split("\n")[-1].strip() if isinstance(value, str) else "",
)
def test_jedi_completes(code, names):
    found = {completion.name for completion in script(code).complete()}
    assert [name for name in names if name not in found] == []


@pytest.mark.parametrize(
    "code, words",
    [
        ("import tandem.language as tl\ntl.load", ["load(pointer, mask=None", "one element further", "Triton: `triton.language.load`"]),
        ("import tandem.dist as dl\ndl.notify", ["sig_op: Any='set'", "Memory model: M5", "`triton_dist.language.notify`"]),
        ("import tandem.shmem as shmem\nshmem.putmem", ["`bytes` bytes", "OpenSHMEM: `shmem_putmem`"]),
        ("import tandem.torch as tt\ntt.ag_gemm", ["ag_gemm(a: Tensor, b: Tensor, m: int | None=None", "-> Tensor", "own(m), k"]),
        ("import tandem.torch as tt\ntt.moe_mlp", ["gated: bool | None=None", "Options:"]),
        ("import tandem.torch as tt\ntt.ep_dispatch", ["max_m: int", "Returns the rows that came"]),
    ],
    ids=lambda value: value.split("\n")[-1] if isinstance(value, str) else "",
)
def test_jedi_shows_what_a_name_does(code, words):
    (name,) = script(code).help()
    said = " ".join(name.docstring().split())
    assert [word for word in words if word not in said] == [], said


def checked(checker, tmp_path, code):
    """What a checker of types says of a script, the examples and the programs of pages: whether it is content, and its words."""
    pytest.importorskip(checker)
    programs = [f"page_{page.stem}.py" for page in PAGES]
    for page, name in zip(PAGES, programs):
        found = re.search(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)
        (tmp_path / name).write_text(found[1] if found else "")
    (tmp_path / "script.py").write_text(code)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "standard"}')
    options = {"mypy": ["--cache-dir", str(tmp_path)], "basedpyright": ["--pythonpath", sys.executable]}[checker]
    command = [sys.executable, "-m", checker, *options, "script.py", *programs, *EXAMPLES]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    return done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_checkers_of_types_find_nothing_in_the_examples(checker, tmp_path):
    is_content, said = checked(checker, tmp_path, USE)
    assert is_content, said


@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_checkers_of_types_find_a_misspelt_name(checker, tmp_path):
    is_content, said = checked(checker, tmp_path, "import tandem.language as tl\ntl.lod(1)\n")
    assert not is_content and "lod" in said
