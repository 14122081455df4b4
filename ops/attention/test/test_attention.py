"""Attention and its gradients against float64 on a simulated rank: heads, lengths, options, types, errors."""

import pathlib
import re

import numpy as np
import pytest
from attention_reference import begins, run, tokens

import tandem
from tandem.ops import Attention, AttentionBackward

CASES = [
    ((40, 40), (40, 40), 2, 2, 64, {"causal": True}),
    ((64,), (64,), 2, 1, 64, {"causal": True}),
    ((70, 70, 70), (70, 70, 70), 3, 1, 64, {"causal": True}),
    ((70, 70, 70), (50, 50, 50), 2, 2, 64, {"causal": True, "window": 40}),
    ((32,), (80,), 4, 1, 64, {}),
    ((128, 128), (100, 100), 4, 2, 64, {"dtype": "bf16"}),
    ((128, 128), (128, 128), 2, 1, 128, {"causal": True}),
    ((37,), (61,), 2, 2, 64, {"causal": True}),
    ((61,), (37,), 2, 1, 64, {"causal": True}),
    ((61,), (37,), 1, 1, 64, {"causal": True, "top_left": True}),
    ((1, 33, 0, 20), (70, 33, 5, 0), 2, 1, 64, {"causal": True}),
    ((5, 50), (60, 17), 2, 1, 64, {}),
    ((70,), (70,), 1, 1, 64, {"causal": True, "window": 19}),
    ((50,), (83,), 1, 1, 64, {"window": 11}),
    ((3, 66), (40, 66), 1, 1, 64, {"causal": True, "window": 30, "softcap": 1.5}),
    ((200, 10, 130), (200, 10, 130), 2, 2, 64, {"causal": True}),  # sequences of more rows than a tile's columns
    ((0, 0, 40, 1, 0, 33), (5, 0, 17, 64, 9, 0), 2, 1, 64, {"causal": True}),  # the programs of sequences without rows
    ((1,) * 9 + (100,), (*range(10, 19), 100), 2, 1, 64, {}),
    ((40,), (40,), 2, 1, 64, {"softcap": 0.7, "scale": 0.5}),
    ((40,), (40,), 1, 1, 64, {"scale": 2e-7}),  # logarithms of many products
    ((20, 35), (20, 35), 4, 2, 64, {"causal": True, "sinks": True}),
    ((33,), (20,), 2, 2, 64, {"causal": True, "sinks": True, "scale": 0.3, "dtype": "bf16"}),
    ((33,), (33,), 2, 1, 96, {"causal": True, "sinks": True}),
    ((20, 33), (33, 20), 2, 1, 96, {}),
    ((20,), (33,), 1, 1, 128, {"dtype": "bf16"}),
    ((20, 33), (33, 20), 1, 1, 192, {"causal": True, "dv": 128}),
    ((20, 33), (33, 20), 1, 1, 192, {"causal": True}),
    ((33, 33), (33, 33), 3, 3, 40, {"causal": True}),  # heads beside others, whose elements are no whole tiles
    ((20, 70), (70, 20), 2, 2, 72, {}),
    ((150,), (150,), 2, 2, 72, {"causal": True}),
    ((64, 64), (64, 64), 2, 2, 112, {"dtype": "bf16"}),
    ((40,), (56,), 2, 2, 160, {"causal": True}),
    ((40,), (56,), 2, 2, 24, {"dv": 104}),
    ((300,), (300,), 4, 4, 216, {"dv": 136}),
    ((40,), (56,), 2, 2, 48, {"dtype": "fp8e4nv", "causal": True}),
    ((40, 40), (56, 56), 2, 2, 112, {"dtype": "fp8e4nv"}),
    ((20,), (20,), 1, 1, 256, {"causal": True}),
    ((300,), (300,), 4, 4, 256, {}),  # what is added to a wide head's gradient is turned
    ((40,), (56,), 2, 1, 64, {"dtype": "fp8e4nv", "causal": True, "sinks": True}),
    ((48, 48), (64, 64), 2, 1, 64, {"dtype": "fp8e4nv", "causal": True, "window": 20}),
    ((3, 40), (17, 21), 1, 1, 96, {"dtype": "fp8e4nv"}),
    ((3, 4, 40, 2), (17, 0, 21, 0), 1, 1, 64, {"dtype": "fp8e4nv"}),
    ((70, 70), (70, 70), 6, 1, 64, {"causal": True}),  # programs that share a block of keys, by heads
    ((150,), (150,), 1, 1, 64, {"causal": True}),  # by queries
    ((61, 140), (61, 140), 2, 1, 96, {"window": 50}),
    ((130,), (70,), 1, 1, 128, {}),
    ((40,), (40,), 1, 1, 64, {"causal": True, "tiles": {"block_m": 16, "block_n": 32, "num_warps": 2, "num_stages": 1}}),
]


