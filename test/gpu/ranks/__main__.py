"""Runs the checks of ranks on this machine's GPUs: `python test/gpu/ranks --ranks 2 [part of a name ...]`. Exit status 0 when all pass, 77
without enough GPUs."""

import argparse
import pathlib
import sys
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import tandem


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="run the checks whose names contain one of these")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    count = len(tandem.gpu.devices())
    if count < max(options.ranks, 1) and not options.list:
        print(f"{options.ranks} GPUs are needed, this machine has {count}")
        return 77
    import checks

    names = [n for n in checks.load_all() if not options.parts or any(p in n for p in options.parts)]
    if options.list:
        print("\n".join(names))
        return 0
    failed, started = [], time.monotonic()
    for name in names:
        begin = time.monotonic()
        try:
            checks.CHECKS[name](options.ranks)
            print(f"passed: {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except BaseException as error:
            failed.append(name)
            frames = "".join(traceback.format_tb(error.__traceback__)[-2:])
            print(f"FAILED: {name} ({time.monotonic() - begin:.1f} s): {type(error).__name__}: {str(error)[:1500]}\n{frames}", flush=True)
            if isinstance(error, KeyboardInterrupt):
                break
    print(f"{len(names) - len(failed)} passed, {len(failed)} failed in {time.monotonic() - started:.0f} s, {options.ranks} ranks")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
