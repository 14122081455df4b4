"""The `tandem` command: a module for each of its commands, which has `add` for its options and `execute`."""

import argparse
import os
import signal
import sys

from .. import _tandem
from . import check, doctor, explain, prefix, run, trace
from .output import nobody_reads

_COMMANDS = {"run": run, "check": check, "explain": explain, "doctor": doctor, "trace": trace, "prefix": prefix}

EPILOG = """examples:
  tandem run --ranks 4 script.py            run an SPMD script on 4 simulated ranks; it calls team = tandem.init()
  tandem run --ranks 8 --seed 3 script.py   another schedule and other delays; the same seed gives the same run
  tandem run --compat old.py                `import triton` and `import triton_dist` mean Tandem
  tandem run --check script.py              look for races and misused signals: both lines and the missing order
  tandem run --trace t.json script.py       also write a timeline for ui.perfetto.dev
  tandem trace t.json --svg t.svg           draw such a file, and print who computed and who waited
  tandem run --target cuda --compat old.py  run a script on the GPU: kernels that are given CUDA arrays
  tandem run --target cuda --ranks 4 s.py   a process for each of 4 GPUs; the same script as on simulated ranks
  tandem explain M4 race                    a rule or a kind that a report names; without one, the list
  tandem check --ranks 2,4,8 script.py      many rank counts and schedules under the checker; each defect is told once
"""


def _parser():
    parser = argparse.ArgumentParser(
        prog="tandem",
        description="Run kernels that compute and communicate, on simulated ranks or on GPUs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tandem {_tandem.version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    run.add(commands, EPILOG)
    for command in (check, explain, doctor, trace, prefix):
        command.add(commands)
    return parser


def main(arguments=None):
    """Runs a command; returns its exit code."""
    try:
        try:
            return _command(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # as after `| head`
        if not nobody_reads():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _command(arguments):
    parser = _parser()
    options = parser.parse_args(arguments)
    return _COMMANDS[options.command].execute(parser, options, arguments)


if __name__ == "__main__":
    sys.exit(main())
