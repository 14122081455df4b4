"""Ranks that are processes: which rank an environment says this is, how `tandem run` starts and ends them. No GPU is needed here."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import types

import numpy as np
import pytest

import tandem
from tandem import doctor
from tandem.gpu import nvshmem, process
from tandem.gpu.session import milliseconds
from tandem.host.session import check_default
from tandem.host.variables import is_on
from tandem.tune import machine_profile

PACKAGE = pathlib.Path(tandem.__file__).parent.parent
NOWHERE = "/nowhere/libcuda.so.1"

TORCHRUN = {
    "RANK": "2",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "2",
    "LOCAL_WORLD_SIZE": "4",
    "MASTER_ADDR": "here",
    "MASTER_PORT": "29500",
    "TORCHELASTIC_RUN_ID": "none",
    "TORCHELASTIC_RESTART_COUNT": "0",
}
MPIRUN = {
    "OMPI_COMM_WORLD_RANK": "1",
    "OMPI_COMM_WORLD_SIZE": "2",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "PMIX_NAMESPACE": "job-17",
}


def test_no_launcher():
    assert process.place_in({}) is None
    assert process.place_in({"RANK": "1"}) is None


def test_torchrun():
    place = process.place_in(TORCHRUN)
    assert (place.rank, place.ranks, place.local_rank) == (2, 4, 2)
    assert place.rendezvous == f"tandem-{os.getuid()}-none-here-29500-0"
    assert process.place_in({**TORCHRUN, "TORCHELASTIC_RESTART_COUNT": "1"}).rendezvous != place.rendezvous


def test_mpirun():
    place = process.place_in(MPIRUN)
    assert (place.rank, place.ranks, place.local_rank, place.rendezvous) == (1, 2, 1, f"tandem-{os.getuid()}-job-17")


def test_tandem_run():
    assert process.place_in({"TANDEM_RENDEZVOUS": "r"}) == process.Place(0, 1, 0, "r")
    assert process.place_in({"RANK": "1", "WORLD_SIZE": "2", "TANDEM_RENDEZVOUS": "r"}) == process.Place(1, 2, 1, "r")


@pytest.mark.parametrize(
    "change, words",
    [
        ({"RANK": "4"}, "RANK is 4, but there are 4 ranks"),
        ({"RANK": "x"}, "RANK is `x`, not a number"),
        ({"WORLD_SIZE": "-1"}, "WORLD_SIZE is `-1`"),
        ({"WORLD_SIZE": "8"}, "4 of the 8 ranks are on this host; ranks on GPUs share one host"),
    ],
)
def test_wrong_environment(change, words):
    with pytest.raises(RuntimeError, match=words):
        process.place_in({**TORCHRUN, **change})


def test_device_of_a_process():
    place = process.place_in(TORCHRUN)
    assert process.device_for(place, 8, "") == process.device_for(place, 4, "0,1,2,3") == 2
    assert process.device_for(place, 1, "5") == 0, "the launcher left it its own"
    for count, visible in ((3, ""), (1, ""), (2, "0,1"), (3, "0,1,2")):
        with pytest.raises(RuntimeError, match=f"4 ranks on GPUs need 4 GPUs, this machine has {count}"):
            process.device_for(place, count, visible)


@pytest.mark.parametrize("seconds, expected", [(None, 0), (1, 1000), (0.0001, 1), (2.5, 2500)])
def test_wait_timeout(seconds, expected):
    assert milliseconds(seconds) == expected


@pytest.mark.parametrize("seconds", [0, -1, True, "1", float("nan"), float("inf")])
def test_wrong_wait_timeout(seconds):
    with pytest.raises(ValueError, match="number of seconds above 0, or None"):
        milliseconds(seconds)


def test_wait_timeout_of_the_environment():
    assert process._wait_timeout_in({}) is None and process._wait_timeout_in({"TANDEM_WAIT_TIMEOUT": ""}) is None
    assert process._wait_timeout_in({"TANDEM_WAIT_TIMEOUT": "2.5"}) == 2.5
    with pytest.raises(RuntimeError, match="TANDEM_WAIT_TIMEOUT is `soon`, not a number of seconds"):
        process._wait_timeout_in({"TANDEM_WAIT_TIMEOUT": "soon"})


@pytest.mark.parametrize("text", ["1", "yes", "0", "", "False", "off", "no"])
def test_words_that_turn_something_on(text, monkeypatch):
    monkeypatch.setenv("TANDEM_CHECK", text)
    assert check_default() == is_on("TANDEM_DEBUG", "TANDEM_CHECK") == (text in ("1", "yes"))


def run(code, *, environment=None, **options):
    """A Python process with the package and without a GPU."""
    clean = {k: v for k, v in os.environ.items() if k not in TORCHRUN and k not in MPIRUN}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=60,
        env={**clean, "PYTHONPATH": str(PACKAGE), "TANDEM_CUDA_DRIVER": NOWHERE, **(environment or {})},
        **options,
    )


SPAWN = """
import sys
from tandem.gpu.spawn import run_processes
sys.exit(run_processes([sys.executable, "-c", {script!r}], 3))
"""
SCRIPT = """
import os, signal, sys, time
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
assert os.environ["LOCAL_RANK"] == str(rank) and os.environ["LOCAL_WORLD_SIZE"] == "3" and os.environ["TANDEM_RENDEZVOUS"]
"""


def spawn(script):
    started = time.monotonic()
    done = run(SPAWN.format(script=SCRIPT + script))
    return done, time.monotonic() - started


def test_processes_that_end_well():
    done, _ = spawn("print('rank', rank)\nprint('to stderr', file=sys.stderr)")
    assert done.returncode == 0 and sorted(done.stdout.splitlines()) == ["rank 0", "rank 1", "rank 2"]
    assert done.stderr == "to stderr\n" * 3


def test_lines_stay_whole():
    done, _ = spawn("for i in range(200): print(str(rank) * 50, end='', flush=True); print(str(rank) * 50)")
    assert sorted(done.stdout.splitlines()) == sorted(str(r) * 100 for r in range(3) for _ in range(200))


@pytest.mark.parametrize(
    "deed, code, words",
    [
        ("sys.exit(5)", 5, "rank 1 ended with exit code 5"),
        ("raise ValueError('mine')", 1, "ValueError: mine"),
        ("os.kill(os.getpid(), signal.SIGKILL)", 137, "rank 1 was killed by SIGKILL"),
    ],
)
def test_one_that_fails_ends_the_others(deed, code, words):
    done, seconds = spawn(f"if rank == 1:\n    {deed}\ntime.sleep(100)")
    assert done.returncode == code and words in done.stderr, done.stderr
    assert done.stderr.splitlines()[-1].endswith("; ranks 0, 2 were ended with it")
    assert seconds < 15


def test_the_first_failure_is_told_from_its_consequences():
    done, seconds = spawn("if rank == 1:\n    time.sleep(0.5)\n    sys.exit(6)\nsys.exit(71)")
    assert done.returncode == 6 and done.stderr == "tandem: rank 1 ended with exit code 6\n"
    done, _ = spawn("sys.exit(71)")
    assert done.returncode == 1


def test_ranks_that_ignore_sigterm_are_killed():
    done, seconds = spawn(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nif rank == 1:\n    time.sleep(0.5)\n    sys.exit(4)\nwhile True:\n    time.sleep(1)"
    )
    assert done.returncode == 4 and seconds < 20


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_end_all(number, code, tmp_path):
    script = SCRIPT + f"open({str(tmp_path)!r} + '/' + str(os.getpid()), 'w')\nprint('started', flush=True)\ntime.sleep(100)"
    child = subprocess.Popen(
        [sys.executable, "-c", SPAWN.format(script=script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
    )
    for _ in range(3):
        assert child.stdout.readline() == "started\n"
    child.send_signal(number)
    try:
        _, errors = child.communicate(timeout=30)
    finally:
        child.kill()
    assert child.returncode == code
    assert number != signal.SIGINT or errors.splitlines()[-1] == "tandem: interrupted"
    for path in tmp_path.iterdir():
        assert not pathlib.Path(f"/proc/{path.name}").exists(), "a rank is left over"


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_ranks_start_ends_them(number, code, tmp_path):
    signalled = f"""
