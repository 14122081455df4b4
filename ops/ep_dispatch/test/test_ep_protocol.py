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
ROW = "                        st_vector(dl.symm_at(row_ptr, peer) + 2 * at, make_packet(values[i], epoch), "
ROW_POINTER = "mine_ptr + 2 * (1 + most * TOP_K + token.to(tl.int64) * row_packets)"
WAITED = "            all_here = all_here & (is_of_call(packet, epoch) | (at >= count))\n"
HEADER = "receive_one(set_ptr + source.to(tl.int64) * source_stride, epoch, POLLS)\n"
PLACED = "packets[i], rows_ptr.dtype.element_ty)\n"
NOTHING = "reports nothing, but the result is wrong"

# The name; a change of the kernels; words of the kinds of reports, or that the result is wrong.
PLANTED = {
    "rows not awaited": ((EXCHANGE, WAITED, ""), NOTHING),
    "last packet not awaited": ((EXCHANGE, "(at >= count))", "(at >= count - 1))"), NOTHING),
    "narrow store of rows": ((DISPATCH, ROW + '"sys", "relaxed")', ROW + '"gpu", "relaxed")'), "scope|race"),
    "weak store of rows": ((DISPATCH, ROW + '"sys", "relaxed")', ROW + '"sys", "weak")'), "race"),
    "row before its number": ((DISPATCH, ROW, ROW.replace("values[i], epoch", "values[i], epoch - 1")), "deadlock|livelock"),
    "wrong source's slots": (
        (
            DISPATCH,
            "set_ptr + rank.to(tl.int64) * source_stride\n        send",
            "set_ptr + (rank + 1) % RANKS * source_stride\n        send",
        ),
        "deadlock|race",
    ),
    "one set of slots": (
        (DISPATCH, "slots_ptr + (epoch % 2) * source_stride * RANKS", "slots_ptr"),
        "uninitialised|race|deadlock|" + NOTHING,
    ),
    "stale epoch": (
        (DISPATCH, 'semantic="weak") + 1\n    set_ptr', 'semantic="weak")\n    set_ptr'),
        "uninitialised|race|deadlock|" + NOTHING,
    ),
    "epoch not kept": ((DISPATCH, "        end_call(epoch_ptr, epoch)\n", ""), "uninitialised|race|deadlock|" + NOTHING),
    "one token too few told": ((DISPATCH, "dl.make_vector([m, 0])", "dl.make_vector([m - 1, 0])"), "uninitialised|" + NOTHING),
    "rows over one another": (
        (DISPATCH, ROW_POINTER, ROW_POINTER.replace("token.to(tl.int64) * row_packets", "token.to(tl.int64) * (row_packets - 1)")),
        "deadlock|race",
    ),
    "wrong owner": (
        (
            DISPATCH,
            "tl.where(is_expert, expert // local_experts, -1)\n        if item",
            "tl.where(is_expert, (expert + 1) // local_experts, -1)\n        if item",
        ),
        "uninitialised|deadlock|race|" + NOTHING,
    ),
    "counts before they are there": ((DISPATCH, "        __syncthreads()\n        shares", "        shares"), "race"),
    "header of combine left out": ((COMBINE, HEADER, "0\n"), "race|deadlock|leftover|" + NOTHING),
    "sums not awaited": (
        (COMBINE, "receive_share(row_ptr, first, row_packets, epoch, ", "receive_share(row_ptr, first, 0, epoch, "),
        NOTHING,
    ),
    "combine has one set": (
        (COMBINE, "slots_ptr + (epoch % 2) * source_stride * RANKS", "slots_ptr"),
        "uninitialised|race|deadlock|" + NOTHING,
    ),
    "sums of a call before": (
        (COMBINE, 'epoch_ptr + pid, semantic="weak") + 1', 'epoch_ptr + pid, semantic="weak")'),
        "uninitialised|race|deadlock|" + NOTHING,
    ),
}


def cases(ranks, seed, calls=3, most=3, columns=77):
    draw = np.random.default_rng(seed)
    counts = [[int(n) for n in draw.integers(0, most + 1, ranks)] for _ in range(calls)]
    return [Case(of, most, columns, 3 * ranks, 2 + seed % 2, seed=10 * seed + i) for i, of in enumerate(counts)]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return ep_protocol.kernels(tmp_path_factory.mktemp("kernels"))


@pytest.mark.parametrize("half", ["dispatch", "combine", "both"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_as_they_are(kernels, ranks, half):
    for seed in range(20):
        given, policy = cases(ranks, seed), "slowest-rank" if seed % 3 == 2 else "random"
        result = tandem.launch(
            functools.partial(ep_protocol.calls, cases=given, kernels=kernels, two_calls=seed % 2 == 1, half=half),
            ranks=ranks,
            seed=seed,
            check=True,
            policy=policy,
        )
        assert result.reports == [] and is_right(result.values, given, half)


@pytest.mark.parametrize("bad", [99, -7, 2**31 - 1, -(2**31)])
def test_ids_that_are_no_experts(kernels, bad):
    given = cases(2, 3, calls=1)
    assert max(given[0].counts) > 0
    for ids in given[0].ids:
        ids[:1, :1] = bad

    def main(team):
        return ep_protocol.calls(team, given, kernels, half="dispatch")

    result = tandem.launch(main, ranks=2, seed=1, check=True)
    assert result.reports == []
    for rank, ((here, *_),) in enumerate(result.values):
        own = here.reshape(2, 3, -1)[rank, : given[0].counts[rank]]
        assert (own[:1, :1] == -2).all() and (np.delete(here.reshape(2, 3, -1), rank, 0) >= -1).all()


@pytest.mark.parametrize("name", PLANTED)
def test_planted_errors(tmp_path, name):
    change, kinds = PLANTED[name]
    planted, half, found = ep_protocol.kernels(tmp_path, change), "combine" if change[0] == COMBINE else "dispatch", ""
    for seed in range(24):
        given, policy = cases(3, seed, calls=4), "slowest-rank" if seed % 2 else "random"
        try:
            result = tandem.launch(
                functools.partial(ep_protocol.calls, cases=given, kernels=planted, half=half), ranks=3, seed=seed, check=True, policy=policy
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
    case = Case([1, 1], 1, 2, 2, 1, dropped=0)
    case.ids = [np.array([[1]], np.int32), np.array([[0]], np.int32)]

    def main(team):
        layer = ep_protocol.Layer(team, case, kernels, programs=1, warps=1)
        x, ids, weights = (team.local_from_array(a[team.rank]) for a in (case.x, case.ids, case.weights))
        if half == "dispatch":
            layer.dispatch(x, ids, weights, 1)
        else:
            route, h = layer.route_here(case)
            layer.combine(h, route, ids, team.local_empty((1, 2), "float32"), 1)

    proof = tandem.explore(main, ranks=2, exhaustive=True, limit=200_000)
    assert proof.proven, str(proof)
