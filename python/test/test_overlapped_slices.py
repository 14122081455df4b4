"""Rows that travel in slices of their columns, for which a kernel waits within its loop: equal to the run after the gathering, silent under
the checker, each wait needed."""

import plain_kernels
import pytest
from plain_products import clamped, described, grouped
from test_overlapping import change_waits, persistent, run, run_plain, transposed

import tandem

PRODUCTS = pytest.mark.parametrize("kernel", [grouped, described, persistent, transposed, clamped], ids=lambda k: k.__name__)
PLAIN = pytest.mark.parametrize("kernel, grid", plain_kernels.ALL, ids=[kernel.__name__ for kernel, _ in plain_kernels.ALL])


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    monkeypatch.setattr(tandem.overlapping.shares, "LEAST_BYTES", 16)


@pytest.mark.parametrize("slices", [2, 3, 7])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@PRODUCTS
def test_equal_to_the_run_after_the_gathering(kernel, ranks, slices):
    seed = ranks + slices
    rows, n, k = [(32, 32, 48), (20, 24, 40), (13, 16, 24)][seed % 3]
    result = run(kernel, ranks, rows, n, k, seed, bands=2, slices=slices)
    assert result.reports == []
    plain = run(kernel, 1, ranks * rows, n, k, seed, overlapped=False)
    for values in result.values:
        for value, want in zip(values, plain.values[0]):
            assert (value == want).all()


@pytest.mark.parametrize("ranks", [2, 3])
@PLAIN
def test_plain_kernels(kernel, grid, ranks):
    rows, n, k = [(32, 32, 48), (21, 20, 28)][ranks % 2]
    result = run_plain(kernel, grid, ranks, rows, n, k, ranks, True, slices=3)
    assert result.reports == []
    plain = run_plain(kernel, grid, 1, ranks * rows, n, k, ranks, False).values[0]
    for values in result.values:
        assert all((value == want).all() for value, want in zip(values, plain))


FAULTS = {
    "a slice too early": (dict(arriving_epoch=-1), "(race|uninitialised-read): .*`a`"),
    "all slices too early": (dict(arriving_epoch=-3), "(race|uninitialised-read): .*`a`"),
    "wider slices": (dict(arriving_slice=16), "(race|uninitialised-read): .*`a`"),
    "narrower slices": (dict(arriving_slice=-8), "deadlock: "),
    "without the last chunk": (dict(arriving_chunks=-1), "(race|uninitialised-read): .*`a`"),
    "never": (dict(arriving_epoch=1), "deadlock: "),
}


@pytest.mark.parametrize("fault", FAULTS)
@PRODUCTS
def test_each_wait_is_needed(kernel, fault, monkeypatch):
    amounts, words = FAULTS[fault]
    change_waits(monkeypatch, amounts)
    with pytest.raises(tandem.SimulationError, match=f"(?s){words}"):
        run(kernel, 2, 32, 32, 48, 0, calls=1, slices=3)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="only rows that all_gather brings to a `consumer` alone travel in `slices`"):
        tandem.overlap(collective="reduce_scatter", producer=grouped, over="c_ptr", slices=2)
    for name, most in (("slices", 0), ("slices", -3), ("bands", 0)):
        with pytest.raises(ValueError, match=f"`{name}` is {most}, at least 1 is needed"):
            tandem.overlap(collective="all_gather", consumer=grouped, over="a_ptr", **{name: most})
