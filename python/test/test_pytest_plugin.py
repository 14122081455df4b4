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


def run(folder, text, *options):
    (folder / "test_it.py").write_text(text)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run([sys.executable, "-m", "pytest", "-p", "tandem.pytest_plugin", "-p", "no:cacheprovider", *options, "test_it.py"],
                          cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
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


@pytest.mark.parametrize("old, new, words", [
    ("ranks=[2, 4], seeds=3", "ranks=[0]", "`ranks` of the mark `tandem` is an integer or a list of integers from 1, not [0]"),
    ("ranks=[2, 4], seeds=3", "seeds=0", "`seeds` of the mark `tandem`"),
    ("ranks=[2, 4], seeds=3", "speed=3", "the mark is tandem(ranks=[2, 4], seeds=10), not"),
    ("(team, semantic)", "(semantic)", "has the mark `tandem`, but takes no `team`"),
    ("@pytest.mark.tandem(ranks=[2, 4], seeds=3)", "", "`team` is for tests with the mark `tandem`"),
])
def test_wrong_use(tmp_path, old, new, words):
    status, out = run(tmp_path, TESTS.replace(old, new))
    assert status != 0 and words in out, out
