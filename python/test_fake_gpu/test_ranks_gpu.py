"""Ranks on GPUs, on the fake driver: memory, streams and signals are real there, kernels are only written down."""

import json
import pathlib
import struct
import sys
import threading
import time

import numpy as np
import pytest
from gpu_fake import CupyArray, FakeTensor, assembler, needs_fake, on_gpus  # noqa: F401
from gpu_fake import compiling_gpu as gpu  # noqa: F401

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem import _tandem
from tandem.gpu import launcher
from tandem.gpu.session import GpuSession
from tandem.host.arrays import Tensor
from tandem.ops import GemmReduceScatter
from tandem.ops import AllReduce

pytestmark = needs_fake
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test" / "gpu" / "ranks"))

import programs


@pytest.mark.parametrize("program", [programs.streams, programs.tensors, programs.memory_of_teams], ids=lambda p: p.__name__)
def test_programs_without_kernels(gpu, program):
    for here, there in zip(on_gpus(program, wait_timeout=20).values, tandem.launch(program, ranks=2).values, strict=True):
        np.testing.assert_array_equal(here, there)


def test_result(gpu):
    result = on_gpus(lambda team: team.rank * 10)
    assert result.values == [0, 10] and result.reports == []
    with pytest.raises(RuntimeError, match="only a simulated run has counters"):
        result.counters  # noqa: B018
    for ask in (lambda: result.summary, result.timeline, lambda: result.write_trace("/nowhere/x")):
        with pytest.raises(RuntimeError, match="the run was not traced: its session is made without `trace`"):
            ask()


def test_too_few_gpus(gpu):
    with pytest.raises(RuntimeError, match="^3 ranks on GPUs need 3 GPUs, this machine has 2$"):
        on_gpus(lambda team: 0, ranks=3)


@pytest.mark.parametrize(
    "devices, words",
    [([0], "names 1 GPUs for 2 ranks"), ([0, 2], "names GPU 2, this machine has 2"), ([1, 1], "each rank needs a GPU of its own")],
)
def test_wrong_devices(gpu, devices, words):
    with pytest.raises(ValueError, match=words):
        on_gpus(lambda team: 0, devices=devices)


def test_devices(gpu):
    assert on_gpus(lambda team: team.device).values == [0, 1]
    assert on_gpus(lambda team: team.device, devices=[1, 0]).values == [1, 0]
    assert on_gpus(lambda team: team.device, ranks=1, devices=[1]).values == [1]


def test_tensors_show_copies(gpu):
    def main(team):
        t = team.from_array(np.arange(6, dtype=np.float32).reshape(2, 3))
        copy = t.numpy()
        with pytest.raises(ValueError, match="read-only"):
            copy[0] = 1
        with pytest.raises(ValueError, match="without a copy"):
            np.asarray(t, copy=False)
        other = np.asarray(t)
        other[...] = 9
        np.testing.assert_array_equal(np.asarray(t), np.arange(6).reshape(2, 3))
        u = team.local_empty((2, 3), "float32")
        u[...] = t
        t[0] = t[1]
        u[:, 1] = t[0, 1]
        np.testing.assert_array_equal(np.asarray(u), [[0, 4, 2], [3, 4, 5]])
        with pytest.raises(ValueError, match="could not broadcast"):
            t[0] = np.zeros(4)
        with pytest.raises(IndexError):
            t[5]
        t.free()
        with pytest.raises(ValueError, match="has been freed"):
            np.asarray(t)

    on_gpus(main)


def test_array_interface(gpu):
    def main(team):
        t = team.zeros((4, 6), "float16")
        assert t.__cuda_array_interface__ == {"version": 3, "shape": (4, 6), "strides": None, "typestr": "<f2", "data": (t.address, False)}
        part = t[1:3, ::2].__cuda_array_interface__
        assert part["strides"] == (12, 4) and part["shape"] == (2, 3) and part["data"] == (t.address + 12, False)
        assert team.zeros(3, "bfloat16").__cuda_array_interface__["typestr"] == "|V2"
        assert team.zeros(0).__cuda_array_interface__["data"] == (0, False)
        assert t.peer(1 - team.rank).address - t.address == (1 - 2 * team.rank) * abs(t.peer(1 - team.rank).address - t.address)

    on_gpus(main)


