"""Control flow: loops, branches, early returns, nested functions, tuples, constant functions, aggregates."""

import triton
import triton.language as tl
from cases import array, bell, case, integers, out
from triton.language.core import _aggregate as aggregate


@triton.jit
def dynamic_range(x, o, start, stop, step):
    total = 0.0
    count = 0
    for k in range(start, stop, step):
        total += tl.load(x + k) * (k + 1)
        count += 1
    tl.store(o, total)
    tl.store(o + 1, count)


@triton.jit
def negative_step(o, n):
    at = 0
    for k in range(n - 1, -1, -1):
        tl.store(o + at, k)
        at += 1
    for k in tl.range(10, 0, -3):
        tl.store(o + at, k)
        at += 1


@triton.jit
def range_forms(o, n):
    total = 0
    for k in tl.range(n):
        total += k
    for k in tl.range(0, n, 2, num_stages=2):
        total += k * 10
    for k in tl.range(1, n, loop_unroll_factor=2):
        total += k * 100
    for k in tl.static_range(3):
        total += k * 1000
    for k in tl.static_range(5, 0, -2):
        total += k * 10000
    for i in range(2):
        for j in range(i, 3):
            total += 100000 * (i + j)
    tl.store(o, total)


@triton.jit
def while_loops(o, n):
    steps = 0
    v = n
    while v != 1:
        if v % 2 == 0:
            v = v // 2
        else:
            v = 3 * v + 1
        steps += 1
    tl.store(o, steps)
    a, b = 0, 1
    while b < 1000 and steps > 0:
        a, b = b, a + b
    tl.store(o + 1, a)


@triton.jit
def branches(x, o, N: tl.constexpr, MODE: tl.constexpr):
    p = tl.program_id(0)
    v = tl.load(x + p)
    if v > 0.5:
        r = v * 2
        k = 1
    elif v > 0:
        r = v * 3
        k = 2
    else:
        r = -v
        k = 3
    if MODE == "sum":
        s = r + k
    else:
        s = r - k
    t = s if p % 2 == 0 else -s
    tl.store(o + p, t)


@triton.jit
def early_return(x, o, n):
    p = tl.program_id(0)
    if p >= n:
        return
    v = tl.load(x + p)
    if v < 0:
        tl.store(o + p, -1.0)
        return
    tl.store(o + p, v)


@triton.jit
def absolute_or(v, limit):
    if v < 0:
        return -v
    if v > limit:
        return limit
    return v


@triton.jit
def returning_branches(x, o, N: tl.constexpr):
    p = tl.program_id(0)
    tl.store(o + p, absolute_or(tl.load(x + p), 0.75))


@triton.jit
def divmod_pair(a, b):
    return a // b, a % b


@triton.jit
def scaled_by(x, factor=3, shift: tl.constexpr = 1, extra=0):
    return x * factor + shift + extra


@triton.jit
def twice(f: tl.constexpr, x):
    return f(f(x))


@triton.jit
def functions(x, o):
    v = tl.load(x)
    q, r = divmod_pair(v, 7)
    tl.store(o, q)
    tl.store(o + 1, r)
    both = divmod_pair(v, 5)
    tl.store(o + 2, both[0] * 10 + both[1])
    tl.store(o + 3, scaled_by(v))
    tl.store(o + 4, scaled_by(v, shift=4, extra=v))
    tl.store(o + 5, scaled_by(v, 2, extra=5))
    tl.store(o + 6, twice(scaled_by, v))


@triton.jit
def tuples(o):
    t = (1, 2, (3, 4))
    a, b, last = t
    c, d = last
    tl.store(o, a + b * 10 + c * 100 + d * 1000)
    tl.store(o + 1, t[-1][0] + t[-1][-1])
    tl.store(o + 2, len(t))
    x, y = 7, 8
    x, y = y, x
    tl.store(o + 4, x * 10 + y)


@triton.jit
def tuple_slice(o):
    w = (1, 2, (3, 4))[1:]
    tl.store(o, w[0] + len(w))


