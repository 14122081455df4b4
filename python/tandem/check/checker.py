"""The command `tandem check`: one script under the checker with several rank counts and many schedules; each defect told once."""

import collections
import contextlib
import json
import os
import shlex
import sys
import warnings

from .. import _tandem
from ..errors import CompileError
from ..host.run import run_on, run_ranks
from ..host.script import Script, ScriptError, refuses_file
from ..host.session import SimulatedSession
from .exhaustive import LIMIT, Diverged, run_every_schedule
from .explore import POLICIES
from .findings import EXCEPTION, Findings, finding_of_difference, findings_of
from .html_report import html
from .rules import hint
from .sarif import sarif

CLEAN, FOUND, BROKEN = 0, 1, 2  # FOUND and BROKEN: 3
DEFAULT_RUNS = 20
DEFAULT_RANKS = 2, 4
DEFAULT_LIMITS = {"max_steps": 1_000_000_000, "timeout": 300.0}  # of each run


class Check:
    """The runs of one script and their findings."""

    def __init__(self, script, rank_counts, seeds, limit=None, run_limits=DEFAULT_LIMITS, compat=False, kinds=True):
        self.script = script
        self.call_main = script.offers_main()
        self.rank_counts = rank_counts
        self.seeds = seeds
        self.kinds = kinds  # as `check` of tandem.launch
        self.findings = Findings()
        self.warnings = collections.Counter()  # that Python gave, by text
        self.compared = 0
        self.session = None  # of the last run
        self.limit = limit  # not None: every schedule, at most so many
        self.run_limits = run_limits
        self.compat = compat
        self.proofs = []  # (ranks, Proof), of exhaustive runs

    def replay(self, ranks, seed, limited=False):
        """`seed`: or the text of a schedule. `limited`: a limit of the run ended it."""
        by = {"schedule": seed} if isinstance(seed, str) else {"seed": seed, "policy": policy_of(seed)}
        given = {name: value for name, value in self.run_limits.items() if limited or value != DEFAULT_LIMITS[name]}
        return replay_command(self.script, ranks, check=self.kinds, compat=self.compat, main=self.call_main, **by, **given)

    def run(self):
        """Every rank count under every seed."""
        for ranks in self.rank_counts:
            if self.limit is not None:
                self._run_all(ranks)
                continue
            first = None
            for seed in self.seeds:
                first = self._run_once(ranks, seed, first)
        for finding in self.findings:
            if finding.kind == "limit-exceeded":
                finding.replay = self.replay(*finding.runs[0], limited=True)

    def trace_of(self, finding):
        """The Chrome trace of the first run that showed it, which is run again for that."""
        ranks, seed = finding.runs[0]
        how = {"schedule": seed} if isinstance(seed, str) else {"seed": seed, "policy": policy_of(seed)}
        session = SimulatedSession(ranks, check=self.kinds, trace=True, **how, **self.run_limits)
        with silence(), counted_warnings(collections.Counter()), contextlib.suppress(Exception, SystemExit):
            run_on(session, self._main(), ())
        return json.loads(_tandem.chrome_trace(session.handle))

    def was_idle(self):
        """True if nothing has run on the ranks in the last run: no kernel, nothing on a stream."""
        return self.session is not None and json.loads(_tandem.counters(self.session.handle))["switches"] == 0

    def _main(self):
        main = self.script.entry(
            self.call_main,
            "an error: it starts ranks of its own (`tandem.launch`), which `tandem check` does not see: "
            "name the function that it launches `main`, and each rank calls main(team)",
        )

        def on_rank(team):
            self.session = team._session
            return main(team)

        return on_rank

    def _run_all(self, ranks):
        proof = run_every_schedule(
            self._main(), ranks, limit=self.limit, check=self.kinds, replay=lambda schedule: self.replay(ranks, schedule), **self.run_limits
        )
        self.proofs.append((ranks, proof))
        self.compared += proof.runs - 1
        for finding in proof.findings:
            for run in finding.runs:
                self.findings.add(finding, *run)

    def _run_once(self, ranks, seed, first):
        replay = self.replay(ranks, seed)
        try:
            session, _ = run_ranks(
                self._main(), ranks, (), seed=seed, check=self.kinds, policy=policy_of(seed), log_stores=True, **self.run_limits
            )
        except (Exception, SystemExit) as error:
            self._add(findings_of(getattr(error, "reports", []), error, replay), ranks, seed)
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
    """Discards the output of the script and its kernels."""
    sys.stdout.flush()
    shown = os.dup(1)
    try:
        with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
            os.dup2(nothing.fileno(), 1)
            yield
    finally:
        os.dup2(shown, 1)
        os.close(shown)


@contextlib.contextmanager
def counted_warnings(counts):
    """Counts Python's warnings by their text instead of showing them: each run of a script gives the same ones."""

    def count(message, category, filename, lineno, file=None, line=None):
        counts[warnings.formatwarning(message, category, filename, lineno, line)] += 1

    with warnings.catch_warnings():
        warnings.showwarning = count
        yield


def kinds_in_words(check):
    """Returns the options of a command line that set an option of `tandem.launch`."""
    kinds = check if isinstance(check, dict) else {}
    return ["--check"] * bool(check) + ["--no-scope"] * (not kinds.get("scope", True)) + ["--portability"] * kinds.get("portability", False)


def policy_of(seed):
    """The policy goes with the seed, so that a seed alone names the schedule."""
    return POLICIES[seed % len(POLICIES)]


