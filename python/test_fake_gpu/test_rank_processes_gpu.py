"""Ranks that are processes, on the fake driver: `tandem run --target cuda`, torchrun's variables, how they end; `tandem doctor`."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import pytest
from gpu_fake import LIBRARY, assembler, needs_fake  # noqa: F401

import tandem

pytestmark = needs_fake
ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(tandem.__file__).parent.parent
sys.path.insert(0, str(ROOT / "test" / "gpu" / "ranks"))

import programs


def start(command, assembler, variables=()):
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME")}
    environment = {**kept, **assembler, "PYTHONPATH": str(PACKAGE), "TANDEM_CUDA_DRIVER": str(LIBRARY), **dict(variables)}
    words = [sys.executable, *map(str, command)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def run(*arguments, assembler):
    return start(["-m", "tandem", *arguments], assembler)


def finished(child, seconds=60):
    try:
        output, errors = child.communicate(timeout=seconds)
    finally:
        child.kill()
    return child.returncode, output, errors


START = f"""
import os, signal, sys, time
import numpy as np, tandem
sys.path.insert(0, {str(ROOT / "test" / "gpu" / "ranks")!r})
import programs
team = tandem.init()
assert tandem.init() is team and tandem.current_team() is team
"""


@pytest.fixture
def script(tmp_path, assembler):
    def run_script(text, *words, before=("--ranks", "2")):
        path = tmp_path / "script.py"
        path.write_text(START + text)
        return run("run", "--target", "cuda", *before, path, *words, assembler=assembler)

    return run_script


def test_processes(script):
    text = "print(team.rank, team.size, team.device, int(programs.streams(team).sum()), int(programs.tensors(team).sum()), sys.argv[1])"
    code, output, errors = finished(script(text, "word"))
    assert code == 0, errors
    expected = [
        f"{r} 2 {r} {int(a.sum())} {int(b.sum())} word"
        for r, (a, b) in enumerate(zip(tandem.launch(programs.streams, ranks=2).values, tandem.launch(programs.tensors, ranks=2).values))
    ]
    assert sorted(output.splitlines()) == expected


def test_one_process(script):
    code, output, errors = finished(script("print(team.rank, team.size, team._session.is_gpu)", before=()))
    assert (code, output) == (0, "0 1 True\n"), errors


def test_main_of_a_script(script, tmp_path, assembler):
    (tmp_path / "s.py").write_text("def main(team):\n    print('rank', team.rank)\n")
    code, output, errors = finished(run("run", "--target", "cuda", "--ranks", 2, "--main", tmp_path / "s.py", assembler=assembler))
    assert code == 0 and sorted(output.splitlines()) == ["rank 0", "rank 1"], errors


@pytest.mark.parametrize("ranks", ["1", "2"])
def test_a_main_that_nothing_calls_is_told_once(tmp_path, assembler, ranks):
    (tmp_path / "idle.py").write_text("def main(team):\n    team.barrier()\n")
    code, output, errors = finished(run("run", "--target", "cuda", "--ranks", ranks, tmp_path / "idle.py", assembler=assembler))
    assert (code, output) == (0, "")
    assert errors == f"tandem: main(team) of {tmp_path / 'idle.py'} has not run: the script never calls tandem.init(); `--main` calls it\n"


def test_a_wrong_environment_is_one_line(tmp_path, assembler):
    (tmp_path / "good.py").write_text("import tandem\ntandem.init()\n")
    command = ["-m", "tandem", "run", "--target", "cuda", tmp_path / "good.py"]
    assert finished(start(command, assembler, {"RANK": "5", "WORLD_SIZE": "3"})) == (
        1,
        "",
        "the environment's RANK is 5, but there are 3 ranks\n",
    )


def test_transport_of_processes(tmp_path, assembler):
    """Processes go through the stand-in for NVSHMEM; without it, by mapped memory."""
    folder = LIBRARY.parent / "nvshmem" / "lib"
    if not folder.exists():
        pytest.skip("the stand-in for NVSHMEM is not built")
    (folder / "libnvshmem_device.bc").touch()
    path = tmp_path / "script.py"
    targets = "team._session.target_of(team.rank), tandem.gpu.target_of(team.device)"
    path.write_text(START + f"print({targets}, int(programs.tensors(team).sum()))")
    variables = {"TANDEM_NVSHMEM": str(folder.parent), "TANDEM_FAKE_NVSHMEM_LOG": str(tmp_path / "log")}
    for transport, suffix in (("nvshmem", "+nvshmem"), ("auto", "")):
        command = ["-m", "tandem", "run", "--target", "cuda", "--ranks", 2, "--transport", transport, path]
        code, output, errors = finished(start(command, assembler, variables))
        assert code == 0, errors
        sums = [int(a.sum()) for a in tandem.launch(programs.tensors, ranks=2).values]
        assert sorted(output.splitlines()) == sorted(f"{t}{suffix} {t}{suffix} {s}" for t, s in zip(("sm_90a", "sm_80"), sums))
    assert (tmp_path / "log").read_text().count("ends") == 2, "only the first run starts it"
    code, _, errors = finished(start([path], assembler, {**variables, "TANDEM_TRANSPORT": "tcp", "TANDEM_RENDEZVOUS": f"t-{os.getpid()}"}))
    assert code == 1 and "`transport` is `tcp`; it is one of auto, nvlink, nvshmem" in errors


WAIT = "\nteam.stream.signal_wait(team.zeros(1, 'int32'), 1)\n{}\nteam.synchronize()\n"


@pytest.mark.parametrize(
    "deed, code, expected",
    [
        (
            "raise KeyError('mine')",
            1,
            [
                "KeyError: 'mine'",
                "raised on rank 1 of 2",
                "tandem: rank 0 ended: rank 1 failed: KeyError: 'mine'",
                "tandem: rank 1 ended with exit code 1",
            ],
        ),
        ("sys.exit(9)", 9, ["tandem: rank 0 ended: rank 1 failed: it exits with 9", "tandem: rank 1 ended with exit code 9"]),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, ["tandem: rank 0 ended: rank 1 ", "tandem: rank 1 was killed by SIGKILL"]),
    ],
)
def test_a_process_that_fails_ends_the_others(script, deed, code, expected):
    started = time.monotonic()
    found, _, errors = finished(script(WAIT.format(f"if team.rank:\n    {deed}")))
    assert found == code, errors
    for line in expected:
        assert line in errors, errors
    assert errors.count("Traceback") == ("raise" in deed) and time.monotonic() - started < 20


def test_wait_timeout_of_processes(script):
    started = time.monotonic()
    code, _, errors = finished(script(WAIT.format(""), before=("--ranks", "2", "--wait-timeout", "0.5")))
    assert code == 1 and errors.count("[wait-timeout]") == 1, errors
    assert re.search(r"tandem: rank \d ended: rank \d: stream \d gave up", errors), errors
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupt(script, number, code):
    child = script("print('started', flush=True)" + WAIT.format(""))
    assert [child.stdout.readline() for _ in range(2)] == ["started\n"] * 2
    child.send_signal(number)
    started = time.monotonic()
    found, _, errors = finished(child)
    assert found == code and time.monotonic() - started < 15, errors
    assert number != signal.SIGINT or errors.endswith("tandem: interrupted\n")


def _under_torchrun(tmp_path, assembler, text):
    """Two processes with torchrun's variables, without `tandem run`."""
    path = tmp_path / "script.py"
    path.write_text(START + text)
    shared = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(os.getpid())}
    children = [start([path], assembler, {**shared, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(2)]
    return [finished(child) for child in children]


def test_under_torchrun(tmp_path, assembler):
    outcomes = _under_torchrun(tmp_path, assembler, "print(int(programs.streams(team).sum()), team.device)")
    for rank, (code, output, errors) in enumerate(outcomes):
        assert code == 0 and output.split()[1] == str(rank) and errors == "", errors


def test_exception_under_torchrun(tmp_path, assembler):
    outcomes = _under_torchrun(tmp_path, assembler, WAIT.format("if team.rank:\n    raise KeyError('mine')"))
    assert [code for code, _, _ in outcomes] == [1, 1]
    assert "rank 1 failed: KeyError: 'mine'" in outcomes[0][2] and "KeyError: 'mine'" in outcomes[1][2]


def test_doctor(assembler, tmp_path):
    code, output, errors = finished(run("doctor", assembler=assembler))
    assert code == 0, errors
    assert "GPU 1          Fake H200, sm_80, 132 multiprocessors" in output and "granularity    2 MiB" in output
    assert "exported yes" in output and f"ptxas          {assembler['TANDEM_PTXAS']}" in output and "virtual memory yes" in output
