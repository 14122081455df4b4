"""`tandem.explore`: programs whose results do not depend on the schedule, and those whose do, with the first store that differs."""

import numpy as np
import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl


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
