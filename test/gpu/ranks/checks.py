"""Checks of runs on GPU ranks: the simulator's results, by threads and by processes; the examples; endings; PyTorch."""

import importlib.util
import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import endings
import frameworks
import numpy as np
import products
import programs
import tandem
from tandem.gpu import nvshmem

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PACKAGE = pathlib.Path(tandem.__file__).parent.parent
WAIT_SECONDS = 20
KERNEL_FILES = ("test_put_get_signal", "test_allgather", "test_barriers")
CASES_OF_A_FUNCTION = 6

CHECKS = {}


def environment():
    return {**os.environ, "PYTHONPATH": f"{PACKAGE}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


def tandem_run(ranks, *words, seconds=60):
    """(exit code, output, errors, seconds) of `tandem run` on GPU ranks."""
    command = [sys.executable, "-m", "tandem", "run", "--target", "cuda", "--ranks", str(ranks), *map(str, words)]
    started = time.monotonic()
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=seconds)
    return done.returncode, done.stdout, done.stderr, time.monotonic() - started


def on_gpus(main, ranks, **options):
    return tandem.launch(main, ranks=ranks, target="cuda", wait_timeout=WAIT_SECONDS, **options).values


def same(found, wanted, name):
    for rank, (here, there) in enumerate(zip(found, wanted, strict=True)):
        np.testing.assert_array_equal(here, there, err_msg=f"{name}, rank {rank}: differs from the simulator's")


def _program(program):
    return lambda ranks: same(on_gpus(program, ranks), tandem.launch(program, ranks=ranks).values, program.__name__)


def processes(ranks, transport="auto"):
    """All programs by `tandem run`, one process a rank."""
    with tempfile.TemporaryDirectory() as folder:
        code, _, errors, _ = tandem_run(ranks, "--transport", transport, "--wait-timeout", WAIT_SECONDS, HERE / "worker.py", folder)
        assert code == 0, errors
        kept = [np.load(pathlib.Path(folder) / f"{rank}.npz") for rank in range(ranks)]
        for program in programs.PROGRAMS:
            same([k[program.__name__] for k in kept], tandem.launch(program, ranks=ranks).values, program.__name__)


def _module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _example(path):
    return lambda ranks: on_gpus(_module(path).main, ranks)


def _cases_of(function):
    """The keyword arguments of a test's parametrizations, evenly some of them."""
    marks = [m for m in getattr(function, "pytestmark", []) if m.name == "parametrize"]
    axes = []
    for mark in marks:
        names = [n.strip() for n in mark.args[0].split(",")] if isinstance(mark.args[0], str) else list(mark.args[0])
        axes.append([dict(zip(names, values if len(names) > 1 else (values,))) for values in mark.args[1]])
    cases = [dict(item for part in parts for item in part.items()) for parts in itertools.product(*axes)]
    return cases[:: max(1, len(cases) // CASES_OF_A_FUNCTION)]


def _kernel_test(function, case):
    def check(ranks):
        def everywhere(main, *args, ranks=None, seeds=None, **options):
            on_gpus(main, count, args=args)

        count = ranks
        function(everywhere, **case)

    return check


def _kernel_tests():
    """Tests of test/kernels that run one program everywhere: here everywhere is the GPUs."""
    import tandem.compat

    tandem.compat.install()
    for stem in KERNEL_FILES:
        for name, function in vars(_module(ROOT / "test" / "kernels" / f"{stem}.py")).items():
            if "multicast" in name:  # the runtime sets up no multicast memory
                continue
            if name.startswith("test_") and "everywhere" in function.__code__.co_varnames[: function.__code__.co_argcount]:
                for case in _cases_of(function):
                    label = ",".join(str(getattr(v, "value", v)) for v in case.values())
                    yield f"kernels.{stem[5:]}.{name[5:]}[{label}]", _kernel_test(function, case)


def load_all():
    CHECKS.update({f"threads.{p.__name__}": _program(p) for p in programs.PROGRAMS + programs.ON_TEAMS})
    CHECKS["processes.programs"] = processes
    if nvshmem.find():
        CHECKS["processes.through_nvshmem"] = lambda ranks: processes(ranks, "nvshmem")
    else:
        print("left out: processes.through_nvshmem (NVSHMEM is not installed)")
    for path in sorted((ROOT / "examples").glob("*.py")):
        if not path.stem.startswith("test_"):
            CHECKS[f"examples.{path.stem}"] = _example(path)
    CHECKS.update(endings.CHECKS)
    CHECKS.update(frameworks.CHECKS)
    CHECKS.update(products.CHECKS)
    for path in sorted((ROOT / "ops").glob("*/test/gpu.py")):
        CHECKS.update(_module(path).CHECKS)
    CHECKS.update(_kernel_tests())
    return CHECKS
