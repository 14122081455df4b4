"""Errors planted in the kernels before and behind an attention whose heads are dealt to ranks, and in their hosts: every one is found, at
its lines; as they are, they are right, of small instances under every schedule."""

import pytest
from heads_protocol import BEFORE, BEHIND, CHANNEL, calls, kernels
from heads_reference import Before, Behind

import tandem
from tandem.check.explore import POLICIES

BEGUN = 'dl.wait(begun_ptr, ranks, "sys", "acquire", waitValue=call'
TOLD = 'dl.notify(brought, owner, signal=1, sig_op="add", comm_scope="intra_node")'
TOLD_ALL = 'dl.notify(brought, peer, signal=1, sig_op="add", comm_scope="intra_node")'
SLOT = "brought = brought_ptr + local // turn * ranks + rank"
ENDS = "        tl.store(epoch_ptr, call)\n"
STORED = "        part = acc.to(q_ptr.dtype.element_ty)\n"
EARLY = "        if owner != rank:\n            " + TOLD.replace("brought,", "brought_ptr + local // turn * ranks + rank,") + "\n"
AWAY = "part, owner, row, at, rows, Q_WIDTH"
PART = "value * part_count + part_of(owner, ranks, HKV)"
TURN = "tl.where((first_rank <= rank) & (rank + 1 < end_rank), rank + 1, first_rank)"
AWAITED = "link.slices_wait(channel, source, 0, row // band_rows + 1)"
AWAIT = 'dl.wait(word, 1, "sys", "acquire"'
PUT_BACK = "                shmem.signal_op(channel.words + band, 0, shmem.NVSHMEM_SIGNAL_SET, rank)\n"
MET = "            shmem.signal_wait_until(done + peer, shmem.NVSHMEM_CMP_GE, call)\n"
LAST = "link.call_ends(channel, PROGRAMS)"

# What reports show.
STORE, STORE_KEYS, LOAD = "to.store([matrix, row, column]", "store_part(away_kv, ", "acc = add_product(a.load([at, step * BLOCK_K])"
TELL, TAKEN, PUT = "dl.notify(brought", "self.beside.copy(to, x)", "self.beside.signal_write(signal, 0)"
COPY, WAIT, AHEAD = "self.beside.copy(to", "dl.wait(word", "self.beside.signal_wait(signal, "
LOOK, BEGIN, PUSHED, RESET = "dl.wait(begun_ptr", "dl.notify(begun_ptr", "signal_write(signal, band + 1)", "shmem.signal_op(channel.words"
WRONG = "wrong result"

# The class of cases; the change; the kind of report, or that the result is wrong; lines that the report shows.
PLANTED = {
    "stores before all have begun": ("Before", (BEFORE, BEGUN, BEGUN + " - 1"), "race", [STORE, TAKEN]),
    "begin of one rank not awaited": ("Before", (BEFORE, BEGUN, BEGUN.replace("ranks", "1")), "race", [STORE, TAKEN]),
    "relaxed look at who has begun": ("Before", (BEFORE, BEGUN, BEGUN.replace("acquire", "relaxed")), "race", [STORE, TAKEN]),
    "narrow look at who has begun": ("Before", (BEFORE, BEGUN, BEGUN.replace("sys", "cta")), "race", [LOOK, BEGIN]),
    "told before it is stored": ("Before", (BEFORE, STORED, EARLY + STORED), "signal-misuse", [TELL, PUT]),
    "told in a narrow scope": ("Before", (BEFORE, TOLD, TOLD.replace("intra_node", "gpu")), "scope", [TELL, AHEAD]),
    "told twice": ("Before", (BEFORE, TOLD, TOLD.replace("signal=1", "signal=2")), "signal-misuse", [TELL, PUT]),
    "told in the next rank's slot": ("Before", (BEFORE, SLOT, SLOT[:-4] + "(rank + 1) % ranks"), "race", [COPY, STORE]),
    "told to the next rank": ("Before", (BEFORE, TOLD, TOLD.replace("owner,", "(owner + 1) % ranks,")), "deadlock", [AHEAD]),
    "told for the first band": ("Before", (BEFORE, SLOT, SLOT.replace("local // turn", "0")), "signal-misuse", [TELL, PUT]),
    "call not counted": ("Before", (BEFORE, ENDS, ""), "race", [STORE, TAKEN]),
    "queries of the next rank": ("Before", (BEFORE, AWAY, AWAY.replace("owner", "(owner + 1) % ranks")), WRONG, []),
    "shared keys: values over keys": ("Before", (BEFORE, PART, PART.replace("value *", "0 *")), "race", [STORE, STORE_KEYS]),
    "shared keys: only one is told": ("Before", (BEFORE, TOLD_ALL, TOLD_ALL.replace("peer", "owner")), "signal-misuse", [TELL, PUT]),
    "shared keys: in no peer's turn": ("Before", (BEFORE, TURN, "first_rank"), "deadlock", [AHEAD]),
    "wait dropped": ("Behind", (BEHIND, "if nth > 0:", "if nth > ranks:"), "race", [LOAD, TAKEN]),
    "one band too few": ("Behind", (BEHIND, AWAITED, AWAITED[:-5] + ")"), "race", [LOAD, TAKEN]),
    "relaxed wait": ("Behind", (CHANNEL, AWAIT, AWAIT.replace("acquire", "relaxed")), "race", [LOAD, TAKEN]),
    "narrow wait": ("Behind", (CHANNEL, AWAIT, AWAIT.replace("sys", "cta")), "race", [WAIT, PUSHED]),
    "signal of the next rank": ("Behind", (BEHIND, AWAITED, AWAITED.replace("source", "(source + 1) % ranks")), "deadlock", [WAIT]),
    "heads of the next rank": ("Behind", (BEHIND, "source * pitch)", "(source + 1) % ranks * pitch)"), WRONG, []),
    "not put back": ("Behind", (CHANNEL, PUT_BACK, ""), "signal-misuse", [WAIT, PUSHED]),
    "ranks do not meet": ("Behind", (CHANNEL, MET, ""), "race", [LOAD, TAKEN]),
    "ended by the last but one": ("Behind", (BEHIND, LAST, LAST.replace("PROGRAMS", "PROGRAMS - 1")), "signal-misuse", [WAIT, RESET]),
    "host: not waited for": ("Before", None, "race", [STORE, TAKEN]),
    "host: one tile too few": ("Before", None, "signal-misuse", [TELL, PUT]),
    "host: not put back": ("Before", None, "race", [STORE, TAKEN]),
    "host: keys before the wait": ("Before", None, "race", [STORE_KEYS, TAKEN]),
    "host: from the wrong rank": ("Before", None, WRONG, []),
    "host: goes on too soon": ("Before", None, "race", ["team.stream.copy(to, x)", TAKEN]),
    "host: signal first": ("Behind", None, "race", [LOAD, TAKEN]),
    "host: to the wrong slot": ("Behind", None, "race", [LOAD, COPY]),
    "host: of the wrong signal": ("Behind", None, "race", [LOAD, COPY]),
    "host: before it is there": ("Behind", None, "uninitialised-read", [LOAD, TAKEN]),
}  # fmt: skip


