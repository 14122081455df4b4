"""Stores that others see behind later looks of their thread: what counts on the opposite without an `sc` fence races in some seeds."""

import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.simt import __syncthreads, atomic_add, fence, ld, st, tid

SEEDS = range(32)


@tandem.jit
def enter_if_alone(flag_ptr, x_ptr, FENCE: tl.constexpr, ORDER: tl.constexpr, ADDS: tl.constexpr):
    """Dekker: each raises its own flag and goes in if the other one's is down."""
    me = dl.rank()
    alone = dl.allocate_smem(tl.int32, [1])
    if tid(0) == 0:
        if ADDS:
            atomic_add(dl.symm_at(flag_ptr, 0) + me, 1, scope="sys", semantic=ORDER)
        else:
            st(dl.symm_at(flag_ptr, 0) + me, 1, scope="sys", semantic=ORDER)
        if FENCE != "":
            fence(FENCE, "sys")
        other = ld(dl.symm_at(flag_ptr, 0) + 1 - me, scope="sys", semantic="acquire")
        dl.smem_store(alone, (other == 0).to(tl.int32), 0)
    __syncthreads()
    if dl.smem_load(alone, 0) == 1:
        tl.store(dl.symm_at(x_ptr, 0), me)


@tandem.jit
def enter_by_tile_code(flag_ptr, x_ptr, FENCE: tl.constexpr, ORDER: tl.constexpr, FORM: tl.constexpr):
    """The same by all threads: an atomic and volatile looks, of the other's flag or of both; or by two threads with a barrier between."""
    me = dl.rank()
    flags = dl.symm_at(flag_ptr, 0)
    if FORM == "threads":
        if tid(0) == 0:
            st(flags + me, 1, scope="sys", semantic=ORDER)
        __syncthreads()
    else:
        tl.atomic_xchg(flags + me, 1, sem=ORDER, scope="sys")
    if FENCE != "":
        fence(FENCE, "sys")
    if FORM == "threads":
        alone = dl.allocate_smem(tl.int32, [1])
        if tid(0) == 64:
            dl.smem_store(alone, ld(flags + 1 - me, scope="sys", semantic="acquire"), 0)
        __syncthreads()
        others = dl.smem_load(alone, 0)
    elif FORM == "one":
        others = tl.load(flags + 1 - me, volatile=True)
    else:
        o = tl.arange(0, 4)
        others = tl.sum(tl.load(dl.symm_at(x_ptr, 0) + 4 + o, volatile=True) + tl.load(flags + (1 - me) + 0 * o, volatile=True))
    if others == 0:
        tl.store(dl.symm_at(x_ptr, 0), me)


@tandem.jit
def release_and_look(flag_ptr, x_ptr, y_ptr, SYNC: tl.constexpr):
    """A release is of what its thread knew when it came to it, however late it is: neither what rank 1 learns from rank 0 behind it, nor
    what its other threads have stored."""
    me = dl.rank()
    o = tl.arange(0, 128)
    if me == 0:
        if tid(0) == 0:
            st(dl.symm_at(x_ptr, 2), 1, semantic="weak")
            st(dl.symm_at(flag_ptr, 1), 1, scope="sys", semantic="release")
    elif me == 1:
        tl.store(dl.symm_at(y_ptr, 2) + o, 1)
        if SYNC:
            __syncthreads()
        if tid(0) == 0:
            if not SYNC:
                st(dl.symm_at(flag_ptr, 2), 1, scope="sys", semantic="release")
            while ld(flag_ptr, scope="sys", semantic="acquire") == 0:
                pass
            if SYNC:
                st(dl.symm_at(flag_ptr, 2), 1, scope="sys", semantic="release")
        __syncthreads()
        tl.store(y_ptr, tl.load(flag_ptr, volatile=True))
    else:
        if tid(0) == 0:
            while ld(flag_ptr, scope="sys", semantic="acquire") == 0:
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(x_ptr) + tl.load(y_ptr + o))


