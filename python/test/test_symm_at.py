"""An address outside the rank's symmetric buffers may be given to `symm_at`; it is wrong where it is used."""

import pathlib

import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.simt import tid


@tandem.jit
def scalar(x_ptr, OFFSET: tl.constexpr, USED: tl.constexpr):
    at = dl.symm_at(x_ptr + OFFSET, 1 - dl.rank())  # <-- scalar given
    if USED:
        tl.store(at, 1)  # <-- scalar used


@tandem.jit
def threads(x_ptr, OFFSET: tl.constexpr, USED: tl.constexpr):
    at = dl.symm_at(x_ptr + OFFSET * tid(0), 1 - dl.rank())  # <-- threads given
    if tid(0) < USED:
        tl.store(at, 1)  # <-- threads used


@tandem.jit
def tile(x_ptr, OFFSET: tl.constexpr, USED: tl.constexpr):
    o = tl.arange(0, 8)
    at = dl.symm_at(x_ptr + OFFSET * o, 1 - dl.rank())  # <-- tile given
    tl.store(at, 1, mask=o < USED)  # <-- tile used


@tandem.jit
def twice(x_ptr, OFFSET: tl.constexpr, USED: tl.constexpr):
    at = dl.symm_at(dl.symm_at(x_ptr, 1 - dl.rank()), dl.rank())  # <-- twice given
    if USED:
        tl.store(at, 1)  # <-- twice used


@tandem.jit
def there_and_back(x_ptr, OFFSET: tl.constexpr, USED: tl.constexpr):
    tl.store(dl.symm_at(x_ptr - OFFSET, 1 - dl.rank()) + OFFSET, 1)


def line_of(mark):
    return 1 + next(n for n, line in enumerate(pathlib.Path(__file__).read_text().splitlines()) if line.endswith(f"# <-- {mark}"))


def buffer(team, local):
    return team.local_empty(8, "int32", name="mine") if local else team.zeros(8, "int32", name="x")


CASES = [
    (scalar, 8, False),
    (scalar, 100, False),
    (scalar, 1 << 24, False),
    (scalar, -3, False),
    (scalar, 1 << 40, False),
    (scalar, 0, True),
    (threads, 9, False),
    (threads, 0, True),
    (tile, 9, False),
    (tile, 1, True),
    (twice, 0, False),
]


@pytest.mark.parametrize("kernel, offset, local", CASES)
def test_is_wrong_where_it_is_used(kernel, offset, local):
    def main(team, used):
        kernel[(1,)](buffer(team, local), offset, used)
        team.synchronize()

    assert tandem.launch(main, ranks=2, args=(0,), check=True).reports == []
    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(main, ranks=2, args=(2,))
    name = kernel.__name__
    (report,) = [r for r in error.value.reports if r["severity"] == "error"]
    assert (report["kind"], report["line"]) == ("out-of-bounds", line_of(f"{name} used")), report["text"]
    assert f"{__file__}:{line_of(f'{name} given')}:" in report["text"]
    assert "outside the rank's symmetric buffers" in report["text"]


def test_arithmetic_may_lead_back_into_the_buffer():
    def main(team):
        x = team.zeros(8, "int32")
        there_and_back[(1,)](x, 32, 1)
        team.barrier()
        assert x.numpy()[0] == 1

    tandem.launch(main, ranks=2)
