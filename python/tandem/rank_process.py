"""Runs a script on one GPU rank: `tandem run --target cuda` starts `python -m tandem.rank_process` for each rank."""

import argparse
import ctypes
import os
import signal
import sys
import traceback

from . import compat
from .errors import CompileError, RunError
from .gpu import process
from .gpu.process import STOPPED_BY_ANOTHER
from .host.frames import user_frames
from .host.script import Script, ScriptError
from .session import init

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def run_script(script, call_main, in_compat):
    """Runs the script as this process's rank; returns the exit code. Errors go to stderr."""
    place = process.place_in(os.environ)
    try:
        if in_compat:
            compat.give_host_side_on_gpu(script)
        if call_main:
            script.main()(init())
        else:
            script.run()
            if place is None or place.rank == 0:
                script.tell_forgotten_main()
        process.leave()
    except SystemExit as leaving:
        return _after_exit(leaving)
    except KeyboardInterrupt:
        process.fail("interrupted")
        return 130
    except CompileError as error:
        process.fail("a kernel does not compile")
        print(error, *getattr(error, "__notes__", []), sep="\n", file=sys.stderr)
        return 1
    except RunError as error:
        process.fail("the run ended")
        return _tell_run_error(error, place.rank if place else 0)
    except Exception as error:
        process.fail(f"{type(error).__name__}: {error}")
        return _tell(error, place)
    return 0


def _after_exit(leaving):
    """The exit code of a script that calls sys.exit."""
    code = leaving.code
    if code in (None, 0):
        process.leave()
        return 0
    process.fail(f"it exits with {code}")
    if isinstance(code, int):
        return code
    print(code, file=sys.stderr)
    return 1


def _tell_run_error(error, rank):
    """One rank tells a report that all ranks raise: the one it is about."""
    first = next(r for r in error.reports if r["severity"] == "error")
    if first["rank"] == rank or (first["rank"] < 0 and rank == 0):
        print(error, file=sys.stderr)
        return 1
    print(f"tandem: rank {rank} ended: {first['message']}", file=sys.stderr)
    return STOPPED_BY_ANOTHER


def _tell(error, place):
    text = str(error)
    if isinstance(error, RuntimeError) and (
        "GPUs, this machine has" in text or "GPU, this machine has" in text or text.startswith("no NVIDIA GPU")
    ):
        print(f"tandem: {text}", file=sys.stderr)
        return 1
    if place and place.ranks > 1:
        error.add_note(f"raised on rank {place.rank} of {place.ranks}")
    traceback.print_exception(error.with_traceback(user_frames(error.__traceback__)))
    return 1


def main():
    parser = argparse.ArgumentParser(prog="tandem run", description=__doc__)
    parser.add_argument("--compat", action="store_true")
    parser.add_argument("--main", action="store_true")
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if options.compat:
        compat.install()
    try:
        script = Script(options.script, options.arguments)
    except ScriptError as error:
        print(error, file=sys.stderr)
        return 1
    script.install()
    return run_script(script, options.main, options.compat)


if __name__ == "__main__":
    sys.exit(main())
