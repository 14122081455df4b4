"""`kernel[grid](...)` with CUDA arrays, on the fake driver: the compiler's requests, the driver's calls, and refused launches."""

import functools
import gc
import re
import struct
import time
import types
import weakref

import numpy as np
import pytest
from gpu_fake import CupyArray, FakeStorage, FakeTensor, PartOfStorage, bfloat16, float16, gpu, needs_fake  # noqa: F401

import tandem
import tandem.language as tl
from tandem.kernel.mock_tensor import MockTensor

pytestmark = needs_fake


def fresh(text_function):
    """Returns a kernel without the compilations of earlier tests."""
    return tandem.jit(text_function)


def add_kernel(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


def words(line):
    return line.split(" stream ")[1].split()[1:]


def hexed(format, value):
    return struct.pack(format, value).hex()


def test_launch(gpu):
    kernel = fresh(add_kernel)
    compiled = kernel[(3,)](FakeTensor(0x1000), FakeTensor(0x2004), 64, BLOCK=32, num_warps=8)
    assert gpu.launches == [
        f"launch add_kernel on 0 grid 3,1,1 block 256,1,1 shared 0 stream 0 {hexed('<Q', 0x1000)} {hexed('<Q', 0x2004)} {hexed('<i', 64)}"
    ]
    assert gpu.arguments == {
        "x_ptr": {"type": "*fp32", "divisibility": 16},
        "y_ptr": {"type": "*fp32"},
        "n": {"type": "i32", "divisibility": 16},
        "BLOCK": {"constexpr": {"int": "32"}},
    }
    assert gpu.requests[0]["options"] == {"num_warps": 8, "num_stages": 3, "num_ctas": 1, "debug": False, "target": "sm_90a"}
    assert compiled.n_regs == 40 and compiled.n_spills == 2 and compiled.shared == 0
    assert compiled.asm["ptx"].startswith(".version 8.6") and compiled.asm["cubin"].startswith(b"FAKE add_kernel")
    assert set(compiled.asm) == {"ptx", "cubin"}
    assert compiled.metadata.num_warps == 8 and compiled.metadata.target == "sm_90a"


def test_second_launch_is_the_same(gpu):
    kernel = fresh(add_kernel)
    first = kernel[(3,)](FakeTensor(0x1000), FakeTensor(0x2000), 64, 32)
    second = kernel[(5, 2)](FakeTensor(0x3000), FakeTensor(0x4000), 128, BLOCK=32)
    assert first is second and len(gpu.requests) == 1
    assert gpu.launches[1].startswith("launch add_kernel on 0 grid 5,2,1 ")
    assert words(gpu.launches[1]) == [hexed("<Q", 0x3000), hexed("<Q", 0x4000), hexed("<i", 128)]


@pytest.mark.parametrize(
    "change, count",
    [
        (dict(n=63), 2),
        (dict(n=1), 2),
        (dict(n=2**40), 2),
        (dict(n=2**63 + 16), 2),
        (dict(n=True), 2),
        (dict(BLOCK=64), 2),
        (dict(BLOCK=32.0), 2),
        (dict(x_ptr=FakeTensor(0x1004)), 2),
        (dict(x_ptr=FakeTensor(0x1000, float16)), 2),
        (dict(x_ptr=FakeTensor(0x1000, device=1), y_ptr=FakeTensor(0x1000, device=1)), 2),
        (dict(num_stages=4), 2),
        (dict(n=72), 2),
        (dict(n=0), 1),
        (dict(n=-32), 1),
        (dict(x_ptr=FakeTensor(0)), 1),
        (dict(x_ptr=CupyArray(0x1000)), 1),
    ],
)
def test_specialisation(gpu, change, count):
    kernel = fresh(add_kernel)
    base = dict(x_ptr=FakeTensor(0x1000), y_ptr=FakeTensor(0x1000), n=64, BLOCK=32)
    for _ in range(2):
        kernel[(1,)](**base)
        kernel[(1,)](**{**base, **change})
    assert len(gpu.requests) == count and len(gpu.launches) == 4
    assert gpu.launches[1].split(" on ")[1][:1] == ("1" if "y_ptr" in change else "0")
    assert gpu.launches[1] == gpu.launches[3]


def test_divisors(gpu):
    """Rows of sizes that 8, 4 or 2 divide can be accessed by wider words than others."""
    kernel = fresh(add_kernel)
    divisors = {64: 16, 72: 8, 1000: 8, 12: 4, -6: 2, 2**40 + 8: 8, 2**40 + 2: 2, 7: None}
    found = []
    for n in divisors:
        kernel[(1,)](FakeTensor(0x1000), FakeTensor(0x1008), n, 32)
        found.append(gpu.arguments["n"].get("divisibility"))
    assert found == [16, 8, 8, 4, 2, 8, 2, None]
    assert len(gpu.requests) == len(divisors) - 1  # 72 and 1000 are alike
    assert "divisibility" not in gpu.arguments["y_ptr"]


def test_one_becomes_a_constant(gpu):
    fresh(add_kernel)[(1,)](FakeTensor(16), FakeTensor(16), 1, 32)
    assert gpu.arguments["n"] == {"constexpr": {"int": "1"}}
    assert len(words(gpu.launches[0])) == 2


def test_do_not_specialize(gpu):
    kernel = tandem.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=["x_ptr"])(add_kernel)
    for n in (1, 16, 17):
        kernel[(1,)](FakeTensor(16), FakeTensor(16), n, 32)
    assert len(gpu.requests) == 1
    assert gpu.arguments["n"] == {"type": "i32"} and gpu.arguments["x_ptr"] == {"type": "*fp32"}
    assert [words(line)[2] for line in gpu.launches] == [hexed("<i", n) for n in (1, 16, 17)]


