"""A barrier that is one word, a tree of bits, prefixes that look back over ranks, and levels of unequal nodes."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, atomic_add, ld, st, tid

N = 32


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == barrier_in_a_word
@tandem.jit
def arrive_in_a_word(word, n, F: tl.constexpr):
    """The lower half counts arrivals, the upper half how often all have come; the last one to come changes both in one step,
    and passes on what the others have released, as its atomic continues their chain."""
    if F != 4:
        __syncthreads()
    if tid(0) == 0:
        before = atomic_add(word, tl.cast(1, tl.int64), scope="sys", semantic="acq_rel" if F != 1 else "acquire")
        if (before & 0xFFFF) == n - 1:
            if F != 6:
                atomic_add(word, (tl.cast(1, tl.int64) << 32) - n, scope="sys", semantic="relaxed")
        else:
            while (ld(word, scope="sys", semantic="acquire" if F != 3 else "relaxed") >> 32) == (before >> 32):  # !6
                pass
    if F != 5:
        __syncthreads()


@tandem.jit
def barrier_in_a_word_k(word_ptr, x_ptr, y_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    word = dl.symm_at(word_ptr, 0)
    for i in range(ROUNDS):
        tl.store(x_ptr + o, me + i)  # !1 !2 !3 !4 !5
        arrive_in_a_word(word, n, F)
        for p in range(n):
            tl.store(y_ptr + p * N + o, tl.load(dl.symm_at(x_ptr, p) + o))  # !1 !2 !3 !4 !5
        arrive_in_a_word(word, n, F)


@protocol({1: "race", 3: "race", 4: "race", 5: "race", 6: "livelock|deadlock"}, ranks=(2, 3))
def barrier_in_a_word(team, f):
    y = z(team, "y", team.size * N)
    barrier_in_a_word_k[(1,)](z(team, "word", 1, "int64"), z(team, "x"), y, 3, N, f)
    if f == 0:
        assert (np.asarray(y).reshape(-1, N)[:, 0] == np.arange(team.size) + 2).all()


# == tree_of_bits
@tandem.jit
def tree_of_bits_k(bits_ptr, wake_ptr, x_ptr, y_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Up to four children of a rank turn a bit of its word when their ranks have come; two are woken by each."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    children = tl.maximum(tl.minimum(n - 4 * me - 1, 4), 0)
    full = (1 << children) - 1
    for i in range(1, ROUNDS + 1):
        tl.store(dl.symm_at(x_ptr, (me + 1) % n) + o, me * 16 + i)  # !1 !2 !3 !4 !5
        for half in tl.static_range(2):
            turned = tl.where(half == 0, full, 0)
            __syncthreads()
            if tid(0) == 0:
                while (ld(bits_ptr, scope="sys", semantic="acquire" if F != 2 else "relaxed") & (full if F != 3 else full & -2)) != (
                    turned if F != 3 else turned & -2
                ):  # !6
                    pass
                if me > 0:
                    bit = 1 << ((me - 1) % 4)
                    if F != 6:
                        tl.atomic_xor(dl.symm_at(bits_ptr, (me - 1) // 4), bit, sem="release" if F != 1 else "relaxed", scope="sys")
            __syncthreads()
            number = 2 * i - 1 + half
            if me > 0:
                dl.wait(wake_ptr, 1, "sys", "acquire" if F != 4 else "relaxed", waitValue=number, compare="ge")  # !6
            for c in tl.static_range(2):
                child = 2 * me + 1 + c
                if child < n:
                    dl.notify(wake_ptr, child, signal=number if F != 5 else number + 1, sig_op="set", comm_scope="intra_node")
            if half == 0:
                tl.store(y_ptr + o, tl.load(x_ptr + o))  # !1 !2 !3 !4 !5


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "livelock|deadlock"}, ranks=(2, 7))
def tree_of_bits(team, f):
    y = z(team, "y")
    tree_of_bits_k[(1,)](z(team, "bits", 1), z(team, "wake", 1, "int64"), z(team, "x"), y, 3, N, f)
    if f == 0:
        assert np.asarray(y)[0] == (team.rank - 1) % team.size * 16 + 3


# == look_back
@tandem.jit
def look_back_k(ticket_ptr, state_ptr, value_ptr, x_ptr, y_ptr, call, BLOCKS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Sums of all blocks before, over all ranks, in one pass: a block says its own sum, adds what those before it say, up to one that
    knows all before it, and says what it knows then. State and sum are one word; faults 1 and 2 have them in two."""
    me = dl.rank()
    o = tl.arange(0, N)
    i = tl.atomic_add(ticket_ptr, 1, sem="relaxed", scope="gpu")
    i = (i % BLOCKS).to(tl.int32)
    x = tl.load(x_ptr + i * N + o)
    mine = tl.sum(x)
    before = tl.cast(0, tl.int32)
    buffer = dl.allocate_smem(tl.int32, [1])
    scope: tl.constexpr = "sys" if F != 3 else "gpu"
    if tid(0) == 0:
        if F == 1 or F == 2:
            st(value_ptr + 2 * i, mine, semantic="weak")  # !1 !2
            st(state_ptr + i, (2 * call + 1).to(tl.int64), scope=scope, semantic="release" if F != 1 else "relaxed")
        else:
            st(state_ptr + i, (mine.to(tl.int64) << 32) | (2 * call + 1), scope=scope, semantic="relaxed")
        at = me * BLOCKS + i - 1
        while at >= 0:
            of_other = dl.symm_at(state_ptr, at // BLOCKS) + at % BLOCKS
            word = ld(of_other, scope=scope, semantic="relaxed" if F != 1 else "acquire")  # !3
            while (word & 0xFFFFFFFF) <= 2 * call:
                word = ld(of_other, scope=scope, semantic="relaxed" if F != 1 else "acquire")  # !3
            is_whole = (word & 0xFFFFFFFF) == 2 * call + 2
            if F == 1 or F == 2:
                before += ld(dl.symm_at(value_ptr, at // BLOCKS) + 2 * (at % BLOCKS) + is_whole.to(tl.int32), semantic="weak")  # !1 !2
            else:
                before += (word >> 32).to(tl.int32)
            at = tl.where(is_whole, -1, at - 1)
        if F == 1 or F == 2:
            st(value_ptr + 2 * i + 1, before + mine, semantic="weak")  # !1 !2
            st(state_ptr + i, (2 * call + 2).to(tl.int64), scope=scope, semantic="release" if F != 1 else "relaxed")
        else:
            st(state_ptr + i, ((before + mine).to(tl.int64) << 32) | (2 * call + 2), scope=scope, semantic="relaxed")
        dl.smem_store(buffer, before, 0)  # !4
    if F != 4:
        __syncthreads()
    tl.store(y_ptr + i * N + o, tl.cumsum(x) + dl.smem_load(buffer, 0))  # !4


@protocol({1: "race", 2: "race", 3: "scope", 4: "race|uninitialised-read"}, ranks=(2, 3))
def look_back(team, f):
    blocks = 4
    x = team.from_array(np.arange(blocks * N, dtype=np.int32) + team.rank)
    ticket, state = z(team, "ticket", 1), z(team, "state", blocks, "int64")
    value, y = z(team, "value", 2 * blocks), z(team, "y", blocks * N)
    for call in range(2):
        look_back_k[(blocks,)](ticket, state, value, x, y, call, blocks, N, f)
        team.synchronize()
        team.barrier()
    if f == 0:
        before = sum(int((np.arange(blocks * N) + r).sum()) for r in range(team.rank))
        assert (np.asarray(y) == np.cumsum(np.asarray(x)) + before).all()


# == levels_of_unequal_nodes
@tandem.jit
def levels_of_unequal_nodes_k(
    x_ptr, part_ptr, sum_ptr, all_ptr, y_ptr, in_ptr, far_ptr, out_ptr, call, NODE: tl.constexpr, N: tl.constexpr, F: tl.constexpr
):
    """Sums in nodes of NODE ranks, of which the last one may have fewer; the first rank of a node sends its node's sum to the first
    ranks of the others by puts with signals, adds all, and tells its node."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    node, nodes = me // NODE, tl.cdiv(n, NODE)
    first = node * NODE
    size = tl.minimum(n - first, NODE)
    half = call % 2
    if me != first:
        tl.store(dl.symm_at(part_ptr, first) + (half * NODE + me - first) * N + o, tl.load(x_ptr + o))  # !1 !2
        dl.notify(in_ptr, first, signal=1, sig_op="add", comm_scope="intra_node")
        dl.wait(out_ptr, 1, "sys", "acquire" if F != 5 else "relaxed", waitValue=call, compare="ge")  # !8
        tl.store(y_ptr + o, tl.load(all_ptr + o))  # !5 !6
    else:
        if F != 1:
            dl.wait(in_ptr, 1, "sys", "acquire", waitValue=call * (size - 1) - (size > 1 if F == 2 else 0), compare="ge")
        total = tl.load(x_ptr + o)
        for r in range(1, size):
            total += tl.load(part_ptr + (half * NODE + r) * N + o)  # !1 !2
        mine = sum_ptr + (half * n + node) * N
        tl.store(mine + o, total)  # !3
        __syncthreads()
        for d in range(1, nodes):
            other = (node + d) % nodes
            if F == 4:
                shmem.putmem_nbi_block(mine, mine, N * 4, other * NODE)  # !4
                if tid(0) == 0:
                    shmem.signal_op(far_ptr + node, call, shmem.NVSHMEM_SIGNAL_SET, other * NODE)
            else:
                shmem.putmem_signal_nbi_block(mine, mine, N * 4, far_ptr + node, call, shmem.NVSHMEM_SIGNAL_SET, other * NODE)  # !3 !7
        for d in range(1, nodes):
            other = (node + d) % nodes
            if F != 7:
                shmem.signal_wait_until(far_ptr + other, shmem.NVSHMEM_CMP_GE, call)
            total += tl.load(sum_ptr + (half * n + other) * N + o)  # !4 !7
        if F == 3:
            tl.store(mine + o, total)  # !3
        tl.store(y_ptr + o, total)
        for r in range(1, size):
            if F == 6:
                dl.notify(out_ptr, first + r, signal=call, sig_op="set", comm_scope="intra_node")
            tl.store(dl.symm_at(all_ptr, first + r) + o, total)  # !5 !6
            if (F != 6) & ((F != 8) | (r > 1)):
                dl.notify(out_ptr, first + r, signal=call, sig_op="set", comm_scope="intra_node")
        shmem.quiet()


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race", 7: "race", 8: "deadlock"}, ranks=(5, 8))
def levels_of_unequal_nodes(team, f):
    n, node = team.size, 3 if team.size > 3 else 2
    x, part, sums = z(team, "x"), z(team, "part", 2 * node * N), z(team, "sum", 2 * n * N)
    everything, y, words = z(team, "all"), z(team, "y"), [z(team, name, n, "int64") for name in ("in", "far", "out")]
    for call in range(1, 4):
        x[...] = np.full(N, team.rank + call, np.int32)
        levels_of_unequal_nodes_k[(1,)](x, part, sums, everything, y, *words, call, node, N, f)
        team.synchronize()
    if f == 0:
        assert np.asarray(y)[0] == sum(range(n)) + 3 * n


# == swapped_mailbox
@tandem.jit
def swapped_mailbox_k(box_ptr, x_ptr, y_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Three buffers between a writer and a reader that never wait for each other: each has one, and the third, with whether it is new, is
    swapped for one's own by an exchange. The reader gets the latest only."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    o = tl.arange(0, N)
    if tl.program_id(0) == 0:
        mine = tl.cast(0, tl.int32)
        for i in range(1, ROUNDS + 1):
            tl.store(dl.symm_at(x_ptr, right) + mine * N + o, i)  # !1 !2
            __syncthreads()
            mine = tl.atomic_xchg(dl.symm_at(box_ptr, right), mine | 4, sem="acq_rel" if F != 1 else "acquire", scope="sys") & 3
    else:
        mine = tl.cast(2, tl.int32)
        last = tl.cast(0, tl.int32)
        while last < ROUNDS:
            if tl.atomic_add(box_ptr, 0, sem="relaxed", scope="sys") >= 4:
                mine = tl.atomic_xchg(box_ptr, mine, sem="acq_rel" if F != 2 else "release", scope="sys") & 3
                seen = tl.load(x_ptr + mine * N + o)  # !1 !2
                tl.store(y_ptr + o, seen)
                last = tl.max(seen)


@protocol({1: "race", 2: "race"}, ranks=(2, 3))
def swapped_mailbox(team, f):
    box = team.full(1, 1, "int32", name="box")
    y = z(team, "y")
    team.barrier()
    swapped_mailbox_k[(2,)](box, z(team, "x", 3 * N), y, 4, N, f)
    if f == 0:
        assert np.asarray(y)[0] == 4
