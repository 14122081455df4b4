"""Measures for `tandem doctor --profile`, by Tandem's own kernels on ranks that are threads of this process."""

import functools
import json
import statistics

import ml_dtypes
import numpy as np

from .. import dist as dl, language as tl, shmem, simt
from ..gpu.device import devices
from ..jit import jit
from ..session import launch
from .machine_profile import VERSION, Profile
from .rank_clock import RankClock

_MIB = 1 << 20
_COPY_BYTES = 256 * _MIB
_STORE_BYTES = 64 * _MIB
_PROGRAMS = (1, 2, 4, 8, 16, 32, 64, 128)
_TRIPS = 1024
_MANY = 64  # small copies, signals
_SMALL_COPY = 1 << 20
_DEPTH, _ROUNDS = 8192, 8  # of the product
_WAIT_SECONDS = 30


@jit
def store_to_peer(source_ptr, dest_ptr, count, peer, BLOCK: tl.constexpr):
    """Copies by stores to a peer, programs taking blocks in turn."""
    there = dl.symm_at(dest_ptr, peer)
    for block in range(tl.program_id(0), count // BLOCK, tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(there + at, tl.load(source_ptr + at))


@jit
def load_from_peer(source_ptr, dest_ptr, count, peer, BLOCK: tl.constexpr):
    there = dl.symm_at(source_ptr, peer)
    for block in range(tl.program_id(0), count // BLOCK, tl.num_programs(0)):
        at = block * BLOCK + tl.arange(0, BLOCK)
        tl.store(dest_ptr + at, tl.load(there + at))


@jit
def ping_pong(flag_ptr, trips, first):
    """Two ranks signal each other in turn. `first` is the number of trips made before."""
    rank = dl.rank()
    if simt.tid(0) == 0:
        for trip in range(trips):
            value = (first + trip + 1).to(tl.uint64)
            if rank == 0:
                shmem.signal_op(flag_ptr, value, shmem.NVSHMEM_SIGNAL_SET, 1)
                shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, value)
            else:
                shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, value)
                shmem.signal_op(flag_ptr, value, shmem.NVSHMEM_SIGNAL_SET, 0)


@jit
def nothing(x_ptr):
    pass


