"""Dispatch and combine of expert parallelism: exact on 1 to 8 ranks whatever the schedule, of a small instance under every schedule; and
errors planted in their kernels, each of which is found."""

import functools
import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import ep_protocol
from ep_protocol import Case, is_right

import tandem

DISPATCH, COMBINE, EXCHANGE = "ep_dispatch/ep_dispatch.py", "ep_combine/ep_combine.py", "device/exchange.py"
ABOUT, MARKS = "ep_dispatch/about.py", "device/marks.py"
SENT = "    st_vector(slots[i], without_marks(values[i]), "
ROW_POINTER = "dl.symm_at(mine_ptr, peer) + item.to(tl.int64) * share_stride(PIECES, QUANTISED)"
HEADER = "            receive_one(about_ptr + 2 * source, epoch, POLLS)\n"
PARITY = "slots_ptr += (epoch % 2) * RANKS * source_stride"
NOTHING = "reports nothing, but the result is wrong"

# The name; a change of the kernels; words of the kinds of reports, or that the result is wrong.
PLANTED = {
    "rows not awaited": ((MARKS, "        ready = polls > POLLS\n", "        ready = True\n"), NOTHING),
    "marks not put back": ((MARKS, "        put_marks(slots[i])\n", "        0\n"), NOTHING),
    "last group not sent": (
        (EXCHANGE, "tl.static_range(PIECES):\n    " + SENT, "tl.static_range(PIECES - 1):\n    " + SENT),
        "deadlock|livelock",
    ),
    "narrow store of rows": ((EXCHANGE, SENT + '"sys", "relaxed")', SENT + '"gpu", "relaxed")'), "scope|race"),
    "weak store of rows": ((EXCHANGE, SENT + '"sys", "relaxed")', SENT + '"sys", "weak")'), "race"),
    "wrong source's slots": (
        (DISPATCH, "slots_ptr + rank * source_stride,", "slots_ptr + (rank + 1) % RANKS * source_stride,"),
        "deadlock|livelock|race",
    ),
    "one set of slots": ((DISPATCH, PARITY, "slots_ptr += 0"), "deadlock|race|" + NOTHING),
    "stale epoch": (
        (DISPATCH, 'semantic="weak") + 1\n    of_ids', 'semantic="weak")\n    of_ids'),
        "uninitialised|race|deadlock|" + NOTHING,
    ),
    "epoch not kept": ((DISPATCH, "        end_call(epoch_ptr, epoch)\n", ""), "uninitialised|race|deadlock|" + NOTHING),
    "one token too few told": ((ABOUT, "dl.make_vector([m, 0])", "dl.make_vector([m - 1, 0])"), "uninitialised|" + NOTHING),
    "rows over one another": ((DISPATCH, ROW_POINTER, ROW_POINTER + " // 2"), "deadlock|race"),
    "wrong owner": (
        (DISPATCH, "tl.where(place >= 0, place // local_experts, -1)", "tl.where(place >= 0, (place + 1) // local_experts, -1)"),
        "uninitialised|deadlock|race|" + NOTHING,
    ),
    "throughput: counts before they are there": ((ABOUT, "    __syncthreads()\n    return counts", "    return counts"), "race"),
    "a token's packets not awaited": (
        (DISPATCH, "ready = not anyone(expects & (not is_told(header, packet, token, epoch)))", "ready = True"),
        "uninitialised|race|deadlock|" + NOTHING,
    ),
    "a header of a call before": ((ABOUT, "return is_of_call(header, epoch) & (", "return ("), "uninitialised|race|deadlock|" + NOTHING),
    "header of combine left out": ((COMBINE, HEADER, "            0\n"), "race|deadlock|leftover|" + NOTHING),
    "combine has one set": ((COMBINE, PARITY, "slots_ptr += 0"), "race|deadlock|" + NOTHING),
    "throughput: headers not awaited": (
        (COMBINE, "        await_headers(about_ptr, epoch, RANKS, POLLS)\n        __syncthreads()\n", "        0\n"),
        "race|deadlock|leftover|" + NOTHING,
    ),
    "zeros while the header is on its way": (
        (COMBINE, "        sends = data_of(", "        sends = False & data_of("),
        "race|deadlock|" + NOTHING,
    ),
    "sums of a call before": (
        (COMBINE, 'epoch_ptr + pid, semantic="weak") + 1', 'epoch_ptr + pid, semantic="weak")'),
        "uninitialised|race|deadlock|" + NOTHING,
    ),
}


