"""What the tests of an installed Tandem share."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*command, code=0, **how):
    """Runs it with nothing of this environment's Python; returns its output."""
    env = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    env.update(how.pop("env", {}))
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=env, **how)
    assert done.returncode == code, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    run("make", "-C", ROOT, "--no-print-directory", "wheel", f"WHEELS={folder}")
    (found,) = folder.glob("*.whl")
    return found
