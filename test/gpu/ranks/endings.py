"""Runs that go wrong must end: every rank says why, nothing hangs, and the process goes on."""

import contextlib
import pathlib
import re
import tempfile
import time

import numpy as np
import programs
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.ops import AllGather, AllReduce

CHECKS = {}
SOON = 20  # seconds within which a run that has lost a rank is over, with the start of its processes


def ending(function):
    CHECKS[f"endings.{function.__name__}"] = function
    return function


@contextlib.contextmanager
def ends_soon(error, ranks):
    """The run inside ends with the error, soon, and the process goes on with other runs. The list that `as` names holds the error then."""
    found = []
    started = time.monotonic()
    try:
        yield found
        raise AssertionError("the run ended well")
    except error as e:
        found.append(e)
    assert time.monotonic() - started < SOON
    tandem.launch(programs.symm_at, ranks=ranks, target="cuda", wait_timeout=10)


def says(error, *texts):
    """Its only error is a collective's, and its text has each of the texts."""
    assert [r["kind"] for r in error.reports if r["severity"] == "error"] == ["collective-mismatch"], error.reports
    for text in texts:
        assert re.search(text, " ".join(r["text"] for r in error.reports)), error.reports


@tandem.jit
def waits_for_nobody(flag_ptr, out_ptr):
    token = dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)  # THE WAIT
    tl.store(out_ptr, tl.load(dl.consume_token(out_ptr, token)) + 1)


@tandem.jit
def meets(times):
    for _ in range(times):
        shmem.barrier_all_block()


LINE = 1 + next(i for i, line in enumerate(pathlib.Path(__file__).read_text().splitlines()) if line.endswith("# THE WAIT"))


@ending
def wait_timeout(ranks):
    """Every rank raises the report with the line of the wait; the process can go on."""
    seen = {}

    def main(team):
        flag, out = team.zeros(1, "int32", name="never written"), team.zeros(1, "int32")
        team.barrier()
        try:
            waits_for_nobody[(1,)](flag, out)
            team.synchronize()
            team.barrier()
        except tandem.RunError as error:
            seen[team.rank] = str(error)
            raise

    with ends_soon(tandem.RunError, ranks) as found:
        tandem.launch(main, ranks=ranks, target="cuda", wait_timeout=1)
    assert any(r["line"] == LINE and r["file"].endswith("endings.py") for r in found[0].reports), found[0].reports
    assert sorted(seen) == list(range(ranks)), f"only ranks {sorted(seen)} raised"
    for text in seen.values():
        assert re.search(rf"endings\.py:{LINE}\b", text), text


@ending
def operators_called_unlike(ranks):
    """The run ends, instead of hanging, with an error that names both ranks and the call of each."""

    def main(team):
        op = AllReduce(team, 1 << 20, "fp32")
        x = team.zeros(1 << 20, "fp32")
        for _ in range(100):
            op(x)
        op(x[: 1 << 19] if team.rank == ranks - 1 else x)
        team.synchronize()

    with ends_soon(tandem.RunError, ranks) as found:
        tandem.launch(main, ranks=ranks, target="cuda")
    says(found[0], rf"rank {ranks - 1}'s call 101 .* with elements {1 << 19}, .*where rank \d+'s is .* with elements {1 << 20}")


@ending
def operators_in_another_order(ranks):
    """On one stream they would wait for one another for ever."""

    def main(team):
        reduce, gather = AllReduce(team, 1 << 20, "fp32"), AllGather(team, 64 * ranks, 64, "fp32")
        x, shard = team.zeros(1 << 20, "fp32"), team.zeros((64, 64), "fp32")
        calls = [lambda: reduce(x), lambda: gather(shard, 64 * ranks)]
        for k in range(10):
            for call in calls[::-1] if team.rank == ranks - 1 and k == 9 else calls:
                call()
        team.synchronize()

    with ends_soon(tandem.RunError, ranks) as found:
        tandem.launch(main, ranks=ranks, target="cuda")
    says(found[0], rf"rank {ranks - 1} has call 10 of `all_reduce` .* behind call 10 of `all_gather` .* on one stream, and rank 0")


@tandem.jit
def gathers(dest, source, bytes, times):
    for _ in range(times):
        shmem.fcollectmem_block(shmem.NVSHMEM_TEAM_WORLD, dest, source, bytes)


@tandem.jit
def gathers_and_meets(dest, source, bytes, swapped):
    if swapped:
        shmem.barrier_all_block()
        shmem.fcollectmem_block(shmem.NVSHMEM_TEAM_WORLD, dest, source, bytes)
    else:
        shmem.fcollectmem_block(shmem.NVSHMEM_TEAM_WORLD, dest, source, bytes)
        shmem.barrier_all_block()


