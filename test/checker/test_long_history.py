"""Signals with a long past: a wait for too little is found under every seed, however many updates have come since, and the wait that asks
for enough is silent.

A family is a function `main(team, size, missing)`: what comes before one of `size` updates is read behind a wait, which asks for `missing`
updates less than the reading takes. The lines that its report must name end in `# <-- ` and the family's name.
"""

import pathlib
import re

import pytest
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.check.exhaustive import Proof
from tandem.check.findings import finding_of
from tandem.simt import __syncthreads, atomic_cas, ld, st, tid

N = 4
FAMILIES = {}


def family(ranks=2):
    def add(main):
        FAMILIES[main.__name__] = main, ranks
        return main

    return add


def data(team, count=1, name="x"):
    return team.zeros(count * N, "int32", name=name)


def words(team, count=1, name="flag", dtype="int64"):
    return team.zeros(count, dtype, name=name)


@tandem.jit
def tell(x_ptr, y_ptr, flag_ptr, last_ptr, least, SIZE: tl.constexpr, SET: tl.constexpr, N: tl.constexpr):
    """The reader knows that all updates are there, by a wait that orders nothing. SET: every so many updates are sets."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        for i in range(SIZE):
            tl.store(dl.symm_at(x_ptr, 1) + i * N + o, i)  # <-- adds # <-- sets # <-- sets_and_adds
            if SET > 0 and i % tl.maximum(SET, 1) == 0:
                dl.notify(flag_ptr, 1, signal=(i + 1).to(tl.int64), sig_op="set", comm_scope="intra_node")
            else:
                dl.notify(flag_ptr, 1, signal=1, sig_op="add", comm_scope="intra_node")
        dl.notify(last_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 1:
        dl.wait(last_ptr, 1, "sys", "relaxed", waitValue=1)
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=least, compare="ge")
        tl.store(y_ptr + o, tl.load(x_ptr + N + o))  # <-- adds # <-- sets # <-- sets_and_adds


@family()
def adds(team, size, missing):
    tell[(1,)](data(team, size), data(team), words(team), words(team), 2 - missing, size, 0, N)


@family()
def sets(team, size, missing):
    tell[(1,)](data(team, size), data(team), words(team), words(team), 2 - missing, size, 1, N)


@family()
def sets_and_adds(team, size, missing):
    tell[(1,)](data(team, size), data(team), words(team), words(team), 2 - missing, size, 3, N)


@tandem.jit
def arrive(x_ptr, y_ptr, count_ptr, work_ptr, least, SIZE: tl.constexpr, N: tl.constexpr):
    """The last program reads all others' stores; it has work to do before it waits for them."""
    o = tl.arange(0, N)
    p = tl.program_id(0)
    if p < SIZE:
        tl.store(x_ptr + p * N + o, p)  # <-- programs
        dl.notify(count_ptr, dl.rank(), signal=1, sig_op="add", comm_scope="intra_node")
    else:
        for i in range(500):
            tl.store(work_ptr + o, i)
        dl.wait(count_ptr, 1, "sys", "acquire", waitValue=least, compare="ge")
        total = tl.zeros((N,), tl.int32)
        for i in range(SIZE):
            total += tl.load(x_ptr + i * N + o)  # <-- programs
        tl.store(y_ptr + o, total)


@family(ranks=1)
def programs(team, size, missing):
    arrive[(size + 1,)](data(team, size), data(team), words(team), data(team), size - missing, size, N)


