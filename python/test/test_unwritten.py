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


COPIES = {
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
