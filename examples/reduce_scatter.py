"""ReduceScatter two ways: one-shot (read every peer's part) and around a ring (add and pass on).

tandem run --ranks 4 examples/reduce_scatter.py
"""

import numpy as np

import tandem
import tandem.dist as dl
import tandem.language as tl

COUNT, BLOCK = 512, 128


@tandem.jit
def one_shot(parts_ptr, out_ptr, count, BLOCK: tl.constexpr):
    """parts: [ranks, count] on every rank. Sums this rank's row over all ranks, in rank order."""
    rank = dl.rank()
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for peer in range(dl.num_ranks()):
        total += tl.load(dl.symm_at(parts_ptr, peer) + rank * count + offsets, mask=mask, other=0.0)
    tl.store(out_ptr + offsets, total, mask=mask)


@tandem.jit
def ring(parts_ptr, buffer_ptr, signal_ptr, out_ptr, count, BLOCK: tl.constexpr):
    """Row r starts on rank r + 1 and travels right; each rank adds its own part. Slot s of the buffer holds what arrives at step s."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    right = (rank + 1) % ranks
    block = tl.program_id(0)
    blocks = tl.num_programs(0)
    offsets = block * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < count
    for step in range(ranks):
        row = (rank - step - 1 + 2 * ranks) % ranks
        total = tl.load(parts_ptr + row * count + offsets, mask=mask, other=0.0)
        if step > 0:
            token = dl.wait(signal_ptr + (step - 1) * blocks + block, 1, "sys", "acquire", waitValue=1)
            here = dl.consume_token(buffer_ptr, token)
            total += tl.load(here + (step - 1) * count + offsets, mask=mask, other=0.0)
        if step < ranks - 1:
            tl.store(dl.symm_at(buffer_ptr, right) + step * count + offsets, total, mask=mask)
            dl.notify(signal_ptr + step * blocks + block, right, signal=1, sig_op="set", comm_scope="intra_node")
        else:
            tl.store(out_ptr + offsets, total, mask=mask)


def parts_of(rank, size):
    return np.random.default_rng(rank).integers(-8, 8, (size, COUNT)).astype(np.float32)


def main(team):
    parts = team.from_array(parts_of(team.rank, team.size))
    expected = sum(parts_of(r, team.size)[team.rank] for r in range(team.size))
    buffer = team.empty((team.size, COUNT), "float32", name="buffer")
    blocks = tandem.cdiv(COUNT, BLOCK)
    signal = team.zeros((team.size, blocks), "int64", name="signal")
    team.barrier()
    out = np.empty(COUNT, np.float32)
    one_shot[(blocks,)](parts, out, COUNT, BLOCK)
    np.testing.assert_array_equal(out, expected)
    ring[(blocks,)](parts, buffer, signal, out, COUNT, BLOCK)
    np.testing.assert_array_equal(out, expected)
    team.barrier()
    signal[...] = 0


if __name__ == "__main__":
    team = tandem.init()
    main(team)
    if team.rank == 0:
        print(f"one-shot and ring: each of {team.size} ranks has the sum of {team.size} parts of {COUNT} elements")
