"""Memory: bounds, ranks, life time, alignment, values nobody wrote, allocations that differ between ranks."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair

N = 32


def data(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


@tandem.jit
def store_at_peer(x_ptr, N: tl.constexpr, AT: tl.constexpr):
    tl.store(dl.symm_at(x_ptr, (dl.rank() + 1) % dl.num_ranks()) + AT + tl.arange(0, N), 1)  # <-- beyond_a_peers_buffer


@pair("out-of-bounds", None)
def beyond_a_peers_buffer(team, fixed):
    store_at_peer[(1,)](data(team), N, 0 if fixed else 1)


@tandem.jit
def load_before(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    x = tl.load(x_ptr + o - 1, mask=o > 0) if FIXED else tl.load(x_ptr + o - 1)  # <-- before_the_buffer
    tl.store(y_ptr + o, x)


@pair("out-of-bounds", None, ranks=(1, 2))
def before_the_buffer(team, fixed):
    load_before[(1,)](data(team), data(team, "y"), N, fixed)


@tandem.jit
def put_bytes(x_ptr, y_ptr, BYTES: tl.constexpr):
    shmem.putmem_block(y_ptr, x_ptr, BYTES, (dl.rank() + 1) % dl.num_ranks())  # <-- elements_for_bytes
    shmem.quiet()


@pair("out-of-bounds", None)
def elements_for_bytes(team, fixed):
    """The destination holds N bytes, the call is told four times as many."""
    put_bytes[(1,)](data(team), team.zeros(N, "int8", name="y"), N if fixed else N * 4)


@tandem.jit
def next_rank(x_ptr, WRAP: tl.constexpr):
    peer = dl.rank() + 1
    if WRAP:
        peer = peer % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer), 1)  # <-- rank_outside_team


@pair("bad-rank", None)
def rank_outside_team(team, fixed):
    next_rank[(1,)](data(team), fixed)


@tandem.jit
def put_beyond_ranks(x_ptr, y_ptr, N: tl.constexpr, WRAP: tl.constexpr):
    peer = dl.rank() + 1
    if WRAP:
        peer = peer % dl.num_ranks()
    shmem.putmem_block(y_ptr, x_ptr, N * 4, peer)  # <-- put_outside_team
    shmem.quiet()


@pair("bad-rank", None)
def put_outside_team(team, fixed):
    put_beyond_ranks[(1,)](data(team), data(team, "y"), N, fixed)


@tandem.jit
def peer_of_local(x_ptr):
    tl.store(dl.symm_at(x_ptr, (dl.rank() + 1) % dl.num_ranks()), 1)  # <-- local_memory_at_a_peer


@pair("out-of-bounds", None)
def local_memory_at_a_peer(team, fixed):
    peer_of_local[(1,)](data(team) if fixed else team.local_empty(N, "int32", name="mine"))


@tandem.jit
def read_freed(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, N), tl.load(x_ptr + tl.arange(0, N)))  # <-- use_after_free


@pair("use-after-free", None, ranks=(1, 2))
def use_after_free(team, fixed):
    x, y = data(team), data(team, "y")
    if not fixed:
        x.free()
    read_freed[(1,)](x, y, N)


@tandem.jit
def read_raw(x_ptr, y_ptr, N: tl.constexpr):
    tl.store(y_ptr + tl.arange(0, N), tl.load(x_ptr + tl.arange(0, N)))  # <-- symmetric_memory_unwritten


@pair("uninitialised-read", None, ranks=(1, 2))
def symmetric_memory_unwritten(team, fixed):
    read_raw[(1,)](data(team) if fixed else team.empty(N, "int32", name="x"), data(team, "y"), N)


@tandem.jit
def fill_some(x_ptr, y_ptr, N: tl.constexpr, COUNT: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 1, mask=o < COUNT)
    shmem.barrier_all_block()
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- part_never_sent


@pair("uninitialised-read", None)
def part_never_sent(team, fixed):
    fill_some[(1,)](team.empty(N, "int32", name="x"), data(team, "y"), N, N if fixed else N - 1)


@tandem.jit
def wide_store(x_ptr, AT: tl.constexpr):
    tl.store((x_ptr + AT).to(tl.pointer_type(tl.int64), bitcast=True), 1)  # <-- misaligned_word


@pair("misaligned", None, ranks=(1, 2))
def misaligned_word(team, fixed):
    wide_store[(1,)](data(team), 2 if fixed else 1)


@tandem.jit
def signal_in_a_half(flag_ptr, AT: tl.constexpr):
    flag = (flag_ptr + AT).to(tl.pointer_type(tl.int64), bitcast=True)
    dl.notify(flag, dl.rank(), signal=1, sig_op="set", comm_scope="intra_node")  # <-- misaligned_signal
    dl.wait(flag, 1, "sys", "acquire", waitValue=1)


@pair("misaligned", None, ranks=(1, 2))
def misaligned_signal(team, fixed):
    signal_in_a_half[(1,)](data(team), 2 if fixed else 1)


@pair("asymmetric-allocation", None)
def asymmetric_allocation(team, fixed):
    data(team, "a", N if fixed else N + team.rank)