def test_filled_from_another_library(gpu):
    def main(team):
        source = team.local_from_array(np.arange(64, dtype=np.float32))
        tensor = FakeTensor(source.address, device=team.device)
        tensor.contiguous = lambda: tensor
        np.testing.assert_array_equal(np.asarray(team.from_array(tensor)), np.arange(64))
        np.testing.assert_array_equal(np.asarray(team.local_from_array(CupyArray(source.address))), np.arange(64))
        t = team.zeros(64, "int32")
        with pytest.raises(TypeError, match="an array of `fp32` on a GPU is copied into a tensor of `i32`"):
            t[...] = tensor

    on_gpus(main)


def test_memory_ends_with_the_run(gpu):
    kept = on_gpus(lambda team: team.zeros(4)).values[0]
    with pytest.raises(ValueError, match="the run is over, and its memory with it"):
        np.asarray(kept)


def test_stream_wait_that_times_out(gpu):
    def main(team):
        flag = team.zeros(1, "int32")
        team.stream.signal_wait(flag, 1)
        team.synchronize()

    started = time.monotonic()
    with pytest.raises(tandem.RunError, match="gave up waiting for") as caught:
        on_gpus(main, wait_timeout=0.5)
    assert not isinstance(caught.value, tandem.SimulationError) and time.monotonic() - started < 10
    assert "note: the host of rank" in str(caught.value)
    assert on_gpus(lambda team: team.rank).values == [0, 1], "the process can go on"


def test_operators_called_unlike(gpu):
    """There is no timeout: a rank that waits for a call that cannot come is told of it."""

    def main(team):
        op = AllReduce(team, 64, "fp32")
        for n in (64, 64, 32 if team.rank else 64):
            op(team.zeros(64, "fp32")[:n])
        team.stream.signal_wait(team.zeros(1, "int32"), 1)
        team.synchronize()

    with pytest.raises(tandem.RunError, match="rank 1's call 3 .* with elements 32, .* where rank 0's is .* with elements 64") as caught:
        on_gpus(main)
    assert [r["kind"] for r in caught.value.reports] == ["collective-mismatch"]


def test_exception_on_one_rank(gpu):
    def main(team):
        if team.rank:
            raise KeyError("mine")
        team.stream.signal_wait(team.local_from_array(np.zeros(1, np.int32)), 1)
        team.barrier()

    with pytest.raises(KeyError) as caught:
        on_gpus(main)
    assert caught.value.__notes__ == ["raised on rank 1 of 2"]


def test_other_threads_may_use_a_team(gpu):
    def main(team):
        found = []
        thread = threading.Thread(target=lambda: found.append(np.asarray(team.zeros(2) if team.size == 1 else None)))
        thread.start()
        thread.join()
        return found[0].tolist()

    assert on_gpus(main, ranks=1).values == [[0, 0]]


@tandem.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@tandem.jit
def notify_right(flag_ptr, x_ptr, n):
    tl.store(x_ptr, n)
    dl.notify(flag_ptr, (dl.rank() + 1) % dl.num_ranks(), signal=1, sig_op="set", comm_scope="intra_node")


def words(line):
    return line.split(" stream ")[1].split()[1:]


def address(value):
    return struct.pack("<Q", value).hex()


def test_launch_with_tensors(gpu):
    def main(team):
        x, y = team.zeros(64), team.zeros(65)
        for _ in range(2):
            compiled = add[(2,)](x, y[1:], 64, BLOCK=32, num_warps=2)
        assert compiled.info["target"] == "sm_90a" and "mov" in compiled.asm["ptx"]
        team.synchronize()
        return x.address, y.address + 4

    ((x, y),) = on_gpus(main, ranks=1).values
    line, again = gpu.launches
    assert line == again and line.startswith("launch add on 0 grid 2,1,1 block 64,1,1 ")
    assert words(line) == [address(x), address(y), struct.pack("<i", 64).hex()]


