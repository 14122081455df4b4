"""Projections before and behind an attention whose heads are dealt to simulated ranks, against float64 and under the checker: heads, sizes,
types, schedules, many calls, memory, errors."""

import pathlib
import re

import numpy as np
import pytest
from heads_reference import HEADS, Before, Behind, rows_of

import tandem
from tandem.ops import AllToAllOutGemm, QkvGemmAllToAll, heads_of_rank

SMALL = {"block_m": 16, "block_n": 16, "block_k": 16, "programs": 5, "group": 2}
BOTH = pytest.mark.parametrize("made", [Before, Behind])


def run(case, seed=0, policy="random", slots=None, calls=1, **options):
    def main(team):
        with case.operator(team, **options) as op:
            found = [op(*case.given(team.rank), case.m) for _ in range(calls)]
            return [np.array(x) for x in found[-1]] if isinstance(case, Before) else np.array(found[-1])

    result = tandem.launch(main, ranks=case.ranks, seed=seed, policy=policy, slots_per_rank=slots, check=True)
    assert result.reports == []
    for rank, found in enumerate(result.values):
        case.check(rank, found)
    return result


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7, 8])
@pytest.mark.parametrize("hq, hkv", [(8, 8), (12, 6), (9, 3), (8, 2), (5, 1), (2, 1), (96, 12)])
def test_every_head_is_dealt_with_its_keys(ranks, hq, hkv):
    own = [heads_of_rank(hq, hkv, ranks, rank) for rank in range(ranks)]
    assert [head for heads in own for head in range(hq)[heads.queries]] == list(range(hq))
    for heads in own:
        assert {head // (hq // hkv) for head in range(hq)[heads.queries]} <= set(range(hkv)[heads.keys])
        assert len(range(hq)[heads.queries]) % max(len(range(hkv)[heads.keys]), 1) == 0
        assert len(range(hkv)[heads.keys]) <= -(-hkv // ranks)


@BOTH
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("heads", HEADS)
def test_heads(made, heads, ranks):
    run(made(ranks, 70, heads, seed=ranks), seed=ranks, **SMALL)
    run(made(ranks, 130, heads, dtype="bf16", seed=ranks), policy="slowest-rank", bands=2)


@BOTH
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("m", [1, 5, 64, 257])
def test_rows(made, m, ranks):
    run(made(ranks, m, dtype="fp16", seed=m), seed=m)
    run(made(ranks, m, (4, 2, 32), seed=m), seed=m, slots=2, bands=8, calls=2, **SMALL)


@BOTH
def test_columns_that_are_no_blocks(made):
    run(made(2, 50, (6, 3, 7), 33, "fp16"))
    run(made(3, 50, (4, 2, 24), 41, "fp32"))


@BOTH
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_twenty_seeds(made, ranks):
    case = made(ranks, 60, (8, 2, 16))
    for seed in range(20):
        run(case, seed=seed, policy="slowest-rank" if seed % 2 else "random", bands=2, **SMALL)


@BOTH
@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_many_calls_on_one_operator(made, ranks):
    """Nothing waits between the calls, whose rows change, and what they read is overwritten behind them."""
    cases = [made(ranks, m, (6, 2, 16), seed=i) for i, m in enumerate([64, 3, 50, 64, 1, 37])]

    def main(team):
        with cases[0].operator(team, bands=2, **SMALL) as op:
            outs = []
            for case in cases:
                given = [team.local_from_array(x) for x in case.given(team.rank)]
                outs.append(op(*given, case.m))
                for x in given:
                    team.stream.memset(x, 255)
            return [[np.array(x) for x in out] if made is Before else np.array(out) for out in outs]

    for seed in range(4):
        result = tandem.launch(main, ranks=ranks, seed=seed, policy="slowest-rank" if seed % 2 else "random", check=True)
        assert result.reports == []
        for rank, found in enumerate(result.values):
            for case, out in zip(cases, found):
                case.check(rank, out)


@BOTH
def test_bits_are_the_same_in_every_run(made):
    case = made(3, 50, (8, 2, 16), dtype="bf16")
    bits = {tuple(b"".join(np.array(x).tobytes() for x in v) for v in run(case, seed=seed).values) for seed in range(5)}
    assert len(bits) == 1


def test_one_behind_the_other():
    """As a layer calls them, with what is between left out: what comes out is a product of the products."""
    ranks, m, heads = 4, 45, (8, 4, 16)
    before, behind = Before(ranks, m, heads), Behind(ranks, m, heads)
    want = before.q.reshape(m, -1).astype(np.float32).astype(np.float64) @ behind.w.astype(np.float64).T

    def main(team):
        with before.operator(team) as first, behind.operator(team) as second:
            outs = []
            for _ in range(3):
                q, _ = first(*before.given(team.rank), m)
                outs.append(second(q, behind.w, m))
            return [np.array(out) for out in outs]

    result = tandem.launch(main, ranks=ranks, check=True)
    assert result.reports == []
    for rank, outs in enumerate(result.values):
        for out in outs:
            assert np.allclose(out, want[rows_of(m, ranks, rank)], rtol=1e-4, atol=1e-4 * abs(want).max())


@BOTH
def test_overlap_is_in_the_trace(made):
    case = made(2, 8192, (16, 4, 64), 64, "fp16")

    def main(team):
        case.operator(team, programs=16)(*case.given(team.rank), case.m)

    for rank in tandem.launch(main, ranks=2, trace=True).summary["ranks"]:
        assert rank["bytes"] >= 4096 * 8 * 64 * 2
        assert rank["overlapped_ns"] > 0.5 * rank["transfer_ns"]


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_memory(ranks):
    def main(team):
        with Before(ranks, 100, (6, 2, 16), dtype="fp16").operator(team) as before:
            with Behind(ranks, 100, (6, 2, 16), dtype="fp16").operator(team, block_m=32) as behind:
                return before.memory(), behind.memory()

    own = [heads_of_rank(6, 2, ranks, r) for r in range(ranks)]
    most_q, most_k = (max(len(range(n)[h]) for h in some) for n, some in ((6, [o.queries for o in own]), (2, [o.keys for o in own])))
    shard = -(-100 // ranks)
    of_before = (ranks * most_q + 2 * min(2, ranks) * most_k) * shard * 16 * 2 if ranks > 1 else 0
    of_behind = ranks * -(-shard // 32) * 32 * most_q * 16 * 2 if ranks > 1 else 0
    for before, behind in tandem.launch(main, ranks=ranks).values:
        assert before == {"symmetric": of_before + 8 * 9 * ranks, "local": 12}
        assert behind == {"symmetric": of_behind + 16 * (ranks + 1), "local": 0}


@BOTH
def test_tuning_keeps_the_result(made, tmp_path, monkeypatch):
    monkeypatch.setenv("TANDEM_CACHE_DIR", str(tmp_path))
    case = made(2, 40, dtype="fp16")

    def main(team):
        with case.operator(team) as op:
            given = case.given(team.rank)
            tuned = op.tune(*given, case.m)
            found = op(*given, case.m)
            return tuned.tried, [np.array(x) for x in found] if made is Before else np.array(found)

    for rank, (tried, found) in enumerate(tandem.launch(main, ranks=2).values):
        assert tried > 0
        case.check(rank, found)


def called(made, sizes, shapes, m, dtype="fp32", **options):
    def main(team):
        made(team, *sizes, dtype, **options)(*(np.zeros(shape, np.float32) for shape in shapes), m)

    return lambda: tandem.launch(main, ranks=2)


SIZES = (10, 16, 4, 2, 8)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (called(QkvGemmAllToAll, (10, 16, 3, 2, 8), [], 10), "`qkv_gemm_a2a`: `hq` is 3, a multiple of `hkv`, 2, is needed"),
        (called(AllToAllOutGemm, (10, 16, 3, 2, 8), [], 10), "`a2a_o_gemm`: `hq` is 3, a multiple of `hkv`, 2, is needed"),
        (called(QkvGemmAllToAll, (10, 16, 4, 0, 8), [], 10), "`hkv` is 0, at least 1 is needed"),
        (called(QkvGemmAllToAll, SIZES, [(5, 16), (64, 16)], 11), "`m` is 11, the operator was made for 1 to 10"),
        (called(QkvGemmAllToAll, SIZES, [(4, 16), (64, 16)], 10), r"`x` has shape \[4, 16\], \[5, 16\] is needed"),
        (called(QkvGemmAllToAll, SIZES, [(5, 16), (32, 16)], 10), r"`w` has shape \[32, 16\], \[64, 16\] is needed"),
        (called(AllToAllOutGemm, SIZES, [(10, 4, 8), (16, 32)], 10), r"`x` has shape \[10, 4, 8\], \[10, 2, 8\] is needed"),
        (called(AllToAllOutGemm, SIZES, [(10, 2, 8), (16, 16)], 10), r"`w` has shape \[16, 16\], \[16, 32\] is needed"),
        (called(AllToAllOutGemm, SIZES, [(10, 2, 8), (16, 32)], 10, "fp16"), "`x` is fp32, the operator was made for fp16"),
        (called(AllToAllOutGemm, SIZES, [], 10, "fp8e4nv"), "fp16, bf16 or fp32 is needed, not fp8e4nv"),
        (called(QkvGemmAllToAll, SIZES, [], 10, bands=9), "`bands` is 9, 1 to 8 are possible"),
        (called(QkvGemmAllToAll, SIZES, [], 10, b_transposed=True), "`b_transposed`"),
        (called(AllToAllOutGemm, SIZES, [], 10, chunks=1), "`a2a_o_gemm` does not take `chunks`"),
    ],
)
def test_wrong_arguments(wrong, message):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        wrong()


@pytest.mark.parametrize("name", ["qkv_gemm_a2a", "a2a_o_gemm"])
def test_readme_example(name):
    text = (pathlib.Path(__file__).parents[2] / name / "README.md").read_text()
    examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert examples
    for code in examples:
        exec(compile(code, "README.md", "exec"), {})
