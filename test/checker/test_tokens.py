"""Loads of products that come after their wait though its token does not reach their pointer: none is reported (M7)."""

import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import __syncthreads, ld, tid

B = 16


@tandem.jit
def inside(B: tl.constexpr):
    i = tl.arange(0, B)
    return i[:, None] * B + i[None, :]


@tandem.jit
def product(a_ptr, w_ptr, c_ptr, row_ptr, flag_ptr, WAY: tl.constexpr, B: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(row_ptr, peer), 0)
    for k in range(2):
        tl.store(dl.symm_at(a_ptr, peer) + k * B * B + inside(B), 1.0)
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    row = 0
    extra = tl.zeros((B, B), dtype=tl.float32)
    if WAY == "signal":
        shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    else:
        token = dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        if WAY != "unused":
            first = tl.load(dl.consume_token(row_ptr, token))
            extra += first.to(tl.float32)
        if WAY == "loaded":
            row = first
        if WAY == "barrier":
            shmem.barrier_all_block()
        if WAY == "atomic":
            row = tl.atomic_add(row_ptr + 1, 0, sem="relaxed")
        if WAY == "thread":
            if tid(0) == 0:
                ld(flag_ptr, scope="sys", semantic="relaxed")
            __syncthreads()
        if WAY == "branch":
            if peer >= 0:
                a_ptr = dl.consume_token(a_ptr, token)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(2):
        a = tl.load(a_ptr + row + k * B * B + inside(B))
        acc = tl.dot(a, tl.load(w_ptr + inside(B)), acc)
        if WAY == "summed":
            acc += tl.sum(a.to(tl.float32), 0)[None, :]
    tl.store(c_ptr + inside(B), (acc + extra).to(tl.float16))


def reports(way, ranks, seed):
    def main(team):
        a, w, c = (team.zeros(count * B * B, "fp16") for count in (2, 1, 1))
        product[(1,)](a, w, c, team.zeros(2, "int32"), team.zeros(1, "int64"), way, B)
        team.synchronize()

    try:
        return tandem.launch(main, ranks=ranks, seed=seed, check=True).reports
    except tandem.SimulationError as error:
        return error.reports


@pytest.mark.parametrize("ranks", (2, 4))
@pytest.mark.parametrize("way", ("signal", "unused", "loaded", "barrier", "atomic", "thread", "branch", "summed"))
def test_ordered(way, ranks):
    for seed in range(8):
        assert reports(way, ranks, seed) == []


@pytest.mark.parametrize("ranks", (2, 4))
def test_overtaken(ranks):
    for seed in range(8):
        (report,) = reports("untied", ranks, seed)
        assert "the wait's token does not reach it" in report["text"] and "overtaken: this wait" in report["text"]
