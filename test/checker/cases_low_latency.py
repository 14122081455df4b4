"""Data and its flag in one word (LL): a strong access of 8 bytes at most is one access; a put and a plain store are not."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from case import pair
from tandem.simt import ld, st, tid

N = 32


def words(team, name, dtype="int64", count=N):
    return team.zeros(count, dtype, name=name)


@tandem.jit
def send_words(buffer_ptr, x_ptr, y_ptr, STRONG: tl.constexpr):
    """Each thread sends 4 bytes of data beside a flag of 4."""
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    packet = (ld(x_ptr + t).to(tl.int64) << 32) | 1
    if STRONG:
        st(dl.symm_at(buffer_ptr, peer) + t, packet, scope="sys", semantic="relaxed")
    else:
        tl.store(dl.symm_at(buffer_ptr, peer) + t, packet)  # <-- packet_stored_plainly
    seen = tl.cast(0, tl.int64)
    while (seen & 0xFFFFFFFF) != 1:
        seen = ld(buffer_ptr + t, scope="sys", semantic="relaxed")  # <-- packet_stored_plainly
    tl.store(y_ptr + t, (seen >> 32).to(tl.int32))


@pair("race", None)
def packet_stored_plainly(team, fixed):
    x = team.full(N, team.rank + 5, "int32")
    y = words(team, "y", "int32")
    send_words[(1,)](words(team, "buffer"), x, y, fixed, num_warps=1)
    team.synchronize()
    if fixed:
        assert (y.numpy() == (team.rank - 1) % team.size + 5).all()


@tandem.jit
def load_volatile(buffer_ptr, y_ptr, VOLATILE: tl.constexpr):
    """`ld.volatile` is a relaxed load at scope sys, in a tile of each element."""
    o = tl.arange(0, 32)
    peer = (dl.rank() + 1) % dl.num_ranks()
    t = tid(0)
    st(dl.symm_at(buffer_ptr, peer) + t, 1, scope="sys", semantic="relaxed")  # <-- tile_of_flags_read_plainly
    tl.store(y_ptr + o, tl.load(buffer_ptr + o, volatile=VOLATILE))  # <-- tile_of_flags_read_plainly


@pair("race", None)
def tile_of_flags_read_plainly(team, fixed):
    load_volatile[(1,)](words(team, "buffer"), words(team, "y"), fixed, num_warps=1)


@tandem.jit
def spin_volatile(flag_ptr, VOLATILE: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")  # <-- spin_on_a_plain_load
    while tl.load(flag_ptr, volatile=VOLATILE) != 1:  # <-- spin_on_a_plain_load
        pass


@pair("signal-misuse", "M15")
def spin_on_a_plain_load(team, fixed):
    spin_volatile[(1,)](words(team, "flag", count=1), fixed)


@tandem.jit
def put_packets(buffer_ptr, packed_ptr, y_ptr, PUT: tl.constexpr):
    """A put promises nothing of the order of its bytes until it is complete."""
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    if PUT:
        shmem.putmem_nbi_block(buffer_ptr, packed_ptr, 32 * 8, peer)  # <-- packets_in_a_put
    else:
        st(dl.symm_at(buffer_ptr, peer) + t, 1, scope="sys", semantic="relaxed")
    while ld(buffer_ptr + t, scope="sys", semantic="relaxed") != 1:  # <-- packets_in_a_put
        pass
    shmem.quiet()


@pair("race", None)
def packets_in_a_put(team, fixed):
    packed = team.full(N, 1, "int64")
    put_packets[(1,)](words(team, "buffer"), packed, words(team, "y"), not fixed, num_warps=1)
