"""Inline PTX that touches memory and other threads: it is bounds-checked, ordered and reported as the simulator's own operations are."""

import numpy as np
import pytest
import tandem
import triton
import triton.language as tl
import triton_dist
import triton_dist.language as dl
from triton_dist.language.extra.language_extra import __syncthreads, atomic_add, ld_acquire, st, tid


@triton.jit
def asm_i32(TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr, args):
    return tl.inline_asm_elementwise(TEXT, CONSTRAINTS, args, dtype=tl.int32, is_pure=False, pack=1)


@triton.jit
def envreg(N: tl.constexpr):
    return tl.inline_asm_elementwise(f"mov.u32 $0, %envreg{N};", "=r", [], dtype=tl.uint32, is_pure=True, pack=1)


@triton.jit
def grid_sync():
    """Cooperative groups' barrier: its word is the second of the launch's workspace, whose address two registers hold."""
    word = ((envreg(1).to(tl.uint64) << 32) | envreg(2).to(tl.uint64)).to(tl.pointer_type(tl.uint32), bitcast=True) + 1
    __syncthreads()
    if tid(0) == 0:
        programs = tl.num_programs(0) * tl.num_programs(1) * tl.num_programs(2)
        first = (tl.program_id(0) == 0) & (tl.program_id(1) == 0) & (tl.program_id(2) == 0)
        arrives = tl.where(first, tl.cast(0x80000000, tl.uint32, bitcast=True) - (programs - 1), 1).to(tl.uint32)
        before = atomic_add(word, arrives, scope="gpu", semantic="release")
        while ((before ^ ld_acquire(word, scope="gpu")) & 0x80000000) == 0:
            pass
    __syncthreads()


@triton.jit
def reversed_twice(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr, SYNC: tl.constexpr):
    offs = (tl.program_id(0) + tl.program_id(1) * tl.num_programs(0)) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, tl.load(x_ptr + (n - 1 - offs)))
    if SYNC:
        grid_sync()
    tl.store(out_ptr + offs, tl.load(y_ptr + (n - 1 - offs)) + 1)
    grid_sync()


@pytest.mark.parametrize("grid", [(1,), (2, 3), (8,)])
def test_the_grid_barrier_of_a_cooperative_launch(everywhere, grid):

    def main(team):
        n = 32 * int(np.prod(grid))
        x = np.arange(n, dtype=np.int32) * (team.rank + 1)
        y, out = np.zeros_like(x), np.zeros_like(x)
        for _ in range(2):
            reversed_twice[grid](x, y, out, n, 32, True, launch_cooperative_grid=True)
            np.testing.assert_array_equal(out, x + 1)

    everywhere(main, ranks=(1, 2, 4), check=True)


def test_a_grid_barrier_that_is_missing_is_a_race():

    def main(team):
        n = 64
        x, y, out = (team.zeros(n, "int32") for _ in range(3))
        reversed_twice[(2,)](x, y, out, n, 32, False, launch_cooperative_grid=True)

    with pytest.raises(tandem.SimulationError, match="race"):
        tandem.launch(main, ranks=1, check=True)


def test_a_workspace_needs_a_cooperative_launch():
    x = np.zeros(32, np.int32)
    with pytest.raises(tandem.SimulationError, match="null|out of bounds|outside"):
        reversed_twice[(1,)](x, x.copy(), x.copy(), 32, 32, True)


@triton.jit
def copy_of_tiles(x_ptr, o_ptr, n, N: tl.constexpr):
    """Each element of the tile is a word of four; some are beyond the end, and keep what they were."""
    i = tl.arange(0, N)
    a, b, c, d = tl.inline_asm_elementwise(
        """{
            .reg .pred %p0;
            setp.eq.s32 %p0, $5, 1;
            mov.b32 $0, 7; mov.b32 $1, 7; mov.b32 $2, 7; mov.b32 $3, 7;
            @%p0 ld.global.L1::no_allocate.v4.b32 {$0, $1, $2, $3}, [$4];
        }""",
        "=r,=r,=r,=r,l,r",
        [x_ptr + i * 4, (i < n).to(tl.int32)],
        dtype=(tl.int32, tl.int32, tl.int32, tl.int32),
        is_pure=False,
        pack=1,
    )
    asm_i32(
        "{ .reg .pred %p; setp.lt.s32 %p, $6, 13; @%p st.global.v4.b32 [$1], {$2, $3, $4, $5}; mov.u32 $0, 0; }",
        "=r,l,r,r,r,r,r",
        [o_ptr + i * 4, a, b, c, d, i],
    )


