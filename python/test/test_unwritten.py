"""Bytes that nothing has written: a copy takes them along as they are, and who reads them later is told where they came from."""

import inspect

import numpy as np
import pytest

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem


@tandem.jit
def puts(x_ptr, y_ptr, BYTES: tl.constexpr, NBI: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    if NBI:
        shmem.putmem_nbi_block(y_ptr, x_ptr, BYTES, peer)  # the put without waiting
    else:
        shmem.putmem_block(y_ptr, x_ptr, BYTES, peer)  # the put
    shmem.barrier_all_block()


@tandem.jit
def gets(x_ptr, y_ptr, BYTES: tl.constexpr, NBI: tl.constexpr):
    shmem.getmem_block(y_ptr, x_ptr, BYTES, (dl.rank() + 1) % dl.num_ranks())  # the get
    shmem.barrier_all_block()


def engine(team, x, y):
    team.stream.copy(y.peer((team.rank + 1) % team.size), x)  # the copy engine
    team.barrier()


def assigned(team, x, y):
    assert team.from_array(x).shape == x.shape and y.copy_(x) is y
    y[...] = x  # the assignment


def assigned_from_a_peer(team, x, y):
    y[...] = x.peer((team.rank + 1) % team.size)  # the assignment from a peer
    team.barrier()


COPIES = {
    "the assignment": assigned,
    "the assignment from a peer": assigned_from_a_peer,
    "the put": lambda team, x, y: puts[(1,)](x, y, x.nbytes, False),
    "the put without waiting": lambda team, x, y: puts[(1,)](x, y, x.nbytes, True),
    "the get": lambda team, x, y: gets[(1,)](x, y, x.nbytes, False),
    "the copy engine": engine,
}


def line_of(words):
    lines = inspect.getsource(inspect.getmodule(line_of)).splitlines()
    return 1 + next(k for k, line in enumerate(lines) if line.endswith(f"# {words}"))


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("destination", ["empty", "zeros"])
def test_a_copy_of_padding_is_no_error_until_it_is_read(how, destination):
    def main(team, count):
        x, y = team.empty(16, "int32", name="x"), getattr(team, destination)(16, "int32", name="y")
        x[:10] = 7
        team.barrier()
        COPIES[how](team, x, y)
        team.barrier()
        return np.asarray(y[:count]).sum()

    for seed in range(4):
        assert tandem.launch(main, ranks=2, seed=seed, args=(10,), check=True).values == [70, 70]
        with pytest.raises(tandem.SimulationError) as error:
            tandem.launch(main, ranks=2, seed=seed, args=(11,), check=True)
        (report,) = error.value.reports
        assert report["kind"] == "uninitialised-read" and "whose byte 40 nothing has written" in report["message"]
        note = f"{__file__}:{line_of(how)}:"
        assert note in report["text"] and "this copy put there what nothing had written where it came from" in report["text"]


def test_a_copy_over_it_counts_as_written():
    def main(team):
        x, y, full = team.empty(16, "int32"), team.zeros(16, "int32"), team.full(16, 3, "int32")
        for source in (x, full):
            puts[(1,)](source, y, x.nbytes, False)
            team.barrier()
        return np.asarray(y).sum()

    assert tandem.launch(main, ranks=2, check=True).values == [48, 48]


def test_a_put_of_half_of_what_is_read():
    def main(team):
        x, y = team.full(16, 3, "int32"), team.empty(16, "int32", name="y")
        puts[(1,)](x, y, x.nbytes // 2, False)
        team.barrier()
        return np.asarray(y[:]).sum()  # the read

    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(main, ranks=2, check=True)
    assert error.value.reports[0]["line"] == line_of("the read") and "whose byte 32 nothing" in str(error.value)


WHOLE = {
    "np.asarray": lambda y: np.asarray(y),
    "a comparison": lambda y: np.testing.assert_array_equal(y, 3),
    "a sum": lambda y: np.sum(y),
    "another type": lambda y: np.array(y, dtype=np.float32),
    "a copy into the host": lambda y: np.copyto(np.zeros(16, np.int32), y),
    "a tensor of another type": lambda y: y.team.zeros(16, "float32").copy_(y),
}


@pytest.mark.parametrize("how", WHOLE)
def test_a_put_of_half_of_what_the_host_reads_whole(how):
    def main(team, bytes):
        x, y = team.full(16, 3, "int32"), team.empty(16, "int32", name="y")
        puts[(1,)](x, y, bytes, False)
        team.barrier()
        WHOLE[how](y)

    for check in (False, True):
        assert tandem.launch(main, ranks=2, args=(64,), check=check).reports == []
        with pytest.raises(tandem.SimulationError) as error:
            tandem.launch(main, ranks=2, args=(24,), check=check)
        report = error.value.reports[0]
        assert report["kind"] == "uninitialised-read" and report["file"] == __file__
        assert "read of `y`[0..64) on rank" in report["message"] and "whose byte 24 nothing has written" in report["message"]
        assert "nothing has written 40 of these 64 bytes, first [24..64); read a slice" in report["text"]


def test_what_is_unwritten_in_several_places_is_counted():
    def main(team):
        x = team.empty(16, "int32", name="x")
        x[2:4] = x[9:12] = 1
        np.asarray(x)

    with pytest.raises(tandem.SimulationError, match=r"nothing has written 44 of these 64 bytes, first \[0\.\.8\)"):
        tandem.launch(main)


@pytest.mark.parametrize("check", [False, True])
@pytest.mark.parametrize(
    "how", ["whole", "element", "slice", "list", "sum", "equal", "assert", "copy", "loop", "print", "in place", "of a slice"]
)
def test_who_uses_what_nothing_has_written_by_an_array_is_told(how, check):
    uses = {
        "whole": lambda v: (v == 3).all(),
        "element": lambda v: v[6],
        "slice": lambda v: v[2:8] + 1,
        "list": lambda v: v[[0, 6]],
        "sum": lambda v: v.sum(),
        "equal": lambda v: np.array_equal(v, np.full(16, 3)),
        "assert": lambda v: np.testing.assert_array_equal(v, 3),
        "copy": lambda v: v.copy(),
        "loop": lambda v: [e + 1 for e in v],
        "print": lambda v: str(v),
        "in place": lambda v: np.add(v, 1, out=v),
        "of a slice": lambda v: v[4:].max(),
    }

    def main(team, bytes):
        x, y = team.full(16, 3, "int32"), team.empty(16, "int32", name="y")
        puts[(1,)](x, y, bytes, False)
        team.barrier()
        before = y.numpy()[:6]
        assert (before == 3).all() and y.numpy()[1] == 3 and type(before + 1) is np.ndarray
        uses[how](y.numpy())

    assert tandem.launch(main, ranks=2, args=(64,), check=check).reports == []
    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(main, ranks=2, args=(24,), check=check)
    report = error.value.reports[0]
    assert report["kind"] == "uninitialised-read" and report["file"] == __file__ and "byte 24 nothing has written" in report["text"]


def test_what_the_host_writes_by_an_array_is_written():
    def fills(v):
        v[:] = 3

    def by_memory(v):
        memoryview(v).cast("B")[:] = bytes(range(1, 65))

    def in_two(v):
        v[:9], v[9:] = 3, 3

    def by_a_list(v):
        v[list(range(16))] = 0

    def through_others(v):
        np.asarray(v)[:] = np.arange(16)

    writes = [
        fills,
        by_memory,
        in_two,
        by_a_list,
        through_others,
        lambda v: v.fill(0),
        lambda v: np.copyto(v, 0),
        lambda v: np.multiply(3, 0, out=v),
        lambda v: v.reshape(4, 4).T.__setitem__(..., 0),
        lambda v: [v.__setitem__(k, 0) for k in range(16)],
    ]

    def main(team):
        for write in writes:
            for part in (team.empty(16, "int32"), team.empty((16, 2), "int32")[:, 1]):
                if part.is_contiguous() or write is not by_memory:
                    v = part.numpy()
                    write(v)
                    assert v.sum() == part.numpy().sum() == np.asarray(part).sum()

    assert tandem.launch(main, check=True).reports == []


def test_an_array_made_before_what_is_written_shows_it():
    def main(team, bytes):
        x, y = team.full(16, 0, "int32"), team.empty(16, "int32", name="y")
        view = y.numpy()
        team.barrier()
        puts[(1,)](x, y, bytes, False)
        team.barrier()
        return int(view.sum())

    for seed in range(4):
        assert tandem.launch(main, ranks=2, seed=seed, args=(64,)).values == [0, 0]
        with pytest.raises(tandem.SimulationError, match="byte 32 nothing has written"):
            tandem.launch(main, ranks=2, seed=seed, args=(32,))


def test_a_put_of_half_of_what_a_kernel_loads():
    @tandem.jit
    def adds(y_ptr, out_ptr, N: tl.constexpr):
        i = tl.arange(0, N)
        tl.store(out_ptr + i, tl.load(y_ptr + i) + 1)

    def main(team, bytes):
        x, y, out = team.full(16, 3, "int32"), team.empty(16, "int32", name="y"), team.zeros(16, "int32")
        puts[(1,)](x, y, bytes, False)
        team.barrier()
        adds[(1,)](y, out, 16)

    assert tandem.launch(main, ranks=2, args=(64,), check=True).reports == []
    with pytest.raises(tandem.SimulationError, match="uninitialised-read: read of `y`.* whose byte 32 nothing has written"):
        tandem.launch(main, ranks=2, args=(32,), check=True)


def test_an_assignment_within_a_tensor_reads_it():
    def main(team):
        x = team.empty(16, "int32")
        x[:12] = np.arange(12)
        x[4:12] = x[:8]
        assert (np.asarray(x[:12]) == [0, 1, 2, 3, *range(8)]).all()
        grid = team.empty((4, 4), "int32")
        grid[:, :2] = x[:8].numpy().reshape(4, 2)
        other = team.zeros((4, 4), "int32")
        other[:, :2] = grid[:, :2]
        assert other.numpy().sum() == np.asarray(x[:8]).sum()
        x[0] = team.full(1, 9, "int32")[0]
        x[1:2] = team.full((), 8, "int32")
        assert x[0] == 9 and x[1] == 8

    assert tandem.launch(main, check=True).reports == []


@tandem.jit
def stores(x_ptr, y_ptr, AT: tl.constexpr):
    tl.store(tl.where(AT < 0, x_ptr, y_ptr + AT), 1)
    for _ in range(2):
        y_ptr += AT
    tl.store(y_ptr + tl.arange(0, 4), 1)


def test_an_access_out_of_bounds_names_the_argument():
    def main(team):
        stores[(1,)](team.zeros(4, "int32", name="first"), team.zeros(4, "int32", name="second"), 3)

    with pytest.raises(tandem.SimulationError, match="; the pointer comes from argument `y_ptr`, which is `second` of rank 0"):
        tandem.launch(main)


def test_a_report_about_the_host_shows_its_line():
    def main(team):
        x = team.zeros(4)
        x.free()
        x.free()  # again

    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(main, check=True)
    assert f"note: called at {__file__}:{line_of('again')}\n            x.free()  # again\n" in str(error.value)


def test_later_launches_of_a_failed_run_say_so():
    def main(team):
        x = team.zeros(4, "int32", name="first")
        errors = []
        for _ in range(3):
            with pytest.raises(tandem.SimulationError) as error:
                stores[(1,)](x, x, 3)
                team.synchronize()
            errors.append(str(error.value))
        return errors

    with pytest.raises(tandem.SimulationError) as error:
        texts = []
        tandem.launch(lambda team: texts.extend(main(team)))
    assert "out-of-bounds" in str(error.value) and str(error.value).startswith("\n")
    assert texts[0].startswith("\n") and texts[1] == texts[2] and texts[1].startswith("the run has failed already: ")
    assert "\n" not in texts[1] and "out-of-bounds" in texts[1]


def test_explore_tells_a_race_beside_an_exception():
    @tandem.jit
    def both(x_ptr):
        tl.store(x_ptr, tl.program_id(0))

    def main(team):
        both[(2,)](team.zeros(1, "int32", name="x"))
        raise ValueError("mine")

    found = tandem.explore(main, ranks=2, runs=4)
    assert [r["kind"] for r in found.failure.reports] == ["race"] * len(found.failure.reports) and str(found.exception) == "mine"
    assert not found.deterministic
    proof = tandem.explore(main, ranks=1, exhaustive=True)
    assert {f.kind for f in proof.findings} == {"race", "exception"} and not proof.proven
    with pytest.raises(ZeroDivisionError):
        tandem.explore(lambda team: 1 // 0, runs=2)
