"""`tandem check`."""

import argparse

from .. import compat
from ..check.checker import DEFAULT_RUNS, check_script
from ..check.exhaustive import LIMIT
from .arguments import add_kinds, add_limits, file, rank_counts, run_count, seed

_EPILOG = """what is run:
  The script, once on every rank, as `tandem run` does it. A script that never calls tandem.init() but has main(team) is not
  run as __main__: its main(team) is called on each rank. What the script prints is not shown.

schedules:
  Seed S decides delays, order and policy (any order, round robin, random priorities, one slow rank). A race is found when
  both accesses happen, whether or not they met: more seeds find code that only some schedules reach. A run ends at its first
  error, so a second defect may show when the first is mended. Stored values are compared between the schedules, bit for bit.

what is reported:
  Both places, ranks and programs, and the order that is missing with its rule (M4, ...) of the memory model (`tandem explain M4`); then
  how many runs showed it, and a command that gives one of them again.

  tl.store(x, 1)  # tandem: allow(race) every rank stores the same value
  on a line that the report names suppresses that kind there. The reason is required; the summary shows it.

  An exception of the script is told once, too, with its replay; the run goes on without that rank as far as it can.

exit code: 0 nothing found (or all of it suppressed), 1 findings, 2 a wrong command line or exceptions of the script only,
  3 findings and exceptions of the script

examples:
  tandem check script.py                                2 and 4 ranks and the script's own number, 20 schedules each
  tandem check --ranks 2,4,8 --explore 100 script.py    more of both
  tandem check script.py size=64 --seed 20              other schedules: seeds 20 to 39; the script gets size=64
  tandem check --ranks 4 script.py -- --size 64         after `--`, options are the script's
  tandem check --exhaustive --ranks 2 script.py         every schedule of a small script: none is wrong, or which one
  tandem check --html out.html script.py                findings with both sources side by side, and the run's timeline
  tandem check --sarif out.sarif script.py              for code review; --json for programs
"""


def add(commands):
    check = commands.add_parser(
        "check",
        help="look for defects with several rank counts and many schedules",
        epilog=_EPILOG,
        description="Look for races, misused signals and results that depend on the schedule.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument(
        "--ranks", type=rank_counts, metavar="R,R,...", help="rank counts (default 2, 4 and what the script itself gives `tandem.launch`)"
    )
    check.add_argument("--explore", type=run_count, metavar="N", help=f"schedules for each rank count (default {DEFAULT_RUNS})")
    check.add_argument("--seed", type=seed, help="the first schedule's seed (default 0)")
    check.add_argument("--json", type=file, metavar="FILE", help="also write the findings as JSON")
    check.add_argument("--sarif", type=file, metavar="FILE", help="also write the findings as SARIF 2.1.0")
    check.add_argument("--html", type=file, metavar="FILE", help="also write a report to look at in a browser")
    check.add_argument("--exhaustive", action="store_true", help="every schedule instead, of a small script on 2 or 3 ranks")
    check.add_argument("--limit", type=run_count, metavar="N", help=f"end an exhaustive search after N schedules (default {LIMIT})")
    add_kinds(check)
    check.add_argument("--compat", action="store_true", help="resolve `triton` and `triton_dist` imports to Tandem")
    add_limits(check, " (default {max_steps:,})", " (default {timeout:g})")
    check.add_argument("script")
    check.add_argument("arguments", nargs="*", help="arguments of the script")


def _refuse_combinations(parser, options):
    if options.exhaustive and (options.explore is not None or options.seed is not None):
        parser.error("`--exhaustive` runs every schedule: `--explore` and `--seed`, which choose some, do not go with it")
    if options.limit is not None and not options.exhaustive:
        parser.error("`--limit` ends an exhaustive search: it needs `--exhaustive`; `--explore N` is how many schedules are run without")


def execute(parser, options, arguments):
    _refuse_combinations(parser, options)
    if options.compat:
        compat.install()
    return check_script(options, compat.give_host_side if options.compat else lambda script: None)
