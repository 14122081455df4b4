"""Kernels that add the ranks' parts of a matrix, or load the peers' rows of it."""

from .. import dist as dl
from .. import language as tl
from ..jit import constexpr_function, jit


@constexpr_function
def sum_type(element):
    """The type in which elements are added: integers and float64 in one that loses nothing of them, other floats in fp32."""
    return tl.int64 if element.is_int() else element if element == tl.float64 else tl.float32


@jit
def store_sum(own_ptr, total, places, inside, EVERYWHERE: tl.constexpr):
    """Stores a sum of this rank's rows here, or with EVERYWHERE on all ranks."""
    value = total.to(own_ptr.dtype.element_ty)
    if EVERYWHERE:
        for distance in range(1, dl.num_ranks() + 1):
            tl.store(dl.symm_at(own_ptr, (dl.rank() + distance) % dl.num_ranks()) + places, value, mask=inside)
    else:
        tl.store(own_ptr + places, value, mask=inside)


@jit
def add_parts(
    matrix_ptr, parts_ptr, ready_ptr, summed_ptr, elements, chunk, bands, added, added_end, EVERYWHERE: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """This rank's rows of the sum over the ranks, in their order, as the parts arrive: a program for each block of each chunk.
    The elements from `added` to `added_end` are sums already. EVERYWHERE: `summed` counts, for each chunk of all ranks, the programs that
    have stored it."""
    rank = dl.rank()
    band = tl.program_id(1)
    first = (rank * bands + band).to(tl.int64) * chunk
    begin = first + tl.program_id(0) * BLOCK
    if (begin >= added) & (begin + BLOCK <= added_end):
        return
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (places < tl.minimum(elements - first, chunk)) & ((first + places < added) | (first + places >= added_end))
    own_ptr = matrix_ptr + first
    ADDED: tl.constexpr = sum_type(matrix_ptr.dtype.element_ty)
    total = tl.zeros((BLOCK,), ADDED)
    for source in range(dl.num_ranks()):
        chunk_of_source = source * bands + band
        if source == rank:
            total += tl.load(own_ptr + places, mask=inside, other=0).to(ADDED)
        else:
            token = dl.wait(ready_ptr + chunk_of_source, 1, "sys", "acquire", waitValue=1)
            part_ptr = dl.consume_token(parts_ptr, token) + chunk_of_source.to(tl.int64) * chunk
            total += tl.load(part_ptr + places, mask=inside, other=0).to(ADDED)
    store_sum(own_ptr, total, places, inside, EVERYWHERE)
    if EVERYWHERE:
        for distance in range(1, dl.num_ranks() + 1):
            dl.notify(summed_ptr + rank * bands + band, (rank + distance) % dl.num_ranks(), signal=1, sig_op="add", comm_scope="intra_node")


@jit
def count_others(counts_ptr, others_ptr, elements, BLOCK: tl.constexpr):
    """How many counts are not 1."""
    places = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    others = tl.sum((tl.load(counts_ptr + places, mask=places < elements, other=1) != 1).to(tl.int32))
    if others > 0:
        tl.atomic_add(others_ptr, others)


@jit
def tell_peers(words_ptr, call):
    """This program has come so far in the call: its word, which is one for each rank and program, on all peers."""
    for distance in range(1, dl.num_ranks()):
        mine = words_ptr + dl.rank() * tl.num_programs(0) + tl.program_id(0)
        dl.notify(mine, (dl.rank() + distance) % dl.num_ranks(), signal=call, sig_op="set", comm_scope="intra_node")


@jit
def await_peers(words_ptr, call):
    """Waits until the programs of this number have come so far on all peers."""
    token = 0
    for distance in range(1, dl.num_ranks()):
        peer = (dl.rank() + distance) % dl.num_ranks()
        token = dl.wait(words_ptr + peer * tl.num_programs(0) + tl.program_id(0), 1, "sys", "acquire", waitValue=call, compare="ge")
    return token


@jit
def end_reading(read_ptr, epoch_ptr, ended_ptr, call):
    """Until peers have read this rank's matrix, too; the last program counts the call."""
    tell_peers(read_ptr, call)
    await_peers(read_ptr, call)
    if tl.atomic_add(ended_ptr, 1, sem="acq_rel", scope="gpu") == tl.num_programs(0) - 1:
        tl.store(ended_ptr, 0)
        tl.store(epoch_ptr, call)


@jit
def add_peers(matrix_ptr, filled_ptr, read_ptr, epoch_ptr, ended_ptr, elements, share, EVERYWHERE: tl.constexpr, BLOCK: tl.constexpr):
    """This rank's rows of the sum over the ranks, in their order, loaded from the peers' matrices, which the kernel before has
    filled. Afterwards peers have read this rank's matrix, too. `epoch`: the number of calls; `ended`: a zero, and one again in the end."""
    call = tl.load(epoch_ptr) + 1
    tell_peers(filled_ptr, call)
    first = dl.rank().to(tl.int64) * share
    own_ptr = dl.consume_token(matrix_ptr, await_peers(filled_ptr, call)) + first
    count = tl.maximum(tl.minimum(elements - first, share), 0)
    ADDED: tl.constexpr = sum_type(matrix_ptr.dtype.element_ty)
    for start in range(tl.program_id(0).to(tl.int64) * BLOCK, count, tl.num_programs(0) * BLOCK):
        places = start + tl.arange(0, BLOCK)
        total = tl.zeros((BLOCK,), ADDED)
        for source in range(dl.num_ranks()):
            total += tl.load(dl.symm_at(own_ptr, source) + places, mask=places < count, other=0).to(ADDED)
        store_sum(own_ptr, total, places, places < count, EVERYWHERE)
    end_reading(read_ptr, epoch_ptr, ended_ptr, call)


@jit
def load_peers(matrix_ptr, filled_ptr, read_ptr, epoch_ptr, ended_ptr, elements, share, BLOCK: tl.constexpr):
    """The peers' rows loaded into this rank's matrix from theirs, which they have written before. Words and counts as in `add_peers`."""
    call = tl.load(epoch_ptr) + 1
    tell_peers(filled_ptr, call)
    there_ptr = dl.consume_token(matrix_ptr, await_peers(filled_ptr, call))
    for distance in range(1, dl.num_ranks()):
        peer = (dl.rank() + distance) % dl.num_ranks()
        first = peer.to(tl.int64) * share
        count = tl.maximum(tl.minimum(elements - first, share), 0)
        for start in range(tl.program_id(0).to(tl.int64) * BLOCK, count, tl.num_programs(0) * BLOCK):
            places = first + start + tl.arange(0, BLOCK)
            inside = places < first + count
            tl.store(matrix_ptr + places, tl.load(dl.symm_at(there_ptr, peer) + places, mask=inside, other=0), mask=inside)
    end_reading(read_ptr, epoch_ptr, ended_ptr, call)
