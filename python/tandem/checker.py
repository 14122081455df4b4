"""The command `tandem check`: one script under the checker with several rank counts and many schedules; each defect told once."""

import contextlib
import json
import os
import shlex
import sys
import traceback

from . import _tandem
from .errors import CompileError, SimulationError
from .exhaustive import LIMIT, Diverged, run_every_schedule
from .explore import POLICIES
from .findings import Findings, finding_of_difference, findings_of
from .html_report import html
from .sarif import sarif
from .script import Script, ScriptError, refuses_file
from .session import SimulatedSession, _user_frames, run_on, run_ranks

CLEAN, FOUND, BROKEN = 0, 1, 2
DEFAULT_RUNS = 20


class Check:
    """The runs of one script and what they showed."""

    def __init__(self, script, rank_counts, seeds, limit=None):
        self.script = script
        self.call_main = script.offers_main()
        self.rank_counts = rank_counts
        self.seeds = seeds
        self.findings = Findings()
        self.compared = 0
        self.session = None  # of the last run
        self.limit = limit  # not None: every schedule, at most so many
        self.proofs = []    # (ranks, Proof), of exhaustive runs

    def replay(self, ranks, seed):
        """`seed`: or the text of a schedule."""
        words = ["tandem", "run", "--check", "--ranks", str(ranks)]
        if isinstance(seed, str):
            words += ["--schedule", seed]
        else:
            policy = policy_of(seed)
            words += ["--seed", str(seed), *(["--policy", policy] if policy != POLICIES[0] else [])]
        words += ["--main"] if self.call_main else []
        return shlex.join([*words, self.script.name, *self.script.arguments])

    def run(self):
        """Every rank count under every seed. An exception of the script ends the runs; it says which one it was."""
        for ranks in self.rank_counts:
            if self.limit is not None:
                self._run_all(ranks)
                continue
            first = None
            for seed in self.seeds:
                try:
                    first = self._run_once(ranks, seed, first)
                except (Exception, SystemExit) as error:
                    error.add_note(f"replay: {self.replay(ranks, seed)}")
                    raise

    def trace_of(self, finding):
        """The Chrome trace of the first run that showed it, which is run again for that."""
        ranks, seed = finding.runs[0]
        how = {"schedule": seed} if isinstance(seed, str) else {"seed": seed, "policy": policy_of(seed)}
        session = SimulatedSession(ranks, check=True, trace=True, **how)
        with silence(), contextlib.suppress(SimulationError):
            run_on(session, self._main(), ())
        return json.loads(_tandem.chrome_trace(session.handle))

    def was_idle(self):
        """Whether nothing has run on the ranks in the last run: no kernel, nothing on a stream."""
        return json.loads(_tandem.counters(self.session.handle))["switches"] == 0

    def _main(self):
        main = self.script.entry(self.call_main)

        def on_rank(team):
            self.session = team._session
            return main(team)

        return on_rank

    def _run_all(self, ranks):
        proof = run_every_schedule(self._main(), ranks, limit=self.limit,
                                   replay=lambda schedule: self.replay(ranks, schedule))
        self.proofs.append((ranks, proof))
        self.compared += proof.runs - 1
        for finding in proof.findings:
            for run in finding.runs:
                self.findings.add(finding, *run)

    def _run_once(self, ranks, seed, first):
        replay = self.replay(ranks, seed)
        try:
            session, _ = run_ranks(self._main(), ranks, (), seed=seed, check=True, policy=policy_of(seed), log_stores=True)
        except SimulationError as error:
            self._add(findings_of(error.reports, error, replay), ranks, seed)
            return first
        self._add(findings_of(session.reports(), replay=replay), ranks, seed)
        if first is None:
            return session, seed
        self.compared += 1
        text = _tandem.first_difference(first[0].handle, session.handle)
        if text:
            text += f"schedules: {policy_of(first[1])}, seed {first[1]}; {policy_of(seed)}, seed {seed}\n"
            self._add([finding_of_difference(text, ranks, replay)], ranks, seed)
        return first

    def _add(self, found, ranks, seed):
        for finding in found:
            self.findings.add(finding, ranks, seed)


@contextlib.contextmanager
def silence():
    """What the script and its kernels print goes nowhere."""
    sys.stdout.flush()
    shown = os.dup(1)
    try:
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
            os.dup2(nothing.fileno(), 1)
            yield
    finally:
        os.dup2(shown, 1)
        os.close(shown)


def policy_of(seed):
    """The policy goes with the seed, so that a seed alone names the schedule."""
    return POLICIES[seed % len(POLICIES)]


