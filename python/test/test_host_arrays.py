"""Arrays on the host as kernel arguments, without copies: a framework's tensors, views of larger storages, tables of pointers, DLPack."""

import ctypes
import gc
import sys
import types
import weakref

import ml_dtypes
import numpy as np
import pytest

import tandem
import tandem.language as tl
from tandem.kernel.tensor_wrapper import reinterpret


class DType:
    """PyTorch's element types are objects of their own."""

    def __init__(self, name):
        self.word = name

    def __str__(self):
        return f"torch.{self.word}"


class Tensor:
    """Has the attributes of a PyTorch tensor on the CPU that a kernel's launch reads; `.numpy()` refuses, as PyTorch
    does for bf16 and for tensors with a
    gradient."""

    device = types.SimpleNamespace(type="cpu")
    requires_grad = True

    def __init__(self, storage, dtype, shape, strides, offset=0):
        self.memory, self.dtype, self.shape, self._strides, self.offset = storage, DType(dtype), shape, strides, offset

    def numpy(self):
        raise TypeError("Got unsupported ScalarType")

    def element_size(self):
        return self.memory.itemsize

    def stride(self):
        return self._strides

    def data_ptr(self):
        return self.memory.ctypes.data + self.offset * self.memory.itemsize

    def get_device(self):
        return -1

    def untyped_storage(self):
        return types.SimpleNamespace(data_ptr=lambda: self.memory.ctypes.data, nbytes=lambda: self.memory.nbytes)