def cases_of(kind, ranks, count, m=70, heads=None):
    made = {"Before": Before, "Behind": Behind}[kind]
    return [made(ranks, m, heads or (4, 4, 16), 16, seed=i) for i in range(count)]


def check(cases, result):
    for rank, found in enumerate(result.values):
        for case, out in zip(cases, found):
            case.check(rank, out)


@pytest.mark.parametrize("kind", ["Before", "Behind"])
@pytest.mark.parametrize("ranks, heads", [(1, (4, 4, 16)), (2, (3, 3, 16)), (3, (4, 2, 16)), (4, (2, 1, 16)), (8, (8, 2, 16))])
def test_as_they_are(tmp_path, kind, ranks, heads):
    cases, made = cases_of(kind, ranks, 3, heads=heads), kernels(tmp_path)[kind]
    for seed in range(6):
        policy = POLICIES[seed % len(POLICIES)]
        result = tandem.launch(lambda team: calls(team, cases, made), ranks=ranks, seed=seed, policy=policy, check=True)
        assert result.reports == []
        check(cases, result)


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors(tmp_path, name):
    kind, change, expected, lines = PLANTED[name]
    ranks = 4 if "shared" in name else 3 if "next rank" in name or "wrong" in name else 2
    cases, host = cases_of(kind, ranks, 3, heads=(4, 2, 16) if "shared" in name else None), "" if change else name.removeprefix("host: ")
    kernel, reports = kernels(tmp_path, *[change] if change else [])[kind], []
    for seed in range(12):
        policy = POLICIES[seed % len(POLICIES)]
        try:
            result = tandem.launch(lambda team: calls(team, cases, kernel, host), ranks=ranks, seed=seed, policy=policy, check=True)
            reports = result.reports
            if not reports:
                check(cases, result)
        except tandem.SimulationError as caught:
            reports = caught.reports
        except AssertionError as caught:
            reports = [{"kind": WRONG, "text": str(caught)}]
        if reports:
            break
    assert reports, "not found"
    assert reports[0]["kind"] == expected, reports[0]["text"]
    for line in lines:
        assert line in reports[0]["text"], reports[0]["text"]


@pytest.mark.parametrize("kind", ["Before", "Behind"])
def test_every_schedule(tmp_path, kind):
    cases, made = cases_of(kind, 2, 1, m=2, heads=(2, 2, 16)), kernels(tmp_path)[kind]
    proof = tandem.explore(lambda team: calls(team, cases, made), ranks=2, exhaustive=True, limit=20_000)
    assert proof.proven, str(proof)
