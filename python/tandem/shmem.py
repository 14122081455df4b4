"""Names for kernels: OpenSHMEM-style device calls (put, get, signal, fence, quiet, barrier)."""

from .kernel.names import populate

populate(globals(), "shmem")
