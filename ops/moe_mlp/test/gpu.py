"""On ranks on GPUs: rows that are ordered first, few and many; and data on the device that no call can use, of which nothing is computed,
while synchronize(), the next call, or close() says what was wrong."""

import functools
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "route/test"))

from moe_reference import drawn_ids, drawn_weights
from products import on_gpus

from tandem.ops import AgMoe, GroupedGemm, GroupedOuter, MoeAr, MoeMlp, MoeRs, Route, RouteIds, rows_of_rank

M, HIDDEN, INNER, EXPERTS, TOP_K = 96, 256, 128, 6, 2


def told(action, what):
    try:
        action()
    except RuntimeError as error:
        assert what in str(error), f"{error}, not {what}"
        return
    raise AssertionError(f"nothing says {what}")


def operators(team):
    """Of each operator: its name, itself, and a call that gives its result."""
    own = rows_of_rank(M, team.size, team.rank)
    moved = lambda *shape: team.local_from_array(np.ones(shape, np.float16))
    x, tokens, h = moved(own, HIDDEN), moved(M, HIDDEN), moved(M * TOP_K, INNER)
    up, down = moved(EXPERTS, INNER, HIDDEN), moved(EXPERTS, HIDDEN, INNER)
    made = lambda cls, *sizes: cls(team, M, *sizes, EXPERTS, TOP_K, "fp16")
    given = {
        "ag_moe": (made(AgMoe, INNER, HIDDEN), (x, up)),
        "moe_rs": (made(MoeRs, HIDDEN, INNER), (h, down)),
        "moe_ar": (made(MoeAr, HIDDEN, INNER), (h, down)),
        "moe_mlp": (made(MoeMlp, HIDDEN, INNER), (x, up, down)),
        "grouped_gemm": (made(GroupedGemm, INNER, HIDDEN), (tokens, up)),
        "grouped_outer": (made(GroupedOuter, INNER, HIDDEN), (h, tokens)),
    }
    return {name: (op, lambda route, op=op, inputs=inputs: op(*inputs, route, M)) for name, (op, inputs) in given.items()}


def routes(ranks):
    """Routes of other numbers of tokens, of another rank, and any words at all."""
    ids, weights = drawn_ids(M, EXPERTS, TOP_K), drawn_weights(M, TOP_K)
    more = drawn_ids(M * TOP_K, EXPERTS, 1), drawn_weights(M * TOP_K, 1)

    def main(team):
        right = RouteIds(team, M, EXPERTS, TOP_K, "i32")(ids, weights, M)
        longer = RouteIds(team, M * TOP_K, EXPERTS, 1, "i32")(*more, M * TOP_K)
        other = team.local_from_array(np.array(right))
        other[9:10][...] = np.array([team.rank + 1], np.int32)
        words = np.random.default_rng(team.rank).integers(-(2**31), 2**31, right.shape[0]).astype(np.int32)
        wrong = {
            f"`route` is of {M * TOP_K} tokens, one of {M} is needed": longer,
            f"`route` is rank {team.rank + 1}'s, that of rank {team.rank} is needed": other,
            f"`route` is of {words[2]} tokens": team.local_from_array(words),
        }
        for what, route in wrong.items():
            for name, (op, call) in operators(team).items():
                expected = np.array(call(right))
                result = call(route)
                told(team.synchronize, what)
                result = np.array(result)
                assert expected.any() and not result.any(), f"{name} computes from a route that is not its call's"
                call(route)
                team.barrier()
                told(functools.partial(call, right), what)
                team.barrier()
                np.testing.assert_array_equal(np.array(call(right)), expected)
                call(route)
                told(op.close, what)
                team.barrier()

    on_gpus(main, ranks)


def experts(ranks):
    """Ids that are no expert's, and logits that are no number."""
    ids, weights = drawn_ids(M, EXPERTS, TOP_K), drawn_weights(M, TOP_K)
    logits = np.random.default_rng(0).standard_normal((M, EXPERTS)).astype(np.float32)
    for bad in (EXPERTS, -2, 2**31 - 1, -(2**31)):
        wrong, no_number = ids.copy(), logits.copy()
        wrong[7, 1], no_number[5, 3] = bad, np.nan

        def main(team, wrong=wrong, no_number=no_number, bad=bad):
            given, scored = RouteIds(team, M, EXPERTS, TOP_K, "i32"), Route(team, M, EXPERTS, TOP_K, "fp32")
            cases = [
                (given, ids, wrong, weights, f"`ids`: token 7, slot 1 has {bad}, -1 to {EXPERTS - 1} are possible"),
                (scored, logits, no_number, np.zeros(EXPERTS, np.float32), "`logits`: token 5 has one that is no number"),
            ]
            for op, right, bad_one, more, what in cases:
                route = op(bad_one, more, M)
                told(functools.partial(np.array, route[:1]), what)
                assert np.array(route[:1])[0]
                op(bad_one, more, M)
                team.barrier()
                told(functools.partial(op, right, more, M), what)
                team.barrier()
                assert not np.array(op(right, more, M)[:1])[0]
                op(bad_one, more, M)
                told(op.close, what)
                team.barrier()

        on_gpus(main, ranks)


def orders(ranks):
    """Rows in the route's order, in blocks of 16 to 128, give the same as where they are, with gate and up columns, too."""

    def main(team):
        for m in (M, 2048):
            ids, weights = drawn_ids(m, EXPERTS, TOP_K), drawn_weights(m, TOP_K)
            route = RouteIds(team, m, EXPERTS, TOP_K, "i32")(ids, weights, m)
            draw, own = np.random.default_rng(team.rank), rows_of_rank(m, team.size, team.rank)
            x = team.local_from_array(draw.integers(-2, 3, (own, HIDDEN)).astype(np.float16))
            for gated in (False, True):
                up = team.local_from_array(draw.integers(-1, 2, (EXPERTS, INNER * (1 + gated), HIDDEN)).astype(np.float16))
                found = []
                for ordered in (0, 1):
                    with AgMoe(team, m, INNER, HIDDEN, EXPERTS, TOP_K, "fp16", gated=gated, ordered=ordered) as op:
                        found.append(np.array(op(x, up, route, m)))
                np.testing.assert_array_equal(*found)
                assert found[0].any()

    on_gpus(main, ranks)


CHECKS = {"operators.moe.orders": orders, "operators.moe.routes": routes, "operators.moe.experts": experts}
