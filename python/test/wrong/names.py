"""Unknown names and attributes, wrong arguments. Each kernel is wrong at the marked line."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import tid

TABLE = {"a": 1}
FACTOR = 3


@tandem.jit
def twice(x, scale: tl.constexpr = 2):
    return x * scale


@tandem.jit
def unknown_builtin(x_ptr):
    tl.store(x_ptr, tl.foo(1.0))  # <-- tl.foo: module `tl` has no `foo`


@tandem.jit
def misspelt_builtin(x_ptr):
    offsets = tl.arrange(0, 16)  # <-- tl.arrange: module `tl` has no `arrange` | did you mean `arange`?
    tl.store(x_ptr + offsets, 0.0)


@tandem.jit
def misspelt_parameter(x_ptr, BLOCK: tl.constexpr = 16):
    tl.store(x_ptr + tl.arange(0, BLOK), 0.0)  # <-- BLOK: name `BLOK` is not defined | did you mean `BLOCK`?


@tandem.jit
def unknown_tensor_attribute(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(x_ptr, x.foo)  # <-- x.foo: has no `foo`


@tandem.jit
def misspelt_method(x_ptr):
    x = tl.load(x_ptr + tl.arange(0, 16))
    tl.store(x_ptr, x.summ(axis=0))  # <-- x.summ: has no `summ` | did you mean `sum`?


@tandem.jit
def unknown_dist(x_ptr):
    tl.store(x_ptr, dl.my_rank())  # <-- dl.my_rank: has no `my_rank`


@tandem.jit
def unknown_shmem(x_ptr):
    shmem.putmem_blok(x_ptr, x_ptr, 4, 0)  # <-- shmem.putmem_blok: did you mean `putmem_block`?


@tandem.jit
def host_dictionary(x_ptr):
    tl.store(x_ptr, TABLE["a"])  # <-- TABLE: `TABLE`


@tandem.jit
def host_print(x_ptr):
    x_ptr.__class__  # <-- x_ptr.__class__: has no `__class__`


@tandem.jit
def assign_attribute(x_ptr):
    x = tl.load(x_ptr)
    x.value = 3  # <-- x.value


@tandem.jit
def too_many_arguments(x_ptr):
    tl.store(x_ptr, tl.exp(1.0, 2.0, 3.0, 4.0))  # <-- tl.exp(: takes at most 1 positional arguments but 4


@tandem.jit
def too_few_arguments(x_ptr):
    tl.store(x_ptr, tl.where(True))  # <-- tl.where(: `tl.where`


@tandem.jit
def unknown_keyword(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr, msk=True))  # <-- msk: `tl.load` has no parameter `msk` | did you mean `mask`?


@tandem.jit
def keyword_twice(x_ptr):
    tl.store(x_ptr, 1.0, pointer=x_ptr)  # <-- tl.store(: two values for parameter `pointer`


@tandem.jit
def nested_missing(x_ptr):
    tl.store(x_ptr, twice())  # <-- twice(): argument `x` of `twice` is missing


@tandem.jit
def nested_too_many(x_ptr):
    tl.store(x_ptr, twice(1.0, 2, 3))  # <-- twice(: `twice` takes 2 positional arguments, but got 3


@tandem.jit
def nested_keyword(x_ptr):
    tl.store(x_ptr, twice(1.0, scael=3))  # <-- scael: `twice` has no parameter `scael` | did you mean `scale`?


@tandem.jit
def call_a_number(x_ptr):
    FACTOR(x_ptr)  # <-- FACTOR(: not


@tandem.jit
def call_a_tensor(x_ptr):
    x = tl.load(x_ptr)
    x(1)  # <-- x(1): not


@tandem.jit
def launch_inside(x_ptr):
    twice[(1,)](x_ptr)  # <-- twice[


@tandem.jit
def atomic_unknown_sem(x_ptr):
    tl.atomic_add(x_ptr, 1.0, sem="acquired")  # <-- tl.atomic_add(: acquired


@tandem.jit
def atomic_unknown_scope(x_ptr):
    tl.atomic_add(x_ptr, 1.0, scope="world")  # <-- tl.atomic_add(: world


@tandem.jit
def load_unknown_modifier(x_ptr):
    tl.store(x_ptr, tl.load(x_ptr, cache_modifier=".zz"))  # <-- tl.load(: .zz


@tandem.jit
def wait_unknown_scope(s_ptr):
    dl.wait(s_ptr, 1, "galaxy", "acquire")  # <-- dl.wait(: galaxy


@tandem.jit
def program_id_axis(x_ptr):
    tl.store(x_ptr, tl.program_id(3))  # <-- tl.program_id(: 3


@tandem.jit
def program_id_runtime_axis(x_ptr, n):
    tl.store(x_ptr, tl.program_id(n))  # <-- tl.program_id(: known when the kernel is compiled


@tandem.jit
def tid_axis(x_ptr):
    tl.store(x_ptr, tid(5))  # <-- tid(5)


@tandem.jit
def nothing_returned(x_ptr):
    x = tl.store(x_ptr, 1.0)
    tl.store(x_ptr, x + 1)  # <-- x + 1


@tandem.jit
def deleted(x_ptr):
    x = 1.0
    del x  # <-- del: not supported
    tl.store(x_ptr, x)


@tandem.jit
def self_reference(x_ptr):
    y = y + 1  # <-- y + 1: `y`
    tl.store(x_ptr, y)
