"""Every shipped operator, example, guide and the demo under the checker, for many ranks, schedules and numbers of resident programs.

    python bench/checker_sweep.py --seeds 100 [--ranks 1,2,4,8] [--only gemm] [--minutes 10]

Prints a line for each program that was reported, with the first report; the exit code is 1 then. Results are compared, too.
"""

import argparse
import importlib.util
import math
import pathlib
import re
import sys
import tempfile
import time

import numpy as np

from tandem.check.explore import POLICIES
from tandem.host.run import run_ranks
from tandem.ops import (
    AgMoe,
    AllGather,
    AllGatherGemm,
    AllReduce,
    AllReduceNorm,
    AllToAll,
    AllToAllOutGemm,
    Broadcast,
    EpCombine,
    EpDispatch,
    FlashDecode,
    GemmAllReduce,
    GemmReduceScatter,
    GroupedGemm,
    KvAppend,
    MlaAppend,
    MlaDecode,
    MoeAr,
    MoeMlp,
    MoeRs,
    QkvGemmAllToAll,
    ReduceScatter,
    Route,
    RouteIds,
    heads_of_rank,
    route_parts,
    rows_of_rank,
    shard_rows,
)

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs"), str(ROOT / "ops/ep_dispatch/test"), str(ROOT / "ops/dispatch_moe/test")]
CALLS = 3  # on one operator, nothing waits between them


def _numbers(shape, *seed):
    """Small integers: every order of sums is exact."""
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(np.float32)


def _rows(x, team):
    first = team.rank * shard_rows(len(x), team.size)
    return x[first : first + rows_of_rank(len(x), team.size, team.rank)]


def _expect(outs, wants):
    for number, (out, want) in enumerate(zip(outs, wants)):
        np.testing.assert_array_equal(np.array(out), want, err_msg=f"call {number}")


def all_reduce(way):
    def main(team):
        n = 700
        op = AllReduce(team, n, "fp32", way, programs=3, num_warps=1, chunk_bytes=512)
        parts = [[_numbers(n - 99 * call, call, rank) for rank in range(team.size)] for call in range(CALLS)]
        given = [team.local_from_array(xs[team.rank]) for xs in parts]
        _expect([op(x) for x in given], map(sum, parts))
        op.close()

    return main


def reduce_scatter(packets_bytes):
    def main(team):
        op = ReduceScatter(team, 40, 24, "fp32", programs=3, num_warps=1, chunk_bytes=256, packets_bytes=packets_bytes)
        parts = [[_numbers((40 - 13 * call, 24), call, rank) for rank in range(team.size)] for call in range(CALLS)]
        given = [team.local_from_array(xs[team.rank]) for xs in parts]
        _expect([op(x, len(xs[0])) for x, xs in zip(given, parts)], [_rows(sum(xs), team) for xs in parts])
        op.close()

    return main


def all_gather(packets_bytes):
    def main(team):
        op = AllGather(team, 40, 24, "fp32", programs=3, num_warps=1, packets_bytes=packets_bytes)
        wholes = [_numbers((40 - 13 * call, 24), call) for call in range(CALLS)]
        given = [team.local_from_array(np.ascontiguousarray(_rows(x, team))) for x in wholes]
        _expect([op(own, len(x)) for own, x in zip(given, wholes)], wholes)
        op.close()

    return main


def gemm_all_reduce(**way):
    def main(team):
        m, n, k = 20, 40, 33
        op = GemmAllReduce(team, m, n, k, "fp32", **way)
        pairs = [[(_numbers((m - 7 * call, k), call, rank), _numbers((k, n), rank)) for rank in range(team.size)] for call in range(CALLS)]
        given = [[team.local_from_array(x) for x in call[team.rank]] for call in pairs]
        _expect([op(a, b, a.shape[0]) for a, b in given], [sum(a @ b for a, b in call) for call in pairs])
        op.close()

    return main


