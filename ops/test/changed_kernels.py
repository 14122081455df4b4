"""Kernels of operators with errors planted in their text."""

import importlib
import pathlib
import sys

from tandem.kernel.source import Aggregate

OPS = pathlib.Path(__file__).parents[1]
LINKS = OPS.parent / "python/tandem/tilelink"  # channels, which are copied with all kernels


def imported(folder, files, names, *changes):
    """The modules ops.<name> of `names`, imported from copies of `files` in `folder`. Each change: a file, its text, the text in its
    place; channels are in `tilelink/`."""
    paths = {name: OPS / name for name in files} | {f"tilelink/{path.name}": path for path in LINKS.glob("*.py")}
    texts = {name: path.read_text().replace("tandem.tilelink", "ops.tilelink") for name, path in paths.items()}
    for name, old, new in changes:
        assert texts[name].count(old) == 1, f"{name} has this {texts[name].count(old)} times: {old}"
        texts[name] = texts[name].replace(old, new)
    for name, text in texts.items():
        path = folder / "ops" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    kept = {name: sys.modules.pop(name) for name in list(sys.modules) if name == "ops" or name.startswith("ops.")}
    sys.path.insert(0, str(folder))
    try:
        return [importlib.import_module(f"ops.{name}") for name in names]
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name == "ops" or name.startswith("ops.")]:
            for each in vars(sys.modules[name]).values():
                if isinstance(each, Aggregate) and each.__module__ == name:
                    assert each.source  # which Python finds by the module's name
            del sys.modules[name]
        sys.modules.update(kept)