import os, subprocess
class Popen(subprocess.Popen):
    def __init__(self, *arguments, **named):
        super().__init__(*arguments, **named)
        open({str(tmp_path / "pid")!r}, "w").write(str(self.pid))
        os.kill(os.getpid(), {int(number)})
subprocess.Popen = Popen
"""
    assert run(signalled + SPAWN.format(script="import time; time.sleep(100)")).returncode == code
    assert not pathlib.Path(f"/proc/{(tmp_path / 'pid').read_text()}").exists(), "a rank is left over"


def test_without_a_gpu():
    done = run("import tandem\ntandem.launch(lambda team: 0, ranks=2, target='cuda')")
    assert "RuntimeError: 2 ranks on GPUs need 2 GPUs, this machine has 0: no NVIDIA GPU: " in done.stderr
    done = run("import tandem\ntandem.init()", environment=TORCHRUN)
    assert "RuntimeError: 4 ranks on GPUs need 4 GPUs, this machine has 0: no NVIDIA GPU: " in done.stderr
    done = run(
        "from tandem.cli import main; import sys; sys.exit(main(['run', '--target', 'cuda', '--ranks', '3', 'x.py']))",
        cwd=pathlib.Path(__file__).parent,
    )
    assert done.returncode == 1 and "x.py" in done.stderr


def test_run_without_a_gpu(tmp_path):
    (tmp_path / "x.py").write_text("import tandem\nprint(tandem.init().rank)\n")
    for ranks, words in ((3, "3 ranks on GPUs need 3 GPUs, this machine has 0: no NVIDIA GPU: "), (1, "no NVIDIA GPU: ")):
        done = run(
            f"from tandem.cli import main; import sys; sys.exit(main(['run', '--target', 'cuda', '--ranks', '{ranks}', 'x.py']))",
            cwd=tmp_path,
        )
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1 and words in done.stderr, done.stderr


@pytest.mark.parametrize("option", ["check", "slots_per_rank"])
def test_the_simulators_options(option):
    with pytest.raises(ValueError, match=f"`{option}` is the simulator's"):
        tandem.launch(lambda team: 0, target="cuda", **{option: 1})


def test_unknown_target():
    with pytest.raises(ValueError, match="target `abacus` is not available; this build has: sim, cuda"):
        tandem.launch(lambda team: 0, target="abacus")


def test_simulated_ranks_have_no_cuda_streams():
    with pytest.raises(TypeError, match="a simulated rank has no CUDA streams"):
        tandem.launch(lambda team: team.adopt(0))


def test_doctor_without_a_driver():
    done = run("from tandem.cli import main; import sys; sys.exit(main(['doctor']))")
    assert done.returncode == 0 and "\nGPU            none: no NVIDIA GPU: " in done.stdout, done.stderr
    assert done.stdout.startswith(f"tandem         {tandem.__version__} in ") and "\nworks here     simulated ranks" in done.stdout
    done = run("from tandem.cli import main; import sys; sys.exit(main(['doctor', '--profile']))")
    assert done.returncode == 1 and done.stderr == "tandem: there is no GPU that `--profile` could measure\n"


PROBE = {
    "driver": "13.0",
    "devices": [
        {
            "index": i,
            "name": "NVIDIA H200",
            "target": "sm_90a",
            "memory_bytes": 150 << 30,
            "multiprocessors": 132,
            "pci": f"0000:{i}9:00.0",
            "virtual_memory": True,
            "posix_descriptors": True,
            "multicast": True,
            "stream_wait_nor": True,
            "granularity": 2 << 20,
            "exports_descriptors": True,
        }
        for i in range(2)
    ],
    "peers": [[None, {"access": 1, "atomics": 1, "performance_rank": 0}], [{"access": 1, "atomics": 0, "performance_rank": 0}, None]],
}


def test_doctors_report():
    lines = list(doctor.report(PROBE))
    assert "driver         CUDA 13.0" in lines and "granularity    2 MiB" in lines and "ranks          up to 2" in lines
    assert "GPU 1          NVIDIA H200, sm_90a, 132 multiprocessors, 150.0 GiB, 0000:19:00.0" in lines
    assert "    0  -  A" in lines and "    1  x  -" in lines
    assert "symmetric heap mapped from POSIX file descriptors (VMM)" in lines


def test_nvshmem_is_found_where_the_compiler_looks(tmp_path):
    for folder in ("named/lib", "site/nvidia/nvshmem/lib"):
        (tmp_path / folder).mkdir(parents=True)
        for name in ("libnvshmem_device.bc", "libnvshmem_host.so.3"):
            (tmp_path / folder / name).write_text("not a library")
    site = [str(tmp_path / "site")]
    environment = {}
    assert nvshmem.find(environment, site) == str(tmp_path / "site/nvidia/nvshmem/lib")
    assert environment == {"TANDEM_NVSHMEM": str(tmp_path / "site/nvidia/nvshmem")}, "the compiler and the runtime read it there"
    assert nvshmem.find({"TANDEM_NVSHMEM": str(tmp_path / "named")}, site) == str(tmp_path / "named/lib")
    assert nvshmem.find({"TANDEM_NVSHMEM": "/nowhere"}, site) is None
    assert nvshmem.version(tmp_path / "named/lib") is None


def test_doctor_names_the_pairs_that_need_nvshmem():
    nowhere = {"TANDEM_NVSHMEM": "/nowhere"}
    missing = "not found (`nvidia-nvshmem-cu13`, TANDEM_NVSHMEM)"
    assert doctor.nvshmem_of(PROBE["peers"], nowhere) == f"{missing}; not needed"
    apart = [[None, {"access": 1}, {"access": 0}], [{"access": 1}, None, {"access": 1}], [{"access": 1}, {"access": 0}, None]]
    assert doctor.nvshmem_of(apart, nowhere) == f"{missing}; GPUs 0-2, 1-2 reach each other only through it"


def test_doctors_report_of_a_poor_machine():
    """Whatever could not be found out is said."""
    error = {"error": "`cuMemCreate` failed: operation not permitted"}
    poor = [{**d, "exports_descriptors": error, "pci": error} for d in PROBE["devices"]]
    text = "\n".join(doctor.report({**PROBE, "devices": poor}))
    assert "exported not known (`cuMemCreate` failed: operation not permitted)" in text and "by legacy IPC handles" in text
    apart = [[None, {"access": error, "atomics": error}], [{"access": 0, "atomics": 0}, None]]
    text = "\n".join(doctor.report({**PROBE, "peers": apart}))
    assert "not all GPUs reach each other" in text and "    0  -  ." in text and "operation not permitted" in text
    assert list(doctor.report({"driver": "13.0", "devices": [], "peers": []})) == ["driver         CUDA 13.0"]
    unnamed = {"error": "no", **{k: v for k, v in poor[0].items() if k not in ("name", "target", "memory_bytes", "multiprocessors")}}
    assert any("not known (no)" in line for line in doctor.report({**PROBE, "devices": [unnamed], "peers": [[None]]}))


def test_ptxas_is_found_where_the_compiler_looks(tmp_path):
    tool = tmp_path / "ptxas"
    tool.write_text("")
    assert doctor.find_ptxas({"PATH": f"/nowhere:{tmp_path}"}) == str(tool)
    nowhere = {"TANDEM_PTXAS": "/nowhere/ptxas", "PATH": str(tmp_path)}
    assert doctor.find_ptxas(nowhere) is None
    assert any("TANDEM_PTXAS names /nowhere/ptxas, which is no file" in line for line in doctor.report_without_gpu("", nowhere))


def test_a_profile_is_written_whole(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("TANDEM_CACHE_DIR", str(tmp_path / "new"))
    monkeypatch.setattr(doctor, "measure", lambda ranks, say: {"version": 2, "ranks": ranks})
    options = types.SimpleNamespace(profile="", ranks=None)
    assert doctor._measure(options, 3) == 0
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["profile.json"]
    assert json.loads((tmp_path / "new" / "profile.json").read_text()) == {"version": 2, "ranks": 3}
    monkeypatch.setenv("TANDEM_CACHE", "0")
    capsys.readouterr()
    assert doctor._measure(options, 3) == 1 and "there is no cache directory" in capsys.readouterr().err


def test_profile(tmp_path, monkeypatch):
    monkeypatch.setenv("TANDEM_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(machine_profile, "devices", lambda: [{"name": "NVIDIA H200"}])
    assert not tandem.profile().measured and tandem.profile().copy_gbps == tandem.Profile().copy_gbps
    path = machine_profile.default_path()
    for text in ("", "{}", "[]", '{"version": 0}', '{"version": 2, "device": "NVIDIA H200", "store_gbps": 3, "load_gbps": {}}'):
        path.write_text(text)
        assert not tandem.profile().measured
    path.write_text(
        '{"version": 2, "device": "NVIDIA H200", "ranks": 4, "copy_gbps": 401.5, "store_gbps": {"1": 10, "4": 39, "16": 40},'
        ' "load_gbps": {"1": 5}}'
    )
    found = tandem.profile()
    assert found.measured and found.copy_gbps == 401.5 and found.programs_for() == 4 and found.programs_for(stores=False) == 1
    assert found.launch_us == tandem.Profile().launch_us, "what was not measured has its default"
    monkeypatch.setattr(machine_profile, "devices", lambda: [{"name": "another"}])
    assert not tandem.profile().measured
    path.write_text('{"version": 2, "device": "another", "ranks": 1, "store_gbps": {}, "load_gbps": {}}')
    assert tandem.profile().measured and tandem.profile().programs_for() == tandem.Profile().programs_for(), "one rank has no peer"
    monkeypatch.setenv("TANDEM_CACHE", "0")
    assert machine_profile.default_path() is None and not tandem.profile().measured
    assert tandem.profile(path).copy_gbps == tandem.Profile().copy_gbps, "of other GPUs"


def test_a_profile_that_cannot_be_read_says_why(tmp_path):
    path = tmp_path / "profile.json"
    for text, why in (
        ("x", "the profile is no JSON object"),
        ('{"version": 1}', "has version 1, 2 is needed"),
        ('{"version": 2, "device": "G", "copy_gbps": -1}', "has `copy_gbps` -1, a number above 0 is needed"),
        ('{"version": 2, "device": "G", "copy_gpbs": 1}', "has `copy_gpbs`, which is no speed of a machine"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=f"{path}: .*{why}"):
            machine_profile.read_profile(path)
    path.write_text(tandem.Profile(device="G", copy_us=7.25).text())
    assert machine_profile.read_profile(path) == tandem.Profile(device="G", copy_us=7.25)


def test_modelled_time_goes_by_a_machine():
    def main(team):
        x, y = team.empty(1 << 20, "uint8"), team.local_from_array(np.ones(1 << 20, np.uint8))
        team.stream.copy(x.peer(1 - team.rank), y)
        team.synchronize()

    def took(**given):
        return tandem.launch(main, ranks=2, trace=True, **given).summary["end_ns"]

    nominal, slow = machine_profile.machine("nominal"), dataclasses.replace(machine_profile.machine("nominal"), copy_gbps=40.0)
    assert took() == took(machine="nominal") == took(machine=nominal)
    assert took(machine=slow) > 8 * took() and took(machine="h200") > took()
    with pytest.raises(ValueError, match="there is no machine `h300`; there are `h200`, `h100`, `nominal`"):
        took(machine="h300")
    with pytest.raises(ValueError, match="`machine` is the simulator's"):
        tandem.launch(main, target="cuda", machine="h200")
