"""`tandem explain`."""

from ..check.rules import explain


def add(commands):
    parser = commands.add_parser(
        "explain",
        help="print rules of the memory model and kinds of reports",
        description="Print rules of the memory model and what kinds of reports mean; without a name, both lists.",
    )
    parser.add_argument("rules", nargs="*", metavar="NAME", help="M1, M2, ..., or a kind: race, deadlock, ...")


def execute(parser, options, arguments):
    return explain(options.rules)
