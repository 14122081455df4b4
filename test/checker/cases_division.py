"""Integers divided by zero: told where the kernel may use what comes out."""

import numpy as np
import tandem
import tandem.language as tl
from case import pair
from tandem.simt import tid

N = 32


def numbers(team, zero):
    y = np.arange(1, N + 1, dtype=np.int32)
    y[3] = 0 if zero else 1
    return team.local_from_array(y)


@tandem.jit
def tile_of_argument(out_ptr, n):
    """The row of each tile, of a matrix that has no columns of tiles."""
    row = tl.program_id(0) // n  # <-- divided_by_an_argument
    tl.store(out_ptr + tl.maximum(row, 0), 1)


@pair("division-by-zero", None, ranks=(1, 2))
def divided_by_an_argument(team, fixed):
    tile_of_argument[(1,)](team.zeros(N, "int32"), int(fixed))


@tandem.jit
def quotients(d_ptr, out_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(out_ptr + o, 100 // tl.load(d_ptr + o))  # <-- divided_by_a_tile


@pair("division-by-zero", None, ranks=(1,))
def divided_by_a_tile(team, fixed):
    quotients[(1,)](numbers(team, not fixed), team.zeros(N, "int32"), N)


@tandem.jit
def each_for_itself(d_ptr, out_ptr, SKIPS: tl.constexpr):
    t = tid(0)
    d = tl.load(d_ptr + t)
    if d != 0 or not SKIPS:
        tl.store(out_ptr + t, 100 % d)  # <-- divided_by_threads


@pair("division-by-zero", None, ranks=(1,))
def divided_by_threads(team, fixed):
    each_for_itself[(1,)](numbers(team, True), team.zeros(N, "int32"), fixed, num_warps=1)


@tandem.jit
def left_out(d_ptr, out_ptr, n, N: tl.constexpr, ALL: tl.constexpr):
    """Nobody sees what comes of a zero: a select, a condition or a mask leaves it out."""
    o = tl.arange(0, N)
    d = tl.load(d_ptr + o)
    tl.store(out_ptr + o, tl.where(d != 0, 100 // d, 0))
    tl.store(out_ptr + N + o, 100 // d, mask=d != 0)
    tl.store(out_ptr + 2 * N + o, ((d != 0) & (100 // d > 3)).to(tl.int32))
    tl.store(out_ptr + 3 * N, tl.where(n != 0, 100 // n, 0))
    if ALL:
        tl.store(out_ptr + 3 * N + 1, 101 // n)  # <-- what_is_left_out


@pair("division-by-zero", None, ranks=(1,))
def what_is_left_out(team, fixed):
    left_out[(1,)](numbers(team, True), team.zeros(4 * N, "int32"), 0, N, not fixed)