def cases(ranks, seed, calls=3, most=3, columns=77, placed=None):
    """`placed`: so many experts have 6 * ranks places, two of each, wherever they are drawn."""
    draw = np.random.default_rng(seed)
    counts = [[int(n) for n in draw.integers(0, most + 1, ranks)] for _ in range(calls)]
    placement = None if placed is None else draw.permutation(6 * ranks)[: 2 * placed].reshape(placed, 2).astype(np.int32)
    top_k = min(6 - seed % 3 * 2, placed or 6)
    return [Case(of, most, columns, 6 * ranks, top_k, seed=10 * seed + i, placement=placement) for i, of in enumerate(counts)]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return ep_protocol.kernels(tmp_path_factory.mktemp("kernels"))


@pytest.mark.parametrize("half", ["dispatch", "combine", "both"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_as_they_are(kernels, ranks, half):
    for seed in range(20):
        given, policy = cases(ranks, seed, placed=3 * ranks if seed % 4 == 3 else None), "slowest-rank" if seed % 5 == 2 else "random"
        result = tandem.launch(
            functools.partial(
                ep_protocol.calls,
                cases=given,
                kernels=kernels,
                two_calls=seed % 3 == 1,
                half=half,
                beside=seed % 4 >= 2,
                tellers=1 + seed % 5 // 3,
            ),
            ranks=ranks,
            seed=seed,
            check=True,
            policy=policy,
        )
        assert result.reports == [] and is_right(result.values, given, half)


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("made", [2**31 - 3, 2**32 - 4])
def test_more_calls_than_packets_count(kernels, made, beside):
    """What flags say of a call has 32 bits."""
    given = [Case([3, 3], 3, 77, 12, 2, seed=i) for i in range(6)]
    for seed in range(3):
        result = tandem.launch(
            functools.partial(ep_protocol.calls, cases=given, kernels=kernels, beside=beside, made=made), ranks=2, seed=seed, check=True
        )
        assert result.reports == [] and is_right(result.values, given)


AWAITED = 'token = dl.wait(routed_ptr, 1, "gpu", "acquire", waitValue=epoch * TELLERS, compare="ge")'
TELLS = '            if PLACES:\n                dl.notify(routed_ptr, rank, signal=1, sig_op="add", comm_scope="gpu")\n'
GATHERED = "            if ROUTES:\n                __syncthreads()\n"
# These errors are planted where rows come by expert.
PLANTED_BY_EXPERT = {
    "the route not awaited": ((DISPATCH, AWAITED, AWAITED.replace("waitValue=epoch * TELLERS", "waitValue=0")), "race|uninitialised"),
    "the route of the call before": (
        (DISPATCH, AWAITED, AWAITED.replace("epoch * TELLERS", "(epoch - 1) * TELLERS")),
        "race|uninitialised",
    ),
    "a wait that acquires nothing": ((DISPATCH, AWAITED, AWAITED.replace("acquire", "relaxed")), "race|uninitialised"),
    "told before the route is made": ((DISPATCH, GATHERED, TELLS + GATHERED), "race|uninitialised"),
    "own rows forgotten": (
        (DISPATCH, "dl.rank() * most + item // shares, TOP_K)", "dl.rank() * most + item // shares, 0)"),
        "uninitialised",
    ),
    "programs do not meet": (("device/calls.py", '"acquire") < until', '"acquire") < 0'), "race|uninitialised"),
    "met by counts that are not released": (("device/calls.py", 'sem="release"', 'sem="relaxed"'), "race"),
    "one range of tokens for two": (
        (DISPATCH, "pid - movers if PARTS else 0", "(pid - movers) // 2 * 2 if PARTS else 0"),
        "race|uninitialised|out-of-bounds|" + NOTHING,
    ),
    "the first of a token's slots alone": ((EXCHANGE, "        left = left & (left - 1)\n", "        left = 0\n"), "uninitialised"),
    "places without padding": (("route/route.py", "place += dl.smem_load(shifts, expert)", "place += 0"), "uninitialised|" + NOTHING),
    "padding of the expert itself": (
        ("route/route.py", "tl.cumsum(padding, 0) - padding", "tl.cumsum(padding, 0)"),
        "uninitialised|" + NOTHING,
    ),
}


def by_expert(folder, seed, *changes):
    given, policy = cases(3, seed, calls=4), "slowest-rank" if seed % 2 else "random"
    kernels = ep_protocol.kernels(folder, *changes)
    tellers = 1 + seed % 2 * 3 * (1 + seed % 3 // 2)  # one makes the route, or each of one or two ranges of a rank's tokens
    main = functools.partial(ep_protocol.calls_by_expert, cases=given, kernels=kernels, tellers=tellers)
    result = tandem.launch(main, ranks=3, seed=seed, check=True, policy=policy)
    right = ep_protocol.is_right_by_expert(result.values, given)
    return result.reports[0]["kind"] if result.reports else "" if right else NOTHING


def test_by_expert(tmp_path):
    assert [by_expert(tmp_path, seed) for seed in range(8)] == [""] * 8


@pytest.mark.parametrize("name", PLANTED_BY_EXPERT)
def test_planted_errors_by_expert(tmp_path, name):
    change, kinds = PLANTED_BY_EXPERT[name]
    found = found_by(by_expert, tmp_path, change)
    assert re.search(kinds, found), found


SIGNALS = "device/signals.py"
BEGUN = 'dl.wait(begun_ptr, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")'
ARRIVED = 'dl.wait(arrived_ptr + pid * RANKS, RANKS, "sys", "acquire", waitValue=epoch, compare="ge")'
TOLD = "        if DIRECT:\n            tell_all(arrived_ptr + pid * RANKS + rank, epoch, RANKS)\n"
SENDS = "        if sends and not COPIED:\n            send_rows("
# These errors are planted where rows go to where they belong.
PLANTED_DIRECT = {
    "sent before the call has begun there": ((DISPATCH, BEGUN, BEGUN.replace("=epoch", "=0")), "race"),
    "sent when the call before has begun": ((DISPATCH, BEGUN, BEGUN.replace("=epoch", "=epoch - 1")), "race"),
    "begun that acquires nothing": ((DISPATCH, BEGUN, BEGUN.replace("acquire", "relaxed")), "race"),
    "begun of one rank too few": ((DISPATCH, BEGUN, BEGUN.replace("RANKS,", "RANKS - 1,")), "race"),
    "arrival not awaited": ((DISPATCH, ARRIVED, ARRIVED.replace("=epoch", "=0")), "race|uninitialised"),
    "arrival of the call before": ((DISPATCH, ARRIVED, ARRIVED.replace("=epoch", "=epoch - 1")), "race|uninitialised"),
    "arrival that acquires nothing": ((DISPATCH, ARRIVED, ARRIVED.replace("acquire", "relaxed")), "race|uninitialised"),
    "arrival of the first program for all": ((DISPATCH, ARRIVED, ARRIVED.replace("pid * RANKS, ", "0, ")), "race|uninitialised"),
    "told before rows are sent": ((DISPATCH, SENDS, TOLD + SENDS), "race|uninitialised"),
    "told without a release": ((SIGNALS, 'semantic="release"', 'semantic="relaxed"'), "race|uninitialised"),
    "told to this GPU alone": ((SIGNALS, 'scope="sys"', 'scope="gpu"'), "scope|race|uninitialised"),
    "own rows left to others": ((DISPATCH, "stores_own = pid >= others", "stores_own = pid > others"), "uninitialised|race|" + NOTHING),
    "peers' rows left to owners": (
        (DISPATCH, "sends_out = pid < others", "sends_out = pid < others - 1"),
        "uninitialised|race|out-of-bounds|" + NOTHING,
    ),
    "told while other warps send": ((SIGNALS, "    __syncthreads()\n    peer", "    peer"), "race|uninitialised"),
}


def direct(folder, seed, *changes):
    given, policy = cases(3, seed, calls=4), "slowest-rank" if seed % 2 else "random"
    kernels = ep_protocol.kernels(folder, *changes)
    options = {"two_calls": seed % 3 == 1, "direct": True, "owners": seed // 2 % 2}
    main = functools.partial(ep_protocol.calls, cases=given, kernels=kernels, half="dispatch", **options)
    result = tandem.launch(main, ranks=3, seed=seed, check=True, policy=policy)
    return result.reports[0]["kind"] if result.reports else "" if is_right(result.values, given, "dispatch") else NOTHING


BROUGHT, RINGS = "device/brought.py", "ep_combine/brought.py"
WAITED = "    tma.mbarrier_wait_parity(arrivals_ptr + nth % AHEAD, nth // AHEAD % 2)\n"
UNHELD = "race|uninitialised|mbarrier-misuse|deadlock|" + NOTHING
# These errors are planted where bulk copies bring the results ahead of their sums.
PLANTED_IN_RINGS = {
    "rows not awaited": ((BROUGHT, WAITED, ""), UNHELD),
    "the rows before awaited": ((BROUGHT, WAITED, WAITED.replace("AHEAD % 2", "AHEAD % 2 ^ 1")), UNHELD),
    "more rows than there is room for": ((RINGS, " & (under_way + popc(lanes) <= RING)", ""), UNHELD),
    "more items than there are mbarriers": ((RINGS, "(nth < until)", "(nth < until + 4)"), UNHELD),
    "all rows in one place": ((BROUGHT, "popc(lanes & ((1 << laneid()) - 1))", "0"), UNHELD),
    "one row too few expected": ((BROUGHT, "popc(lanes) * size)", "tl.maximum(popc(lanes) - 1, 0) * size)"), UNHELD),
    "rows of the item before": ((RINGS, "(head + popc(lanes)) % RING, (item", "head, (item"), UNHELD),
    "a ring that others may not know yet": ((BROUGHT, "    __syncthreads()\n    warp", "    warp"), "race|uninitialised|mbarrier-misuse"),
    "copies that nobody has expected": ((BROUGHT, "    __syncwarp()  # bytes", "    # bytes"), UNHELD),
}


def rings(folder, seed, *changes):
    given, policy = cases(3, seed, calls=3, columns=300), "slowest-rank" if seed % 2 else "random"
    kernels = ep_protocol.kernels(folder, *changes)
    main = functools.partial(ep_protocol.calls, cases=given, kernels=kernels, half="combine", beside=True, ring=7)
    result = tandem.launch(main, ranks=3, seed=seed, check=True, policy=policy)
    return result.reports[0]["kind"] if result.reports else "" if is_right(result.values, given, "combine") else NOTHING


def test_rings(tmp_path):
    assert [rings(tmp_path, seed) for seed in range(8)] == [""] * 8


@pytest.mark.parametrize("name", PLANTED_IN_RINGS)
def test_planted_errors_in_rings(tmp_path, name):
    change, kinds = PLANTED_IN_RINGS[name]
    found = found_by(rings, tmp_path, change)
    assert re.search(kinds, found), found


SOURCE = "source = tl.minimum(i // (most * TOP_K), RANKS - 1)"
# These errors are planted where the kernel moves no rows, but tells of slots and gathers what is said of them.
PLANTED_IN_SLOTS = {
    "a header of a call before": PLANTED["a header of a call before"],
    "one token too few told": PLANTED["one token too few told"],
    "epoch not kept": PLANTED["epoch not kept"],
    "stale epoch": PLANTED["stale epoch"],
    "slots of a call before": ((DISPATCH, "about_ptr += (epoch % 2) * RANKS", "about_ptr += 0 * RANKS"), "deadlock|race|" + NOTHING),
    "another source's slots": ((ABOUT, SOURCE, SOURCE + "\n            source = (source + 1) % RANKS"), "out-of-bounds"),
}


def slots(folder, seed, *changes):
    given, policy = cases(3, seed, calls=4), "slowest-rank" if seed % 2 else "random"
    kernels = ep_protocol.kernels(folder, *changes)

    def main(team):
        layer, kept = ep_protocol.Layer(team, given[0], kernels, direct=True, copied=True), []
        for layer.case in given:
            x, ids, weights = (team.local_from_array(a[team.rank]) for a in (layer.case.x, layer.case.ids, layer.case.weights))
            layer.dispatch(x, ids, weights, layer.case.counts[team.rank])
            kept.append(team.local_empty(layer.here.shape, "int32"))
            team.stream.copy(kept[-1], layer.here)
        return [np.array(here) for here in kept]

    result = tandem.launch(main, ranks=3, seed=seed, check=True, policy=policy)
    right = all(np.array_equal(a, c.here(rank)) for rank, found in enumerate(result.values) for a, c in zip(found, given))
    return result.reports[0]["kind"] if result.reports else "" if right else NOTHING


def test_slots_alone(tmp_path):
    assert [slots(tmp_path, seed) for seed in range(8)] == [""] * 8


@pytest.mark.parametrize("name", PLANTED_IN_SLOTS)
def test_planted_errors_in_slots_alone(tmp_path, name):
    change, kinds = PLANTED_IN_SLOTS[name]
    found = found_by(slots, tmp_path, change)
    assert re.search(kinds, found), found


def found_by(run, folder, change):
    for seed in range(24):
        try:
            found = run(folder, seed, change)
        except tandem.SimulationError as error:
            found = error.reports[0]["kind"]
        if found:
            return found
    return "not found"


def test_direct(tmp_path):
    assert [direct(tmp_path, seed) for seed in range(8)] == [""] * 8


@pytest.mark.parametrize("name", PLANTED_DIRECT)
def test_planted_errors_in_direct_rows(tmp_path, name):
    change, kinds = PLANTED_DIRECT[name]
    found = found_by(direct, tmp_path, change)
    assert re.search(kinds, found), found


UNREPORTED = (ABOUT, """        expect(False, "an id is no expert's")\n""", "        0\n")


def with_bad_ids(bad, placed=None):
    """Two calls, in both of which a slot of each rank that has tokens is wrong."""
    given = cases(2, 10, calls=2, placed=placed)
    assert all(max(case.counts) > 0 for case in given)
    for case in given:
        for ids in case.ids:
            ids[-1:, 1:2] = bad
    return given


def here_and_findings(team, given, kernels, **options):
    layer, seen = ep_protocol.Layer(team, given[0], kernels, **options), []
    for layer.case in given:
        case = layer.case
        layer.dispatch(*(team.local_from_array(a[team.rank]) for a in (case.x, case.ids, case.weights)), case.counts[team.rank])
        seen.append((np.array(layer.here), np.array(layer.findings)))
        layer.findings[...] = 0
    return seen


def is_told(given, bad, rank, seen):
    for case, (here, findings) in zip(given, seen):
        m, want = case.counts[rank], case.here(rank).reshape(2, 3, -1)
        want[rank, m - 1 : m, 1:2] = -2
        if not np.array_equal(here.reshape(want.shape), want) or findings[:5].tolist() != (
            [1, bad, case.named - 1, m - 1, 1] if m else [0] * 5
        ):
            return False
    return True


BAD = [99, -7, 2**31 - 1, -(2**31), 12]


@pytest.mark.parametrize("bad", BAD)
def test_ids_that_are_no_experts_are_reported(kernels, bad):
    given = with_bad_ids(bad)
    with pytest.raises(tandem.SimulationError, match="an id is no expert's") as found:
        tandem.launch(here_and_findings, ranks=2, args=(given, kernels))
    assert "about.py" in found.value.reports[0]["text"]


@pytest.mark.parametrize("placed", [None, 5])
@pytest.mark.parametrize("options", [{}, {"beside": True}, {"two_calls": True, "tellers": 2}], ids=["one", "beside", "two calls"])
@pytest.mark.parametrize("bad", BAD)
def test_ids_that_are_no_experts_are_told(tmp_path, bad, options, placed):
    """As on a GPU, where no report ends the run: nothing is sent for them, the token's own rank has them as -2, which the route counts, and
    the host is told in each call."""
    given = with_bad_ids(bad, placed)

    def main(team):
        return here_and_findings(team, given, ep_protocol.kernels(tmp_path / str(team.rank), UNREPORTED), **options)

    result = tandem.launch(main, ranks=2, seed=1, check=True)
    assert result.reports == []
    assert all(is_told(given, bad, rank, seen) for rank, seen in enumerate(result.values))


# How ids that are no experts' would go wrong; found by a report, or by what the host is told.
PLANTED_IN_IDS = {
    "the first one behind the experts is one": ("device/places.py", "(expert >= places)", "(expert > places)"),
    "a peer is told of one": (
        ABOUT,
        "tl.where((place >= 0) & (place // local_experts == peer), ",
        "tl.where((place != -1) & (place // local_experts == peer), ",
    ),
    "nobody is told": (ABOUT, "if here < DROPPED", "if here < NO_PLACE"),
    "the host is told in one call alone": ("device/findings.py", 'call, sem="relaxed") < call', 'call, sem="relaxed") == 0'),
    "a place of no table": ("device/places.py", "        if (expert >= 0) & (expert < placed):\n", "        if expert >= 0:\n"),
    "slots and tokens swapped": (ABOUT, "slot // TOP_K, slot % TOP_K)", "slot % TOP_K, slot // TOP_K)"),
    "places for experts": (ABOUT, "(placed if COPIES else places) - 1, slot", "places - 1, slot"),
}


@pytest.mark.parametrize("name", PLANTED_IN_IDS)
def test_planted_errors_in_ids(tmp_path, name):
    found = False
    for bad, placed in ((12, None), (99, None), (5, 5), (40, 5)):
        given, kernels = with_bad_ids(bad, placed), ep_protocol.kernels(tmp_path / str(bad), UNREPORTED, PLANTED_IN_IDS[name])
        try:
            result = tandem.launch(here_and_findings, ranks=2, seed=1, check=True, args=(given, kernels))
        except tandem.SimulationError:
            found = True
        else:
            found |= any(not is_told(given, bad, rank, seen) for rank, seen in enumerate(result.values))
    assert found, "not found"


ANOTHERS = ("device/routes.py", "    expect(seen == needed, WHAT)\n", "")


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("word", [2, 3, 4, 8, 9])
def test_a_route_that_is_not_the_calls(tmp_path, word, beside):
    """Rank 1 has one: it sends nothing, its peers do not wait for it, and its host is told. The call behind is right."""
    given, kernels = cases(3, 4, calls=2), ep_protocol.kernels(tmp_path, ANOTHERS)
    assert all(given[0].counts) or any((given[0].here(1) >= 0).any(1))

    def main(team):
        layer, results = ep_protocol.Layer(team, given[0], kernels, beside=beside), []
        for call, layer.case in enumerate(given):
            route, h = layer.route_here(layer.case)
            if (call, team.rank) == (0, 1):
                seen = route[word : word + 1]
                seen[...] = np.array(seen) + 1
                route[64:] = np.random.default_rng(word).integers(-(2**31), 2**31, route.shape[0] - 64)
            out = team.local_from_array(np.zeros((3, layer.case.columns), np.float32))
            layer.combine(h, route, team.local_from_array(layer.case.ids[team.rank]), out, layer.case.counts[team.rank])
            results.append((np.array(out), np.array(layer.findings)))
        return results

    result = tandem.launch(main, ranks=3, check=True)
    assert result.reports == []
    for rank, calls in enumerate(result.values):
        for call, (case, (out, findings)) in enumerate(zip(given, calls)):
            m, owner = case.counts[rank], case.places(rank) // case.local
            counted = case.places(rank) >= 0
            if call == 0:
                counted &= owner != 1
            share = np.where(counted, case.weights[rank] * (case.ids[rank] + 1), 0).sum(1)
            np.testing.assert_array_equal(out[:m], case.x[rank] * share[:, None])
            assert findings[0] == (word + 1 if rank == 1 else 0)


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors(tmp_path, name):
    change, kinds = PLANTED[name]
    planted, half, found = ep_protocol.kernels(tmp_path, change), "combine" if change[0] == COMBINE else "dispatch", ""
    beside = name.startswith("throughput")
    for seed in range(24):
        given, policy = cases(3, seed, calls=4), "slowest-rank" if seed % 2 else "random"
        try:
            result = tandem.launch(
                functools.partial(ep_protocol.calls, cases=given, kernels=planted, half=half, beside=beside),
                ranks=3,
                seed=seed,
                check=True,
                policy=policy,
            )
            found = result.reports[0]["kind"] if result.reports else "" if is_right(result.values, given, half) else NOTHING
        except tandem.SimulationError as error:
            found = error.reports[0]["kind"]
        if found:
            break
    assert found, "not found"
    assert re.search(kinds, found), found


@pytest.mark.parametrize("half", ["dispatch", "combine"])
def test_every_schedule(kernels, half):
    # Two programs of dispatch have many schedules: then rank 1 has no token.
    case = Case([1, int(half == "combine")], 1, 2, 2, 1, dropped=0)
    case.ids = [np.array([[1 - rank]] * m, np.int32).reshape(m, 1) for rank, m in enumerate(case.counts)]

    def main(team):
        layer = ep_protocol.Layer(team, case, kernels, programs=1, warps=1, polls=0)
        x, ids, weights = (team.local_from_array(a[team.rank]) for a in (case.x, case.ids, case.weights))
        m = case.counts[team.rank]
        if half == "dispatch":
            layer.dispatch(x, ids, weights, m)
        else:
            route, h = layer.route_here(case)
            layer.combine(h, route, ids, team.local_empty((1, 2), "float32"), m)

    proof = tandem.explore(main, ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)