@tandem.jit
def read_one(x_ptr, y_ptr, count_ptr, work_ptr, least, SIZE: tl.constexpr, N: tl.constexpr):
    """The last program reads what one of the others has stored, in the midst of them."""
    o = tl.arange(0, N)
    p = tl.program_id(0)
    if p < SIZE:
        tl.store(x_ptr + p * N + o, p)  # <-- one_of_many_programs
        dl.notify(count_ptr, dl.rank(), signal=1, sig_op="add", comm_scope="intra_node")
    else:
        for i in range(500):
            tl.store(work_ptr + o, i)
        dl.wait(count_ptr, 1, "sys", "acquire", waitValue=least, compare="ge")
        tl.store(y_ptr + o, tl.load(x_ptr + SIZE // 2 * N + o))  # <-- one_of_many_programs


@family(ranks=1)
def one_of_many_programs(team, size, missing):
    read_one[(size + 1,)](data(team, size), data(team), words(team), data(team), size - missing, size, N)


@tandem.jit
def one_add_among_many(x_ptr, y_ptr, count_ptr, last_ptr, least, SIZE: tl.constexpr, N: tl.constexpr):
    """Rank 2 adds once, behind all that rank 1 adds, though nothing orders it so: in another schedule its add comes first."""
    o = tl.arange(0, N)
    if dl.rank() == 1:
        tl.store(dl.symm_at(x_ptr, 0) + o, 1)  # <-- one_among_many
        for i in range(SIZE):
            dl.notify(count_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")
        dl.notify(last_ptr, 2, signal=1, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 2:
        dl.wait(last_ptr, 1, "sys", "relaxed", waitValue=1)
        dl.notify(count_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")
        dl.notify(last_ptr, 0, signal=1, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 0:
        dl.wait(last_ptr, 1, "sys", "relaxed", waitValue=1)
        dl.wait(count_ptr, 1, "sys", "acquire", waitValue=least, compare="ge")
        tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- one_among_many


@family(ranks=3)
def one_among_many(team, size, missing):
    one_add_among_many[(1,)](data(team), data(team), words(team), words(team), 2 - missing, size, N)


@tandem.jit
def read_at(x_ptr, y_ptr, flag_ptr, last_ptr, missing, SIZE: tl.constexpr, N: tl.constexpr):
    """Four readers, each of another tile; the third asks for too little."""
    o = tl.arange(0, N)
    p = tl.program_id(0)
    if dl.rank() == 0:
        if p == 0:
            for i in range(SIZE):
                tl.store(dl.symm_at(x_ptr, 1) + i * N + o, i)  # <-- readers_apart
                dl.notify(flag_ptr, 1, signal=1, sig_op="add", comm_scope="intra_node")
            dl.notify(last_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 1:
        tile = p * (SIZE - 1) // 3
        least = tl.where(p == 2, tile + 1 - missing, tile + 1)
        dl.wait(last_ptr, 1, "sys", "relaxed", waitValue=1)
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=least.to(tl.int64), compare="ge")
        tl.store(y_ptr + p * N + o, tl.load(x_ptr + tile * N + o))  # <-- readers_apart


@family()
def readers_apart(team, size, missing):
    read_at[(4,)](data(team, size), data(team, 4), words(team), words(team), missing, size, N)


@tandem.jit
def store_and_add(x_ptr, flag_ptr, step, N: tl.constexpr):
    tl.store(x_ptr + step * N + tl.arange(0, N), step)  # <-- kernels_and_streams
    dl.notify(flag_ptr, dl.rank(), signal=1, sig_op="add", comm_scope="intra_node")


@tandem.jit
def read_behind(x_ptr, y_ptr, flag_ptr, SIZE: tl.constexpr, N: tl.constexpr):
    dl.wait(flag_ptr, 1, "sys", "relaxed", waitValue=SIZE, compare="ge")
    tl.store(y_ptr + tl.arange(0, N), tl.load(x_ptr + N + tl.arange(0, N)))  # <-- kernels_and_streams


@family(ranks=1)
def kernels_and_streams(team, size, missing):
    """The reader's stream waits, behind an event that orders one kernel of many."""
    x, y, flag, reads = data(team, size), data(team, 1, "y"), words(team), team.new_stream()
    for step in range(size):
        store_and_add[(1,)](x, flag, step, N)
        if step == 1 - missing:
            reads.wait_event(team.stream.record_event())
    read_behind[(1,)](x, y, flag, size, N, stream=reads)


@tandem.jit
def poll(x_ptr, y_ptr, flag_ptr, last_ptr, least, SIZE: tl.constexpr, N: tl.constexpr):
    """Threads release, threads poll; another one before that knows that all has come."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        for i in range(SIZE):
            tl.store(dl.symm_at(x_ptr, 1) + i * N + o, i)  # <-- polls
            __syncthreads()
            if tid(0) == 0:
                st(dl.symm_at(flag_ptr, 1), i + 1, scope="sys", semantic="release")
        dl.notify(last_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 1:
        dl.wait(last_ptr, 1, "sys", "relaxed", waitValue=1)
        if tid(0) == 0:
            while ld(flag_ptr, scope="sys", semantic="acquire") < least:
                pass
        __syncthreads()
        tl.store(y_ptr + o, tl.load(x_ptr + N + o))  # <-- polls


@family()
def polls(team, size, missing):
    poll[(1,)](data(team, size), data(team), words(team, dtype="int32"), words(team), 2 - missing, size, N)


@tandem.jit
def count_in_32_bits(x_ptr, y_ptr, count_ptr, last_ptr, least, SIZE: tl.constexpr, N: tl.constexpr):
    o = tl.arange(0, N)
    if dl.rank() == 0:
        for i in range(SIZE):
            tl.store(dl.symm_at(x_ptr, 1) + i * N + o, i)  # <-- words_of_4_bytes
            tl.atomic_add(dl.symm_at(count_ptr, 1), 1, sem="release", scope="sys")
        dl.notify(last_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
    elif dl.rank() == 1:
        dl.wait(last_ptr, 1, "sys", "relaxed", waitValue=1)
        dl.wait(count_ptr, 1, "sys", "acquire", waitValue=least, compare="ge")
        tl.store(y_ptr + o, tl.load(x_ptr + N + o))  # <-- words_of_4_bytes


@family()
def words_of_4_bytes(team, size, missing):
    count_in_32_bits[(1,)](data(team, size), data(team), words(team, dtype="int32"), words(team), 2 - missing, size, N)


@tandem.jit
def put_each(x_ptr, y_ptr, z_ptr, flag_ptr, last_ptr, least, SIZE: tl.constexpr, N: tl.constexpr):
    o = tl.arange(0, N)
    if dl.rank() == 0:
        for i in range(SIZE):
            shmem.putmem_signal_nbi_block(  # <-- puts_with_signals
                y_ptr + i * N, x_ptr + i * N, N * 4, flag_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, 1
            )
            shmem.fence()
        shmem.quiet()
        shmem.signal_op(last_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, 1)
    elif dl.rank() == 1:
        dl.wait(last_ptr, 1, "sys", "relaxed", waitValue=1)
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=least, compare="ge")
        tl.store(z_ptr + o, tl.load(y_ptr + N + o))  # <-- puts_with_signals


@family()
def puts_with_signals(team, size, missing):
    put_each[(1,)](data(team, size), data(team, size), data(team), words(team), words(team), 2 - missing, size, N)


@tandem.jit
def signal_behind_fences(x_ptr, y_ptr, flag_ptr, last_ptr, least, SIZE: tl.constexpr, N: tl.constexpr):
    """Relaxed updates, which a fence orders behind the stores to the same peer."""
    o = tl.arange(0, N)
    if dl.rank() == 0:
        for i in range(SIZE):
            tl.store(dl.symm_at(x_ptr, 1) + i * N + o, i)  # <-- fences
            shmem.fence()
            shmem.signal_op(flag_ptr, 1, shmem.NVSHMEM_SIGNAL_ADD, 1)
        shmem.signal_op(last_ptr, 1, shmem.NVSHMEM_SIGNAL_SET, 1)
    elif dl.rank() == 1:
        dl.wait(last_ptr, 1, "sys", "relaxed", waitValue=1)
        dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=least, compare="ge")
        tl.store(y_ptr + o, tl.load(x_ptr + N + o))  # <-- fences


@family()
def fences(team, size, missing):
    signal_behind_fences[(1,)](data(team, size), data(team), words(team), words(team), 2 - missing, size, N)


@tandem.jit
def epochs_of_one_slot(x_ptr, y_ptr, flag_ptr, credit_ptr, missing, SIZE: tl.constexpr, N: tl.constexpr):
    """Each message waits for the credit of the one before; the reader takes the epoch before its own for the message."""
    o = tl.arange(0, N)
    for i in range(SIZE):
        if dl.rank() == 0:
            dl.wait(credit_ptr, 1, "sys", "acquire", waitValue=i.to(tl.int64), compare="ge")
            tl.store(dl.symm_at(x_ptr, 1) + o, i)  # <-- epochs
            dl.notify(flag_ptr, 1, signal=(i + 1).to(tl.int64), sig_op="set", comm_scope="intra_node")
        elif dl.rank() == 1:
            least = tl.where(i == SIZE - 1, i + 1 - missing, i + 1)
            dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=least.to(tl.int64), compare="ge")
            tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- epochs
            dl.notify(credit_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")


@family()
def epochs(team, size, missing):
    epochs_of_one_slot[(1,)](data(team), data(team), words(team), words(team, 1, "credit"), missing, size, N)


@tandem.jit
def reset_each_time(x_ptr, y_ptr, flag_ptr, credit_ptr, missing, SIZE: tl.constexpr, N: tl.constexpr):
    """The reader resets the flag and then gives its credit; the last message is sent without a look at the credit before."""
    o = tl.arange(0, N)
    for i in range(SIZE):
        if dl.rank() == 0:
            least = tl.where(i == SIZE - 1, i - missing, i)
            dl.wait(credit_ptr, 1, "sys", "acquire", waitValue=least.to(tl.int64), compare="ge")
            tl.store(dl.symm_at(x_ptr, 1) + o, i)  # <-- resets
            dl.notify(flag_ptr, 1, signal=1, sig_op="set", comm_scope="intra_node")
        elif dl.rank() == 1:
            dl.wait(flag_ptr, 1, "sys", "acquire", waitValue=1)
            tl.store(y_ptr + o, tl.load(x_ptr + o))  # <-- resets
            dl.notify(flag_ptr, 1, signal=0, sig_op="set", comm_scope="intra_node")
            dl.notify(credit_ptr, 0, signal=1, sig_op="add", comm_scope="intra_node")


@family()
def resets(team, size, missing):
    reset_each_time[(1,)](data(team), data(team), words(team), words(team, 1, "credit"), missing, size, N)


@tandem.jit
def take_two(lock_ptr, COUNT: tl.constexpr, FIXED: tl.constexpr):
    """Each program takes its own lock and then the next one's: a circle of all."""
    if tid(0) == 0:
        mine = tl.program_id(0)
        other = (mine + 1) % COUNT
        first = tl.minimum(mine, other) if FIXED else mine
        second = tl.maximum(mine, other) if FIXED else other
        while atomic_cas(lock_ptr + first, 0, 1, scope="gpu", semantic="acquire") != 0:
            pass
        while atomic_cas(lock_ptr + second, 0, 1, scope="gpu", semantic="acquire") != 0:
            pass
        st(lock_ptr + second, 0, scope="gpu", semantic="release")
        st(lock_ptr + first, 0, scope="gpu", semantic="release")


def races(name, size, seed, missing):
    main, ranks = FAMILIES[name]

    def run(team):
        main(team, size, missing)
        team.synchronize()

    try:
        reports = tandem.launch(run, ranks=ranks, seed=seed, slots_per_rank=size + 1, check=True).reports
    except tandem.SimulationError as error:
        reports = error.reports
    return [r for r in reports if r["severity"] == "error"]


def marked(name):
    lines = pathlib.Path(__file__).read_text().splitlines()
    return {number for number, line in enumerate(lines, 1) if name in line.split("# <-- ")[1:] or f"{name} " in line.split("# <-- ")[1:]}


@pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")
@pytest.mark.parametrize("size", [7, 16, 17, 33, 65, 129, 1025])
@pytest.mark.parametrize("name", FAMILIES)
def test_family(name, size):
    for seed in range(3 if size > 129 else 8):
        assert not races(name, size, seed, 0)
        found = [r for r in races(name, size, seed, 1) if r["kind"] == "race"]
        assert found, f"seed {seed}"
        text = found[0]["text"]
        places = set(map(int, re.findall(rf"^{re.escape(__file__)}:(\d+):\d+: (?:error|note: first access)", text, re.M)))
        assert places == marked(name), text


@pytest.mark.parametrize("count", [2, 5, 9, 300])
def test_a_circle_of_locks(count):
    """However long it is, and however many orders of locks there are; slots are few, so that most runs get through."""

    def kinds(seed, fixed):
        try:
            main = lambda team: take_two[(count,)](team.zeros(count, "int32", name="lock"), count, fixed)
            return [r["kind"] for r in tandem.launch(main, ranks=1, seed=seed, slots_per_rank=2, check=True).reports]
        except tandem.SimulationError as error:
            return [r["kind"] for r in error.reports]

    for seed in range(5):
        assert kinds(seed, True) == [] and kinds(seed, False) == ["deadlock"]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_schedule(name):
    """None of the wrong ones is proven, small as they are."""
    main, ranks = FAMILIES[name]
    proof = tandem.explore(lambda team: main(team, 3, 1), ranks=ranks, exhaustive=True, limit=50)
    assert not proof.proven and "race" in {f.kind for f in proof.findings}


@pytest.mark.filterwarnings("ignore::tandem.SimulationWarning")
@pytest.mark.parametrize("name", ["adds", "programs", "polls", "epochs"])
def test_the_wait_that_ended_early_is_named(name):
    for seed in range(5):
        text = races(name, 20, seed, 1)[0]["text"]
        assert "(M15)" in text or "(M4, M6)" in text  # of two waits that are wrong, the relaxed one is told first
        source = pathlib.Path(__file__).read_text().splitlines()
        places = re.findall(rf"^{re.escape(__file__)}:(\d+):\d+: note: (ended early|enough for that wait): .* by rank \d", text, re.M)
        (early, _), (enough, _) = places
        assert re.search(r"dl\.wait\(.*(least|missing|i\.to)|while ld", source[int(early) - 1])
        assert re.search(r"dl\.notify\(| st\(", source[int(enough) - 1])


def test_a_run_that_forgot_updates_proves_nothing():
    report = {
        "severity": "error",
        "kind": "history-exceeded",
        "message": "history exceeded: this wait may have ended (M6)",
        "text": "",
        "file": None,
    }
    assert not Proof(1, True, 0, 1, [finding_of(report)]).proven
