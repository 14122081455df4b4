"""Scopes: each of notify, wait, loads and stores, fences and atomics, too narrow for who takes part."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair
from tandem.simt import __syncthreads, atomic_add, atomic_cas, fence, ld, st, tid

N = 32


def data(team, name="x"):
    return team.zeros(N, "int32", name=name)


def flag(team, dtype="int64"):
    return team.zeros(1, dtype, name="flag")


@tandem.jit
def notify_and_wait(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, NOTIFY: tl.constexpr, WAIT: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 4)
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope=NOTIFY)  # <-- notify_scope
    dl.wait(flag_ptr, 1, WAIT, "acquire", waitValue=1)  # <-- notify_scope
    tl.store(y_ptr + o, tl.load(x_ptr + o))


@pair("scope", "M14")
def notify_scope(team, fixed):
    notify_and_wait[(1,)](data(team), data(team, "y"), flag(team), N, "intra_node" if fixed else "gpu", "sys")


@tandem.jit
def wait_narrow(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, SCOPE: tl.constexpr):
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 4)
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")  # <-- wait_scope
    dl.wait(flag_ptr, 1, SCOPE, "acquire", waitValue=1)  # <-- wait_scope
    tl.store(y_ptr + o, tl.load(x_ptr + o))


@pair("scope", "M14")
def wait_scope(team, fixed):
    wait_narrow[(1,)](data(team), data(team, "y"), flag(team), N, "sys" if fixed else "gpu")


@tandem.jit
def poll_narrow(flag_ptr, SCOPE: tl.constexpr):
    if tid(0) == 0:
        st(dl.symm_at(flag_ptr, (dl.rank() + 1) % dl.num_ranks()), 1, scope="sys", semantic="release")  # <-- load_scope
        while ld(flag_ptr, scope=SCOPE, semantic="acquire") != 1:  # <-- load_scope
            pass


@pair("scope", "M14")
def load_scope(team, fixed):
    poll_narrow[(1,)](flag(team), "sys" if fixed else "gpu")


@tandem.jit
def count_at_first(counter_ptr, SCOPE: tl.constexpr):
    if tid(0) == 0:
        atomic_add(dl.symm_at(counter_ptr, 0), 1, scope=SCOPE, semantic="relaxed")  # <-- thread_atomic_scope


@pair("scope", "M14")
def thread_atomic_scope(team, fixed):
    count_at_first[(1,)](flag(team, "int32"), "sys" if fixed else "gpu")


@tandem.jit
def tile_count(counter_ptr, SCOPE: tl.constexpr):
    tl.atomic_add(dl.symm_at(counter_ptr, 0), 1, sem="relaxed", scope=SCOPE)  # <-- tile_atomic_scope


@pair("scope", "M14")
def tile_atomic_scope(team, fixed):
    tile_count[(1,)](flag(team, "int32"), "sys" if fixed else "gpu")


@tandem.jit
def programs_count(counter_ptr, SCOPE: tl.constexpr):
    tl.atomic_add(counter_ptr, 1, sem="relaxed", scope=SCOPE)  # <-- atomic_scope_of_a_block


@pair("race", "M14", ranks=(1, 2))
def atomic_scope_of_a_block(team, fixed):
    programs_count[(4,)](flag(team, "int32"), "gpu" if fixed else "cta")


@tandem.jit
def store_of_a_block(flag_ptr, SCOPE: tl.constexpr):
    if tid(0) == 0:
        if tl.program_id(0) == 0:
            st(flag_ptr, 1, scope=SCOPE, semantic="release")  # <-- store_scope_of_a_block
        else:
            while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:  # <-- store_scope_of_a_block
                pass


@pair("race", "M14", ranks=(1, 2))
def store_scope_of_a_block(team, fixed):
    store_of_a_block[(2,)](flag(team, "int32"), "gpu" if fixed else "cta")


@tandem.jit
def load_of_a_block(flag_ptr, SCOPE: tl.constexpr):
    if tid(0) == 0:
        if tl.program_id(0) == 0:
            st(flag_ptr, 1, scope="gpu", semantic="release")  # <-- load_scope_of_a_block
        else:
            while ld(flag_ptr, scope=SCOPE, semantic="acquire") != 1:  # <-- load_scope_of_a_block
                pass


@pair("race", "M14", ranks=(1, 2))
def load_scope_of_a_block(team, fixed):
    load_of_a_block[(2,)](flag(team, "int32"), "gpu" if fixed else "cta")


@tandem.jit
def fenced_for_peer(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, SCOPE: tl.constexpr):
    """The fence makes the relaxed store a release at the fence's own scope only."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 4)  # <-- fence_scope
    __syncthreads()
    if tid(0) == 0:
        fence(semantic="acq_rel", scope=SCOPE)
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="relaxed")
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass
    __syncthreads()
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- fence_scope


@pair("scope", "M14")
def fence_scope(team, fixed):
    fenced_for_peer[(1,)](data(team), data(team, "y"), flag(team, "int32"), N, "sys" if fixed else "gpu")


@tandem.jit
def claim(owner_ptr, SCOPE: tl.constexpr):
    if tid(0) == 0:
        atomic_cas(dl.symm_at(owner_ptr, 0), 0, dl.rank() + 1, scope=SCOPE, semantic="acq_rel")  # <-- claim_scope


@pair("scope", "M14")
def claim_scope(team, fixed):
    claim[(1,)](flag(team, "int32"), "sys" if fixed else "gpu")


@tandem.jit
def fenced_by_the_reader(x_ptr, y_ptr, flag_ptr, N: tl.constexpr, SCOPE: tl.constexpr):
    """So does the fence behind a relaxed load make it an acquire."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + o, 4)  # <-- fence_scope_of_the_reader
    __syncthreads()
    if tid(0) == 0:
        st(dl.symm_at(flag_ptr, peer), 1, scope="sys", semantic="release")
        while ld(flag_ptr, scope="sys", semantic="relaxed") != 1:
            pass
        fence(semantic="acq_rel", scope=SCOPE)
    __syncthreads()
    tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- fence_scope_of_the_reader


@pair("scope", "M14")
def fence_scope_of_the_reader(team, fixed):
    fenced_by_the_reader[(1,)](data(team), data(team, "y"), flag(team, "int32"), N, "sys" if fixed else "gpu")
