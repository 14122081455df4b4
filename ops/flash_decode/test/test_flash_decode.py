"""FlashDecode on simulated ranks, under the checker: lengths, pages, heads, windows, several queries, keys of several ranks, bad pages."""

import pathlib
import re

import numpy as np
import pytest
from decode_reference import Case, error

import tandem
from tandem.ops import FlashDecode

CASES = {
    "one query": Case(),
    "bf16, 16 queries' heads a head of keys": Case(heads=16, kv_heads=1, dtype="bf16", seed=1),
    "pages of one key": Case(page=1, width=70, seed=2),
    "pages larger than blocks": Case(page=64, width=2, seed=3),
    "8 queries a sequence": Case(q_len=8, heads=6, kv_heads=2, seed=4),
    "window": Case(window=7, q_len=3, width=6, seed=5),
    "sinks and a cap": Case(sinks=True, soft_cap=1.5, seed=6),
    "head dimension 128": Case(head_dim=128, kv_heads=1, seed=7),
    "head dimension 256": Case(head_dim=256, kv_heads=1, heads=2, m=2, width=2, seed=8),
    "head dimension 80": Case(head_dim=80, heads=6, seed=15),
    "head dimension 72": Case(head_dim=72, heads=6, seed=17),
    "head dimension 40": Case(head_dim=40, heads=4, q_len=2, seed=18),
    "head dimension 192": Case(head_dim=192, kv_heads=1, m=2, width=2, seed=19),
    "head dimension 96, fp8": Case(head_dim=96, q_len=3, fp8=True, dtype="bf16", seed=16),
    "more rows than a tile": Case(m=2, q_len=8, heads=16, kv_heads=1, width=2, seed=9),
    "parts that are put together by all": Case(m=2, q_len=4, heads=16, kv_heads=1, head_dim=256, width=3, seed=12),
    "fp8": Case(fp8=True, seed=10),
    "many short sequences": Case(m=40, heads=1, kv_heads=1, width=1, seed=11),
}


def run(case, seed=0, calls=1, check=True, **options):
    def main(team):
        sizes = (case.m, case.q_len, case.heads, case.kv_heads, case.head_dim, case.pages, case.page, case.width)
        op = FlashDecode(team, *sizes, case.dtype, **case.options(), **options)
        rank = team.rank if case.ranks > 1 else 0
        given = (case.q, case.keys[rank], case.values[rank], case.tables[rank], case.lengths[rank])
        outs = [op(*given, case.m, **case.more(rank)) for _ in range(calls)]
        return [np.array(out) for out in outs]

    result = tandem.launch(main, ranks=case.ranks, seed=seed, check=check)
    assert result.reports == []
    return result.values


@pytest.mark.parametrize("name", CASES)
def test_against_float64(name):
    case = CASES[name]
    wanted = case.result()
    for programs in (1, 5, 40):
        out = run(case, seed=programs, programs=programs)[0][0]
        assert error(out, wanted) < (8e-3 if case.dtype == "bf16" else 2e-3), programs


@pytest.mark.parametrize("length", [0, 1, 50, 96])
def test_sequences_alike(length):
    """Items begin with runs, or runs with items."""
    case = Case(m=3, width=6, alike=length, seed=14)
    for programs in (1, 2, 3, 4, 6, 7, 12, 13, 40):
        assert error(run(case, seed=programs, programs=programs)[0][0], case.result()) < 2e-3, programs


def test_scales_of_any_sign():
    """The greatest product has the least score where a scale is below 0, and all scores are alike where it is 0."""
    case = Case(fp8=True, heads=6, kv_heads=3, q_len=2, seed=20)
    case.scales[0] = -0.75, 0, 0.5
    case.scales[1] = -1, 0.5, 0
    assert error(run(case)[0][0], case.result()) < 2e-3


