"""Compiles the corpus for sm_90a where there is no GPU: python bench/corpus/compile.py [--configs N] [--record] RECORDED.json

Needs the libraries (fetch.py), PyTorch, of which a build for the CPU is enough, and ptxas. Ends with 1 when a kernel no longer compiles,
or its registers, its spills or the units that it uses are worse than the recorded ones, or a recorded one is not launched any more; with
77 when the libraries or PyTorch are not there. Of a tuned kernel the first configuration is compiled. `--record` writes the record.
"""

import argparse
import concurrent.futures
import contextlib
import importlib.util
import io
import json
import multiprocessing
import os
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).parent
SKIPPED = 77
UNITS = {
    "wgmma": r"wgmma\.mma_async",
    "mma": r"mma\.sync",
    "tma": r"cp\.async\.bulk\.tensor|cp\.async\.bulk\.shared",
    "cp.async": r"cp\.async\.c[ag]",
    "packed atomics": r"(red|atom)\.\S*(\.v[248]\.|x2\b)",
}  # what a kernel uses, by its PTX


def compiled(request):
    """What is recorded of a kernel, or why it does not compile."""
    from tandem import _tandem

    start = time.process_time()
    try:
        handle = _tandem.gpu_compile(request)
    except RuntimeError as error:
        return {"failed": str(error).strip()[:300]}
    info, ptx = json.loads(_tandem.gpu_kernel_info(handle)), _tandem.gpu_kernel_ptx(handle)
    numbers = {name: info[name] for name in ("registers", "spill_bytes", "shared_bytes")}
    return {
        **numbers,
        "units": [name for name, word in UNITS.items() if re.search(word, ptx)],
        "seconds": round(time.process_time() - start, 2),
    }


def worse(now, recorded):
    """Says what is worse than recorded; an empty text when nothing is."""
    if "failed" in now:
        return "" if "failed" in recorded else f"does not compile: {now['failed']}"
    if "failed" in recorded:
        return ""
    found = [f"no {unit}" for unit in recorded["units"] if unit not in now["units"]]
    if now["spill_bytes"] > recorded["spill_bytes"] * 1.05:
        found.append(f"{now['spill_bytes']} bytes of spills, not {recorded['spill_bytes']}")
    if now["registers"] > recorded["registers"] + 8:
        found.append(f"{now['registers']} registers, not {recorded['registers']}")
    return ", ".join(found)


def requests_of(options):
    """{case: {kernel and constants: request}}, and {case: why its launches could not be had}"""
    import tandem.compat

    tandem.compat.install()
    import case
    import under_tandem
    import without_gpu

    without_gpu.pretend()
    case.load(options.libraries)
    launches = under_tandem.Launches(options.configs)
    requests, failures = {}, {}
    for name, row in case.CASES.items():
        if not any(word in name for word in options.only.split(",")):
            continue
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                case.Run(row, row.inputs(case.Make("check")), row.function)()
        except Exception as error:
            failures[name] = f"{type(error).__name__}: {str(error).strip()[:300]}"
        requests[name] = launches.take()
    return requests, failures


def written(rows):
    """JSON with a line for each kernel."""
    lines = ",\n".join(
        f" {json.dumps(name)}: {{\n" + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in kernels.items()) + "\n }"
        for name, kernels in rows.items()
    )
    return f"{{\n{lines}\n}}\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recorded", type=pathlib.Path)
    parser.add_argument("--libraries", type=pathlib.Path, default=HERE / ".libraries")
    parser.add_argument("--configs", type=int, default=1, help="configurations of a tuned kernel")
    parser.add_argument("--only", default="", help="texts, one of which a case's name must hold, between commas")
    parser.add_argument("--record", action="store_true", help="write the numbers instead of comparing them")
    options = parser.parse_args()
    if not options.libraries.is_dir() or importlib.util.find_spec("torch") is None:
        print(f"skipped: there is no PyTorch, or no {options.libraries}")
        sys.exit(SKIPPED)
    os.environ |= {"TANDEM_CACHE": "0", "TANDEM_TARGET": "sm_90a"}
    start = time.monotonic()
    requests, failures = requests_of(options)
    print(f"{sum(map(len, requests.values()))} kernels of {len(requests)} cases, {time.monotonic() - start:.0f} s", flush=True)
    for name, why in failures.items():
        print(f"{name}: its launches end early: {why}")
    flat = [(name, label, request) for name, kernels in requests.items() for request, label in kernels.items()]
    recorded = json.loads(options.recorded.read_text()) if options.recorded.exists() else {}
    rows, failed = {name: {} for name in requests}, 0
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count(), multiprocessing.get_context("spawn")) as pool:
        for (name, label, _), now in zip(flat, pool.map(compiled, [request for *_, request in flat])):
            rows[name][label] = now
            before = recorded.get(name, {}).get(label)
            what = worse(now, before) if before and not options.record else ""
            if what or ("failed" in now and not before):
                print(f"{name}, {label}: {what or now['failed']}", flush=True)
            failed += bool(what)
    for name in rows.keys() & recorded.keys():
        for label in () if options.record else recorded[name].keys() - rows[name].keys():
            print(f"{name}, {label}: recorded, but not launched")
            failed += 1
    kernels = [now for row in rows.values() for now in row.values()]
    unknown = sum(label not in recorded.get(name, {}) for name, label, _ in flat)
    print(
        f"{len(kernels)} kernels compiled in {time.monotonic() - start:.0f} s: {sum('failed' in k for k in kernels)} do not compile, "
        f"{sum(bool(k.get('spill_bytes')) for k in kernels)} spill, {unknown} without a record, {failed} worse than recorded"
    )
    if options.record:
        for now in kernels:
            now.pop("seconds", None)
        options.recorded.write_text(written({**recorded, **rows}))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
