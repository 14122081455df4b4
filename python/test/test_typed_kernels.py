"""Plain kernels of all element types, by others' idioms: overlapped and equal, bit by bit, to the run without overlap, or refused at their
line. Numbers are drawn and have fractions, so that sums of another order would have other bits."""

import pathlib
import random

import numpy as np
import pytest
import typed_consumers
import typed_producers

import tandem
from tandem.kernel.element_types import as_dtype

derived = lambda module: [plain for plain in module.ALL if not plain.refused]
CONSUMERS, PRODUCERS = derived(typed_consumers), derived(typed_producers)
SIZES = [(32, 32, 48), (21, 24, 32), (7, 48, 16), (48, 16, 64)]  # rows of a rank, columns, inner size
name = lambda plain: plain.kernel.__name__


def drawn(numbers, shape, name):
    dtype = as_dtype(name)
    if np.issubdtype(dtype, np.integer):
        return numbers.integers(-100 if name[0] == "i" else 0, 100, shape).astype(dtype)
    return numbers.normal(size=shape).astype(dtype)


def matrices(plain, m, n, k, seed, calls):
    numbers, (a, b, r, _) = np.random.default_rng(seed), plain.types
    shapes = [((m, k), a), ((k, n), b), ((m, n), r), ((m,), "float32")]
    return [[drawn(numbers, *shape) for shape in shapes] for _ in range(calls)]


def bits(array):
    return np.ascontiguousarray(array).view(np.uint8)


