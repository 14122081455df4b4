"""The `tandem` command."""

import argparse
import os
import secrets
import select
import signal
import sys
import tempfile
import traceback

from . import _tandem, compat
from .check.checker import DEFAULT_LIMITS, DEFAULT_RUNS, check_script, replay_command
from .check.exhaustive import LIMIT
from .check.explore import POLICIES
from .check.rules import explain, hint
from .doctor import examine
from .errors import CompileError, SimulationError
from .gpu.process import RENDEZVOUS, TRACE, TRANSPORT, WAIT_TIMEOUT, place_in
from .gpu.session import check_devices
from .gpu.spawn import run_processes
from .host.frames import user_frames, users_traceback
from .host.script import Script, ScriptError, refuses_file
from .host.session import check_default
from .prefix import prefix
from .rank_process import run_script
from .session import launch
from .trace.timeline_svg import ROWS
from .trace.trace_file import TraceFile, show

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

CHECK_EPILOG = """what is run:
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
  tandem check script.py                                2 and 4 ranks, 20 schedules each
  tandem check --ranks 2,4,8 --explore 100 script.py    more of both
  tandem check script.py size=64 --seed 20              other schedules: seeds 20 to 39; the script gets size=64
  tandem check --ranks 4 script.py -- --size 64         after `--`, options are the script's
  tandem check --exhaustive --ranks 2 script.py         every schedule of a small script: none is wrong, or which one
  tandem check --html out.html script.py                findings with both sources side by side, and the run's timeline
  tandem check --sarif out.sarif script.py              for code review; --json for programs
"""


def _integer(text, what):
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid {what} `{text}`: it is an integer") from None


def _rank_count(text):
    count = _integer(text, "rank count")
    if not 1 <= count <= 1024:
        raise argparse.ArgumentTypeError("ranks are 1 to 1024")
    return count


def _seed(text):
    seed = _integer(text, "seed")
    if not -(2**63) <= seed < 2**64:
        raise argparse.ArgumentTypeError("a seed has 64 bits")
    return seed


def _rank_counts(text):
    return sorted({_rank_count(word) for word in text.split(",")})


def _seconds(text):
    try:
        value = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"invalid time `{text}`: it is a number of seconds") from None
    if not 0 < value < 1e9:
        raise argparse.ArgumentTypeError("seconds are above 0")
    return value


def _file(text):
    if not text:
        raise argparse.ArgumentTypeError("the name of a file is needed")
    return text


def _run_count(text):
    count = _integer(text, "count")
    if count < 1:
        raise argparse.ArgumentTypeError("there is at least 1 schedule")
    return count


def _positive(text):
    count = _integer(text, "count")
    if count < 1:
        raise argparse.ArgumentTypeError("it is at least 1")
    return count


def _add_limits(command, steps="", seconds=""):
    """The limits of a simulated run; `steps` and `seconds` say what they are by default."""
    command.add_argument(
        "--max-steps",
        type=_positive,
        metavar="N",
        help="end a run after so many instructions, turns and waits of hosts; the report says where each program "
        "stands" + steps.format(**DEFAULT_LIMITS),
    )
    command.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="end a run that takes longer, likewise" + seconds.format(**DEFAULT_LIMITS)
    )


def _add_kinds(command):
    command.add_argument("--no-scope", dest="scope", action="store_false", help="no reports of kind `scope`")
    command.add_argument("--portability", action="store_true", help="also what is right here, and not promised elsewhere")


def _kinds(options):
    return {"scope": options.scope, "portability": options.portability}


