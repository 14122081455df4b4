"""Mistakes whose error says what to write instead. Each kernel is wrong at the marked line."""

import math
import types
from math import exp as exponential

import numpy as np
import tandem
import tandem.language as tl


@tandem.jit
def missing_constexpr(x_ptr, n):
    tl.store(x_ptr + tl.arange(0, n), 0.0)  # <-- tl.arange(0, n): `end` must be | `n` is a parameter of the kernel; declare `n:


@tandem.jit
def missing_constexpr_of_product(x_ptr, n):
    tl.store(x_ptr, tl.zeros((n * 2,), tl.float32))  # <-- tl.zeros: `shape` must be | declare `n: tl.constexpr`


@tandem.jit
def constexpr_of_two(x_ptr, n, f):
    m: tl.constexpr = n + f
    tl.store(x_ptr, tl.zeros((m,), tl.float32))  # <-- tl.zeros: `shape` must be | `f`, `n` are parameters | declare `f: tl.constexpr`, `n:


@tandem.jit
def constexpr_of_memory(x_ptr, i_ptr):
    tl.store(x_ptr + tl.arange(0, tl.load(i_ptr)), 0.0)  # <-- tl.arange: `end` must be an integer known


@tandem.jit
def not_a_power(x_ptr):
    tl.store(x_ptr + tl.arange(0, 100), 0.0)  # <-- tl.arange: not a power of 2 | use 128, | `triton.next_power_of_2(100)` | a mask


@tandem.jit
def numpy_function(x_ptr):
    tl.store(x_ptr, np.sqrt(tl.load(x_ptr)))  # <-- np.sqrt: object of the host | use `tl.sqrt`


@tandem.jit
def numpy_synonym(x_ptr):
    tl.store(x_ptr, np.power(tl.load(x_ptr), 2.0))  # <-- np.power: object of the host | use `tl.extra.libdevice.pow`


@tandem.jit
def numpy_without_counterpart(x_ptr):
    tl.store(x_ptr, np.fft(tl.load(x_ptr)))  # <-- np.fft: kernels cannot use it


@tandem.jit
def math_function(x_ptr):
    tl.store(x_ptr, math.exp(tl.load(x_ptr)))  # <-- math.exp: use `tl.exp`


@tandem.jit
def math_of_libdevice(x_ptr):
    tl.store(x_ptr, math.tanh(tl.load(x_ptr)))  # <-- math.tanh: use `tl.extra.libdevice.tanh`


@tandem.jit
def renamed_function(x_ptr):
    tl.store(x_ptr, exponential(tl.load(x_ptr)))  # <-- exponential(: use `tl.exp`


@tandem.jit
def numpy_type(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr).to(np.float16))  # <-- np.float16: use `tl.float16`


@tandem.jit
def numpy_bool(x_ptr):
    tl.store(x_ptr, tl.zeros((4,), np.bool_))  # <-- np.bool_: use `tl.int1`


@tandem.jit
def larger_of_two(x_ptr):
    tl.store(x_ptr, tl.max(tl.load(x_ptr), 0.0))  # <-- tl.max: `tl.maximum(x, y)`


@tandem.jit
def smaller_of_tiles(x_ptr):
    v = tl.load(x_ptr + tl.arange(0, 4))
    tl.store(x_ptr + tl.arange(0, 4), tl.min(v, v + 1))  # <-- tl.min: `tl.minimum(x, y)`


@tandem.jit
def leave_loop(x_ptr, n):
    for i in range(n):
        if i > 3:
            break  # <-- break: `break` is not supported | `while going and ...`


@tandem.jit
def return_from_loop(x_ptr, n):
    while n > 0:
        n -= 1
        return  # <-- return: `return` inside a `while` loop | `return` after it


@tandem.jit
def grow_list(x_ptr):
    values = [1.0]
    values.append(2.0)  # <-- values.append: has no `append` | `values = values + [x]`
    tl.store(x_ptr, values[1])


@tandem.jit
def element_of_tile(x_ptr):
    v = tl.load(x_ptr + tl.arange(0, 4))
    tl.store(x_ptr, v[0])  # <-- v[0]: indexed with `:` and `None` only | a reduction


@tandem.jit
def random_seed(x_ptr):
    tl.store(x_ptr, tl.rand(2.3, 0))  # <-- tl.rand: the seed of random numbers is an integer


@tandem.jit
def pointer_as_seed(x_ptr):
    tl.store(x_ptr, tl.randn(x_ptr, 0))  # <-- tl.randn: the seed of random numbers is an integer


installed = types.ModuleType("triton.language")  # as `import triton.language as installed` gives where Triton is installed


@tandem.jit
def of_the_installed_triton(x_ptr):
    installed.store(x_ptr, 1.0)  # <-- installed: of the installed Triton | `tandem run --compat` | `import tandem.language as tl`
