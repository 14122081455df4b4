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
MARKS = "device/marks.py"
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
        (DISPATCH, 'semantic="weak") + 1\n    about_stride', 'semantic="weak")\n    about_stride'),
        "uninitialised|race|deadlock|" + NOTHING,
    ),
    "epoch not kept": ((DISPATCH, "        end_call(epoch_ptr, epoch)\n", ""), "uninitialised|race|deadlock|" + NOTHING),
    "one token too few told": ((DISPATCH, "dl.make_vector([m, 0])", "dl.make_vector([m - 1, 0])"), "uninitialised|" + NOTHING),
    "rows over one another": ((DISPATCH, ROW_POINTER, ROW_POINTER + " // 2"), "deadlock|race"),
    "wrong owner": (
        (
            DISPATCH,
            "tl.where(is_expert, expert // local_experts, -1)\n        for turn",
            "tl.where(is_expert, (expert + 1) // local_experts, -1)\n        for turn",
        ),
        "uninitialised|deadlock|race|" + NOTHING,
    ),
    "counts before they are there": ((DISPATCH, "    __syncthreads()\n    return counts", "    return counts"), "race"),
    "header of combine left out": ((COMBINE, HEADER, "            0\n"), "race|deadlock|leftover|" + NOTHING),
    "combine has one set": ((COMBINE, PARITY, "slots_ptr += 0"), "race|deadlock|" + NOTHING),
    "throughput: headers not awaited": (
        (COMBINE, "        await_headers(about_ptr, epoch, RANKS, POLLS)\n        __syncthreads()\n", "        0\n"),
        "race|deadlock|leftover|" + NOTHING,
    ),
    "sums of a call before": (
        (COMBINE, 'epoch_ptr + pid, semantic="weak") + 1', 'epoch_ptr + pid, semantic="weak")'),
        "uninitialised|race|deadlock|" + NOTHING,
    ),
}


def cases(ranks, seed, calls=3, most=3, columns=77):
    draw = np.random.default_rng(seed)
    counts = [[int(n) for n in draw.integers(0, most + 1, ranks)] for _ in range(calls)]
    return [Case(of, most, columns, 6 * ranks, 6 - seed % 3 * 2, seed=10 * seed + i) for i, of in enumerate(counts)]


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    return ep_protocol.kernels(tmp_path_factory.mktemp("kernels"))


@pytest.mark.parametrize("half", ["dispatch", "combine", "both"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_as_they_are(kernels, ranks, half):
    for seed in range(20):
        given, policy = cases(ranks, seed), "slowest-rank" if seed % 5 == 2 else "random"
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
