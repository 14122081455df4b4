"""Compares the machine code of Tandem and Triton for drawn products where there is no GPU:

python bench/gpu/products/machine_code.py [--forms unusual] [--seed 0] [--count 100] [--processes 2]

A line for each kernel as bench/corpus/machine.py prints them, the worst first.
"""

import argparse
import concurrent.futures
import json
import multiprocessing
import os
import pathlib
import sys

import run

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "corpus"))


def machine_codes(forms, products):
    """[(product's name, "", numbers of Tandem's, of Triton's)]"""
    import machine
    import triton
    import under_tandem
    import under_triton
    import without_gpu
    from tandem import _tandem

    tool = str(pathlib.Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump")
    _, Call = run.drawn(forms)
    without_gpu.pretend()
    sides = run.sides(forms)
    launches = {"tandem": under_tandem.Launches(1), "triton": under_triton.Launches(1)}
    rows = []
    for product in products:
        numbers = {}
        for side, (module, language) in sides.items():
            try:
                Call(product, device="cpu", empty=True).launch(module, language)
                if side == "tandem":
                    handle = _tandem.gpu_compile(next(iter(launches[side].take())))
                    shared, cubin = json.loads(_tandem.gpu_kernel_info(handle))["shared_bytes"], _tandem.gpu_kernel_cubin(handle)
                else:
                    ((_, kernel),) = launches[side].take()
                    shared, cubin = kernel.metadata.shared, kernel.asm["cubin"]
                numbers[side] = {"shared": shared, **machine.read(cubin, tool)}
            except Exception as error:
                numbers[side] = {"failed": f"{type(error).__name__}: {str(error).strip()[:300]}"}
                launches[side].take()
        rows.append((product.name, "", numbers["tandem"], numbers["triton"]))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--forms", choices=run.FORMS, default="unusual")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--only", default="", help="a text that a product's name must hold")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    import machine

    os.environ |= {"TANDEM_CACHE": "0", "TANDEM_TARGET": "sm_90a"}
    products, n = run.drawn(options.forms)[0].draws(options.count, options.seed), 4 * options.processes
    products = [product for product in products if options.only in product.name]
    with concurrent.futures.ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        rows = sum(pool.map(machine_codes, [options.forms] * n, [products[i::n] for i in range(n)]), [])
    for name, _, ours, theirs in rows:
        if "failed" in theirs and "failed" not in ours:
            print(f"Triton does not compile {name}: {theirs['failed']}")
    print("\n".join(machine.table([row for row in rows if "failed" in row[2] or "failed" not in row[3]])))


if __name__ == "__main__":
    main()
