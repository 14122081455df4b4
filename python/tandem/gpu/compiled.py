"""A kernel compiled for a GPU."""

import collections.abc
import dataclasses
import functools
import json
import shutil
import subprocess
import tempfile
import types

from .. import _tandem
from ..errors import CompileError, OutOfResources
from ..host.call import grid_sizes
from ..host.current import rank_team
from .ahead import capsule_of
from .arguments import NUMBER_PACKS, Arguments, words_of
from .device import current_device
from .streams import stream_handle


after_compilation = None  # called with each new CompiledKernel, and whether only the compilation was asked for


def disassembly(cubin):
    """Returns the machine instructions of a cubin (bytes) as CUDA's `cuobjdump` prints them."""
    tool = shutil.which("cuobjdump") or shutil.which("cuobjdump", path="/usr/local/cuda/bin")
    if tool is None:
        raise RuntimeError("`cuobjdump`, which disassembles, is not on the path; it comes with CUDA")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([tool, "-sass", file.name], check=True, capture_output=True, text=True).stdout


class Asm(collections.abc.Mapping):
    """The kernel's texts, read when asked for; besides those that it lists, "sass" is there where CUDA's tools are."""

    def __init__(self, handle):
        self._read = {"ptx": lambda: _tandem.gpu_kernel_ptx(handle), "cubin": lambda: _tandem.gpu_kernel_cubin(handle)}
        self._texts = {}

    def __getitem__(self, name):
        if name not in self._read and name != "sass":
            raise KeyError(f"{name} is no text of a compiled kernel; those are ptx, cubin and sass")
        if name not in self._texts:
            self._texts[name] = disassembly(self["cubin"]) if name == "sass" else self._read[name]()
        return self._texts[name]

    def __iter__(self):
        return iter(self._read)

    def __len__(self):
        return len(self._read)

    def __contains__(self, name):
        return name in self._read


@dataclasses.dataclass(frozen=True)
class Remark:
    """What the compiler says about one decision that makes a kernel quick or slow. `str` gives all of it in one line."""

    kind: str  # "product", "load", "conversion" or "resources"
    outcome: str  # "passed": it was done; "missed": it was not, and the message says why; "analysis": a number
    stage: str  # the pass or tool that has decided
    message: str
    help: str  # what the kernel's author can do about it; may be empty
    file: str
    line: int
    column: int
    text: str

    def __str__(self):
        return self.text


class CompiledKernel:
    """A kernel compiled for one GPU and one set of argument types and constants (`specs`, the ARGUMENTs of its parameters).
    `kernel[grid](...)` launches it; the arguments are those of the function, of which constants are not looked at.
    """

    def __init__(self, function, handle, options, device, specs, overlapping=(), for_overlapping=None):
        self.function, self.handle, self.device, self.specs = function, handle, device, specs
        self.overlapping, self._for_overlapping = overlapping, for_overlapping
        self.info = json.loads(_tandem.gpu_kernel_info(handle))
        self.apart = self.info["apart"]
        self.asm = Asm(handle)
        self.name = self.info["name"]
        self.options, self.flags = options, 0
        self.metadata = types.SimpleNamespace(
            name=self.name,
            shared=self.info["shared_bytes"],
            target=self.info["target"],
            cluster_dims=tuple(self.info["cluster"]),
            **{k: options.get(k) for k in ("num_warps", "num_stages", "num_ctas", "maxnreg")},
        )

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
        if rank_team() is not None:  # whose launches are in an order
            options = {k: v for k, v in self.options.items() if k not in self.function.arg_names}
            return functools.partial(self.function.run, grid=grid, warmup=False, **options)
        return functools.partial(self._launch, grid)

    def serving(self, values, reads=()):
        """(the compiled kernel that a call with these values by name wants, the host's values that it rests on): this one, unless
        parameters that it takes to be apart have memory in common."""
        common = [(a, b) for a, b in self.apart if not _tandem.are_apart(_part(values, a), _part(values, b))]
        if not common:
            return self, reads
        other, reads = self._for_overlapping(common)
        return other.serving(values, reads)

    @functools.cached_property
    def pairs(self):
        """Which parameters' memory must be apart in a call, and which must not: another kernel is for those calls."""
        number = self.function.arg_names.index
        pairs = [(pair, True) for pair in self.apart] + [(pair, False) for pair in self.overlapping]
        return tuple((number(a), number(b), apart) for (a, b), apart in pairs)

    def _launch(self, grid, *args, **kwargs):
        key = self.function.gpu_launcher.run_as(self, grid, *args, **kwargs)
        if key is not True:
            self._launch_first(key, grid, *args, **kwargs)

    def _launch_first(self, key, grid, *args, stream=None, **kwargs):
        if self.device is None:  # compiled without a call
            self.device = current_device()
        bound = self.function.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        serving, _ = self.serving(bound.arguments)
        if serving is not self:
            return serving._launch(grid, *args, stream=stream, **kwargs)
        sizes = grid_sizes(grid, bound.arguments, self.options)
        words = words_of(self.function, self.specs, bound.arguments)
        prepare(self.handle, self.device)
        _tandem.gpu_launch(self.handle, self.device, stream_handle(stream, self.device), *sizes, words, len(words), self.flags)
        if key is not None:
            self._keep(key, bound.arguments)

    def _keep(self, key, values):
        """Calls like the one with these values are the launcher's from now on: arrays of the types compiled for, and numbers, which each
        launch makes ones of those types."""
        arguments = Arguments(self.function)
        for parameter in self.function.parameters:
            arguments.add(parameter, values[parameter.name])
        packs = "".join(map(_pack, arguments.specs, self.specs))
        if "?" not in packs:
            self.function.gpu_launcher.add(key, self.handle, packs.encode(), self.flags, self.options, (), self.pairs, self)

    def __repr__(self):
        return f"<{self.name} for {self.info['target']}: {self.info['threads']} threads, {self.shared} bytes of shared memory>"


def _pack(given, wanted):
    """The launcher's letter for an argument like `given`, an ARGUMENT, of a kernel compiled for `wanted`."""
    if "constexpr" in wanted:
        return "s"
    if "tuple" in wanted:
        return "?"
    if wanted.get("type", "*")[0] != "*":
        return NUMBER_PACKS.get(wanted["type"], "?")
    return "c" if (given.get("type"), given.get("descriptor")) == (wanted.get("type"), wanted.get("descriptor")) else "?"


def _part(values, name):
    """The value of a parameter, or of the part of a tuple (`x.0`, `x.scale`) that is one."""
    name, *path = name.split(".")
    value = values[name]
    for part in path:
        value = value[int(part)] if part.isdigit() else getattr(value, part)
    return value


def prepare(handle, device):
    """(registers, bytes of local memory) of a thread. Loads the code."""
    try:
        return _tandem.gpu_kernel_prepare(handle, device)
    except RuntimeError as error:
        raise (OutOfResources(str(error)) if str(error).startswith("out of resources") else error) from None


def compile_request(request):
    """The capsule of a compiled kernel. Raises CompileError."""
    try:
        return capsule_of(request)
    except RuntimeError as error:
        raise CompileError(str(error).rstrip("\n")) from None