@tandem.jit
def trade(flag_ptr, x_ptr, y_ptr):
    """Each stores, raises its flag and waits for the other's: no order of a store and a look matters."""
    peer = 1 - dl.rank()
    if tid(0) == 0:
        for i in range(1, 4):
            st(dl.symm_at(x_ptr, peer) + i, i, semantic="weak")
            st(dl.symm_at(flag_ptr, peer), i, scope="sys", semantic="release")
            while ld(flag_ptr, scope="sys", semantic="acquire") < i:
                pass
            st(y_ptr + i, ld(x_ptr + i, semantic="weak"), semantic="weak")


@tandem.jit
def read_own(flag_ptr, y_ptr):
    """A thread sees its own store at once."""
    if tid(0) == 0:
        for i in range(1, 5):
            st(flag_ptr, i, scope="sys", semantic="relaxed")
            st(y_ptr, ld(flag_ptr + 1, scope="sys", semantic="relaxed") + ld(flag_ptr, scope="sys", semantic="relaxed") - i)


def reports_of(kernel, seed, *options):
    def main(team):
        flag, x = team.zeros(2, "int32", name="flag"), team.zeros(4, "int32", name="x")
        y = team.zeros(4, "int32", name="y")
        arguments = {enter_if_alone: (flag, x, *options), trade: (flag, x, y), read_own: (flag, y)}[kernel]
        kernel[(1,)](*arguments)
        return y.numpy().tolist()

    try:
        result = tandem.launch(main, ranks=2, seed=seed, check=True)
    except tandem.SimulationError as error:
        return error.reports
    assert kernel is not read_own or result.values == [[0] * 4] * 2
    assert kernel is not trade or result.values == [[0, 1, 2, 3]] * 2
    return result.reports


@pytest.mark.parametrize("order", ["relaxed", "release"])
@pytest.mark.parametrize("fenced", ["", "acq_rel"])
@pytest.mark.parametrize("adds", [False, True], ids=["store", "add"])
def test_both_go_in_without_an_sc_fence(adds, fenced, order):
    found = [reports for seed in SEEDS if (reports := reports_of(enter_if_alone, seed, fenced, order, adds))]
    assert found and all(reports[0]["kind"] == "race" for reports in found)
    assert "the others saw this store late, as a GPU may let them: no `sc` fence lies between it and a look" in found[0][0]["text"]
    assert "this look went before it (M4)" in found[0][0]["text"]


@pytest.mark.parametrize("adds", [False, True], ids=["store", "add"])
def test_an_sc_fence_keeps_them_in_order(adds):
    assert [seed for seed in SEEDS if reports_of(enter_if_alone, seed, "sc", "relaxed", adds)] == []


@pytest.mark.parametrize("form", ["threads", "one", "several"])
@pytest.mark.parametrize("fenced", ["", "acq_rel", "sc"])
def test_of_tile_code_too(fenced, form):
    def main(team):
        enter_by_tile_code[(1,)](team.zeros(2, "int32", name="flag"), team.zeros(8, "int32", name="x"), fenced, "release", form)

    found = []
    for seed in SEEDS:
        try:
            found += tandem.launch(main, ranks=2, seed=seed, check=True).reports
        except tandem.SimulationError as error:
            found += error.reports
    proof = tandem.explore(main, ranks=2, exhaustive=True)
    assert proof.complete and bool(found) is any(f.kind == "race" for f in proof.findings) is (fenced != "sc")
    assert all(report["kind"] == "race" and "the others saw this store late" in report["text"] for report in found)


@pytest.mark.parametrize("right", [False, True], ids=["wrong", "right"])
def test_a_release_that_is_late(right):
    def main(team):
        release_and_look[(1,)](
            team.zeros(1, "int32", name="flag"), team.zeros(1, "int32", name="x"), team.zeros(128, "int32", name="y"), right
        )

    for seed in SEEDS:
        try:
            reports = tandem.launch(main, ranks=3, seed=seed, check=True).reports
        except tandem.SimulationError as error:
            reports = error.reports
        assert {name for report in reports for name in "xy" if f"of `{name}`" in report["message"]} == (set() if right else {"x", "y"})
    proof = tandem.explore(main, ranks=3, exhaustive=True)
    assert proof.complete and any(f.kind == "race" for f in proof.findings) is not right


@pytest.mark.parametrize("kernel", [trade, read_own], ids=["trade", "read_own"])
def test_nothing_else_is_told(kernel):
    assert [seed for seed in SEEDS if reports_of(kernel, seed)] == []
