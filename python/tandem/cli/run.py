"""`tandem run`: on simulated ranks; on GPUs run_on_gpus.py does it."""

import argparse
import sys
import traceback

from .. import compat
from ..check.checker import replay_command
from ..check.explore import POLICIES
from ..check.rules import hint
from ..errors import CompileError, SimulationError
from ..host.frames import user_frames, users_traceback
from ..host.script import Script, ScriptError, refuses_file
from ..host.session import check_default
from ..session import launch
from .arguments import add_kinds, add_limits, constant, file, kinds, rank_count, seconds_above_0, seed
from .output import nobody_reads
from .run_on_gpus import run_on_gpu


def add(commands, epilog):
    run = commands.add_parser(
        "run", help="run a script once on every rank", epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    run.add_argument("--ranks", type=rank_count, default=1, help="how many ranks (default 1)")
    run.add_argument("--target", default="sim", choices=["sim", "cuda"], help="where to run (default sim)")
    run.add_argument("--seed", type=seed, help="decides schedule and delays (default 0)")
    run.add_argument("--check", action="store_true", help="look for races and misused signals")
    add_kinds(run)
    run.add_argument("--trace", type=file, metavar="FILE", help="write a Perfetto trace")
    run.add_argument("--timeline", action="store_true", help="draw who computed and who waited")
    run.add_argument("--compat", action="store_true", help="resolve `triton` and `triton_dist` imports to Tandem")
    run.add_argument("--policy", choices=POLICIES, help="who runs next (default random)")
    run.add_argument(
        "--wait-timeout", type=seconds_above_0, metavar="SECONDS", help="on GPUs: end the run when a wait lasts longer (default never)"
    )
    run.add_argument(
        "--transport",
        choices=["auto", "nvlink", "nvshmem"],
        help="on GPUs: how kernels reach peers (default auto: NVSHMEM where a GPU cannot reach another)",
    )
    run.add_argument("--schedule", metavar="S", help="instead of seed and policy: choices that an exhaustive check has found, as 0.2.1")
    add_limits(run)
    run.add_argument(
        "--set",
        type=constant,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="where the script assigns a constant to NAME, it gets VALUE: smaller sizes for a simulated run",
    )
    run.add_argument("--main", action="store_true", help="call the script's main(team) instead of running it as __main__")
    run.add_argument("script")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script").required = False


def _run(options, refuse):
    if options.compat:
        compat.install()
    try:
        script = Script(options.script, options.arguments, dict(options.set))
    except ScriptError as error:
        raise SystemExit(str(error)) from None
    refuse(script)
    if options.trace and (reason := refuses_file(options.trace)):
        raise SystemExit(f"tandem: cannot write {options.trace}: {reason}")
    script.install()

    if options.target == "cuda":
        return run_on_gpu(options, script)

    if options.compat:
        compat.give_host_side(script)
    try:
        result = launch(
            script.entry(options.main, _refuses_launch(options, script)),
            ranks=options.ranks,
            target=options.target,
            seed=options.seed or 0,
            policy=options.policy or POLICIES[0],
            trace=bool(options.trace or options.timeline),
            check=kinds(options) if options.check else None,
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
        if isinstance(error, BrokenPipeError) and nobody_reads():
            raise
        traceback.print_exception(error.with_traceback(user_frames(error.__traceback__)))
        if not options.compat and (reason := compat.hint(error)):
            print(f"tandem: {reason}", file=sys.stderr)
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
        check=kinds(options) if options.check else check_default(),
        seed=options.seed or 0,
        policy=options.policy or POLICIES[0],
        schedule=options.schedule,
        compat=options.compat,
        main=options.main,
        max_steps=options.max_steps,
        timeout=options.timeout,
    )


def _refuses_launch(options, script):
    """Says why the script may start no ranks of its own: options are given that those would not have. None if there are none."""
    given = {
        "--ranks": options.ranks != 1,
        "--check": options.check,
        "--trace": options.trace,
        "--timeline": options.timeline,
        "--seed": options.seed is not None,
        "--policy": options.policy,
        "--schedule": options.schedule is not None,
        "--max-steps": options.max_steps,
    }
    words = ", ".join(f"`{name}`" for name, value in given.items() if value)
    instead = "`--main` calls its main(team) on each rank instead" if script.offers_main() else "give them to `tandem.launch` instead"
    return words and f"tandem: {script.name} starts ranks of its own (`tandem.launch`), which do not have {words}: {instead}"


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
            "--set": options.set or None,
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


def execute(parser, options, arguments):
    _refuse_in_run(parser, options)
    separated = "--" in (sys.argv[1:] if arguments is None else arguments)
    return _run(options, lambda script: separated or _refuse_behind_script(parser, options, script))
