"""The command `tandem check`: exit codes, merged reports, replays, JSON, SARIF and suppressions."""

import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

import tandem
from tandem.check.rules import rules
from tandem.host.report_kinds import KINDS

ROOT = pathlib.Path(tandem.__file__).parent.parent
SHIFT = """
import sys
import tandem, tandem.dist as dl, tandem.language as tl
@tandem.jit
def shift(x_ptr, y_ptr, flag_ptr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer), dl.rank())
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(flag_ptr, 1, "sys", "relaxed", waitValue=1)
    tl.store(y_ptr, tl.load(dl.consume_token(x_ptr, token)))
def run(team):
    print("hello", sys.argv[1:])
    shift[(1,)](team.zeros(1, "int32", name="x"), team.zeros(1, "int32"), team.zeros(1, "int64"))
"""
TICKET = """
import tandem, tandem.language as tl
@tandem.jit
def ticket(n_ptr, y_ptr):
    tl.store(y_ptr + tl.program_id(0), tl.atomic_add(n_ptr, 1))
def main(team):
    ticket[(8,)](team.zeros(1, "int32"), team.zeros(8, "int32"))
"""
SCRIPTS = {
    "race.py": SHIFT + "run(tandem.init())\n",
    "race_main.py": SHIFT + "def main(team):\n    run(team)\nif __name__ == '__main__':\n    raise ValueError('not as main')\n",
    "good.py": SHIFT.replace("relaxed", "acquire") + "run(tandem.init())\n",
    "raises.py": "import tandem\nteam = tandem.init()\nassert team.size < 4, 'too many'\n",
    "both.py": SHIFT + "team = tandem.init()\nrun(team)\nassert team.rank, 'rank 0 fails while its kernel is queued'\n",
    "warns.py": "import warnings\n" + SHIFT.replace("relaxed", "acquire") + "run(tandem.init())\nwarnings.warn('it is old')\n",
    "exits.py": "import sys\nsys.exit(3)\n",
    "unclosed.py": "x = = 3\n",
    "deadlock.py": "import tandem\nteam = tandem.init()\nif team.rank:\n    team.barrier()\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in SCRIPTS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def tandem_command(folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
    done = subprocess.run(
        [sys.executable, "-m", "tandem", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def check(folder, *arguments):
    return tandem_command(folder, "check", "--explore", "4", *arguments)


@pytest.mark.parametrize("name", ["race.py", "race_main.py"])
def test_a_race_is_told_once_and_its_replay_shows_it(folder, name):
    status, out, errors = check(folder, name, "word", "--ranks", "2,4", "--seed", "5")
    assert (status, errors) == (1, "")
    assert out.count("error: race:") == 1 and out.count("first access") == 1 and "hello" not in out
    assert "in 8 of 8 runs" in out and "1 finding, 0 suppressed; ranks 2, 4, 4 schedules each" in out
    replay = next(line for line in out.splitlines() if "replay:" in line).split("replay: tandem ")[1]
    assert "--ranks 2 --seed 5 --policy round-robin" in replay and replay.endswith(f"{name} word")
    status, out, errors = tandem_command(folder, *shlex.split(replay))
    assert status == 1 and "error: race:" in errors and f"replay: tandem {replay}" in errors and "hello ['word']" in out


def test_clean(folder):
    status, out, errors = check(folder, "--ranks", "2", "good.py", "--", "--size", "3")
    assert (status, out, errors) == (0, "0 findings, 0 suppressed; ranks 2, 4 schedules each; results are equal\n", "")


def test_the_scripts_own_number_of_ranks_is_tried_too(folder):
    main = "import tandem\ndef main(team):\n    assert team.size != 3\n    team.barrier()\n"
    (folder / "of_three.py").write_text(main + "if __name__ == '__main__':\n    tandem.launch(main, ranks=3)\n")
    _, out, errors = check(folder, "of_three.py")
    assert "raised on rank 0 of 3" in errors and "ranks 2, 3, 4, 4 schedules each" in out
    _, out, errors = check(folder, "of_three.py", "--ranks", "2")
    assert not errors and "ranks 2, 4 schedules each" in out


def test_a_warning_of_the_script_is_told_once(folder):
    status, out, errors = check(folder, "--ranks", "2,4", "--html", "out.html", "warns.py")
    assert status == 0 and "it is old" not in out
    assert re.fullmatch(r".*warns.py:\d+: UserWarning: it is old\n  warnings.warn.*\ngiven 24 times in 8 runs\n\n", errors)


@pytest.mark.parametrize(
    "how, runs, options", [("--ranks 2,4 --explore 3", 6, "--ranks 2 --seed 0"), ("--exhaustive --ranks 2", 1, "--ranks 2 --schedule")]
)
def test_a_race_is_told_beside_an_exception(folder, how, runs, options):
    status, out, errors = tandem_command(
        folder, "check", *how.split(), "--json", "out.json", "--sarif", "out.sarif", "--html", "out.html", "both.py"
    )
    assert status == 3, out + errors
    assert out.count("error: race:") == 1 and f"in {runs} of {runs} run" in out
    assert errors.count("AssertionError: rank 0 fails while its kernel is queued") == 1
    assert f"in {runs} of {runs} run" in errors and f"replay: tandem run --check {options}" in errors
    assert "1 finding, 1 exception of the script, 0 suppressed" in out
    race, raised = sorted(json.loads((folder / "out.json").read_text()), key=lambda f: f["kind"] == "exception")
    assert (race["kind"], raised["kind"], raised["places"][0]["line"]) == ("race", "exception", 16)
    assert {r["ruleId"] for r in json.loads((folder / "out.sarif").read_text())["runs"][0]["results"]} == {"race", "exception"}
    assert "AssertionError" in (folder / "out.html").read_text()
    replay = next(line for line in errors.splitlines() if "replay:" in line).split("replay: tandem ")[1]
    status, _, errors = tandem_command(folder, *shlex.split(replay))
    assert status == 1 and "error: race:" in errors and "AssertionError: rank 0" in errors


def test_an_exception_of_one_rank_count_does_not_end_the_check(folder):
    (folder / "some.py").write_text(SHIFT + "team = tandem.init()\nassert team.size > 2, 'too few'\nrun(team)\n")
    status, out, errors = check(folder, "--ranks", "2,4", "some.py")
    assert status == 3 and "in 4 of 8 runs" in out and "in 4 of 8 runs" in errors and errors.count("too few") == 2  # source and message


@pytest.mark.parametrize("options", ["--compat", "--max-steps 100000", "--timeout 60", ""])
def test_the_replay_has_what_changes_the_run(folder, options):
    _, out, _ = check(folder, "--ranks", "2", *options.split(), "race.py")
    assert f"replay: tandem run --check {'--compat ' if options == '--compat' else ''}--ranks 2 --seed 0 " in out
    assert ("--compat" in options) == ("--compat" in out) and (options in out)
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}", "TANDEM_CHECK": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "tandem", "run", *options.split(), "--ranks", "2", "race.py"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    replay = done.stderr.splitlines()[-1]
    assert replay.startswith("replay: tandem run --check") and options in replay, done.stderr


def test_an_endless_run_is_ended_and_its_replay_ends_too(folder):
    (folder / "endless.py").write_text("""
import tandem, tandem.language as tl
@tandem.jit
def flips(word_ptr):
    while tl.atomic_add(word_ptr, 1) >= 0:
        tl.atomic_add(word_ptr, -1)
def main(team):
    flips[(2,)](team.zeros(1, "int32", name="word"))
""")
    status, out, _ = check(folder, "--ranks", "2", "--explore", "1", "--max-steps", "20000", "endless.py")
    assert status == 1 and out.count("error: limit-exceeded") == 1 and "endless.py:5:" in out
    replay = next(line for line in out.splitlines() if "replay:" in line).split("replay: tandem ")[1]
    status, _, errors = tandem_command(folder, *shlex.split(replay))
    assert status == 1 and "error: limit-exceeded: the run is not over after 20000 steps" in errors


def test_a_rule_can_be_read(folder):
    _, out, _ = check(folder, "--ranks", "2", "race.py")
    command = re.search(r"^rules: `tandem (explain M4 M6)`$", out, re.M)[1]
    status, out, errors = tandem_command(folder, *command.split())
    assert (status, errors) == (0, "") and out.startswith("**M4. Fences and scopes.**") and "**M6. " in out
    assert pathlib.Path(out.splitlines()[-1].removeprefix("the whole page: ")).read_text().startswith("# The memory model")
    assert tandem_command(folder, "explain")[1].count("\n") == 16 + 1 + len(KINDS) + 1
    meaning = "scope (error): An access or a fence whose scope leaves another rank out (M14)\n"
    assert tandem_command(folder, "explain", "scope")[1].startswith(meaning)
    assert tandem_command(folder, "explain", "M99")[0] == 2


PRINTS = """
import tandem, tandem.language as tl
@tandem.jit
def k(p):
    tl.static_print("compiled")
    tl.device_print("ran", tl.load(p))
team = tandem.init()
k[(1,)](team.zeros(1, "int32"))
team.synchronize()
print("host", flush=True)
"""


@pytest.mark.parametrize("how", ["--ranks 2 --html out.html", "--exhaustive --ranks 1"])
def test_nothing_that_is_printed_is_shown(folder, how):
    (folder / "prints.py").write_text(PRINTS)
    status, out, errors = tandem_command(folder, "check", *how.split(), "prints.py")
    assert (status, errors) == (0, "") and out.startswith("0 findings") and out.count("\n") == 1
    status, out, errors = tandem_command(folder, "run", "prints.py")
    assert (status, errors) == (0, "") and out == "compiled\npid (0, 0, 0) idx () ran: 0\nhost\n"


@pytest.mark.parametrize("how", ["--ranks 2", "--exhaustive --ranks 2"])
def test_a_script_that_runs_nothing_is_told(folder, how):
    (folder / "idle.py").write_text("def main():\n    print('never')\n")
    status, out, errors = tandem_command(folder, "check", *how.split(), "idle.py")
    assert status == 0 and out.startswith("0 findings")
    assert errors == "tandem: nothing has run on the ranks of idle.py: there was nothing to check\n"


def test_results_that_differ(folder):
    (folder / "ticket.py").write_text(TICKET)
    status, out, _ = check(folder, "--ranks", "1", "--json", "out.json", "ticket.py")
    assert status == 1 and "error: schedule-dependent" in out and out.endswith("results differ\n")
    (finding,) = json.loads((folder / "out.json").read_text())
    assert (finding["kind"], [p["line"] for p in finding["places"]]) == ("schedule-dependent", [5])


def test_where_host_arrays_lie_is_no_result(folder):
    """The two arrays lie the other way round in every second run."""
    (folder / "arrays.py").write_text("""
import pathlib, numpy as np, tandem, tandem.language as tl
@tandem.jit
def copy(x_ptr, y_ptr):
    tl.store(y_ptr, tl.load(x_ptr))
runs = pathlib.Path("runs")
def main(team):
    runs.write_text(runs.read_text() + "." if runs.exists() else "")
    pair = np.zeros((2, 4), np.float32)
    x, y = pair if len(runs.read_text()) % 2 else pair[::-1]
    x[:] = 1
    copy[(1,)](x, y)
""")
    status, out, _ = check(folder, "--ranks", "1", "arrays.py")
    assert status == 0 and out.endswith("results are equal\n")


@pytest.mark.parametrize(
    "line, code, words",
    [
        ("raises.py", 2, "AssertionError: too many"),
        ("raises.py", 2, "replay: tandem run --check --ranks 4 --seed 0 raises.py"),
        ("exits.py", 2, "exits.py exits with 3"),
        ("unclosed.py", 2, "SyntaxError"),
        ("missing.py", 2, "cannot read missing.py"),
        ("--ranks 2,x good.py", 2, "invalid"),
        ("--ranks 0 good.py", 2, "ranks are 1 to 1024"),
        ("--explore 0 good.py", 2, "at least 1 schedule"),
        ("--json no/such/file good.py", 2, "cannot write no/such/file"),
        ("--sarif . good.py", 2, "cannot write .: Is a directory"),
        ("--explore 1 --html /dev/full good.py", 2, "cannot write /dev/full: No space left on device"),
        ("", 2, "required: script"),
        ("--ranks 2,,4 good.py", 2, "invalid rank count ``"),
        ("--seed x good.py", 2, "invalid seed `x`"),
        ("--seed 99999999999999999999999 good.py", 2, "a seed has 64 bits"),
        ("--limit 3 good.py", 2, "needs `--exhaustive`"),
        ("--json out.json --sarif ./out.json good.py", 2, "need a file each"),
    ],
)
def test_wrong(folder, line, code, words):
    status, _, errors = check(folder, *line.split())
    assert status == code and words in errors, errors
    assert f"tandem{os.sep}checker.py" not in errors and f"tandem{os.sep}script.py" not in errors


def test_a_deadlock_names_the_hosts(folder):
    status, out, _ = check(folder, "--ranks", "2", "--json", "out.json", "deadlock.py")
    assert status == 1 and out.count("error: deadlock") == 1 and "deadlock.py:4: note: the host of rank 1 is here" in out
    (finding,) = json.loads((folder / "out.json").read_text())
    assert (finding["kind"], finding["seeds"]) == ("deadlock", [0, 1, 2, 3])
    assert [(p["line"], p["rank"]) for p in finding["places"] if "the host" in p["message"]] == [(4, 1)]
    assert (finding["places"][0]["line"], finding["places"][0]["rank"]) == (4, 1)  # whose stream waits


def test_json_and_sarif(folder):
    status, _, _ = check(folder, "--ranks", "2,4", "--json", "out.json", "--sarif", "out.sarif", "race.py")
    assert status == 1
    (finding,) = json.loads((folder / "out.json").read_text())
    assert (finding["kind"], finding["severity"], finding["rule"]) == ("race", "error", "M4, M6")
    assert (finding["ranks"], finding["seeds"], finding["suppressed"]) == ([2, 4], [0, 1, 2, 3], None)
    assert [(p["line"], p["column"], p["program"]) for p in finding["places"]] == [(10, 21, [0, 0, 0]), (7, 5, [0, 0, 0])]
    assert {p["rank"] for p in finding["places"]} == {0, 1}
    assert finding["replay"] == "tandem run --check --ranks 2 --seed 0 race.py"
    log = json.loads((folder / "out.sarif").read_text())
    (run,) = log["runs"]
    (result,) = run["results"]
    assert log["version"] == "2.1.0" and [r["id"] for r in run["tool"]["driver"]["rules"]] == ["race"]
    assert (result["ruleId"], result["ruleIndex"], result["level"]) == ("race", 0, "error")
    where = lambda l: (l["physicalLocation"]["artifactLocation"]["uri"], l["physicalLocation"]["region"])
    assert [where(l) for l in result["locations"]] == [("race.py", {"startLine": 10, "startColumn": 21})]
    assert [where(l) for l in result["relatedLocations"]] == [("race.py", {"startLine": 7, "startColumn": 5})]


ALLOWED_LINE = "tl.store(dl.symm_at(x_ptr, peer), dl.rank())"


@pytest.mark.parametrize(
    "comment, code",
    [
        ("# tandem: allow(race) known since spring", 0),
        ("# tandem: allow(deadlock, race): known since spring", 0),
        ("# tandem: allow(race)", 1),
        ("# tandem: allow(deadlock) known since spring", 1),
    ],
)
def test_a_comment_allows_a_kind_on_its_line(folder, comment, code):
    (folder / "allowed.py").write_text(SCRIPTS["race.py"].replace(ALLOWED_LINE, f"{ALLOWED_LINE}  {comment}"))
    status, out, _ = check(folder, "--ranks", "2", "--json", "out.json", "--sarif", "out.sarif", "allowed.py")
    assert status == code, out
    (finding,) = json.loads((folder / "out.json").read_text())
    (result,) = json.loads((folder / "out.sarif").read_text())["runs"][0]["results"]
    if code == 0:
        assert "allowed.py:7: suppressed: race, in 4 of 4 runs: known since spring" in out and "0 findings, 1 suppressed" in out
        assert finding["suppressed"] == "known since spring"
        assert result["suppressions"] == [{"kind": "inSource", "justification": "known since spring"}]
    else:
        assert finding["suppressed"] is None and "suppressions" not in result
        assert ("`allow(race)` suppresses nothing without a reason" in out) == ("allow(race)" in comment)


@pytest.mark.parametrize(
    "comment, words",
    [
        ("# tandem: allow(rase) as agreed", "allowed.py:7: note: `allow(rase)` names no kind of report; this one is `race`"),
        ("# tandem: allow(Race) as agreed", "allowed.py:7: note: `allow(Race)` names no kind of report; this one is `race`"),
        ("# tandem: allow(deadlock) as agreed", None),
    ],
)
def test_a_word_that_is_no_kind_is_told(folder, comment, words):
    (folder / "allowed.py").write_text(SCRIPTS["race.py"].replace(ALLOWED_LINE, f"{ALLOWED_LINE}  {comment}"))
    status, out, _ = check(folder, "--ranks", "2", "allowed.py")
    assert status == 1 and (words in out if words else "names no kind" not in out), out


@pytest.mark.parametrize(
    "line, code",
    [
        ("tl.store(\n        dl.symm_at(x_ptr, peer),\n        dl.rank())  # tandem: allow(race) as agreed", 0),
        ("tl.store(  # tandem: allow(race) as agreed\n        dl.symm_at(x_ptr, peer), dl.rank())", 0),
        (f"{ALLOWED_LINE}\n    n = 0  # tandem: allow(race) of another statement", 1),
        (f"{ALLOWED_LINE}; n = '# tandem: allow(race) in a text'", 1),
        (f"if peer >= 0:  # tandem: allow(race) of the condition\n        {ALLOWED_LINE}", 1),
    ],
)
def test_a_comment_allows_on_any_line_of_the_statement(folder, line, code):
    (folder / "allowed.py").write_text(SCRIPTS["race.py"].replace(ALLOWED_LINE, line))
    status, out, _ = check(folder, "--ranks", "2", "allowed.py")
    assert status == code, out


def test_a_kind_names_rules_that_there_are():
    assert all(set(kind.rules.split()) <= set(rules()) for kind in KINDS.values())


def test_the_guide_lists_every_kind():
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide" / "checker.md").read_text()
    listed = re.findall(r"^\| `([a-z-]+)` \| (error|warning) \| (.*) \| (.*) \|$", page, re.M)
    assert listed == [(k.kind, k.severity, ", ".join(k.rules.split()), k.what) for k in KINDS.values()]


@pytest.mark.parametrize("options", ["--explore 5", "--seed 3"])
def test_an_exhaustive_search_takes_no_choice_of_schedules(folder, options):
    status, _, errors = tandem_command(folder, "check", "--exhaustive", *options.split(), "good.py")
    assert status == 2 and "do not go with it" in errors


def test_help_teaches(folder):
    status, out, _ = check(folder, "--help")
    assert status == 0
    for word in ("--explore", "--sarif", "allow(race)", "exit code", "main(team)", "examples:"):
        assert word in out


def test_a_table_of_addresses_is_no_result(folder):
    (folder / "tables.py").write_text("""
import numpy as np, tandem, tandem.language as tl
kept = []
@tandem.jit
def fill(table_ptr, x_ptr, y_ptr):
    tl.store(tl.load(table_ptr).to(tl.pointer_type(tl.float32)), 1)
def main(team):
    x, y = np.zeros(4, np.float32), np.zeros(4, np.float32)
    kept.append(x)
    fill[(1,)](np.array([x.ctypes.data]), x, y)
""")
    status, out, _ = check(folder, "--ranks", "1", "tables.py")
    assert status == 0 and out.endswith("results are equal\n")