def gemm_reduce_scatter(**way):
    def main(team):
        m, n, k = 70, 40, 33
        op = GemmReduceScatter(team, m, n, k, "fp32", block_m=32, block_n=32, **{"block_k": 32, **way})
        pairs = [[(_numbers((m - 27 * call, k), call, rank), _numbers((k, n), rank)) for rank in range(team.size)] for call in range(CALLS)]
        given = [[team.local_from_array(x) for x in call[team.rank]] for call in pairs]
        _expect([op(a, b, a.shape[0]) for a, b in given], [_rows(sum(a @ b for a, b in call), team) for call in pairs])
        op.close()

    return main


def all_gather_gemm(**way):
    def main(team):
        m, n, k = 70, 40, 33
        op = AllGatherGemm(team, m, n, k, "fp32", block_m=32, block_n=32, **{"block_k": 32, **way})
        wholes = [_numbers((m - 27 * call, k), call) for call in range(CALLS)]
        b = _numbers((k, n), team.rank)
        weights = team.local_from_array(b)
        given = [team.local_from_array(np.ascontiguousarray(_rows(a, team))) for a in wholes]
        _expect([op(own, weights, len(a)) for own, a in zip(given, wholes)], [a @ b for a in wholes])
        op.close()

    return main


def heads_of_ranks(hq, hkv):
    """A projection to this rank's heads of all rows, and one back to its rows of all heads."""

    def main(team):
        m, h, d = 70, 33, 16
        tiles = {"block_m": 16, "block_n": 16, "block_k": 16, "group": 1, "bands": 2}
        before = QkvGemmAllToAll(team, m, h, hq, hkv, d, "fp32", **tiles)
        behind = AllToAllOutGemm(team, m, h, hq, hkv, d, "fp32", **tiles)
        own = heads_of_rank(hq, hkv, team.size, team.rank)
        w, wo = _numbers(((hq + 2 * hkv) * d, h), 1), _numbers((h, hq * d), 2)
        wholes = [_numbers((m - 27 * call, h), call) for call in range(CALLS)]
        wants = [(x @ w.T).reshape(len(x), -1, d)[:, :hq] for x in wholes]
        given = [team.local_from_array(np.ascontiguousarray(_rows(x, team))) for x in wholes]
        w, wo_there = team.local_from_array(w), team.local_from_array(wo)
        heads = [before(x, w, len(whole))[0] for x, whole in zip(given, wholes)]
        outs = [behind(q, wo_there, len(whole)) for q, whole in zip(heads, wholes)]
        _expect(heads, [want[:, own.queries] for want in wants])
        _expect(outs, [_rows(want.reshape(len(want), -1) @ wo.T, team) for want in wants])
        before.close()
        behind.close()

    return main


def broadcast(packets_bytes):
    def main(team):
        op = Broadcast(team, 700, "fp32", programs=3, num_warps=1, packets_bytes=packets_bytes)
        wholes = [_numbers(700 - 99 * call, call) for call in range(CALLS)]
        given = [team.local_from_array(x * (team.rank == call % team.size)) for call, x in enumerate(wholes)]
        _expect([op(x, call % team.size) for call, x in enumerate(given)], wholes)
        op.close()

    return main


def all_reduce_norm(way):
    """The new residuals; the norms' bits are no small integers'."""

    def main(team):
        op = AllReduceNorm(team, 9, 72, "fp32", way=way, programs=3, num_warps=1, chunk_bytes=256)
        wholes = [[_numbers((9 - 2 * call, 72), call, rank) for rank in range(team.size)] for call in range(CALLS)]
        weight = team.local_from_array(_numbers((72,), 1))
        residuals = [team.local_from_array(np.zeros_like(xs[0])) for xs in wholes]
        for xs, residual in zip(wholes, residuals):
            op(team.local_from_array(xs[team.rank]), residual, weight, residual.shape[0])
        _expect(residuals, [sum(xs) for xs in wholes])
        op.close()

    return main


