"""The end of a buffer, of a kernel, of a use of a signal, while accesses may still be under way."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair

N = 32


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


def flags(team, count=1, name="flag"):
    return team.zeros(count, "int64", name=name)


@tandem.jit
def store_at_peer(x_ptr, N: tl.constexpr):
    tl.store(dl.symm_at(x_ptr, (dl.rank() + 1) % dl.num_ranks()) + tl.arange(0, N), 1)  # <-- freed_under_a_peer


@pair("use-after-free", None)
def freed_under_a_peer(team, fixed):
    x = data(team)
    store_at_peer[(1,)](x, N)
    team.synchronize()
    if fixed:
        team.barrier()
    x.free()


@tandem.jit
def put_at_peer(x_ptr, y_ptr, N: tl.constexpr):
    shmem.putmem_block(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- freed_under_a_put
    shmem.quiet()


@pair("use-after-free", None)
def freed_under_a_put(team, fixed):
    """Each rank waits for its own kernel, which says nothing of the peer's."""
    x, y = data(team), data(team, "y")
    put_at_peer[(1,)](x, y, N)
    team.synchronize()
    if fixed:
        team.barrier()
    y.free()


@tandem.jit
def read_from_peer(x_ptr, y_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(y_ptr + o, tl.load(dl.symm_at(x_ptr, (dl.rank() + 1) % dl.num_ranks()) + o))  # <-- freed_under_a_reader


@pair("use-after-free", None)
def freed_under_a_reader(team, fixed):
    x, y = data(team), data(team, "y")
    read_from_peer[(1,)](x, y, N)
    team.synchronize()
    if fixed:
        team.barrier()
    x.free()


@tandem.jit
def put_only(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- told_by_the_next_kernel
    if FIXED:
        shmem.quiet()


@tandem.jit
def tell_and_read(y_ptr, z_ptr, flag_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    dl.notify(flag_ptr, (dl.rank() + 1) % dl.num_ranks(), signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- told_by_the_next_kernel


@pair("race", "M8")
def told_by_the_next_kernel(team, fixed):
    """The next kernel of the stream comes after the put's kernel, not after the put."""
    x, y, z, flag = data(team), data(team, "y"), data(team, "z"), flags(team)
    put_only[(1,)](x, y, N, fixed)
    tell_and_read[(1,)](y, z, flag, N)
    team.barrier()


@tandem.jit
def get_only(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    shmem.getmem_nbi_block(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- get_read_by_the_next_kernel
    if FIXED:
        shmem.quiet()


@tandem.jit
def use_copy(y_ptr, z_ptr, N: tl.constexpr):
    o = tl.arange(0, N)
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- get_read_by_the_next_kernel


@pair("race", None)
def get_read_by_the_next_kernel(team, fixed):
    x, y, z = data(team), data(team, "y"), data(team, "z")
    get_only[(1,)](x, y, N, fixed)
    use_copy[(1,)](y, z, N)
    team.barrier()


@tandem.jit
def put_and_go(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- source_reused_by_the_next_kernel
    if FIXED:
        shmem.quiet()


@tandem.jit
def fill_again(x_ptr, N: tl.constexpr):
    tl.store(x_ptr + tl.arange(0, N), 7)  # <-- source_reused_by_the_next_kernel


@pair("race", None)
def source_reused_by_the_next_kernel(team, fixed):
    x, y = data(team), data(team, "y")
    put_and_go[(1,)](x, y, N, fixed)
    fill_again[(1,)](x, N)
    team.barrier()


@tandem.jit
def tell_peer(flag_ptr):
    dl.notify(flag_ptr, (dl.rank() + 1) % dl.num_ranks(), signal=1, sig_op="set", comm_scope="intra_node")  # <-- signal_cleared_by_memset
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


@pair("signal-misuse", "M15")
def signal_cleared_by_memset(team, fixed):
    """A fill on the stream between two calls: the peer's next call may have told already."""
    flag = flags(team)
    for _ in range(2):
        tell_peer[(1,)](flag)
        if fixed:
            team.stream.barrier()
        team.stream.memset(flag)  # <-- signal_cleared_by_memset
        if fixed:
            team.stream.barrier()


@tandem.jit
def payload_over_flag(x_ptr, y_ptr, N: tl.constexpr, COUNT: tl.constexpr):
    """The flag lies behind the data; a put of one element too many overwrites it."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_block(y_ptr, x_ptr, COUNT * 8, peer)  # <-- put_over_a_signal
    shmem.fence()
    shmem.signal_op(y_ptr + N, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(y_ptr + N, shmem.NVSHMEM_CMP_GE, 1)  # <-- put_over_a_signal
    shmem.quiet()


@pair("signal-misuse", "M15")
def put_over_a_signal(team, fixed):
    x, y = team.full(N + 1, 1, "int64", name="x"), flags(team, N + 1, "y")
    payload_over_flag[(1,)](x, y, N, N if fixed else N + 1)
