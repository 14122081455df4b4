"""Measures the simulator against its bars: one kernel, signalling programs, compiling, launching, memory."""

import resource
import statistics
import time

import numpy as np

import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.jit
def gemm(a_ptr, b_ptr, c_ptr, m, n, k, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr):
    tiles_n = tl.cdiv(n, BLOCK_N)
    row = tl.program_id(0) // tiles_n * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(0) % tiles_n * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + row[:, None] * k + inner[None, :]
    b_ptrs = b_ptr + inner[:, None] * n + column[None, :]
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k0 in range(0, k, BLOCK_K):
        a = tl.load(a_ptrs, mask=(row[:, None] < m) & (inner[None, :] < k - k0), other=0.0)
        b = tl.load(b_ptrs, mask=(inner[:, None] < k - k0) & (column[None, :] < n), other=0.0)
        acc = tl.dot(a, b, acc)
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * n
    c_ptrs = c_ptr + row[:, None] * n + column[None, :]
    tl.store(c_ptrs, acc.to(c_ptr.dtype.element_ty), mask=(row[:, None] < m) & (column[None, :] < n))


@tandem.jit
def ring(flags, rounds):
    """Program p of each rank passes a token to program p of the next rank."""
    right = (dl.rank() + 1) % dl.num_ranks()
    flag = flags + tl.program_id(0)
    for i in range(1, rounds):
        dl.notify(flag, right, signal=i, sig_op="set", comm_scope="intra_node")
        dl.wait(flag, 1, "sys", "acquire", waitValue=i, compare="ge")


@tandem.jit
def nothing(p):
    pass


def median_s(action, times=5):
    samples = []
    for _ in range(times):
        begin = time.perf_counter()
        action()
        samples.append(time.perf_counter() - begin)
    return statistics.median(samples)


def gemm_seconds():
    """(compiling, one warm kernel, NumPy's float32 product) in seconds, for 512 x 512 x 512 in fp16."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((512, 512)).astype(np.float16) for _ in range(2))
    a32, b32 = a.astype(np.float32), b.astype(np.float32)

    def main(team):
        x, y, out = team.local_from_array(a), team.local_from_array(b), team.local_empty((512, 512), "float16")

        def once():
            gemm[(64,)](x, y, out, 512, 512, 512, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
            team.synchronize()

        begin = time.perf_counter()
        once()
        first = time.perf_counter() - begin
        warm = median_s(once)
        want = a32 @ b32
        assert np.linalg.norm(np.asarray(out).astype(np.float32) - want) < 1e-3 * np.linalg.norm(want)
        return first - warm, warm

    compile_s, kernel_s = tandem.launch(main).values[0]
    return compile_s, kernel_s, median_s(lambda: a32 @ b32)


def ring_rates():
    """(instructions a second, seconds a turn) of 64 ranks x 32 programs that signal each other."""

    def main(team):
        flags = team.zeros((32,), "int64")
        ring[(32,)](flags, 200)
        team.synchronize()
        flags[...] = 0

    tandem.launch(main, ranks=2)
    begin = time.perf_counter()
    counters = tandem.launch(main, ranks=64).counters
    took = time.perf_counter() - begin
    return counters["instructions"] / took, took / counters["switches"]


def launch_seconds():
    """One empty launch, queued, and waited for at the end of a thousand."""

    def main(team):
        p = team.local_empty((1,), "float32")
        nothing[(1,)](p)
        team.synchronize()
        begin = time.perf_counter()
        for _ in range(1000):
            nothing[(1,)](p)
        team.synchronize()
        return (time.perf_counter() - begin) / 1000

    return tandem.launch(main).values[0]


def resident_bytes():
    """Returns the memory that 64 GiB of symmetric memory on 8 ranks, of which 1 MiB is touched, adds to this process."""

    def rss():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * resource.getpagesize()

    def main(team):
        before = rss()
        big = team.empty((8 << 30,), "uint8")
        big[: 1 << 20] = 1
        team.barrier()
        return rss() - before

    return max(tandem.launch(main, ranks=8).values)


def main():
    compile_s, kernel_s, numpy_s = gemm_seconds()
    instructions, turn_s = ring_rates()
    resident = resident_bytes()
    bar_s = 3 * numpy_s + 0.2
    rows = [
        (
            "512x512x512 fp16 GEMM kernel",
            f"{kernel_s * 1e3:.1f} ms",
            f"<= {bar_s * 1e3:.0f} ms (3 x NumPy's {numpy_s * 1e3:.1f} ms + 200 ms)",
            kernel_s <= bar_s,
        ),
        ("64 ranks x 32 signalling programs", f"{instructions / 1e6:.2f} M instructions/s", ">= 1 M/s", instructions >= 1e6),
        ("a turn of the scheduler with its instructions", f"{turn_s * 1e6:.2f} us", "", True),
        ("compiling the GEMM kernel", f"{compile_s * 1e3:.0f} ms", "", True),
        ("an empty launch", f"{launch_seconds() * 1e6:.0f} us", "", True),
        ("64 GiB symmetric on 8 ranks, 8 MiB touched", f"{resident / 2**20:.0f} MiB resident", "< 100 MiB", resident < 100 << 20),
    ]
    for what, measured, bar, met in rows:
        print(f"{what:<52} {measured:<24} {bar:<48} {'' if not bar else 'met' if met else 'MISSED'}".rstrip())


if __name__ == "__main__":
    main()