def replay_command(
    script, ranks, *, check, seed=0, policy=POLICIES[0], schedule=None, compat=False, main=False, max_steps=None, timeout=None
):
    """Returns the `tandem run` that repeats a run. Each option that changes the run is in it. `script`: its `name`
    and `arguments`."""
    words = ["tandem", "run", *kinds_in_words(check), *(["--compat"] if compat else []), "--ranks", str(ranks)]
    words += ["--schedule", schedule] if schedule else ["--seed", str(seed)]
    words += ["--policy", policy] if policy != POLICIES[0] and not schedule else []
    words += ["--max-steps", str(max_steps)] if max_steps else []
    words += ["--timeout", f"{timeout:g}"] if timeout else []
    words += ["--main"] if main else []
    for name, value in script.values.items():
        words += ["--set", f"{name}={value!r}"]
    return shlex.join([*words, script.name, *script.arguments])


def _counted(count, word):
    return f"{count} {word}" + ("" if count == 1 else "s")


def total_runs(check):
    return sum(proof.runs for _, proof in check.proofs) or len(check.rank_counts) * len(check.seeds)


def _print(check, out, errors):
    """Prints each finding on `out`, and exceptions and warnings of the script itself on `errors`."""
    total = total_runs(check)
    for text, count in check.warnings.items():
        print(f"{text}given {_counted(count, 'time')} in {_counted(total, 'run')}\n", file=errors, flush=True)
    for finding in check.findings:
        shown = f"in {len(finding.runs)} of {_counted(total, 'run')}"
        suppression = finding.suppression()
        if finding.allowed:
            file, allowed = suppression
            print(f"{file}:{allowed.line}: suppressed: {finding.kind}, {shown}: {allowed.reason}\n", file=out)
            continue
        to = errors if finding.kind == EXCEPTION else out
        print(finding.text, end="", file=to)
        if suppression:
            file, allowed = suppression
            print(f"{file}:{allowed.line}: note: `allow({finding.kind})` suppresses nothing without a reason after it", file=to)
        for file, line, word in finding.misspelt():
            print(f"{file}:{line}: note: `allow({word})` names no kind of report; this one is `{finding.kind}`", file=to)
        if rules := hint([finding.message]):
            print(rules, file=to)
        print(f"{shown}; replay: {finding.replay}\n", file=to, flush=True)


def _print_summary(check, out):
    suppressed = sum(bool(f.allowed) for f in check.findings)
    raised = sum(f.kind == EXCEPTION for f in check.findings)
    found = len(list(check.findings)) - suppressed - raised
    differ = any(f.kind == "schedule-dependent" for f in check.findings)
    results = "results differ" if differ else "results are equal" if check.compared else "no results to compare"
    exceptions = f"{_counted(raised, 'exception')} of the script, " if raised else ""
    print(f"{_counted(found, 'finding')}, {exceptions}{suppressed} suppressed; {schedules_of(check)}; {results}", file=out)


def schedules_of(check):
    """Says in words how much was run."""
    if check.limit is None:
        return f"ranks {', '.join(map(str, check.rank_counts))}, {_counted(len(check.seeds), 'schedule')} each"
    return "; ".join(
        f"{_counted(ranks, 'rank')}: {_counted(proof.runs, 'schedule')}, "
        + ("all there are" if proof.complete else f"not all: `--limit {check.limit}` ended it")
        for ranks, proof in check.proofs
    )


def _write(path, text):
    try:
        with open(path, "w") as file:
            file.write(text)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None


def _json(content):
    return json.dumps(content, indent=1) + "\n"


def _exit_code(findings):
    """Says what was found: something by the checker, an exception of the script, both, or nothing that is not allowed."""
    codes = [BROKEN if f.kind == EXCEPTION else FOUND for f in findings if not f.allowed]
    return CLEAN | (FOUND if FOUND in codes else 0) | (BROKEN if BROKEN in codes else 0)


def check_script(options, prepare):
    """Runs the command; returns its exit code. `prepare(script)` comes before the runs."""
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
    prepare(script)
    limit = (options.limit or LIMIT) if options.exhaustive else None
    seed, runs = options.seed or 0, options.explore or DEFAULT_RUNS
    limits = {"max_steps": options.max_steps or DEFAULT_LIMITS["max_steps"], "timeout": options.timeout or DEFAULT_LIMITS["timeout"]}
    kinds = {"scope": options.scope, "portability": options.portability}
    ranks = options.ranks or sorted({*DEFAULT_RANKS, *([] if options.exhaustive else script.launched_ranks())})
    check, broken = Check(script, ranks, range(seed, seed + runs), limit, limits, options.compat, kinds), None
    try:
        with silence(), counted_warnings(check.warnings):
            check.run()
    except KeyboardInterrupt:
        print("tandem: interrupted", file=sys.stderr)
        return 130
    except (CompileError, Diverged) as error:  # of an exhaustive search
        broken = error
    _print(check, sys.stdout, sys.stderr)
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
        print(broken if isinstance(broken, CompileError) else f"tandem: {script.name}: {broken}", file=sys.stderr)
        return BROKEN
    _print_summary(check, sys.stdout)
    if check.was_idle():
        sys.stdout.flush()
        print(f"tandem: nothing has run on the ranks of {script.name}: there was nothing to check", file=sys.stderr)
    return _exit_code(check.findings)
