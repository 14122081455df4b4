"""Every schedule of a small program, one run after another: the library says which choice differs next (interpreter/schedule/search.h)."""

import dataclasses
import json
import warnings

from .. import _tandem
from ..errors import CompileError, SimulationError, SimulationWarning
from ..host.run import run_on
from ..host.session import SimulatedSession
from .findings import Findings, finding_of_difference, findings_of

LIMIT = 10_000


@dataclasses.dataclass
class Proof:
    """The result of running all schedules. `runs`: how many were run to their end; `complete`: these are all there
    are, up to the order of
    steps that do not concern each other (with `reduction=False`: all there are). `redundant`: runs ended early because others cover them.
    `findings`: each defect once, its `replay` being the schedule that showed it first. `steps`: of the longest schedule."""

    runs: int
    complete: bool
    redundant: int
    steps: int
    findings: list

    @property
    def proven(self):
        """No schedule is wrong."""
        return self.complete and not any(f.severity == "error" for f in self.findings)

    def __str__(self):
        found = sum(f.severity == "error" for f in self.findings)
        what = f"{found} finding{'s' * (found != 1)}" if found else "nothing found"
        extent = "all there are" if self.complete else "not all: the limit ended it"
        return f"{self.runs} schedule{'s' * (self.runs != 1)}, {extent}: {what}"


class Diverged(ValueError):
    """The program does not do the same under the same schedule."""


def run_every_schedule(main, ranks, args=(), limit=LIMIT, reduction=True, check=True, replay=lambda schedule: schedule, **options):
    """Runs `main(team, *args)` under every schedule, at most `limit` of them. Results are compared with the first schedule's.

    The checker stays on unless `check` is False; `replay` makes a finding's command out of a schedule."""
    if limit < 1:
        raise ValueError(f"`limit` must be at least 1, not {limit}")
    search = _tandem.search_create(int(reduction))
    findings, first = Findings(), None
    proof = Proof(0, False, 0, 0, findings)
    while True:
        session = SimulatedSession(ranks, search=search, check=check, log_stores=True, **options)
        error = None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", SimulationWarning)
                run_on(session, main, args)
        except SimulationError as caught:
            error = caught
        except CompileError:
            raise
        except (Exception, SystemExit) as caught:  # of `main`, or of a call of a run that is ended early
            error = caught
        state = _run(search)
        if state["diverged"]:
            raise Diverged(
                "the program does something else under the same schedule: exhaustive search needs runs that repeat "
                "(no random inputs, no state kept between runs)"
            )
        if state["redundant"]:
            proof.redundant += 1
        else:
            proof.runs += 1
            proof.steps = max(proof.steps, state["steps"])
            schedule = state["schedule"]
            for finding in findings_of(session.reports(), error, replay(schedule)):
                findings.add(finding, ranks, schedule)
            if error is None and first is None:
                first = session, schedule
            elif error is None:
                _compare(first, session, schedule, ranks, findings, replay)
        more = _tandem.search_next(search)
        if not more or proof.runs + proof.redundant >= limit:
            proof.complete = not more
            proof.findings = list(findings)
            return proof


def _run(search):
    return json.loads(_tandem.search_run(search))


def _compare(first, session, schedule, ranks, findings, replay):
    text = _tandem.first_difference(first[0].handle, session.handle)
    if text:
        text += f"schedules: {first[1]}; {schedule}\n"
        findings.add(finding_of_difference(text, ranks, replay(schedule)), ranks, schedule)