def all_to_all(packets_bytes):
    """Equal counts, then two drawn tables of unequal ones."""

    def main(team):
        op = AllToAll(team, 60, 24, "fp32", programs=3, num_warps=1, packets_bytes=packets_bytes)
        tables = [[[3] * team.size] * team.size]
        tables += [np.random.default_rng(call).integers(0, 6, (team.size, team.size)).tolist() for call in range(1, CALLS)]
        sent = [
            [np.split(_numbers((sum(row), 24), call, r), np.cumsum(row)[:-1]) for r, row in enumerate(t)] for call, t in enumerate(tables)
        ]
        given = [team.local_from_array(np.concatenate(parts[team.rank])) for parts in sent]
        wants = [np.concatenate([parts[source][team.rank] for source in range(team.size)]) for parts in sent]
        _expect([op(x, table) for x, table in zip(given, tables)], wants)
        op.close()

    return main


class TinyExperts:
    """A layer of experts for tokens whose slots may be dropped: the operands of all ranks, and its results in NumPy."""

    m, hidden, inner, experts, top_k = 21, 16, 12, 5, 2

    def __init__(self, ranks, call):
        rng = np.random.default_rng(call)
        self.ids = np.stack([rng.permutation(self.experts)[: self.top_k] for _ in range(self.m)]).astype(np.int32)
        self.ids[rng.random(self.ids.shape) < 0.2] = -1
        self.weights = rng.choice([0.5, 1.0, 2.0], self.ids.shape).astype(np.float32)
        self.x = _numbers((self.m, self.hidden), call, 1)
        self.up = [_numbers((self.experts, self.inner, self.hidden), 2, r) for r in range(ranks)]
        self.down = [_numbers((self.experts, self.hidden, self.inner), 3, r) for r in range(ranks)]

    def slots(self, rows, w):
        """Rows [slots, k] times each slot's expert's matrix; zeros where a slot is dropped."""
        flat = self.ids.reshape(-1)
        return np.stack([w[e] @ row if e >= 0 else np.zeros(w.shape[1], np.float32) for e, row in zip(flat, rows)])

    def inner_of(self, rank):
        return self.slots(np.repeat(self.x, self.top_k, 0), self.up[rank])

    def result(self):
        wide = sum(self.slots(self.inner_of(r), self.down[r]) for r in range(len(self.up)))
        return (wide.reshape(self.m, self.top_k, -1) * self.weights[:, :, None]).sum(1)

    def sizes(self, swapped=False):
        return self.m, *((self.hidden, self.inner) if swapped else (self.inner, self.hidden)), self.experts, self.top_k, "fp32"

    def order(self, route):
        return route_parts(route, self.m, self.experts, self.top_k).order

    def sorted_rows(self, rows, route):
        """The rows of slots in the route's order; zeros behind them."""
        order = self.order(route)
        return np.concatenate([rows[order], np.zeros((len(rows) - len(order), rows.shape[1]), np.float32)])


def experts(run, cls=None, swapped=False):
    """`run(team, op, case, route)` returns a result and what is wanted; calls with other routes follow on one operator."""

    def main(team):
        cases = [TinyExperts(team.size, call) for call in range(CALLS)]
        dealer = RouteIds(team, cases[0].m, cases[0].experts, cases[0].top_k, "i32")
        op = cls(team, *cases[0].sizes(swapped)) if cls else None
        found = [run(team, op, case, dealer(case.ids, case.weights, case.m)) for case in cases]
        _expect(*zip(*found))
        for each in (dealer, op):
            if each:
                each.close()

    return main


def _dealt(team, _, case, route):
    """Every kept slot is in the order once, by expert."""
    flat, order = case.ids.reshape(-1), case.order(route)
    return flat[order], np.sort(flat[flat >= 0])


def _grouped(team, op, case, route):
    return op(case.x, case.up[team.rank], route, case.m), case.sorted_rows(case.inner_of(team.rank), route)


def _gathered(team, op, case, route):
    return op(_rows(case.x, team), case.up[team.rank], route, case.m), case.sorted_rows(case.inner_of(team.rank), route)


def _scattered(team, op, case, route):
    return op(case.sorted_rows(case.inner_of(team.rank), route), case.down[team.rank], route, case.m), _rows(case.result(), team)


