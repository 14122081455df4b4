"""The machine profile has the speeds that `tandem doctor --profile` measured, or defaults. Cost models of the
operators read it."""

import dataclasses
import json

from ..gpu.device import devices
from .tuning_cache import cache_folder

VERSION = 2


@dataclasses.dataclass(frozen=True)
class Profile:
    """Speeds of a machine. GB/s are 10^9 bytes a second; a byte that goes to or comes from a peer counts once. The
    defaults are round numbers for
    H200s that all reach each other over NVLink."""

    device: str = ""                   # name of the GPUs
    ranks: int = 0                     # how many were measured
    measured: bool = False             # not the defaults
    copy_gbps: float = 392.0           # a copy engine to one peer, while all ranks do the same
    copy_us: float = 6.2               # a copy with the stream's signal behind it, beside its bytes
    copy_all_gbps: float = 380.0       # a rank's copy engines to all peers at once, together
    local_copy_gbps: float = 1900.0    # the copy engine within a GPU, bytes copied
    store_gbps: dict = dataclasses.field(default_factory=lambda: {1: 20.0, 2: 40.0, 4: 80.0, 8: 150.0, 16: 270.0, 32: 350.0, 64: 360.0})
    load_gbps: dict = dataclasses.field(default_factory=lambda: {1: 8.0, 2: 16.0, 4: 32.0, 8: 64.0, 16: 120.0, 32: 230.0, 64: 320.0})
    signal_round_trip_us: float = 3.0  # a signal of a kernel to a peer's kernel and one back
    signal_write_us: float = 2.0       # a stream's write of a peer's signal
    launch_us: float = 3.0             # from one kernel's start to the next one's on a stream
    gemm_bf16_tflops: float = 768.0    # a product on all multiprocessors, without its begin and end
    gemm_alone_ratio: float = 1.19     # how much faster a program multiplies when a quarter of them do

    def programs_for(self, share=0.9, stores=True):
        """Returns the number of programs that reach a share of the best bandwidth to a peer by stores, or loads."""
        table = self.store_gbps if stores else self.load_gbps
        best = max(table.values())
        return min(count for count, speed in table.items() if speed >= share * best)


def default_path():
    """Returns the profile's place; None when there is no cache."""
    folder = cache_folder()
    return folder / "profile.json" if folder else None


def read_profile(path):
    """The Profile of a file; None when it is no profile."""
    try:
        kept = json.loads(path.read_text())
        if kept.pop("version") != VERSION:
            return None
        for table in ("store_gbps", "load_gbps"):
            kept[table] = {int(count): float(speed) for count, speed in kept[table].items()} or getattr(Profile(), table)
        return Profile(**kept, measured=True)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def profile(path=None):
    """The profile of this machine: of `path`, else of the cache directory, when it was measured on GPUs of this name; else the defaults."""
    path = path or default_path()
    kept = read_profile(path) if path else None
    present = devices()
    if kept is None or (present and present[0]["name"] != kept.device):
        return Profile(device=present[0]["name"] if present else "")
    return kept