def test_guarded_vectors_of_a_tile():
    x, o = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    copy_of_tiles[(1,)](x[:40].copy(), o, 10, 16)
    np.testing.assert_array_equal(o, np.where(np.arange(64) < 40, x, np.where(np.arange(64) < 52, 7, 0)))


@triton.jit
def copy_by_threads(x_ptr, o_ptr, n):
    i = tid(0)
    a, b = tl.inline_asm_elementwise(
        "{ .reg .pred p; setp.lt.s32 p, $3, $4; @p ld.global.nc.v2.b64 {$0, $1}, [$2+16]; @!p mov.b64 $0, -1; }",
        "=l,=l,l,r,r",
        [x_ptr + i * 4, i, n],
        dtype=(tl.int64, tl.int64),
        is_pure=False,
        pack=1,
    )
    asm_i32("st.global.wb.v2.u64 [$1], {$2, $3}; prefetch.global.L2 [$1]; nanosleep.u32 20;", "=r,l,l,l", [o_ptr + i * 4, a, b])


def test_guarded_vectors_of_threads():
    x, o = np.arange(124, dtype=np.int32), np.zeros(128, np.int32)
    copy_by_threads[(1,)](x, o, 30, num_warps=1)
    np.testing.assert_array_equal(o, np.concatenate([np.arange(4, 124), [-1, -1, 0, 0] * 2]))


@triton.jit
def past_the_end(x_ptr, OFFSET: tl.constexpr):
    asm_i32(f"ld.global.relaxed.gpu.b32 $0, [$1 + {OFFSET}];", "=r,l", [x_ptr])


def test_accesses_are_checked():
    x = np.zeros(4, np.int32)
    past_the_end[(1,)](x, 12)
    with pytest.raises(tandem.SimulationError, match="x_ptr|past the end|outside|beyond"):
        past_the_end[(1,)](x, 16)
    with pytest.raises(tandem.SimulationError, match="align"):
        past_the_end[(1,)](x, 2)