def _counted(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")


def total_runs(check):
    return sum(proof.runs for _, proof in check.proofs) or len(check.rank_counts) * len(check.seeds)


def _print(check, out):
    total = total_runs(check)
    for finding in check.findings:
        shown = f"in {len(finding.runs)} of {_counted(total, 'run')}"
        allowance = finding.allowance()
        if finding.allowed:
            file, allowed = allowance
            print(f"{file}:{allowed.line}: suppressed: {finding.kind}, {shown}: {allowed.reason}\n", file=out)
            continue
        print(finding.text, end="", file=out)
        if allowance:
            file, allowed = allowance
            print(f"{file}:{allowed.line}: note: `allow({finding.kind})` suppresses nothing without a reason after it", file=out)
        for file, line, word in finding.misspelt():
            print(f"{file}:{line}: note: `allow({word})` names no kind of report; this one is `{finding.kind}`", file=out)
        print(f"{shown}; replay: {finding.replay}\n", file=out)


def _print_summary(check, out):
    suppressed = sum(bool(f.allowed) for f in check.findings)
    found = len(list(check.findings)) - suppressed
    differ = any(f.kind == "schedule-dependent" for f in check.findings)
    results = "results differ" if differ else "results are equal" if check.compared else "no results to compare"
    print(f"{_counted(found, 'finding')}, {suppressed} suppressed; {schedules_of(check)}; {results}", file=out)


def schedules_of(check):
    """How much was run, in words."""
    if check.limit is None:
        return f"ranks {', '.join(map(str, check.rank_counts))}, {_counted(len(check.seeds), 'schedule')} each"
    return "; ".join(f"{_counted(ranks, 'rank')}: {_counted(proof.runs, 'schedule')}, "
                     + ("all there are" if proof.complete else f"not all: `--limit {check.limit}` ended it")
                     for ranks, proof in check.proofs)


def _write(path, text):
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def _json(content):
    return json.dumps(content, indent=1) + "\n"


def _tell(error, script):
    """What the script did wrong, on stderr."""
    if isinstance(error, SystemExit):
        print(f"tandem: {script.name} exits with {error.code}", *getattr(error, "__notes__", []), sep="\n", file=sys.stderr)
    elif isinstance(error, Diverged):
        print(f"tandem: {script.name}: {error}", file=sys.stderr)
    elif isinstance(error, CompileError):
        print(error, *getattr(error, "__notes__", []), sep="\n", file=sys.stderr)
    else:
        traceback.print_exception(error.with_traceback(_user_frames(error.__traceback__)))


def check_script(options):
    """Runs the command; returns its exit code."""
    files = list(filter(None, (options.json, options.sarif, options.html)))
    if len({os.path.realpath(file) for file in files}) < len(files):
        print("tandem: `--json`, `--sarif` and `--html` need a file each", file=sys.stderr)
        return BROKEN
    for file in files:
        if reason := refuses_file(file):
            print(f"tandem: cannot write {file}: {reason}", file=sys.stderr)
            return BROKEN
    try:
        script = Script(options.script, options.arguments)
    except ScriptError as error:
        print(error, file=sys.stderr)
        return BROKEN
    script.install()
    limit = (options.limit or LIMIT) if options.exhaustive else None
    seed, runs = options.seed or 0, options.explore or DEFAULT_RUNS
    check, broken = Check(script, options.ranks, range(seed, seed + runs), limit), None
    try:
        with silence():
            check.run()
    except KeyboardInterrupt:
        print("tandem: interrupted", file=sys.stderr)
        return 130
    except (Exception, SystemExit) as error:
        broken = error
    _print(check, sys.stdout)
    try:
        if options.json:
            _write(options.json, _json([f.as_dict() for f in check.findings]))
        if options.sarif:
            _write(options.sarif, _json(sarif(check.findings)))
        if options.html:
            _write(options.html, html(script.name, check.findings, schedules_of(check), total_runs(check), check.trace_of))
    except OSError as error:
        print(f"tandem: cannot write {error.filename}: {error.strerror}", file=sys.stderr)
        return BROKEN
    if broken is not None:
        sys.stdout.flush()
        _tell(broken, script)
        return BROKEN
    _print_summary(check, sys.stdout)
    if check.was_idle():
        sys.stdout.flush()
        print(f"tandem: nothing has run on the ranks of {script.name}: there was nothing to check", file=sys.stderr)
    return FOUND if any(not f.allowed for f in check.findings) else CLEAN
