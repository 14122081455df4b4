"""`tandem run --target cuda`."""

import os
import secrets
import sys
import tempfile

from .. import _tandem
from ..gpu.process import RENDEZVOUS, TRACE, TRANSPORT, WAIT_TIMEOUT, place_in
from ..gpu.session import check_devices
from ..gpu.spawn import run_processes
from ..rank_process import run_script
from ..trace.trace_file import TraceFile


def run_on_gpu(options, script):
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
        return run_script(script, options.main, options.compat)
    try:
        check_devices(options.ranks)
    except RuntimeError as error:
        print(f"tandem: {error}", file=sys.stderr)
        return 1
    flags = [*(["--compat"] if options.compat else []), *(["--main"] if options.main else [])]
    command = [sys.executable, "-m", "tandem.rank_process", *flags, options.script, *options.arguments]
    return run_processes(command, options.ranks, options.wait_timeout)
