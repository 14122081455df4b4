"""Scalar stores, loads, atomics and waits under a thread's condition are done by each thread that comes, whichever it is."""

import numpy as np
import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.simt import st, tid


@tandem.jit
def stores(a_ptr):
    t = tid(0)
    tl.store(a_ptr + t, t)
    if t == 32:
        tl.store(a_ptr + 128, 7)
    if t >= 96:
        tl.store(a_ptr + 128 + t, 5)
        tl.store(a_ptr + 129, tl.load(a_ptr + t), mask=t == 100)


def test_stores():
    def main(team):
        a = team.zeros(256, "int32", name="a")
        stores[(1,)](a)
        a = np.asarray(a)
        assert (a[:128] == np.arange(128)).all()
        assert a[128] == 7 and a[129] == 100
        assert (a[130:224] == 0).all() and (a[224:] == 5).all()

    tandem.launch(main, ranks=1, check=True)


@tandem.jit
def atomics(c_ptr, old_ptr):
    t = tid(0)
    tl.atomic_add(c_ptr, 1)
    if t >= 32:
        st(old_ptr + t, tl.atomic_add(c_ptr + 1, 1), semantic="weak")
    if t == 40:
        tl.atomic_xchg(c_ptr + 2, 9)
        st(old_ptr, tl.atomic_cas(c_ptr + 3, 0, 4), semantic="weak")
        st(old_ptr + 1, tl.atomic_cas(c_ptr + 3, 4, 6), semantic="weak")
    for _ in range(t // 32):
        tl.atomic_add(c_ptr + 4, 1)


def test_atomics():
    def main(team):
        c, old = team.zeros(8, "int32", name="c"), team.zeros(128, "int32", name="old")
        atomics[(1,)](c, old)
        assert list(np.asarray(c)[:5]) == [1, 96, 9, 6, 32 * (1 + 2 + 3)]
        assert sorted(np.asarray(old)[32:]) == list(range(96))
        assert list(np.asarray(old)[:2]) == [0, 4]

    tandem.launch(main, ranks=1, check=True)


@tandem.jit
def waits(flag_ptr, wide_ptr, out_ptr, VALUE: tl.constexpr):
    if tid(0) == 0:
        shmem.int64_wait_until_equals(wide_ptr, -1)
        shmem.int32_wait_until_equals(flag_ptr, -1)
        shmem.uint32_wait_until_greater_than(flag_ptr + 1, 2)  # waits
    st(out_ptr + tid(0), VALUE, semantic="weak")


def wait_for(team, second):
    flag = team.from_array(np.array([-1, second], np.int32), name="flag")
    out = team.zeros(128, "int32", name="out")
    waits[(1,)](flag, team.full(1, -1, "int64", name="wide"), out, 3)
    assert (np.asarray(out) == 3).all()


def test_waits_of_32_bits_are_a_threads():
    tandem.launch(lambda team: wait_for(team, 3), ranks=1)
    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(lambda team: wait_for(team, 2), ranks=1)
    text = error.value.reports[0]["text"]
    line = next(n for n, text in enumerate(open(__file__), 1) if text.endswith("# waits\n"))
    assert error.value.reports[0]["kind"] == "deadlock" and f"{__file__}:{line}:" in text
    assert "expects" in text and "`flag`" in text, text


@tandem.jit
def block_call(flag_ptr):
    if tid(0) == 32:
        dl.notify(flag_ptr, 0, signal=1, sig_op="set")


def test_what_is_the_blocks_stays_the_blocks():
    with pytest.raises(tandem.SimulationError) as error:
        tandem.launch(lambda team: block_call[(1,)](team.zeros(1, "int64", name="flag")), ranks=1)
    assert error.value.reports[0]["kind"] == "divergent-block-operation"
    assert "`notify` needs all 128 threads" in error.value.reports[0]["text"]
