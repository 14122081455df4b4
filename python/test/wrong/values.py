"""Values of the host, code by thread, signals, passed functions. Each kernel is wrong at the marked line."""

import math

import numpy as np

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem import simt
from tandem.simt import tid

L = [1, 2]
NP = np.arange(4)
G = object()


def plain(x):
    return x


class Cls:
    v = 3


@tandem.jit
def add_three(a, b, c):
    return a + b + c


@tandem.jit
def to_tile(a, b):
    return tl.arange(0, 4)


@tandem.jit
def plain_function(x_ptr):
    tl.store(x_ptr, plain(1.0))  # <-- plain: without `@tandem.jit`


@tandem.jit
def host_class(x_ptr):
    tl.store(x_ptr, Cls().v)  # <-- Cls: `Cls` is a `type` object of the host


@tandem.jit
def host_array(x_ptr):
    tl.store(x_ptr, NP)  # <-- NP: `NP` is a `ndarray` object of the host


@tandem.jit
def host_object(x_ptr):
    tl.store(x_ptr, G)  # <-- G: `G` is a `object` object of the host


@tandem.jit
def huge_string(x_ptr):
    s: tl.constexpr = "a" * 10**10  # <-- "a": repeating 1 elements 10000000000 times gives more than


@tandem.jit
def huge_list(x_ptr):
    s = [0] * 10**10  # <-- [0]: repeating 1 elements 10000000000 times gives more than


@tandem.jit
def power_tower(x_ptr):
    s: tl.constexpr = 2 ** 2 ** 40  # <-- 2 **: the result of 2 ** 1099511627776 is too large


@tandem.jit
def host_list_element(x_ptr, n):
    L[0] = 5  # <-- L: elements of list of 2 cannot be assigned


@tandem.jit
def host_list_append(x_ptr, n):
    L.append(n)  # <-- L: list of 2 has no `append`


@tandem.jit
def tile_in_thread(x_ptr, n):
    if tid(0) == 0:
        tl.store(x_ptr + tl.arange(0, 4), 1.0)  # <-- tl: `tile.store` of a tile cannot stand under a condition that


@tandem.jit
def tile_of_threads(x_ptr, n):
    y = tl.arange(0, 4) + tid(0)  # <-- tl: a tile cannot depend on the thread index
    tl.store(x_ptr + y, 1.0)


@tandem.jit
def st_of_tile(x_ptr, n):
    simt.st(x_ptr + tl.arange(0, 4), 1.0)  # <-- simt: `ptr` must be a scalar pointer, not `pointer<fp32>[4]`


@tandem.jit
def ld_scope(x_ptr, n):
    simt.ld(x_ptr, scope="moon")  # <-- simt: `scope` is `moon`, which is none of `cta`, `gpu`, `sys`,


@tandem.jit
def put_of_number(x_ptr, n):
    shmem.putmem_block(x_ptr, 5, 4, 0)  # <-- shmem: `source` must be a scalar pointer, not constexpr 5


@tandem.jit
def put_of_fraction(x_ptr, n):
    shmem.putmem_block(x_ptr, x_ptr, 4.5, 0)  # <-- shmem: `bytes` must be an integer, not constexpr 4.5


@tandem.jit
def signal_type(x_ptr, f):
    shmem.signal_op(x_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, f)  # <-- shmem: must point to uint64 or int64, not fp32


@tandem.jit
def wait_comparison(x_ptr, f):
    shmem.signal_wait_until(x_ptr, 99, 1)  # <-- shmem: `cmp_` is 99, which is no comparison (`NVSHMEM_CMP_EQ` to


@tandem.jit
def wait_compare_word(s_ptr, n):
    dl.wait(s_ptr, 1, "sys", "acquire", compare="near")  # <-- dl: `compare` is `near`, which is none of `eq`


@tandem.jit
def notify_operation(s_ptr, n):
    dl.notify(s_ptr, 0, signal=1, sig_op="mul")  # <-- dl: `sig_op` is `mul`, which is none of `set`, `add`


@tandem.jit
def wait_type(x_ptr, n):
    t = dl.wait(x_ptr, 1, "sys", "acquire")  # <-- dl: `barrierPtrs` must point to 32-bit or 64-bit integers, not


@tandem.jit
def math_of_tensor(x_ptr, n):
    tl.store(x_ptr, math.sqrt(n))  # <-- math: `math.sqrt` takes constants, but got `int32` tensor | use `tl.sqrt`


@tandem.jit
def numpy_of_tensor(x_ptr, n):
    tl.store(x_ptr, np.sin(n))  # <-- np: a `ufunc` object of the host


@tandem.jit
def int_of_text(x_ptr, n):
    tl.store(x_ptr, int("abc"))  # <-- int: `int` cannot read the string 'abc'


@tandem.jit
def len_of_scalar(x_ptr, n):
    tl.store(x_ptr, len(n))  # <-- len: `int32` tensor has no length