def _add_check(commands):
    check = commands.add_parser(
        "check",
        help="look for defects with several rank counts and many schedules",
        epilog=CHECK_EPILOG,
        description="Look for races, misused signals and results that depend on the schedule.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("--ranks", type=_rank_counts, default=[2, 4], metavar="R,R,...", help="rank counts (default 2,4)")
    check.add_argument("--explore", type=_run_count, metavar="N", help=f"schedules for each rank count (default {DEFAULT_RUNS})")
    check.add_argument("--seed", type=_seed, help="the first schedule's seed (default 0)")
    check.add_argument("--json", type=_file, metavar="FILE", help="also write the findings as JSON")
    check.add_argument("--sarif", type=_file, metavar="FILE", help="also write the findings as SARIF 2.1.0")
    check.add_argument("--html", type=_file, metavar="FILE", help="also write a report to look at in a browser")
    check.add_argument("--exhaustive", action="store_true", help="every schedule instead, of a small script on 2 or 3 ranks")
    check.add_argument("--limit", type=_run_count, metavar="N", help=f"end an exhaustive search after N schedules (default {LIMIT})")
    _add_kinds(check)
    check.add_argument("--compat", action="store_true", help="resolve `triton` and `triton_dist` imports to Tandem")
    _add_limits(check, " (default {max_steps:,})", " (default {timeout:g})")
    check.add_argument("script")
    check.add_argument("arguments", nargs="*", help="arguments of the script")


def _add_doctor(commands):
    doctor = commands.add_parser(
        "doctor",
        help="say what this machine's GPUs can do, and measure it",
        description="Say what ranks on this machine's GPUs will use. Exit code 0 when there is a GPU, else 1.",
    )
    doctor.add_argument(
        "--profile",
        nargs="?",
        const="",
        metavar="FILE",
        help="measure copies, stores, loads, signals and products; write the profile (default: in the cache directory)",
    )
    doctor.add_argument("--ranks", type=_rank_count, help="how many GPUs to measure (default all)")


def _add_explain(commands):
    explain = commands.add_parser(
        "explain",
        help="print rules of the memory model and kinds of reports",
        description="Print rules of the memory model and what kinds of reports mean; without a name, both lists.",
    )
    explain.add_argument("rules", nargs="*", metavar="NAME", help="M1, M2, ..., or a kind: race, deadlock, ...")


def _add_trace(commands):
    trace = commands.add_parser(
        "trace",
        help="draw a trace that a run has written, simulated or on GPUs",
        description="Print the timeline and the totals of a trace that `--trace`, `write_trace` or "
        "TANDEM_TRACE has written; with `--svg` draw it.",
    )
    trace.add_argument("file")
    trace.add_argument("--kernel", metavar="NAME", help="only the last launch of this kernel, on all ranks")
    trace.add_argument("--svg", type=_file, metavar="FILE", help="also draw it")
    trace.add_argument("--rows", type=_positive, default=ROWS, metavar="N", help=f"rows of a rank in the drawing (default {ROWS})")
    trace.add_argument("--width", type=_positive, default=80, metavar="N", help="columns of the timeline (default 80)")


def _add_prefix(commands):
    commands.add_parser(
        "prefix",
        help="print the folder of the C++ libraries, headers and CMake files",
        description="Print the folder that CMAKE_PREFIX_PATH names for find_package(Tandem); lib/pkgconfig in it is for pkg-config.",
    )


def _parser():
    parser = argparse.ArgumentParser(
        prog="tandem",
        description="Run kernels that compute and communicate, on simulated ranks or on GPUs.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"tandem {_tandem.version()}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    run = commands.add_parser(
        "run", help="run a script once on every rank", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    run.add_argument("--ranks", type=_rank_count, default=1, help="how many ranks (default 1)")
    run.add_argument("--target", default="sim", choices=["sim", "cuda"], help="where to run (default sim)")
    run.add_argument("--seed", type=_seed, help="decides schedule and delays (default 0)")
    run.add_argument("--check", action="store_true", help="look for races and misused signals")
    _add_kinds(run)
    run.add_argument("--trace", type=_file, metavar="FILE", help="write a Perfetto trace")
    run.add_argument("--timeline", action="store_true", help="draw who computed and who waited")
    run.add_argument("--compat", action="store_true", help="resolve `triton` and `triton_dist` imports to Tandem")
    run.add_argument("--policy", choices=POLICIES, help="who runs next (default random)")
    run.add_argument(
        "--wait-timeout", type=_seconds, metavar="SECONDS", help="on GPUs: end the run when a wait lasts longer (default never)"
    )
    run.add_argument(
        "--transport",
        choices=["auto", "nvlink", "nvshmem"],
        help="on GPUs: how kernels reach peers (default auto: NVSHMEM where a GPU cannot reach another)",
    )
    run.add_argument("--schedule", metavar="S", help="instead of seed and policy: choices that an exhaustive check has found, as 0.2.1")
    _add_limits(run)
    run.add_argument("--main", action="store_true", help="call the script's main(team) instead of running it as __main__")
    run.add_argument("script")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script").required = False
    _add_check(commands)
    _add_explain(commands)
    _add_doctor(commands)
    _add_trace(commands)
    _add_prefix(commands)
    return parser


def _run(options, refuse):
    if options.compat:
        compat.install()
    try:
        script = Script(options.script, options.arguments)
    except ScriptError as error:
        raise SystemExit(str(error)) from None
    refuse(script)
    if options.trace and (reason := refuses_file(options.trace)):
        raise SystemExit(f"tandem: cannot write {options.trace}: {reason}")
    script.install()

    if options.target == "cuda":
        return _run_on_gpu(options, script)

    try:
        result = launch(
            script.entry(options.main),
            ranks=options.ranks,
            target=options.target,
            seed=options.seed or 0,
            policy=options.policy or POLICIES[0],
            trace=bool(options.trace or options.timeline),
            check=_kinds(options) if options.check else None,
            schedule=options.schedule,
            max_steps=options.max_steps,
            timeout=options.timeout,
        )
    except (SimulationError, CompileError) as error:
        for _, raised in getattr(error, "raised", []):
            traceback.print_exception(raised.with_traceback(users_traceback(raised)))
        print(error, file=sys.stderr)
        rules = hint(r["message"] for r in getattr(error, "reports", []))
        print(*([rules] if rules else []), f"replay: {_replay(options, script)}", sep="\n", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tandem: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        if isinstance(error, BrokenPipeError) and _nobody_reads():
            raise
        traceback.print_exception(error.with_traceback(user_frames(error.__traceback__)))
        return 1
    if options.timeline:
        print(result.timeline(), end="")
    if not options.main:
        script.tell_forgotten_main()
    if options.trace:
        try:
            result.write_trace(options.trace)
        except OSError as error:
            raise SystemExit(f"tandem: cannot write {options.trace}: {error.strerror}") from None
    return 0


def _replay(options, script):
    return replay_command(
        script,
        options.ranks,
        check=_kinds(options) if options.check else check_default(),
        seed=options.seed or 0,
        policy=options.policy or POLICIES[0],
        schedule=options.schedule,
        compat=options.compat,
        main=options.main,
        max_steps=options.max_steps,
        timeout=options.timeout,
    )


def _run_on_gpu(options, script):
    """One rank in this process, several in a process each."""
    if options.transport:
        os.environ[TRANSPORT] = options.transport
    if not options.trace and not options.timeline:
        return _run_ranks_on_gpus(options, script)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.abspath(options.trace or os.path.join(folder, "trace.json"))
        return _tell_trace(_run_traced(options, script, path), options, path)


def _run_traced(options, script, path):
    try:
        with open(path, "w"):  # a run before leaves nothing in it
            pass
    except OSError as error:
        raise SystemExit(f"tandem: cannot write {options.trace}: {error.strerror}") from None
    os.environ[TRACE] = path
    return _run_ranks_on_gpus(options, script)


def _tell_trace(code, options, path):
    if os.path.getsize(path) == 0:
        os.unlink(path)
        if code == 0:
            print("tandem: there is no trace: the script has not called tandem.init()", file=sys.stderr)
        return code or 1
    if options.timeline:
        print(TraceFile(path).timeline(), end="")
    return code


def _run_ranks_on_gpus(options, script):
    if options.ranks == 1:
        if options.wait_timeout is not None:
            os.environ[WAIT_TIMEOUT] = str(options.wait_timeout)
        try:
            if place_in(os.environ) is None:
                os.environ[RENDEZVOUS] = f"tandem-{os.getpid()}-{secrets.token_hex(8)}"
            _tandem.gpu_devices()
        except RuntimeError as error:
            print(error, file=sys.stderr)
            return 1
        return run_script(script, options.main)
    try:
        check_devices(options.ranks)
    except RuntimeError as error:
        print(f"tandem: {error}", file=sys.stderr)
        return 1
    flags = [*(["--compat"] if options.compat else []), *(["--main"] if options.main else [])]
    command = [sys.executable, "-m", "tandem.rank_process", *flags, options.script, *options.arguments]
    return run_processes(command, options.ranks, options.wait_timeout)


def _refuse_in_run(parser, options):
    if options.schedule is not None and (options.seed is not None or options.policy is not None):
        parser.error("`--schedule` says what runs next: `--seed` and `--policy`, which choose it, do not go with it")
    if not options.check and (not options.scope or options.portability):
        parser.error("`--no-scope` and `--portability` say what `--check` looks for: they need it")
    if options.target == "sim":
        for name, value in {"--wait-timeout": options.wait_timeout, "--transport": options.transport}.items():
            if value is not None:
                parser.error(f"`{name}` is of ranks on GPUs: it needs `--target cuda`")
    else:
        for name, value in {
            "--check": options.check or None,
            "--seed": options.seed,
            "--policy": options.policy,
            "--schedule": options.schedule,
            "--max-steps": options.max_steps,
            "--timeout": options.timeout,
        }.items():
            if value is not None:
                parser.error(f"`{name}` is the simulator's: only a simulated run has it")


def _refuse_behind_script(parser, options, script):
    """An option of `tandem run` behind the script is the script's; one that the script never names was meant for `tandem run`."""
    known = {f"--{name.replace('_', '-')}" for name in vars(options)}
    for word in (argument.partition("=")[0] for argument in script.arguments):
        if word in known and not script.names(word):
            parser.error(
                f"`{word}` stands behind {script.name}, where options are the script's, and it has none of this name: "
                f"`tandem run {word} ... {script.name}` gives it to the run, `tandem run {script.name} -- {word} ...` to the script"
            )


def _refuse_in_doctor(parser, options):
    if options.ranks is not None and options.profile is None:
        parser.error("`--ranks` is how many GPUs `--profile` measures: it needs `--profile`")


def _tell_prefix():
    folder = prefix()
    if folder is None:
        print("tandem: this package is a build's folder: `cmake --install build --prefix DIR` makes a prefix", file=sys.stderr)
        return 1
    print(folder)
    return 0


def _refuse_combinations(parser, options):
    if options.exhaustive and (options.explore is not None or options.seed is not None):
        parser.error("`--exhaustive` runs every schedule: `--explore` and `--seed`, which choose some, do not go with it")
    if options.limit is not None and not options.exhaustive:
        parser.error("`--limit` ends an exhaustive search: it needs `--exhaustive`; `--explore N` is how many schedules are run without")


def main(arguments=None):
    """Runs a command; returns its exit code."""
    try:
        try:
            return _command(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:  # as after `| head`
        if not _nobody_reads():
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE


def _nobody_reads():
    """Returns true if the reader of the output has gone."""
    poll = select.poll()
    poll.register(sys.stdout.fileno(), 0)
    return any(events & select.POLLERR for _, events in poll.poll(0))


def _command(arguments):
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "run":
        _refuse_in_run(parser, options)
        separated = "--" in (sys.argv[1:] if arguments is None else arguments)
        return _run(options, lambda script: separated or _refuse_behind_script(parser, options, script))
    if options.command == "explain":
        return explain(options.rules)
    if options.command == "trace":
        return show(options)
    if options.command == "doctor":
        _refuse_in_doctor(parser, options)
        return examine(options)
    if options.command == "prefix":
        return _tell_prefix()
    _refuse_combinations(parser, options)
    if options.compat:
        compat.install()
    return check_script(options)


if __name__ == "__main__":
    sys.exit(main())
