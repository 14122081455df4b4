"""Overlapped calls on the fake driver: copies and signals are real there, kernels are only written down."""

import importlib.util
import pathlib
import threading

import numpy as np
import pytest
from gpu_fake import assembler, needs_fake, on_gpus  # noqa: F401
from gpu_fake import compiling_gpu as gpu  # noqa: F401

import tandem
import tandem.language as tl

pytestmark = needs_fake
CALLS = 5
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


@tandem.jit
def read(a_ptr, out_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + places, tl.load(a_ptr + places, mask=places < n), mask=places < n)


def counted(gpu, word):
    return sum(line.startswith(word) for line in gpu.driver.fakeLog().decode().splitlines())


def test_the_second_call_becomes_a_graph(gpu):
    """Rows arrive in each call, also in those that are replayed; other arguments are another graph."""
    overlapped = tandem.overlap(collective="all_gather", consumer=read, over="a_ptr", bands=2)

    def main(team):
        a, outs = team.zeros((4 * team.size, 8)), [team.local_empty(64), team.local_empty(64)]
        rows = lambda rank, call: np.full((4, 8), 10 * call + rank, np.float32)
        for call in range(CALLS):
            a[4 * team.rank : 4 * team.rank + 4] = rows(team.rank, call)
            for out in outs:
                overlapped[(4,)](a, out, 64, BLOCK=16)
            np.testing.assert_array_equal(np.asarray(a), np.concatenate([rows(rank, call) for rank in range(team.size)]))
            team.barrier()

    on_gpus(main, wait_timeout=20)
    assert counted(gpu, "begin capture mode 2") == 2 * 2
    assert counted(gpu, "launch graph") == 2 * 2 * (CALLS - 1)
    # To count tiles of a loop, to count the products, to see what programs read, and of each graph the first call and the capture.
    assert counted(gpu, "launch read ") == 2 * (3 + 2 * 2)


def test_within_a_capture_of_pytorch(gpu, monkeypatch):
    """A call becomes a part of the graph around it; a first one cannot."""
    overlapped = tandem.overlap(collective="all_gather", consumer=read, over="a_ptr", bands=1)
    within = threading.local()  # of a rank
    monkeypatch.setattr(tandem.overlapping.launching, "is_capturing", lambda: getattr(within, "capture", False))

    def main(team):
        a, out = team.zeros((4 * team.size, 8)), team.local_empty(64)
        within.capture = True
        with pytest.raises(RuntimeError, match="`read` has not run with these matrices before this graph capture"):
            overlapped[(4,)](a, out, 64, BLOCK=16)
        for within.capture in (False, False, True):
            overlapped[(4,)](a, out, 64, BLOCK=16)

    on_gpus(main, wait_timeout=20)
    assert counted(gpu, "launch graph") == 2, "by the second call alone"


def test_arrays_of_the_host_are_not_captured(gpu):
    overlapped = tandem.overlap(collective="all_gather", consumer=read, over="a_ptr", bands=1)

    def main(team):
        a = team.zeros((4 * team.size, 8))
        for _ in range(3):
            overlapped[(4,)](a, np.zeros(64, np.float32), 64, BLOCK=16)

    on_gpus(main, wait_timeout=20)
    assert counted(gpu, "launch graph") == 0


