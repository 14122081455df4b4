"""Runs one program under many schedules: does its result depend on them, and where first?"""

import dataclasses
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from .. import _tandem
from ..errors import SimulationError
from ..host.run import run_ranks
from .exhaustive import run_every_schedule

POLICIES = ("random", "round-robin", "priority", "slowest-rank")


@dataclasses.dataclass
class Schedule:
    policy: str
    seed: int
    reports: list


@dataclasses.dataclass
class Exploration:
    """The schedules tried and the first finding. `difference`: where two schedules ended with other bytes, the first store, or the buffer,
    that they did not agree on, as text; None when all agree. `failure`: the SimulationError of the first schedule that found an error,
    which ends the search. `exception`: what `main` raised in the first schedule in which it did, beside what another one found."""

    schedules: list
    difference: str | None = None
    failure: SimulationError | None = None
    exception: Exception | None = None

    @property
    def deterministic(self) -> bool:
        """True if no schedule left other bits in memory, failed or raised."""
        return self.difference is None and self.failure is None and self.exception is None


def explore(
    main: Callable[..., Any],
    ranks: int = 1,
    runs: int = 20,
    args: Sequence[Any] = (),
    check: bool | dict[str, bool] = True,
    policies: Sequence[str] = POLICIES,
    exhaustive: bool = False,
    **options: Any,
) -> Any:
    """Runs `main(team, *args)` under `runs` schedules, in turn by each policy, and compares the final contents of
    memory bit for bit with the first run's. `main` must compute the same in each run: no random inputs, no state
    kept between runs. An exception of `main`
    does not end the search: it is raised when no schedule has a report or a difference to tell beside it.

    `exhaustive`: under every schedule instead, for small programs; gives a Proof. `limit` (10,000) ends it earlier; `reduction=False` also
    runs schedules that differ only in the order of steps that do not concern each other."""
    if exhaustive:
        return run_every_schedule(main, ranks, args, check=check, **options)
    first, found = None, Exploration([])
    for seed, policy in zip(range(runs), itertools.cycle(policies)):
        try:
            session, _ = run_ranks(main, ranks, args, seed=seed, check=check, policy=policy, log_stores=True, **options)
        except SimulationError as error:
            found.schedules.append(Schedule(policy, seed, error.reports))
            found.failure = error
            found.exception = found.exception or next((raised for _, raised in error.raised), None)
            return found
        except Exception as error:
            error.add_note(f"under policy {policy}, seed {seed}")
            found.exception = found.exception or error
            found.schedules.append(Schedule(policy, seed, []))
            continue
        found.schedules.append(Schedule(policy, seed, session.reports()))
        if first is None:
            first = session
            continue
        text = _tandem.first_difference(first.handle, session.handle)
        if text:
            found.difference = f"{text}schedules: {found.schedules[0].policy}, seed 0; {policy}, seed {seed}\n"
            return found
    if found.exception:
        raise found.exception
    return found
