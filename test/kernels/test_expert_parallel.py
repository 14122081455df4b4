"""Expert parallelism: dispatch and combine with slots from atomics, and low-latency all-to-all with signals."""

import numpy as np
import pytest
import triton_dist
import triton.language as tl
import triton_dist.language as dl
from triton_dist.language.extra import libshmem_device
from triton_dist.language.extra.language_extra import (
    __shfl_sync_i32,
    __syncthreads,
    atomic_add,
    ld,
    ld_vector,
    num_warps,
    st,
    st_vector,
    tid,
)

TOKENS, TOPK, EXPERTS_PER_RANK, HIDDEN = 12, 3, 2, 64
CAPACITY = TOKENS * TOPK


def routing(rank, size, call=0):
    """Rows of a rank and the experts each goes to, all different."""
    rng = np.random.default_rng([rank, call])
    experts = size * EXPERTS_PER_RANK
    chosen = np.stack([rng.permutation(experts)[: min(TOPK, experts)] for _ in range(TOKENS)]).astype(np.int32)
    return rng.integers(-50, 50, (TOKENS, HIDDEN)).astype(np.float16), chosen


@triton_dist.jit
def kernel_dispatch_token(
    input_buf,
    topk_indices,
    output_buf,
    counter_ptr,
    token_dst_scatter_idx,
    num_tokens,
    topk: tl.constexpr,
    experts_per_rank: tl.constexpr,
    hidden_size: tl.constexpr,
    capacity: tl.constexpr,
    bytes_per_token: tl.constexpr,
):
    """Warp by warp: a slot of the target's buffer from an atomic on the target, then the row to that slot."""
    WARP_SIZE: tl.constexpr = 32
    pid = tl.program_id(0)
    num_pid = tl.num_programs(0)
    thread_idx = tid(0)
    lane_idx = thread_idx % WARP_SIZE
    warp_id = thread_idx // WARP_SIZE
    global_warp_id = pid * num_warps() + warp_id
    total_warps = num_pid * num_warps()
    for i in range(global_warp_id, num_tokens * topk, total_warps):
        token = i // topk
        expert = ld(topk_indices + i)
        target_rank = expert // experts_per_rank
        local_expert = expert % experts_per_rank
        slot = 0
        if lane_idx == 0:
            slot = atomic_add(dl.symm_at(counter_ptr, target_rank) + local_expert, 1, scope="sys", semantic="relaxed")
        slot = __shfl_sync_i32(0xFFFFFFFF, slot, 0)
        if lane_idx == 0:
            st(token_dst_scatter_idx + i, slot)
        dst_ptr = output_buf + (local_expert * capacity + slot).to(tl.int64) * hidden_size
        src_ptr = input_buf + token.to(tl.int64) * hidden_size
        libshmem_device.putmem_nbi_warp(dst_ptr, src_ptr, bytes_per_token, target_rank)


