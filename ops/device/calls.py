"""Work that several programs share, and the end of a call."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import __syncthreads, num_warps, tid


@tandem.jit
def is_last_of(count_ptr, count):
    """True in the last of `count` programs that get here. It sees what the others did before; it has to put the count back to 0."""
    return tl.atomic_add(count_ptr, 1, sem="acq_rel", scope="gpu") == count - 1


@tandem.jit
def is_last(count_ptr, COUNT: tl.constexpr):
    return is_last_of(count_ptr, COUNT)


@tandem.jit
def take(taken_ptr):
    """The next number that no program has taken, from 0: whoever is free does the next piece of work. The last program of the call puts the
    count back to 0. A program must not wait for what a larger number's program does, as nobody may have taken that one."""
    return tl.atomic_add(taken_ptr, 1, sem="relaxed", scope="gpu")


@tandem.jit
def end_gathering(ready_ptr, done_ptr, epoch_ptr, bands, slices):
    """Ends a call whose shards the peers push: ready[s, b] counts the slices that are there of the b-th band of shard s. Puts `ready` back
    once all of the call has arrived, and when all has, waits until every rank has done so. Each thread for its peers."""
    rank = dl.rank()
    call = tl.load(epoch_ptr) + 1
    for peer in range(tid(0), dl.num_ranks(), num_warps() * 32):
        if peer != rank:
            for band in range(peer * bands, (peer + 1) * bands):
                shmem.signal_wait_until(ready_ptr + band, shmem.NVSHMEM_CMP_EQ, slices)
                shmem.signal_op(ready_ptr + band, 0, shmem.NVSHMEM_SIGNAL_SET, rank)
    __syncthreads()
    for peer in range(tid(0), dl.num_ranks(), num_warps() * 32):
        if peer != rank:
            shmem.fence()
            shmem.signal_op(done_ptr + rank, call, shmem.NVSHMEM_SIGNAL_SET, peer)
            shmem.signal_wait_until(done_ptr + peer, shmem.NVSHMEM_CMP_GE, call)
    tl.store(epoch_ptr, call)