@tandem.jit
def read_of(a_ptr, x_desc, out_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(a_ptr + places, mask=places < n) + x_desc.load([tl.program_id(0) * BLOCK])
    tl.store(out_ptr + places, value, mask=places < n)


def test_descriptors_are_told_by_what_they_describe(gpu):
    """Each call makes its own, of one of three arrays: a graph for each."""
    overlapped = tandem.overlap(collective="all_gather", consumer=read_of, over="a_ptr", bands=1)

    def main(team):
        a, out, arrays = team.zeros((4 * team.size, 8)), team.local_empty(64), [team.local_empty(64) for _ in range(3)]
        for call in range(9):
            overlapped[(4,)](a, tandem.TensorDescriptor.from_tensor(arrays[call % 3], [16]), out, 64, BLOCK=16)

    on_gpus(main, wait_timeout=20)
    assert counted(gpu, "begin capture mode 2") == 2 * 3
    assert counted(gpu, "launch graph") == 2 * 3 * 2


class Pointer:
    dtype = np.dtype("float32")

    def __init__(self, array):
        self.data_ptr = array.data_ptr


def test_pointers_are_not_captured_and_not_tried_out(gpu):
    overlapped = tandem.overlap(collective="all_gather", consumer=read, over="a_ptr", bands=1)

    def main(team):
        a, out = team.zeros((4 * team.size, 8)), Pointer(team.local_empty(64))
        for _ in range(3):
            overlapped[(4,)](a, out, 64, BLOCK=16)
        with pytest.raises(TypeError, match="a pointer does not say how much lies there"):
            overlapped.tune(a, out, 64, BLOCK=16, grid=(4,))

    on_gpus(main, wait_timeout=20)
    assert counted(gpu, "launch graph") == 0


def test_graphs_make_room(gpu, monkeypatch):
    monkeypatch.setattr(tandem.overlapping.launching, "MOST_GRAPHS", 2)
    overlapped = tandem.overlap(collective="all_gather", consumer=read, over="a_ptr", bands=1)

    def main(team):
        a, out = team.zeros((4 * team.size, 8)), team.local_empty(64)
        for n in (64, 60, 48):
            for _ in range(2):
                overlapped[(4,)](a, out, n, BLOCK=16)

    on_gpus(main, wait_timeout=20)
    assert counted(gpu, "destroy graph") == 2 * 2


def test_all_choices_of_a_channel_are_timed_together(gpu):
    """Both ranks time all 27 and take the same."""
    spec = importlib.util.spec_from_file_location("channel_attention", EXAMPLES / "channel_attention.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    first, second = on_gpus(lambda team: str(example.tune(team)), wait_timeout=20).values
    assert first == second
    launches = [line.split(" on ")[1].split(" grid")[0] for line in gpu.launches if line.startswith("launch attention")]
    assert launches.count("0") == launches.count("1") > 27


def test_configurations_are_timed_as_overlapped_calls(gpu):
    """Rows arrive in each timed call, and both ranks take the same configuration; the plain kernel's choice is another."""
    configs = [tandem.Config({"BLOCK": 16}), tandem.Config({"BLOCK": 32})]
    plain = tandem.autotune(configs, key=["n"], cache_results=False)(read)
    overlapped = tandem.overlap(collective="all_gather", consumer=plain, over="a_ptr", bands=1)

    def main(team):
        a, out = team.zeros((4 * team.size, 8)), team.local_empty(64)
        a[4 * team.rank : 4 * team.rank + 4] = team.rank + 1
        overlapped[lambda meta: (64 // meta["BLOCK"],)](a, out, 64)
        np.testing.assert_array_equal(np.asarray(a)[:, 0], np.repeat([1, 2], 4))
        return str(overlapped.best_config)

    first, second = on_gpus(main, wait_timeout=20).values
    assert first == second and not plain.team_cache and len(overlapped.team_cache) == 2
    assert all(any(f"grid {programs}," in line for line in gpu.launches) for programs in (2, 4))


def test_plans_are_timed_on_all_ranks_together(gpu, monkeypatch):
    """The slowest rank's time counts, and later calls are by that plan."""
    times = {"loads 1": (9, 1), "copies 1": (3, 7), "copies 2": (5, 5), "copies 4": (1, 8)}
    timed, made = [[], []], tandem.overlapping.Overlap._made

    def making(overlap, team, travelling, plan):
        exchange, replays = made(overlap, team, travelling, plan)
        timed[team.rank].append(f"{plan.path} {plan.bands}")
        return exchange, replays

    def microseconds(clock, queue, holds):
        queue(clock.stream)
        seen[clock.team.rank] += 1
        return times[timed[clock.team.rank][(seen[clock.team.rank] - 1) // calls]][clock.team.rank]

    monkeypatch.setattr(tandem.overlapping.Overlap, "_made", making)
    monkeypatch.setattr(tandem.overlapping.RankClock, "microseconds", microseconds)
    seen, overlapped, calls = [0, 0], tandem.overlap(collective="all_gather", consumer=read, over="a_ptr"), tandem.overlapping.TIMED_CALLS

    def main(team):
        a, out = team.zeros((4 * team.size, 8)), team.local_empty(64)
        a[4 * team.rank : 4 * team.rank + 4] = team.rank + 1
        overlapped.tune(a, out, 64, BLOCK=16, grid=(4,))
        np.testing.assert_array_equal(np.asarray(a), np.repeat([1, 2], 4)[:, None] * np.ones((8, 8), np.float32))
        return overlapped.explain(a, out, 64, BLOCK=16, grid=(4,))

    texts = on_gpus(main, wait_timeout=20).values
    assert sorted(timed[0]) == sorted(times) and timed[0] == timed[1] and seen == [4 * calls, 4 * calls]
    assert all("in chunks of 2," in text for text in texts), texts


@tandem.jit
def product(a_ptr, b_ptr, c_ptr, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FOLDED: tl.constexpr = False):
    rows, columns = tl.program_id(0) * BM + tl.arange(0, BM), tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        inner = k + tl.arange(0, BK)
        acc = tl.dot(tl.load(a_ptr + rows[:, None] * K + inner[None, :]), tl.load(b_ptr + inner[:, None] * N + columns[None, :]), acc)
    if FOLDED:
        acc -= tl.sum(acc, 1)[:, None]
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(c_ptr.dtype.element_ty))


def test_each_call_says_how_many_blocks_run_a_program(gpu):
    """Two programs share one's work where multiprocessors are idle and the bits stay, whatever the first call with the matrix had; they are
    no cluster, so that `num_ctas` has no say. The second GPU has no clusters."""
    overlapped = tandem.overlap(collective="all_reduce", producer=product, over="c_ptr", path="loads")
    tall, wide = dict(BM=128, BN=128, BK=64, num_warps=8), dict(BM=64, BN=16, BK=64)
    calls = [(tall, 2), (dict(tall, num_ctas=1), 2), (dict(tall, FOLDED=True), 1), (wide, 1), (tall, 2)]

    def main(team):
        a, b, c = team.local_empty((128, 512), "float16"), team.local_empty((512, 2048), "float16"), team.zeros((128, 2048), "float16")
        for options, _ in calls:
            overlapped[(128 // options["BM"], 2048 // options["BN"])](a, b, c, 2048, 512, **options)

    on_gpus(main, wait_timeout=20)
    of_rank = [line for line in gpu.launches if line.startswith("launch product on 0")]
    grids = [[int(n) for n in line.split("grid ")[1].split()[0].split(",")] for line in of_rank]
    assert [x // (128 // options["BM"]) for (x, *_), (options, _) in zip(grids[2:], calls)] == [blocks for _, blocks in calls], of_rank
