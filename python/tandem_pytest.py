"""The hooks of the pytest plugin. pytest imports this module at every start; the package, which takes 0.3 s, is imported for the first
test that has the mark `tandem`."""

import pytest

_SHAPE = "tandem(ranks=[2, 4], seeds=10, exhaustive=False, limit=None, scope=True, portability=False, max_steps=N, timeout=S)"
_MARKER = (
    f"{_SHAPE}: call the test, which takes `team`, once on each simulated rank, under the checker, for each rank count and seed, or "
    "under every schedule, at most `limit`; the other names say what to look for and when a run has gone on too long"
)


def pytest_configure(config):
    config.addinivalue_line("markers", _MARKER)


def pytest_generate_tests(metafunc):
    mark = metafunc.definition.get_closest_marker("tandem")
    if mark is None:
        return
    if "team" not in metafunc.fixturenames:
        raise pytest.Collector.CollectError(f"{metafunc.definition.nodeid} has the mark `tandem`, but takes no `team`")
    from tandem.pytest_plugin import runs_of

    metafunc.parametrize("team", runs_of(mark, _SHAPE), indirect=True, ids=str)


@pytest.fixture
def team(request):
    """The ranks of a test with the mark `tandem`. Until the test is called it only says which run it is."""
    if not hasattr(request, "param"):
        pytest.fail("`team` is for tests with the mark `tandem`", pytrace=False)
    return request.param


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if pyfuncitem.get_closest_marker("tandem") is None:
        return None
    from tandem.pytest_plugin import call

    return call(pyfuncitem)