def _summed(team, op, case, route):
    return op(case.sorted_rows(case.inner_of(team.rank), route), case.down[team.rank], route, case.m), case.result()


def _layer(team, op, case, route):
    return op(_rows(case.x, team), case.up[team.rank], case.down[team.rank], route, case.m), _rows(case.result(), team)


def _layers(team, columns):
    """Of any numbers of tokens on the ranks, whose slots may be dropped."""
    from ep_reference import Layer

    draw = np.random.default_rng(0)
    counts = [[int(n) for n in draw.integers(0, 4, team.size)] for _ in range(CALLS)]
    layers = [Layer(of, 3, columns, 3 * team.size, 2, "fp32", seed) for seed, of in enumerate(counts)]
    return (layers[0].most, columns, layers[0].experts, layers[0].top_k, "fp32"), layers


def experts_apart(align=None, **options):
    """Dispatch and combine; with `align` rows come by expert."""
    from ep_reference import run

    def main(team):
        sizes, layers = _layers(team, 77)
        padded = {"align": align} if align else {}
        with (
            EpDispatch(team, *sizes, **options, **padded, **({"by_expert": True} if align else {})) as dispatch,
            EpCombine(team, *sizes, **options, **padded) as combine,
        ):
            for layer in layers:
                run(team, layer, dispatch, combine, align)

    return main


def fused_experts(team):
    from fused_reference import Experts, run

    _, layers = _layers(team, 64)
    run(team, layers, Experts(layers[0], 16), 16)


def route_scores(team):
    """The experts of the highest scores, and their softmax."""
    m, count, top_k = 21, 5, 2
    op, logits = Route(team, m, count, top_k, "fp32"), np.random.default_rng(4).standard_normal((m, count)).astype(np.float32)
    parts = route_parts(op(logits, np.zeros(count, np.float32), m), m, count, top_k)
    chosen = np.argsort(-logits, 1, kind="stable")[:, :top_k].reshape(-1)
    _expect([chosen[parts.order], np.sort(parts.order)], [np.sort(chosen), np.arange(m * top_k)])
    op.close()


class TinyModel:
    """Weights in the place of the demo's, and the results that they give."""

    def __init__(self, hidden, inner):
        self.weights = {
            "intermediate.dense": (_numbers((inner, hidden), 1) / 8, _numbers((inner,), 2) / 8),
            "output.dense": (_numbers((hidden, inner), 3) / 8, None),
        }

    def layer(self, index, name):
        return self.weights[name]


def demo_mlp(team):
    """Runs two layers, on float32: each rank's result is close to NumPy's."""
    from demo.tensor_parallel import ParallelMLP

    rows, hidden, inner = 20, 32, 64
    model = TinyModel(hidden, inner)
    mlp = ParallelMLP(team, model, 2, rows, "fp32")
    (up, bias), (down, _) = model.layer(0, "intermediate.dense"), model.layer(0, "output.dense")
    for layer in range(2):
        x = _numbers((rows, hidden), layer)
        out = np.zeros((rows, hidden), np.float32)
        mlp(layer, x, out)
        h = x @ up.T + bias
        want = h * 0.5 * (1 + np.vectorize(math.erf)(h * 0.5**0.5)) @ down.T
        np.testing.assert_allclose(out[mlp.mine], want[mlp.mine], rtol=1e-4, atol=1e-4)
    mlp.close()


