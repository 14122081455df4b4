"""Traces of ranks on the fake driver: one process, several, those that fail. Streams are real there; no kernel runs that could record."""

import json

from gpu_fake import FakeTensor, assembler, needs_fake  # noqa: F401
from gpu_fake import compiling_gpu as gpu  # noqa: F401
from test_rank_processes_gpu import START, WAIT, finished, start

import tandem
import tandem.language as tl

pytestmark = needs_fake


@tandem.jit
def _one(x):
    tl.store(x, 1)


def test_trace(gpu, tmp_path):
    """Kernels as their streams see them."""

    def main(team):
        x = team.zeros(64, "float32")
        y = team.empty(64, "float32")
        for tensor in (x, FakeTensor(x.address, device=team.device)):
            _one[(1,)](tensor)
        team.stream.copy(y.peer(1 - team.rank), x)
        team.synchronize()
        return team._session.target_of(team.rank), tandem.gpu.target_of(team.device)

    result = tandem.launch(main, ranks=2, target="cuda", trace=True)
    assert result.values == [("sm_90a+trace",) * 2, ("sm_80+trace",) * 2]
    assert tandem.gpu.target_of(0) == "sm_90a", "the run is over"
    result.write_trace(tmp_path / "t.json")
    written = json.loads((tmp_path / "t.json").read_text())
    assert written["otherData"]["clock"] == "measured"
    events = [e for e in written["traceEvents"] if e["ph"] == "X"]
    for rank in (0, 1):
        mine = [e for e in events if e["pid"] == rank]
        assert [e["name"] for e in mine if e["cat"] == "kernel"] == ["kernel _one"] * 2
        copy = next(e for e in mine if e["cat"] == "copy" and "peer" in e["args"])
        assert copy["args"]["peer"] == 1 - rank and copy["args"]["bytes"] == 256
        assert result.summary["ranks"][rank]["bytes"] >= 256
    assert "modelled" not in result.timeline()


def ranks_in(path):
    return {e["pid"] for e in json.loads(path.read_text())["traceEvents"] if e["ph"] == "X"}


def test_trace_of_processes(tmp_path, assembler):
    """One file for all of them, from the command or the environment; then drawn."""
    path, trace = tmp_path / "script.py", tmp_path / "t.json"
    path.write_text(START + "programs.streams(team)")
    command = ["-m", "tandem", "run", "--target", "cuda", "--ranks", 2]
    code, output, errors = finished(start([*command, "--timeline", "--trace", trace, path], assembler))
    assert code == 0 and "rank 1  compute" in output, errors
    first = trace.read_text()
    assert ranks_in(trace) == {0, 1}
    code, _, errors = finished(start([*command, path], assembler, {"TANDEM_TRACE": str(trace)}))
    assert code == 0 and trace.read_text() != first, errors
    assert ranks_in(trace) == {0, 1}
    code, output, errors = finished(start(["-m", "tandem", "trace", trace, "--svg", tmp_path / "t.svg"], assembler))
    assert code == 0 and "overlapped" in output, errors
    assert "rank 1" in (tmp_path / "t.svg").read_text()


def test_trace_of_a_run_that_fails(tmp_path, assembler):
    path, trace = tmp_path / "script.py", tmp_path / "t.json"
    path.write_text(START + "team.from_array(np.zeros(4))\n" + WAIT.format("if team.rank:\n    raise KeyError('mine')"))
    code, _, errors = finished(start(["-m", "tandem", "run", "--target", "cuda", "--ranks", 2, "--trace", trace, path], assembler))
    assert code == 1 and "KeyError: 'mine'" in errors
    assert ranks_in(trace) == {0, 1}