@pytest.mark.parametrize("queries, keys, hq, hkv, d, options", CASES)
def test_against_float64(queries, keys, hq, hkv, d, options):
    def main(team):
        run(team, queries, keys, hq, hkv, d, backward=options.get("dtype") != "fp8e4nv", seed=len(queries), **options)

    assert tandem.launch(main, ranks=1, check=True).reports == []


def test_each_rank_has_heads_of_its_own():
    """Ranks call attention as they like: rank 0 with one head of keys, rank 1 with two, rank 2 not at all, one after the other."""

    def main(team):
        if team.rank < 2:
            run(team, (20,), (33,), 2 * (team.rank + 1), team.rank + 1, 64, backward=True, seed=team.rank)
        if team.rank == 0:
            run(team, (40,), (40,), 2, 1, 64, backward=False, seed=1, causal=True)
        team.barrier()

    assert tandem.launch(main, ranks=3, check=True).reports == []


def drawn(seed):
    """A call with any heads, lengths and options, which all go with each other."""
    draw = np.random.default_rng(seed)
    alike, count = bool(draw.integers(2)), int(draw.integers(1, 5))
    queries, keys = (tuple(int(n) for n in draw.integers(1, 81, 1 if alike else count)) for _ in range(2))
    if alike:
        queries, keys = queries * count, keys * count
    hkv, d = int(draw.integers(1, 4)), int(draw.choice([64, 40, 72, 80, 96, 112, 128, 160, 192]))
    options = {"causal": bool(draw.integers(2)), "top_left": bool(draw.integers(2)), "sinks": bool(draw.integers(2))}
    options |= {"window": int(draw.choice([0, 0, 1, 23])), "softcap": float(draw.choice([0, 0, 1.5]))}
    options["dtype"] = str(draw.choice(["fp16", "bf16", "fp8e4nv"]))
    if options["dtype"] == "fp8e4nv":
        d += d % 16
    return queries, keys, hkv * int(draw.integers(1, 4)), hkv, d, {name: value for name, value in options.items() if value}


@pytest.mark.parametrize("seed", range(24))
def test_drawn_calls(seed):
    test_against_float64(*drawn(seed))


def call(sizes=(40, 2, 1, 64, 64), numbers=(40, 40, 1, 40), dtype="fp16", shapes=None, **options):
    def main(team):
        m, n = numbers[:2]
        _, hq, hkv, d, dv = sizes
        q, k, v = (tokens(s, dtype, 0) for s in shapes or [(m, hq, d), (n, hkv, d), (n, hkv, dv)])
        cu = {"cu_q": begins([m]), "cu_kv": begins([n])} if options.get("varlen") == "cu" else {}
        Attention(team, *sizes, dtype, **options)(q, k, v, *numbers, **cu)

    return lambda: tandem.launch(main, ranks=1)


@pytest.mark.parametrize(
    "wrong, message",
    [
        (call((40, 3, 2, 64, 64)), "`attention`: `hq` is 3, a multiple of `hkv`, 2, is needed"),
        (call((40, 2, 1, 68, 64)), "`attention`: `d` is 68, a multiple of 8 up to 256 is needed"),
        (call((40, 2, 1, 64, 264)), "`attention`: `dv` is 264, a multiple of 8 up to 256 is needed"),
        (call((40, 2, 1, 72, 72), dtype="fp8e4nv"), "`attention`: `d` is 72, a multiple of 16 up to 256 is needed"),
        (call(dtype="fp32"), "`attention`: fp16, bf16 or fp8e4nv is needed, not fp32"),
        (call(numbers=(41, 40, 1, 41)), "`m` is 41, the operator was made for 1 to 40"),
        (call(numbers=(40, 39, 2, 20)), "`attention`: `n` is 39, as many keys of each of 2 sequences are needed, or `varlen`"),
        (call(numbers=(39, 40, 2, 20)), "`attention`: `m` is 39, as many queries of each of 2 sequences are needed, or `varlen`"),
        (call(numbers=(40, 40, 2, 40)), "`attention`: `longest` is 40, sequences have 20 queries"),
        (call(varlen=True), "`attention`: `cu_q` is needed with `varlen`"),
        (call(softcap=-1.0), "`attention`: `softcap` is -1.0, a number above 0 is needed"),
        (call(softcap=np.inf), r"`config` is \{\"softcap\": Infinity\}, JSON with finite numbers is needed"),
        (call(window=-1), "`attention`: `window` is -1, at least 1 is needed"),
        (call(shapes=[(40, 2, 64), (40, 2, 64), (40, 1, 64)]), r"`k` has shape \[40, 2, 64\], \[40, 1, 64\] is needed"),
        (call(dtype="fp8e4nv"), "`attention`: `scales` is needed with fp8e4nv"),
    ],
)
def test_wrong_arguments(wrong, message):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=message):
        wrong()


