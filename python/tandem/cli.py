"""The `tandem` command."""

import argparse
import os
import sys
import traceback

EPILOG = """examples:
  tandem run --ranks 4 script.py            run an SPMD script on 4 simulated ranks; it calls team = tandem.init()
  tandem run --ranks 8 --seed 3 script.py   another schedule and other delays; the same seed gives the same run
  tandem run --compat old.py                `import triton` and `import triton_dist` mean Tandem
  tandem run --check script.py              look for races and misused signals: both lines and the missing order
  tandem run --trace t.json script.py       also write a timeline for ui.perfetto.dev
  tandem run --target cuda --compat old.py  run a script on the GPU: kernels that are given CUDA arrays
"""


def _rank_count(text):
    count = int(text)
    if not 1 <= count <= 1024:
        raise argparse.ArgumentTypeError("ranks are 1 to 1024")
    return count


def _parser():
    parser = argparse.ArgumentParser(prog="tandem", description="Run kernels that compute and communicate on simulated ranks.",
                                     epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    run = commands.add_parser("run", help="run a script once on every rank", epilog=EPILOG,
                              formatter_class=argparse.RawDescriptionHelpFormatter)
    run.add_argument("--ranks", type=_rank_count, default=1, help="how many ranks (default 1)")
    run.add_argument("--target", default="sim", choices=["sim", "cuda"], help="where to run (default sim)")
    run.add_argument("--seed", type=int, default=0, help="decides schedule and delays (default 0)")
    run.add_argument("--check", action="store_true", help="look for races and misused signals")
    run.add_argument("--trace", metavar="FILE", help="write a Perfetto trace")
    run.add_argument("--timeline", action="store_true", help="draw who computed and who waited")
    run.add_argument("--compat", action="store_true", help="resolve `triton` and `triton_dist` imports to Tandem")
    run.add_argument("script")
    run.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    return parser


def _run(options):
    import tandem
    from .session import _user_frames
    if options.compat:
        from . import compat
        compat.install()
    path = os.path.abspath(options.script)
    try:
        with open(path, "rb") as file:
            code = compile(file.read(), path, "exec")
    except OSError as error:
        raise SystemExit(f"tandem: cannot read {options.script}: {error.strerror}")
    except SyntaxError as error:
        raise SystemExit("".join(traceback.format_exception_only(error)).rstrip())
    except ValueError as error:
        raise SystemExit(f"tandem: {options.script} is no Python script: {error}")
    if options.trace and not os.path.isdir(os.path.dirname(os.path.abspath(options.trace))):
        raise SystemExit(f"tandem: cannot write {options.trace}: no such directory")
    sys.argv = [options.script, *options.arguments]
    sys.path.insert(0, os.path.dirname(path))

    if options.target == "cuda":
        return _run_on_gpu(options, code, path)

    def main(team):
        # Each rank has its own module globals; imported modules are shared by the ranks.
        exec(code, {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__})

    try:
        result = tandem.launch(main, ranks=options.ranks, target=options.target, seed=options.seed,
                               trace=bool(options.trace or options.timeline), check=options.check or None)
    except (tandem.SimulationError, tandem.CompileError) as error:
        print(error, file=sys.stderr)
        print(f"replay: tandem run --ranks {options.ranks} --seed {options.seed} {options.script}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tandem: interrupted", file=sys.stderr)
        return 130
    except Exception as error:
        traceback.print_exception(error.with_traceback(_user_frames(error.__traceback__)))
        return 1
    if options.trace:
        result.write_trace(options.trace)
    if options.timeline:
        print(result.timeline(), end="")
    return 0


def _run_on_gpu(options, code, path):
    """Once, in this process, with no ranks around it."""
    from . import _tandem
    from .errors import CompileError
    if options.ranks != 1 or options.trace or options.timeline:
        raise SystemExit("tandem: `--ranks`, `--trace` and `--timeline` are the simulator's; with --target cuda the script runs once")
    try:
        _tandem.gpu_devices()
        exec(code, {"__name__": "__main__", "__file__": path, "__builtins__": __builtins__})
    except (CompileError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and not str(error).startswith("no NVIDIA GPU"):
            raise
        print(error, file=sys.stderr)
        return 1
    return 0


def main(arguments=None):
    return _run(_parser().parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
