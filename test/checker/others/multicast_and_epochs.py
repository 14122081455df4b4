"""Multicast, blocks through descriptors, persistent queues, epochs in two halves, votes, relays."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from protocol import protocol
from tandem.simt import __syncthreads, ld, multimem_ld_reduce_v4, multimem_st_v4, st, tid

N = 64


def z(team, name, n=N, t="int32"):
    return team.zeros(n, t, name=name)


# == nvls_all_reduce
@tandem.jit
def nvls_k(x_ptr, y_ptr, sig_ptr, call, F: tl.constexpr):
    """Each rank sums its part by multimem.ld_reduce and stores it to all by multimem.st; words of the ranks count calls, twice each."""
    me, n = dl.rank(), dl.num_ranks()
    t = tid(0)
    own = x_ptr + t
    st(own, (me + call).to(tl.float32), semantic="weak")  # !1 !2
    __syncthreads()
    if t < n:
        if F != 1:
            st(dl.symm_at(sig_ptr, t) + me, 2 * call + 1, scope="sys", semantic="release" if F != 2 else "relaxed")
        while ld(sig_ptr + t, scope="sys", semantic="acquire") < (2 * call + 1 if F != 1 else 0):
            pass
    __syncthreads()
    if (t < 32) & (t % n == me):
        multi_x = shmem.remote_mc_ptr(shmem.NVSHMEM_TEAM_WORLD, x_ptr)
        multi_y = shmem.remote_mc_ptr(shmem.NVSHMEM_TEAM_WORLD, y_ptr)
        a, b, c, d = multimem_ld_reduce_v4(multi_x + 4 * t, tl.float32)  # !1 !2
        multimem_st_v4(multi_y + 4 * t, a, b, c, d)  # !3 !4
    if F != 3:
        __syncthreads()
    if t < n:
        st(dl.symm_at(sig_ptr, t) + me, 2 * call + 2, scope="sys", semantic="release")
        if F != 4:
            while ld(sig_ptr + t, scope="sys", semantic="acquire") < 2 * call + 2:
                pass
    __syncthreads()
    st(x_ptr + t, ld(y_ptr + t, semantic="weak"), semantic="weak")  # !3 !4


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(2, 4))
def nvls_all_reduce(team, f):
    x, y, sig = z(team, "x", 128, "float32"), z(team, "y", 128, "float32"), z(team, "sig", team.size)
    for call in range(3):
        nvls_k[(1,)](x, y, sig, call, f)


# == blocks_to_right
@tandem.jit
def blocks_k(inbox_ptr, y_ptr, full_ptr, free_ptr, ROUNDS: tl.constexpr, B: tl.constexpr, F: tl.constexpr):
    """Blocks go to the right neighbour's two slots through a descriptor of its memory; the neighbour gives slots back by counts."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    there = tl.make_tensor_descriptor(dl.symm_at(inbox_ptr, right), [2 * B, B], [B, 1], [B, B])
    here = tl.make_tensor_descriptor(inbox_ptr, [2 * B, B], [B, 1], [B, B])
    own = tl.make_tensor_descriptor(y_ptr, [ROUNDS * B, B], [B, 1], [B, B])
    for i in range(ROUNDS):
        slot = i % 2
        if i >= 2:
            if F != 1:
                dl.wait(free_ptr + slot, 1, "sys", "acquire", waitValue=i // 2 if F != 2 else i // 2 - 1, compare="ge")
        if F == 3:
            dl.notify(full_ptr + slot, right, signal=i // 2 + 1, sig_op="set", comm_scope="intra_node")
        there.store([slot * B, 0], tl.full((B, B), 1, tl.int32) * (me + i))  # !1 !2 !3 !4 !5
        full, count = (full_ptr + slot, i // 2 + 1) if F != 4 else (full_ptr, i + 1)
        if F != 3:
            dl.notify(full, right, signal=count, sig_op="set", comm_scope="intra_node")
        token = dl.wait(full, 1, "sys", "acquire", waitValue=i // 2 + 1, compare="ge")
        if F == 5:
            dl.notify(free_ptr + slot, left, signal=i // 2 + 1, sig_op="set", comm_scope="intra_node")
        v = dl.consume_token(here, token).load([slot * B, 0])  # !1 !2 !3 !4 !5
        own.store([i * B, 0], v)
        if F != 5:
            dl.notify(free_ptr + slot, left, signal=i // 2 + 1, sig_op="set", comm_scope="intra_node")
    dl.wait(free_ptr, 2, "sys", "acquire", waitValue=ROUNDS // 2)


@protocol({1: "race", 2: "race", 3: "race", 4: "race|signal-misuse", 5: "race"}, ranks=(3, 4))
def blocks_to_right(team, f):
    b = 8
    blocks_k[(1,)](z(team, "inbox", 2 * b * b), z(team, "y", 6 * b * b), z(team, "full", 2, "int64"), z(team, "free", 2, "int64"), 6, b, f)


# == persistent_queue
@tandem.jit
def persistent_k(next_ptr, left_ptr, done_ptr, y_ptr, out_ptr, TILES: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Programs take tiles of all ranks by rank 0's ticket; the last one to finish in the run puts ticket and count back."""
    ticket, left = dl.symm_at(next_ptr, 0), dl.symm_at(left_ptr, 0)
    o = tl.arange(0, N)
    n, programs = dl.num_ranks(), tl.num_programs(0)
    if F == 3:
        if (tl.program_id(0) == 0) & (dl.rank() == 0):
            tl.atomic_xchg(ticket, 0, sem="relaxed", scope="sys")  # !3
    tile = tl.atomic_add(ticket, 1, sem="relaxed", scope="sys" if F != 1 else "gpu")  # !1 !3 !4 !5
    while tile < TILES:
        owner = tile % n
        tl.store(dl.symm_at(y_ptr, owner) + tile // n * N + o, tile)  # !2 !3
        if F != 2:
            dl.notify(done_ptr, owner, signal=1, sig_op="add", comm_scope="intra_node")
        else:
            tl.atomic_add(dl.symm_at(done_ptr, owner), 1, sem="relaxed", scope="sys")
        tile = tl.atomic_add(ticket, 1, sem="relaxed", scope="sys")  # !4 !5
    last = tl.atomic_add(left, 1, sem="acq_rel" if F < 4 else "relaxed", scope="sys")
    if last == n * programs - 1:
        if F == 5:
            if tid(0) == 0:
                st(ticket, 0, scope="sys", semantic="relaxed")  # !5
        elif F != 3:
            tl.atomic_xchg(ticket, 0, sem="relaxed", scope="sys")  # !4
        tl.atomic_xchg(left, 0, sem="release", scope="sys")
    if tl.program_id(0) == 0:
        dl.wait(done_ptr, 1, "sys", "acquire", waitValue=TILES // n)
        tl.store(out_ptr + o, tl.load(y_ptr + o) + tl.load(y_ptr + N + o))  # !2
        dl.notify(done_ptr, dl.rank(), signal=0, sig_op="set", comm_scope="gpu")


LOST = "race|signal-misuse"


@protocol({1: "scope", 2: "race", 3: "race|signal-misuse|deadlock", 4: LOST, 5: LOST}, ranks=(2, 4), sometimes=(2, 4, 5))
def persistent_queue(team, f):
    n = team.size
    words = z(team, "next", 1), z(team, "left", 1), z(team, "done", 1, "int64")
    y, out = z(team, "y", 4 * N), z(team, "out")
    for call in range(2):
        persistent_k[(2,)](*words, y, out, 4 * n, N, f)
        team.barrier()


# == halves_of_epochs
@tandem.jit
def halves_k(got_ptr, y_ptr, sig_ptr, ack_ptr, epoch_ptr, N: tl.constexpr, LAST: tl.constexpr, F: tl.constexpr):
    """Every rank sends to the right, in the epoch's half; whoever has read an epoch's half acks it, and a sender of epoch e needs the ack
    of e - 2. The epoch is kept on the device; the last launch waits for all acks."""
    me, n = dl.rank(), dl.num_ranks()
    right, left = (me + 1) % n, (me + n - 1) % n
    o = tl.arange(0, N)
    if LAST:
        dl.wait(ack_ptr, 1, "sys", "acquire", waitValue=tl.load(epoch_ptr), compare="ge")
    else:
        e = tl.load(epoch_ptr) + 1
        half = e % 2 if F != 5 else 0
        if F != 1:
            dl.wait(ack_ptr, 1, "sys", "acquire" if F != 6 else "relaxed", waitValue=e - (2 if F != 2 else 3), compare="ge")
        tl.store(dl.symm_at(got_ptr, right) + half * N + o, e * 10 + me)  # !1 !2 !3 !4 !5 !6
        dl.notify(sig_ptr, right, signal=e, sig_op="set", comm_scope="intra_node")
        if F == 3:
            dl.notify(ack_ptr, left, signal=e, sig_op="set", comm_scope="intra_node")
        dl.wait(sig_ptr, 1, "sys", "acquire", waitValue=e if F != 4 else e - 1, compare="ge")
        tl.store(y_ptr + o, tl.load(got_ptr + half * N + o))  # !1 !2 !3 !4 !5 !6
        if F != 3:
            dl.notify(ack_ptr, left, signal=e, sig_op="set", comm_scope="intra_node")
        tl.store(epoch_ptr, e)


@protocol({1: "race", 2: "race", 3: "race", 4: "race", 5: "race", 6: "race"}, ranks=(3, 4))
def halves_of_epochs(team, f):
    given = z(team, "got", 2 * N), z(team, "y"), z(team, "sig", 1, "int64"), z(team, "ack", 1, "int64")
    epoch = team.local_from_array(np.zeros(1, np.int64))
    for call in range(6):
        halves_k[(1,)](*given, epoch, N, call == 5, f)


# == votes
@tandem.jit
def votes_k(plan_ptr, state_ptr, vote_ptr, ask_ptr, tell_ptr, ROUNDS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Two phases: rank 0 writes a plan and asks; members or their bit into rank 0's word; when all bits are there, rank 0 clears them and
    tells all to commit; they copy the plan."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    everyone = (1 << n) - 2
    for r in range(1, ROUNDS + 1):
        if me == 0:
            for p in range(1, n):
                tl.store(dl.symm_at(plan_ptr, p) + o, r)  # !1 !2 !3 !4
                dl.notify(ask_ptr, p, signal=r, sig_op="set", comm_scope="intra_node")
            if tid(0) == 0:
                seen = ld(vote_ptr, scope="sys", semantic="acquire" if F != 2 else "relaxed")
                while seen != (everyone if F != 1 else seen):
                    seen = ld(vote_ptr, scope="sys", semantic="acquire" if F != 2 else "relaxed")
                if F != 3:
                    st(vote_ptr, 0, scope="sys", semantic="relaxed")
            __syncthreads()
            for p in range(1, n):
                dl.notify(tell_ptr, p, signal=r, sig_op="set", comm_scope="intra_node")
            if F == 3:
                for p in range(1, n):
                    tl.store(dl.symm_at(plan_ptr, p) + o, r + 1)
                    dl.notify(ask_ptr, p, signal=r + 1, sig_op="set", comm_scope="intra_node")
                if tid(0) == 0:
                    st(vote_ptr, 0, scope="sys", semantic="relaxed")  # !4
        else:
            dl.wait(ask_ptr, 1, "sys", "acquire", waitValue=r)  # !1
            tl.store(state_ptr + o, tl.load(plan_ptr + o))  # !1 !2 !3 !4
            tl.atomic_or(dl.symm_at(vote_ptr, 0), 1 << me, sem="release" if F != 4 else "relaxed", scope="sys")  # !3
            dl.wait(tell_ptr, 1, "sys", "acquire", waitValue=r)


@protocol({1: "race|signal-misuse|deadlock", 2: "race", 3: "race|signal-misuse", 4: "race"}, ranks=(2, 4))
def votes(team, f):
    votes_k[(1,)](z(team, "plan"), z(team, "state"), z(team, "vote", 1), z(team, "ask", 1, "int64"), z(team, "tell", 1, "int64"), 3, N, f)


# == chunks_by_puts
@tandem.jit
def chunks_k(x_ptr, got_ptr, y_ptr, sig_ptr, CHUNKS: tl.constexpr, N: tl.constexpr, F: tl.constexpr):
    """Chunks by puts with signals; each chunk has a word, or all add to one and a fence keeps them in order."""
    me, n = dl.rank(), dl.num_ranks()
    right = (me + 1) % n
    o = tl.arange(0, N)
    for c in range(CHUNKS):
        tl.store(x_ptr + c * N + o, me * 100 + c)
        __syncthreads()
        if (F == 1) | (F == 0):
            shmem.putmem_signal_nbi_block(got_ptr + c * N, x_ptr + c * N, N * 4, sig_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, right)  # !1
            if F == 0:
                shmem.fence()
        elif F == 2:
            shmem.putmem_nbi_block(got_ptr + c * N, x_ptr + c * N, N * 4, right)  # !2
            __syncthreads()
            if tid(0) == 0:
                shmem.fence_pe(me)
                shmem.signal_op(sig_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, right)
        elif F == 3:
            shmem.putmem_nbi_block(got_ptr + c * N, x_ptr + c * N, N * 4, right)  # !3
            shmem.fence()
            if tid(0) == 0:
                shmem.signal_op(sig_ptr, c + 1, shmem.NVSHMEM_SIGNAL_SET, right)
        else:
            shmem.putmem_signal_nbi_block(got_ptr + c * N, x_ptr + c * N, N * 4, sig_ptr, c + 1, shmem.NVSHMEM_SIGNAL_SET, right)  # !4
    for c in range(CHUNKS):
        if tid(0) == 0:
            shmem.signal_wait_until(sig_ptr, shmem.NVSHMEM_CMP_GE, c + 1 if F != 3 else c)
        __syncthreads()
        tl.store(y_ptr + c * N + o, tl.load(got_ptr + c * N + o))  # !1 !2 !3 !4
    shmem.quiet()


@protocol({1: "race", 2: "race", 3: "race", 4: "race|signal-misuse"}, ranks=(2, 4))
def chunks_by_puts(team, f):
    chunks_k[(1,)](z(team, "x", 4 * N), z(team, "got", 4 * N), z(team, "y", 4 * N), z(team, "sig", 1, "uint64"), 4, N, f)


# == relay
@tandem.jit
def relay_k(x_ptr, got_ptr, y_ptr, sig_ptr, N: tl.constexpr, F: tl.constexpr):
    """Rank 0 puts to the last rank and tells rank 1, who tells the others in turn; the last one reads. A fence is for one peer each."""
    me, n = dl.rank(), dl.num_ranks()
    o = tl.arange(0, N)
    if me == 0:
        tl.store(x_ptr + o, 7)
        __syncthreads()
        shmem.putmem_nbi_block(got_ptr, x_ptr, N * 4, n - 1)  # !1 !2
        if F == 0:
            shmem.quiet()
        elif F == 1:
            shmem.fence()
        __syncthreads()
        if tid(0) == 0:
            if F == 2:
                shmem.quiet_pe(0)
            shmem.signal_op(sig_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, 1)
    else:
        if tid(0) == 0:
            if F != 3:
                shmem.signal_wait_until(sig_ptr, shmem.NVSHMEM_CMP_EQ, 1)
            if F != 4:
                shmem.fence()
            if me < n - 1:
                shmem.signal_op(sig_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, me + 1)
        __syncthreads()
        if me == n - 1:
            tl.store(y_ptr + o, tl.load(got_ptr + o))  # !1 !2 !3 !4
    if F == 1:
        shmem.quiet()


@protocol({1: "race", 2: "race", 3: "race", 4: "race"}, ranks=(3, 4))
def relay(team, f):
    relay_k[(1,)](z(team, "x"), z(team, "got"), z(team, "y"), z(team, "sig", 1, "uint64"), N, f)