@triton.jit
def tuple_sum(o):
    t = (1, 2) + (5,)
    tl.store(o, t[2])


@triton.jit
def tuple_assigned_slice(o, t):
    w = t[1:3]
    tl.store(o, w[0] + w[1])
    tl.store(o + 1, len(w))


@triton.jit
def tuple_loop(o):
    u = (1, 2, (3, 4), 5)
    for k in tl.static_range(len(u)):
        if k != 2:
            tl.store(o + k, u[k])


@triton.jit
def keyword_only(x, *, extra=0):
    return x + extra


@triton.jit
def keyword_only_call(o):
    tl.store(o, keyword_only(3, extra=4))


@triton.jit
def truth_of_integers(x, o):
    v = tl.load(x)
    w = tl.load(x + 1)
    if v and w:
        tl.store(o, 1)


@triton.jit
def branch_on_integer(x, o):
    v = tl.load(x)
    if v:
        tl.store(o, 1)
    else:
        v += 5
    tl.store(o + 1, v)
    tl.store(o + 2, 1 if tl.load(x) else 0)


@triton.jit
def negated_integer(x, o):
    tl.store(o, not tl.load(x))


@triton.jit
def membership(o, N: tl.constexpr):
    tl.store(o, N in (8, 16))


@triton.jit
def logic(x, o):
    v = tl.load(x)
    w = tl.load(x + 1)
    tl.store(o, (0 < v) & (v < 10))
    tl.store(o + 1, v > 0 and w > 0)
    tl.store(o + 2, v > 0 or w > 0)
    tl.store(o + 3, not (v == 0))
    tl.store(o + 4, not (v > 100))
    tl.store(o + 5, 1 if v > 0 and not w > 100 else 2)
    if v > 0 and w > 0:
        tl.store(o + 6, 1)
    if not v > 0 or w == 3:
        tl.store(o + 7, 1)


@triton.constexpr_function
def next_prime(n):
    k = n + 1
    while any([k % d == 0 for d in range(2, k)]):
        k += 1
    return k


@triton.constexpr_function
def power(base, exponent=2):
    return base**exponent


