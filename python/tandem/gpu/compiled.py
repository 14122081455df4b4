"""A kernel compiled for a GPU."""

import dataclasses
import functools
import json
import types

from .. import _tandem
from ..errors import CompileError, OutOfResources


class _Asm(dict):
    """The kernel's texts, read when asked for."""

    def __init__(self, handle):
        super().__init__()
        self._read = {"ptx": lambda: _tandem.gpu_kernel_ptx(handle), "cubin": lambda: _tandem.gpu_kernel_cubin(handle)}

    def __missing__(self, name):
        if name not in self._read:
            raise KeyError(name)
        self[name] = self._read[name]()
        return self[name]

    def keys(self):
        return self._read.keys()

    def __iter__(self):
        return iter(self._read)

    def __len__(self):
        return len(self._read)

    def __contains__(self, name):
        return name in self._read


@dataclasses.dataclass(frozen=True)
class Remark:
    """What the compiler says about one decision that makes a kernel quick or slow. `str` gives all of it in one line."""

    kind: str     # "product", "load", "conversion" or "resources"
    outcome: str  # "passed": it was done; "missed": it was not, and the message says why; "analysis": a number
    stage: str    # the pass or tool that has decided
    message: str
    help: str     # what the kernel's author can do about it; may be empty
    file: str
    line: int
    column: int
    text: str

    def __str__(self):
        return self.text


class CompiledKernel:
    """A kernel compiled for one GPU and one set of argument types and constants. `kernel[grid](...)` launches it with all arguments."""

    def __init__(self, function, handle, options, device):
        self.function, self.handle, self.device = function, handle, device
        self.info = json.loads(_tandem.gpu_kernel_info(handle))
        self.asm = _Asm(handle)
        self.name = self.info["name"]
        self.options = options
        self.metadata = types.SimpleNamespace(name=self.name, shared=self.info["shared_bytes"], target=self.info["target"],
                                              cluster_dims=tuple(self.info["cluster"]),
                                              **{k: options.get(k) for k in ("num_warps", "num_stages", "num_ctas", "maxnreg")})

    @functools.cached_property
    def remarks(self):
        """What the compiler did for the kernel's speed and what it did not, by lines (docs/guide/remarks.md)."""
        return [Remark(**remark) for remark in self.info["remarks"]]

    @property
    def shared(self):
        return self.info["shared_bytes"]

    @functools.cached_property
    def _driver_numbers(self):
        return prepare(self.handle, self.device)

    @property
    def n_regs(self):
        return self.info["registers"] or self._driver_numbers[0]

    @property
    def n_spills(self):
        """Spilled 32-bit words of a thread."""
        return (self.info["spill_bytes"] if self.info["registers"] else self._driver_numbers[1]) // 4

    def _init_handles(self):
        self._driver_numbers  # noqa: B018  asking loads the code

    def __getitem__(self, grid):
        return functools.partial(self.function.run, grid, **self.options)

    def __repr__(self):
        return f"<{self.name} for {self.info['target']}: {self.info['threads']} threads, {self.shared} bytes of shared memory>"


def prepare(handle, device):
    """(registers, bytes of local memory) of a thread. Loads the code."""
    try:
        return _tandem.gpu_kernel_prepare(handle, device)
    except RuntimeError as error:
        raise (OutOfResources(str(error)) if str(error).startswith("out of resources") else error) from None


def compile_request(request):
    """The capsule of a compiled kernel. Raises CompileError."""
    try:
        return _tandem.gpu_compile(request)
    except RuntimeError as error:
        raise CompileError(str(error).rstrip("\n")) from None