@triton_dist.jit
def kernel_combine_token(
    input_buf,
    topk_indices,
    token_dst_scatter_idx,
    out_ptr,
    num_tokens,
    topk: tl.constexpr,
    experts_per_rank: tl.constexpr,
    hidden_size: tl.constexpr,
    capacity: tl.constexpr,
):
    """A program a token: pulls the token's rows from where they were sent and adds them."""
    VEC_SIZE: tl.constexpr = 8
    for token in range(tl.program_id(0), num_tokens, tl.num_programs(0)):
        for v in range(tid(0), hidden_size // VEC_SIZE, num_warps() * 32):
            acc = dl.zeros_vector(VEC_SIZE, tl.float32)
            for k in range(topk):
                expert = ld(topk_indices + token * topk + k)
                slot = ld(token_dst_scatter_idx + token * topk + k)
                remote = dl.symm_at(input_buf, expert // experts_per_rank)
                row = (expert % experts_per_rank * capacity + slot) * hidden_size
                acc = acc + ld_vector(remote + row + v * VEC_SIZE, vec_size=VEC_SIZE).to(tl.float32)
            st_vector(out_ptr + token * hidden_size + v * VEC_SIZE, acc.to(out_ptr.dtype.element_ty))


@triton_dist.jit
def combine_tiles(
    input_buf,
    topk_indices,
    token_dst_scatter_idx,
    out_ptr,
    num_tokens,
    topk: tl.constexpr,
    experts_per_rank: tl.constexpr,
    hidden_size: tl.constexpr,
    capacity: tl.constexpr,
):
    """The same with whole rows as tiles."""
    offs = tl.arange(0, hidden_size)
    for token in range(tl.program_id(0), num_tokens, tl.num_programs(0)):
        acc = tl.zeros((hidden_size,), dtype=tl.float32)
        for k in range(topk):
            expert = tl.load(topk_indices + token * topk + k)
            slot = tl.load(token_dst_scatter_idx + token * topk + k)
            remote = dl.symm_at(input_buf, expert // experts_per_rank)
            acc += tl.load(remote + (expert % experts_per_rank * capacity + slot) * hidden_size + offs).to(tl.float32)
        tl.store(out_ptr + token * hidden_size + offs, acc.to(out_ptr.dtype.element_ty))


@pytest.mark.parametrize("combine", [kernel_combine_token, combine_tiles])
def test_dispatch_and_combine(everywhere, combine):

    def main(team):
        topk = min(TOPK, team.size * EXPERTS_PER_RANK)
        rows, chosen = routing(team.rank, team.size)
        tokens, received = team.from_array(rows), team.empty((EXPERTS_PER_RANK, CAPACITY * team.size, HIDDEN), "float16", name="received")
        counter = team.zeros(EXPERTS_PER_RANK, "int32", name="counter")
        slots, out = np.zeros((TOKENS, topk), np.int32), np.zeros_like(rows)
        capacity = CAPACITY * team.size
        team.barrier()
        kernel_dispatch_token[(2,)](tokens, chosen, received, counter, slots, TOKENS, topk, EXPERTS_PER_RANK, HIDDEN, capacity, HIDDEN * 2)
        team.barrier()
        for local in range(EXPERTS_PER_RANK):
            expert = team.rank * EXPERTS_PER_RANK + local
            sent = [r for rank in range(team.size) for r, c in zip(*routing(rank, team.size)) if expert in c]
            assert np.asarray(counter)[local] == len(sent)
            got = np.asarray(received[local, : len(sent)])
            assert sorted(map(bytes, got)) == sorted(map(bytes, sent))
            received[local, : len(sent)] = got * 2  # the expert's work
        team.barrier()
        combine[(3,)](received, chosen, slots, out, TOKENS, topk, EXPERTS_PER_RANK, HIDDEN, capacity)
        np.testing.assert_array_equal(out, rows * 2 * topk)
        team.barrier()

    everywhere(main)


@triton_dist.jit
def bincount(input_ptr, output_ptr, workspace_ptr, length, num_bins: tl.constexpr, BLOCK: tl.constexpr):
    """How many tokens each expert gets; thread i keeps bin i."""
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offs < length
    tl.atomic_add(output_ptr + tl.load(input_ptr + offs, mask=mask, other=0), 1, sem="relaxed", scope="gpu", mask=mask)


@triton_dist.jit(do_not_specialize=["call_count"])
def all_to_all_v2(
    send_buf,
    recv_buf,
    splits,
    recv_splits,
    offsets,
    signal_buf,
    call_count,
    HIDDEN_BYTES: tl.constexpr,
    MAX_M: tl.constexpr,
    EXPERTS: tl.constexpr,
    hidden: tl.constexpr,
    SIGNAL_PER_EXPERT: tl.constexpr,
):
    """Program (peer, expert): the rows of one expert with a signal of their own; double buffers by the parity of the
    call."""
    rank = dl.rank()
    world_size = dl.num_ranks()
    peer = tl.program_id(0)
    expert = tl.program_id(1)
    thread_idx = tid(0)
    phase = call_count % 2
    first = tl.load(offsets + peer * EXPERTS + expert)
    count = tl.load(splits + peer * EXPERTS + expert)
    slot = (phase * world_size + rank) * EXPERTS + expert
    libshmem_device.putmem_nbi_block(recv_buf + slot * MAX_M * hidden, send_buf + first * hidden, count * HIDDEN_BYTES, peer)
    libshmem_device.fence()
    libshmem_device.putmem_signal_nbi_block(
        recv_splits + slot, splits + peer * EXPERTS + expert, 4, signal_buf + slot, call_count, libshmem_device.NVSHMEM_SIGNAL_SET, peer
    )
    mine = (phase * world_size + peer) * EXPERTS + expert
    if thread_idx == 0:
        libshmem_device.signal_wait_until(signal_buf + mine, libshmem_device.NVSHMEM_CMP_EQ, call_count)
    __syncthreads()


def test_low_latency_all_to_all(everywhere):

    def main(team):
        size, experts = team.size, team.size * EXPERTS_PER_RANK
        topk = min(TOPK, experts)
        send = team.empty((CAPACITY, HIDDEN), "float16", name="send")
        received = team.empty((2, size, EXPERTS_PER_RANK, CAPACITY, HIDDEN), "float16", name="received")
        splits, recv_splits = (
            team.empty(experts, "int32", name="splits"),
            team.empty((2, size, EXPERTS_PER_RANK), "int32", name="recv_splits"),
        )
        signal = team.zeros((2, size, EXPERTS_PER_RANK), "uint64", name="signal")

        def outgoing(rank, call):
            rows, chosen = routing(rank, size, call)
            order = np.argsort(chosen.ravel(), kind="stable")
            return rows[order // topk], chosen.ravel()[order]

        for call in range(1, 5):
            rows, expert = outgoing(team.rank, call)
            counts = np.zeros(experts, np.int32)
            bincount[(2,)](expert, counts, None, len(expert), experts, 32)
            np.testing.assert_array_equal(counts, np.bincount(expert, minlength=experts))
            send[: len(rows)], splits[...] = rows, counts
            offsets = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int32)
            all_to_all_v2[(size, EXPERTS_PER_RANK)](
                send, received, splits, recv_splits, offsets, signal, call, HIDDEN * 2, CAPACITY, EXPERTS_PER_RANK, HIDDEN, True
            )
            for peer in range(size):
                rows, expert = outgoing(peer, call)
                for local in range(EXPERTS_PER_RANK):
                    wanted = rows[expert == team.rank * EXPERTS_PER_RANK + local]
                    assert recv_splits[call % 2, peer, local] == len(wanted)
                    np.testing.assert_array_equal(np.asarray(received[call % 2, peer, local, : len(wanted)]), wanted)
            team.barrier()
        signal[...] = 0

    everywhere(main)
