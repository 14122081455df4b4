"""Puts and gets: the promises of a call, a fence, a signal and quiet, and their limits."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import __syncthreads, __syncwarp, ld, st, tid

N = 64


def words(team, name="x", count=N):
    return team.zeros(count, "int32", name=name)


def flag(team, name="flag"):
    return team.zeros(1, "int64", name=name)


@tandem.jit
def get_and_use(x_ptr, y_ptr, z_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    shmem.getmem_nbi_block(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- get_before_quiet
    if FIXED:
        shmem.quiet()
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- get_before_quiet
    shmem.quiet()


@pair("race", "M9")
def get_before_quiet(team, fixed):
    get_and_use[(1,)](words(team), words(team, "y"), words(team, "z"), N, fixed)


@tandem.jit
def get_and_fence(x_ptr, y_ptr, z_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    shmem.getmem_nbi_block(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- fence_orders_no_get
    if FIXED:
        shmem.quiet()
    else:
        shmem.fence()
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- fence_orders_no_get
    shmem.quiet()


@pair("race", "M9")
def fence_orders_no_get(team, fixed):
    get_and_fence[(1,)](words(team), words(team, "y"), words(team, "z"), N, fixed)


@tandem.jit
def get_and_overwrite(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    shmem.getmem_nbi_block(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- get_destination_stored
    if FIXED:
        shmem.quiet()
    tl.store(y_ptr + tl.arange(0, N), 1)  # <-- get_destination_stored
    shmem.quiet()


@pair("race", "M9")
def get_destination_stored(team, fixed):
    get_and_overwrite[(1,)](words(team), words(team, "y"), N, fixed)


@tandem.jit
def head_and_body(x_ptr, head_ptr, body_ptr, z_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_block(head_ptr, x_ptr, N * 4, peer)  # <-- signal_of_another_put
    if FIXED:
        shmem.fence()
    shmem.putmem_signal_nbi_block(body_ptr, x_ptr, N * 4, flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    if tid(0) == 0:
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    tl.store(z_ptr + o, tl.load(body_ptr + o))
    tl.store(z_ptr + o, tl.load(head_ptr + o))  # <-- signal_of_another_put
    shmem.quiet()


@pair("race", "M8")
def signal_of_another_put(team, fixed):
    head_and_body[(1,)](words(team), words(team, "head"), words(team, "body"), words(team, "z"), flag(team), N, fixed)


@tandem.jit
def late_quiet(x_ptr, y_ptr, z_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, peer)  # <-- quiet_after_notify
    if FIXED:
        shmem.quiet()
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    if not FIXED:
        shmem.quiet()
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- quiet_after_notify


@pair("race", "M9")
def quiet_after_notify(team, fixed):
    late_quiet[(1,)](words(team), words(team, "y"), words(team, "z"), flag(team), N, fixed)


@tandem.jit
def write_twice(a_ptr, b_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_block(y_ptr, a_ptr, N * 4, peer)  # <-- puts_to_one_place
    if FIXED:
        shmem.fence()
    shmem.putmem_nbi_block(y_ptr, b_ptr, N * 4, peer)  # <-- puts_to_one_place
    shmem.quiet()


@pair("race", "M9")
def puts_to_one_place(team, fixed):
    write_twice[(1,)](words(team, "a"), words(team, "b"), words(team, "y"), N, fixed)


@tandem.jit
def by_way_of_another(x_ptr, y_ptr, z_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Rank 0 puts to rank 1 and tells rank 2, who tells rank 1: a fence orders for one peer only."""
    o = tl.arange(0, N)
    rank = dl.rank()
    if rank == 0:
        shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, 1)  # <-- fence_for_another_peer
        if FIXED:
            shmem.quiet()
        else:
            shmem.fence()
        dl.notify(flag_ptr, 2, signal=1, sig_op="set", comm_scope="intra_node")
        shmem.quiet()
    elif rank == 1:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- fence_for_another_peer
    elif rank == 2:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")


@pair("race", "M8", ranks=(3, 4))
def fence_for_another_peer(team, fixed):
    by_way_of_another[(1,)](words(team), words(team, "y"), words(team, "z"), flag(team), N, fixed)


@tandem.jit
def threads_fill(x_ptr, y_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    t = tid(0)
    if t < N:
        st(x_ptr + t, t, semantic="weak")  # <-- one_thread_puts
    if FIXED:
        __syncthreads()
    if t == 0:
        shmem.putmem(y_ptr, x_ptr, N * 4, (dl.rank() + 1) % dl.num_ranks())  # <-- one_thread_puts
        shmem.quiet()


@pair("race", "M3")
def one_thread_puts(team, fixed):
    threads_fill[(1,)](words(team), words(team, "y"), N, fixed)


@tandem.jit
def two_messages(x_ptr, y_ptr, z_ptr, flag_ptr, ack_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Rank 0 sends twice through one buffer of rank 1."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        shmem.putmem_signal_block(y_ptr, x_ptr, N * 4, flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, 1)
        if FIXED:
            dl.wait(ack_ptr, 1, "sys", "acquire", waitValue=1)
        else:
            shmem.quiet()
        for i in range(100):
            tl.store(z_ptr, i)
        shmem.putmem_signal_block(y_ptr, x_ptr, N * 4, flag_ptr, 2, shmem.NVSHMEM_SIGNAL_SET, 1)  # <-- no_credit
        shmem.quiet()
    elif dl.rank() == 1:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1, compare="ge")
        tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- no_credit
        if FIXED:
            dl.notify(ack_ptr, 0, signal=1, sig_op="set", comm_scope="intra_node")
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=2, compare="ge")


