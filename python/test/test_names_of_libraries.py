"""Names and habits of libraries of Triton kernels: `triton.experimental.gluon`, `triton.tools.ragged_tma`, constants that decide."""

import math
import os
import subprocess
import sys
from math import floor as floor_of

import numpy as np
import pytest

import tandem
import tandem.language as tl
from tandem.compat.ragged import create_ragged_descriptor, load_ragged, store_ragged
from tandem.compat.triton_driver import driver


GLUON = """
import tandem
import tandem.compat
tandem.compat.install()
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import tma

@gluon.jit
def kernel(x, layout: gl.constexpr = gl.BlockedLayout([1], [32], [4], [0])):
    gl.arange(0, 64, layout)

assert kernel.arg_names == ["x", "layout"]
try:
    kernel[(1,)](None)
except tandem.CompileError as error:
    print(error)
"""


def test_gluon_imports_and_its_kernels_are_refused():
    done = subprocess.run([sys.executable, "-c", GLUON], capture_output=True, text=True)
    assert "`kernel` is a Gluon kernel; Tandem compiles kernels of Triton's language only" in done.stdout, done.stderr


HOST = """
import tandem.compat
tandem.compat.install()
import triton
import triton.language as tl
from triton.language.target_info import cuda_capability_geq, is_cuda, is_hip

def annotated(x: tl.tensor | tl.tensor_descriptor | None):
    pass

print(is_cuda(), is_hip(), cuda_capability_geq(99), triton.runtime.jit.constexpr_function is triton.constexpr_function)

from triton.runtime._allocation import NullAllocator

triton.set_allocator(NullAllocator())
signed = list(map(tl.dtype, tl.dtype.SINT_TYPES))
assert eval(repr(signed + [tl.pointer_type(tl.float8e5)])) == [tl.int8, tl.int16, tl.int32, tl.int64, tl.pointer_type(tl.float8e5)]
"""


def test_questions_of_the_host():
    done = subprocess.run([sys.executable, "-c", HOST], capture_output=True, text=True)
    assert done.stdout.split() == ["True", "False", "False", "True"], done.stderr


WITHOUT_GPU = """
import tandem.compat
tandem.compat.install()
import triton

driver = triton.runtime.driver.active
target = driver.get_current_target()
print(driver.get_current_device(), target.backend, target.arch, driver.utils.get_device_properties(0)["multiprocessor_count"])
"""


def test_without_a_gpu_the_current_one_is_simulated():
    hidden = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", WITHOUT_GPU], capture_output=True, text=True, env=hidden)
    assert done.stdout.split() == ["0", "cuda", "90", "132"], done.stderr


USED = """
import numpy as np
import tandem.compat
tandem.compat.install()
import triton
import triton.language as tl

@triton.must_use_result
@triton.jit
def cube(x):
    return x * x * x

@triton.must_use_result("It changes nothing.")
@triton.jit
def square(x):
    return x * x

@triton.jit
def kernel(x, HOW: tl.constexpr):
    if HOW == 0:
        tl.store(x, cube(tl.load(x)) + square(2))
    elif HOW == 1:
        cube(tl.load(x))
    else:
        square(3)

x = np.full(1, 2, np.int32)
kernel[(1,)](x, 0)
print(x[0])
for how in (1, 2):
    try:
        kernel[(1,)](x, how)
    except triton.CompilationError as error:
        print("the result of `" in str(error), str(error).splitlines()[1].strip())
"""