def test_launch_beside_the_kernel_before(gpu):
    def main(team):
        x, y = team.zeros(64), team.zeros(64)
        for beside in (False, True):
            add[(2,)](x, y, 64, BLOCK=32, num_warps=2, launch_pdl=beside)
        team.synchronize()

    on_gpus(main, ranks=1)
    assert [" dependent " in line for line in gpu.launches] == [False, True]


def test_alignment_facts(gpu, monkeypatch):
    """The same facts for tensors, which the launcher takes, and for arrays of the host, which have copies."""
    seen = []
    compile_image, compile_program = launcher.compile_request, _tandem.compile
    monkeypatch.setattr(launcher, "compile_request", lambda request: seen.append(request) or compile_image(request))
    monkeypatch.setattr(_tandem, "compile", lambda request: seen.append(request) or compile_program(request))

    def main(team):
        x, host = team.zeros(68), np.zeros(68, np.float32)
        for a, b in ((x, x[1:]), (x[4:], host), (host[1:], host[6:]), (host[4:], host)):
            tandem.jit(add.target)[(1,)](a, b, 64, BLOCK=32)

    on_gpus(main, ranks=1)
    requests = [json.loads(text) for text in seen]
    assert [[a.get("divisibility") for a in r["arguments"][:3]] for r in requests] == [
        [16, None, 16],
        [16, 16, 16],
        [16, None, 16],
        [16, 16, 16],
    ]
    options = {"num_warps": 4, "num_stages": 3, "num_ctas": 1, "debug": False, "target": "sm_90a"}
    assert [r["options"] for r in requests] == [options] * 4


def test_kernel_with_ranks_gets_the_context(gpu):
    def main(team):
        flag, x = team.zeros(1, "int64"), team.local_empty(1, "int32")
        notify_right[(1,)](flag, x, 5)
        team.synchronize()
        return [address(flag.address), address(x.address), struct.pack("<i", 5).hex()]

    (expected,) = on_gpus(main, ranks=1).values
    found = words(gpu.launches[0])
    assert found[:3] == expected and len(found) == 4 and int.from_bytes(bytes.fromhex(found[3]), "little")


def test_host_arrays_are_copied_there_and_back(gpu):
    def main(team):
        x, y = np.arange(64, dtype=np.float32), np.full(64, 7, np.float32)
        add[(1,)](x, y, 64, BLOCK=64)
        np.testing.assert_array_equal(y, 7)
        add[(1,)](x, y, 64, BLOCK=64, stream=team.new_stream())
        team.synchronize()
        np.testing.assert_array_equal(x, np.arange(64))

    on_gpus(main, ranks=1)
    assert len(gpu.launches) == 2 and len(set(words(gpu.launches[0])[:2])) == 2


def test_where_tensors_begin_does_not_say_which_tiles_parts_have(gpu):
    """GEMM + ReduceScatter's parts lie tile by tile, and every rank reads those of the others."""

    def main(team):
        with GemmReduceScatter(team, 4096, 2048, 256, "bf16", b_transposed=True) as op:
            whole = team.local_empty((4096 * 256 + 1,), "bf16")
            for at in (0, 1):
                a = Tensor(team, whole.address + 2 * at, (4096, 256), whole.dtype, owner=whole, symmetric=False)
                op(a, team.local_empty((2048, 256), "bf16"), 4096)
            team.synchronize()

    on_gpus(main, ranks=1)
    tiles, parts_rows = 15, 17  # of the kernel's parameters: those of a shard in a turn, and all of them
    blocks, pointers = (words(line) for line in gpu.launches)
    assert (blocks[tiles], blocks[parts_rows]) == (pointers[tiles], pointers[parts_rows])


class Stream:
    cuda_stream = 7


class TorchTensor(FakeTensor):
    __module__ = "torch"


