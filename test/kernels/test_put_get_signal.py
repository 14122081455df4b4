"""libshmem_device: puts and gets of every group, signals with every comparison, teams, barriers, single values."""

import numpy as np
import pytest
import tandem
import triton_dist
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import __syncthreads, ld, st, tid

COUNT = 96


def data_of(rank):
    return np.random.default_rng(rank).integers(0, 1 << 30, COUNT).astype(np.int32)


@triton_dist.jit
def get_from_right(src_ptr, dst_ptr, nbytes, KIND: tl.constexpr):
    peer = (libshmem_device.my_pe() + 1) % libshmem_device.n_pes()
    if KIND == "block":
        libshmem_device.getmem_block(dst_ptr, src_ptr, nbytes, peer)
    elif KIND == "nbi_block":
        libshmem_device.getmem_nbi_block(dst_ptr, src_ptr, nbytes, peer)
        libshmem_device.quiet()
    elif KIND == "warp":
        if tid(0) // 32 == 1:
            libshmem_device.getmem_warp(dst_ptr, src_ptr, nbytes, peer)
    elif KIND == "nbi_warp":
        if tid(0) // 32 == 1:
            libshmem_device.getmem_nbi_warp(dst_ptr, src_ptr, nbytes, peer)
            libshmem_device.quiet()
    elif KIND == "thread":
        if tid(0) == 0:
            libshmem_device.getmem(dst_ptr, src_ptr, nbytes, peer)
    else:
        if tid(0) == 0:
            libshmem_device.getmem_nbi(dst_ptr, src_ptr, nbytes, peer)
            libshmem_device.quiet()


@pytest.mark.parametrize("kind", ["block", "nbi_block", "warp", "nbi_warp", "thread", "nbi"])
def test_get(everywhere, kind):

    def main(team):
        source, dest = team.from_array(data_of(team.rank)), team.zeros(COUNT, "int32", name="dest")
        team.barrier()
        get_from_right[(1,)](source, dest, COUNT * 4, kind)
        np.testing.assert_array_equal(np.asarray(dest), data_of((team.rank + 1) % team.size))
        team.barrier()

    everywhere(main)


@triton_dist.jit
def put_with_signal(src_ptr, dst_ptr, sig_ptr, nbytes, value, KIND: tl.constexpr, OP: tl.constexpr):
    rank = dl.rank()
    world_size = dl.num_ranks()
    peer = (rank + 1) % world_size
    thread_idx = tid(0)
    if KIND == "block":
        libshmem_device.putmem_signal_block(dst_ptr, src_ptr, nbytes, sig_ptr, value, OP, peer)
    elif KIND == "nbi_block":
        libshmem_device.putmem_signal_nbi_block(dst_ptr, src_ptr, nbytes, sig_ptr, value, OP, peer)
    elif KIND == "rma_nbi_block":
        libshmem_device.putmem_signal_rma_nbi_block(dst_ptr, src_ptr, nbytes, sig_ptr, value, OP, peer)
    elif KIND == "warp":
        if thread_idx < 32:
            libshmem_device.putmem_signal_warp(dst_ptr, src_ptr, nbytes, sig_ptr, value, OP, peer)
    elif KIND == "nbi_warp":
        if thread_idx < 32:
            libshmem_device.putmem_signal_nbi_warp(dst_ptr, src_ptr, nbytes, sig_ptr, value, OP, peer)
    elif KIND == "thread":
        if thread_idx == 0:
            libshmem_device.putmem_signal(dst_ptr, src_ptr, nbytes, sig_ptr, value, OP, peer)
    elif KIND == "nbi":
        if thread_idx == 0:
            libshmem_device.putmem_signal_nbi(dst_ptr, src_ptr, nbytes, sig_ptr, value, OP, peer)
    elif KIND == "put_fence_signal":
        libshmem_device.putmem_nbi_block(dst_ptr, src_ptr, nbytes, peer)
        libshmem_device.fence()
        if thread_idx == 0:
            libshmem_device.signal_op(sig_ptr, value, OP, peer)
    else:
        if thread_idx < 32:
            libshmem_device.putmem_warp(dst_ptr, src_ptr, nbytes, peer)
            libshmem_device.quiet()
        __syncthreads()
        if thread_idx == 0:
            libshmem_device.signal_op(sig_ptr, value, OP, peer)
    if thread_idx == 0:
        libshmem_device.signal_wait_until(sig_ptr, libshmem_device.NVSHMEM_CMP_EQ, value)
    __syncthreads()


