"""`triton` in a process that one under `tandem.compat` has started: PyTorch's compile workers, processes of `multiprocessing`. They get the
path of the first, with this folder on it, and none of its modules."""

import sys

import tandem.compat

del sys.modules["triton"]
tandem.compat.install()
