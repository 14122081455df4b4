"""The command lines `tandem run` and `tandemc` with right and wrong arguments, and Ctrl-C."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import tandem

ROOT = pathlib.Path(tandem.__file__).parent.parent
KERNEL = """
import numpy as np, tandem, tandem.language as tl
@tandem.jit
def k(x_ptr):
    x = tl.load(x_ptr)
    BODY
    tl.store(x_ptr, x)
team = tandem.init()
x = team.zeros(1, "int32")
print("started", flush=True)
k[(1,)](x)
team.synchronize()
"""
ENDLESS = KERNEL.replace("BODY", "while x >= 0:\n        x = tl.where(x > 1000000000, 0, x + 1)")
SCRIPTS = {
    "good.py": "import tandem\nprint('rank', tandem.init().rank)\n",
    "unclosed.py": "import tandem\nx = = 3\n",
    "raises.py": "import tandem\nteam = tandem.init()\ndef f():\n    raise ValueError('mine')\nf()\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "wrong.py": KERNEL.replace("BODY", "x = zzz"),
    "endless.py": ENDLESS,
    "deadlock.py": "import tandem\nteam = tandem.init()\nif team.rank:\n    team.barrier()\n",
    "forgets.py": "def main(team):\n    team.barrier()\n",
    "launches.py": "import tandem\ndef main(team):\n    team.barrier()\nif __name__ == '__main__':\n    tandem.launch(main, ranks=2)\n",
    "program.py": "import tandem\ndef program(team):\n    team.barrier()\ntandem.launch(program, ranks=2)\n",
    "of_triton.py": "import triton_dist\n",
    "of_nothing.py": "import nothing\n",
    "empty.py": "",
    "null.py": "\0\1",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "folder").mkdir()
    return tmp_path


def environment():
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-m", "tandem", *arguments], cwd=folder, env=environment(), capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


WRONG = [
    ("", 2, "required: command"),
    ("fly", 2, "invalid choice: 'fly'"),
    ("run", 2, "required: script"),
    ("run --ranks x good.py", 2, "invalid"),
    ("run --ranks 0 good.py", 2, "ranks are 1 to 1024"),
    ("run --ranks -1 good.py", 2, "ranks are 1 to 1024"),
    ("run --target abacus good.py", 2, "invalid choice: 'abacus'"),
    ("run --wait-timeout 3 good.py", 2, "`--wait-timeout` is of ranks on GPUs: it needs `--target cuda`"),
    ("run --transport nvlink good.py", 2, "`--transport` is of ranks on GPUs: it needs `--target cuda`"),
    ("run --target cuda --check good.py", 2, "`--check` is the simulator's: only a simulated run has it"),
    ("run --target cuda --seed 0 good.py", 2, "`--seed` is the simulator's"),
    ("run --target cuda --policy random good.py", 2, "`--policy` is the simulator's"),
    ("run --target cuda --schedule 0.1 good.py", 2, "`--schedule` is the simulator's"),
    ("run --schedule 0.1 --seed 3 good.py", 2, "`--schedule` says what runs next: `--seed` and `--policy`"),
    ("run good.py --ranks 2", 2, "`--ranks` stands behind good.py, where options are the script's"),
    ("run good.py --seed=2", 2, "`tandem run --seed ... good.py` gives it to the run"),
    ("run good.py -- --ranks 2", 0, ""),
    ("run good.py --size 2", 0, ""),
    ("run --main good.py", 1, "tandem: good.py has no main(team), which `--main` calls"),
    ("doctor --ranks 2", 2, "`--ranks` is how many GPUs `--profile` measures: it needs `--profile`"),
    ("run missing.py", 1, "cannot read missing.py: No such file"),
    ("run folder", 1, "cannot read folder: Is a directory"),
    ("run null.py", 1, "null.py is no Python script"),
    ("run --ranks 2 unclosed.py", 1, "SyntaxError: invalid syntax"),
    ("run --trace no/such/file.json good.py", 1, "cannot write no/such/file.json"),
    ("run --trace folder good.py", 1, "cannot write folder: Is a directory"),
    ("run --trace /dev/full good.py", 1, "tandem: cannot write /dev/full: No space left on device"),
    ("run --ranks 2 forgets.py", 0, "tandem: main(team) of forgets.py has not run"),
    ("run --check launches.py", 1, "which do not have `--check`: `--main` calls its main(team) on each rank instead\n"),
    ("run --ranks 2 --seed 0 program.py", 1, "which do not have `--ranks`, `--seed`: give them to `tandem.launch` instead\n"),
    ("check program.py", 2, "program.py exits with an error: it starts ranks of its own (`tandem.launch`)"),
    ("check launches.py", 0, ""),
    ("run --ranks 3 exits.py", 3, ""),
    ("run --ranks 2 raises.py", 1, "ValueError: mine\nraised on rank 0 of 2"),
    ("run --ranks 2 wrong.py", 1, "wrong.py:6:9: error: name `zzz` is not defined"),
    ("run of_triton.py", 1, "No module named 'triton_dist'\ntandem: with `--compat`, `import triton_dist` means Tandem"),
    ("run --ranks 2 of_nothing.py", 1, "No module named 'nothing'\nraised on rank 0 of 2\n"),
    ("explain rac", 2, "nor is it a kind of report: did you mean `race`?"),
    ("run --ranks 2 deadlock.py", 1, "deadlock.py:4: note: the host of rank 1 is here"),
]


@pytest.mark.parametrize(
    "line", ["run --trace= good.py", "check --json= good.py", "check --sarif= good.py", "check --html= good.py", "trace --svg= good.json"]
)
def test_files_have_names(folder, line):
    status, _, errors = run(folder, *line.split())
    assert status == 2 and "the name of a file is needed" in errors


@pytest.mark.parametrize("line, code, words", WRONG, ids=[w[0] or "nothing" for w in WRONG])
def test_wrong_command_line(folder, line, code, words):
    status, _, errors = run(folder, *line.split())
    assert status == code, errors
    assert words in errors
    assert f"tandem{os.sep}session.py" not in errors and f"tandem{os.sep}cli{os.sep}" not in errors


def test_good_command_lines(folder):
    assert run(folder, "run", "--main", "forgets.py") == (0, "", "")
    assert run(folder, "run", "launches.py") == (0, "", "")
    assert run(folder, "run", "--ranks", "2", "good.py")[:2] == (0, "rank 0\nrank 1\n")
    assert run(folder, "run", "empty.py")[:2] == (0, "")
    assert run(folder, "--version") == (0, f"tandem {tandem.__version__}\n", "")
    assert "required: script\n" in run(folder, "run")[2]
    status, help_text, _ = run(folder, "run", "--help")
    assert status == 0
    for word in ("--ranks", "--seed", "--trace", "--timeline", "--compat", "examples:"):
        assert word in help_text


@pytest.mark.parametrize(
    "command", [["-m", "tandem", "run", "--ranks", "2", "endless.py"], ["-m", "tandem", "run", "endless.py"], ["endless.py"]]
)
def test_interrupt_ends_a_simulation(folder, command):
    child = subprocess.Popen(
        [sys.executable, *command], cwd=folder, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout.readline() == "started\n"
    time.sleep(0.3)
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    try:
        _, errors = child.communicate(timeout=30)
    finally:
        child.kill()
    assert time.monotonic() - begin < 10
    if "run" in command:
        assert child.returncode == 130 and errors == "tandem: interrupted\n"
    else:
        assert child.returncode == -signal.SIGINT and "KeyboardInterrupt" in errors


COMPILER = next((p for p in (ROOT.parent / "tools" / "tandemc", ROOT.parent / "bin" / "tandemc") if p.exists()), None)
TWO_KERNELS = """
import tandem
import tandem.language as tl
@tandem.jit
def k(x_ptr, n, B: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, B), n)
@tandem.jit
def k2(x_ptr):
    tl.store(x_ptr, 1.0)