@pytest.mark.parametrize("op", [libshmem_device.NVSHMEM_SIGNAL_SET, libshmem_device.NVSHMEM_SIGNAL_ADD], ids=["set", "add"])
@pytest.mark.parametrize(
    "kind", ["block", "nbi_block", "rma_nbi_block", "warp", "nbi_warp", "thread", "nbi", "put_fence_signal", "put_quiet_signal"]
)
@pytest.mark.parametrize("dtype", ["uint64", "int64"])
def test_put_with_signal(everywhere, kind, op, dtype):

    def main(team):
        source, dest = team.from_array(data_of(team.rank)), team.empty(COUNT, "int32", name="dest")
        signal = team.zeros(1, dtype, name="signal")
        put_with_signal[(1,)](source, dest, signal, COUNT * 4, 3, kind, op, num_warps=2)
        np.testing.assert_array_equal(np.asarray(dest), data_of((team.rank - 1) % team.size))
        team.barrier()
        signal[...] = 0

    everywhere(main, ranks=(1, 2, 8), seeds=range(2))


@triton_dist.jit
def waits(sig_ptr, out_ptr, CMP: tl.constexpr, value, sent):
    rank = dl.rank()
    peer = (rank + 1) % dl.num_ranks()
    if tid(0) == 0:
        libshmem_device.signal_op(sig_ptr, sent, libshmem_device.NVSHMEM_SIGNAL_SET, peer)
        seen = libshmem_device.signal_wait_until(sig_ptr, CMP, value)
        st(out_ptr, seen.to(tl.int64))


