"""PyTorch beside the ranks: shared memory, its streams, CUDA graphs. Nothing is checked without PyTorch."""

import threading

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from programs import scale
from tandem.simt import sync_threads, tid

CHECKS = {}
REPLAYS, COUNT = 1000, 256

try:
    import torch
except ImportError:
    torch = None


def with_torch(function):
    if torch is not None:
        CHECKS[f"torch.{function.__name__}"] = function
    return function


def _run(main, ranks):
    return tandem.launch(main, ranks=ranks, target="cuda", wait_timeout=20).values


@with_torch
def shared_memory(ranks):
    def main(team):
        assert torch.cuda.current_device() == team.device
        t = team.from_array(np.arange(12, dtype=np.float32).reshape(3, 4))
        shared, also = torch.as_tensor(t, device="cuda"), t.torch()
        assert shared.data_ptr() == also.data_ptr() == t.data_ptr() and shared.device.index == team.device
        also += 1
        np.testing.assert_array_equal(np.asarray(t), np.arange(12, dtype=np.float32).reshape(3, 4) + 1)
        np.testing.assert_array_equal(t[:, 1:3].torch().cpu().numpy(), np.asarray(t)[:, 1:3])
        for dtype in ("bfloat16", "float16", "int64", "uint8", "float8_e4m3fn", "bool"):
            u = team.zeros(8, dtype).torch()
            assert str(u.dtype) == f"torch.{dtype}" and u.shape == (8,), u.dtype
        source = torch.arange(6, device="cuda", dtype=torch.bfloat16)
        np.testing.assert_array_equal(np.asarray(team.from_array(source), dtype=np.float32), np.arange(6))

    _run(main, ranks)


@with_torch
def launches_with_its_tensors(ranks):
    def main(team):
        x, t = torch.arange(1000, device="cuda", dtype=torch.float32), team.zeros(1000)
        y = torch.zeros_like(x)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        for stream in (torch.cuda.current_stream(), side):
            with torch.cuda.stream(stream):
                y.zero_()
                scale[(8,)](x, y, 2.0, 1000, BLOCK=128)  # PyTorch's tensors alone
                scale[(8,)](y, t, 2.0, 1000, BLOCK=128)  # with one of the team
                scale[(8,)](t, t, 0.5, 1000, BLOCK=128)  # the team's alone: after the last one
                np.testing.assert_array_equal(np.asarray(t), 2.0 * np.arange(1000))
        scale[(8,)](x, t, 5.0, 1000, BLOCK=128, stream=side)
        np.testing.assert_array_equal(np.asarray(t), 5.0 * np.arange(1000))

    _run(main, ranks)


@tandem.jit
def exchange(source_ptr, dest_ptr, signal_ptr, trip_ptr, sum_ptr, N: tl.constexpr):
    """Puts the number of this call to the right neighbour and adds up what comes from the left."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    trip = tl.load(trip_ptr) + 1
    at = tl.arange(0, N)
    tl.store(source_ptr + at, at + trip)
    sync_threads()
    shmem.putmem_signal_block(dest_ptr, source_ptr, N * 8, signal_ptr, trip.to(tl.uint64), shmem.NVSHMEM_SIGNAL_SET, peer)
    if tid(0) == 0:
        shmem.signal_wait_until(signal_ptr, shmem.NVSHMEM_CMP_EQ, trip.to(tl.uint64))
    sync_threads()
    tl.store(sum_ptr + at, tl.load(sum_ptr + at) + tl.load(dest_ptr + at))
    tl.store(trip_ptr, trip)
    shmem.barrier_all_block()  # the next call writes to `dest` again


@with_torch
def graph_replays(ranks):
    """A captured put with signal, replayed."""
    capturing = threading.Lock()  # PyTorch captures one graph of a process at a time

    def main(team):
        source, dest = (team.zeros(COUNT, "int64", name=n).torch() for n in ("source", "dest"))
        signal, trip = team.zeros(1, "int64", name="signal").torch(), torch.zeros(1, dtype=torch.int64, device="cuda")
        total = torch.zeros(COUNT, dtype=torch.int64, device="cuda")
        team.barrier()

        def call():
            exchange[(1,)](source, dest, signal, trip, total, N=COUNT)

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            call()
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        own = torch.cuda.Stream()  # PyTorch's default one is of one device; the other ranks are threads here
        with capturing, torch.cuda.graph(graph, stream=own, capture_error_mode="thread_local"):
            call()
        for _ in range(REPLAYS):
            graph.replay()
        torch.cuda.synchronize()
        trips = REPLAYS + 1
        np.testing.assert_array_equal(total.cpu().numpy(), trips * np.arange(COUNT) + trips * (trips + 1) // 2)
        team.barrier()

    _run(main, ranks)
