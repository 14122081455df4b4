"""Device memory of simulated ranks that a framework's tensors show: kernels take such a tensor by its address, without a copy."""

import bisect
import threading

_lock = threading.Lock()
_begins = []  # sorted
_ends = {}  # by begin: (end, tensor of the team)
_session = None  # the run whose memory it is: one at a time


def show(tensor):
    """From now on arrays over the memory of a tensor of a team are known as that memory."""
    global _session
    with _lock:
        if tensor.team._session is not _session:
            _session = tensor.team._session
            _begins.clear()
            _ends.clear()
        if tensor.address not in _ends:
            bisect.insort(_begins, tensor.address)
        _ends[tensor.address] = tensor.address + max(tensor.nbytes, 1), tensor


def hide(tensor):
    with _lock:
        _begins.remove(tensor.address)
        del _ends[tensor.address]


def shown_at(address):
    """The tensor of a team (this rank's or another's) whose memory holds the address; None when there is none."""
    at = bisect.bisect_right(_begins, address) - 1
    if at < 0:
        return None
    end, tensor = _ends[_begins[at]]
    return tensor if address < end else None
