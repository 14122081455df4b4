"""Kinds of their own: scopes that are too narrow only to the letter, and code that is right here and not everywhere."""

import subprocess
import sys
import textwrap

import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
from cases_scope import N, data, fenced_for_peer, flag, notify_and_wait
from tandem.simt import load_v4_u32, st_v4_u32, tid

pytestmark = pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")


def kinds(main, check=True, ranks=2, seeds=4):
    """Returns the kinds of the reports, which are the same for each seed."""
    found = set()
    for seed in range(seeds):
        try:
            reports = tandem.launch(main, ranks=ranks, seed=seed, check=check).reports
        except tandem.SimulationError as error:
            reports = error.reports
        found.add(tuple(r["kind"] for r in reports))
    assert len(found) == 1, found
    return list(found.pop())


def narrow_notify(team):
    notify_and_wait[(1,)](data(team), data(team, "y"), flag(team), N, "gpu", "sys")


def narrow_fence(team):
    fenced_for_peer[(1,)](data(team), data(team, "y"), flag(team, "int32"), N, "gpu")


@pytest.mark.parametrize("main", [narrow_notify, narrow_fence])
def test_what_is_behind_a_narrow_scope_is_no_race(main):
    assert set(kinds(main)) == {"scope"}
    assert kinds(main, check={"scope": False}) == []


@tandem.jit
def many_narrow(flag_ptr, x_ptr, y_ptr, N: tl.constexpr):
    """A hand-over through one narrow flag after another; then a store that no flag tells of."""
    o = tl.arange(0, N)
    peer = (dl.rank() + 1) % dl.num_ranks()
    for i in tl.static_range(3):
        dl.notify(flag_ptr + i, peer, signal=1, sig_op="set", comm_scope="gpu")
        dl.wait(flag_ptr + i, 1, "gpu", "acquire", waitValue=1)
    tl.store(dl.symm_at(x_ptr, peer) + o, 1)
    tl.store(y_ptr + o, tl.load(x_ptr + o))


def narrow_and_racy(team):
    many_narrow[(1,)](team.zeros(3, "int64", name="flag"), data(team), data(team, "y"), N)


def test_a_race_is_told_before_narrow_scopes():
    assert kinds(narrow_and_racy)[0] == "race"
    assert "scope" in kinds(narrow_and_racy)
    assert set(kinds(narrow_and_racy, check={"scope": False})) == {"race"}


@tandem.jit
def relay(x_ptr, y_ptr, flag_ptr, N: tl.constexpr):
    """Rank 1 passes on data that it got over a narrow edge: rank 2 has it by that edge only."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        tl.store(dl.symm_at(x_ptr, 2) + o, 1)
        dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="gpu")
    elif dl.rank() == 1:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        dl.notify(flag_ptr, 2, signal=1, sig_op="set", comm_scope="intra_node")
    else:
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        tl.store(y_ptr + o, tl.load(x_ptr + o))


def test_a_narrow_edge_counts_for_who_comes_later():
    assert set(kinds(lambda team: relay[(1,)](data(team), data(team, "y"), flag(team), N), ranks=3)) == {"scope"}


@tandem.jit
def count_as(word_ptr, TYPE: tl.constexpr):
    if dl.rank() == 0:
        tl.atomic_add(word_ptr, 1, sem="relaxed", scope="sys")
    else:
        tl.atomic_add(dl.symm_at(word_ptr, 0).to(tl.pointer_type(TYPE), bitcast=True), 1, sem="relaxed", scope="sys")


@pytest.mark.parametrize("dtype, expected", [(tl.float32, ["portability"]), (tl.int32, [])])
def test_types_of_one_atomic_word(dtype, expected):
    def main(team):
        count_as[(1,)](team.zeros(1, "int32", name="word"), dtype)

    assert kinds(main) == []
    assert kinds(main, check={"portability": True}) == expected


@tandem.jit
def packet_in_a_vector(buffer_ptr, y_ptr):
    t = tid(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    st_v4_u32(dl.symm_at(buffer_ptr, peer) + 4 * t, 7, 1, 8, 1, scope="sys", semantic="relaxed")
    a, seen, b, also = load_v4_u32(buffer_ptr + 4 * t)
    while seen != 1 or also != 1:
        a, seen, b, also = load_v4_u32(buffer_ptr + 4 * t)
    tl.store(y_ptr + t, a + b)


def test_a_vector_is_many_accesses_in_ptx():
    def main(team):
        packet_in_a_vector[(1,)](team.zeros(128, "uint32", name="buffer"), team.zeros(32, "uint32"), num_warps=1)

    assert kinds(main) == []
    assert set(kinds(main, check={"portability": True})) == {"portability"}


SCRIPT = textwrap.dedent("""
    import tandem
    import tandem.dist as dl
    import tandem.language as tl


    @tandem.jit
    def count(c_ptr):
        tl.atomic_add(dl.symm_at(c_ptr, 0), 1, sem="relaxed", scope="gpu")


    def main(team):
        count[(1,)](team.zeros(1, "int32", name="c"))
    """)


@pytest.mark.parametrize("options, code", [((), 1), (("--no-scope",), 0)])
def test_the_command_leaves_narrow_scopes_out(tmp_path, options, code):
    (tmp_path / "count.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "tandem", "check", "--ranks", "2", "--explore", "2", *options, "count.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == code, done.stdout + done.stderr
    assert ("error: scope: " in done.stdout) == bool(code)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="`check` has `scope` and `portability`, not `race`"):
        tandem.launch(narrow_notify, ranks=2, check={"race": False})
