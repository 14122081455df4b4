"""Expert all-to-all with put + signal: tokens go to the rank that holds their expert, two calls in flight.

tandem run --ranks 4 examples/low_latency_all_to_all.py
"""

import numpy as np

import tandem
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import tid

HIDDEN, MAX_TOKENS, EXPERTS_PER_RANK = 64, 32, 2


@tandem.jit
def all_to_all(
    tokens_ptr,
    received_ptr,
    counts_ptr,
    received_counts_ptr,
    starts_ptr,
    signal_ptr,
    rank,
    call,
    RANKS: tl.constexpr,
    HIDDEN: tl.constexpr,
    MAX_TOKENS: tl.constexpr,
    EXPERTS: tl.constexpr,
    ELEMENT_BYTES: tl.constexpr,
):
    """Program `peer` sends the rows of the peer's experts. `call` counts from 1 and picks one of two receive buffers."""
    peer = tl.program_id(0)
    buffer = call % 2
    first = tl.load(starts_ptr + peer * EXPERTS)
    last = tl.load(starts_ptr + (peer + 1) * EXPERTS)
    slot = buffer * RANKS + rank
    shmem.putmem_nbi_block(
        received_ptr + slot * MAX_TOKENS * HIDDEN, tokens_ptr + first * HIDDEN, (last - first) * HIDDEN * ELEMENT_BYTES, peer
    )
    shmem.putmem_nbi_block(received_counts_ptr + slot * EXPERTS, counts_ptr + peer * EXPERTS, EXPERTS * 4, peer)
    shmem.fence()  # both puts arrive before the signal
    if tid(0) == 0:
        shmem.signal_op(signal_ptr + slot, call, shmem.NVSHMEM_SIGNAL_SET, peer)
        shmem.signal_wait_until(signal_ptr + buffer * RANKS + peer, shmem.NVSHMEM_CMP_EQ, call)


def routed(rank, call, size):
    """Tokens of a rank sorted by expert, and how many each expert gets."""
    rng = np.random.default_rng(100 * call + rank)
    expert = np.sort(rng.integers(0, size * EXPERTS_PER_RANK, MAX_TOKENS))
    counts = np.bincount(expert, minlength=size * EXPERTS_PER_RANK)
    return rng.standard_normal((MAX_TOKENS, HIDDEN)).astype(np.float16), counts.astype(np.int32)


def main(team):
    experts = team.size * EXPERTS_PER_RANK
    tokens = team.empty((MAX_TOKENS, HIDDEN), "float16", name="tokens")
    counts = team.empty(experts, "int32", name="counts")
    received = team.empty((2, team.size, MAX_TOKENS, HIDDEN), "float16", name="received")
    received_counts = team.empty((2, team.size, EXPERTS_PER_RANK), "int32", name="received counts")
    signal = team.zeros((2, team.size), "int64", name="signal")
    mine = slice(team.rank * EXPERTS_PER_RANK, (team.rank + 1) * EXPERTS_PER_RANK)
    for call in range(1, 5):
        tokens[...], counts[...] = routed(team.rank, call, team.size)
        starts = np.concatenate([[0], np.cumsum(np.asarray(counts))]).astype(np.int32)
        all_to_all[(team.size,)](
            tokens,
            received,
            counts,
            received_counts,
            starts,
            signal,
            team.rank,
            call,
            team.size,
            HIDDEN,
            MAX_TOKENS,
            EXPERTS_PER_RANK,
            ELEMENT_BYTES=2,
        )
        for source in range(team.size):
            rows, split = routed(source, call, team.size)
            at, end = split[: mine.start].sum(), split[: mine.stop].sum()
            np.testing.assert_array_equal(np.asarray(received_counts[call % 2, source]), split[mine])
            np.testing.assert_array_equal(np.asarray(received[call % 2, source, : end - at]), rows[at:end])
        team.barrier()
    signal[...] = 0


if __name__ == "__main__":
    team = tandem.init()
    main(team)
    if team.rank == 0:
        print(f"4 calls: each of {team.size} ranks has the tokens of its {EXPERTS_PER_RANK} experts from all ranks")