@tandem.jit
def numbers(x_ptr, a: tl.int8, b: tl.uint64, c: "fp64", d: tl.float16, e, f, g=None):  # noqa: F821
    pass


def test_numbers(gpu):
    numbers.gpu_kernels.clear()
    for a in (-3, 255):
        numbers[(1,)](FakeTensor(16), a, 2**64 - 1, 3, 1.5, 2.5, False)
    assert [words(line)[1:] for line in gpu.launches] == [
        [hexed("<B", a % 256), hexed("<Q", 2**64 - 1), hexed("<d", 3), hexed("<e", 1.5), hexed("<f", 2.5), "00"] for a in (-3, 255)
    ]
    with pytest.raises(OverflowError, match="256 does not fit type `i8`"):
        numbers[(1,)](FakeTensor(16), 256, 0, 0, 0, 0.0, False)


@tandem.jit
def narrow(x_ptr, a: tl.int8, c: "fp64"):  # noqa: F821
    pass


def test_annotated_numbers_on_the_quick_way(gpu):
    for a, c in ((1, 2), (-128, 2.5), (255, -1.0)):
        narrow[(1,)](FakeTensor(16), a, c)
    assert len(gpu.requests) == 2, "-128 is a multiple of 16"
    assert [words(line)[1:] for line in gpu.launches] == [[hexed("<B", a), hexed("<d", c)] for a, c in ((1, 2), (128, 2.5), (255, -1))]
    for wrong in (256, -129, 2**70):
        with pytest.raises(OverflowError, match="does not fit"):
            narrow[(1,)](FakeTensor(16), wrong, 0.0)


@tandem.jit
def copy_block(d, n):
    d.store([0, 0], d.load([n, 0]))


def test_descriptors(gpu):
    copy_block.gpu_kernels.clear()
    d = tandem.TensorDescriptor.from_tensor(FakeTensor(0x1000, bfloat16, shape=(100, 64)), [16, 32])
    for _ in range(2):
        copy_block[(1,)](d, 3)
    assert gpu.arguments["d"] == {"descriptor": {"dtype": "bf16", "block_shape": [16, 32], "padding": "zero"}}
    expected = [hexed("<Q", 0x1000), hexed("<i", 100), hexed("<i", 64), hexed("<q", 64), hexed("<q", 1), hexed("<i", 3)]
    assert [words(line) for line in gpu.launches] == [expected, expected]
    d.block_shape = [32, 32]
    copy_block[(1,)](d, 3)
    assert len(gpu.requests) == 2


@tandem.jit
def of_tuple(t, n):
    pass


