"""MlaDecode on simulated ranks, under the checker; what it shares with FlashDecode is tested there."""

import pathlib
import re
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "flash_decode/test"))

from decode_reference import Case, error

import tandem
from tandem import Tensor
from tandem.ops import MlaDecode


def run(case, seed=0, calls=1, **options):
    def main(team):
        sizes = (case.m, case.q_len, case.heads, case.head_dim, case.turned, case.pages, case.page, case.width)
        op = MlaDecode(team, *sizes, case.dtype, **case.options(), **options)
        rank = team.rank if case.ranks > 1 else 0
        more = case.more(rank)
        given = (case.q, case.q_turned, case.keys[rank][:, :, 0], case.tables[rank], case.lengths[rank])
        return [np.array(op(*given, case.m, **more)) for _ in range(calls)]

    result = tandem.launch(main, ranks=case.ranks, seed=seed, check=True)
    assert result.reports == []
    return result.values


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"head_dim": 512, "turned": 64, "heads": 16, "m": 2, "width": 2, "dtype": "bf16"},
        {"heads": 24, "q_len": 5, "page": 1, "width": 40, "m": 2},
        {"heads": 40, "q_len": 3, "page": 16},  # the last tile's rows end behind the sequence's
        {"fp8": True, "page": 64, "width": 1},
        {"sinks": True, "soft_cap": 2.0, "window": 9},
    ],
)
def test_against_float64(shape):
    case = Case(**{"kv_heads": 1, "turned": 32, **shape})
    if case.fp8:
        case.scales[1] = case.scales[0]
    wanted = case.result()
    for programs in (1, 6, 20):
        assert error(run(case, programs, programs=programs)[0][0], wanted) < (8e-3 if case.dtype == "bf16" else 2e-3)


@pytest.mark.parametrize("ranks", [2, 3, 4, 8])
def test_keys_of_several_ranks(ranks):
    case = Case(ranks=ranks, kv_heads=1, turned=32, q_len=2, m=2, seed=ranks)
    wanted = case.result()
    for seed in range(4 if ranks < 8 else 1):
        values = run(case, seed, calls=3, programs=3)
        assert error(values[0][0], wanted) < 2e-3
        assert len({out.tobytes() for outs in values for out in outs}) == 1


@pytest.mark.parametrize("page, width", [(1, 96), (16, 6), (64, 2)])
def test_only_a_sequences_keys_count(page, width):
    """Keys behind the lengths and of other pages are no numbers; some pages are none."""
    case = Case(kv_heads=1, turned=32, page=page, width=width, m=5, q_len=2, seed=page)
    case.lengths[0] = 96, 1, 17, 79, 64
    case.ends[0] = case.totals = case.lengths[0]
    case.tables[0, 0, 2 // page + 1], case.tables[0, 3, 0] = case.pages, -(2**31) + 1
    keys = np.full_like(case.keys[0], np.nan)
    for seq, length in enumerate(case.lengths[0]):
        at = np.arange(length)
        pages = case.tables[0, seq, at // page]
        real = (pages >= 0) & (pages < case.pages)
        keys[pages[real], (at % page)[real]] = case.keys[0][pages[real], (at % page)[real]]

    def main(team):
        sizes = (case.m, case.q_len, case.heads, case.head_dim, case.turned, case.pages, page, width)
        op, status = MlaDecode(team, *sizes, case.dtype), team.local_from_array(np.zeros(2, np.int32))
        out = op(case.q, case.q_turned, keys[:, :, 0], case.tables[0], case.lengths[0], case.m, status=status, ends=case.ends[0])
        return np.array(out), np.array(status).tolist()

    result = tandem.launch(main, ranks=1, check=True)
    assert result.reports == [] and result.values[0][1] == [1, 4]
    assert error(result.values[0][0], case.result()) < 2e-3


@pytest.mark.parametrize("which", ["q", "q_turned", "cache"])
def test_tensors_that_are_not_aligned(which):
    case = Case(kv_heads=1, turned=32)

    def main(team):
        def given(name, values):
            at = int(name == which)
            flat = team.local_from_array(np.concatenate([np.zeros(at, values.dtype), values.reshape(-1)]))
            return Tensor(team, flat[at:].address, values.shape, values.dtype, owner=flat, symmetric=False)

        sizes = (case.m, case.q_len, case.heads, case.head_dim, case.turned, case.pages, case.page, case.width)
        tensors = given("q", case.q), given("q_turned", case.q_turned), given("cache", case.keys[0][:, :, 0])
        return np.array(MlaDecode(team, *sizes, case.dtype)(*tensors, case.tables[0], case.lengths[0], case.m))

    result = tandem.launch(main, check=True)
    assert result.reports == [] and error(result.values[0], case.result()) < 2e-3


@pytest.mark.parametrize(
    "sizes, message", [((96, 64), "`latent` is 96, 64, 128, 256 or 512"), ((512, 48), "`turned` is 48, 32, 64 or 128")]
)
def test_wrong_sizes(sizes, message):
    with pytest.raises((ValueError, RuntimeError), match=message):
        tandem.launch(lambda team: MlaDecode(team, 1, 1, 16, *sizes, 4, 16, 2, "bf16"), ranks=1)


def test_readme_example():
    text = (pathlib.Path(__file__).parents[1] / "README.md").read_text()
    for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})
