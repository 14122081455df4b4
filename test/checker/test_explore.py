"""`tandem.explore`: programs whose results do not depend on the schedule, and those whose do, with the first store that differs."""

import numpy as np
import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.simt import __syncthreads, atomic_add, atomic_cas, ld, st, tid


@tandem.jit
def ticket(counter_ptr, out_ptr):
    pid = tl.program_id(0)
    turn = tl.atomic_add(counter_ptr, 1)
    tl.store(out_ptr + pid, turn)  # <-- depends


@tandem.jit
def count(counter_ptr, out_ptr):
    tl.atomic_add(counter_ptr, 1)
    tl.store(out_ptr + tl.program_id(0), tl.program_id(0))


@tandem.jit
def sum_floats(total_ptr, x_ptr):
    tl.atomic_add(total_ptr, tl.load(x_ptr + tl.program_id(0)))


def zeros(team, n=1, dtype="int32", name=None):
    return team.zeros(n, dtype, name=name)


def test_the_same_everywhere():
    found = tandem.explore(lambda team: count[(16,)](zeros(team), zeros(team, 16)), ranks=2, runs=12)
    assert found.deterministic and len(found.schedules) == 12
    assert {s.policy for s in found.schedules} == {"random", "round-robin", "priority", "slowest-rank"}


def test_names_the_first_store_that_differs():
    found = tandem.explore(lambda team: ticket[(16,)](zeros(team), zeros(team, 16)), ranks=2, runs=12)
    assert not found.deterministic and found.failure is None
    line = next(n for n, text in enumerate(open(__file__), 1) if text.rstrip().endswith("# <-- depends"))
    assert found.difference.startswith(f"{__file__}:{line}:") and "schedule-dependent" in found.difference
    assert "seed 0" in found.difference and len(found.schedules) < 12


def test_names_a_buffer_when_only_atomics_differ():
    values = np.array([1e8, 1.0, -1e8, 3.0] * 8, np.float32)

    def main(team):
        sum_floats[(32,)](zeros(team, 1, "float32", "total"), team.local_from_array(values))

    found = tandem.explore(main, runs=12)
    assert "`total` of rank 0" in found.difference and "atomic" in found.difference


@tandem.jit
def take_turns(turn_ptr, sum_ptr):
    """The last who gives way stands in `turn` in the end."""
    if tid(0) == 0:
        me = tl.program_id(0)
        st(turn_ptr, 1 - me, scope="gpu", semantic="relaxed")
        atomic_add(sum_ptr, ld(turn_ptr, scope="gpu", semantic="relaxed") * 0 + 1)


@tandem.jit
def come_last(turn_ptr, last_ptr):
    if tid(0) == 0:
        ld(turn_ptr, scope="gpu", semantic="relaxed")
        st(last_ptr, tl.program_id(0) + 1, scope="gpu", semantic="relaxed")


@tandem.jit
def increment(c_ptr, KIND: tl.constexpr):
    if tid(0) == 0:
        old = ld(c_ptr, scope="gpu", semantic="relaxed")
        if KIND == "store":
            st(c_ptr, old + 1, scope="gpu", semantic="relaxed")
        elif KIND == "swap":
            atomic_cas(c_ptr, old, old + 1)
        else:
            atomic_add(c_ptr, 1)


def test_whose_turn_it_was_is_no_result():
    assert tandem.explore(lambda team: take_turns[(2,)](zeros(team), zeros(team)), runs=12).deterministic


@pytest.mark.parametrize("place", [0, 1, 2, 5])
def test_a_word_beside_a_turn_is_none(place):
    def main(team):
        words = team.zeros(8, "int32", name="words")
        come_last[(2,)](words[place:], words[1 - place if place < 2 else 4 :])

    assert not tandem.explore(main, runs=12).deterministic


@pytest.mark.parametrize("kind", ["store", "swap", "add"])
def test_a_lost_update_is_one(kind):
    assert tandem.explore(lambda team: increment[(4,)](zeros(team), kind), runs=12).deterministic == (kind == "add")


@tandem.jit
def wrong(x_ptr):
    tl.store(x_ptr, tl.program_id(0))


def test_an_error_ends_the_search():
    found = tandem.explore(lambda team: wrong[(4,)](zeros(team)), runs=12)
    assert found.failure.reports[0]["kind"] == "race" and len(found.schedules) == 1
    assert tandem.explore(lambda team: wrong[(4,)](zeros(team)), runs=12, check=False).difference


@tandem.jit
def ring(x_ptr, flag_ptr, out_ptr):
    rank = dl.rank()
    peer = (rank + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer), rank)
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
    tl.store(out_ptr, tl.load(dl.consume_token(x_ptr, token)))


@pytest.mark.parametrize("policy", ["random", "round-robin", "priority", "slowest-rank"])
def test_every_policy_ends(policy):
    def main(team):
        ring[(1,)](zeros(team), zeros(team, 1, "int64"), zeros(team))

    assert tandem.explore(main, ranks=4, runs=8, policies=(policy,)).deterministic


def test_an_unknown_policy_is_named():
    with pytest.raises(ValueError, match="`policy` is `fair`"):
        tandem.explore(lambda team: None, policies=("fair",))


@tandem.jit
def last_adds_up(count_ptr, parts_ptr, sum_ptr, PROGRAMS: tl.constexpr):
    tl.store(parts_ptr + tl.program_id(0), tl.program_id(0) + 1)
    if tl.atomic_add(count_ptr, 1, sem="acq_rel", scope="gpu") == PROGRAMS - 1:
        tl.store(sum_ptr, tl.sum(tl.load(parts_ptr + tl.arange(0, PROGRAMS)), 0))


def test_who_stores_the_result_may_differ():
    found = tandem.explore(lambda team: last_adds_up[(8,)](zeros(team), zeros(team, 8), zeros(team), 8), ranks=2, runs=12)
    assert found.deterministic and len(found.schedules) == 12


def test_a_buffer_freed_early_counts():
    def main(team):
        out = zeros(team, 16)
        ticket[(16,)](zeros(team), out)
        team.synchronize()
        out.free()

    assert not tandem.explore(main, runs=12).deterministic


@tandem.jit
def hand_shakes(pad_ptr, x_ptr, y_ptr, RANKS: tl.constexpr):
    """Each thread sets a word at a peer and resets its own: flags that are not held, so in no order."""
    rank = dl.rank()
    t = tid(0)
    for turn in range(2):
        tl.store(x_ptr + turn, rank)
        __syncthreads()
        if t < RANKS:
            while atomic_cas(dl.symm_at(pad_ptr, t) + rank, 0, 1, scope="sys", semantic="release") != 0:
                pass
            while atomic_cas(pad_ptr + t, 1, 0, scope="sys", semantic="acquire") != 1:
                pass
        __syncthreads()
        tl.store(y_ptr + turn, tl.load(dl.symm_at(x_ptr, (rank + 1) % RANKS) + turn))


@pytest.mark.parametrize("ranks", (2, 4))
def test_handshakes_are_no_locks(ranks):
    found = tandem.explore(lambda team: hand_shakes[(1,)](zeros(team, ranks), zeros(team, 2), zeros(team, 2), ranks), ranks=ranks, runs=20)
    assert found.deterministic and all(not s.reports for s in found.schedules)