def tensor(array, name=None):
    return Tensor(array, name or array.dtype.name, array.shape, [s // array.itemsize for s in array.strides])


@pytest.fixture
def torch(monkeypatch):
    """A `torch` whose tensors the simulator finds by their addresses."""
    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(Tensor=Tensor))


@tandem.jit
def double(x_ptr, y_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(y_ptr + i, (tl.load(x_ptr + i).to(tl.float32) * 2).to(y_ptr.dtype.element_ty))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float16", "float32"])
def test_every_type_of_a_tensor(name):
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    x, y = (np.arange(16) % 4).astype(dtype), np.zeros(16, dtype)
    double[(1,)](tensor(x), tensor(y), 16)
    np.testing.assert_array_equal(y.astype(np.float32), 2 * (np.arange(16) % 4))


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float32", "int8"])
def test_tensors_of_the_team_hold_every_type(name):
    dtype = np.dtype(getattr(ml_dtypes, name, None) or name)
    source = (np.arange(24) % 4).astype(dtype).reshape(4, 6)

    def main(team):
        for given in (tensor(source), tensor(source.T), tensor(source[1:, ::2]), tensor(source[:0])):
            expected = (
                source.T
                if given.shape == (6, 4)
                else source[:0]
                if 0 in given.shape
                else source
                if given.shape == (4, 6)
                else source[1:, ::2]
            )
            for x in (team.from_array(given), team.local_from_array(given), team.zeros(given.shape, dtype)):
                x[...] = given
                assert x.dtype == dtype and (np.asarray(x) == expected).all()
                assert (np.asarray(x.copy_(given)) == expected).all()

    tandem.launch(main, ranks=2)


def test_a_tensor_of_the_team_of_an_unknown_type():
    for wrong, message in (
        (tensor(np.zeros(4, np.complex64)), "`torch.complex64` cannot be"),
        (Exporter(np.zeros(4), True, (5, 64)), "DLPack"),
    ):
        with pytest.raises(TypeError, match=message):
            tandem.launch(lambda team: team.from_array(wrong))


def test_a_type_that_kernels_do_not_have():
    x = tensor(np.zeros(4, np.complex64))
    with pytest.raises(TypeError, match="argument `x_ptr` of kernel `double`: arrays of dtype `torch.complex64` cannot be"):
        double[(1,)](x, x, 4)


def test_a_tensor_elsewhere():
    x = tensor(np.zeros(4, np.float32))
    x.device = types.SimpleNamespace(type="meta")
    with pytest.raises(TypeError, match="argument `x_ptr` of kernel `double`: a tensor on .* is no array of the host"):
        double[(1,)](x, x, 4)


@tandem.jit
def shift(x_ptr, by, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x_ptr + i, tl.load(x_ptr + i + by))


def test_all_of_a_storage_is_in_reach():
    memory = np.arange(32, dtype=np.float32)
    view = Tensor(memory, "float32", (8,), (1,), offset=8)
    shift[(1,)](view, -8, 8)
    np.testing.assert_array_equal(memory[:16], [*range(8), *range(8)])
    shift[(1,)](view, 16, 8)
    np.testing.assert_array_equal(memory[8:16], range(24, 32))
    with pytest.raises(tandem.SimulationError, match="`host array` on rank 0, which has 128 bytes"):
        tandem.launch(lambda team: shift[(1,)](view, 17, 8))
    with pytest.raises(tandem.SimulationError, match="bytes before `host array`"):
        tandem.launch(lambda team: shift[(1,)](view, -9, 8))


def test_of_a_numpy_view_only_the_view_is():
    memory = np.arange(32, dtype=np.float32)
    with pytest.raises(tandem.SimulationError, match="`host array` on rank 0, which has 32 bytes"):
        tandem.launch(lambda team: shift[(1,)](memory[8:16], 1, 8))


@tandem.jit
def spin_up(flag_ptr, x_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), 7)


def test_nothing_is_copied():
    """A gigabyte of which a kernel touches one element, and what it writes is there at once."""
    memory = np.zeros(2**28, np.float32)
    view = Tensor(memory, "float32", (1,), (1,), offset=2**27)
    for _ in range(200):
        shift[(1,)](view, 0, 1)
    tandem.launch(lambda team: spin_up[(1,)](memory, view, 1, stream=team.stream))
    assert memory[2**27] == 7


@tandem.jit
def add_one_through(table_ptr, N: tl.constexpr):
    p = tl.load(table_ptr + tl.program_id(0)).to(tl.pointer_type(tl.int32))
    i = tl.arange(0, N)
    tl.store(p + i, tl.load(p + i) + 1)


def test_a_table_of_arguments():
    @tandem.jit
    def both(table_ptr, a_ptr, N: tl.constexpr):
        p = tl.load(table_ptr).to(tl.pointer_type(tl.int32))
        tl.store(p, tl.load(a_ptr) + 1)
        tl.store(p + 1, tl.load(a_ptr) + 1)

    a = np.zeros(4, np.int32)
    both[(1,)](np.array([a.ctypes.data]), a, 4)
    np.testing.assert_array_equal(a, [1, 2, 0, 0])


def test_a_table_of_tensors(torch):
    tensors = [tensor(np.full(8, n, np.int32)) for n in range(4)]
    table = np.array([t.data_ptr() for t in tensors])
    for count in (1, 2):
        add_one_through[(4,)](table, 8)
        assert [t.memory.tolist() for t in tensors] == [[n + count] * 8 for n in range(4)]
    tandem.launch(lambda team: add_one_through[(4,)](team.from_array(table), 8), ranks=2)
    assert [t.memory[0] for t in tensors] == [n + 4 for n in range(4)]


def test_a_table_whose_tensor_has_gone(torch):
    lost = tensor(np.zeros(8, np.int32))
    kept, table = lost.memory, np.array([lost.data_ptr()])
    del lost
    gc.collect()
    with pytest.raises(tandem.SimulationError, match=f"address {kept.ctypes.data:#x}, which is in no buffer"):
        tandem.launch(lambda team: add_one_through[(1,)](table, 8))


def test_a_tensor_out_of_a_table_lives_as_long_as_it_is_used(torch):
    x = tensor(np.zeros(8, np.int32))
    memory, gone = x.memory, weakref.ref(x)
    table = np.array([x.data_ptr()])

    def main(team):
        nonlocal x
        add_one_through[(1,)](team.local_from_array(table), 8)
        team.synchronize()
        x = None
        gc.collect()
        assert gone() is None and memory[0] == 1

    tandem.launch(main)


def test_past_the_end_through_a_table(torch):
    x = tensor(np.zeros(4, np.int32))
    with pytest.raises(tandem.SimulationError, match="`host tensor` on rank 0, which has 16 bytes"):
        tandem.launch(lambda team: add_one_through[(1,)](np.array([x.data_ptr()]), 8))


@tandem.jit
def all_write(x_ptr):
    tl.store(x_ptr, tl.program_id(0))


def test_programs_race_on_host_arrays(torch):
    x = tensor(np.zeros(8, np.int32))
    for run in (
        lambda team: all_write[(2,)](x.memory),
        lambda team: all_write[(2,)](x),
        lambda team: add_one_through[(2,)](np.array([x.data_ptr()] * 2), 8),
    ):
        with pytest.raises(tandem.SimulationError, match="race"):
            tandem.launch(run, check=True)


def test_streams_race_on_a_host_array():
    x = np.zeros(8, np.int32)

    def main(team, ordered):
        other = team.new_stream()
        all_write[(1,)](x, stream=team.stream)
        if ordered:
            other.wait_event(team.stream.record_event())
        all_write[(1,)](x, stream=other)

    tandem.launch(main, args=(True,), check=True)
    with pytest.raises(tandem.SimulationError, match="race"):
        tandem.launch(main, args=(False,), check=True)


@tandem.jit
def waits_for(x_ptr, N: tl.constexpr):
    if tl.program_id(0) == 0:
        while tl.atomic_add(x_ptr, 0) < N - 1:
            pass
    else:
        tl.atomic_add(x_ptr, 1)


def test_atomics_and_waits_on_a_host_array():
    x = tensor(np.zeros(1, np.int32))
    tandem.launch(lambda team: waits_for[(5,)](x, 5), check=True)
    assert x.memory[0] == 4


class Exporter:
    """An array that speaks nothing but DLPack."""

    def __init__(self, array, versioned, kind=None, read_only=False):
        self.array, self.versioned, self.kind, self.read_only = array, versioned, kind, read_only

    def __dlpack_device__(self):
        return 1, 0

    def __dlpack__(self, **wanted):
        if wanted and not self.versioned:
            raise TypeError("unexpected keyword")
        from tandem.host.memory import _DLTensor, _Versioned

        a, integers = self.array, ctypes.c_int64 * self.array.ndim
        code, bits = self.kind or ({"i": 0, "u": 1, "f": 2}[a.dtype.kind], a.itemsize * 8)
        strides = integers(*(s // a.itemsize for s in a.strides))
        t = _DLTensor(a.ctypes.data - 8, 1, 0, a.ndim, code, bits, 1, integers(*a.shape), strides, 8)
        self.kept = _Versioned(1, 0, None, None, int(self.read_only), t) if self.versioned else t
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.kept), b"dltensor_versioned" if self.versioned else b"dltensor", None)


@pytest.mark.parametrize("versioned", [True, False])
@pytest.mark.parametrize(
    "dtype, kind", [(np.float32, None), (np.int16, None), (ml_dtypes.bfloat16, (4, 16)), (ml_dtypes.float8_e4m3fn, (10, 8))]
)
def test_dlpack(versioned, dtype, kind):
    x, y = (np.arange(16) % 4).astype(dtype), np.zeros(16, dtype)
    double[(1,)](Exporter(x, versioned, kind), Exporter(y, versioned, kind), 16)
    np.testing.assert_array_equal(y.astype(np.float32), 2 * (np.arange(16) % 4))


def test_tensors_of_the_team_take_dlpack():
    source = np.arange(16).astype(ml_dtypes.bfloat16).reshape(4, 4)[:, ::2]

    def main(team):
        x = team.from_array(Exporter(source, True, (4, 16), read_only=True))
        assert x.dtype == ml_dtypes.bfloat16 and (np.asarray(x) == source).all()

    tandem.launch(main)


def test_dlpack_that_is_read_only():
    x = np.ones(4, np.float32)
    with pytest.raises(ValueError, match="wrote to argument `y_ptr`, a host array that is read-only"):
        double[(1,)](x, Exporter(np.zeros(4, np.float32), True, read_only=True), 4)
    with pytest.raises(TypeError, match=r"argument `x_ptr` of kernel `double`: arrays of DLPack's type \(5, 64\)"):
        double[(1,)](Exporter(x, True, (5, 64)), x, 4)


def test_pytorch():
    torch = pytest.importorskip("torch")
    x = torch.arange(32, dtype=torch.float32).to(torch.bfloat16).requires_grad_()
    y = torch.zeros(32, dtype=torch.bfloat16)
    double[(1,)](x, y, 32)
    assert torch.equal(y, x.detach() * 2)
    shift[(1,)](y[8:16], -8, 8)
    assert torch.equal(y[8:16], y[:8])
    tensors = [torch.full((8,), n, dtype=torch.int32) for n in range(3)]
    add_one_through[(3,)](torch.tensor([t.data_ptr() for t in tensors]), 8)
    assert [t.tolist() for t in tensors] == [[n + 1] * 8 for n in range(3)]


def test_pytorch_as_another_type():
    torch = pytest.importorskip("torch")
    x, y = (reinterpret(torch.full((8,), -1, dtype=torch.int32), tl.uint32) for _ in range(2))
    double[(1,)](x, y, 8)
    assert y.base.tolist() == [-1] * 8  # the largest uint32, which is all that twice its value can become
    x.data = x.data[:4]
    assert x.data.shape == (4,) and x.shape == (8,)


def test_pytorch_in_tensors_of_the_team():
    torch = pytest.importorskip("torch")

    def main(team):
        for dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2, torch.float32, torch.int64, torch.bool):
            given = (torch.arange(24) % 4).reshape(4, 6).to(torch.float32).to(dtype)
            if dtype.is_floating_point:
                given.requires_grad_()
            for part in (given, given.t(), given[1:, ::2]):
                x = team.from_array(part)
                assert np.asarray(x).astype(np.float32).tolist() == part.detach().to(torch.float32).tolist()
                x[...] = part

    tandem.launch(main, ranks=2)