@triton_dist.jit
def ring(data_ptr, flag_ptr, out_ptr, STORE: tl.constexpr, LOAD: tl.constexpr, N: tl.constexpr):
    """Writes a block to the next rank, raises a flag there, waits for its own."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    i = tl.arange(0, N)
    tl.store(dl.symm_at(data_ptr, peer) + i, i + dl.rank())
    __syncthreads()
    if tid(0) == 0:
        asm_i32(STORE + " [$1], $2; mov.u32 $0, 0;", "=r,l,r", [dl.symm_at(flag_ptr, peer), 1])
        seen = 0
        while seen != 1:
            seen = asm_i32(LOAD + " $0, [$1];", "=r,l", [flag_ptr])
    __syncthreads()
    tl.store(out_ptr + i, tl.load(data_ptr + i))


def ring_of(ranks, store, load, **options):

    def main(team):
        data, flag, out = team.zeros(32, "int32"), team.zeros(1, "int32"), team.zeros(32, "int32")
        ring[(1,)](data, flag, out, store, load, 32)
        np.testing.assert_array_equal(np.asarray(out), np.arange(32) + (team.rank - 1) % ranks)

    return tandem.launch(main, ranks=ranks, check=True, **options)


@pytest.mark.parametrize(
    "store, load",
    [
        ("st.release.sys.global.b32", "ld.global.acquire.sys.b32"),
        (
            "fence.acq_rel.sys; st.relaxed.sys.global.b32",
            "{ .reg .b32 t; ld.relaxed.sys.global.b32 t, [$1]; } fence.acq_rel.sys; ld.acquire.sys.global.b32",
        ),
        ("membar.sys; st.volatile.global.u32", "ld.acquire.sys.global.u32"),
        ("red.release.sys.global.add.s32", "ld.acquire.sys.global.b32"),
    ],
)
@pytest.mark.parametrize("ranks", [2, 4])
def test_flags_order_data(ranks, store, load):
    for seed in range(2):
        assert ring_of(ranks, store, load, seed=seed).reports == []


@pytest.mark.parametrize(
    "store, load",
    [
        ("st.relaxed.sys.global.b32", "ld.acquire.sys.global.b32"),
        ("st.release.sys.global.b32", "ld.relaxed.sys.global.b32"),
        ("st.global.b32", "ld.acquire.sys.global.b32"),
    ],
)
def test_weaker_flags_are_races(store, load):
    with pytest.raises(tandem.SimulationError, match="race"):
        ring_of(2, store, load)


@triton_dist.jit
def handshake(flags_ptr, count_ptr):
    """Each thread raises a flag of its peer by a compare-and-swap loop of the text's own, and takes its own back."""
    i = tid(0)
    if i < dl.num_ranks():
        asm_i32(
            """{
            .reg .u32 %t<1>;
            .reg .pred %p<1>;
            send_${:uid}:
                atom.global.release.sys.cas.b32 %t0, [$1], 0, 1;
                setp.eq.u32 %p0, %t0, 0;
                @!%p0 bra send_${:uid};
            wait_${:uid}:
                atom.global.acquire.sys.cas.b32 %t0, [$2], 1, 0;
                setp.eq.u32 %p0, %t0, 1;
                @%p0 bra DONE_${:uid};
                bra.uni wait_${:uid};
            DONE_${:uid}:
                mov.u32 $0, 0;
            }""",
            "=r,l,l",
            [dl.symm_at(flags_ptr, i) + dl.rank(), flags_ptr + i],
        )
    __syncthreads()
    asm_i32("{ .reg .u32 t; mov.u32 t, %tid.x; red.relaxed.gpu.global.add.u32 [$1], t; mov.u32 $0, 0; }", "=r,l", [count_ptr])


def test_loops_of_the_text(everywhere):

    def main(team):
        flags, count = team.zeros(team.size, "int32"), team.zeros(1, "int32")
        for _ in range(2):
            handshake[(1,)](flags, count, num_warps=1)
        assert np.asarray(count)[0] == 2 * sum(range(32))

    everywhere(main, ranks=(1, 2, 4), seeds=range(2), check=True)


def test_a_loop_of_the_text_that_waits_for_ever_is_a_livelock():

    @triton_dist.jit
    def alone(flag_ptr):
        asm_i32(
            "{ .reg .b32 t; .reg .pred p; L: ld.acquire.gpu.global.b32 t, [$1]; setp.eq.s32 p, t, 0; @p bra L; mov.u32 $0, t; }",
            "=r,l",
            [flag_ptr],
        )

    with pytest.raises(tandem.SimulationError, match="livelock"):
        tandem.launch(lambda team: alone[(1,)](team.zeros(1, "int32")), ranks=1)


@triton.jit
def branches(x_ptr, o_ptr):
    i = tid(0)
    r = asm_i32(
        """{
        .reg .pred p; .reg .s32 n;
        setp.lt.s32 p, $1, 10;
        @p bra SMALL;
        mov.b32 $0, 1000;
        bra JOIN;
        SMALL: mov.b32 $0, 1; mov.b32 n, $1;
        POWER: setp.le.s32 p, n, 0;
        @p bra JOIN2;
        shl.b32 $0, $0, 1; sub.s32 n, n, 1;
        bra POWER;
        JOIN2:
        JOIN: add.s32 $0, $0, $1;
        }""",
        "=r,r",
        [tl.load(x_ptr + i)],
    )
    tl.store(o_ptr + i, r)


def test_branches_of_the_text():
    x, o = (np.arange(32, dtype=np.int32) * 7) % 19, np.zeros(32, np.int32)
    branches[(1,)](x, o, num_warps=1)
    np.testing.assert_array_equal(o, np.where(x < 10, 2 ** np.minimum(x, 10) + x, 1000 + x))


