"""Rows that come from all ranks by copy engines: what kernels say of the channel whose other end is ops/gathering.h.

`ready_ptr` leads to the channel: for each band of rows of each rank's shard, how many slices of its columns are there. Before these words
it has others: how many programs have ended the call, how many calls the rank has ended, and for each rank how many that one has."""

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from ops.device.calls import is_last_of
from tandem.simt import __syncthreads, num_warps, tid

ENDED, EPOCH = tl.constexpr(-1), tl.constexpr(-2)


@tandem.jit
def await_band(ready_ptr, band, slices):
    """A token: so many slices of the `band`-th of all shards' bands are there."""
    return dl.wait(ready_ptr + band, 1, "sys", "acquire", waitValue=slices, compare="ge")


@tandem.jit
def is_of_shard(token, rank, shard_rows):
    return (token >= rank * shard_rows) & (token < (rank + 1) * shard_rows)


@tandem.jit
def arrived(source, ready_ptr, rank, ranks, turn):
    """`source`, once the shards of the `turn` ranks before this one are there, of one band each."""
    token = dl.wait(ready_ptr + tl.maximum(rank - turn, 0), tl.minimum(turn, rank), "sys", "acquire", waitValue=1, compare="ge")
    source = dl.consume_token(source, token)
    behind = tl.maximum(turn - rank, 0)
    token = dl.wait(ready_ptr + ranks - behind, behind, "sys", "acquire", waitValue=1, compare="ge")
    return dl.consume_token(source, token)


@tandem.jit
def ends_call(ready_ptr, programs):
    """True in the last of `programs` programs, which ends the call for the rank."""
    __syncthreads()
    ends = is_last_of(ready_ptr + ENDED, programs)
    if ends:
        tl.store(ready_ptr + ENDED, 0)
        __syncthreads()
    return ends


@tandem.jit
def end_gathering(ready_ptr, bands, slices):
    """Ends a call of so many bands of each shard, and slices of each. Puts `ready` back once all of the call has arrived, and when all
    has, waits until every rank has done so. Each thread for its peers."""
    rank = dl.rank()
    call = tl.load(ready_ptr + EPOCH) + 1
    done_ptr = ready_ptr + EPOCH - dl.num_ranks()
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
    tl.store(ready_ptr + EPOCH, call)