@pair("race", "M15")
def no_credit(team, fixed):
    two_messages[(1,)](words(team), words(team, "y"), words(team, "z"), flag(team), flag(team, "ack"), N, fixed)


@tandem.jit
def quiet_by_another(x_ptr, y_ptr, z_ptr, done_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    """Program 0 puts, program 1 tells the peer: quiet completes the caller's own puts only."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    if tl.program_id(0) == 0:
        shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, peer)  # <-- quiet_of_another_program
        if FIXED:
            shmem.quiet()
        dl.notify(done_ptr, dl.rank(), signal=1, sig_op="set", comm_scope="gpu")
        shmem.quiet()
    else:
        dl.wait(done_ptr, 1, "gpu", "acquire", waitValue=1)
        shmem.quiet()
        dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- quiet_of_another_program


@pair("race", "M8")
def quiet_of_another_program(team, fixed):
    quiet_by_another[(2,)](words(team), words(team, "y"), words(team, "z"), flag(team, "done"), flag(team), N, fixed)


@tandem.jit
def store_then_signal(y_ptr, z_ptr, flag_ptr, N: tl.constexpr, FIXED: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(y_ptr, peer) + o, 2)  # <-- store_and_signal_op
    __syncthreads()
    if tid(0) == 0:
        if FIXED:
            shmem.fence()
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- store_and_signal_op


@pair("race", "M11")
def store_and_signal_op(team, fixed):
    store_then_signal[(1,)](words(team, "y"), words(team, "z"), flag(team), N, fixed)


@tandem.jit
def each_thread_puts(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.int_p(x_ptr + t, t, peer)  # <-- fence_of_one_thread
    if FIXED:
        __syncthreads()
    if t == 0:
        shmem.fence()
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    st(y_ptr + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- fence_of_one_thread


@pair("race", "M9")
def fence_of_one_thread(team, fixed):
    """A fence orders the puts before it; other threads' puts only if a barrier lies between."""
    each_thread_puts[(1,)](words(team, count=128), words(team, "y", 128), flag(team), fixed)


@tandem.jit
def each_thread_puts_late(x_ptr, y_ptr, z_ptr, flag_ptr, FIXED: tl.constexpr):
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi(y_ptr + t, x_ptr + t, 4, peer)  # <-- quiet_of_one_thread
    if FIXED:
        __syncthreads()
    if t == 0:
        shmem.quiet()
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    st(z_ptr + t, ld(y_ptr + t, semantic="weak"), semantic="weak")  # <-- quiet_of_one_thread
    shmem.quiet()


@pair("race", "M9")
def quiet_of_one_thread(team, fixed):
    each_thread_puts_late[(1,)](words(team, count=128), words(team, "y", 128), words(team, "z", 128), flag(team), fixed)


@tandem.jit
def quiet_for_somebody(x_ptr, y_ptr, z_ptr, flag_ptr, N: tl.constexpr, WHOM: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_block(y_ptr, x_ptr, N * 4, peer)  # <-- quiet_of_another_peer
    shmem.quiet_pe((dl.rank() + WHOM) % dl.num_ranks())
    if tid(0) == 0:
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    tl.store(z_ptr + o, tl.load(y_ptr + o))  # <-- quiet_of_another_peer
    shmem.quiet()


@pair("race", "M9", ranks=(3, 4))
def quiet_of_another_peer(team, fixed):
    quiet_for_somebody[(1,)](words(team), words(team, "y"), words(team, "z"), flag(team), N, 1 if fixed else 2)


@tandem.jit
def one_tells_of_all(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    """Each thread sends a word and waits for its own to be there; one thread tells of all."""
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.int_p(x_ptr + t, t, peer)  # <-- quiet_of_each_thread
    shmem.quiet()
    if FIXED:
        __syncthreads()
    if t == 0:
        shmem.fence()
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    st(y_ptr + t, ld(x_ptr + (t ^ 1), semantic="weak"), semantic="weak")  # <-- quiet_of_each_thread


@pair("race", "M9")
def quiet_of_each_thread(team, fixed):
    one_tells_of_all[(1,)](words(team, count=128), words(team, "y", 128), flag(team), fixed)


@tandem.jit
def warps_fetch(x_ptr, y_ptr, z_ptr, FIXED: tl.constexpr):
    """A warp reads what another one has fetched; a thread may complete the call of its own warp."""
    t = tid(0)
    shmem.getmem_nbi_warp(y_ptr + t // 32 * 32, x_ptr + t // 32 * 32, 128, (dl.rank() + 1) % dl.num_ranks())  # <-- get_of_another_warp
    shmem.quiet()
    if FIXED:
        __syncthreads()
    st(z_ptr + t, ld(y_ptr + (t ^ (32 if FIXED else 33)), semantic="weak"), semantic="weak")  # <-- get_of_another_warp
    st(z_ptr + t, ld(y_ptr + t, semantic="weak"), semantic="weak")


@pair("race", "M3")
def get_of_another_warp(team, fixed):
    warps_fetch[(1,)](*[words(team, name, 128) for name in "xyz"], fixed)


@tandem.jit
def tell_of_another_warp(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    """All threads fence, each warp's for its own put; what a warp tells of is another's."""
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_warp(x_ptr + t // 32 * 32, y_ptr + t // 32 * 32, 128, peer)  # <-- fence_for_another_warp
    shmem.fence()
    if FIXED:
        __syncthreads()
    if t % 32 == 31:
        shmem.signal_op(flag_ptr + (t // 32 ^ 1), 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    if t % 32 == 0:
        shmem.signal_wait_until(flag_ptr + t // 32, shmem.NVSHMEM_CMP_EQ, 1)
    __syncwarp()
    st(y_ptr + 128 + t, ld(x_ptr + t, semantic="weak"), semantic="weak")  # <-- fence_for_another_warp
    shmem.quiet()


@pair("race", None)
def fence_for_another_warp(team, fixed):
    tell_of_another_warp[(1,)](words(team, count=128), words(team, "y", 256), team.zeros(4, "int64", name="flag"), fixed)


@tandem.jit
def lanes_tell(x_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    """A warp puts to all peers; of its threads each tells one."""
    t = tid(0)
    rank, ranks = dl.rank(), dl.num_ranks()
    if t < 32:
        for peer in range(ranks):
            shmem.putmem_nbi_warp(x_ptr + rank * 32, y_ptr, 128, peer)  # <-- put_of_the_threads_warp
        if FIXED:
            shmem.fence()
        if t < ranks:
            shmem.signal_op(flag_ptr + rank, 1, shmem.NVSHMEM_SIGNAL_SET, t)
            shmem.signal_wait_until(flag_ptr + t, shmem.NVSHMEM_CMP_EQ, 1)
        __syncwarp()
        for source in range(ranks):
            st(y_ptr + 32 + t, ld(x_ptr + source * 32 + t, semantic="weak"), semantic="weak")  # <-- put_of_the_threads_warp
    shmem.quiet()


@pair("race", "M9")
def put_of_the_threads_warp(team, fixed):
    flags = team.zeros(team.size, "int64", name="flag")
    lanes_tell[(1,)](words(team, count=32 * team.size), words(team, "y", 64), flags, fixed)


@tandem.jit
def fence_then_meet(x_ptr, y_ptr, flag_ptr, WARP: tl.constexpr, TELLER: tl.constexpr, FIXED: tl.constexpr):
    """Some threads put and fence, each its own word; behind a barrier one tells of all without a fence of its own."""
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    if t < (30 if WARP else 64):
        shmem.putmem_nbi(x_ptr + t, y_ptr + t, 4, peer)  # <-- fenced_before_the_barrier
        if FIXED:
            shmem.fence()
    if WARP:
        __syncwarp()
    else:
        __syncthreads()
    if t == TELLER:
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    __syncthreads()
    st(y_ptr + 128 + t, ld(x_ptr + (t ^ 1), semantic="weak"), semantic="weak")  # <-- fenced_before_the_barrier
    shmem.quiet()


@pair("race", "M9")
def fenced_before_the_barrier(team, fixed):
    for warp, teller in ((False, 0), (False, 100), (True, 0), (True, 31)):
        fence_then_meet[(1,)](words(team, count=128), words(team, "y", 256), flag(team), warp, teller, fixed)


@tandem.jit
def quarters(x_ptr, got_ptr, y_ptr, flag_ptr, FIXED: tl.constexpr):
    """Each warp puts a quarter with a signal and completes it; one thread waits for those that come."""
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    st(x_ptr + t, dl.rank(), semantic="weak")
    at = t // 32 * 32
    shmem.putmem_signal_nbi_warp(got_ptr + at, x_ptr + at, 128, flag_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, peer)  # <-- quarters_that_come
    shmem.quiet()
    if t == 0:
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_GE, 4 if FIXED else 3)
    __syncthreads()
    st(y_ptr + t, ld(got_ptr + t, semantic="weak"), semantic="weak")  # <-- quarters_that_come


@pair("race", "M15")
def quarters_that_come(team, fixed):
    quarters[(1,)](words(team, count=128), words(team, "got", 128), words(team, "y", 128), flag(team), fixed, num_warps=4)