@triton.jit
def warp_work(x_ptr, o_ptr, N: tl.constexpr):
    i = tid(0)
    x = tl.load(x_ptr + i)
    tl.store(o_ptr + i, asm_i32("shfl.sync.up.b32 $0, $1, 1, 0, 0xffffffff;", "=r,r", [x]))
    tl.store(o_ptr + N + i, asm_i32("shfl.sync.bfly.b32 $0, $1, 4, 0x181f, -1;", "=r,r", [x]))
    tl.store(
        o_ptr + 2 * N + i,
        asm_i32("{ .reg .pred p, q; shfl.sync.down.b32 $0|p, $1, 3, 0x1807, $2; @!p mov.b32 $0, -1; }", "=r,r,r", [x, 0xFFFFFFFF]),
    )
    tl.store(o_ptr + 3 * N + i, asm_i32("{ .reg .pred p; setp.gt.s32 p, $1, 7; vote.sync.ballot.b32 $0, p, -1; }", "=r,r", [x]))
    tl.store(
        o_ptr + 4 * N + i,
        asm_i32(
            "{ .reg .pred p, q; setp.gt.s32 p, $1, 7; vote.sync.any.pred q, p, -1; bar.warp.sync -1; selp.b32 $0, 1, 0, q; }", "=r,r", [x]
        ),
    )
    tl.store(
        o_ptr + 5 * N + i,
        asm_i32(
            """{ .reg .u32 a, b; mov.u32 a, %laneid; mov.u32 b, %warpid; mad.lo.u32 a, b, 32, a;
        mov.u32 b, %ntid.x; mad.lo.u32 $0, a, 1000, b; }""",
            "=r",
            [],
        ),
    )
    tl.store(
        o_ptr + 6 * N + i,
        asm_i32(
            """{ .reg .u32 a, b; mov.u32 a, %lanemask_lt; mov.u32 b, %lanemask_ge; popc.b32 a, a; xor.b32 b, b, a;
        mov.u32 $0, b; }""",
            "=r",
            [],
        ),
    )


def test_threads_of_a_warp():
    n = 64
    x = np.random.default_rng(0).integers(0, 9, n).astype(np.int32)
    x[32:] %= 8
    o = np.zeros((7, n), np.int32)
    warp_work[(1,)](x, o, n, num_warps=2)
    w, lane = x.reshape(2, 32), np.arange(32)
    np.testing.assert_array_equal(o[0].reshape(2, 32), w[:, np.maximum(lane - 1, 0)])
    np.testing.assert_array_equal(o[1].reshape(2, 32), w[:, lane ^ 4])
    # Segments of 8 lanes: who looks beyond its own gets nothing.
    np.testing.assert_array_equal(o[2].reshape(2, 32), np.where(lane % 8 + 3 < 8, w[:, np.minimum(lane + 3, 31)], -1))
    ballots = [(int(sum(1 << k for k in range(32) if row[k] > 7)) ^ (1 << 31)) - (1 << 31) for row in w]
    np.testing.assert_array_equal(o[3], np.repeat(ballots, 32))
    np.testing.assert_array_equal(o[4], np.repeat([1, 0], 32))
    np.testing.assert_array_equal(o[5], np.arange(n) * 1000 + n)
    masks = np.array([(0xFFFFFFFF << k & 0xFFFFFFFF) ^ k for k in range(32)], np.uint32).view(np.int32)
    np.testing.assert_array_equal(o[6].reshape(2, 32), [masks, masks])


@triton.jit
def who_is_there(o_ptr):
    i = tid(0)
    if i % 32 < 5:
        tl.store(o_ptr + i, asm_i32("activemask.b32 $0;", "=r", []))


def test_the_threads_that_are_there():
    o = np.zeros(64, np.int32)
    who_is_there[(1,)](o, num_warps=2)
    np.testing.assert_array_equal(o, np.where(np.arange(64) % 32 < 5, 31, 0))


