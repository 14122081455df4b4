"""Autotuning keeps its results on disk: one small JSON file for each device, kernel, list of configurations and key."""

import hashlib
import json
import os
import pathlib
import tempfile

from .. import _tandem
from ..gpu.device import devices
from ..kernel.request import RequestBuilder


def cache_folder():
    """$TANDEM_CACHE_DIR, else $XDG_CACHE_HOME/tandem, else $HOME/.cache/tandem; None when $TANDEM_CACHE is 0 or none of them is set."""
    if os.environ.get("TANDEM_CACHE") == "0":
        return None
    if named := os.environ.get("TANDEM_CACHE_DIR"):
        return pathlib.Path(named)
    if caches := os.environ.get("XDG_CACHE_HOME"):
        return pathlib.Path(caches) / "tandem"
    home = os.environ.get("HOME")
    return pathlib.Path(home) / ".cache" / "tandem" if home else None


class TuningCache:
    def find(self, kernel, configs, key):
        """The configuration that won before, if it is still among `configs`."""
        path = self._path(kernel, configs, key)
        try:
            won = json.loads(path.read_text())["config"]
        except (AttributeError, OSError, ValueError, KeyError, TypeError):
            return None
        return next((c for c in configs if _plain(c) == won), None)

    def store(self, kernel, configs, key, best, timings):
        path = self._path(kernel, configs, key)
        if path is None:
            return
        text = json.dumps(
            {
                "kernel": kernel.__name__,
                "key": [str(k) for k in key],
                "config": _plain(best),
                "milliseconds": [[_plain(c), t] for c, t in timings.items()],
            }
        )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
                file.write(text)
            os.replace(file.name, path)
        except OSError:
            pass  # the next process searches again

    def _path(self, kernel, configs, key):
        folder = cache_folder()
        if folder is None:
            return None
        device = devices()[key[0]]
        builder = RequestBuilder()
        builder.add(kernel)
        identity = [
            device["name"],
            device["target"],
            _tandem.version(),
            builder.functions,
            [_plain(c) for c in configs],
            [str(k) for k in key[1:]],
        ]
        return folder / "autotune" / (hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest() + ".json")


def _plain(config):
    """A configuration as JSON gives it back."""
    return json.loads(json.dumps(config.all_kwargs(), default=str))
