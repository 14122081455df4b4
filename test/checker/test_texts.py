"""A report's text beside its kind and its two lines: the word waited for, its writers, the work queued behind."""

import pathlib
import re

import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.check.findings import findings_of
from tandem.simt import __syncwarp, atomic_add, ld, named_barrier_arrive, named_barrier_sync, st, tid

pytestmark = pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")


def line_of(mark):
    """Returns the number of this file's line that ends in `# mark`."""
    lines = pathlib.Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"# {mark}"))


def report_of(main, ranks=2, **options):
    with pytest.raises(tandem.SimulationError) as raised:
        tandem.launch(main, ranks=ranks, check=True, **options)
    return next(r for r in raised.value.reports if r["severity"] == "error")


@tandem.jit
def packed_words(words_ptr, out_ptr, N: tl.constexpr):
    """A flag beside the data in each word; the load is in the loop's body, and the flag that comes is never the one waited for."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    t = tid(0)
    if t < N:
        st(dl.symm_at(words_ptr, peer) + t, (tl.full((), 1, tl.int64) << 32) | t, scope="sys", semantic="relaxed")  # writes the word
        word = ld(words_ptr + t, scope="sys", semantic="relaxed")
        while (word >> 32) != 2:
            word = ld(words_ptr + t, scope="sys", semantic="relaxed")  # reads the word
        st(out_ptr + t, word.to(tl.int32), semantic="weak")  # writes its own


def test_a_spin_names_its_words_and_their_writer():
    report = report_of(lambda team: packed_words[(1,)](team.zeros(8, "int64", name="words"), team.zeros(8, "int32"), 8))
    text = report["text"]
    (finding,) = findings_of([report])
    assert (finding.kind, {p.line for p in finding.places}) == ("livelock", {line_of("reads the word"), line_of("writes the word")})
    assert (
        f"reads `words` + 8 of rank 0, sees {(1 << 32) + 1}, last written by the store (write) by rank 1" in text
        or f"reads `words` + 8 of rank 0, sees {(1 << 32) + 1}, last written by rank 1" in text
    ), text
    assert f":{line_of('writes the word')}" in text and "without end" not in text
    assert "only after that" not in text  # nobody waits for what it stores to itself
    assert "(8 of its 128 threads; 120 are done)" in text


@tandem.jit
def tree_of_sums(x_ptr, box_ptr, flag_ptr, N: tl.constexpr):
    """A rank waits for a child that there is not; it signals in other turns of the loop alone, if at all."""
    me, n = dl.rank(), dl.num_ranks()
    at = tl.arange(0, N)
    total = tl.load(x_ptr + at)
    step = 1
    while step < n:
        if me % (2 * step) == 0:
            if me + step <= n:
                token = dl.wait(flag_ptr + step, 1, "sys", "acquire", waitValue=1)
                total += tl.load(dl.consume_token(box_ptr, token) + step * N + at)
        elif me % (2 * step) == step:
            tl.store(dl.symm_at(box_ptr, me - step) + step * N + at, total)
            dl.notify(flag_ptr + step, me - step, signal=1, sig_op="set")
        step *= 2
    tl.store(x_ptr + at, total)


def test_a_signal_in_the_other_branch_is_not_behind_a_wait():
    def main(team):
        box, flag = team.zeros((4, 8), "int32", name="box"), team.zeros(4, "int64", name="flag")
        tree_of_sums[(1,)](team.zeros(8, "int32"), box, flag, 8)
        team.synchronize()

    text = report_of(main, 3)["text"]
    assert "expects `flag` + 8 of rank 2 == 1, sees 0; never written" in text, text
    assert "wait for each other" not in text, text


@tandem.jit
def store_a_block(x_ptr, B: tl.constexpr, PITCH: tl.constexpr):
    there = tl.make_tensor_descriptor(x_ptr, shape=[B, B], strides=[PITCH, 1], block_shape=[B, B])
    there.store([0, 0], tl.zeros([B, B], tl.float32))


def test_a_block_beyond_its_memory_tells_its_tensor():
    def main(team):
        store_a_block[(1,)](team.empty((16, 16), "float32", name="x"), 16, 32)
        team.synchronize()

    text = report_of(main, 1)["text"]
    assert "out-of-bounds: write of 64 bytes at byte offset 1024 of `x`" in text, text
    assert "argument `x_ptr`, which is `x` of rank 0; its block is of a tensor of shape [16, 16] and strides [32, 1]" in text, text


@tandem.jit
def take(flag_ptr):
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


def test_a_signal_queued_behind_its_waiter():
    def main(team):
        flag = team.zeros(1, "int64", name="flag")
        take[(1,)](flag)
        team.stream.signal_write(flag, 1)  # queued behind
        team.synchronize()

    text = report_of(main, 1)["text"]
    where = f":{line_of('queued behind')}:1: note: a write of `flag` + 0 of rank 0 is queued on stream 0 of rank 0, behind the kernel"
    assert where in text, text


@tandem.jit
def first_of_two(next_ptr, sum_ptr):
    if tid(0) == 0:
        share = atomic_add(next_ptr, 1, scope="gpu", semantic="relaxed") * tl.program_id(0)
        atomic_add(sum_ptr, share, scope="gpu", semantic="relaxed")  # the last atomic


def test_a_stream_that_waits_is_named_by_the_line_that_queued_it():
    def main(team):
        flag = team.zeros(1, "int64", name="flag")
        team.stream.signal_wait(flag, 1)  # waits in vain
        team.synchronize()

    report = report_of(main)
    assert (report["kind"], report["line"]) == ("deadlock", line_of("waits in vain"))
    assert f":{line_of('waits in vain')}:1: note: rank 1, stream 0, signal wait expects `flag` + 0 of rank 1 == 1" in report["text"]


def test_an_atomic_result_that_differs_has_a_place():
    def main(team):
        first_of_two[(4,)](team.zeros(1, "int32", name="next"), team.zeros(1, "int32", name="sum"))

    difference = tandem.explore(main, runs=12).difference
    place = rf":{line_of('the last atomic')}:\d+: error: schedule-dependent: `sum` of rank 0 ends with other bytes"
    assert re.search(place, difference), difference
    assert "byte 0 was last written here: atomic (update) by rank 0" in difference


def test_a_double_free_is_a_finding_with_both_lines():
    def main(team):
        x = team.zeros(8, name="x")
        x.free()  # first free
        x.free()  # second free

    report = report_of(main, 1)
    assert report["kind"] == "double-free"
    (finding,) = findings_of([report])
    assert {p.line for p in finding.places} == {line_of("first free"), line_of("second free")}


@tandem.jit
def touch(x_ptr):
    tl.store(x_ptr, 1)  # after the end


def test_a_use_after_free_names_the_free():
    def main(team):
        x = team.zeros(8, "int32", name="x")
        touch[(1,)](x)
        x.free()  # the end

    (finding,) = findings_of([report_of(main, 1)])
    assert (finding.kind, {p.line for p in finding.places}) == ("use-after-free", {line_of("after the end"), line_of("the end")})


@tandem.jit
def wait_alone(flag_ptr):
    if tid(0) == 0:
        while ld(flag_ptr, scope="sys", semantic="acquire") != 1:
            pass


def test_threads_that_have_ended_are_said_to_be_done():
    text = report_of(lambda team: wait_alone[(1,)](team.zeros(1, "int32", name="flag")), 1)["text"]
    assert "(1 of its 128 threads; 127 are done)" in text and "wait here" not in text


@tandem.jit
def first_warp_waits(flag_ptr):
    if tid(0) < 32:
        if tid(0) == 0:
            while ld(flag_ptr, scope="sys", semantic="acquire") != 1:  # nobody sets it
                pass
        __syncwarp()
        named_barrier_arrive(1, 128)
    else:
        named_barrier_sync(1, 128)  # for the first warp


def test_the_threads_that_wait_for_memory_come_first():
    report = report_of(lambda team: first_warp_waits[(1,)](team.zeros(1, "int32", name="flag")), 1)
    assert report["kind"] == "deadlock"
    places = [int(line) for line in re.findall(r"^.*:(\d+):\d+: (?:error|note)", report["text"], re.M)]
    assert places[:2] == [line_of("nobody sets it"), line_of("for the first warp")]
    assert "1 of its threads wait here: reads `flag` + 0 of rank 0, sees 0, never written" in report["text"]


@tandem.jit
def narrow_flag(x_ptr):
    if tid(0) == 0:
        st(dl.symm_at(x_ptr, 0), 1, scope="gpu", semantic="release")


def test_a_narrow_scope_is_said_of_an_access():
    text = report_of(lambda team: narrow_flag[(1,)](team.zeros(1, "int32", name="x")))["text"]
    said = "scope `gpu` of (this access|the first access) does not include the other's thread: between ranks it must be `sys`"
    assert re.search(said, text), text


@tandem.jit
def poll_by_adding_nothing(flag_ptr):
    """The last poll has read the newest value, and has written it again."""
    dl.notify(flag_ptr, (dl.rank() + 1) % dl.num_ranks(), signal=1, sig_op="add", comm_scope="intra_node")
    if tid(0) == 0:
        while atomic_add(flag_ptr, 0, scope="sys", semantic="acquire") < 1:
            pass


@tandem.jit
def pass_on(in_ptr, out_ptr, box_ptr, flag_ptr, N: tl.constexpr):
    """Two steps round a ring: each put adds one to the signal, and nothing orders the second behind the first."""
    o = tl.arange(0, N)
    right = (dl.rank() + 1) % dl.num_ranks()
    tl.store(out_ptr + o, tl.load(in_ptr + o))
    shmem.putmem_signal_block(box_ptr, out_ptr, N * 4, flag_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, right)
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1, compare="ge")
    tl.store(out_ptr + N + o, tl.load(box_ptr + o))
    shmem.putmem_signal_block(box_ptr + N, out_ptr + N, N * 4, flag_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, right)
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=2, compare="ge")
    tl.store(in_ptr + o, tl.load(box_ptr + N + o))
    shmem.quiet()


def test_no_scope_is_blamed_for_what_was_known_too_late():
    def main(team):
        x, out, box = team.zeros(32, "int32"), team.zeros(64, "int32"), team.zeros(64, "int32", name="box")
        pass_on[(1,)](x, out, box, team.zeros(1, "int64", name="flag"), 32)

    texts = []
    for seed in range(24):
        try:
            tandem.launch(main, ranks=3, check=True, seed=seed)
        except tandem.SimulationError as error:
            texts += [r["text"] for r in error.reports]
    assert texts and not any("scope" in text for text in texts)


@pytest.mark.parametrize("check", [True, False])
def test_a_poll_by_an_atomic_leaves_nothing_behind(check):
    def main(team):
        poll_by_adding_nothing[(1,)](team.zeros(1, "int64", name="flag"))

    for seed in range(8):
        result = tandem.launch(main, ranks=2, seed=seed, check=check)
        assert result.reports == []


@tandem.jit
def take_the_value(flag_ptr, out_ptr):
    """The program goes by the value that it got: that update is the one it comes after."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, peer)
    tl.store(out_ptr, shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_GE, 1))