@jit
def product(
    a_ptr, b_ptr, c_ptr, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, PROGRAMS: tl.constexpr
):
    """C[M, N] = A[M, K] B[N, K]^T; each program takes every PROGRAMS-th tile."""
    a = tl.make_tensor_descriptor(a_ptr, shape=[M, K], strides=[K, 1], block_shape=[BM, BK])
    b = tl.make_tensor_descriptor(b_ptr, shape=[N, K], strides=[K, 1], block_shape=[BN, BK])
    c = tl.make_tensor_descriptor(c_ptr, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    rows = tl.cdiv(M, BM)
    columns = tl.cdiv(N, BN)
    in_group = GROUP * columns
    for tile in tl.range(tl.program_id(0), rows * columns, PROGRAMS, flatten=True):
        first = tile // in_group * GROUP
        height = min(rows - first, GROUP)
        row = (first + tile % height) * BM
        column = tile % in_group // height * BN
        acc = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(tl.cdiv(K, BK)):
            acc = tl.dot(a.load([row, k * BK]), b.load([column, k * BK]).T, acc)
        c.store([row, column], acc.to(c_ptr.dtype.element_ty))


class _Clock(RankClock):
    """Times work on a stream of its own."""

    def __init__(self, team):
        super().__init__(team, team.new_stream())

    def seconds(self, queue, repeats=5, together=True):
        """The median time of `queue(stream)`, called once before: a kernel is loaded then, which may wait for streams that are held."""
        queue(self.stream)
        if together:
            self.team.barrier()
        return statistics.median([self.microseconds(queue, together=together) for _ in range(repeats)]) / 1e6


def _copies(team, clock, numbers):
    there, here = team.empty(_COPY_BYTES, "uint8", name="copies"), team.local_empty(_COPY_BYTES, "uint8")
    signals = team.zeros(_MANY, "uint64", name="copies' signals")
    local = team.local_empty(_COPY_BYTES, "uint8")
    numbers["local_copy_gbps"] = _COPY_BYTES / clock.seconds(lambda s: s.copy(local, here)) / 1e9
    peers = [(team.rank + i) % team.size for i in range(1, team.size)]
    team.barrier()
    if peers:
        numbers["copy_gbps"] = _COPY_BYTES / clock.seconds(lambda s: s.copy(there.peer(peers[0]), here)) / 1e9
        numbers["signal_write_us"] = _each(clock, lambda s, i: s.signal_write(signals.peer(peers[0])[i : i + 1], 1))
        small = there.peer(peers[0])[:_SMALL_COPY], here[:_SMALL_COPY]

        def copy_and_signal(stream, i):
            stream.copy(*small)
            stream.signal_write(signals.peer(peers[0])[i : i + 1], 1)

        numbers["copy_us"] = max(0.1, _each(clock, copy_and_signal) - _SMALL_COPY / numbers["copy_gbps"] / 1e3)
        team.barrier()
        streams, part = [team.new_stream() for _ in peers], _COPY_BYTES // len(peers) // 16 * 16

        def to_all(stream):
            start = stream.record_event()
            for i, (peer, side) in enumerate(zip(peers, streams)):
                side.wait_event(start)
                side.copy(there.peer(peer)[i * part : (i + 1) * part], here[i * part : (i + 1) * part])
                stream.wait_event(side.record_event())

        numbers["copy_all_gbps"] = part * len(peers) / clock.seconds(to_all) / 1e9
    team.barrier()
    there.free()
    signals.free()


def _each(clock, queue):
    """Microseconds of one of many."""

    def many(stream):
        for i in range(_MANY):
            queue(stream, i)

    return clock.seconds(many, 3) / _MANY * 1e6


def _kernels_to_peer(team, clock, numbers):
    count, peer = _STORE_BYTES // 4, (team.rank + 1) % team.size
    there, here = team.empty(count, "float32", name="stores"), team.local_empty(count, "float32")
    most = devices()[team.device]["multiprocessors"]
    for name, kernel, source, dest in (("store_gbps", store_to_peer, here, there), ("load_gbps", load_from_peer, there, here)):
        numbers[name] = {}
        for programs in (p for p in _PROGRAMS if p <= most):
            team.barrier()
            queue = lambda s: kernel[(programs,)](source, dest, count, peer, BLOCK=4096, num_warps=8, stream=s)  # noqa: B023
            numbers[name][programs] = _STORE_BYTES / clock.seconds(queue, 3) / 1e9
    team.barrier()
    there.free()


def _signals(team, clock, numbers):
    flag, made = team.zeros(1, "uint64", name="ping"), [0]
    ping_pong[(1,)](flag, 0, 0, num_warps=1, stream=clock.stream)  # loaded everywhere before anybody waits
    team.barrier()

    def trips(stream):
        ping_pong[(1,)](flag, _TRIPS, made[0], num_warps=1, stream=stream)
        made[0] += _TRIPS

    if team.rank < 2:
        numbers["signal_round_trip_us"] = clock.seconds(trips, 3, together=False) / _TRIPS * 1e6
    team.barrier()
    flag[...] = 0
    team.barrier()
    flag.free()


def _launches(team, clock, numbers):
    x = team.local_empty(1, "float32")

    def many(stream):
        for _ in range(200):
            nothing[(1,)](x, stream=stream)

    numbers["launch_us"] = clock.seconds(many, 3) / 200 * 1e6


@functools.cache
def _random_values():
    return np.random.default_rng(0).standard_normal((1 << 20) - 3, np.float32).astype(ml_dtypes.bfloat16)


def _product(team, clock, numbers):
    """Rounds over all multiprocessors without a rest, and the same on a quarter of them."""
    programs = devices()[team.device]["multiprocessors"]
    width = 256 * _ROUNDS
    a, b = (team.local_from_array(np.resize(_random_values(), (rows, _DEPTH))) for rows in (128 * programs, width))
    c = team.local_empty((128 * programs, width), "bfloat16")

    def speed(count):
        """Returns the operations a microsecond of one program, measured over the second half of the depth, so
        without each tile's fixed cost."""

        def seconds(depth):
            return clock.seconds(
                lambda s: product[(count,)](
                    a, b, c, 128 * count, width, depth, BM=128, BN=256, BK=64, GROUP=8, PROGRAMS=count, num_warps=8, num_stages=4, stream=s
                ),
                5,
            )

        return 128 * width * _DEPTH / max(1e-9, seconds(_DEPTH) - seconds(_DEPTH // 2)) / 1e6

    all_busy = speed(programs)
    numbers["gemm_bf16_tflops"] = all_busy * programs / 1e6
    numbers["gemm_alone_ratio"] = max(1.0, speed(max(1, programs // 4)) / all_busy)


def _measure_rank(team, say):
    numbers, clock = {}, _Clock(team)
    steps = [("copies", _copies), ("launches", _launches), ("product", _product)]
    if team.size > 1:
        steps[1:1] = [("stores and loads", _kernels_to_peer), ("signals", _signals)]
    for name, step in steps:
        if team.rank == 0:
            say(f"measuring      {name}")
        step(team, clock, numbers)
        team.barrier()
    return numbers


def measure(ranks, say):
    """The machine profile as JSON takes it; `say` is told what goes on. Rank 0's numbers, while all ranks do the same at once."""
    numbers = launch(_measure_rank, ranks=ranks, target="cuda", args=(say,), wait_timeout=_WAIT_SECONDS).values[0]
    rounded = json.loads(json.dumps(numbers), parse_float=lambda text: float(f"{float(text):.4g}"))
    for name, value in rounded.items():
        say(f"{name:<22} {value}")
    defaults = {name: {} for name in ("store_gbps", "load_gbps") if name not in rounded}
    if defaults:  # one GPU: there was no peer
        defaults = {name: getattr(Profile(), name) for name in defaults}
    return {"version": VERSION, "device": devices()[0]["name"], "ranks": ranks, **defaults, **rounded}
