"""A queue between ranks: each rank sends items to the next through a ring of slots, with notify and wait in both directions.

tandem run --ranks 4 examples/notify_wait_queue.py
"""

import numpy as np

import tandem
import tandem.dist as dl
import tandem.language as tl

SLOTS, ITEM, ITEMS = 4, 128, 20


@tandem.jit
def queue(source_ptr, dest_ptr, slots_ptr, full_ptr, free_ptr, items, SLOTS: tl.constexpr, ITEM: tl.constexpr):
    rank = dl.rank()
    ranks = dl.num_ranks()
    offsets = tl.arange(0, ITEM)
    if tl.program_id(0) == 0:  # the producer
        peer = (rank + 1) % ranks
        for i in range(items):
            slot = i % SLOTS
            # The peer has emptied this slot i // SLOTS times.
            token = dl.wait(free_ptr + slot, 1, "sys", "acquire", waitValue=(i // SLOTS).to(tl.int64), compare="ge")
            data = tl.load(source_ptr + i * ITEM + offsets)
            there = dl.consume_token(dl.symm_at(slots_ptr, peer), token)
            tl.store(there + slot * ITEM + offsets, data)
            dl.notify(full_ptr + slot, peer, signal=1, sig_op="add", comm_scope="intra_node")
    else:  # the consumer
        peer = (rank + ranks - 1) % ranks
        for i in range(items):
            slot = i % SLOTS
            token = dl.wait(full_ptr + slot, 1, "sys", "acquire", waitValue=(i // SLOTS + 1).to(tl.int64), compare="ge")
            here = dl.consume_token(slots_ptr, token)
            tl.store(dest_ptr + i * ITEM + offsets, tl.load(here + slot * ITEM + offsets))
            dl.notify(free_ptr + slot, peer, signal=1, sig_op="add", comm_scope="intra_node")


def main(team):
    data = np.random.default_rng(team.rank).standard_normal((ITEMS, ITEM)).astype(np.float32)
    slots = team.empty((SLOTS, ITEM), "float32", name="slots")
    full = team.zeros(SLOTS, "int64", name="full")
    free = team.zeros(SLOTS, "int64", name="free")
    out = np.empty_like(data)
    queue[(2,)](data, out, slots, full, free, ITEMS, SLOTS, ITEM)
    team.barrier()
    full[...] = 0
    free[...] = 0
    before = (team.rank - 1) % team.size
    np.testing.assert_array_equal(out, np.random.default_rng(before).standard_normal((ITEMS, ITEM)).astype(np.float32))


if __name__ == "__main__":
    team = tandem.init()
    main(team)
    if team.rank == 0:
        print(f"{ITEMS} items of {ITEM} floats came from each rank's left neighbour, in order, through {SLOTS} slots")