def test_tuples(gpu):
    for n in (2, 3):
        of_tuple[(1,)]((FakeTensor(16), 5), n)
    assert [words(line)[1:] for line in gpu.launches] == [[hexed("<i", 5), hexed("<i", n)] for n in (2, 3)]


def test_grid_functions(gpu):
    kernel = fresh(add_kernel)
    seen = []

    def grid(meta):
        seen.append(meta)
        return (tandem.cdiv(meta["n"], meta["BLOCK"]),)

    for _ in range(2):
        kernel[grid](FakeTensor(16), FakeTensor(16), 100, BLOCK=tl.constexpr(32))
    assert [line.split(" grid ")[1].split()[0] for line in gpu.launches] == ["4,1,1"] * 2
    assert all(m["BLOCK"] == 32 and type(m["BLOCK"]) is int and m["num_warps"] == 4 for m in seen)
    kernel[(0,)](FakeTensor(16), FakeTensor(16), 100, BLOCK=tl.constexpr(32))
    assert len(gpu.launches) == 2
    for wrong, error in (((-1,), ValueError), ("a", TypeError), ((1, 1, 1, 1), ValueError), (lambda meta: 1 / 0, ZeroDivisionError)):
        with pytest.raises(error):
            kernel[wrong](FakeTensor(16), FakeTensor(16), 100, BLOCK=tl.constexpr(32))
    kernel[np.int64(7)](FakeTensor(16), FakeTensor(16), 100, BLOCK=tl.constexpr(32))
    assert " grid 7,1,1 " in gpu.launches[-1]


def test_streams_and_flags(gpu):
    class TorchStream:
        cuda_stream = 9

    kernel = fresh(add_kernel)
    for stream in (5, TorchStream(), None):
        for _ in range(2):
            kernel[(1,)](FakeTensor(16), FakeTensor(16), 64, 32, stream=stream)
    assert [line.split(" stream ")[1].split()[0] for line in gpu.launches] == ["5", "5", "9", "9", "0", "0"]
    for _ in range(2):
        kernel[(2,)](FakeTensor(16), FakeTensor(16), 64, 32, launch_cooperative_grid=True, launch_pdl=True, num_ctas=2)
    assert gpu.launches[-1] == gpu.launches[-2] and " grid 4,1,1 " in gpu.launches[-1]
    assert "cluster 2,1,1 cooperative dependent" in gpu.launches[-1]
    with pytest.raises(TypeError, match="not a CUDA stream"):
        kernel[(1,)](FakeTensor(16), FakeTensor(16), 64, 32, stream="s")


SCALE = 3


@tandem.jit
def scaled(x_ptr):
    tl.store(x_ptr, SCALE)


def test_changed_globals_compile_again(gpu):
    global SCALE
    for SCALE in (3, 4, 4, 3):
        scaled[(1,)](FakeTensor(16))
    assert len(gpu.requests) == 2  # one for each value


WIDTHS, options = [1, 2], types.SimpleNamespace(factor=3)


def make_mixed():
    offset = 5

    @tandem.jit
    def mixed(x):
        tl.store(x, WIDTHS[0] * options.factor + offset)

    def change():
        nonlocal offset
        offset += 1

    return mixed, change


def test_whatever_the_kernel_read_of_the_host_is_looked_at_before_a_quick_launch(gpu):
    mixed, change_offset = make_mixed()
    changes = [
        lambda: None,
        lambda: None,
        lambda: WIDTHS.append(9),
        lambda: WIDTHS.__setitem__(0, 4),
        lambda: setattr(options, "factor", 8),
        change_offset,
        lambda: delattr(options, "factor"),
    ]
    compiled = []
    for change in changes:
        change()
        mixed[(1,)](FakeTensor(16))
        compiled.append(len(gpu.requests))
    assert compiled == [1, 1, 2, 3, 4, 5, 6]


def test_mixed_devices_use_the_current_one(gpu):
    fresh(add_kernel)[(1,)](FakeTensor(16, device=1), FakeTensor(16, device=0), 64, 32)
    assert " on 0 " in gpu.launches[0]