def test_streams_of_a_framework(gpu, monkeypatch):
    current = [3]
    for place in ("session", "streams", "launcher"):
        monkeypatch.setattr(f"tandem.gpu.{place}.torch_stream", lambda: lambda device: current[0])

    def main(team):
        x, t = team.zeros(64), TorchTensor(16 << 20)
        for stream in (None, Stream(), 9, team.adopt(11), team.new_stream()):
            add[(1,)](x, t, 64, BLOCK=32, stream=stream)
        add[(1,)](x, x, 64, BLOCK=32)
        current[0] = 5
        add[(1,)](t, x, 64, BLOCK=32)
        tandem.jit(add.target)[(1,)](t, t, 64, BLOCK=32)  # the launcher's
        with pytest.raises(TypeError, match="not a stream of the team, a CUDA stream or its handle"):
            add[(1,)](x, t, 64, BLOCK=32, stream="s")
        with pytest.raises(ValueError, match="argument `y_ptr` of kernel `add` is on GPU 1, rank 0 has GPU 0"):
            add[(1,)](x, FakeTensor(16, device=1), 64, BLOCK=32)

    on_gpus(main, ranks=1)
    found = [int(line.split(" stream ")[1].split()[0]) for line in gpu.launches]
    assert found[:4] == [3, 7, 9, 11] and found[6:] == [5, 5] and found[4] > 10000 and found[5] > 10000 and found[4] != found[5]


def test_collectives_on_streams_of_a_framework(gpu):
    def main(team):
        with AllReduce(team, 64, "fp32") as op:
            for stream in (Stream(), 9):
                op(team.local_empty(64, "float32"), stream=stream)

    on_gpus(main, ranks=2)
    found = [int(line.split(" stream ")[1].split()[0]) for line in gpu.launches if "all_reduce" in line]
    assert sorted(found) == [7, 7, 9, 9]


def test_warmup_and_empty_grids_launch_nothing(gpu):
    def main(team):
        x = team.zeros(64)
        add.warmup(x, x, 64, BLOCK=32, grid=(1,))
        add[(0,)](x, np.zeros(64, np.float32), 64, BLOCK=32)

    on_gpus(main, ranks=1)
    assert gpu.launches == []


def test_refused_arguments(gpu):
    def main(team):
        x = team.zeros(64)
        with pytest.raises(TypeError, match="is a `object`"):
            add[(1,)](x, object(), 64, BLOCK=32)
        with pytest.raises(TypeError, match="no parameter `oops`"):
            add[(1,)](x, x, 64, BLOCK=32, oops=1)
        with pytest.raises(tandem.CompileError, match="test_ranks_gpu.py"):
            wrong[(1,)](x)
        other = tandem.launch(lambda t: t.zeros(4)).values[0]
        with pytest.raises(ValueError, match="is a tensor of another run"):
            add[(1,)](x, other, 64, BLOCK=32)

    on_gpus(main, ranks=1)


@tandem.jit
def wrong(x_ptr):
    tl.store(x_ptr, no_such_name)  # noqa: F821


@pytest.mark.parametrize("host", [False, True], ids=["tensors", "arrays of the host"])
def test_ranks_compile_a_kernel_once(gpu, monkeypatch, host):
    made = []
    for module, name in ((launcher, "compile_request"), (_tandem, "compile")):
        monkeypatch.setattr(module, name, lambda request, compile=getattr(module, name): made.append(1) or compile(request))
    monkeypatch.setattr(launcher, "target_of", lambda device: "sm_90a")
    monkeypatch.setattr(GpuSession, "target_of", lambda self, rank: "sm_90a")
    kernel = tandem.jit(add.target)

    def main(team):
        x = np.zeros(64, np.float32) if host else team.zeros(64)
        kernel.warmup(x, x, 64, BLOCK=32)

    on_gpus(main)
    assert len(made) == 1


def test_a_launch_with_tensors_is_quick(gpu):
    def main(team):
        x = team.zeros(64)
        add[(1,)](x, x, 64, BLOCK=32)
        gpu.driver.fakeQuiet(1)
        start = time.perf_counter()
        for _ in range(1000):
            add[(1,)](x, x, 64, BLOCK=32)
        gpu.driver.fakeQuiet(0)
        return (time.perf_counter() - start) * 1e3

    microseconds = on_gpus(main, ranks=1).values[0]
    assert microseconds < 200, f"{microseconds:.1f} us a launch"


