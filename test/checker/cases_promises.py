"""Promises of collectives, and those of barriers alone (M12). Each is found under every seed: `test_collectives.py`."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair

N = 32


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def gather_twice(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    shmem.fcollect_block(0, y_ptr, x_ptr, N)  # <-- destination_is_in_use
    if FIXED:
        shmem.sync_all_block()
    shmem.fcollect_block(0, y_ptr, x_ptr, N)  # <-- destination_is_in_use


@pair("race", "M12")
def destination_is_in_use(team, fixed):
    """A fast member's part of the second call comes while a slow one is in the first."""
    gather_twice[(1,)](data(team), data(team, "y", team.size * N), N, fixed)


@tandem.jit
def read_then_overwrite(x_ptr, y_ptr, z_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- root_goes_on
    shmem.broadcast_block(0, x_ptr + N, x_ptr, N, 0, barrier=FIXED)
    if dl.rank() == 0:
        tl.store(dl.symm_at(y_ptr, 1) + o, 1)  # <-- root_goes_on


@pair("race", None)
def root_goes_on(team, fixed):
    """The root returns before others have called, unless the call is to be a barrier."""
    read_then_overwrite[(1,)](data(team, count=2 * N), data(team, "y"), data(team, "z"), N, fixed)


@tandem.jit
def put_then_gather(x_ptr, y_ptr, p_ptr, z_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    shmem.putmem_nbi_block(p_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- puts_are_not_completed
    if FIXED:
        shmem.quiet()
    shmem.fcollect_block(0, y_ptr, x_ptr, N)
    tl.store(z_ptr + o, tl.load(p_ptr + o))  # <-- puts_are_not_completed
    shmem.quiet()


@pair("race", None)
def puts_are_not_completed(team, fixed):
    put_then_gather[(1,)](data(team), data(team, "y", team.size * N), data(team, "p"), data(team, "z"), N, fixed)


@tandem.jit
def prepare_then_receive(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(y_ptr + o, 0)  # <-- destination_not_ready
    if FIXED:
        shmem.sync_all_block()
    shmem.broadcastmem_block(0, y_ptr, x_ptr, N * 4, 0)  # <-- destination_not_ready


@pair("race", "M12")
def destination_not_ready(team, fixed):
    """The root may send before a slow member has made its destination ready."""
    prepare_then_receive[(1,)](data(team), data(team, "y"), N, fixed)


@tandem.jit
def gather_then_take_over(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    shmem.fcollect_block(0, y_ptr, x_ptr, N)  # <-- source_of_another
    owner = dl.rank() if FIXED else (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, owner) + o, 1)  # <-- source_of_another


@pair("race", "M12")
def source_of_another(team, fixed):
    """Each member's own source may be reused, not another's."""
    gather_then_take_over[(1,)](data(team), data(team, "y", team.size * N), N, fixed)


@tandem.jit
def gather_then_look(x_ptr, y_ptr, z_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    shmem.fcollect_block(0, y_ptr, x_ptr, N)  # <-- destination_of_another
    owner = dl.rank() if FIXED else (dl.rank() + 1) % dl.num_ranks()
    tl.store(z_ptr + o, tl.load(dl.symm_at(y_ptr, owner) + o))  # <-- destination_of_another


@pair("race", "M12")
def destination_of_another(team, fixed):
    gather_then_look[(1,)](data(team), data(team, "y", team.size * N), data(team, "z"), N, fixed)


@tandem.jit
def store_then_send(x_ptr, y_ptr, z_ptr, w_ptr, root, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(w_ptr + o, 1)  # <-- other_than_the_root
    shmem.broadcast_block(0, y_ptr, x_ptr, N, root)
    if dl.rank() == 1:
        tl.store(z_ptr + o, tl.load(dl.symm_at(w_ptr, 0) + o))  # <-- other_than_the_root


@pair("race", None)
def other_than_the_root(team, fixed):
    """A rank that gets data comes after the call of the rank that gave it."""
    store_then_send[(1,)](data(team), data(team, "y"), data(team, "z"), data(team, "w"), 0 if fixed else 1, N)
