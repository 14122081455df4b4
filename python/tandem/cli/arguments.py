"""Arguments that several commands take."""

import argparse
import ast

from ..check.checker import DEFAULT_LIMITS


def _integer(text, what):
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid {what} `{text}`: it is an integer") from None


def rank_count(text):
    count = _integer(text, "rank count")
    if not 1 <= count <= 1024:
        raise argparse.ArgumentTypeError("ranks are 1 to 1024")
    return count


def seed(text):
    number = _integer(text, "seed")
    if not -(2**63) <= number < 2**64:
        raise argparse.ArgumentTypeError("a seed has 64 bits")
    return number


def rank_counts(text):
    return sorted({rank_count(word) for word in text.split(",")})


def seconds_above_0(text):
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid time `{text}`: it is a number of seconds") from None
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError("seconds are above 0")
    return value


def file(text):
    if not text:
        raise argparse.ArgumentTypeError("the name of a file is needed")
    return text


def constant(text):
    name, equals, value = text.partition("=")
    if not name.isidentifier() or not equals:
        raise argparse.ArgumentTypeError(f"invalid `{text}`: it is a name, `=` and a value")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        raise argparse.ArgumentTypeError(
            f"invalid value `{value}`: it is a number, a text in quotation marks, True, False or None"
        ) from None


def run_count(text):
    count = _integer(text, "count")
    if count < 1:
        raise argparse.ArgumentTypeError("there is at least 1 schedule")
    return count


def positive(text):
    count = _integer(text, "count")
    if count < 1:
        raise argparse.ArgumentTypeError("it is at least 1")
    return count


def add_limits(command, steps="", seconds=""):
    """The limits of a simulated run; `steps` and `seconds` say what they are by default."""
    command.add_argument(
        "--max-steps",
        type=positive,
        metavar="N",
        help="end a run after so many instructions, turns and waits of hosts; the report says where each program "
        "stands" + steps.format(**DEFAULT_LIMITS),
    )
    command.add_argument(
        "--timeout",
        type=seconds_above_0,
        metavar="SECONDS",
        help="end a run that takes longer, likewise" + seconds.format(**DEFAULT_LIMITS),
    )


def add_kinds(command):
    command.add_argument("--no-scope", dest="scope", action="store_false", help="no reports of kind `scope`")
    command.add_argument("--portability", action="store_true", help="also what is right here, and not promised elsewhere")


def kinds(options):
    return {"scope": options.scope, "portability": options.portability}
