"""The machine profile has the speeds that `tandem doctor --profile` measured, or those that come with Tandem. Cost models of the operators
read it, and simulated time can be modelled by it. The library reads and checks profiles (model/machine.h), so it says what speeds there
are."""

import dataclasses
import json

from .. import _tandem
from ..gpu.device import devices
from .tuning_cache import cache_folder

VERSION = 2
_SPEEDS = json.loads(_tandem.machine_speeds())
_TABLES = {speed["name"] for speed in _SPEEDS if speed["table"]}


def _members(text):
    kept = json.loads(text)
    del kept["version"]
    return {name: {int(count): speed for count, speed in value.items()} if name in _TABLES else value for name, value in kept.items()}


class _Profile:
    def programs_for(self, share=0.9, stores=True):
        """Returns the number of programs that reach a share of the best bandwidth to a peer by stores, or loads."""
        table = self.store_gbps if stores else self.load_gbps
        best = max(table.values())
        return min(count for count, speed in table.items() if speed >= share * best)

    def text(self):
        """The profile as a file has it."""
        return json.dumps({"version": VERSION, **dataclasses.asdict(self)})


_DEFAULTS = {**_members(_tandem.machine_named("h200")), "device": "", "source": ""}
Profile = dataclasses.make_dataclass(
    "Profile",
    [(name, type(value), dataclasses.field(default_factory=value.copy) if name in _TABLES else value) for name, value in _DEFAULTS.items()],
    bases=(_Profile,),
    frozen=True,
)
Profile.__module__ = __name__
Profile.__doc__ = "\n".join(
    [
        "Speeds of a machine; the defaults are those of H200s that all reach each other over NVLink. GB/s are 10^9 bytes a second;",
        "a byte that goes to or comes from a peer counts once.",
        "",
        "    device: name of the GPUs",
        "    source: where the numbers are from",
        "    ranks: how many GPUs were measured",
        "    measured: not the defaults",
        *(f"    {speed['name']}: {speed['what']}" for speed in _SPEEDS),
    ]
)


def default_path():
    """Returns the profile's place; None when there is no cache."""
    folder = cache_folder()
    return folder / "profile.json" if folder else None


def machine(name):
    """The Profile of a machine that comes with Tandem: "h200", "h100" or "nominal", by which simulated time is modelled."""
    return Profile(**_members(_tandem.machine_named(name)))


def read_profile(path):
    """The Profile of a file. Raises OSError, or ValueError that says what is wrong with it."""
    try:
        return Profile(**_members(_tandem.machine_read(path.read_text(errors="replace"))))
    except RuntimeError as error:
        raise ValueError(f"{path}: {error}") from None


def profile(path=None):
    """The profile of this machine: of `path`, else of the cache directory, when it was measured on GPUs of this name; else the defaults."""
    path = path or default_path()
    present = devices()
    name = present[0]["name"] if present else ""
    try:
        kept = read_profile(path) if path else None
    except (OSError, ValueError):  # `tandem doctor` says why
        kept = None
    if kept is not None and (not present or name == kept.device):
        return kept
    return Profile(**_members(_tandem.machine_read(json.dumps({"version": VERSION, "device": name, "measured": False}))))
