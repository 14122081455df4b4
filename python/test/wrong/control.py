"""Control flow and Python that kernels do not have. Each kernel is wrong at the marked line."""

import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.jit
def branch_type(x_ptr, n):
    if n > 3:
        y = 1.0
    else:
        y = tl.arange(0, 4)  # <-- y: `y`
    tl.store(x_ptr, y)


@tandem.jit
def branch_shape(x_ptr, n):
    y = tl.zeros((4,), tl.float32)
    if n > 3:
        y = tl.zeros((8,), tl.float32)  # <-- y: `y`
    tl.store(x_ptr, tl.sum(y))


@tandem.jit
def loop_type(x_ptr, n):
    y = 0
    for i in range(n):
        y = y + 0.5  # <-- y: `y` is `int32` before the loop and `fp32` after its body
    tl.store(x_ptr, y)


@tandem.jit
def loop_shape(x_ptr, n):
    y = tl.zeros((4,), tl.float32)
    while n > 0:
        y = tl.zeros((8,), tl.float32)  # <-- y: `y`
        n -= 1
    tl.store(x_ptr, tl.sum(y))


@tandem.jit
def loop_constant(x_ptr, n, B: tl.constexpr = 4):
    for i in range(n):
        B = B * 2  # <-- B: constexpr `B`
    tl.store(x_ptr, B)


@tandem.jit
def undefined_after_if(x_ptr, n):
    if n > 3:
        y = 1.0
    tl.store(x_ptr, y)  # <-- y): `y` may be undefined here


@tandem.jit
def undefined_after_loop(x_ptr, n):
    while n > 3:
        y = 1.0
        n -= 1
    tl.store(x_ptr, y)  # <-- y): `y` may be undefined here


@tandem.jit
def loop_return(x_ptr, n):
    for i in range(n):
        if i == 3:
            return  # <-- return: `return` inside a `for` loop


@tandem.jit
def loop_break(x_ptr, n):
    for i in range(n):
        break  # <-- break: `break`


@tandem.jit
def region_continue(x_ptr, n):
    for i in range(n):
        with dl.simt_exec_region():
            continue  # <-- continue: `continue` that leaves more than the body of a loop


@tandem.jit
def while_else(x_ptr, n):
    while n > 0:
        n -= 1
    else:  # <-- else: `else` of a loop
        tl.store(x_ptr, 1.0)


@tandem.jit
def for_else(x_ptr, n):
    for i in range(n):
        tl.store(x_ptr, 1.0)
    else:  # <-- else: `else` of a loop
        tl.store(x_ptr, 1.0)


@tandem.jit
def try_statement(x_ptr):
    try:  # <-- try: `try`
        tl.store(x_ptr, 1.0)
    except ValueError:
        pass


@tandem.jit
def raise_statement(x_ptr):
    raise ValueError("no")  # <-- raise: `raise`


@tandem.jit
def yield_expression(x_ptr):
    yield x_ptr  # <-- yield: `yield`


@tandem.jit
def class_inside(x_ptr):
    class A:  # <-- class: class
        pass


@tandem.jit
def def_inside(x_ptr):
    def f(x):  # <-- def: function
        return x
    tl.store(x_ptr, f(1.0))


@tandem.jit
def global_statement(x_ptr):
    global COUNT  # <-- global: `global`
    COUNT = 1


@tandem.jit
def import_inside(x_ptr):
    import os  # <-- import: import
    tl.store(x_ptr, 1.0)


@tandem.jit
def from_import_inside(x_ptr):
    from os import path  # <-- from: import
    tl.store(x_ptr, 1.0)


@tandem.jit
def set_display(x_ptr):
    s = {1, 2}  # <-- {1, 2}: set
    tl.store(x_ptr, 1.0)


@tandem.jit
def dict_display(x_ptr):
    s = {**x_ptr}  # <-- x_ptr: `**` in a dictionary
    tl.store(x_ptr, 1.0)


@tandem.jit
def dict_comprehension(x_ptr):
    s = {i: i for i in range(4)}  # <-- {i: not supported
    tl.store(x_ptr, 1.0)


@tandem.jit
def with_open(x_ptr):
    with open("x") as f:  # <-- open: `open`
        tl.store(x_ptr, 1.0)


@tandem.jit
def with_value(x_ptr):
    with x_ptr:  # <-- x_ptr
        tl.store(x_ptr, 1.0)


@tandem.jit
def match_statement(x_ptr, n):
    match n:  # <-- match: `match`
        case 1:
            tl.store(x_ptr, 1.0)


@tandem.jit
def walrus(x_ptr, n):
    if n > 3:
        tl.store(x_ptr, (z := 2.0))
    tl.store(x_ptr, z)  # <-- z): `z` may be undefined here


@tandem.jit
def string_run_time(x_ptr, n):
    s = f"{n}"  # <-- n}: an f-string needs constants
    tl.store(x_ptr, 1.0)


@tandem.jit
def string_method(x_ptr):
    s = "abc".upper()  # <-- "abc".upper: `upper`
    tl.store(x_ptr, 1.0)


@tandem.jit
def string_stored(x_ptr):
    tl.store(x_ptr, "abc")  # <-- tl.store(


@tandem.jit
def list_append(x_ptr, n):
    values = [1.0]
    for i in range(n):
        values.append(2.0)  # <-- values.append: has no `append`
    tl.store(x_ptr, values[0])


@tandem.jit
def iterate_tensor(x_ptr):
    for x in tl.arange(0, 4):  # <-- tl.arange(0, 4): iterate
        tl.store(x_ptr, x)


@tandem.jit
def range_of_float(x_ptr, f):
    for i in range(f):  # <-- range(: integer
        tl.store(x_ptr, i)


@tandem.jit
def range_zero_step(x_ptr, n):
    for i in range(0, n, 0):  # <-- range(: zero
        tl.store(x_ptr, i)


@tandem.jit
def range_of_tensor(x_ptr):
    for i in range(tl.arange(0, 4)):  # <-- range(: integer scalar
        tl.store(x_ptr, i)


@tandem.jit
def static_range_runtime(x_ptr, n):
    for i in tl.static_range(n):  # <-- tl.static_range(n): known when the kernel is compiled
        tl.store(x_ptr, i)


@tandem.jit
def star_call(x_ptr, n):
    tl.store(*n)  # <-- *n: cannot be iterated over


@tandem.jit
def double_star_call(x_ptr, n):
    tl.store(x_ptr, **n)  # <-- **n: `**`


@tandem.jit
def unpack_count(x_ptr):
    a, b, c = 1, 2  # <-- a, b, c: cannot unpack 2 values into 3 variables
    tl.store(x_ptr, a)


@tandem.jit
def unpack_scalar(x_ptr, n):
    a, b = n  # <-- a, b: cannot unpack
    tl.store(x_ptr, a)


@tandem.jit
def return_value(x_ptr):
    return x_ptr  # <-- return: kernel


@tandem.jit
def of_configuration(x_ptr, B: tl.constexpr = 3):
    assert B == 4, f"B is {B}"
    tl.store(x_ptr, B)


@tandem.jit
def conditional_sides(x_ptr, n):
    y = 1.0 if n > 3 else tl.arange(0, 4)  # <-- tl.arange(: conditional expression
    tl.store(x_ptr, y)


@tandem.jit
def endless_unrolling(x_ptr):
    for i in tl.static_range(1000000000):  # <-- tl.static_range(: too
        tl.store(x_ptr, i)


@tandem.jit
def return_types(x_ptr, n):
    @tandem.jit
    def two_types(n):  # <-- def: nested function
        return 1.0
    tl.store(x_ptr, two_types(n))
