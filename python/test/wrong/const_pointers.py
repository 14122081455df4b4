"""Writes through parameters annotated as pointers to constants. Each kernel is wrong at the marked line."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import st


@tandem.jit
def plain_store(x_ptr: tl.const):
    tl.store(x_ptr, 1.0)  # <-- tl.store: `store` writes through a `const_pointer<fp32>`; a parameter annotated `tl.const` is only read


@tandem.jit
def by_word(x_ptr: "*kfp32"):
    tl.store(x_ptr + tl.arange(0, 4), 1.0)  # <-- tl.store: `store` writes through


@tandem.jit
def by_text(x_ptr: "tl.const"):
    x_ptr.store(1.0)  # <-- x_ptr.store: `store` writes through


@tandem.jit
def atomic(i_ptr: tl.const):
    tl.atomic_add(i_ptr, 1)  # <-- tl.atomic_add: `atomic_add` writes through


@tandem.jit
def compare_and_swap(i_ptr: tl.const):
    tl.atomic_cas(i_ptr, 1, 2)  # <-- tl.atomic_cas: `atomic_cas` writes through


@tandem.jit
def advanced(x_ptr: tl.const, n):
    for i in range(n):
        x_ptr += 1
    tl.store(x_ptr, 1.0)  # <-- tl.store: `store` writes through


@tandem.jit
def block(x_ptr: tl.const):
    b = tl.make_block_ptr(x_ptr, (64,), (1,), (0,), (16,), (0,))
    tl.store(b, tl.load(b))  # <-- tl.store: `store` writes through


@tandem.jit
def descriptor(x_ptr: tl.const):
    d = tl.make_tensor_descriptor(x_ptr, [64], [1], [16])
    d.store([0], d.load([0]))  # <-- d.store: `store` writes through


@tandem.jit
def other_choice(x_ptr: tl.const, y_ptr, n):
    p = y_ptr
    if n > 3:
        p = x_ptr  # <-- p: `p` is `const_pointer<fp32>` when the condition holds and `pointer<fp32>` when it does not
    tl.store(p, 1.0)


@tandem.jit
def of_a_thread(i_ptr: tl.const):
    st(i_ptr, 1)  # <-- st(: `ptr` writes through


@tandem.jit
def put(x_ptr: tl.const, y_ptr):
    shmem.putmem_block(x_ptr, y_ptr, 4, 0)  # <-- shmem.putmem_block: `dest` writes through


@tandem.jit
def notify(s_ptr: tl.const):
    dl.notify(s_ptr, 0)  # <-- dl.notify: `ptr` writes through


@tandem.jit
def peers(i_ptr: tl.const):
    tl.store(dl.symm_at(i_ptr, 0), 1)  # <-- tl.store: `store` writes through