"""
COMPILATIONS = [
    ([], 2, "is required"),
    (["missing.py"], 2, "cannot read `missing.py`"),
    (["folder"], 2, "`folder`"),
    (["null.py"], 2, "null.py:1:1: error: source text cannot contain null bytes"),
    (["empty.py"], 2, "`empty.py` has no kernel"),
    (["unclosed.py"], 2, "unclosed.py:2:5: error: invalid syntax"),
    (["two.py"], 2, "has 2 kernels: name one of `k`, `k2`"),
    (["two.py:zz"], 2, "has no function `zz`"),
    (["two.py:k"], 2, "parameter `x_ptr` of `k` has no type"),
    (["two.py:k", "--signature", "*fp32, i32"], 2, "constexpr parameter `B` of `k` has no value"),
    (["two.py:k", "--signature", "*fp32, i33", "--constexpr", "B=4"], 2, "`i33` is not a type, for parameter `n`"),
    (["two.py:k", "--signature", "*fp32, i32, i32", "--constexpr", "B=4"], 2, "has 3 types, but `k` takes 2"),
    (["two.py:k", "--signature", "*fp32, i32", "--constexpr", "B=4x"], 2, "invalid decimal literal"),
    (["two.py:k", "--signature", "*fp32, i32", "--constexpr", "B=4, B=8"], 2, "parameter `B` has two values in --constexpr"),
    (["two.py:k2", "--signature", "*fp32", "--maxnreg", "256"], 1, "`maxnreg` must be 1 to 255, but is 256"),
    (["two.py:k2", "--signature", "*fp32", "--maxnreg", "-1"], 1, "`maxnreg` must be a positive integer, but is -1"),
    (["two.py:k2", "--signature", "*fp32", "--emit", "poem"], 2, "poem not in"),
    (["two.py:k2", "--signature", "*fp32", "-o", "no/such/file"], 2, "cannot write `no/such/file`"),
    (["two.py:k2", "--signature", "*fp32", "--num-warps", "3"], 1, "power of two"),
    (["two.py:k2", "--signature", "i32"], 1, "two.py:9:5: error: `store` needs a pointer"),
]


@pytest.mark.skipif(COMPILER is None, reason="tandemc is not beside this package")
@pytest.mark.parametrize("arguments, code, words", COMPILATIONS, ids=[" ".join(c[0]) or "nothing" for c in COMPILATIONS])
def test_tandemc(folder, arguments, code, words):
    (folder / "two.py").write_text(TWO_KERNELS)
    done = subprocess.run([COMPILER, *arguments], cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == code and words in done.stderr, done.stderr
    assert done.stdout == ""


@pytest.mark.skipif(COMPILER is None, reason="tandemc is not beside this package")
def test_tandemc_keeps_what_kernels_print_out_of_its_output(folder):
    (folder / "prints.py").write_text(TWO_KERNELS.replace("tl.store(x_ptr, 1.0)", "tl.static_print('hello', 1)\n    tl.store(x_ptr, 1.0)"))
    done = subprocess.run([COMPILER, "prints.py:k2", "--signature", "*fp32"], cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "hello 1\n") and "hello" not in done.stdout


@pytest.mark.parametrize(
    "arguments", [["explain"], ["explain", "M4"], ["--help"], ["run", "--timeline", "good.py"], ["check", "good.py"], ["run", "prints.py"]]
)
def test_nobody_reads_the_output(folder, arguments):
    (folder / "prints.py").write_text("import tandem\ntandem.init()\nprint('x' * 100_000)\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run(
        [sys.executable, "-m", "tandem", *arguments],
        cwd=folder,
        env=environment(),
        stdout=writing,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    os.close(writing)
    assert done.returncode == 128 + signal.SIGPIPE and not done.stderr, done


def test_a_pipe_of_the_script_that_breaks_is_its_own_error(folder):
    (folder / "pipe.py").write_text("import os, tandem\ntandem.init()\nr, w = os.pipe()\nos.close(r)\nos.write(w, b'x')\n")
    status, _, errors = run(folder, "run", "pipe.py")
    assert status == 1 and "BrokenPipeError" in errors


@pytest.mark.skipif(COMPILER is None, reason="tandemc is not beside this package")
def test_tandemc_on_a_full_disk(folder):
    (folder / "two.py").write_text(TWO_KERNELS)
    with open("/dev/full", "w") as full:
        done = subprocess.run([COMPILER, "two.py:k2", "--signature", "*fp32"], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (2, "error: cannot write the standard output\n")