@triton.jit
def constants(o, N: tl.constexpr, FLAG: tl.constexpr, NAME: tl.constexpr):
    HALF: tl.constexpr = N // 2
    tl.store(o, HALF)
    tl.store(o + 1, next_prime(N))
    tl.store(o + 2, power(N) + power(2, exponent=5))
    if FLAG and NAME == "gelu":
        tl.store(o + 3, 1)
    if FLAG is None or NAME != "relu":
        tl.store(o + 4, 1)
    tl.store(o + 5, 1 if N > 10 else 0)
    tl.store(o + 6, tl.constexpr(5) + HALF)
    tl.store(o + 7, min(N, 12) + max(3, HALF, 9))
    tl.static_assert(N % 2 == 0, f"even size expected, not {N}")
    tl.static_print("size", N, f"{HALF=}")
    tl.store(o + 8, 2**3 + 7 // 2 + 7 % 4 + (N >> 1))


@aggregate
class Window:
    start: tl.tensor
    width: tl.constexpr

    @triton.constexpr_function
    def __init__(self, start, width):
        self.start = start
        self.width = tl.constexpr(width)

    @triton.jit
    def offsets(self):
        return self.start + tl.arange(0, self.width)

    @triton.jit
    def moved(self, by):
        return Window(self.start + by, self.width)


@triton.jit
def aggregates(x, o, N: tl.constexpr):
    w = Window(tl.program_id(0) * 0, N)
    total = tl.zeros((N,), tl.float32)
    for _ in range(3):
        total += tl.load(x + w.offsets())
        w = w.moved(N)
    tl.store(o + tl.arange(0, N), total)
    tl.store(o + N, w.start)


@triton.jit
def carried_types(o, n):
    a = tl.zeros((4,), tl.float16)
    b = 0
    c = tl.full((4,), 1, tl.int64)
    for k in range(n):
        a += 0.5
        b += k
        c = c * 2 + b
    tl.store(o + tl.arange(0, 4), a + b + c)


@triton.jit
def variable_after_loop(o, n):
    for k in range(n):
        last = k * 2
        if last > 4:
            tl.store(o + k, last)
    k = 100
    tl.store(o + 7, k)


@triton.jit
def assertions(x, o, n):
    v = tl.load(x + tl.program_id(0))
    tl.device_assert(v < 1000, "too large")
    tl.assume(n > 0)
    tl.static_assert(tl.constexpr(4) == 4)
    tl.debug_barrier()
    tl.store(o + tl.program_id(0), v + n)


@triton.jit
def grid_ids(o):
    p = (tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0) + tl.program_id(0)
    tl.store(o + p, p * 1000 + tl.num_programs(axis=0) * 100 + tl.num_programs(1) * 10 + tl.num_programs(2))


@triton.jit
def swizzled(o, M: tl.constexpr, N: tl.constexpr, G: tl.constexpr):
    p = tl.program_id(0)
    i, j = tl.swizzle2d(p // N, p % N, M, N, G)
    tl.store(o + p, i * 100 + j)


@triton.jit
def nested_loops_with_branches(x, o, n, N: tl.constexpr):
    acc = tl.zeros((N,), tl.float32)
    best = -1.0
    for i in range(n):
        row = tl.load(x + i * N + tl.arange(0, N))
        if i % 2 == 0:
            for j in range(i):
                acc += row * j
        else:
            m = tl.max(row)
            if m > best:
                best = m
    tl.store(o + tl.arange(0, N), acc)
    tl.store(o + N, best)


case(dynamic_range, bell(32, seed=1), out(2), 3, 30, 4, rtol=1e-6)
case(dynamic_range, bell(32, seed=1), out(2), 5, 5, 1, tag="empty")
case(negative_step, out(16, "int32"), 7)
case(range_forms, out(1, "int32"), 9)
for n in [1, 6, 27]:
    case(while_loops, out(2, "int32"), n, tag=str(n))
for mode in ["sum", "difference"]:
    case(branches, bell(8, seed=2), out(8), N=8, MODE=mode, grid=8, tag=mode)
case(early_return, bell(8, seed=3), out(8), 6, grid=8)
case(returning_branches, bell(8, seed=4), out(8), N=8, grid=8)
case(functions, integers(1, 50, 99, "int32", 5), out(7, "int32"))
case(tuples, out(12, "int32"))
case(tuple_slice, out(1, "int32"))
case(tuple_sum, out(1, "int32"))
case(tuple_assigned_slice, out(2, "int32"), (7, 8, 9))
case(tuple_loop, out(4, "int32"))
case(keyword_only_call, out(1, "int32"))
case(truth_of_integers, array([2, 4], "int32"), out(3, "int32"))
case(branch_on_integer, array([2], "int32"), out(3, "int32"))
case(negated_integer, array([2], "int32"), out(1, "int32"))
case(membership, out(1, "int32"), N=8)
for k, values in enumerate([(5, 3), (0, 3), (-4, 0), (50, 200)]):
    case(logic, array(values, "int32"), out(8, "int32"), tag=str(k))
for flag, name in [(True, "gelu"), (False, "relu"), (None, "relu")]:
    case(constants, out(10, "int32"), N=16, FLAG=flag, NAME=name, tag=f"{flag}.{name}")
case(aggregates, bell(48, seed=6), out(17), N=16, rtol=1e-6)
case(carried_types, out(4), 5)
case(variable_after_loop, out(8, "int32"), 6)
case(assertions, integers(4, 0, 99, "int32", 7), out(4, "int32"), 3, grid=4)
case(grid_ids, out(24, "int32"), grid=(2, 3, 4))
case(swizzled, out(35, "int32"), M=5, N=7, G=2, grid=35)
case(nested_loops_with_branches, bell((6, 16), seed=8), out(17), 6, N=16, rtol=1e-5, atol=1e-6)
