"""What counts as worse than the record, and that launches without a GPU become requests."""

import builtins
import importlib.util
import json
import pathlib
import subprocess
import sys
import time

import pytest

HERE = pathlib.Path(__file__).parent


def load(name):
    spec = importlib.util.spec_from_file_location(f"corpus_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


corpus, worker = load("compile"), load("worker")

RECORDED = {"registers": 128, "spill_bytes": 40, "shared_bytes": 1024, "units": ["wgmma", "tma"]}


@pytest.mark.parametrize(
    "change, what",
    [
        ({}, ""),
        ({"registers": 136, "spill_bytes": 42, "units": ["wgmma", "mma", "tma"]}, ""),
        ({"registers": 90, "spill_bytes": 0}, ""),
        ({"registers": 137}, "137 registers, not 128"),
        ({"spill_bytes": 44}, "44 bytes of spills, not 40"),
        ({"units": ["mma", "tma"]}, "no wgmma"),
        ({"failed": "no such op"}, "does not compile: no such op"),
    ],
)
def test_worse(change, what):
    assert corpus.worse({**RECORDED, **change}, RECORDED) == what


def test_a_kernel_that_did_not_compile_can_only_be_better():
    assert corpus.worse(RECORDED, {"failed": "no such op"}) == corpus.worse({"failed": "other"}, {"failed": "no such op"}) == ""


def test_a_record_has_a_line_for_each_kernel():
    rows = {"a": {"k": RECORDED, "l": RECORDED}, "b": {"k": RECORDED}}
    text = corpus.written(rows)
    assert json.loads(text) == rows and text.count("registers") == sum("registers" in line for line in text.splitlines())


def test_without_libraries_nothing_is_checked(tmp_path):
    done = subprocess.run([sys.executable, HERE / "compile.py", "--libraries", tmp_path / "none", tmp_path / "r.json"], capture_output=True)
    assert done.returncode == corpus.SKIPPED and done.stdout.startswith(b"skipped")


def test_imports_are_not_of_the_first_call(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "slow_outer.py").write_text("import slow_inner\n")
    (tmp_path / "slow_inner.py").write_text("import time\ntime.sleep(0.2)\n")
    real = builtins.__import__
    with worker.Imports() as imports:
        import slow_outer  # noqa: F401

        time.sleep(0.3)
    assert 0.2 <= imports.seconds < 0.3, "the nested import counts once, the sleep does not"
    assert builtins.__import__ is real


LIBRARY = """
import sys
sys.path.insert(0, sys.argv[1])
import tandem.compat
tandem.compat.install()
import torch, triton, triton.language as tl
import under_tandem, without_gpu
without_gpu.pretend()
launches = under_tandem.Launches(configs=2)

@triton.autotune([triton.Config({"BLOCK": b}) for b in (64, 128, 256)], key=["n"])
@triton.jit
def doubles(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, 2 * tl.load(x + i, mask=i < n), mask=i < n)

x = torch.ones(1000, device="cuda")
assert x.is_cuda and x.sum().item() == 1000
for _ in range(2):
    doubles[lambda meta: (triton.cdiv(1000, meta["BLOCK"]),)](x, torch.empty_like(x), 1000)
print(*launches.take().values(), sep=",")
"""


def test_a_launch_becomes_a_request_for_each_configuration(tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "library.py").write_text(LIBRARY)
    done = subprocess.run([sys.executable, tmp_path / "library.py", HERE], capture_output=True, text=True)
    wanted = [f"doubles BLOCK={block} num_warps=4 num_stages=3" for block in (64, 128)]
    assert done.stdout.strip().split(",") == wanted, done.stderr


SASS = """
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/                   LDGSTS.E.128 [R2], desc[UR4][R4.64] ;
        /*0020*/                   HGMMA.64x64x16.F32.BF16 R24, gdesc[UR4], R24 ;
        /*0030*/               @P0 LDL R3, [R1] ;
        /*0040*/              @!P1 BRA 0x20 ;
        /*0050*/               @P2 BRA 0x10 ;
        /*0060*/                   EXIT ;
        /*0070*/                   BRA 0x70;
"""


def test_the_hot_loop_is_the_innermost_that_multiplies():
    sass = load("sass")
    code = sass.instructions(SASS)
    found = sass.counts(sass.hot_loop(code))
    assert len(code) == 8 and {name: n for name, n in found.items() if n} == {
        "instructions": 3,
        "products": 64 * 64 * 16 // 4,
        "wgmma": 1,
        "spills": 1,
    }


def test_a_wait_that_jumps_back_into_a_loop_is_no_longer_loop():
    opcodes = ["IADD3", "HGMMA.64x64x16.F32.BF16", "BRA", "EXIT", "NOP", "BRA"]
    code = [(16 * i, opcode, {2: "0x0", 5: "0x10"}.get(i, "")) for i, opcode in enumerate(opcodes)]
    assert load("sass").hot_loop(code) == code[:3]


def test_loads_wait_for_the_first_that_is_used():
    sass = load("sass")
    lines = ["LDG.E R1, [R8]", "LDG.E.128 R4, [R10]", "FADD R2, R6, R3", "LDG.E R1, [R8]", "EXIT"]
    code = sass.instructions("\n".join(f"        /*{16 * i:04x}*/  {line} ;" for i, line in enumerate(lines)))
    assert sass.loads_under_way(code) == 2 and sass.counts(code)["bytes an access"] == 8 and sass.weighted(code) == 5


STRANGER = """
import triton
import triton.language as tl
from .missing import Config, names

@triton.jit
def helper(p, at):
    return tl.load(p + at)

@triton.jit
def rows(X, index_ptr, Y, stride_xm, stride_xk, n_rows, eps, HAS_MASK: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * stride_xm + tl.arange(0, BLOCK) * stride_xk
    row = Y + tl.load(index_ptr)
    tl.store(row + tl.arange(0, BLOCK), helper(X, at) + eps)
"""


def test_arguments_are_guessed():
    names, functions = load("guess").kernels(STRANGER)
    assert list(names) == ["rows"]
    first, *_ = load("guess").guesses(names["rows"], functions, set())
    assert first == {
        "X": "*fp16",
        "index_ptr": "*i32",
        "Y": "*fp16",
        "stride_xm": 4096,
        "stride_xk": 1,
        "n_rows": 4096,
        "eps": 0.5,
        "HAS_MASK": True,
        "BLOCK": 1024,
    }


def test_a_file_is_imported_without_what_it_imports(tmp_path):
    (tmp_path / "library").mkdir()
    (tmp_path / "library/missing.py").write_text("names = 3\nimport no_such_module as m\nConfig = m.Config(names)\n")
    (tmp_path / "library/file.py").write_text(
        "from .missing import Config, names\nfrom none.here import used\n@used(1, key=2)\ndef f(): pass"
    )
    script = f"import pathlib, sys; sys.path.insert(0, {str(HERE)!r}); import stand_ins; root = pathlib.Path({str(tmp_path)!r})\n"
    script += "module = stand_ins.load(root, root / 'library/file.py'); print(module.names, module.f.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["3", "f"], done.stderr


def test_reasons_to_look_at_a_kernel():
    machine_code = {"products": 0, "instructions": 100, "weighted": 100, "warps": 4, "spills": 0, "local": 0, "wgmma": 0, "cp.async": 0}
    machine_code |= {"tma": 0, "bytes an access": 16.0, "barriers": 0, "all barriers": 0, "blocks": 4, "loads under way": 3}
    sys.path.insert(0, str(HERE))
    reasons = load("machine").reasons
    assert reasons(machine_code, machine_code) == {}
    changed = {**machine_code, "blocks": 2, "bytes an access": 8.0, "weighted": 150}
    assert reasons(changed, machine_code) == {"warps": 2.0, "narrow accesses": 2.0, "instructions": 1.5}
    assert reasons({**machine_code, "blocks": 2}, {**machine_code, "blocks": 8})["warps"] == 4.0