def drawn(seed):
    """Heads, pages, lengths, queries and options, which all go with each other."""
    draw = np.random.default_rng(seed)
    kv_heads, page = int(draw.integers(1, 4)), int(draw.choice([1, 16, 64, 128]))
    return Case(
        ranks=int(draw.choice([1, 1, 2, 3])),
        m=int(draw.integers(1, 5)),
        q_len=int(draw.integers(1, 9)),
        heads=kv_heads * int(draw.choice([1, 2, 3, 7, 16])),
        kv_heads=kv_heads,
        head_dim=int(draw.choice([64, 80, 96, 128, 256])),
        page=page,
        width=max(1, int(draw.integers(20, 120)) // page),
        dtype=str(draw.choice(["fp16", "bf16"])),
        window=int(draw.choice([0, 0, 1, 30])),
        soft_cap=float(draw.choice([0, 0, 1.5])),
        sinks=bool(draw.integers(2)),
        fp8=bool(draw.integers(2)),
        seed=seed,
    )


@pytest.mark.parametrize("seed", range(20))
def test_drawn_calls(seed):
    case = drawn(seed)
    for outs in run(case, seed, programs=1 + seed % 7):
        assert error(outs[0], case.result()) < (8e-3 if case.dtype == "bf16" else 2e-3)


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_keys_of_several_ranks(ranks):
    shapes = [{}, {"q_len": 3, "window": 20, "sinks": True}, {"soft_cap": 2.0, "kv_heads": 1, "page": 64, "width": 1}]
    for i, shape in enumerate(shapes):
        case = Case(ranks=ranks, m=2 if ranks > 4 else 3, seed=10 * ranks + i, **shape)
        wanted = case.result()
        for seed in range(20 // len(shapes) + 1 if ranks < 4 else 2):
            values = run(case, seed, calls=3, programs=3)
            assert error(values[0][0], wanted) < 2e-3
            assert len({out.tobytes() for outs in values for out in outs}) == 1  # on all ranks, in all calls


def test_same_bits_with_every_schedule():
    case = Case(m=4, width=8, seed=20)
    assert len({out.tobytes() for seed in range(20) for out in run(case, seed, calls=2, programs=7)[0]}) == 1


def test_one_operator_serves_all_lengths():
    """As a captured launch does: nothing but what stands on the device changes between calls."""
    cases = [Case(m=4, width=5, seed=30 + i) for i in range(6)]

    def main(team):
        case = cases[0]
        op = FlashDecode(team, case.m, 1, case.heads, case.kv_heads, case.head_dim, case.pages, case.page, case.width, case.dtype)
        given = [team.local_from_array(a) for a in (case.q, case.keys[0], case.values[0], case.tables[0], case.lengths[0])]
        found = []
        for c in cases:
            for to, array in zip(given, (c.q, c.keys[0], c.values[0], c.tables[0], c.lengths[0])):
                to[...] = array
            found.append(np.array(op(*given, case.m)))
        return found

    result = tandem.launch(main, ranks=1, check=True)
    assert result.reports == []
    for case, out in zip(cases, result.values[0]):
        assert error(out, case.result()) < 2e-3


@pytest.mark.parametrize("page", [1, 16])
def test_bad_pages_and_lengths(page):
    case = Case(page=page, width=48 // page, seed=40)
    room = 48
    case.tables[0, 0, 1], case.tables[0, 0, 2], case.tables[0, 2, 0] = case.pages, -1, 2**31 - 1
    case.lengths[0] = room, 0, 17

    def main(team, lengths):
        sizes = (case.m, 1, case.heads, case.kv_heads, case.head_dim, case.pages, case.page, case.width)
        op, status = FlashDecode(team, *sizes, case.dtype), team.local_from_array(np.zeros(2, np.int32))
        out = op(case.q, case.keys[0], case.values[0], case.tables[0], lengths, case.m, status=status, ends=case.lengths[0])
        return np.array(out), np.array(status).tolist()

    for lengths, status in (case.lengths[0], [1, 3]), (np.array([room + 1, -1, 17], np.int32), [3, 3]):
        result = tandem.launch(lambda team, lengths=lengths: main(team, lengths), ranks=1, check=True)
        assert result.reports == [] and result.values[0][1] == status
        assert error(result.values[0][0], case.result()) < 2e-3
    case.tables[0] %= case.pages
    out, status = tandem.launch(lambda team: main(team, case.lengths[0]), ranks=1).values[0]
    assert status == [0, 0] and error(out, case.result()) < 2e-3


def test_a_page_freed_and_used_again_in_one_step():
    """A page of a sequence goes to another one, whose keys are written beside the launch that still reads the old ones."""
    case = Case(seed=50)

    def main(team, waits):
        sizes = (case.m, 1, case.heads, case.kv_heads, case.head_dim, case.pages, case.page, case.width)
        op, beside = FlashDecode(team, *sizes, case.dtype), team.new_stream()
        keys = team.local_from_array(case.keys[0], name="keys")
        op(case.q, keys, case.values[0], case.tables[0], case.lengths[0], case.m)
        if waits:
            beside.wait_event(team.stream.record_event())
        beside.memset(keys[int(case.tables[0, 0, 1])], 0)  # <-- reuse
        team.synchronize()

    for seed in range(4):
        assert tandem.launch(lambda team: main(team, True), ranks=1, seed=seed, check=True).reports == []
        with pytest.raises(tandem.SimulationError) as caught:
            tandem.launch(lambda team: main(team, False), ranks=1, seed=seed, check=True)
        report = caught.value.reports[0]
        assert report["kind"] == "race" and "`keys`" in report["text"]
        assert "tl.load((heads + d)" in report["text"] and "# <-- reuse" in report["text"]


@pytest.mark.parametrize(
    "change, message",
    [
        ({"kv_heads": 3}, "`heads` is 4, a multiple of `kv_heads`, 3, is needed"),
        ({"head_dim": 68}, "`head_dim` is 68, a multiple of 8 from 32 to 256 is needed"),
        ({"head_dim": 72, "fp8_cache": True}, "`head_dim` is 72, a multiple of 16 from 32 to 256 is needed"),
        ({"page": 24}, "`page` is 24, a power of two is needed"),
        ({"q_len": 9}, "`q_len` is 9, 1 to 8 are possible"),
        ({"soft_cap": -1.0}, r"`soft_cap` is -1.0, a number above 0 is needed"),
        ({"scale": "x"}, 'option `scale` is "x", a number is needed'),
        ({"window": -1}, "`window` is -1, at least 0 is needed"),
    ],
)
def test_wrong_sizes(change, message):
    sizes = {"q_len": 1, "heads": 4, "kv_heads": 2, "head_dim": 64, "pages": 8, "page": 16, "width": 2, **change}
    with pytest.raises((ValueError, RuntimeError), match=re.escape(message) if '"' in message else message):
        tandem.launch(lambda team: FlashDecode(team, 2, dtype="fp16", **sizes), ranks=1)


def test_wrong_arguments():
    case = Case()

    def main(team, **change):
        sizes = (case.m, 1, case.heads, case.kv_heads, case.head_dim, case.pages, case.page, case.width)
        given = {"q": case.q, "keys": case.keys[0], "values": case.values[0], "table": case.tables[0], "lengths": case.lengths[0]}
        FlashDecode(team, *sizes, case.dtype)(**{**given, **change}, m=case.m)

    for change, message in [
        ({"table": case.tables[0, :, :2]}, r"`table` has shape \[3, 2\], \[3, 4\] is needed"),
        ({"lengths": case.lengths[0].astype(np.int64)}, "`lengths` is i64, it must be i32"),
        ({"status": np.zeros(2, np.int32)}, "`status` must be a tensor of the team"),
        ({"scales": case.scales}, "`scales` goes with `fp8_cache` alone"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            tandem.launch(lambda team, change=change: main(team, **change), ranks=1)


@pytest.mark.parametrize("over_ranks", [False, True])
@pytest.mark.parametrize("heads, q_len, head_dim", [(4, 1, 64), (24, 3, 128), (16, 8, 256)])
def test_memory(heads, q_len, head_dim, over_ranks):
    def main(team):
        return FlashDecode(team, 5, q_len, heads, 2, head_dim, 8, 16, 2, "fp16", programs=5, over_ranks=over_ranks).memory()

    rows = min(64, max(16, 1 << (q_len * heads // 2 - 1).bit_length()))
    local = 5 * (4 * rows * head_dim + 16 * rows) + 16 * 5 + (5 * rows * (head_dim + 2) * 8 if over_ranks else 4)
    symmetric = 2 * 3 * 5 * q_len * heads * (head_dim // 2 + 1) * 16 if over_ranks else 0
    for memory in tandem.launch(main, ranks=3).values:
        assert memory == {"symmetric": symmetric, "local": local}


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
