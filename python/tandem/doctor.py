"""The command `tandem doctor` says what works on this machine: the features of its GPUs that ranks will use, and their speed."""

import glob
import importlib.util
import json
import os
import pathlib
import sys

from . import _tandem
from .gpu import nvshmem
from .tune.machine_profile import default_path, profile, read_profile
from .tune.measure import measure
from .tune.tuning_cache import cache_folder

_LETTERS = {(True, True): "A", (True, False): "x", (False, False): ".", (False, True): "."}


def find_ptxas(environment=os.environ):
    """The assembler that the compiler takes; None when the driver compiles the PTX. In the compiler's order of places."""
    if named := environment.get("TANDEM_PTXAS"):
        return named if os.path.isfile(named) else None
    folders = [f for f in environment.get("PATH", "").split(":") if f]
    roots = [
        environment.get("CUDA_HOME"),
        environment.get("CUDA_PATH"),
        "/usr/local/cuda",
        *sorted(glob.glob("/usr/local/cuda-*"))[::-1],
        "/usr/lib/cuda",
        "/usr/lib/nvidia-cuda-toolkit",
    ]
    folders += [f"{root}/bin" for root in roots if root]
    for packages in environment.get("TANDEM_SITE_PACKAGES", "").split(":"):
        folders += [f"{packages}/{f}" for f in ("nvidia/cuda_nvcc/bin", "nvidia/cu13/bin", "triton/backends/nvidia/bin") if packages]
    return next((f"{f}/ptxas" for f in folders if os.path.isfile(f"{f}/ptxas")), None)


def _ptxas_text(without, environment=os.environ):
    named = environment.get("TANDEM_PTXAS")
    found = find_ptxas(environment)
    return found or (f"none: TANDEM_PTXAS names {named}, which is no file" if named else without)


def _text(answer):
    """An answer of the probe as words."""
    if isinstance(answer, dict) and "error" in answer:
        return f"not known ({answer['error']})"
    return {True: "yes", False: "no"}.get(answer, str(answer)) if isinstance(answer, bool) else str(answer)


def _bytes(count):
    for unit in ("bytes", "KiB", "MiB"):
        if count < 1024:
            return f"{count:g} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def _one_line(devices, key, show=_text):
    """The answers of all devices, once when they agree."""
    answers = [show(d[key]) for d in devices]
    if len(set(answers)) == 1:
        return answers[0]
    return "; ".join(f"GPU {d['index']}: {a}" for d, a in zip(devices, answers))


def _matrix(peers):
    yield "     " + "".join(f"{to:>3}" for to in range(len(peers)))
    for row, answers in enumerate(peers):
        cells = ["-" if a is None else _LETTERS.get((a["access"] == 1, a["atomics"] == 1)) for a in answers]
        yield f"{row:>5}" + "".join(f"{c:>3}" for c in cells)


def _all_reach(peers):
    return all(a is None or a["access"] == 1 for row in peers for a in row)


def heap_of(devices, peers):
    """Says how the symmetric heap will be shared; None if the GPUs cannot reach each other."""
    if len(devices) > 1 and not _all_reach(peers):
        return None
    if all(d["virtual_memory"] is True and d["exports_descriptors"] is True for d in devices):
        return "mapped from POSIX file descriptors (VMM)"
    return "by legacy IPC handles, in one piece"


def nvshmem_of(peers, environment=os.environ, packages=None):
    """Says if NVSHMEM is there, and which pairs of GPUs would go through it."""
    folder = nvshmem.find(environment, packages)
    found = "not found (`nvidia-nvshmem-cu13`, TANDEM_NVSHMEM)"
    if folder:
        found = f"{nvshmem.version(folder) or 'of unknown version'} in {folder}"
    pairs = [f"{a}-{b}" for a in range(len(peers)) for b in range(a + 1, len(peers)) if 0 in (peers[a][b]["access"], peers[b][a]["access"])]
    return f"{found}; GPUs {', '.join(pairs)} reach each other only through it" if pairs else f"{found}; not needed"


def _ranks_line(devices, peers):
    if len(devices) == 1:
        return "1 (one GPU)"
    heap = heap_of(devices, peers)
    if heap is None:
        return "not all GPUs reach each other: name a set that does with `devices=`"
    return f"up to {len(devices)}"


