"""Times products drawn at random, by Tandem and by Triton, and compares their results with float64:

python bench/gpu/products/run.py RESULTS.json [--forms plain] [--seed 0] [--count 100] [--processes 8]

`plain` products are those of draw.py, the others those of woven.py, unusual.py and applied.py. Both compilers get the same
file of kernels. They compile in several processes first, so that nothing else runs while the products are timed; the two take turns, each
call behind a flush of the second cache. A product that Triton does not take is left out.
"""

import argparse
import concurrent.futures
import importlib
import json
import math
import multiprocessing
import pathlib
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]


FORMS = {
    "plain": ("draw", "Call", "kernels"),
    "woven": ("woven", "Woven", "woven_kernels"),
    "unusual": ("unusual", "Unusual", "unusual_kernels"),
    "applied": ("applied", "Applied", "applied_kernels"),
}


def drawn(forms):
    """The module that draws such products, and the class of their calls."""
    name, call, _ = FORMS[forms]
    module = importlib.import_module(name)
    return module, getattr(module, call)


def sides(forms):
    """{side: (module of kernels, the language's module)}"""
    import contenders
    import tandem
    import tandem.language
    import triton
    import triton.language

    file = HERE / f"{FORMS[forms][2]}.py"
    ours = contenders.load(file, "products_of_tandem", {"triton": tandem, "triton.language": tandem.language})
    theirs = contenders.load(file, "products_of_triton", {})
    triton.set_allocator(lambda size, alignment, stream: contenders.torch.empty(size, device="cuda", dtype=contenders.torch.int8))
    return {"tandem": (ours, tandem.language), "triton": (theirs, triton.language)}


class Compiled:
    """Kernels of a module, which a launch only compiles."""

    def __init__(self, module):
        self._module = module

    def __getattr__(self, name):
        kernel = getattr(self._module, name)

        class Launch:
            def __getitem__(self, grid):
                return lambda *args, **kwargs: kernel.warmup(*args, grid=grid, **kwargs)

        return Launch()


def compile_part(forms, products):
    """Fills the caches of both compilers; what fails here fails again when it is timed."""
    _, Call = drawn(forms)
    for product in products:
        for module, language in sides(forms).values():
            try:
                Call(product, empty=True).launch(Compiled(module), language)
            except Exception:
                pass


def measure(product, both, Call):
    import contenders
    import torch

    call = Call(product)
    exact = call.exact()
    row = {"name": product.name, "us": {}, "error": {}, "failed": {}}
    for side, (module, language) in both.items():
        try:
            call.result.zero_()
            call.launch(module, language)
            torch.cuda.synchronize()
        except Exception as error:
            row["failed"][side] = f"{type(error).__name__}: {str(error).strip()[:200]}"
            continue
        row["error"][side] = ((call.result.double() - exact).abs().max() / exact.abs().max()).item()
    alive = {side: both[side] for side in row["error"]}
    times = {side: [] for side in alive}
    for _ in range(12):
        for side, (module, language) in alive.items():
            first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(200_000)  # the host comes first, however long it takes for a launch
            contenders.flush_cache()
            first.record()
            call.launch(module, language)
            last.record()
            times[side].append((first, last))
    torch.cuda.synchronize()
    row["us"] = {side: statistics.median(a.elapsed_time(b) for a, b in pairs[2:]) * 1000 for side, pairs in times.items()}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--forms", choices=FORMS, default="plain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--processes", type=int, default=8)
    options = parser.parse_args()
    module, Call = drawn(options.forms)
    products, parts = module.draws(options.count, options.seed), 4 * options.processes
    with concurrent.futures.ProcessPoolExecutor(options.processes, multiprocessing.get_context("spawn")) as pool:
        list(pool.map(compile_part, [options.forms] * parts, [products[i::parts] for i in range(parts)]))
    both, rows = sides(options.forms), []
    for product in products:
        rows.append(measure(product, both, Call))
        options.results.write_text(json.dumps({"forms": options.forms, "seed": options.seed, "rows": rows}, indent=1))
    ratios = {r["name"]: r["us"]["triton"] / r["us"]["tandem"] for r in rows if len(r["us"]) == 2}
    for name, ratio in sorted(ratios.items(), key=lambda item: item[1]):
        print(f"{ratio:.2f}  {name}")
    wrong = [r for r in rows if "triton" in r["error"] and not r["error"].get("tandem", math.inf) <= max(2 * r["error"]["triton"], 1e-2)]
    for row in wrong:
        print("differs:", row["name"], row["error"], row["failed"])
    mean = math.exp(statistics.mean(map(math.log, ratios.values())))
    print(f"{len(ratios)} products: speed {mean:.2f} of Triton's, {sum(r < 0.95 for r in ratios.values())} below 0.95, {len(wrong)} differ")


if __name__ == "__main__":
    main()