def test_results_that_must_be_used(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(USED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["12", "True cube(tl.load(x))", "True square(3)"], done.stderr


@tandem.jit
def powers(out, N: tl.constexpr):
    for i in tl.static_range(N):
        tl.store(out + i, tandem.next_power_of_2(i) + tandem.cdiv(i, 2) * 100)


def test_sizes_are_the_same_on_the_host_and_in_kernels():
    out = np.zeros(6, np.int32)
    powers[(1,)](out, 6)
    assert [tandem.next_power_of_2(n) for n in range(6)] == [0, 1, 2, 4, 4, 8]  # of a part that is not there, as in Triton
    assert out.tolist() == [0, 101, 102, 204, 204, 308]


@tandem.jit
def of_constants(out, N: tl.constexpr):
    scale: tl.constexpr = math.log2(math.e) / math.sqrt(2 * N)
    tl.store(out, scale)
    tl.store(out + 1, floor_of(N / 3) + math.ceil(N / 3))


def test_mathematics_of_constants():
    out = np.zeros(2, np.float32)
    of_constants[(1,)](out, 32)
    assert out.tolist() == [np.float32(math.log2(math.e) / 8), 21]


LARGE = 2


@tandem.jit
def limits(x, out):
    i = tl.arange(0, 4)
    v = tl.load(x + i)
    tl.store(out + i, tl.where(v > 0, v, -np.finfo(dtype=np.float32).max))
    tl.store(out + 4, np.log2(8) * np.iinfo(np.int8).max)
    tl.store(out + 5, np.power(LARGE, 3) + tl.cdiv(4, 2))


def test_the_host_calls_its_functions_on_constants():
    out = np.zeros(6, np.float32)
    limits[(1,)](np.array([1, -1, 2, 0], np.float32), out)
    least = np.finfo(np.float32).min
    assert out.tolist() == [1, least, 2, least, 3 * 127, 10]


integers = tandem.constexpr_function(tl.get_int_dtype)


@tandem.jit
def answers(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    bits = tl.load(x + i).to(integers(bitwidth=32, signed=True), bitcast=True)
    tl.static_assert(tl.target_info.is_cuda())
    halves = tl.reshape(bits, bits.shape[:-1] + [2, BLOCK // 2])
    tl.store(out + i, tl.reshape(halves, [BLOCK]))


def test_a_function_of_the_language_answers_on_the_host_and_in_kernels():
    x = np.arange(8, dtype=np.float32)

    def main(team):
        out = team.local_from_array(np.zeros(8, np.int32))
        answers[(1,)](team.local_from_array(x), out, BLOCK=8)
        return np.array(out)

    np.testing.assert_array_equal(tandem.launch(main, ranks=1).values[0], x.view(np.int32))
    assert tl.get_int_dtype(16, False) == tl.uint16 and tl.str_to_ty("i8") == tl.int8


@tandem.jit
def moves(source, dest, offset, size, row, BLOCK: tl.constexpr):
    store_ragged(dest, offset, size, [row, 0], load_ragged(source, offset, size, [row, 0]) + 1)


def test_a_ragged_access_stays_in_its_subarray():
    x = np.arange(20 * 8, dtype=np.float32).reshape(20, 8)
    offset, size = 5, 6

    def main(team):
        source, dest = team.local_from_array(x), team.local_from_array(np.zeros_like(x))
        for row in range(0, 8, 4):
            moves[(1,)](create_ragged_descriptor(source, [4, 8]), create_ragged_descriptor(dest, [4, 8]), offset, size, row, BLOCK=4)
        return np.array(dest)

    want = np.zeros_like(x)
    want[offset : offset + size] = x[offset : offset + size] + 1
    np.testing.assert_array_equal(tandem.launch(main, ranks=1).values[0], want)


def test_ragged_descriptors_refuse_what_they_cannot_hold():
    def main(team):
        x = team.local_from_array(np.zeros((4, 4), np.float32))
        with pytest.raises(AssertionError, match="the last dimension cannot be ragged"):
            create_ragged_descriptor(x, [2, 2], ragged_dim=1)
        with pytest.raises(AssertionError, match="`block_shape` has 1 sizes"):
            create_ragged_descriptor(x, [2])

    tandem.launch(main, ranks=1)


@tandem.jit
def decides(x, out, FLAG: tl.constexpr):
    value = tl.load(x)
    if value > 0 and FLAG:
        tl.store(out, 1)
    if value > 0 or FLAG:
        tl.store(out + 1, 1)


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("number", [0, 1])
def test_a_constant_behind_a_value_decides(number, flag):
    def main(team):
        x, out = team.local_from_array(np.array([number], np.int32)), team.local_from_array(np.zeros(2, np.int32))
        decides[(1,)](x, out, FLAG=flag)
        return np.array(out)

    got = tandem.launch(main, ranks=1).values[0]
    assert got.tolist() == [bool(number and flag), bool(number or flag)]


def plain(n):
    return n // 2


@tandem.constexpr_function
def half(n):
    return plain(n)


@tandem.jit
def counts(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, half(BLOCK)), 1)


def test_a_function_of_compile_time_calls_one_of_python():
    def main(team):
        out = team.local_from_array(np.zeros(8, np.int32))
        counts[(1,)](out, BLOCK=8)
        return np.array(out)

    assert tandem.launch(main, ranks=1).values[0].tolist() == [1, 1, 1, 1, 0, 0, 0, 0]


def test_a_function_of_the_language_stays_one_of_compile_time():
    assert tandem.constexpr_function(tl.cdiv) is tl.cdiv


def test_what_a_kernel_can_read():
    factor = 3

    @tandem.jit
    def scaled(x_ptr):
        tl.store(x_ptr, tl.load(x_ptr) * factor)

    scope = scaled.get_capture_scope()
    assert scope["factor"] == 3 and scope["tl"] is tl and "x_ptr" not in scope


def test_there_is_one_driver():
    before = driver.active
    driver.set_active(object())
    assert driver.active is before
    driver.reset_active()
    assert driver.active is before


def test_a_kernel_written_from_a_template_names_the_templates_place():
    @tandem.jit
    def template(x_ptr):
        tl.store(x_ptr, 1)

    def empty():
        pass

    made = tandem.jit(empty)
    made._unsafe_update_src("def empty(x_ptr):\n    tl.store(x_ptr, 2)\n")
    made.raw_src, made.starting_line_number = list(template.raw_src), 1234
    made.fn.__code__ = made.fn.__code__.replace(co_filename="template.py")
    assert template.raw_src[0].strip() == "@tandem.jit" and template.starting_line_number == template.fn.__code__.co_firstlineno
    assert made.line == 1234 and made.file.endswith("template.py")