def launched(team, plain, kernel, inputs, m, n, k, kept):
    """What each call leaves in A, R, C and D; `kept(name, array)`: what this rank has of an array that travels."""
    a_type, b_type, r_type, d_type = plain.types
    a, r = team.zeros((m, k), a_type, name="a"), team.zeros((m, n), r_type, name="r")
    c, d = team.zeros((m, n), r_type, name="c"), team.zeros(m, d_type, name="d")
    b, s, results = team.local_empty((k, n), b_type), team.local_empty(m, "float32"), []
    for of_a, of_b, of_r, of_s in inputs:
        for array, given in ((a, kept("a_ptr", of_a)), (b, of_b), (r, kept("r_ptr", of_r)), (s, of_s)):
            array[...] = given
        c[...], d[...] = 0, 0
        kernel[plain.grid(-(-m // 16), -(-n // 16))](a, b, r, s, c, d, m, n, k, B=16)
        results.append([np.array(c), np.array(d)])
    return results


def alone(plain, inputs, m, n, k):
    return tandem.launch(lambda team: launched(team, plain, plain.kernel, inputs, m, n, k, lambda _, array: array)).values[0]


def shares(m, ranks):
    share = -(-m // ranks)
    return [slice(min(rank * share, m), min(rank * share + share, m)) for rank in range(ranks)]


def check_consumer(plain, ranks, m, n, k, seed, bands, collective, path, calls=2):
    over = plain.over or "a_ptr"
    how = dict(bands=bands, path=path) if collective == "all_gather" else dict(bands=bands)
    overlapped = tandem.overlap(collective=collective, consumer=plain.kernel, over=over, **how)
    inputs = matrices(plain, m, n, k, seed, calls)

    def main(team):
        own = shares(m, ranks)

        def kept(name, array):
            if name not in over:
                return array
            mine = np.zeros_like(array)
            for rank in range(ranks) if collective == "all_to_all" else [team.rank]:  # for whom these rows are
                mine[own[rank]] = array[own[team.rank]]
            return mine

        return launched(team, plain, overlapped, inputs, m, n, k, kept)

    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    plain_results = alone(plain, inputs, m, n, k)
    for values in result.values:
        for call, wanted in zip(values, plain_results):
            for got, want in zip(call, wanted):
                np.testing.assert_array_equal(bits(got), bits(want))


def summed(parts):
    """In the order of ranks: floats in fp32, or float64, integers in 64 bits."""
    dtype = parts[0].dtype
    wide = np.int64 if np.issubdtype(dtype, np.integer) else np.float64 if dtype == np.float64 else np.float32
    total = np.zeros(parts[0].shape, wide)
    for part in parts:
        total = total + part.astype(wide)
    return total.astype(dtype)


def check_producer(plain, ranks, m, n, k, seed, bands, collective, path, calls=2):
    over = plain.over or "c_ptr"
    how = dict(bands=bands, path=path) if collective != "all_to_all" else dict(bands=bands)
    overlapped = tandem.overlap(collective=collective, producer=plain.kernel, over=over, **how)
    inputs = [matrices(plain, m, n, k, 100 * seed + rank, calls) for rank in range(ranks)]
    main = lambda team: launched(team, plain, overlapped, inputs[team.rank], m, n, k, lambda _, array: array)
    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    each = [alone(plain, of_rank, m, n, k) for of_rank in inputs]
    own, nth = shares(m, ranks), ["c_ptr", "d_ptr"].index(over)
    for rank, values in enumerate(result.values):
        for call, outputs in enumerate(values):
            parts = [of_rank[call][nth] for of_rank in each]
            got, other = outputs[nth], outputs[1 - nth]
            if collective == "all_to_all":
                want = np.concatenate([part[own[rank]] for part in parts])
            elif ranks == 1:
                want = parts[0]
            else:
                want = summed(parts)
            if collective == "reduce_scatter":
                got, want = got[own[rank]], want[own[rank]]
            np.testing.assert_array_equal(bits(got), bits(want))
            np.testing.assert_array_equal(bits(other), bits(each[rank][call][1 - nth]))


@pytest.mark.parametrize("plain", CONSUMERS, ids=name)
@pytest.mark.parametrize("collective, path", [("all_gather", "copies"), ("all_gather", "loads"), ("all_to_all", "copies")])
def test_consumers(plain, collective, path):
    draw = random.Random(name(plain) + collective + path)
    for ranks in draw.sample([1, 2, 3, 4, 8], 2):
        rows, n, k = draw.choice(SIZES)
        m = ranks * rows - (0 if collective == "all_to_all" else draw.randrange(3))
        check_consumer(plain, ranks, m, n, k, draw.randrange(1000), draw.choice([1, 2, 4]), collective, path)


@pytest.mark.parametrize("plain", PRODUCERS, ids=name)
@pytest.mark.parametrize(
    "collective, path", [("reduce_scatter", "copies"), ("all_reduce", "copies"), ("all_reduce", "loads"), ("all_to_all", "copies")]
)
def test_producers(plain, collective, path):
    draw = random.Random(name(plain) + collective + path)
    for ranks in draw.sample([1, 2, 3, 4, 8], 2):
        rows, n, k = draw.choice(SIZES)
        m = ranks * rows - (0 if collective == "all_to_all" else draw.randrange(3))
        check_producer(plain, ranks, m, n, k, draw.randrange(1000), draw.choice([1, 2, 4]), collective, path)


@pytest.mark.parametrize("module", [typed_consumers, typed_producers], ids=lambda module: module.__name__)
def test_refused_at_the_line(module):
    text = pathlib.Path(module.__file__).read_text().split("\n")
    for plain in module.ALL:
        if not plain.refused:
            continue
        first = text.index(next(line for line in text if line.startswith(f"def {name(plain)}(")))
        line = next(i for i, one in enumerate(text, 1) if i > first and one.endswith("# REFUSED"))
        with pytest.raises(tandem.CompileError, match=plain.refused) as caught:
            if module is typed_consumers:
                check_consumer(plain, 2, 64, 32, 48, 0, 2, "all_gather", "copies")
            else:
                check_producer(plain, 2, 64, 32, 48, 0, 2, "reduce_scatter", "copies")
        assert f"{module.__name__}.py:{line}:" in str(caught.value)