def test_lengths_beyond_the_tensors_are_not_there():
    def main(team):
        q, k = tokens((20, 1, 64), "fp16", 1), tokens((30, 1, 64), "fp16", 2)
        with Attention(team, 30, 1, 1, 64, 64, "fp16", varlen=True) as op:
            outs = [op(q, k, k, 20, 30, 2, 20, cu_q=np.array(a, np.int32), cu_kv=np.array(b, np.int32)) for a, b in lengths]
            return [np.array(out) for out in outs]

    lengths = [([0, 8, 20], [0, 15, 30]), ([-5, 8, 999], [-7, 15, 999])]
    result = tandem.launch(main, ranks=1, check=True)
    assert result.reports == [] and np.array_equal(*result.values[0])


@pytest.mark.parametrize("varlen", [False, True])
def test_what_an_earlier_call_has_left_does_not_count(varlen):
    """Blocks of keys that are longer than those of queries."""
    lengths, options = (5, 5), {"varlen": varlen, "block_m": 16, "block_n": 64}

    def main(team):
        given, ones = tokens((200, 1, 64), "fp8e4nv", 1), np.ones(3, np.float32)
        with Attention(team, 200, 1, 1, 64, 64, "fp8e4nv", **options) as op:
            outs = []
            for v, each in ((np.full_like(given, np.nan), (200,)), (given, lengths)):
                n = sum(each)
                cu = {"cu_q": begins(each), "cu_kv": begins(each)} if varlen else {}
                outs.append(np.array(op(given[:n], given[:n], v[:n], n, n, len(each), max(each), scales=ones, **cu)))
            return [np.isfinite(out.astype(np.float32)) for out in outs]

    before, now = tandem.launch(main, ranks=1).values[0]
    assert not before.any() and now.all()


def test_what_the_gradients_need():
    def main(team):
        q, lse = tokens((16, 1, 64), "fp16", 1), np.zeros((1, 16), np.float32)
        of_v = AttentionBackward(team, 16, 1, 1, 64, 64, "fp16")(q, q, q, q, lse, q, 16, 16, 1, 16)
        assert of_v.shape == (16, 1, 64)
        AttentionBackward(team, 16, 1, 1, 64, 64, "fp16", wants_sinks=True)(q, q, q, q, lse, q, 16, 16, 1, 16)

    with pytest.raises(ValueError, match="`attention_backward`: `sinks` is needed with `wants_sinks`"):
        tandem.launch(main, ranks=1)


def test_memory():
    def main(team):
        sizes = (100, 4, 2, 64, 64)
        made = [Attention(team, *sizes, "bf16"), Attention(team, *sizes, "fp8e4nv"), AttentionBackward(team, *sizes, "bf16")]
        made += [AttentionBackward(team, *sizes, "bf16", softcap=1.0), AttentionBackward(team, *sizes, "bf16", any_order=True)]
        return [op.memory() for op in made]

    parts = 4 * 64 * 16 * 2 * 228
    columns = 4 * 4 * 100 + 2 * 4 * 228 * 16 + parts
    forward = 3 * 32 * 4 * (64 + 2) + 4 * 3  # of three programs
    locals_ = [forward, 2 * 64 * 240 + forward, columns, 4 * 4 * 100 + parts, columns + 4 * 4 * 228 * 64]
    assert tandem.launch(main, ranks=1).values[0] == [{"symmetric": 0, "local": local} for local in locals_]


@pytest.mark.parametrize("operator", ["attention", "attention_backward"])
def test_readme_example(operator):
    text = (pathlib.Path(__file__).parents[2] / operator / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
