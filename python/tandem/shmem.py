"""Names for kernels: OpenSHMEM-style device calls (put, get, signal, fence, quiet, barrier)."""

from ._names import populate

populate(globals(), "shmem")
