"""One run tells all that it shows: it goes on after a race, and tells each pair of lines once."""

import pytest
import tandem
import tandem.language as tl


@tandem.jit
def three_races(x_ptr, y_ptr, z_ptr):
    tl.store(x_ptr, tl.program_id(0))
    tl.store(y_ptr, tl.program_id(0))
    tl.store(z_ptr, tl.load(y_ptr))


def found_by(kernel, programs):
    def main(team):
        kernel[(programs,)](*(team.zeros(1, "int32", name=name) for name in "xyz"))

    with pytest.raises(tandem.SimulationError) as raised:
        tandem.launch(main, check=True)
    return [r for r in raised.value.reports if r["severity"] == "error"]


def test_each_race_is_told_once():
    errors = found_by(three_races, 8)
    assert {r["kind"] for r in errors} == {"race"}
    texts = [r["text"] for r in errors]
    assert len(texts) == len(set(texts)) == 4  # x with x, y with y both ways, z with z
    assert all(f"`{name}`[" in "".join(texts) for name in "xyz")


@tandem.jit
def race_and_beyond(x_ptr, y_ptr, z_ptr):
    tl.store(x_ptr, tl.program_id(0))
    tl.store(y_ptr + 1, 1)


def test_an_error_of_memory_ends_the_run():
    kinds = [r["kind"] for r in found_by(race_and_beyond, 8)]
    assert kinds[-1] == "out-of-bounds" and kinds.count("out-of-bounds") == 1
