"""The pytest plugin: `@pytest.mark.tandem(ranks=[2, 4], seeds=10)` runs a test of `team` on simulated ranks under the checker."""

import dataclasses
import warnings

import pytest

from .checker import DEFAULT_LIMITS
from .errors import SimulationError, SimulationWarning
from .explore import POLICIES
from .findings import findings_of
from .session import run_ranks

_MARKER = ("tandem(ranks=[2, 4], seeds=10): call the test, which takes `team`, once on each simulated rank, under the checker, "
           "for each rank count and seed; `max_steps=` and `timeout=` end a run that goes on longer")


@dataclasses.dataclass(frozen=True)
class _Run:
    ranks: int
    seed: int
    max_steps: int
    timeout: float

    def __str__(self):
        return f"ranks={self.ranks}-seed={self.seed}"


def _counts(value, name, first):
    """A list of rank counts or seeds; `seeds=10` is the seeds 0 to 9, `ranks=4` four ranks."""
    values = [value] if name == "ranks" and isinstance(value, int) else range(value) if isinstance(value, int) else list(value)
    if not values or not all(isinstance(v, int) and v >= first for v in values):
        raise pytest.Collector.CollectError(
            f"`{name}` of the mark `tandem` is an integer or a list of integers from {first}, not {value!r}")
    return values


def _runs(ranks=(2, 4), seeds=10, max_steps=DEFAULT_LIMITS["max_steps"], timeout=DEFAULT_LIMITS["timeout"]):
    return [_Run(r, s, max_steps, timeout) for r in _counts(ranks, "ranks", 1) for s in _counts(seeds, "seeds", 0)]


def pytest_configure(config):
    config.addinivalue_line("markers", _MARKER)


def pytest_generate_tests(metafunc):
    mark = metafunc.definition.get_closest_marker("tandem")
    if mark is None:
        return
    if "team" not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid} has the mark `tandem`, but takes no `team`")
    try:
        runs = _runs(*mark.args, **mark.kwargs)
    except TypeError:
        raise pytest.Collector.CollectError(f"the mark is {_MARKER.split(':')[0]}, not {mark.args} {mark.kwargs}") from None
    metafunc.parametrize("team", runs, indirect=True, ids=str)


@pytest.fixture
def team(request):
    """The ranks of a test with the mark `tandem`. Until the test is called it only says which run it is."""
    if not hasattr(request, "param"):
        pytest.fail("`team` is for tests with the mark `tandem`", pytrace=False)
    return request.param


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    run = pyfuncitem.funcargs.get("team")
    if not isinstance(run, _Run):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}

    def main(rank_team):
        return pyfuncitem.obj(**{**given, "team": rank_team})

    failed = None
    try:
        session, _ = run_ranks(main, run.ranks, (), seed=run.seed, check=True, policy=POLICIES[run.seed % len(POLICIES)],
                               max_steps=run.max_steps, timeout=run.timeout)
    except SimulationError as error:
        failed = list(findings_of(error.reports, error))
    if failed is not None:
        _fail(failed)
    for finding in findings_of(session.reports()):
        if not finding.allowed:
            warnings.warn("\n" + finding.text, SimulationWarning, stacklevel=1)
    return True


def _fail(findings):
    """Ends the test: failed with the reports, or expected to fail when the source allows every error."""
    errors = [f for f in findings if f.severity == "error"]
    refused = [f for f in errors if not f.allowed]
    if refused:
        pytest.fail("\n".join(f.text for f in refused), pytrace=False)
    pytest.xfail("; ".join(f"{f.kind} is allowed: {f.allowed}" for f in errors))
