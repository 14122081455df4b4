"""Runs an abstract program on simulated ranks: one kernel, which reads its operations from a table."""

import warnings

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from program import Kind
from tandem.simt import __syncthreads, ld, st, tid

BLOCK, FIELDS = 4, 8
STORE, LOAD, NOTIFY, WAIT, SIGNAL, SIGNAL_WAIT = (tl.constexpr(int(k)) for k in list(Kind)[:6])
PUT, PUT_NBI, PUT_SIGNAL, FENCE, QUIET, SET = (tl.constexpr(int(k)) for k in list(Kind)[6:12])
SET_THREAD, POLL, POLL_THREAD, TICKET, LOCK, BARRIER = (tl.constexpr(int(k)) for k in list(Kind)[12:18])
FENCE_PEER, QUIET_PEER = (tl.constexpr(int(k)) for k in list(Kind)[18:20])
SCOPES = tl.constexpr(("sys", "gpu"))
COMM = tl.constexpr(("intra_node", "gpu"))
ACQUIRES = tl.constexpr(("relaxed", "acquire"))
RELEASES = tl.constexpr(("relaxed", "release"))
BOTH = tl.constexpr(("relaxed", "acq_rel"))
UPDATES = tl.constexpr(("set", "add"))
COMPARES = tl.constexpr(("ge", "eq"))


