"""`tandem trace`: the text and the drawing of a file that a run has written; launches, lanes, wrong files."""

import json
import subprocess
import sys
import xml.etree.ElementTree

import pytest

import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.jit
def hand_over(x, flag):
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x, peer), dl.rank())
    dl.notify(flag, peer, signal=1, sig_op="add", comm_scope="intra_node")
    dl.wait(flag, 1, "sys", "acquire", waitValue=1)


@tandem.jit
def other(x):
    tl.store(x, 1)


def main(team):
    x, flag = team.zeros(4, "int32"), team.zeros(1, "int64")
    for _ in range(2):
        other[(1,)](x)
        hand_over[(1,)](x, flag)
        flag[...] = 0
        team.barrier()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("trace") / "t.json"
    tandem.launch(main, ranks=2, trace=True).write_trace(path)
    return path


def trace(*words):
    done = subprocess.run([sys.executable, "-m", "tandem", "trace", *map(str, words)], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def bars(path):
    root = xml.etree.ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    return [(e.get("class"), e[0].text) for e in root.iter("{http://www.w3.org/2000/svg}rect") if len(e)]


def test_text_and_drawing(file, tmp_path):
    code, output, errors = trace(file, "--svg", tmp_path / "t.svg", "--width", 40)
    assert code == 0, errors
    assert output.startswith("rank 0  compute |") and "us (modelled)" in output
    totals = [line.split() for line in output.splitlines()[-3:]]
    assert totals[0] == ["rank", "compute", "wait", "transfer", "overlapped", "bytes"] and [t[0] for t in totals[1:]] == ["0", "1"]
    drawn = bars(tmp_path / "t.svg")
    assert {kind for kind, _ in drawn} >= {"k-compute", "k-wait", "k-kernel"}
    assert sum("hand_over" in title for _, title in drawn) >= 4


def test_one_launch(file, tmp_path):
    code, whole, _ = trace(file)
    code, output, errors = trace(file, "--kernel", "hand_over", "--svg", tmp_path / "t.svg")
    assert code == 0 and output != whole, errors
    titles = [title for _, title in bars(tmp_path / "t.svg")]
    assert sum(title.startswith("kernel hand_over") for title in titles) == 2, "one a rank"
    code, _, errors = trace(file, "--kernel", "nothing")
    assert code == 1 and errors == "tandem: the trace has no launch of `nothing`; it has `hand_over`, `other`\n"


def test_lost_records_are_told(file, tmp_path):
    written = json.loads(file.read_text())
    written["traceEvents"].append({"ph": "M", "pid": 0, "name": "records lost", "args": {"records": 12}})
    (tmp_path / "t.json").write_text(json.dumps(written))
    assert trace(tmp_path / "t.json")[1].endswith("12 records are missing: there was no room for them\n")
    assert "missing" not in trace(file)[1]


def test_rows(file, tmp_path):
    def drawn(count):
        assert trace(file, "--rows", count, "--svg", tmp_path / "t.svg")[0] == 0
        return (tmp_path / "t.svg").read_text()

    assert ">stream 0<" in drawn(1) and ">slot 0<" not in drawn(1)
    assert ">slot 0<" in drawn(2)


@pytest.mark.parametrize(
    "content, words",
    [
        (None, "cannot read {}: No such file or directory"),
        ("hello", "{} is not a trace that Tandem wrote"),
        ("[]", "{} is not a trace that Tandem wrote"),
        (json.dumps({"traceEvents": []}), "{} is not a trace that Tandem wrote"),
        (json.dumps({"traceEvents": [{"ph": "X", "name": 3}], "otherData": {"clock": "modelled"}}), "not a trace that Tandem wrote: "),
    ],
)
def test_wrong_files(tmp_path, content, words):
    path = tmp_path / "x.json"
    if content is not None:
        path.write_text(content)
    code, output, errors = trace(path, "--kernel", "k")
    assert code == 1 and output == "" and words.format(path) in errors and errors.count("\n") == 1


@pytest.mark.parametrize(
    "options, code, words",
    [
        (["--svg", "no/such/file.svg"], 1, "tandem: cannot write no/such/file.svg: No such file or directory"),
        (["--rows", "0"], 2, "--rows: it is at least 1"),
        (["--width", "x"], 2, "--width: invalid count `x`"),
    ],
)
def test_wrong_options(file, options, code, words):
    found, _, errors = trace(file, *options)
    assert found == code and words in errors