def report(found):
    """Returns the lines of the report."""
    devices, peers = found["devices"], found["peers"]
    yield f"driver         CUDA {found['driver']}"
    for d in devices:
        what = [d["name"], d["target"], f"{d['multiprocessors']} multiprocessors", _bytes(d["memory_bytes"])] if "name" in d else [_text(d)]
        yield f"GPU {d['index']:<10} {', '.join([*what, _text(d['pci'])])}"
    if not devices:
        return
    if len(devices) > 1:
        yield "peer access    A: with native atomics, x: without, .: none"
        yield from _matrix(peers)
        for answer in (a for row in peers for a in row if a):
            if isinstance(answer["access"], dict):
                yield f"               {_text(answer['access'])}"
                break
    yield f"virtual memory {_one_line(devices, 'virtual_memory')}"
    yield f"descriptors    offered {_one_line(devices, 'posix_descriptors')}, exported {_one_line(devices, 'exports_descriptors')}"
    yield f"granularity    {_one_line(devices, 'granularity', lambda a: _bytes(a) if isinstance(a, int) else _text(a))}"
    yield f"multicast      offered {_one_line(devices, 'multicast')}; not used"
    yield f"symmetric heap {heap_of(devices, peers) or 'none'}"
    yield "signals        stream memory operations, stores and atomics of kernels"
    yield f"NVSHMEM        {nvshmem_of(peers)}"
    yield f"ptxas          {_ptxas_text('none: the driver compiles the PTX')}"
    yield f"cache          {cache_folder() or 'none (TANDEM_CACHE=0, or no $HOME)'}"
    yield f"profile        {_profile_line()}"
    yield f"ranks          {_ranks_line(devices, peers)}"


def report_without_gpu(missing, environment=os.environ):
    """Returns the lines of the report on a machine without a GPU; `missing` says why there is none."""
    torch = importlib.util.find_spec("torch") is not None
    folder = nvshmem.find(environment)
    yield f"tandem         {_tandem.version()} in {pathlib.Path(__file__).parent}"
    yield f"GPU            none: {missing}"
    yield "works here     simulated ranks and the checker (tandem run, tandem check), compiling kernels to PTX (tandemc)"
    yield "needs a GPU    --target cuda, timings, tandem doctor --profile"
    yield f"ptxas          {_ptxas_text('none: kernels are compiled to PTX, not to machine code', environment)}"
    yield f"cache          {cache_folder() or 'none (TANDEM_CACHE=0, or no $HOME)'}"
    yield f"NVSHMEM        {nvshmem.version(folder) or 'of unknown version' if folder else 'not found'}; only runs on GPUs use it"
    yield f"PyTorch        {'found' if torch else 'not found: tandem.torch needs it, nothing else does'}"


def _profile_line():
    path = default_path()
    if path is None or not path.exists():
        return "none: defaults are used (`tandem doctor --profile` measures)"
    try:
        read_profile(path)
    except (OSError, ValueError) as error:
        return f"defaults are used: {error}"
    return f"{path}" if profile().measured else f"{path} is of other GPUs: defaults are used"


def examine(options):
    """Runs the command; gives its exit code. Without a GPU simulated ranks work, so that only a measurement fails."""
    found = json.loads(_tandem.gpu_probe())
    missing = found.get("error") or (None if found["devices"] else "no NVIDIA GPU: the driver shows none")
    for line in report_without_gpu(missing) if missing else report(found):
        print(line)
    if options.profile is None:
        return 0
    if missing:
        print("tandem: there is no GPU that `--profile` could measure", file=sys.stderr)
        return 1
    return _measure(options, len(found["devices"]))


def _measure(options, count):
    path = pathlib.Path(options.profile) if options.profile else default_path()
    if path is None:
        print("tandem: there is no cache directory (TANDEM_CACHE=0, or no $HOME) for the profile: name a file", file=sys.stderr)
        return 1
    try:
        numbers = measure(min(count, options.ranks or count), print)
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f"{path.name}.{os.getpid()}.tmp")  # readers see the old profile or the new one
        beside.write_text(json.dumps(numbers, indent=1) + "\n")
        os.replace(beside, path)
    except (RuntimeError, OSError) as error:
        print(f"tandem: {error}", file=sys.stderr)
        return 1
    print(f"profile        {path}")
    return 0
