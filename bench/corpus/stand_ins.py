"""Lets a file of a library be imported alone: what it imports is looked for below the library's folder, and where it is not there a
stand-in takes any use."""

import importlib.abc
import importlib.machinery
import importlib.util
import pathlib
import sys
import types


class Anything(types.ModuleType):
    """What is called, subscripted, inherited from or asked for names; a decorator that leaves its function as it is."""

    __path__ = []

    def __init__(self, name="anything"):
        super().__init__(name)

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return Anything(name)

    def __call__(self, *args, **kwargs):
        return args[0] if len(args) == 1 and not kwargs and (callable(args[0]) or isinstance(args[0], type)) else Anything()

    def __mro_entries__(self, bases):
        return ()

    def __iter__(self):
        return iter(())

    def __getitem__(self, key):
        return Anything()

    def __or__(self, other):
        return Anything()

    __ror__ = __or__

    def __bool__(self):
        return False

    def __int__(self):
        return 0

    __index__ = __len__ = __int__

    def __lt__(self, other):
        return False

    __gt__ = __le__ = __ge__ = __lt__


class _Folder(Anything):
    """A package without its `__init__`."""

    def __init__(self, name, folder):
        super().__init__(name)
        self.__path__ = [str(folder)]


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Comes after all other finders."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.files = {}
        for path in self.root.rglob("*.py"):
            parts = path.relative_to(self.root).with_suffix("").parts
            for i in range(len(parts)):
                self.files.setdefault(".".join(parts[i:]), path)
                self.files.setdefault(".".join(parts[i:-1]), path.parent)

    def find_spec(self, name, path=None, target=None):
        found = self.files.get(name.removeprefix("library."))
        if found and found.is_file():
            return importlib.util.spec_from_file_location(name, found)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        folder = self.files.get(spec.name.removeprefix("library."))
        return _Folder(spec.name, folder) if folder else Anything(spec.name)

    def exec_module(self, module):
        pass


def load(root, path):
    """Imports one file below `root`."""
    sys.meta_path.append(Finder(root))
    parts = ("library", *path.relative_to(root).with_suffix("").parts)
    for i in range(1, len(parts)):
        name = ".".join(parts[:i])
        sys.modules[name] = _Folder(name, root.joinpath(*parts[1:i]))
    spec = importlib.util.spec_from_file_location(".".join(parts), path)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
