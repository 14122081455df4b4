"""Loads of products that a wait's token does not reach: they may start before the wait (M7)."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from case import pair

B = 16


def tiles(team, count=1, name="a"):
    return team.zeros(count * B * B, "fp16", name=name)


def flags(team, count=1):
    return team.zeros(count, "int64", name="ready")


@tandem.jit
def inside(B: tl.constexpr):
    i = tl.arange(0, B)
    return i[:, None] * B + i[None, :]


@tandem.jit
def scaled_product(a_ptr, w_ptr, c_ptr, scale_ptr, ready_ptr, STEPS: tl.constexpr, FIXED: tl.constexpr, B: tl.constexpr):
    """The token goes to the epilogue's loads, and not to the operand."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(scale_ptr, peer), 2.0)
    for k in range(STEPS):
        tl.store(dl.symm_at(a_ptr, peer) + k * B * B + inside(B), 1.0)  # <-- token_of_the_epilogue
    dl.notify(ready_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=1)
    scale = tl.load(dl.consume_token(scale_ptr, token))
    source = dl.consume_token(a_ptr, token) if FIXED else a_ptr
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(STEPS):
        acc = tl.dot(tl.load(source + k * B * B + inside(B)), tl.load(w_ptr + inside(B)), acc)  # <-- token_of_the_epilogue
    tl.store(c_ptr + inside(B), (acc * scale).to(tl.float16))


@pair("race", "M7")
def token_of_the_epilogue(team, fixed):
    scale = team.zeros(1, "fp32", name="scale")
    scaled_product[(1,)](tiles(team, 3), tiles(team, name="w"), tiles(team, name="c"), scale, flags(team), 3, fixed, B)


@tandem.jit
def through_descriptors(a_ptr, w_ptr, c_ptr, ready_ptr, K: tl.constexpr, FIXED: tl.constexpr, B: tl.constexpr):
    """The token is tied to the pointer after the descriptor has been made of it."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    a = tl.make_tensor_descriptor(a_ptr, shape=[B, K], strides=[K, 1], block_shape=[B, B])
    w = tl.make_tensor_descriptor(w_ptr, shape=[B, K], strides=[K, 1], block_shape=[B, B])
    i = tl.arange(0, B)
    for k in range(0, K, B):
        tl.store(dl.symm_at(a_ptr, peer) + i[:, None] * K + k + i[None, :], 1.0)  # <-- descriptor_made_before_the_wait
    dl.notify(ready_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=1)
    a_ptr = dl.consume_token(a_ptr, token)
    first = tl.load(a_ptr)
    if FIXED:
        a = dl.consume_token(a, token)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, K, B):
        acc = tl.dot(a.load([0, k]), w.load([0, k]).T, acc)  # <-- descriptor_made_before_the_wait
    tl.store(c_ptr + inside(B), (acc + first).to(tl.float16))


@pair("race", "M7")
def descriptor_made_before_the_wait(team, fixed):
    through_descriptors[(1,)](tiles(team, 2), tiles(team, 2, "w"), tiles(team, name="c"), flags(team), 2 * B, fixed, B)


@tandem.jit
def shard_by_shard(a_ptr, w_ptr, c_ptr, ready_ptr, STEPS: tl.constexpr, FIXED: tl.constexpr, B: tl.constexpr):
    """Each shard has a wait of its own; its token goes to the weights."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    for n in range(ranks):
        peer = (rank + n) % ranks
        for k in range(STEPS):
            tl.store(dl.symm_at(a_ptr, peer) + (rank * STEPS + k) * B * B + inside(B), rank)  # <-- token_of_the_other_operand
        dl.notify(ready_ptr + rank, peer, signal=1, sig_op="set", comm_scope="intra_node")
    for n in range(ranks):
        shard = (rank + n) % ranks
        token = dl.wait(ready_ptr + shard, 1, "sys", "acquire", waitValue=1)
        a = dl.consume_token(a_ptr, token) if FIXED else a_ptr
        w = w_ptr if FIXED else dl.consume_token(w_ptr, token)
        acc = tl.zeros((B, B), dtype=tl.float32)
        for k in range(STEPS):
            left = tl.load(a + (shard * STEPS + k) * B * B + inside(B))  # <-- token_of_the_other_operand
            acc = tl.dot(left, tl.load(w + inside(B)), acc)
        tl.store(c_ptr + shard * B * B + inside(B), acc.to(tl.float16))


@pair("race", "M7")
def token_of_the_other_operand(team, fixed):
    n = team.size
    shard_by_shard[(1,)](tiles(team, 2 * n), tiles(team, name="w"), tiles(team, n, "c"), flags(team, n), 2, fixed, B)


