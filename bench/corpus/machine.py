"""Compares the machine code of Tandem and Triton for kernels of libraries that are on no list, where there is no GPU:
python bench/corpus/cliffs.py [--libraries FOLDER] [--only TEXTS]

Needs PyTorch, of which a build for the CPU is enough, Triton with the tools in its wheel, and the libraries' Python files (fetch.py --list
unlisted). A line for each kernel, the worst first: registers, bytes of local memory, bytes of shared memory, and of the innermost loop
that multiplies most the instructions, wgmma, mma.sync, cp.async, TMA copies, barriers and accesses to local memory, Tandem's and
Triton's. Of a tuned kernel the first configuration is compiled. These are reasons to look at a kernel; which code is quicker only a GPU
says.
"""

import argparse
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import sass

HERE = pathlib.Path(__file__).parent
SHOWN = ("registers", "local", "shared", "instructions", "wgmma", "mma", "cp.async", "tma", "barriers", "spills")


def read(cubin, tool):
    """The numbers of a kernel's machine code."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        uses, text = (
            subprocess.run([tool, option, file.name], capture_output=True, text=True, check=True).stdout
            for option in ("-res-usage", "-sass")
        )
    registers, local = re.search(r"REG:(\d+) STACK:(\d+)", uses).groups()
    code = sass.instructions(text)
    loop = sass.counts(sass.hot_loop(code))
    loop["tma"] = sass.counts(code)["tma"]  # a producer's loop multiplies nothing
    return {
        "registers": int(registers),
        "local": int(local),
        **{f"{name} accesses" if name == "shared" else name: n for name, n in loop.items()},
    }


def badness(ours, triton):
    """How much worse the first code looks, 1 where it looks the same: the largest of its instructions, for each loop or for each product
    (one compiler may unroll), and of reasons of their own."""
    if bool(ours["products"]) != bool(triton["products"]):
        return 2.0 if triton["products"] else 1.0
    more = ours["instructions"] / triton["instructions"]
    found = [min(more, more * triton["products"] / ours["products"]) if ours["products"] else 1.0]
    found.append(1 + 4 * max(0, ours["spills"] - triton["spills"]) / triton["instructions"])
    found.append(2.0 if triton["wgmma"] and not ours["wgmma"] else 1.0)
    found.append(1.5 if triton["cp.async"] + triton["tma"] and not ours["cp.async"] + ours["tma"] else 1.0)
    return max(found)


def measure(side, options):
    """{case: [[kernel, numbers]]} of one compiler, which this process imports as `triton`."""
    if side == "tandem":
        import tandem.compat

        tandem.compat.install()
    import case
    import without_gpu

    without_gpu.pretend()
    case.load(options.libraries, options.cases.split(","))
    launches = (tandem_launches if side == "tandem" else triton_launches)(options)
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
            shared = json.loads(_tandem.gpu_kernel_info(handle))["shared_bytes"]
            yield label.split()[0], {"shared": shared, **read(_tandem.gpu_kernel_cubin(handle), options.tool)}

    return taken


def triton_launches(options):
    import under_triton

    launches = under_triton.Launches(options.configs)
    return lambda: [(name, {"shared": k.metadata.shared, **read(k.asm["cubin"], options.tool)}) for name, k in launches.take()]


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
            worse = badness(ours, triton)
            numbers = "  ".join(f"{word} {ours[word]}/{triton[word]}" for word in SHOWN if ours[word] or triton[word])
            lines.append((worse, f"{worse:5.2f}  {name} {kernel}: {numbers}"))
    return [line for _, line in sorted(lines, key=lambda row: -row[0])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libraries", type=pathlib.Path, default=HERE / ".unlisted")
    parser.add_argument("--cases", default="unlisted", help="the modules with cases, between commas")
    parser.add_argument("--only", default="", help="texts, one of which a case's name must hold, between commas")
    parser.add_argument("--configs", type=int, default=1, help="configurations of a tuned kernel")
    parser.add_argument("--side", choices=("tandem", "triton"), help="print the numbers of one compiler as JSON")
    parser.add_argument("--tool", help="cuobjdump; without it, the one in Triton's wheel")
    options = parser.parse_args()
    if options.side:
        print(json.dumps(measure(options.side, options)))
        return
    if not options.tool:
        import triton

        options.tool = str(pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump")
    os.environ |= {"TANDEM_CACHE": "0", "TANDEM_TARGET": "sm_90a", "TORCHDYNAMO_DISABLE": "1"}
    sides = [
        subprocess.Popen([sys.executable, __file__, *sys.argv[1:], "--tool", options.tool, "--side", side], stdout=subprocess.PIPE)
        for side in ("tandem", "triton")
    ]
    ours, theirs = (json.loads(side.communicate()[0]) for side in sides)
    print("\n".join(table(paired(ours, theirs))))


if __name__ == "__main__":
    main()