def test_refused(gpu):
    kernel = fresh(add_kernel)
    with pytest.raises(TypeError, match="argument `y_ptr` of kernel `add_kernel` is an array of the host"):
        kernel[(1,)](FakeTensor(16), FakeTensor(16, device=-1), 64, 32)
    with pytest.raises(TypeError, match="an array of the host"):
        kernel[(1,)](FakeTensor(16), np.zeros(4), 64, 32)
    with pytest.raises(TypeError, match="is a `object`"):
        kernel[(1,)](FakeTensor(16), object(), 64, 32)
    with pytest.raises(TypeError, match="missing a required argument: 'n'"):
        kernel[(1,)](FakeTensor(16), FakeTensor(16), BLOCK=32)
    with pytest.raises(TypeError, match="no parameter `oops`"):
        kernel[(1,)](FakeTensor(16), FakeTensor(16), 64, 32, oops=1)
    with pytest.raises(TypeError, match="multiple values|too many"):
        kernel[(1,)](FakeTensor(16), FakeTensor(16), 64, 32, n=3)
    gpu.error = "k.py:1:1: error: wrong"
    with pytest.raises(tandem.CompileError, match="wrong"):
        kernel[(1,)](FakeTensor(16), FakeTensor(16), 64, 32)


def test_out_of_resources(gpu):
    gpu.shared = lambda request: 300000
    with pytest.raises(tandem.OutOfResources, match="needs 300000 bytes of shared memory, the device has 232448"):
        fresh(add_kernel)[(1,)](FakeTensor(16), FakeTensor(16), 64, 32)


def test_warmup_and_the_compiled_kernel(gpu):
    kernel = fresh(add_kernel)
    compiled = kernel.warmup(FakeTensor(16), FakeTensor(16), 64, BLOCK=32, num_warps=2, grid=(1,))
    compiled._init_handles()
    assert not gpu.launches and compiled.n_regs == 40
    compiled[(4,)](FakeTensor(16), FakeTensor(16), 64, 32)
    assert len(gpu.requests) == 1 and " grid 4,1,1 block 64,1,1 " in gpu.launches[0]