@tandem.jit
def float_of_tensor(x_ptr, n):
    tl.store(x_ptr, float(n))  # <-- float: `float` needs a constant, but got `int32` tensor


@tandem.jit
def max_of_nothing(x_ptr, n):
    tl.store(x_ptr, max())  # <-- max: `max` takes at least 2 arguments, but got 0


@tandem.jit
def builtin_as_value(x_ptr, n):
    tl.store(x_ptr, tl.load)  # <-- tl: expected a tensor or a number, not builtin function


@tandem.jit
def shadowed_module(x_ptr, n):
    tl = 5
    tl.store(x_ptr, 1)  # <-- tl.store: `store` needs a pointer or a tile of pointers, not `int32`


@tandem.jit
def module_attribute(x_ptr, n):
    tl.foo = 3  # <-- tl: an attribute of module `tl` cannot be assigned


@tandem.jit
def print_star(x_ptr, n):
    print(*n)  # <-- *n: `int32` tensor cannot be iterated over


@tandem.jit
def text_plus_number(x_ptr, n):
    tl.device_print("x" + n, n)  # <-- "x": unsupported operands of `+`: constexpr 'x' and `int32`


@tandem.jit
def and_of_tile(x_ptr, n):
    if n > 2 and tl.arange(0, 4) > 2:  # <-- n: a condition is a scalar, not a `int1[4]` tensor
        tl.store(x_ptr, 1.0)


@tandem.jit
def matrix_operator(x_ptr, n):
    tl.store(x_ptr, n @ n)  # <-- n @ n: `@` is not defined on tensors


@tandem.jit
def two_loop_variables(x_ptr, n):
    nonlocal_ = 3
    for n, m in range(3):  # <-- n: a loop variable other than one name is not supported in
        pass


@tandem.jit
def zip_of_tensor(x_ptr, n):
    for i in zip(L, n):  # <-- zip: `int32` tensor cannot be iterated over
        pass


@tandem.jit
def none_or_float(x_ptr, n):
    y = None
    if n > 3:
        y = 1.0  # <-- y: `y` is `fp32` when the condition holds and `None` when it
    tl.store(x_ptr, y)


@tandem.jit
def huge_tile(x_ptr, n):
    x = tl.zeros((1 << 16, 1 << 16), tl.float32)  # <-- tl: `shape` [65536, 65536] has more than 1048576 elements


@tandem.jit
def tuple_stored(x_ptr, n):
    t = (((((1, 2), 3), 4), 5), 6)
    tl.store(x_ptr, t)  # <-- tl: expected a tensor or a number, not tuple of 2


@tandem.jit
def gather_indices(x_ptr, n):
    x = tl.gather(tl.arange(0, 4), tl.zeros((4,), tl.float32), 0)  # <-- tl: `gather` needs integer indices


@tandem.jit
def histogram_type(x_ptr, n):
    x = tl.histogram(tl.zeros((4,), tl.float32), 4)  # <-- tl: `histogram` needs a tile of integers of rank 1, not a


@tandem.jit
def rand_arguments(x_ptr, n):
    x = tl.rand(n, tl.arange(0, 4), tl.arange(0, 4), 5)  # <-- tl: `rand` takes 3 positional arguments, but got 4


@tandem.jit
def multiple_of_text(x_ptr, n):
    x = tl.multiple_of(n, "a")  # <-- tl: `values` must be an integer, not constexpr 'a'


@tandem.jit
def cas_shape(x_ptr, n):
    tl.atomic_cas(x_ptr, 1, tl.arange(0, 4))  # <-- tl: `val` is a `int32[4]` tensor but the pointer is a scalar


@tandem.jit
def xchg_no_pointer(x_ptr, n):
    tl.atomic_xchg(n, 1)  # <-- tl: `atomic_xchg` needs a pointer or a tile of pointers, not


@tandem.jit
def map_plain_function(x_ptr, n):
    tl.map_elementwise(plain, n)  # <-- plain: without `@tandem.jit`


@tandem.jit
def scan_plain_function(x_ptr, n):
    tl.associative_scan(tl.arange(0, 4), 0, plain)  # <-- plain: without `@tandem.jit`


@tandem.jit
def reduce_arity(x_ptr, n):
    tl.store(x_ptr, tl.reduce(tl.arange(0, 4), 0, add_three))  # <-- tl.reduce: argument `c` of `add_three` is missing


@tandem.jit
def reduce_shape(x_ptr, n):
    tl.store(x_ptr, tl.reduce(tl.arange(0, 4), 0, to_tile))  # <-- tl.reduce: function of `reduce` returns a `int32[4]` tensor


@tandem.jit
def fence_that_orders_nothing(x_ptr):
    simt.fence("relaxed", "sys")  # <-- simt.fence: `acq_rel` or `sc`
    tl.store(x_ptr, 1.0)