@triton_dist.jit
def counts_down(sig_ptr, out_ptr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    if tid(0) == 0:
        libshmem_device.signal_op(sig_ptr, -2, libshmem_device.NVSHMEM_SIGNAL_ADD, peer)
        libshmem_device.signal_wait_until(sig_ptr, libshmem_device.NVSHMEM_CMP_LE, -2)
    dl.notify(sig_ptr, peer, signal=-1, sig_op="add", comm_scope="intra_node")
    if tid(0) == 0:
        st(out_ptr, libshmem_device.signal_wait_until(sig_ptr, libshmem_device.NVSHMEM_CMP_EQ, -3).to(tl.int64))


@pytest.mark.parametrize("dtype", ["uint64", "int64"])
def test_constants_below_zero(everywhere, dtype):

    def main(team):
        signal, out = team.zeros(1, dtype, name="signal"), np.zeros(1, np.int64)
        counts_down[(1,)](signal, out)
        team.barrier()
        signal[...] = 0
        assert out[0] == -3

    everywhere(main, ranks=(1, 2))


@pytest.mark.parametrize("compare, value, sent", [("EQ", 5, 5), ("NE", 0, 5), ("GT", 4, 5), ("GE", 5, 5), ("LT", 0, -5), ("LE", -5, -5)])
def test_every_comparison(everywhere, compare, value, sent):

    def main(team):
        signal, out = team.zeros(1, "int64", name="signal"), np.zeros(1, np.int64)
        waits[(1,)](signal, out, getattr(libshmem_device, f"NVSHMEM_CMP_{compare}"), value, sent)
        assert out[0] == sent
        team.barrier()
        signal[...] = 0

    everywhere(main)


@triton_dist.jit
def single_values(dest_ptr, flag_ptr, value):
    """Thread r writes to rank r; the barrier completes it."""
    rank = dl.rank()
    if tid(0) < dl.num_ranks():
        libshmem_device.int_p(dest_ptr + rank, value + tid(0), tid(0))
    libshmem_device.barrier_all_block()
    if tid(0) == 0:
        remote = libshmem_device.remote_ptr(flag_ptr, (rank + 1) % dl.num_ranks())
        st(remote, ld(dest_ptr) + 1, scope="sys", semantic="release")
    libshmem_device.sync_all_block()


def test_single_values(everywhere):

    def main(team):
        dest, flag = team.zeros(team.size, "int32", name="dest"), team.zeros(1, "int32", name="flag")
        single_values[(1,)](dest, flag, team.rank * 100)
        np.testing.assert_array_equal(np.asarray(dest), np.arange(team.size) * 100 + team.rank)
        assert np.asarray(flag)[0] == (team.rank - 1) % team.size + 1

    everywhere(main)


@triton_dist.jit
def in_teams(team, x_ptr, out_ptr, ids_ptr, n):
    """Sums a team's shards; says who is who."""
    me = libshmem_device.team_my_pe(team)
    size = libshmem_device.team_n_pes(team)
    libshmem_device.barrier_block(team)
    offs = tl.arange(0, 128)
    acc = tl.zeros((128,), dtype=tl.int32)
    for r in range(size):
        world_rank = libshmem_device.team_translate_pe(team, r, libshmem_device.NVSHMEM_TEAM_WORLD)
        acc += tl.load(libshmem_device.remote_ptr(x_ptr, world_rank) + offs, mask=offs < n, other=0)
    tl.store(out_ptr + offs, acc, mask=offs < n)
    tl.store(ids_ptr, me)
    tl.store(ids_ptr + 1, size)
    tl.store(ids_ptr + 2, libshmem_device.team_n_pes(libshmem_device.NVSHMEM_TEAM_WORLD))
    tl.store(ids_ptr + 3, libshmem_device.team_my_pe(libshmem_device.NVSHMEMX_TEAM_NODE))
    libshmem_device.team_sync_block(team)


def test_teams(everywhere):

    def main(team):
        x, out, ids = team.from_array(data_of(team.rank) % 1000), np.zeros(COUNT, np.int32), np.zeros(4, np.int32)
        team.barrier()
        members = [r for r in range(team.size) if r % 2 == team.rank % 2]
        half = team.split(members)
        in_teams[(1,)](half.id, x, out, ids, COUNT)
        np.testing.assert_array_equal(out, sum(data_of(r) % 1000 for r in members))
        assert ids.tolist() == [members.index(team.rank), len(members), team.size, team.rank]
        team.barrier()

    everywhere(main)


@triton_dist.jit
def p2p_copy(flag_ptr, src_ptr, dst_ptr, nelems, BLOCK: tl.constexpr, IS_SENDER: tl.constexpr, peer):
    """Point to point: the sender stores through the peer's address and raises a flag; the receiver waits, copies out
    and lowers it."""
    pid = tl.program_id(0)
    npid = tl.num_programs(0)
    if IS_SENDER:
        remote = dl.symm_at(dst_ptr, peer)
        for i in range(pid, tl.cdiv(nelems, BLOCK), npid):
            offs = i * BLOCK + tl.arange(0, BLOCK)
            tl.store(remote + offs, tl.load(src_ptr + offs, mask=offs < nelems), mask=offs < nelems)
        __syncthreads()
        if tid(0) == 0:
            st(dl.symm_at(flag_ptr, peer) + pid, 1, scope="sys", semantic="release")
    else:
        if tid(0) == 0:
            while ld(flag_ptr + pid, scope="sys", semantic="acquire") != 1:
                pass
            st(flag_ptr + pid, 0, scope="sys", semantic="relaxed")
        __syncthreads()
        for i in range(pid, tl.cdiv(nelems, BLOCK), npid):
            offs = i * BLOCK + tl.arange(0, BLOCK)
            tl.store(src_ptr + offs, tl.load(dst_ptr + offs, mask=offs < nelems), mask=offs < nelems)


def test_pipeline_of_ranks(everywhere):
    """Rank r hands its data on to rank r + 1, stage after stage."""

    def main(team):
        buffer, flag = team.empty(COUNT, "int32", name="buffer"), team.zeros(2, "int32", name="flag")
        x = team.local_from_array(data_of(0) if team.rank == 0 else np.zeros(COUNT, np.int32))
        if team.rank > 0:
            p2p_copy[(2,)](flag, x, buffer, COUNT, 32, False, team.rank - 1)
            np.testing.assert_array_equal(np.asarray(x), data_of(0) + team.rank - 1)
            x[...] = np.asarray(x) + 1
        if team.rank + 1 < team.size:
            p2p_copy[(2,)](flag, x, buffer, COUNT, 32, True, team.rank + 1)
        team.barrier()

    everywhere(main)


def test_a_signal_does_not_cover_an_earlier_put():
    """There is no fence between them, so some schedule shows the signal first (M9, M11)."""

    @triton_dist.jit
    def unfenced(src_ptr, dst_ptr, sig_ptr, nbytes):
        peer = (dl.rank() + 1) % dl.num_ranks()
        libshmem_device.putmem_nbi_block(dst_ptr, src_ptr, nbytes, peer)
        if tid(0) == 0:
            libshmem_device.signal_op(sig_ptr, 1, libshmem_device.NVSHMEM_SIGNAL_SET, peer)
            libshmem_device.signal_wait_until(sig_ptr, libshmem_device.NVSHMEM_CMP_EQ, 1)

    def main(team):
        source, dest, signal = team.from_array(data_of(team.rank)), team.zeros(COUNT, "int32"), team.zeros(1, "uint64")
        unfenced[(1,)](source, dest, signal, COUNT * 4)
        early = np.array_equal(np.asarray(dest), data_of((team.rank - 1) % team.size))
        team.barrier()
        signal[...] = 0
        return early

    found = []
    for seed in range(10):
        try:
            found.append(all(tandem.launch(main, ranks=2, seed=seed).values))
        except tandem.SimulationError as error:
            found.append(False)
            assert any(r["kind"] in ("race", "unfinished-put") for r in error.reports)
    assert not all(found)
