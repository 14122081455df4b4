"""Brings the libraries of a list, their Python files and settings, into a folder: python bench/corpus/fetch.py [--list unlisted] [FOLDER].

Without a folder, into `.libraries` or `.unlisted` beside this file.

Triton's wheel has no tutorials: copy `python/tutorials/*.py` of Triton's repository, at the release that is measured, into
FOLDER/python/tutorials.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).parent


def unpack(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith((".py", ".json", ".yaml")) and ".dist-info/" not in name and ".data/" not in name:
                archive.extract(name, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", choices=("libraries", "unlisted"), default="libraries")
    parser.add_argument("folder", nargs="?", type=pathlib.Path)
    options = parser.parse_args()
    folder = options.folder or HERE / f".{options.list}"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as wheels:
        subprocess.run(
            [
                sys.executable,
                "-m",
                "pip",
                "download",
                "--quiet",
                "--no-deps",
                "--only-binary=:all:",
                "--python-version=3.12",
                "--dest",
                wheels,
                "-r",
                str(HERE / f"{options.list}.txt"),
            ],
            check=True,
        )
        for wheel in sorted(pathlib.Path(wheels).glob("*.whl")):
            unpack(wheel, folder)
            print(wheel.name)
    if options.list == "libraries" and not (folder / "python/tutorials").is_dir():
        print(f"Triton's tutorials are not there: copy python/tutorials/*.py of its repository into {folder / 'python/tutorials'}")


if __name__ == "__main__":
    main()