@pytest.mark.parametrize("seed", range(8))
def test_a_wait_whose_value_is_used_leaves_nothing_behind(seed):
    def main(team):
        take_the_value[(1,)](team.zeros(1, "int64", name="flag"), team.zeros(1, "int64"))

    assert tandem.launch(main, ranks=2, seed=seed, check=True).reports == []


@tandem.jit
def read_what_comes(source_ptr, dest_ptr, out_ptr, flag_ptr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.putmem_nbi_block(dest_ptr, source_ptr, 64, peer)  # the put
    shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    tl.store(out_ptr, tl.load(dest_ptr))
    shmem.quiet()


def test_a_read_of_what_a_put_brings_names_the_put():
    def main(team):
        source, dest = team.zeros(16, "int32"), team.empty(16, "int32", name="dest")
        read_what_comes[(1,)](source, dest, team.zeros(1, "int32"), team.zeros(1, "int64", name="flag"))

    with pytest.raises(tandem.SimulationError) as raised:
        for seed in range(20):
            tandem.launch(main, ranks=2, seed=seed, check=False)
    (report,) = raised.value.reports
    assert report["kind"] == "uninitialised-read"
    assert re.search(rf":{line_of('the put')}:\d+: note: under way: a transfer by rank [01]", report["text"]), report["text"]


@tandem.jit
def once_each(flag_ptr):
    """The host takes a value away between two waits for it; the second update is not told to have done so."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
    dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)


@pytest.mark.parametrize("seed", range(8))
def test_an_update_to_the_awaited_value_takes_nothing_away(seed):
    def main(team):
        flag = team.zeros(1, "int64", name="flag")
        for _ in range(3):
            once_each[(1,)](flag)
            team.synchronize()
            flag[...] = 0

    with pytest.raises(tandem.SimulationError) as raised:
        tandem.launch(main, ranks=2, seed=seed, check=True)
    assert not any("begins when that value is past: an update, to 1," in r["text"] for r in raised.value.reports)
    deadlocks = [r["text"] for r in raised.value.reports if r["kind"] == "deadlock"]
    assert all("changed since by a plain write, a copy or the host" in text for text in deadlocks if "sees 0; last written" in text)


@tandem.jit
def other_threads_word(x_ptr, y_ptr, flag_ptr):
    t = tid(0)
    if tl.program_id(0) == 0:
        st(x_ptr + t, t, semantic="weak")
        if t == 5:
            st(flag_ptr, 1, scope="gpu", semantic="release")
    elif t == 0:
        while ld(flag_ptr, scope="gpu", semantic="acquire") != 1:
            pass
        st(y_ptr, ld(x_ptr + 6, semantic="weak"), semantic="weak")


@tandem.jit
def neighbour_of_the_warp(x_ptr, y_ptr):
    t = tid(0)
    st(x_ptr + t, t, semantic="weak")
    st(y_ptr + t, ld(x_ptr + (t ^ 1), semantic="weak"), semantic="weak")


@tandem.jit
def one_of_two_tells(x_ptr, y_ptr, flag_ptr):
    program = tl.program_id(0)
    peer = (dl.rank() + 1) % dl.num_ranks()
    tl.store(dl.symm_at(x_ptr, peer) + program, program)
    if program == 0:
        dl.notify(flag_ptr, peer, signal=1, sig_op="set", comm_scope="intra_node")
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
        tl.store(y_ptr, tl.load(x_ptr + 1))


@tandem.jit
def fence_behind_a_get(x_ptr, y_ptr, flag_ptr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    shmem.getmem_nbi_block(y_ptr, x_ptr, 128, peer)
    shmem.fence()
    if tid(0) == 0:
        shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, peer)
    shmem.signal_wait_until(flag_ptr, shmem.NVSHMEM_CMP_EQ, 1)
    tl.store(x_ptr + tl.arange(0, 32), 1)
    shmem.quiet()


@pytest.mark.parametrize(
    "kernel, grid, expected",
    [
        (other_threads_word, 2, "it was released by thread 5, but no `__syncthreads()` lies between the access and that release"),
        (neighbour_of_the_warp, 1, "no `__syncthreads()`, or `__syncwarp()` within a warp, lies between them (M3)"),
        (one_of_two_tells, 2, "what was acquired is an update of another program of that launch"),
        (fence_behind_a_get, 1, "it takes a `quiet` before it, a `fence` does not complete gets (M9)"),
    ],
)
def test_says_which_edge_is_missing(kernel, grid, expected):
    def main(team):
        buffers = [team.zeros(128, "int32", name="x"), team.zeros(128, "int32", name="y"), team.zeros(1, "int64", name="flag")]
        kernel[(grid,)](*buffers[: 2 if kernel is neighbour_of_the_warp else 3])

    text = report_of(main)["text"]
    assert expected in text, text


def test_a_stream_that_has_written_a_signal_has_no_kernel():
    def stuck(team):
        flag = team.zeros(1, "int64", name="flag")
        team.new_stream().signal_write(flag, 1)
        team.synchronize()
        team.new_stream().signal_wait(flag, 2)

    text = report_of(stuck, ranks=1)["text"]
    assert "of ``" not in text and "(a stream)" in text
