"""AllGather three ways: every rank pulls, every rank pushes, and around a ring.

tandem run --ranks 4 examples/all_gather.py
"""

import numpy as np

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem

COUNT, BLOCK = 1000, 256


@tandem.jit
def pull(shard_ptr, out_ptr, count, BLOCK: tl.constexpr):
    """Program (peer, block) reads a block of the peer's shard."""
    peer = tl.program_id(0)
    offsets = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    there = dl.symm_at(shard_ptr, peer)
    tl.store(out_ptr + peer * count + offsets, tl.load(there + offsets, mask=mask), mask=mask)


@tandem.jit
def push(shard_ptr, out_ptr, signal_ptr, count, ELEMENT_BYTES: tl.constexpr):
    """Program `peer` puts the own shard on the peer with a signal, then waits for the peer's."""
    rank = dl.rank()
    peer = tl.program_id(0)
    shmem.putmem_signal_block(
        out_ptr + rank * count, shard_ptr, count * ELEMENT_BYTES, signal_ptr + rank, 1, shmem.NVSHMEM_SIGNAL_SET, peer
    )
    shmem.signal_wait_until(signal_ptr + peer, shmem.NVSHMEM_CMP_EQ, 1)


@tandem.jit
def ring(shard_ptr, out_ptr, signal_ptr, count, ELEMENT_BYTES: tl.constexpr):
    """One program a rank: passes on what it received last, ranks - 1 times."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    right = (rank + 1) % ranks
    size = count * ELEMENT_BYTES
    shmem.putmem_signal_block(out_ptr + rank * count, shard_ptr, size, signal_ptr + rank, 1, shmem.NVSHMEM_SIGNAL_SET, right)
    for step in range(1, ranks):
        source = (rank - step + ranks) % ranks
        shmem.signal_wait_until(signal_ptr + source, shmem.NVSHMEM_CMP_EQ, 1)
        if step < ranks - 1:
            here = out_ptr + source * count
            shmem.putmem_signal_block(here, here, size, signal_ptr + source, 1, shmem.NVSHMEM_SIGNAL_SET, right)


def main(team):
    shard = team.from_array(np.random.default_rng(team.rank).standard_normal(COUNT).astype(np.float16))
    expected = np.stack([np.random.default_rng(r).standard_normal(COUNT).astype(np.float16) for r in range(team.size)])
    team.barrier()  # every shard is filled

    pulled = np.empty((team.size, COUNT), np.float16)
    pull[(team.size, tandem.cdiv(COUNT, BLOCK))](shard, pulled, COUNT, BLOCK)
    np.testing.assert_array_equal(pulled, expected)

    for kernel, grid in ((push, team.size), (ring, 1)):
        out = team.empty((team.size, COUNT), "float16", name=kernel.__name__)
        signal = team.zeros(team.size, "int64", name=f"{kernel.__name__} signal")
        if kernel is ring:
            out[team.rank] = np.asarray(shard)
        team.barrier()
        kernel[(grid,)](shard, out, signal, COUNT, ELEMENT_BYTES=2)
        team.barrier()
        np.testing.assert_array_equal(np.asarray(out), expected)
        signal[...] = 0


if __name__ == "__main__":
    team = tandem.init()
    main(team)
    if team.rank == 0:
        print(f"pull, push and ring: each of {team.size} ranks has all {team.size} shards of {COUNT} elements")
