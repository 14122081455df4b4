"""A GPU for the tests of this folder (a process has one driver): the fake driver, tensors that look like PyTorch's, and a compiler that
makes what the fake driver loads.
"""

import ctypes
import json
import pathlib
import sys

import pytest

import tandem
from tandem import _tandem
from tandem.gpu import launcher

LIBRARY = pathlib.Path(_tandem.__file__).parents[2] / "test" / "libtandem_fake_cuda.so"

needs_fake = pytest.mark.skipif(not LIBRARY.exists(), reason="the fake driver is not built")


class DType:
    def __init__(self, name):
        self.name = name

    def __str__(self):
        return "torch." + self.name


float32, float16, bfloat16 = DType("float32"), DType("float16"), DType("bfloat16")


class FakeTensor:
    """Looks like a tensor of `torch` to a launch."""

    def __init__(self, address, dtype=float32, device=0, shape=(64,)):
        self.address, self.dtype, self.device_index, self.shape = address, dtype, device, shape

    def data_ptr(self):
        return self.address

    def get_device(self):
        return self.device_index

    def element_size(self):
        return 4 if self.dtype is float32 else 2

    def stride(self):
        strides = [1]
        for size in self.shape[:0:-1]:
            strides.append(strides[-1] * size)
        return tuple(reversed(strides))


class FakeStorage:
    def __init__(self, address, size):
        self.address, self.size = address, size

    def data_ptr(self):
        return self.address

    def nbytes(self):
        return self.size


class PartOfStorage(FakeTensor):
    """A tensor that tells its storage."""

    def __init__(self, storage, offset=0):
        super().__init__(storage.address + offset)
        self.storage = storage

    def untyped_storage(self):
        return self.storage


class CupyArray:
    def __init__(self, address, typestr="<f4"):
        self.__cuda_array_interface__ = {"data": (address, False), "typestr": typestr, "shape": (64,), "version": 3}


_SIZES = {
    "*": 8,
    "i1": 1,
    "i8": 1,
    "u8": 1,
    "i16": 2,
    "u16": 2,
    "i32": 4,
    "u32": 4,
    "i64": 8,
    "u64": 8,
    "fp16": 2,
    "bf16": 2,
    "fp32": 4,
    "fp64": 8,
}
_PARAM = {"*": 0, "i1": 1, "i8": 2, "i16": 3, "i32": 4, "i64": 5, "fp16": 6, "bf16": 7, "fp32": 8, "fp64": 9}


def _words(arguments):
    for a in arguments:
        if "tuple" in a:
            yield from _words(a["tuple"])
        elif "descriptor" in a:
            rank = len(a["descriptor"]["block_shape"])
            yield from ["*", *["i32"] * rank, *["i64"] * rank]
        elif "type" in a:
            yield "*" if a["type"][0] == "*" else a["type"]


def image_bytes(request, shared=0, registers=40, apart=()):
    """A kernel image (abi/kernel_image_io.h) with the request's parameters, for the fake driver."""
    words = list(_words(request["arguments"]))
    name = request["kernel"].split("#")[0]
    cubin = f"FAKE {name} {','.join(str(_SIZES[w]) for w in words) or 0} {registers} 0".encode()
    header = json.dumps(
        {
            "name": name,
            "target": request["options"]["target"],
            "threads": 32 * request["options"]["num_warps"],
            "cluster": [request["options"]["num_ctas"], 1, 1],
            "params": [_PARAM[w.replace("u", "i")] for w in words],
            "shared_bytes": shared,
            "registers": registers,
            "tensor_maps": [],
            "spill_bytes": 8,
            "roomy_blocks": 0,
            "uses_ranks": False,
            "uses_grid_barrier": False,
            "folds": False,
            "apart": list(apart),
            "remarks": [],
        }
    ).encode()
    constants = [a["constexpr"] for a in request["arguments"] if "constexpr" in a]
    ptx = f".version 8.6 // {json.dumps(constants)}".encode()
    body = header + cubin + ptx
    checksum = 0xCBF29CE484222325
    for byte in body:
        checksum = (checksum ^ byte) * 0x100000001B3 % 2**64
    sizes = b"".join(n.to_bytes(8, "little") for n in (len(header), len(cubin), len(ptx), 0, checksum))
    return b"TDIMG\x0004" + sizes + body


class Gpu:
    """Records the compiler's requests and the driver's calls."""

    def __init__(self, folder):
        self.driver = ctypes.CDLL(str(LIBRARY))
        self.driver.fakeLog.restype = ctypes.c_char_p
        self.driver.fakeClear()
        self.folder = folder
        self.requests = []
        self.shared = lambda request: 0
        self.error = None
        self.apart = []  # pairs of parameters that kernels take to be apart where requests allow it

    def compile(self, text):
        if self.error:
            raise tandem.CompileError(self.error)
        request = json.loads(text)
        self.requests.append(request)
        path = self.folder / f"{len(self.requests)}.tdimage"
        apart = [pair for pair in self.apart if "overlapping" in request and pair not in request["overlapping"]]
        path.write_bytes(image_bytes(request, self.shared(request), apart=apart))
        return _tandem.gpu_load_file(str(path))

    @property
    def launches(self):
        return [line for line in self.driver.fakeLog().decode().splitlines() if line.startswith("launch")]

    @property
    def arguments(self):
        """The last request's."""
        return {a["name"]: {k: v for k, v in a.items() if k != "name"} for a in self.requests[-1]["arguments"]}


@pytest.fixture
def gpu(tmp_path, monkeypatch):
    fake = Gpu(tmp_path)
    monkeypatch.setattr(launcher, "compile_request", fake.compile)
    monkeypatch.setenv("TANDEM_CACHE_DIR", str(tmp_path / "cache"))
    return fake


PTXAS = r"""#!{python}
import re, sys
text = open(sys.argv[-1]).read()
name, listed = re.search(r"\.entry\s+(\w+)\s*\((.*?)\)", text, re.S).groups()
sizes = []
for line in re.findall(r"\.param\s+(.*?),?\s*\n", listed + "\n"):
    array = re.search(r"\.b8\s+\w+\[(\d+)\]", line)
    sizes.append(array[1] if array else str(int(re.search(r"\.[bufs](\d+)", line)[1]) // 8))
open(sys.argv[sys.argv.index("-o") + 1], "w").write("FAKE " + name + " " + (",".join(sizes) or "0") + " 40 0")
"""


@pytest.fixture(scope="module")
def assembler(tmp_path_factory):
    """The compiler is the real one; its output is replaced by a module that the fake driver loads."""
    folder = tmp_path_factory.mktemp("ptxas")
    (folder / "ptxas").write_text(PTXAS.format(python=sys.executable))
    (folder / "ptxas").chmod(0o755)
    return {"TANDEM_PTXAS": str(folder / "ptxas"), "TANDEM_CACHE": "0"}


@pytest.fixture
def compiling_gpu(tmp_path, monkeypatch, assembler):
    """A GPU for kernels that are really compiled."""
    for name, value in assembler.items():
        monkeypatch.setenv(name, value)
    return Gpu(tmp_path)


def on_gpus(main, ranks=2, **options):
    return tandem.launch(main, ranks=ranks, target="cuda", **options)
