"""Times calls that involve all ranks on one of them: they take turns in one loop, and all ranks begin each call together."""

import time

import torch

FLUSH_BYTES = 256 << 20


class Timer:
    """`barrier`: a function that queues a barrier of all ranks on the current stream. `lead_us`: how long the stream is kept busy before
    each call, so that the host is ahead and launches are not what is measured; the host's own time is told separately."""

    def __init__(self, barrier, lead_us=200):
        self.barrier, self.lead_us = barrier, lead_us
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device="cuda")
        self.cycles_per_us = self._cycles_per_us()

    @staticmethod
    def _cycles_per_us():
        torch.cuda._sleep(1000)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        torch.cuda._sleep(10_000_000)
        end.record()
        torch.cuda.synchronize()
        return 10_000_000 / (start.elapsed_time(end) * 1e3)

    def sleep(self, us):
        torch.cuda._sleep(int(us * self.cycles_per_us))

    def measure(self, calls, repetitions, resets=None):
        """calls: name -> function. name -> (microseconds on the device, on the host) of each repetition."""
        resets = resets or {}
        events = {name: [] for name in calls}
        host = {name: [] for name in calls}
        names = list(calls)
        for i in range(repetitions):
            for name in names[i % len(names) :] + names[: i % len(names)]:
                if name in resets:
                    resets[name]()
                start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                self.flush.zero_()
                self.sleep(self.lead_us)
                self.barrier()
                start.record()
                begin = time.perf_counter()
                calls[name]()
                host[name].append((time.perf_counter() - begin) * 1e6)
                end.record()
                events[name].append((start, end))
            if i % 8 == 7:
                torch.cuda.synchronize()  # bounds how far the host is ahead
        torch.cuda.synchronize()
        return {name: ([s.elapsed_time(e) * 1e3 for s, e in events[name]], host[name]) for name in calls}


def captured(call):
    """The call as a CUDA graph. It must have run before."""
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        call()
    torch.cuda.synchronize()
    return graph