@tandem.jit
def attend(q_ptr, k_ptr, v_ptr, o_ptr, ready_ptr, FIXED: tl.constexpr, B: tl.constexpr):
    """K and V come from the peers under one signal; only K is tied to it."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    for n in range(ranks):
        peer = (rank + n) % ranks
        tl.store(dl.symm_at(k_ptr, peer) + rank * B * B + inside(B), 1.0)
        tl.store(dl.symm_at(v_ptr, peer) + rank * B * B + inside(B), 1.0)  # <-- token_of_k_not_of_v
        dl.notify(ready_ptr + rank, peer, signal=1, sig_op="set", comm_scope="intra_node")
    q = tl.load(q_ptr + inside(B))
    acc = tl.zeros((B, B), dtype=tl.float32)
    for n in range(ranks):
        shard = (rank + n) % ranks
        token = dl.wait(ready_ptr + shard, 1, "sys", "acquire", waitValue=1)
        k = tl.load(dl.consume_token(k_ptr, token) + shard * B * B + inside(B))
        weights = tl.exp(tl.dot(q, tl.trans(k)))
        values = dl.consume_token(v_ptr, token) if FIXED else v_ptr
        acc = tl.dot(weights.to(tl.float16), tl.load(values + shard * B * B + inside(B)), acc)  # <-- token_of_k_not_of_v
    tl.store(o_ptr + inside(B), acc.to(tl.float16))


@pair("race", "M7")
def token_of_k_not_of_v(team, fixed):
    n = team.size
    attend[(1,)](tiles(team, name="q"), tiles(team, n, "k"), tiles(team, n, "v"), tiles(team, name="o"), flags(team, n), fixed, B)


@tandem.jit
def next_tile_early(a_ptr, w_ptr, part_ptr, c_ptr, ready_ptr, STEPS: tl.constexpr, FIXED: tl.constexpr, B: tl.constexpr):
    """The second tile's operand is written anew while the first tile's epilogue waits for the peers: one signal tells both."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    for tile in range(2):
        source = a_ptr + tile * STEPS * B * B
        acc = tl.zeros((B, B), dtype=tl.float32)
        for k in range(STEPS):
            acc = tl.dot(tl.load(source + k * B * B + inside(B)), tl.load(w_ptr + inside(B)), acc)  # <-- fetched_under_the_epilogue
        if tile == 0:
            for k in range(STEPS):
                tl.store(dl.symm_at(a_ptr, peer) + (STEPS + k) * B * B + inside(B), 1.0)  # <-- fetched_under_the_epilogue
            tl.store(dl.symm_at(part_ptr, peer) + inside(B), acc)
            dl.notify(ready_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
            token = dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=1)
            acc += tl.load(dl.consume_token(part_ptr, token) + inside(B))
            if FIXED:
                a_ptr = dl.consume_token(a_ptr, token)
        tl.store(c_ptr + tile * B * B + inside(B), acc.to(tl.float16))


@pair("race", "M7")
def fetched_under_the_epilogue(team, fixed):
    part = team.zeros(B * B, "fp32", name="part")
    next_tile_early[(1,)](tiles(team, 4), tiles(team, name="w"), part, tiles(team, 2, "c"), flags(team), 2, fixed, B)


@tandem.jit
def counted_steps(a_ptr, w_ptr, c_ptr, count_ptr, ready_ptr, STEPS: tl.constexpr, FIXED: tl.constexpr, B: tl.constexpr):
    """How many steps there are is tied to the wait; whether the loop runs at all orders its loads."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(count_ptr, peer), STEPS)
    for k in range(STEPS):
        tl.store(dl.symm_at(a_ptr, peer) + k * B * B + inside(B), 1.0)  # <-- token_of_nothing_that_decides
    dl.notify(ready_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(ready_ptr, 1, "sys", "acquire", waitValue=1)
    steps = tl.load(dl.consume_token(count_ptr, token))
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(steps if FIXED else STEPS):
        a = tl.load(a_ptr + k * B * B + inside(B))  # <-- token_of_nothing_that_decides
        acc = tl.dot(tl.trans(a), tl.load(w_ptr + inside(B)), acc)
    tl.store(c_ptr + inside(B), (acc + steps).to(tl.float16))


@pair("race", "M7")
def token_of_nothing_that_decides(team, fixed):
    count = team.zeros(1, "int32", name="count")
    counted_steps[(1,)](tiles(team, 2), tiles(team, name="w"), tiles(team, name="c"), count, flags(team), 2, fixed, B)
