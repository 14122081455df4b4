"""The GPUs of this machine, and the targets of their kernels."""

import functools
import json
import os

from .. import _tandem


@functools.cache
def devices():
    """One dict a GPU: name, target, memory_bytes, multiprocessors, ... Empty when there is none."""
    try:
        return json.loads(_tandem.gpu_devices())
    except RuntimeError:
        return []


def is_available():
    return bool(devices())


def current_device():
    """The index of the calling thread's device."""
    return _tandem.gpu_current_device()


def synchronize(device=-1):
    """Waits for everything that is queued on a device."""
    _tandem.gpu_synchronize(device)


rank_targets = {}  # by device, of ranks in traced runs or through NVSHMEM


def target_of(device):
    """The word kernels for a device are compiled for, such as "sm_90a": `$TANDEM_TARGET`, that of its rank in a run that is traced
    or goes through NVSHMEM, or the device's own. Code for an older target runs as PTX that the driver compiles."""
    if named := os.environ.get("TANDEM_TARGET"):
        return named
    if device in rank_targets:
        return rank_targets[device]
    if not devices():
        _tandem.gpu_devices()  # raises the reason
    return devices()[device]["target"]