@triton.jit
def of_the_grid(o_ptr):
    value = asm_i32("{ .reg .u32 a, b; mov.u32 a, %ctaid.y; mov.u32 b, %nctaid.x; mad.lo.u32 a, a, b, %ctaid.x; mov.u32 $0, a; }", "=r", [])
    tl.store(o_ptr + value, value)
    first = tl.inline_asm_elementwise("mov.u64 $0, %globaltimer;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)
    low = asm_i32("{ .reg .u32 h; mov.u32 $0, %clock; mov.u32 h, %clock_hi; }", "=r", [])
    tl.device_assert(first <= low)


def test_registers_of_the_grid():
    o = np.full(6, -1, np.int32)
    of_the_grid[(3, 2)](o)
    np.testing.assert_array_equal(o, np.arange(6))


@triton.jit
def unsupported(x_ptr, TEXT: tl.constexpr, CONSTRAINTS: tl.constexpr):
    i = tl.arange(0, 32)
    x = tl.load(x_ptr + i)
    tl.store(x_ptr + i, tl.inline_asm_elementwise(TEXT, CONSTRAINTS, [x], dtype=tl.int32, is_pure=True, pack=1))


@pytest.mark.parametrize(
    "text, constraints, message",
    [
        ("wgmma.fence.sync.aligned;", "=r,r", "`wgmma.fence.sync.aligned`: it has no `wgmma`"),
        ("add.s32.cc $0, $1, $1;", "=r,r", "it has no `.cc` there"),
        ("add.b32 $0, $1, $1;", "=r,r", "it needs `.u` or `.s`"),
        ("add.s64 $0, $1, $1;", "=r,r", r"`\$1` has 32 bits where 64 belong"),
        ("add.s32 $0, $1;", "=r,r", "it has too few operands"),
        ("mov.b32 $0, $1", "=r,r", "`;` is missing"),
        ("mbarrier.init.shared::cta.b64 [$0], 1;", "=r,r", "it for threads only"),
        ("mov.b32 $0, other;", "=r,r", "`other` is not declared"),
        ("mov.u32 $0, %envreg7;", "=r,r", "it has no register `%envreg7`"),
        ("ld.acquire.global.b32 $0, [$1];", "=r,l", "`.acquire` needs a scope"),
        ("cvt.rn.e4m3x2.f32 $0, 1.0, 2.0;", "=h,r", "8-bit floats need `.satfinite`"),
        ("mov.u32 $0, %laneid;", "=r,r", "a tile's elements have no `%laneid`"),
        ("mov.b32 $0, $1;", "=r,q", "`q` is no PTX register"),
        ("mov.b32 $0, $1;", "=r,r,r", "take 1 input registers, its constraints have 2"),
        ("mov.b32 $0, $1;", "=r,h", "an operand of 32 bits in a register of 16"),
    ],
)
def test_what_it_cannot_run_is_an_error_at_the_line(text, constraints, message):
    with pytest.raises(tandem.CompileError, match=message) as error:
        unsupported[(1,)](np.zeros(32, np.int32), text, constraints)
    assert "inline_asm_elementwise(TEXT" in str(error.value)


@triton.jit
def raise_flags(flags, SEM: tl.constexpr):
    asm_i32(
        f"""{{ .reg .u32 %t<1>; .reg .pred %p<1>;
        up: atom.global.{SEM}.sys.cas.b32 %t0, [$1], 0, 1; setp.eq.u32 %p0, %t0, 0; @!%p0 bra up; }}""",
        "=r, l",
        [flags],
    )


@triton.jit
def take_flags(flags, SEM: tl.constexpr):
    asm_i32(
        f"""{{ .reg .u32 %t<1>; .reg .pred %p<1>;
        down: atom.global.sys.{SEM}.cas.b32 %t0, [$1], 1, 0; setp.eq.u32 %p0, %t0, 1; @!%p0 bra down; }}""",
        "=r, l",
        [flags],
    )


@triton.jit
def sum_of_all(tables_ptr, data_ptr, out_ptr, rank: tl.constexpr, RANKS: tl.constexpr, N: tl.constexpr, RELEASE: tl.constexpr):
    """Thread r of each program does what the tile of addresses has for rank r, as PyTorch's symmetric memory does."""
    i, r = tl.program_id(0) * N + tl.arange(0, N), tl.arange(0, RANKS)
    tl.store(data_ptr + i, i + rank)
    pads = tl.load(tables_ptr + r).to(tl.pointer_type(tl.int32))
    theirs = pads + tl.program_id(0) * RANKS + rank
    mine = tl.load(tables_ptr + rank).to(tl.pointer_type(tl.int32)) + tl.program_id(0) * RANKS + r
    tl.debug_barrier()
    if tid(0) < RANKS:
        raise_flags(theirs, RELEASE)
        take_flags(mine, "acquire")
    tl.debug_barrier()
    total = tl.zeros((N,), tl.int32)
    for peer in tl.static_range(RANKS):
        total += tl.load(tl.load(tables_ptr + RANKS + peer).to(tl.pointer_type(tl.int32)) + i)
    tl.store(out_ptr + i, total)


def sum_over(ranks, release, **options):

    def main(team):
        pads, data, out = team.zeros(3 * ranks, "int32"), team.zeros(3 * 32, "int32"), team.zeros(3 * 32, "int32")
        tables = np.array([array.peer(peer).data_ptr() for array in (pads, data) for peer in range(ranks)], np.uint64)
        sum_of_all[(3,)](tables, data, out, team.rank, ranks, 32, release)
        np.testing.assert_array_equal(np.asarray(out), np.arange(96) * ranks + sum(range(ranks)))
        assert not np.asarray(pads).any()

    return tandem.launch(main, ranks=ranks, check=True, **options)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_elements_of_a_tile_that_branch_are_threads(ranks):
    for seed in range(2):
        assert sum_over(ranks, "release", seed=seed).reports == []


def test_a_relaxed_flag_of_such_a_thread_is_a_race():
    with pytest.raises(tandem.SimulationError, match="race"):
        sum_over(2, "relaxed")


@triton.jit
def doubled_until(x_ptr, o_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    if tid(0) < 3:
        asm_i32("st.global.b32 [$1], $2; mov.u32 $0, 0;", "=r,l,r", [o_ptr + N + i, i + 1])
    x = tl.load(x_ptr + i)
    tl.store(
        o_ptr + i,
        asm_i32(
            "{ .reg .pred p; mov.b32 $0, $1; more: setp.ge.s32 p, $0, 100; @p bra done; shl.b32 $0, $0, 1; bra more; done: }", "=r,r", [x]
        ),
    )


def test_what_such_threads_give_is_a_tile():
    x, o = np.arange(1, 17, dtype=np.int32), np.zeros(32, np.int32)
    doubled_until[(1,)](x, o, 16)
    np.testing.assert_array_equal(o[:16], x * 2 ** np.ceil(np.log2(100 / x)).astype(int))
    np.testing.assert_array_equal(o[16:], np.where(np.arange(16) < 3, np.arange(1, 17), 0))


@triton.jit
def under_a_condition(x_ptr, N: tl.constexpr, KEEP: tl.constexpr):
    i = tl.arange(0, N)
    if tid(0) < 4:
        y = asm_i32("atom.relaxed.gpu.global.add.u32 $0, [$1], 1;", "=r,l", [x_ptr + i])
        if KEEP:
            y = y + y
            asm_i32("st.global.b32 [$1], $2; mov.u32 $0, 0;", "=r,l,r", [x_ptr + i, y])


@pytest.mark.parametrize(
    "n, keep, message", [(64, False, "a tile of at most 32 elements"), (32, True, "threads that are not here have a part")]
)
def test_what_elements_cannot_do_as_threads(n, keep, message):
    with pytest.raises(tandem.CompileError, match=message):
        under_a_condition[(1,)](np.zeros(64, np.int32), n, keep, num_warps=1)


@triton.jit
def by_own_copies(x_ptr, o_ptr):
    """Each thread brings 16 bytes of x, of which it reads 8, and, in a group behind, 4 bytes of what follows."""
    t = tid(0)
    buffer = dl.smem_get_ptr(dl.allocate_smem(tl.int32, [5 * 64]), [0]).to(tl.uint64, bitcast=True)
    both = asm_i32(
        """{ .reg .u32 s, f, a, b, c; cvt.u32.u64 s, $1; mad.lo.u32 f, $3, 4, s; mad.lo.u32 s, $3, 16, s;
        cp.async.cg.shared.global [s], [$2], 16, 8; cp.async.commit_group;
        cp.async.ca.shared.global [f + 1024], [$2 + 4], 4; cp.async.commit_group;
        cp.async.wait_group 1; ld.shared.u32 a, [s + 4]; ld.shared.u32 b, [s + 12];
        cp.async.wait_all; ld.shared.u32 c, [f + 1024];
        mad.lo.u32 $0, b, 1000, a; mad.lo.u32 $0, c, 1000, $0; }""",
        "=r,l,l,r",
        [buffer, x_ptr + 4 * t, t],
    )
    st(o_ptr + t, both, semantic="weak")


def test_a_threads_own_copies(everywhere):

    def main(team):
        x, o = np.arange(256, dtype=np.int32), np.zeros(64, np.int32)
        by_own_copies[(1,)](x, o, num_warps=2)
        np.testing.assert_array_equal(o, x[1::4] * 1001)

    everywhere(main, check=True)


@triton.jit
def through_shared_memory(x_ptr, o_ptr, N: tl.constexpr, WAITS: tl.constexpr):
    """One thread brings 4 * N bytes by a bulk copy, all of them add one, and one takes them back by another."""
    t = tid(0)
    buffer = dl.smem_get_ptr(dl.allocate_smem(tl.int32, [N])).to(tl.uint64, bitcast=True)
    barrier = dl.smem_get_ptr(dl.allocate_smem(tl.int64, [1])).to(tl.uint64, bitcast=True)
    for step in range(2):
        if t == 0:
            asm_i32(
                """{ .reg .u32 s, b; .reg .b64 state; .reg .pred first;
                cvt.u32.u64 s, $1; cvt.u32.u64 b, $2;
                setp.eq.s32 first, $4, 0;
                @first mbarrier.init.shared::cta.b64 [b], 2;
                mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [b], $5;
                mbarrier.arrive.shared::cta.b64 state, [b];
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [$3], $5, [b];
                mov.u32 $0, 0; }""",
                "=r,l,l,l,r,r",
                [buffer, barrier, x_ptr + step * N, step, 4 * N],
            )
        __syncthreads()
        if WAITS:
            asm_i32(
                """{ .reg .pred p; .reg .u32 b; cvt.u32.u64 b, $1;
                again: mbarrier.try_wait.parity.shared::cta.b64 p, [b], $2, 10000000;
                @p bra done; bra again; done: mov.u32 $0, 0; }""",
                "=r,l,r",
                [barrier, step & 1],
            )
        asm_i32(
            """{ .reg .u32 s, v; cvt.u32.u64 s, $1; mad.lo.u32 s, $2, 4, s; ld.shared.u32 v, [s]; add.u32 v, v, 1; st.shared.u32 [s], v;
            fence.proxy.async.shared::cta; mov.u32 $0, 0; }""",
            "=r,l,r",
            [buffer, t],
        )
        __syncthreads()
        if t == 0:
            asm_i32(
                """{ cp.async.bulk.global.shared::cta.bulk_group [$1], [$2], $3; cp.async.bulk.commit_group;
                cp.async.bulk.wait_group 0; mov.u32 $0, 0; }""",
                "=r,l,l,r",
                [o_ptr + step * N, buffer, 4 * N],
            )
        __syncthreads()


def test_bulk_copies_and_their_mbarriers(everywhere):

    def main(team):
        x, o = np.arange(128, dtype=np.int32) + team.rank, np.zeros(128, np.int32)
        through_shared_memory[(1,)](x, o, 64, True, num_warps=2)
        np.testing.assert_array_equal(o, x + 1)

    everywhere(main, ranks=(1, 2), check=True)


def test_a_bulk_copy_that_nobody_waits_for_is_a_race():
    with pytest.raises(tandem.SimulationError, match="race"):
        tandem.launch(
            lambda team: through_shared_memory[(1,)](team.zeros(128, "int32"), team.zeros(128, "int32"), 64, False, num_warps=2),
            ranks=1,
            check=True,
        )