def test_streams_have_handles(gpu):
    def main(team):
        side = team.new_stream()
        assert len({s.cuda_stream for s in (team.stream, side)}) == 2 and team.adopt(side.cuda_stream).index == side.index
        assert team.adopt(side) is side and team.split([0]).stream.cuda_stream == team.stream.cuda_stream
        return side

    stale = on_gpus(main, ranks=1).values[0]
    with pytest.raises(ValueError, match="another rank's or another run's"):
        on_gpus(lambda team: team.adopt(stale), ranks=1)


@pytest.mark.parametrize("ranks", [1, 2])
def test_doctors_measurements_run(gpu, monkeypatch, tmp_path, ranks):
    """Kernels do nothing on the fake driver; everything around them happens."""
    from tandem.tune import machine_profile, measure

    monkeypatch.setattr(measure, "_COPY_BYTES", 1 << 16)
    monkeypatch.setattr(measure, "_STORE_BYTES", 1 << 16)
    monkeypatch.setattr(measure, "_PROGRAMS", (1, 8))
    monkeypatch.setattr(measure, "_DEPTH", 256)
    monkeypatch.setattr(GpuSession, "target_of", lambda self, rank: "sm_90a")
    said = []
    numbers = measure.measure(ranks, said.append)
    path = tmp_path / "p.json"
    path.write_text(json.dumps(numbers))
    kept = machine_profile.read_profile(path)
    assert kept.measured and kept.device == "Fake H200" and kept.gemm_bf16_tflops > 0 and "measuring      product" in said
    assert kept.gemm_alone_ratio >= 1 and kept.copy_us > 0 and ("signal_write_us" in numbers) == (ranks == 2)


def test_measured_kernels_are_right():
    """The kernels run on the simulator, with small sizes."""
    from tandem.tune import measure

    def main(team):
        x, y, z = (team.zeros(4096, "float32", name=n) for n in "xyz")
        x[...] = np.arange(4096) + team.rank
        peer = (team.rank + 1) % 2
        team.barrier()
        measure.store_to_peer[(2,)](x, y, 4096, peer, BLOCK=1024)
        measure.load_from_peer[(2,)](x, z, 4096, peer, BLOCK=1024)
        team.barrier()
        for t in (y, z):
            np.testing.assert_array_equal(np.asarray(t), np.arange(4096) + 1 - team.rank)
        flag = team.zeros(1, "uint64", name="flag")
        for first in (0, 5):
            measure.ping_pong[(1,)](flag, 5, first, num_warps=1)
        team.barrier()
        assert np.asarray(flag)[0] == 10
        flag[...] = 0
        a, b = (team.local_from_array(np.ones((64, 32), np.float16)) for _ in range(2))
        c = team.local_empty((64, 64), "float16")
        measure.product[(2,)](a, b, c, 64, 64, 32, BM=32, BN=32, BK=16, GROUP=2, PROGRAMS=2)
        assert (np.asarray(c) == 32).all()

    assert tandem.launch(main, ranks=2).reports == []


def test_gather_between_gpus(gpu):
    """The text is longer than the meeting carries at once."""

    def main(team):
        return [len(text) for text in team.gather("x" * 120000 * team.rank)], team.gather(team.rank)

    assert on_gpus(main).values == [([0, 120000], [0, 1])] * 2


def test_times_of_a_stream(gpu):
    def main(team):
        begin, end = team.stream.record_time(), team.stream.record_time()
        with pytest.raises(RuntimeError, match="no time was recorded as 12345"):
            team.stream.microseconds(begin, 12345)
        between = team.stream.microseconds(begin, end)
        for _ in range(2**14 - 1):
            team.stream.record_time()
        with pytest.raises(RuntimeError, match=f"no time was recorded as {begin}, or 16384 others since"):
            team.stream.microseconds(begin, end)
        return between

    assert on_gpus(main).values == [2000, 2000]
