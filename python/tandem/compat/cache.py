"""`triton.runtime.cache`: files under a key, for libraries that keep their own things where Triton keeps its kernels. Tandem's kernels are
kept elsewhere (docs/guide/gpu.md)."""

import abc
import base64
import json
import os
import pathlib
import tempfile

from .. import _tandem
from . import knobs


class CacheManager(abc.ABC):
    def __init__(self, key, override=False, dump=False):
        self.key = key

    @abc.abstractmethod
    def get_file(self, filename):
        """The path of a kept file; None when there is none."""

    @abc.abstractmethod
    def put(self, data, filename, binary=True):
        """Keeps bytes or text; returns the path."""

    @abc.abstractmethod
    def get_group(self, filename):
        """{name: path} of the files that were kept together; None when there are none."""

    @abc.abstractmethod
    def put_group(self, filename, group):
        """Keeps {name: path} under a name."""


class FileCacheManager(CacheManager):
    """A folder for each key."""

    def __init__(self, key, override=False, dump=False):
        super().__init__(key, override, dump)
        top = knobs.cache.dump_dir if dump else knobs.cache.override_dir if override else knobs.cache.dir
        self.cache_dir = os.path.join(top, key)
        self.lock_path = None if override else os.path.join(self.cache_dir, "lock")
        if not override:
            os.makedirs(self.cache_dir, exist_ok=True)

    def _make_path(self, filename):
        return os.path.join(self.cache_dir, filename)

    def has_file(self, filename):
        return os.path.exists(self._make_path(filename))

    def get_file(self, filename):
        return self._make_path(filename) if self.has_file(filename) else None

    def get_group(self, filename):
        path = self.get_file(f"__grp__{filename}")
        members = json.loads(pathlib.Path(path).read_text()).get("child_paths") if path else None
        return None if members is None else {name: at for name, at in members.items() if os.path.exists(at)}

    def put_group(self, filename, group):
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}", binary=False)

    def put(self, data, filename, binary=True):
        path = self._make_path(filename)
        with tempfile.NamedTemporaryFile("wb", dir=self.cache_dir, delete=False) as file:
            file.write(data if isinstance(data, bytes) else str(data).encode())
        os.replace(file.name, path)
        return path


def _base32(key):
    return base64.b32encode(bytes.fromhex(key)).decode().rstrip("=")


def _manager(key, **options):
    return (knobs.cache.manager_class or FileCacheManager)(_base32(key), **options)


def get_cache_manager(key):
    """The manager of a key, which is a hexadecimal number."""
    return _manager(key)


def get_override_manager(key):
    return _manager(key, override=True)


def get_dump_manager(key):
    return _manager(key, dump=True)


def triton_key():
    """Differs between versions of the compiler."""
    return f"tandem {_tandem.version()}"