@tandem.jit
def signalled(flag, peer, value, v: tl.constexpr):
    dl.notify(flag, peer, signal=value.to(tl.int64), sig_op=UPDATES[v // 4 % 2], comm_scope=COMM[v % 2])


@tandem.jit
def polled_by_thread(word, value, v: tl.constexpr):
    if tid(0) == 0:
        if v < 4:
            while ld(word, scope=SCOPES[v % 2], semantic=ACQUIRES[v // 2 % 2]) < value:
                pass
        else:
            while ld(word, scope=SCOPES[v % 2], semantic=ACQUIRES[v // 2 % 2]) != value:
                pass
    __syncthreads()


@tandem.jit
def protocol(table_ptr, first_ptr, x_ptr, word_ptr, flag_ptr, y_ptr, BLOCK: tl.constexpr, FIELDS: tl.constexpr):
    """`table_ptr`: FIELDS integers an operation: kind, variant (scope, order, comparison or update), peer, index, value, source, signal."""
    pid = tl.program_id(0)
    o = tl.arange(0, BLOCK)
    seen = tl.zeros((BLOCK,), tl.int32)
    at, end = tl.load(first_ptr + pid), tl.load(first_ptr + pid + 1)
    while at < end:
        row = table_ptr + at * FIELDS
        kind, variant, peer, index = tl.load(row), tl.load(row + 1), tl.load(row + 2), tl.load(row + 3)
        value, source, signal = tl.load(row + 4), tl.load(row + 5), tl.load(row + 6)
        at += 1
        word = dl.symm_at(word_ptr, peer) + index
        if kind == STORE:
            tl.store(dl.symm_at(x_ptr, peer) + index * BLOCK + o, value)
        elif kind == LOAD:
            seen += tl.load(dl.symm_at(x_ptr, peer) + index * BLOCK + o)
        elif kind == NOTIFY:
            for v in tl.static_range(8):
                if variant == v:
                    signalled(flag_ptr + index, peer, value, v)
        elif kind == WAIT:
            for v in tl.static_range(8):
                if variant == v:
                    dl.wait(
                        flag_ptr + index, 1, SCOPES[v % 2], ACQUIRES[v // 2 % 2], waitValue=value.to(tl.int64), compare=COMPARES[v // 4]
                    )
        elif kind == SIGNAL:
            if tid(0) == 0:
                if variant >= 4:
                    shmem.signal_op(flag_ptr + index, value, shmem.NVSHMEM_SIGNAL_ADD, peer)
                else:
                    shmem.signal_op(flag_ptr + index, value, shmem.NVSHMEM_SIGNAL_SET, peer)
        elif kind == SIGNAL_WAIT:
            if variant >= 4:
                shmem.signal_wait_until(flag_ptr + index, shmem.NVSHMEM_CMP_EQ, value)
            else:
                shmem.signal_wait_until(flag_ptr + index, shmem.NVSHMEM_CMP_GE, value)
        elif kind == PUT:
            shmem.putmem_block(x_ptr + index * BLOCK, x_ptr + source * BLOCK, BLOCK * 4, peer)
        elif kind == PUT_NBI:
            shmem.putmem_nbi_block(x_ptr + index * BLOCK, x_ptr + source * BLOCK, BLOCK * 4, peer)
        elif kind == PUT_SIGNAL:
            to, of, arrived = x_ptr + index * BLOCK, x_ptr + source * BLOCK, flag_ptr + signal
            if variant >= 4:
                shmem.putmem_signal_nbi_block(to, of, BLOCK * 4, arrived, value, shmem.NVSHMEM_SIGNAL_ADD, peer)
            else:
                shmem.putmem_signal_nbi_block(to, of, BLOCK * 4, arrived, value, shmem.NVSHMEM_SIGNAL_SET, peer)
        elif kind == FENCE:
            shmem.fence()
        elif kind == QUIET:
            shmem.quiet()
        elif kind == FENCE_PEER:
            shmem.fence_pe(peer)
        elif kind == QUIET_PEER:
            shmem.quiet_pe(peer)
        elif kind == SET:
            for v in tl.static_range(4):
                if variant == v:
                    tl.atomic_xchg(word, value, sem=RELEASES[v // 2], scope=SCOPES[v % 2])
        elif kind == SET_THREAD:
            __syncthreads()
            for v in tl.static_range(4):
                if variant == v:
                    if tid(0) == 0:
                        st(word, value, scope=SCOPES[v % 2], semantic=RELEASES[v // 2])
        elif kind == POLL:
            for v in tl.static_range(4):
                if variant == v:
                    while tl.atomic_add(word, 0, sem=ACQUIRES[v // 2], scope=SCOPES[v % 2]) < value:
                        pass
        elif kind == POLL_THREAD:
            for v in tl.static_range(8):
                if variant == v:
                    polled_by_thread(word, value, v)
        elif kind == TICKET:
            for v in tl.static_range(4):
                if variant == v:
                    if tl.atomic_add(word, 1, sem=BOTH[v // 2], scope=SCOPES[v % 2]) != value:
                        at += source
        elif kind == LOCK:
            for v in tl.static_range(4):
                if variant == v:
                    while tl.atomic_cas(word, 0, 1, sem=ACQUIRES[v // 2], scope=SCOPES[v % 2]) != 0:
                        pass
        elif kind == BARRIER:
            shmem.barrier_all_block()
    tl.store(y_ptr + pid * BLOCK + o, seen)


def variant_of(operation):
    return operation.scope + 2 * operation.order + 4 * (operation.adds or operation.equal)


def rows(thread):
    return [(o.kind, variant_of(o), o.peer, o.index, o.value, o.source, o.signal, 0) for o in thread]


def kernels_of(thread):
    """A program's operations by kernel."""
    kernels = [[]]
    for o in thread:
        if o.kind == Kind.NEXT_KERNEL:
            kernels.append([])
        else:
            kernels[-1].append(o)
    return kernels


def main_of(program):
    """`main(team)` of the program."""
    operations = [o for rank in program.threads for thread in rank for o in thread]
    blocks = 1 + max((max(o.index, o.source) for o in operations), default=0)
    flags = 1 + max((max(o.index, o.signal) for o in operations), default=0)

    def main(team):
        x, word = team.zeros(blocks * BLOCK, "int32", name="x"), team.zeros(blocks, "int32", name="word")
        flag = team.zeros(flags, "int64", name="flag")
        for threads in zip(*map(kernels_of, program.threads[team.rank]), strict=True):
            first = np.cumsum([0, *map(len, threads)], dtype=np.int32)
            table = np.array([row for thread in threads for row in rows(thread)] or [(0,) * FIELDS], np.int32)
            y = np.zeros(len(threads) * BLOCK, np.int32)
            protocol[(len(threads),)](table, first, x, word, flag, y, BLOCK, FIELDS, stream=team.stream)
        team.synchronize()

    return main


def found_by_checker(program, seed, policy="random"):
    """The reports of one checked run."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tandem.SimulationWarning)
        try:
            return tandem.launch(main_of(program), ranks=program.ranks, seed=seed, policy=policy, check=True).reports
        except tandem.SimulationError as error:
            return error.reports