def _main_of(path):
    spec = importlib.util.spec_from_file_location(f"swept_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main


def _examples():
    for path in sorted((ROOT / "examples").glob("*.py")):
        if not path.stem.startswith("test_"):
            yield f"examples/{path.name}", _main_of(path)


def guides(folder):
    """(name, main, ranks) of the mended examples of the guide to race reports, which are written to `folder`."""
    from race_guide import mended, sections

    for number, (title, script, report, mend) in enumerate(sections()):
        path = pathlib.Path(folder) / f"guide_{number}.py"
        path.write_text(mended(script, mend))
        yield f"guide: {title}", _main_of(path), 1 if "--ranks 1 " in report else 2


def _decode(make, sizes, shape, call):
    """Every score is 0, so the result is the mean of the values: 8 or 16 a rank and sequence."""

    def main(team):
        op = make(team, *sizes, "fp16", over_ranks=True, programs=3, num_warps=1)
        lengths, table = np.array([8, 16], np.int32), np.array([[2, 0], [1, 3]], np.int32)
        caches = [[_numbers((4, 8, *shape), n, rank).astype(np.float16) for rank in range(team.size)] for n in range(CALLS)]
        given = [team.local_from_array(cache[team.rank]) for cache in caches]
        means = [
            [np.mean([c[table[i]].reshape(16, *shape)[:length].mean(0, np.float32) for c in cache], 0) for i, length in enumerate(lengths)]
            for cache in caches
        ]
        _expect(
            [call(op, keys, table, lengths) for keys in given], [np.stack(mean).reshape(2, 1, -1, shape[-1])[..., :64] for mean in means]
        )
        op.close()

    return main


def mla_append(team):
    op, place = MlaAppend(team, 4, 2, 16, 16, 1, 3, 4, 2, 8, "fp16"), np.arange(4)
    turns = np.concatenate([np.ones((8, 8)), np.zeros((8, 8))], 1).astype(np.float32)
    rows = [[_numbers(shape, call).astype(np.float16) for shape in ((4, 2, 16), (4, 16), (4, 16))] for call in range(CALLS)]
    keys, at = team.local_from_array(np.zeros((3, 4, 32), np.float16)), (np.zeros(4, np.int32), place.astype(np.int32))
    given = [[team.local_from_array(x) for x in call] for call in rows]
    _expect([op(*call, *at, np.array([[2, 0]], np.int32), turns, keys, 4) for call in given], [call[0] for call in rows])
    np.testing.assert_array_equal(np.array(keys)[2], np.concatenate([rows[-1][2], rows[-1][1]], 1))
    op.close()


def kv_append(team):
    op = KvAppend(team, 6, 2, 2, 16, 2, 5, 4, 2, 8, 16, "fp16")
    table, token = np.array([[4, 1], [0, 2]], np.int32), np.arange(6)
    turns = np.concatenate([np.ones((8, 8)), np.zeros((8, 8))], 1).astype(np.float32)
    rows = [[_numbers((6, 2, 16), call, i).astype(np.float16) for i in range(3)] for call in range(CALLS)]
    keys, values = (team.local_from_array(np.zeros((5, 4, 2, 16), np.float16)) for _ in range(2))
    sequence, position = (token % 2).astype(np.int32), (token + 1).astype(np.int32)
    given = [[team.local_from_array(x) for x in call] for call in rows]
    _expect([op(*call, sequence, position, table, turns, keys, values, 6) for call in given], [call[0] for call in rows])
    for cache, wanted in zip((keys, values), rows[-1][1:]):
        np.testing.assert_array_equal(np.array(cache)[table[sequence, position // 4], position % 4], wanted)
    op.close()


def programs():
    """(name, main) of all that is swept."""
    for way in ("one_shot", "two_shot_packets", "two_shot"):
        yield f"all_reduce {way}", all_reduce(way)
        yield f"all_reduce_norm {way}", all_reduce_norm(way)
    for packets_bytes in (0, 1 << 20):
        yield f"reduce_scatter {'packets' if packets_bytes else 'chunks'}", reduce_scatter(packets_bytes)
        yield f"all_gather {'packets' if packets_bytes else 'copies'}", all_gather(packets_bytes)
    yield "gemm_ar packets", gemm_all_reduce(packets_bytes=1 << 30)
    yield "gemm_ar one_shot", gemm_all_reduce(packets_bytes=0, one_shot_bytes=1 << 30)
    yield "gemm_ar two_shot", gemm_all_reduce(packets_bytes=0, one_shot_bytes=0)
    yield "gemm_ar pieces", gemm_all_reduce(packets_bytes=0, one_shot_bytes=0, pieces=2)
    few = {"few_rows": 1, "programs": 4, "pieces": 8, "block_k": 16}
    for way, options in (("", {}), (" few rows", few)):
        yield f"gemm_rs{way}", gemm_reduce_scatter(**options)
        yield f"ag_gemm{way}", all_gather_gemm(**options)
    for packets_bytes in (0, 1 << 20):
        way = "packets" if packets_bytes else "copies"
        yield f"broadcast {way}", broadcast(packets_bytes)
        yield f"all_to_all {way}", all_to_all(packets_bytes)
    for hq, hkv in ((8, 4), (6, 3), (4, 1)):
        yield f"heads of ranks {hq}/{hkv}", heads_of_ranks(hq, hkv)
    yield "route", route_scores
    yield "route_ids", experts(_dealt)
    yield "grouped_gemm", experts(_grouped, GroupedGemm)
    yield "ag_moe", experts(_gathered, AgMoe)
    yield "moe_rs", experts(_scattered, MoeRs, swapped=True)
    yield "moe_ar", experts(_summed, MoeAr, swapped=True)
    yield "moe_mlp", experts(_layer, MoeMlp, swapped=True)
    for mode in ("latency", "throughput"):
        yield f"ep {mode}", experts_apart(mode=mode)
        yield f"ep by expert {mode}", experts_apart(4, mode=mode)
    yield "dispatch_moe, moe_combine", fused_experts
    q = np.zeros((2, 1, 2, 64), np.float16)
    yield "flash_decode", _decode(FlashDecode, (2, 1, 2, 2, 64, 4, 8, 2), (2, 64), lambda op, kv, *at: op(q, kv, kv, *at, 2))
    latent = lambda op, kv, *at: op(q[:, :, :1], q[:, :, :1, :32], kv, *at, 2)
    yield "mla_decode", _decode(MlaDecode, (2, 1, 1, 64, 32, 4, 8, 2), (96,), latent)
    yield "kv_append", kv_append
    yield "mla_append", mla_append
    yield "demo", demo_mlp
    yield from _examples()


def found_in(main, ranks, seed, slots=None):
    """Returns the text of a run's reports and errors; empty if there are none."""
    options = {} if slots is None else {"slots_per_rank": slots}
    try:
        session, _ = run_ranks(main, ranks, (), seed=seed, check=True, policy=POLICIES[seed % len(POLICIES)], **options)
    except Exception as error:  # whatever it is, it is a finding
        return f"{type(error).__name__}: {error}"
    return "".join(report["text"] for report in session.reports())


def resident(name, seed):
    """Operators work with few resident programs; the programs of examples and guides wait for each other and need them all."""
    few = None if name.startswith(("examples/", "guide: ")) else (None, 1, 2, None)[seed // len(POLICIES) % 4]
    return 2 if few == 1 and name.startswith("ep ") else few  # one more tells the others of slots


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--ranks", default="1,2,4,8")
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--minutes", type=float, default=1e9, help="begin no seed after these")
    options = parser.parse_args()
    ranks = [int(word) for word in options.ranks.split(",")]
    folder = tempfile.TemporaryDirectory()
    every = [(name, run, ranks) for name, run in programs()] + [(name, run, [count]) for name, run, count in guides(folder.name)]
    chosen = [entry for entry in every if re.search(options.only, entry[0])]
    began, runs, seeds, bad = time.monotonic(), 0, 0, {}
    for seed in range(options.first_seed, options.first_seed + options.seeds):
        if time.monotonic() - began > 60 * options.minutes:
            break
        for name, run, counts in chosen:
            for count in counts:
                text = found_in(run, count, seed, resident(name, seed))
                runs += 1
                if text and name not in bad:
                    print(f"{name}, {count} ranks, seed {seed}, {resident(name, seed) or 132} resident programs:\n{text}", flush=True)
                if text:
                    bad[name] = bad.get(name, 0) + 1
        seeds += 1
    print(
        f"{len(chosen)} programs, {options.ranks} ranks, {seeds} seeds: {runs} runs in {time.monotonic() - began:.0f} s; "
        + (", ".join(f"{name}: {count} reported" for name, count in bad.items()) or "nothing reported")
    )
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