def test_a_compiled_kernel_is_launched_again_and_again(gpu):
    kernel, x, y = fresh(add_kernel), FakeTensor(16), FakeTensor(32)
    compiled = kernel.warmup(x, y, 64, BLOCK=32, num_warps=2, grid=(1,))
    for _ in range(3):
        kernel[(1,)](x, y, 64, 32)
        compiled[lambda meta: (meta["n"] // meta["BLOCK"],)](x, y, 64, 32)
        compiled[(3,)](x, y, 64, BLOCK=16)  # no launch looks at the constants
        compiled[(5,)](FakeTensor(24), y, 128, 32)
    places = [re.search(r" grid (\d+),1,1 block (\d+),", line).groups() for line in gpu.launches]
    assert places == 3 * [("1", "128"), ("2", "64"), ("3", "64"), ("5", "64")] and len(gpu.requests) == 2
    assert words(gpu.launches[-1]) == [hexed("<Q", 24), hexed("<Q", 32), hexed("<i", 128)]
    for _ in range(2):
        with pytest.raises(OverflowError, match="n"):
            compiled[(1,)](x, y, 1 << 40, 32)
        with pytest.raises(TypeError, match="num_stages"):
            compiled[(1,)](x, y, 64, 32, num_stages=2)
        assert kernel.warmup(x, y, 64, BLOCK=32, num_warps=2, grid=(1,)) is compiled
    assert len(gpu.launches) == 12


def test_host_arrays_still_run_on_the_simulator(gpu):
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    kernel = fresh(add_kernel)
    for _ in range(2):
        y[:] = 0
        kernel[(2,)](x, y, 64, 32)
        assert (y == 1).all()
    assert not gpu.launches


def test_devices(gpu):
    assert [d["target"] for d in tandem.gpu.devices()] == ["sm_90a", "sm_80"]
    assert tandem.gpu.is_available()
    tandem.gpu.synchronize(0)


def test_the_real_compiler_answers(gpu, monkeypatch):
    """Whatever the build can do for GPUs, the answer is a kernel or a diagnostic."""
    monkeypatch.undo()
    monkeypatch.setenv("TANDEM_CACHE", "0")
    try:
        fresh(add_kernel).warmup(FakeTensor(16), FakeTensor(16), 64, BLOCK=32)
    except tandem.CompileError as error:
        assert "sm_90a" in str(error)


def test_kernels_are_collected(gpu):
    kernel = fresh(add_kernel)
    kernel[(1,)](FakeTensor(16), FakeTensor(16), 64, 32)
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None


def asked(request):
    return request.get("overlapping")


def test_tensors_with_common_memory_get_a_kernel_of_their_own(gpu):
    """A kernel that takes its arguments to be apart is for calls where they are: parts of one storage are not, wherever they begin."""
    gpu.apart = [["x_ptr", "y_ptr"]]
    kernel = fresh(add_kernel)
    one, other = FakeStorage(0x1000, 256), FakeStorage(0x2000, 256)
    inside = FakeStorage(0x1080, 64)  # of another owner, in the same memory
    apart = kernel[(1,)](PartOfStorage(one), PartOfStorage(other), 64, 32)
    assert apart.apart == [["x_ptr", "y_ptr"]] and [asked(r) for r in gpu.requests] == [[]]
    common = kernel[(1,)](PartOfStorage(one), PartOfStorage(one, 128), 64, 32)
    assert common is not apart and asked(gpu.requests[1]) == [["x_ptr", "y_ptr"]] and len(gpu.requests) == 2
    for _ in range(2):  # each call finds its kernel again
        assert kernel[(1,)](PartOfStorage(other), PartOfStorage(one), 64, 32) is apart
        assert kernel[(1,)](PartOfStorage(other, 64), PartOfStorage(other), 64, 32) is common
        assert kernel[(1,)](PartOfStorage(one), PartOfStorage(inside), 64, 32) is common
        assert kernel[(1,)](PartOfStorage(one), FakeTensor(0x5000), 64, 32) is common
    assert len(gpu.requests) == 2


def test_a_compiled_kernel_is_replaced_for_common_memory(gpu):
    gpu.apart = [["x_ptr", "y_ptr"]]
    one, other = FakeStorage(0x1000, 256), FakeStorage(0x2000, 256)
    compiled = fresh(add_kernel).warmup(MockTensor(float16), MockTensor(float16), 64, 32, grid=(1,))
    compiled[(1,)](PartOfStorage(one), PartOfStorage(other), 64, 32)
    assert len(gpu.requests) == 1
    compiled[(1,)](PartOfStorage(one), PartOfStorage(one), 64, 32)
    assert [asked(r) for r in gpu.requests] == [[], [["x_ptr", "y_ptr"]]] and len(gpu.launches) == 2


def test_nothing_is_promised_of_arrays_that_do_not_tell_their_memory(gpu):
    gpu.apart = [["x_ptr", "y_ptr"]]
    kernel = fresh(add_kernel)
    for _ in range(2):
        kernel[(1,)](FakeTensor(0x1000), PartOfStorage(FakeStorage(0x2000, 256)), 64, 32)
        kernel[(1,)](CupyArray(0x1000), CupyArray(0x2000), 64, 32)
    assert [asked(r) for r in gpu.requests] == [None]


def test_parts_of_tuples_are_looked_at(gpu):
    gpu.apart = [["pair.0", "pair.1"]]

    @tandem.jit
    def kernel(pair):
        pass

    one, other = FakeStorage(0x1000, 256), FakeStorage(0x2000, 256)
    kernel[(1,)]((PartOfStorage(one), PartOfStorage(other)))
    kernel[(1,)]((PartOfStorage(one), PartOfStorage(one)))
    assert [asked(r) for r in gpu.requests] == [[], [["pair.0", "pair.1"]]]


def test_launch_overhead(gpu):
    kernel = fresh(add_kernel)
    arguments, grid, count = (FakeTensor(16), FakeTensor(16), 64, 32), (1,), 2000
    compiled = kernel[grid](*arguments)
    for call in (kernel[grid], compiled[grid], functools.partial(kernel.warmup, grid=grid)):
        call(*arguments)
        start = time.perf_counter()
        for _ in range(count):
            call(*arguments)
        microseconds = (time.perf_counter() - start) / count * 1e6
        assert microseconds < 100, f"{microseconds:.1f} us a call"
