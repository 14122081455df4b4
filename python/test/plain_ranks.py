"""Ranks of tandem.torch without GPUs: threads whose operators are plain sums on the CPU."""

import ctypes
import pathlib
import sys
import threading

import numpy as np
import pytest
import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "ops" / "test"))

from thread_ranks import StandIn

from tandem.torch import world as worlds

SIZE = 4
CPU = torch.device("cpu")


class Exchange:
    """Ranks lay down values here that all read."""

    def __init__(self, size):
        self.slots, self.barrier = [None] * size, threading.Barrier(size, timeout=20)

    def all(self, rank, value):
        self.slots[rank] = value
        self.barrier.wait()
        values = list(self.slots)
        self.barrier.wait()
        return values


class PlainOperators(StandIn):
    def __init__(self, rank, exchange):
        super().__init__()
        self.rank, self.exchange, self.calls = rank, exchange, []

    @staticmethod
    def _at(address, rows, columns):
        words = (ctypes.c_float * (rows * columns)).from_address(address)
        return torch.from_numpy(np.frombuffer(words, np.float32)).view(rows, columns)

    def run(self, operation, sizes, dtype, transposed, addresses, numbers, out_dtype):
        m, n, k = (*sizes, *(1, None)[len(sizes) - 1 :])
        self.calls.append((operation, m, n, k, transposed))
        shard = -(-m // SIZE)
        first = min(self.rank * shard, m)
        rows = min(shard, m - first)
        gathers = operation in ("ag_gemm", "all_gather")
        x = self._at(addresses[0], rows if gathers else m, k or n)
        parts = self.exchange.all(self.rank, x)
        whole = torch.cat(parts) if gathers else x
        if k:
            b = self._at(addresses[1], n, k).t() if transposed else self._at(addresses[1], k, n)
            whole = whole @ b
        if not gathers:
            whole = sum(self.exchange.all(self.rank, whole))
        scatters = operation in ("gemm_rs", "reduce_scatter")
        out = self._at(addresses[-1], rows if scatters else m, n)
        out.copy_(whole[first : first + rows] if scatters else whole)
        self.exchange.barrier.wait()


class PlainWorld:
    def __init__(self, rank, exchange):
        self.rank, self.size, self.members, self.device = rank, SIZE, list(range(SIZE)), CPU
        self.operators = PlainOperators(rank, exchange)


def on_ranks(main):
    """Runs main(rank) on every rank; returns the values."""
    exchange, values, failures = Exchange(SIZE), [None] * SIZE, []

    def body(rank):
        worlds._of_thread.world = PlainWorld(rank, exchange)
        try:
            values[rank] = main(rank)
        except BaseException as error:
            failures.append(error)
            exchange.barrier.abort()

    threads = [threading.Thread(target=body, args=(r,)) for r in range(SIZE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for failure in sorted(failures, key=lambda f: isinstance(f, threading.BrokenBarrierError)):
        raise failure
    return values


@pytest.fixture
def one_rank(monkeypatch):
    """The calling thread is rank 1 of 4; its operators must not run."""
    world = PlainWorld(1, None)
    monkeypatch.setattr(worlds._of_thread, "world", world, raising=False)
    return world


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def shard(whole, rank, dim=0):
    return whole.split(-(-whole.shape[dim] // SIZE), dim)[rank].contiguous()


def raises(error, message, function, *args, **kwargs):
    with pytest.raises(error, match=message) as caught:
        function(*args, **kwargs)
    assert "\n" not in str(caught.value)
