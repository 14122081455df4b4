"""The pytest plugin: `@pytest.mark.tandem(ranks=[2, 4], seeds=10)` runs a test of `team` on simulated ranks under the checker.
Its hooks are in `tandem_pytest`, which does not import this package before a test needs it."""

import dataclasses
import inspect
import warnings

import pytest

from .check.checker import DEFAULT_LIMITS
from .check.exhaustive import LIMIT, Diverged, run_every_schedule
from .check.explore import POLICIES
from .check.findings import findings_of
from .errors import SimulationError, SimulationWarning
from .host.run import run_ranks

pytest_plugins = ["tandem_pytest"]  # `-p tandem.pytest_plugin` loads the hooks


@dataclasses.dataclass(frozen=True)
class _Run:
    ranks: int
    seed: int | None  # None: every schedule
    limit: int
    how: dict  # of each run

    def __str__(self):
        return f"ranks={self.ranks}-" + ("exhaustive" if self.seed is None else f"seed={self.seed}")


def _counts(value, name, first):
    """A list of rank counts or seeds; `seeds=10` is the seeds 0 to 9, `ranks=4` four ranks."""
    values = [value] if name == "ranks" and isinstance(value, int) else range(value) if isinstance(value, int) else list(value)
    if not values or not all(isinstance(v, int) and v >= first for v in values):
        raise pytest.Collector.CollectError(
            f"`{name}` of the mark `tandem` is an integer or a list of integers from {first}, not {value!r}"
        )
    return values


def _refuse(name, needs):
    raise pytest.Collector.CollectError(f"`{name}` of the mark `tandem` {needs}")


def _runs(
    ranks=(2, 4),
    seeds=None,
    *,
    exhaustive=False,
    limit=None,
    scope=True,
    portability=False,
    max_steps=DEFAULT_LIMITS["max_steps"],
    timeout=DEFAULT_LIMITS["timeout"],
):
    for name, value in {"exhaustive": exhaustive, "scope": scope, "portability": portability}.items():
        if not isinstance(value, bool):
            _refuse(name, f"is True or False, not {value!r}")
    for name, value in {"limit": 1 if limit is None else limit, "max_steps": max_steps}.items():
        if not isinstance(value, int) or value < 1:
            _refuse(name, f"is an integer from 1, not {value!r}")
    if not isinstance(timeout, (int, float)) or not 0 < timeout < 1e9:
        _refuse("timeout", f"is a number of seconds above 0, not {timeout!r}")
    if exhaustive and seeds is not None:
        _refuse("exhaustive", "means every schedule: `seeds`, which choose some, do not go with it")
    if limit is not None and not exhaustive:
        _refuse("limit", "ends an exhaustive search: it needs `exhaustive=True`")
    how = {"check": {"scope": scope, "portability": portability}, "max_steps": max_steps, "timeout": timeout}
    chosen = [None] if exhaustive else _counts(10 if seeds is None else seeds, "seeds", 0)
    return [_Run(r, s, limit or LIMIT, how) for r in _counts(ranks, "ranks", 1) for s in chosen]


def runs_of(mark, shape):
    """The runs that a mark asks for."""
    try:
        inspect.signature(_runs).bind(*mark.args, **mark.kwargs)
    except TypeError as error:
        raise pytest.Collector.CollectError(f"the mark is {shape}: {error}") from None
    return _runs(*mark.args, **mark.kwargs)


def call(pyfuncitem):
    """Calls a test on the ranks of its run; returns None where another plugin has replaced `team`."""
    run = pyfuncitem.funcargs.get("team")
    if not isinstance(run, _Run):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    def main(rank_team):
        return pyfuncitem.obj(**{**given, "team": rank_team})

    if run.seed is None:
        return _search(main, run)
    failed = None
    try:
        session, _ = run_ranks(main, run.ranks, (), seed=run.seed, policy=POLICIES[run.seed % len(POLICIES)], **run.how)
    except SimulationError as error:
        failed = list(findings_of(error.reports, error))
    if failed is not None:
        _fail(failed)
    _warn(findings_of(session.reports()))
    return True


def _search(main, run):
    """A test under every schedule."""
    try:
        proof = run_every_schedule(main, run.ranks, limit=run.limit, replay=lambda schedule: f"schedule {schedule}", **run.how)
    except Diverged as error:
        pytest.fail(str(error), pytrace=False)
    _warn(f for f in proof.findings if f.severity != "error")
    if any(f.severity == "error" for f in proof.findings):
        _fail(proof.findings)
    if not proof.complete:
        warnings.warn(
            f"not all schedules of {run.ranks} ranks were run: `limit={run.limit}` ended the search", SimulationWarning, stacklevel=1
        )
    return True


def _warn(findings):
    for finding in findings:
        if not finding.allowed:
            warnings.warn("\n" + finding.text, SimulationWarning, stacklevel=1)


def _fail(findings):
    """Ends the test: failed with the reports, or expected to fail when the source allows every error."""
    errors = [f for f in findings if f.severity == "error"]
    refused = [f for f in errors if not f.allowed]
    if refused:
        pytest.fail("\n".join(f.text for f in refused), pytrace=False)
    pytest.xfail("; ".join(f"{f.kind} is allowed: {f.allowed}" for f in errors))
