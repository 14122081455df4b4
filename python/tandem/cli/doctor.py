"""`tandem doctor`."""

from ..doctor import examine
from .arguments import rank_count


def add(commands):
    doctor = commands.add_parser(
        "doctor",
        help="say what works on this machine and what its GPUs can do, and measure it",
        description="Say what works on this machine, and what ranks on its GPUs will use. Exit code 0, but 1 when `--profile` cannot "
        "measure.",
    )
    doctor.add_argument(
        "--profile",
        nargs="?",
        const="",
        metavar="FILE",
        help="measure copies, stores, loads, signals and products; write the profile (default: in the cache directory)",
    )
    doctor.add_argument("--ranks", type=rank_count, help="how many GPUs to measure (default all)")


def execute(parser, options, arguments):
    if options.ranks is not None and options.profile is None:
        parser.error("`--ranks` is how many GPUs `--profile` measures: it needs `--profile`")
    return examine(options)
