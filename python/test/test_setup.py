"""scripts/setup.sh in a bad environment: one clear line, and nothing done."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_with(tmp_path, **stubs):
    for name, body in stubs.items():
        stub = tmp_path / name.replace("_", "-")
        stub.write_text(f"#!/bin/sh\n{body}\n")
        stub.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    return subprocess.run([ROOT / "scripts/setup.sh"], capture_output=True, text=True, env={**os.environ, "PATH": path})


PLENTY = 'echo "h"; echo "d 9 9 99999 9 /"'


@pytest.mark.parametrize(
    "stubs,line",
    [
        (
            dict(dpkg_query="exit 1", df=PLENTY, apt_get='echo "E: Failed to fetch" ; exit 100'),
            "apt-get update failed (is there a network?): E: Failed to fetch",
        ),
        (
            dict(dpkg_query="exit 1", df='echo "h"; echo "d 9 9 12 9 /"', apt_get="exit 0"),
            "the disk under /usr has 12 MB free, 2500 MB are needed",
        ),
        (
            dict(dpkg_query='echo "install ok installed"', df='echo "h"; echo "d 9 9 12 9 /"'),
            "this disk has 12 MB free, 1500 MB are needed",
        ),
    ],
)
def test_one_line(tmp_path, stubs, line):
    done = run_with(tmp_path, **stubs)
    assert done.returncode == 1
    assert done.stderr.strip() == f"setup: {line}"


def test_nothing_to_do_says_nothing():
    done = subprocess.run([ROOT / "scripts/setup.sh"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
