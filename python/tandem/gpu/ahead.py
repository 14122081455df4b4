"""Compiles kernels on all cores before they are launched one after another."""

import concurrent.futures
import os
import threading

from .. import _tandem

_asking = threading.local()  # `on` while this thread only asks what a launch would compile
_begun = {}  # request -> the future of its capsule


class _Asked(Exception):
    """Ends a launch at the request that it would have compiled."""


def capsule_of(request):
    """The capsule of a compiled kernel, from `CompiledAhead` when it is there. Raises RuntimeError."""
    if getattr(_asking, "on", False):
        raise _Asked(request)
    begun = _begun.pop(request, None)
    return begun.result() if begun else _tandem.gpu_compile(request)


def _request_of(launch):
    """What a launch would compile; None when that is there already."""
    _asking.on = True
    try:
        launch()
    except _Asked as asked:
        return asked.args[0]
    except Exception:
        return None  # the launch itself will say what is wrong with it
    finally:
        _asking.on = False
    return None


class CompiledAhead:
    """Compiles what these launches would, on as many threads as the process has cores, before it is there. Until `forget` a launch finds
    its kernel. `launches` are called here, and have to be such that compile and launch nothing else."""

    def __init__(self, launches):
        self.requests = set(map(_request_of, launches)) - {None}
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            _begun.update({request: pool.submit(_tandem.gpu_compile, request) for request in self.requests})

    def forget(self):
        """Drops what no launch has taken."""
        for request in self.requests:
            _begun.pop(request, None)
