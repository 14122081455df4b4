"""Compares the machine code of Tandem and Triton where there is no GPU:
python bench/corpus/machine.py [--libraries FOLDER] [--only TEXTS]     the launches of cases, of libraries that are on no list
python bench/corpus/machine.py --files FOLDER [--only TEXTS]           every kernel of a folder's files, with guessed arguments

Needs PyTorch, of which a build for the CPU is enough, Triton with the tools in its wheel, and the libraries' Python files (fetch.py --list
unlisted). A line for each kernel, the worst first: Tandem's numbers and Triton's, then by which of them the kernel looks worse. Of a tuned
kernel the first configuration is compiled. `--json` also writes all numbers. These are reasons to look at a kernel; which code is quicker
only a GPU says.
"""

import argparse
import contextlib
import io
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

import guess
import sass

HERE = pathlib.Path(__file__).parent
SECONDS = 90  # for each kernel
SHOWN = ("registers", "warps", "blocks", "local", "shared", "instructions", "wgmma", "mma", "cp.async", "tma", "barriers", "spills")
SHOWN += ("all instructions", "all barriers", "bytes an access", "shared accesses", "loads under way", "seconds")


def read(cubin, tool, warps=4):
    """The numbers of a kernel's machine code."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        uses, text = (
            subprocess.run([tool, option, file.name], capture_output=True, text=True, check=True).stdout
            for option in ("-res-usage", "-sass")
        )
    registers, local = map(int, re.search(r"REG:(\d+) STACK:(\d+)", uses).groups())
    code = sass.instructions(text)
    loop, all_ = sass.counts(sass.hot_loop(code)), sass.counts(code)
    loop["tma"] = all_["tma"]  # a producer's loop multiplies nothing
    return {
        "registers": registers,
        "warps": warps,
        "blocks": min(2048 // (32 * warps), (1 << 16) // (-(-registers // 8) * 8 * 32 * warps)),
        "local": local,
        "all instructions": all_["instructions"],
        "all barriers": all_["barriers"],
        "weighted": sass.weighted(code),
        "loads under way": sass.loads_under_way(code),
        **{f"{name} accesses" if name == "shared" else name: n for name, n in loop.items()},
    }


def reasons(ours, triton):
    """{what: how many times as much}, of what looks worse in the first code."""
    if bool(ours["products"]) != bool(triton["products"]):
        return {"products": 2.0} if triton["products"] else {}
    more = ours["instructions"] / triton["instructions"]
    if ours["products"]:  # one compiler may unroll
        found = {"instructions of a loop": min(more, more * triton["products"] / ours["products"])}
    else:
        found = {"instructions": ours["weighted"] * ours["warps"] / (triton["weighted"] * triton["warps"])}
    found["spills"] = 1 + 4 * max(0, ours["spills"] - triton["spills"]) / triton["instructions"]
    found["local memory"] = 1.2 if ours["local"] > triton["local"] + 64 else 1.0
    found["no wgmma"] = 2.0 if triton["wgmma"] and not ours["wgmma"] else 1.0
    found["nothing copied ahead"] = 1.5 if triton["cp.async"] + triton["tma"] and not ours["cp.async"] + ours["tma"] else 1.0
    found["narrow accesses"] = min(2.0, triton["bytes an access"] / ours["bytes an access"]) if ours["bytes an access"] else 1.0
    found["barriers"] = 1 + 0.1 * max(ours["barriers"] - triton["barriers"], (ours["all barriers"] - triton["all barriers"]) / 4)
    held = [min(32, side["blocks"] * side["warps"]) for side in (triton, ours)]
    found["warps"] = held[0] / max(1, held[1])
    if not ours["products"]:
        found["loads wait"] = min(1.5, (triton["loads under way"] + 1) / (ours["loads under way"] + 1))
    return {name: round(value, 2) for name, value in found.items() if value > 1.05}


def of_cases(side, options):
    """{case: [[kernel, numbers]]} of one compiler, which this process imports as `triton`."""
    import case

    case.load(options.libraries, options.cases.split(","))
    launches = launches_of(side, options)
    rows = {}
    for name, row in case.CASES.items():
        if not any(word in name for word in options.only.split(",")):
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                case.Run(row, row.inputs(case.Make("check")), row.function)()
        except Exception as error:
            print(f"{name}, {side}: its launches end early: {type(error).__name__}: {str(error).strip()[:200]}", file=sys.stderr)
        rows[name] = list(launches())
    return rows


def of_files(side, options):
    """The same of a folder's files, a case each. Triton's side finds the guess by which a kernel compiles, and gives its number with the
    kernel's; Tandem's gets them by `options.guessed`."""
    tasks = []
    for path in sorted(options.files.rglob("*.py")):
        text = path.read_text(errors="ignore")
        if "triton" not in text or "jit" not in text or not any(word in str(path) for word in options.only.split(",")):
            continue
        try:
            names, functions = guess.kernels(text)
        except SyntaxError:
            continue
        tasks += [(path, name) for name, f in names.items() if guess.pointers(f, functions)]
    if options.guessed:
        guessed = json.loads(options.guessed.read_text())
        known = {(case, kernel): numbers["guess"] for case, rows in guessed.items() for kernel, numbers in rows if "guess" in numbers}
        tasks = [task for task in tasks if _label(task, options) in known]
    rows = {}
    for task, numbers in forked(
        tasks, lambda task: of_kernel(side, task, known[_label(task, options)] if options.guessed else None, options)
    ):
        case, kernel = _label(task, options)
        rows.setdefault(case, []).append([kernel, numbers])
    return rows


def _label(task, options):
    return str(task[0].relative_to(options.files)), task[1]


def of_kernel(side, task, number, options):
    """The numbers of one kernel of a file, launched by the guess of that number, or by the first that compiles."""
    import stand_ins
    import torch

    path, name = task
    launches = launches_of(side, options)
    names, functions = guess.kernels(path.read_text(errors="ignore"))
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        module = stand_ins.load(options.files, path)
    kernel = getattr(module, name)
    chosen, inner = set(), kernel
    while type(inner).__name__ in ("Autotuner", "Heuristics"):
        chosen |= inner.configs[0].kwargs.keys() if hasattr(inner, "configs") else inner.values.keys()
        inner = inner.fn
    why = "no guess"
    kinds = {"fp16": torch.float16, "fp32": torch.float32, "i32": torch.int32, "i1": torch.bool}
    import triton.language as tl

    for i, values in enumerate(guess.guesses(names[name], functions, chosen)):
        if number not in (None, i):
            continue
        given = {}
        for parameter, value in values.items():
            text = value if isinstance(value, str) else ""
            given[parameter] = (
                torch.empty(64, dtype=kinds[text[1:]]) if text[:1] == "*" else getattr(tl, text[3:]) if text[:3] == "tl." else value
            )
        start = os.times()
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                kernel[(1, 1, 1)](**given)
                found = list(launches())
        except Exception as error:
            why = f"{type(error).__name__}: {str(error).strip()[-300:]}"
            continue
        spent = sum(os.times()[:4]) - sum(start[:4])
        if found:
            return {"guess": i, "seconds": round(spent, 2), **found[0][1]}
    return {"failed": why}


def forked(tasks, work):
    """Yields each task with what `work` gives for it in a process of its own."""
    fork, waiting, running = multiprocessing.get_context("fork"), list(reversed(tasks)), {}

    def run(pipe, task):
        os.setsid()  # a late one ends with the assemblers that it has begun
        try:
            pipe.send(work(task))
        except BaseException as error:
            pipe.send({"failed": f"{type(error).__name__}: {str(error).strip()[:300]}"})
        os._exit(0)

    while waiting or running:
        while waiting and len(running) < os.cpu_count():
            task, (ours, theirs) = waiting.pop(), fork.Pipe(False)
            process = fork.Process(target=run, args=(theirs, task))
            process.start()
            theirs.close()
            running[ours] = (task, process, time.monotonic())
        ready = set(multiprocessing.connection.wait(list(running), timeout=1))
        for pipe in list(running):
            task, process, start = running[pipe]
            late = time.monotonic() - start > SECONDS
            if pipe not in ready and not late:
                continue
            try:
                result = pipe.recv() if pipe in ready else {"failed": f"not within {SECONDS} s"}
            except EOFError:
                result = {"failed": "crash"}
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.join()
            del running[pipe]
            yield task, result


def launches_of(side, options):
    return (tandem_launches if side == "tandem" else triton_launches)(options)


def tandem_launches(options):
    import under_tandem
    from tandem import _tandem

    launches = under_tandem.Launches(options.configs)

    def taken():
        for request, label in launches.take().items():
            try:
                handle = _tandem.gpu_compile(request)
            except RuntimeError as error:
                yield label.split()[0], {"failed": str(error).strip()[:200]}
                continue
            info = json.loads(_tandem.gpu_kernel_info(handle))
            code = read(_tandem.gpu_kernel_cubin(handle), options.tool, info["threads"] // 32)
            yield label.split()[0], {"shared": info["shared_bytes"], **code}

    return taken


def triton_launches(options):
    import under_triton

    launches = under_triton.Launches(options.configs)
    return lambda: [
        (name, {"shared": k.metadata.shared, **read(k.asm["cubin"], options.tool, k.metadata.num_warps)}) for name, k in launches.take()
    ]


def paired(ours, theirs):
    """[(case, kernel, numbers of Tandem's, of Triton's)]: kernels of one name in the order of their launches."""
    for name, kernels in ours.items():
        left = [list(row) for row in theirs.get(name, [])]
        for kernel, numbers in kernels:
            match = next((row for row in left if row[0] == kernel), None)
            if match:
                left.remove(match)
            yield name, kernel, numbers, match[1] if match else None


def table(rows):
    lines = []
    for name, kernel, ours, triton in rows:
        if "failed" in ours:
            lines.append((float("inf"), f"{name} {kernel}: does not compile: {ours['failed']}"))
        elif triton:
            why = reasons(ours, triton)
            worse = max(why.values(), default=1.0)
            numbers = "  ".join(f"{w} {ours.get(w, '')}/{triton.get(w, '')}" for w in SHOWN if ours.get(w) or triton.get(w))
            named = ", ".join(f"{what} {times}" for what, times in sorted(why.items(), key=lambda row: -row[1]))
            lines.append((worse, f"{worse:5.2f}  {name} {kernel}: {numbers}" + (f"  [{named}]" if named else "")))
    return [line for _, line in sorted(lines, key=lambda row: -row[0])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", type=pathlib.Path, default=HERE / ".unlisted")
    parser.add_argument("--files", type=lambda text: pathlib.Path(text).resolve(), help="a folder with files of kernels, in place of cases")
    parser.add_argument("--cases", default="unlisted", help="the modules with cases, between commas")
    parser.add_argument("--only", default="", help="texts, one of which the name of a case or a file must hold, between commas")
    parser.add_argument("--configs", type=int, default=1, help="configurations of a tuned kernel")
    parser.add_argument("--json", type=pathlib.Path, help="a file for all numbers of both sides")
    parser.add_argument("--side", choices=("tandem", "triton"), help="print the numbers of one compiler as JSON")
    parser.add_argument("--guessed", type=pathlib.Path, help="the numbers of Triton's side, for Tandem's of files")
    parser.add_argument("--tool", help="cuobjdump; without it, the one in Triton's wheel")
    options = parser.parse_args()
    if options.side:
        if options.side == "tandem":
            import tandem.compat

            tandem.compat.install()
        import without_gpu

        without_gpu.pretend()
        print(json.dumps((of_files if options.files else of_cases)(options.side, options)))
        return
    if not options.tool:
        import triton

        options.tool = str(pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump")
    os.environ |= {"TANDEM_CACHE": "0", "TANDEM_TARGET": "sm_90a", "TORCHDYNAMO_DISABLE": "1", "TRITON_ALWAYS_COMPILE": "1"}

    def numbers_of(side, *more):
        command = [sys.executable, __file__, *sys.argv[1:], "--tool", options.tool, "--side", side, *more]
        return json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    theirs = numbers_of("triton")
    with tempfile.NamedTemporaryFile("w", suffix=".json") as guessed:
        json.dump(theirs, guessed)
        guessed.flush()
        ours = numbers_of("tandem", *(["--guessed", guessed.name] if options.files else []))
    rows = list(paired(ours, theirs))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))
    print("\n".join(table(rows)))
    if options.files:
        tried = [numbers for kernels in theirs.values() for _, numbers in kernels]
        print(f"{len(tried)} kernels; no guess compiles under Triton for {sum('failed' in numbers for numbers in tried)}")


if __name__ == "__main__":
    main()
