"""The mark `tandem`: which runs a test gets, how it fails, and wrong uses."""

import os
import pathlib
import subprocess
import sys

import pytest

import tandem

ROOT = pathlib.Path(tandem.__file__).parent.parent
TESTS = """
import pytest, tandem, tandem.dist as dl, tandem.language as tl
@tandem.jit
def shift(x_ptr, y_ptr, flag_ptr, SEMANTIC: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer), dl.rank())  #
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(flag_ptr, 1, "sys", SEMANTIC, waitValue=1)
    tl.store(y_ptr, tl.load(dl.consume_token(x_ptr, token)))
@pytest.fixture
def semantic():
    return "acquire"
@pytest.mark.tandem(ranks=[2, 4], seeds=3)
def test_shift(team, semantic):
    y = team.zeros(1, "int32")
    shift[(1,)](team.zeros(1, "int32"), y, team.zeros(1, "int64"), semantic)
    team.synchronize()
    assert y.numpy()[0] == (team.rank - 1) % team.size
"""


def run(folder, text, *options, plugin="tandem_pytest"):
    (folder / "test_it.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", plugin, "-p", "no:cacheprovider", *options, "test_it.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout + done.stderr


def test_every_rank_count_and_seed(tmp_path):
    status, out = run(tmp_path, TESTS, "-v", "--strict-markers")
    assert status == 0 and "6 passed" in out, out
    for ranks in (2, 4):
        for seed in range(3):
            assert f"test_shift[ranks={ranks}-seed={seed}] PASSED" in out


def test_a_failure_shows_the_report(tmp_path):
    # -rN: where CI is set, pytest's summary repeats each report whole
    status, out = run(tmp_path, TESTS.replace('return "acquire"', 'return "relaxed"'), "-rN")
    assert status == 1 and "6 failed" in out
    assert "test_it.py:9:21: error: race:" in out and "test_it.py:6:5: note: first access" in out
    assert "pytest_plugin.py" not in out
    assert out.count("error: race:") == 6 and "another exception" not in out  # once for each run


def test_an_allowed_race_is_an_expected_failure(tmp_path):
    wrong = TESTS.replace('return "acquire"', 'return "relaxed"')
    status, out = run(tmp_path, wrong.replace("dl.rank())  #", "dl.rank())  # tandem: allow(race) as agreed"), "-rx")
    assert status == 0 and "6 xfailed" in out and "race is allowed: as agreed" in out
    assert run(tmp_path, wrong.replace("dl.rank())  #", "dl.rank())  # tandem: allow(race)"))[0] == 1


def test_an_assertion_of_one_rank_fails_the_test(tmp_path):
    status, out = run(tmp_path, TESTS.replace("(team.rank - 1) % team.size", "(team.size - 1 if team.rank == 0 else 7)"))
    assert status == 1 and "6 failed" in out and "raised on rank 1 of" in out


def test_every_schedule(tmp_path):
    status, out = run(tmp_path, TESTS.replace("seeds=3", "exhaustive=True"), "-v")
    assert status == 0 and "test_shift[ranks=2-exhaustive] PASSED" in out and "4-exhaustive] PASSED" in out, out
    status, out = run(tmp_path, TESTS.replace("[2, 4], seeds=3", "2, exhaustive=True").replace('"acquire"', '"relaxed"'))
    assert status == 1 and "test_it.py:9:21: error: race:" in out and "1 failed" in out, out
    status, out = run(tmp_path, TESTS.replace("[2, 4], seeds=3", "2, exhaustive=True").replace("y.numpy()[0] ==", "7 =="))
    assert status == 1 and "AssertionError" in out and "1 failed" in out, out


NARROW = """
import pytest, tandem, tandem.language as tl, tandem.dist as dl
@tandem.jit
def adds(x_ptr):
    tl.atomic_add(dl.symm_at(x_ptr, 0), 1, scope="gpu")
@pytest.mark.tandem(ranks=2, seeds=2)
def test_adds(team):
    adds[(1,)](team.zeros(1, "int32"))
"""


def test_a_search_that_its_limit_ended_says_so(tmp_path):
    right = NARROW.replace('"gpu"', '"sys"')
    status, out = run(tmp_path, right.replace("seeds=2", "exhaustive=True, limit=1"))
    assert status == 0 and "not all schedules of 2 ranks were run: `limit=1` ended the search" in out, out
    status, out = run(tmp_path, right.replace("seeds=2", "exhaustive=True"))
    assert status == 0 and "not all" not in out, out


def test_kinds(tmp_path):
    status, out = run(tmp_path, NARROW)
    assert status == 1 and "error: scope:" in out, out
    status, out = run(tmp_path, NARROW.replace("seeds=2", "seeds=2, scope=False"))
    assert status == 0 and "scope:" not in out, out
    types = (
        NARROW.replace('"gpu")', '"sys")\n    tl.atomic_add(y_ptr, 1)')
        .replace("(x_ptr)", "(x_ptr, y_ptr)")
        .replace(
            'adds[(1,)](team.zeros(1, "int32"))',
            'y = team.zeros(1, "int32", name="y")\n    adds[(1,)](team.zeros(1, "int32"), y)\n'
            "    floats[(1,)](y, stream=team.new_stream())",
        )
        + """
@tandem.jit
def floats(y_ptr):
    tl.atomic_add(y_ptr.to(tl.pointer_type(tl.float32), bitcast=True), 1.0)
"""
    )
    assert "portability" not in run(tmp_path, types)[1]
    status, out = run(tmp_path, types.replace("seeds=2", "seeds=2, portability=True"))
    assert status == 0 and "warning: portability:" in out, out


@pytest.mark.parametrize(
    "old, new, words",
    [
        ("ranks=[2, 4], seeds=3", "ranks=[0]", "`ranks` of the mark `tandem` is an integer or a list of integers from 1, not [0]"),
        ("ranks=[2, 4], seeds=3", "seeds=0", "`seeds` of the mark `tandem`"),
        ("ranks=[2, 4], seeds=3", "speed=3", "timeout=S): got an unexpected keyword argument 'speed'"),
        ("ranks=[2, 4], seeds=3", "2, 3, True", "timeout=S): too many positional arguments"),
        ("seeds=3", "scope=0", "`scope` of the mark `tandem` is True or False, not 0"),
        ("seeds=3", "max_steps=0", "`max_steps` of the mark `tandem` is an integer from 1, not 0"),
        ("seeds=3", "timeout=-1", "`timeout` of the mark `tandem` is a number of seconds above 0, not -1"),
        ("seeds=3", "seeds=3, exhaustive=True", "`seeds`, which choose some, do not go with it"),
        ("seeds=3", "limit=3", "it needs `exhaustive=True`"),
        ("(team, semantic)", "(semantic)", "has the mark `tandem`, but takes no `team`"),
        ("@pytest.mark.tandem(ranks=[2, 4], seeds=3)", "", "`team` is for tests with the mark `tandem`"),
    ],
)
def test_wrong_use(tmp_path, old, new, words):
    status, out = run(tmp_path, TESTS.replace(old, new))
    assert status != 0 and words in out, out


def test_package_is_imported_only_for_the_mark(tmp_path):
    text = "import sys\ndef test_it():\n    assert 'tandem' not in sys.modules and 'tandem_pytest' in sys.modules"
    status, out = run(tmp_path, text)
    assert status == 0 and "1 passed" in out, out


def test_old_name_loads_the_hooks(tmp_path):
    status, out = run(tmp_path, TESTS, plugin="tandem.pytest_plugin")
    assert status == 0 and "6 passed" in out, out
