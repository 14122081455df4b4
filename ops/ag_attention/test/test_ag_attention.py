"""Attention over simulated ranks against float64, under the checker: lengths, heads, options, many calls, memory, errors."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "attention" / "test"))

from gather_attention_reference import Case, Packed

import tandem
from tandem.ops import AllGatherAttention

CASES = [
    {"m": 128, "causal": True},
    {"m": 150, "causal": True, "batch": 2, "bands": 3},
    {"m": 90, "batch": 2, "hq": 4, "hkv": 2, "bands": 4},
    {"m": 70, "causal": True, "batch": 2, "hq": 4, "hkv": 4, "bands": 3, "groups": 4},
    {"m": 77, "causal": True, "in_order": True, "sinks": True},
    {"m": 100, "causal": True, "softcap": 1.5, "scale": 0.3, "dtype": "bf16"},
    {"m": 5, "causal": True},
    {"m": 1, "causal": True, "d": 96},
    {"m": 40, "causal": True, "d": 192, "bands": 2},
    {"m": 150, "causal": True, "window": 33, "bands": 5},
    {"m": 150, "causal": True, "ring": True, "bands": 3, "hq": 4, "hkv": 2, "sinks": True},
    {"m": 90, "ring": True, "batch": 2, "in_order": True, "bands": 2},
    {"m": 40, "causal": True, "d": 192, "ring": True, "window": 19, "bands": 2},
    {"m": 131, "causal": True, "window": 20, "bands": 4, "in_order": True, "hq": 4, "hkv": 2, "groups": 2},
    {"m": 67, "causal": True, "window": 1, "batch": 2, "bands": 3, "sinks": True},
    {"m": 80, "causal": True, "window": 79, "bands": 3, "softcap": 2.0},
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_against_float64(ranks, case):
    made = Case(ranks, **case, seed=ranks)

    def main(team):
        with made.operator(team) as op:
            return [np.array(x) for x in made.call(op, team)]

    policy = "slowest-rank" if case["m"] % 2 else "random"
    slots = 1 if ranks == 3 else None  # a program at a time
    result = tandem.launch(main, ranks=ranks, seed=ranks + case["m"], policy=policy, slots_per_rank=slots, check=True)
    assert result.reports == []
    for rank, found in enumerate(result.values):
        made.check(rank, found)


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("ranks", [2, 4])
def test_many_calls_on_one_operator(ranks, ring):
    cases = [Case(ranks, m, hq=1, causal=True, bands=2, seed=i, ring=ring) for i, m in enumerate([64, 3, 50, 64, 1, 37])]

    def main(team):
        with cases[0].operator(team) as op:
            outs = []
            for case in cases:
                given = [team.local_from_array(x) for x in case.given(team.rank)]
                outs.append(op(*given, case.m, 1, case.m))
                for x in given:
                    team.stream.memset(x, 255)  # the next item of the stream
            return [[np.array(x) for x in out] for out in outs]

    for seed in range(4):
        result = tandem.launch(main, ranks=ranks, seed=seed, policy="slowest-rank" if seed % 2 else "random", check=True)
        assert result.reports == []
        for rank, found in enumerate(result.values):
            for case, out in zip(cases, found):
                case.check(rank, out)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize(
    "lengths, options",
    [
        ((70, 1, 33, 0, 50), {"causal": True, "bands": 3}),
        ((40, 0, 37), {"causal": True, "hkv": 2, "bands": 2, "groups": 2}),
        ((64, 40), {"bands": 2, "more": 5}),
        ((9, 90), {"causal": True, "in_order": True}),
        ((90, 0, 70), {"causal": True, "window": 21, "bands": 3}),
        ((70, 1, 33, 0, 50), {"causal": True, "ring": True, "bands": 2}),
    ],
)
def test_sequences_of_any_lengths(ranks, lengths, options):
    made = Packed(ranks, lengths, **options, seed=ranks)

    def main(team):
        with made.operator(team, varlen=True) as op:
            return [[np.array(x) for x in made.call(op, team)] for _ in range(2)]

    result = tandem.launch(main, ranks=ranks, seed=ranks, check=True)
    assert result.reports == []
    for rank, calls in enumerate(result.values):
        for found in calls:
            made.check(rank, found)


def test_bits_are_the_same_in_every_run():
    case = Case(3, 70, causal=True, bands=3)

    def main(team):
        with case.operator(team) as op:
            return np.array(case.call(op, team)[0]).tobytes()

    assert len({tuple(tandem.launch(main, ranks=3, seed=seed).values) for seed in range(4)}) == 1


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_memory(ranks, ring):
    def main(team):
        with AllGatherAttention(team, 100, 2, 4, 2, 192, 128, "fp16", block_n=32, ring=ring) as op:
            return op.memory()

    rows = 2 * -(-100 // ranks)
    kept = (2 if ring else ranks) * (rows + 32) * 2 * (192 + 128) * 2
    for memory in tandem.launch(main, ranks=ranks).values:
        symmetric, local = (kept + (24 if ring else 16) * ranks + 16, 4 * 192 * 2) if ranks > 1 else (0, 0)
        local += 4 * rows * 4 * (128 + 4) if ring and ranks > 1 else 0
        assert memory == {"symmetric": symmetric, "local": local}


def call(sizes=(40, 1, 2, 1, 64, 64), numbers=(40, 1, 40), dtype="fp16", shapes=None, **options):
    def main(team):
        q, k, v = (np.zeros(s, np.float16) for s in shapes or [(1, 20, 2, 64), (1, 20, 1, 64), (1, 20, 1, 64)])
        AllGatherAttention(team, *sizes, dtype, **options)(q, k, v, *numbers)

    return lambda: tandem.launch(main, ranks=2)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (call((40, 1, 3, 2, 64, 64)), "`ag_attention`: `hq` is 3, a multiple of `hkv`, 2, is needed"),
        (call((40, 1, 2, 1, 68, 64)), "`ag_attention`: `d` is 68, a multiple of 8 up to 256 is needed"),
        (call((40, 1, 2, 1, 64, 264)), "`ag_attention`: `dv` is 264, a multiple of 8 up to 256 is needed"),
        (call(dtype="fp32"), "`ag_attention`: fp16 or bf16 is needed, not fp32"),
        (call(numbers=(41, 1, 41)), "`m` is 41, the operator was made for 1 to 40"),
        (call(numbers=(38, 1, 38)), r"`q` has shape \[1, 20, 2, 64\], \[1, 19, 2, 64\] is needed"),
        (call(bands=17), "`ag_attention`: `bands` is 17"),
        (call((40, 1, 2, 2, 64, 64), groups=2, ring=True), "`ag_attention`: `groups` is 2, with `ring` it is 1"),
        (call(groups=2), "`ag_attention`: `groups` is 2, a divisor of `hkv`, 1, is needed"),
        (call(numbers=(40, 2, 40)), "`ag_attention`: `sequences` is 2 and `longest` 40, with 40 rows and no `varlen`"),
        (call((40, 2, 2, 1, 64, 64), varlen=True), "`ag_attention`: `batch` is 2, with `varlen` it is 1"),
        (call(varlen=True), "`ag_attention`: `cu` is needed with `varlen`"),
        (call(window=3), "`ag_attention`: `window` is 3, which goes with `causal` alone"),
    ],
)
def test_wrong_arguments(wrong, message):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        wrong()


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