def _unlike(ranks, launch, *texts):
    """The run ends soon, without a time limit, with what rank 0 or another calls."""

    def main(team):
        dest, source = team.zeros(1024 * ranks, "int32"), team.zeros(1024, "int32")
        team.barrier()
        launch(team, dest, source)
        team.synchronize()

    with ends_soon(tandem.RunError, ranks) as found:
        tandem.launch(main, ranks=ranks, target="cuda")
    says(found[0], *texts)


@ending
def collectives_of_unlike_sizes(ranks):
    """Each side says what it calls, and with whom it differs."""

    def launch(team, dest, source):
        gathers[(1,)](dest, source, 4096, 5)
        gathers[(1,)](dest, source, 2048 if team.rank == ranks - 1 else 4096, 1)

    _unlike(ranks, launch, r"calls an fcollect of \d+ bytes of team 0, where rank \d+ calls one of another size or root")


@ending
def collectives_in_another_order(ranks):
    def launch(team, dest, source):
        gathers_and_meets[(1,)](dest, source, 4096, team.rank == ranks - 1)

    _unlike(ranks, launch, r"calls a(n fcollect of 4096 bytes| barrier) of team 0, where rank \d+ calls a(n fcollect| barrier)")


@ending
def barrier_without_a_rank(ranks):
    """A wait inside a barrier that gives up says which rank has not come, and how far it is."""

    def main(team):
        meets[(1,)](3 if team.rank else 2)
        team.synchronize()

    with ends_soon(tandem.RunError, ranks) as found:
        tandem.launch(main, ranks=ranks, target="cuda", wait_timeout=1)
    assert "rank 0's count of barriers of team 0 to be ge 3; it is 2" in str(found[0]), found[0]


@ending
def exception_on_one_rank(ranks):
    def main(team):
        flag, out = team.zeros(1, "int32"), team.zeros(1, "int32")
        team.barrier()
        if team.rank == ranks - 1:
            raise KeyError("mine")
        waits_for_nobody[(1,)](flag, out)
        team.barrier()

    with ends_soon(KeyError, ranks) as found:
        tandem.launch(main, ranks=ranks, target="cuda")
    assert f"raised on rank {ranks - 1} of {ranks}" in found[0].__notes__


@ending
def ranks_leave_in_any_order(ranks):
    def main(team):
        x = team.zeros(4, "int32", name="x")
        if team.rank % 2:
            time.sleep(1)
            x[...] = team.rank
            return int(np.asarray(x).sum())
        return 0

    assert tandem.launch(main, ranks=ranks, target="cuda", wait_timeout=10).values == [4 * r if r % 2 else 0 for r in range(ranks)]


SCRIPT = """
import os, signal, sys, time
import tandem
sys.path.insert(0, {folder!r})
import endings
team = tandem.init()
flag, out = team.zeros(1, "int32"), team.zeros(1, "int32")
team.barrier()
if team.rank == team.size - 1:
    time.sleep(0.5)
    {deed}
endings.waits_for_nobody[(1,)](flag, out)
team.synchronize()
"""


def _by_processes(ranks, deed, code, *words):
    from checks import tandem_run

    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "script.py"
        script.write_text(SCRIPT.format(folder=str(pathlib.Path(__file__).parent), deed=deed))
        found, _, errors, seconds = tandem_run(ranks, script)
    assert found == code, (found, errors)
    for word in words:
        assert word in errors, errors
    assert seconds < SOON, seconds


@ending
def killed_process(ranks):
    _by_processes(ranks, "os.kill(os.getpid(), signal.SIGKILL)", 128 + 9, f"rank {ranks - 1} was killed by SIGKILL")


@ending
def failing_process(ranks):
    _by_processes(ranks, "raise KeyError('mine')", 1, "KeyError: 'mine'", f"rank {ranks - 1} ended with exit code 1")


@ending
def exiting_process(ranks):
    _by_processes(ranks, "sys.exit(7)", 7, f"rank {ranks - 1} ended with exit code 7")


@ending
def processes_leave_in_any_order(ranks):
    from checks import tandem_run

    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "script.py"
        script.write_text("import tandem, time\nteam = tandem.init()\ntime.sleep(team.rank % 2)\nprint('rank', team.rank)\n")
        code, output, errors, _ = tandem_run(ranks, script)
    assert code == 0 and sorted(output.split("\n")[:-1]) == sorted(f"rank {r}" for r in range(ranks)), (code, output, errors)


@ending
def too_many_ranks(ranks):
    count = len(tandem.gpu.devices())
    try:
        tandem.launch(lambda team: None, ranks=count + 1, target="cuda")
        raise AssertionError("there were enough GPUs")
    except RuntimeError as error:
        assert str(error) == f"{count + 1} ranks on GPUs need {count + 1} GPUs, this machine has {count}", error
