"""Accesses of a kernel's programs are known to later work of its stream, however many there were and whatever the stream does between."""

import numpy as np
import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.dist import tma
from tandem.simt import __syncthreads, tid

PROGRAMS, N = 40, 128  # of more than 32 programs, a clock forgets what follows from others of its entries


@tandem.jit
def stores_in_bulk(y_ptr):
    buffer = dl.allocate_smem(tl.int32, [128])
    t = tid(0)
    dl.smem_store(buffer, t, [t])
    tma.fence_async_shared()
    __syncthreads()
    if t == 0:
        tma.cp_async_bulk_shared_to_global(y_ptr + tl.program_id(0) * 128, dl.smem_get_ptr(buffer), 512)
        tma.cp_async_bulk_commit_group()
        tma.cp_async_bulk_wait_group(0, read=True)


@tandem.jit
def doubles(y_ptr, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(y_ptr + i, 2 * tl.load(y_ptr + i))


@pytest.mark.parametrize("barriers", [0, 1, 3])
def test_bulk_stores_of_an_earlier_kernel(barriers):
    def main(team):
        y = team.zeros(PROGRAMS * N, "int32", name="y")
        stores_in_bulk[(PROGRAMS,)](y)
        for _ in range(barriers):
            team.stream.barrier()
        doubles[(PROGRAMS,)](y, N)

    for seed in range(4):
        assert tandem.launch(main, ranks=2, seed=seed, check=True).reports == []


def test_bulk_stores_of_a_kernel_on_another_stream():
    def main(team, fixed):
        y, other = team.zeros(PROGRAMS * N, "int32", name="y"), team.new_stream()
        stores_in_bulk[(PROGRAMS,)](y)
        event = team.stream.record_event()
        team.stream.barrier()
        if fixed:
            other.wait_event(event)
        doubles[(PROGRAMS,)](y, N, stream=other)

    for seed in range(4):
        assert tandem.launch(main, ranks=2, seed=seed, args=(True,), check=True).reports == []
        with pytest.raises(tandem.SimulationError, match="error: race:"):
            tandem.launch(main, ranks=2, seed=seed, args=(False,), check=True)


@tandem.jit
def ends_soon(x_ptr):
    tl.store(x_ptr + tl.program_id(0), 1)


@tandem.jit
def depends(x_ptr, y_ptr, WAITS: tl.constexpr):
    if WAITS:
        tl.extra.cuda.gdc_wait()
    o = tl.arange(0, 4)
    tl.store(y_ptr + o, tl.load(x_ptr + o))


@pytest.mark.parametrize("enough", [None, "its wait", "the host's"])
def test_a_dependent_launch_behind_one_that_has_ended(enough):
    """That the launch before has ended when it is queued is chance, unless the host has waited for that."""

    def main(team):
        x, y, other = team.zeros(4, "int32", name="x"), team.zeros(4, "int32"), team.new_stream()
        to, ones = team.local_empty((4,), "int32"), team.local_from_array(np.ones(4, np.int32))
        ends_soon[(4,)](x)
        other.copy(to, ones)
        other.synchronize()
        if enough == "the host's":
            team.stream.synchronize()
        depends[(1,)](x, y, enough == "its wait", launch_pdl=True)

    for seed in range(16):
        if enough:
            assert tandem.launch(main, ranks=1, seed=seed, check=True).reports == []
        else:
            with pytest.raises(tandem.SimulationError, match="error: race:"):
                tandem.launch(main, ranks=1, seed=seed, check=True)
