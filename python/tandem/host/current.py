"""Finds which rank the calling thread is."""

import contextlib
import threading
from collections.abc import Iterator

from .. import _tandem
from .session import SimulatedSession
from .team import Team

_current = threading.local()
_process_team = None  # of a process that is one rank; whichever thread asks


def set_thread_team(team):
    """Makes the calling thread a rank; with None it is none any more."""
    _current.team = team


@contextlib.contextmanager
def on(team: Team) -> Iterator[Team]:
    """Kernels that the calling thread launches within run on this team, such as `team.split(members)`: they know its ranks alone, by their
    numbers there, and its symmetric memory. Every member launches them [collective the first time]."""
    before = getattr(_current, "team", None)
    set_thread_team(team)
    try:
        yield team
    finally:
        set_thread_team(before)


def set_process_team(team):
    """Makes every thread of the process the rank that the process is; with None it is none any more."""
    global _process_team
    _process_team = team


def joined_team():
    """The team of the calling thread, which may be that of a run it made for itself; None when there is none yet."""
    return getattr(_current, "team", None) or _process_team


def rank_team():
    """The team of the calling thread when it is a rank of a run; None in a program that makes its own rank when it needs one."""
    team = joined_team()
    return None if team is None or team._session is getattr(_current, "own_session", None) else team


def is_simulating():
    """Returns true if the calling thread is a rank of a simulated run."""
    team = rank_team()
    return team is not None and not team._session.is_gpu


def current_team():
    """The team of the calling thread. Outside of any launch: a simulated run of one rank, made on first use."""
    team = joined_team()
    if team is None or (team._session is getattr(_current, "own_session", None) and team._session.stopped):
        session = _current.own_session = SimulatedSession(1)
        _tandem.enter(session.handle, 0)
        team = _current.team = Team(session, 0)
    return team
