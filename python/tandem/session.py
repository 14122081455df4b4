"""Runs: a session of N ranks, the calling thread's team, and `launch`."""

import base64
import html
import json
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from . import _tandem
from .errors import SimulationWarning
from .gpu.process import join
from .gpu.session import GpuSession
from .host.current import current_team, joined_team
from .host.frames import users_traceback
from .host.run import run_on, run_ranks
from .host.team import Team
from .trace.timeline_svg import trace_svg


def init(wait_timeout: float | None = None, transport: str | None = None) -> Team:
    """The team of a script.

    Under `tandem run`: of the simulated rank, or of this process and its GPU. Under torchrun or mpirun: of this process and its GPU;
    `wait_timeout` (seconds) then ends waits that nobody satisfies, and `transport` says how kernels reach peers: "nvlink" (mapped memory),
    "nvshmem", or "auto", which takes NVSHMEM where a GPU cannot reach another. A script that runs by itself is one simulated rank.
    """
    return current_team() if joined_team() else join(wait_timeout, transport) or current_team()


class Result:
    """The result of a run: each rank's return value, reports, counters and the timeline (with `trace=True`)."""

    def __init__(self, session, values):
        self._session = session
        self.values: list[Any] = values
        self.reports: list[dict[str, Any]] = session.reports()

    def __repr__(self):
        return f"<tandem.Result of {len(self.values)} ranks: {len(self.reports) or 'no'} reports>"

    def _repr_html_(self):
        """A notebook's view: the reports, the counters of a simulated run, and the timeline of a traced one."""
        parts = [f"<p>{html.escape(repr(self)[1:-1])}</p>"]
        parts += [f"<pre>{html.escape(report['message'])}</pre>" for report in self.reports]
        if not self._session.is_gpu:
            cells = "".join(f"<tr><td>{html.escape(name)}</td><td>{value}</td></tr>" for name, value in sorted(self.counters.items()))
            parts.append(f"<details><summary>counters</summary><table>{cells}</table></details>")
        try:
            drawn = trace_svg(json.loads(_tandem.chrome_trace(self._session.handle)))
        except RuntimeError:  # the run was not traced
            drawn = ""
        if drawn:  # as an image, so that its style is its own
            parts.append(f'<img alt="timeline of the run" src="data:image/svg+xml;base64,{base64.b64encode(drawn.encode()).decode()}">')
        return "".join(parts)

    @property
    def counters(self) -> dict[str, int]:
        """What a simulated run counted, by name: operations, and for transfers bytes."""
        if self._session.is_gpu:
            raise RuntimeError("only a simulated run has counters")
        return json.loads(_tandem.counters(self._session.handle))

    @property
    def summary(self) -> dict[str, Any]:
        """Totals by rank, modelled or measured: compute, wait and transfer time, and how much of the transfer was overlapped."""
        return json.loads(_tandem.trace_summary(self._session.handle))

    def timeline(self, width: int = 80) -> str:
        """Who computed, waited and moved data when, as text of `width` columns; of a run with `trace=True`."""
        return _tandem.timeline(self._session.handle, width)

    def write_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes a trace that ui.perfetto.dev opens."""
        trace = _tandem.chrome_trace(self._session.handle)
        with open(path, "w") as file:
            file.write(trace)


def launch(
    main: Callable[..., Any],
    ranks: int = 1,
    target: str = "sim",
    seed: int = 0,
    trace: bool = False,
    args: Sequence[Any] = (),
    slots_per_rank: int | None = None,
    check: bool | dict[str, bool] | None = None,
    policy: str = "random",
    wait_timeout: float | None = None,
    devices: Sequence[int] | None = None,
    schedule: str | None = None,
    max_steps: int | None = None,
    timeout: float | None = None,
    machine: Any = None,
) -> Result:
    """Runs `main(team, *args)` once on each of `ranks` ranks and returns a Result.

    Raises the first exception a rank raised, or SimulationError (on GPUs: RunError) with the reports when the run itself failed; its
    `raised` are the exceptions of ranks, after which a run under the checker goes on as far as it can.

    `target="sim"`: the same seed gives the same run; other seeds give other schedules and delays. `slots_per_rank`: how many programs of a
    rank are resident at once (132). `check`: look for races and misused signals (by default as the environment's TANDEM_CHECK says); a
    report of kind `race` or `signal-misuse` names both places; `{"scope": False}` looks for all but scopes that are too narrow only to the
    letter, `{"portability": True}` also for what is right here and not everywhere. `policy`: who runs next, one of `tandem.explore`'s.
    `schedule`: instead of both, the choices of a schedule that an exhaustive search has found. `max_steps` (instructions of programs, turns
    of programs and streams, calls of hosts that may wait) and `timeout` (seconds) end a run that goes on longer; its report says where each
    program stands.

    `machine`: how fast modelled time goes, a `tandem.Profile` or the name of one that comes with Tandem ("nominal", "h200", "h100").

    `trace`: programs and streams note what they did when; kernels on GPUs are compiled once more for that.

    `target="cuda"`: rank r runs on GPU r, or on `devices[r]`. A wait that takes longer than `wait_timeout` seconds ends the run on every
    rank, with the line of the wait. Seed and policy are the simulator's and mean nothing there.
    """
    try:
        if target == "cuda":
            for name, value in {
                "check": check,
                "slots_per_rank": slots_per_rank,
                "max_steps": max_steps,
                "timeout": timeout,
                "machine": machine,
            }.items():
                if value:
                    raise ValueError(f"`{name}` is the simulator's: only a simulated run has it")
            session = GpuSession(ranks, devices=devices, wait_timeout=wait_timeout, trace=trace)
            return Result(session, run_on(session, main, args))
        if target != "sim":
            raise ValueError(f"target `{target}` is not available; this build has: sim, cuda")
        session, values = run_ranks(
            main,
            ranks,
            args,
            seed=seed,
            trace=trace,
            check=check,
            policy=policy,
            schedule=schedule,
            slots_per_rank=slots_per_rank,
            max_steps=max_steps,
            timeout=timeout,
            machine=machine,
        )
        result = Result(session, values)
        for report in result.reports:
            warnings.warn("\n" + report["text"], SimulationWarning, stacklevel=2)
        return result
    except Exception as error:
        raise error.with_traceback(users_traceback(error))  # noqa: B904  the same error
