"""Brings the libraries of libraries.txt, their Python files and settings, into a folder: python bench/corpus/fetch.py [FOLDER].

Triton's wheel has no tutorials: copy `python/tutorials/*.py` of Triton's repository, at the release that is measured, into
FOLDER/python/tutorials.
"""

import pathlib
import subprocess
import sys
import tempfile
import zipfile

HERE = pathlib.Path(__file__).parent
DEFAULT = HERE / ".libraries"


def unpack(wheel, folder):
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith((".py", ".json", ".yaml")) and ".dist-info/" not in name and ".data/" not in name:
                archive.extract(name, folder)


def main():
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
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
                str(HERE / "libraries.txt"),
            ],
            check=True,
        )
        for wheel in sorted(pathlib.Path(wheels).glob("*.whl")):
            unpack(wheel, folder)
            print(wheel.name)
    if not (folder / "python/tutorials").is_dir():
        print(f"Triton's tutorials are not there: copy python/tutorials/*.py of its repository into {folder / 'python/tutorials'}")


if __name__ == "__main__":
    main()
