"""Plain kernels that read rows of all ranks, overlapped with the gathering of these rows: equal to the run after it, silent under the
checker, and each wait needed."""

import pathlib

import numpy as np
import plain_kernels
import pytest
from plain_producers import product as product_of
from plain_products import clamped, described, grouped

import tandem
import tandem.language as tl


@tandem.jit
def persistent(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A program computes several tiles, each of which waits for its own rows; block pointers."""
    columns = tl.cdiv(N, BLOCK_N)
    for tile in range(tl.program_id(0), tl.cdiv(M, BLOCK_M) * columns, tl.num_programs(0)):
        row = tile // columns * BLOCK_M
        column = tile % columns * BLOCK_N
        a = tl.make_block_ptr(a_ptr, (M, K), (stride_am, stride_ak), (row, 0), (BLOCK_M, BLOCK_K), (1, 0))
        b = tl.make_block_ptr(b_ptr, (K, N), (stride_bk, stride_bn), (0, column), (BLOCK_K, BLOCK_N), (1, 0))
        acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
        for _ in range(0, K, BLOCK_K):
            acc = tl.dot(tl.load(a, boundary_check=(0, 1)), tl.load(b, boundary_check=(0, 1)), acc)
            a = tl.advance(a, (0, BLOCK_K))
            b = tl.advance(b, (BLOCK_K, 0))
        c = tl.make_block_ptr(c_ptr, (M, N), (stride_cm, stride_cn), (row, column), (BLOCK_M, BLOCK_N), (1, 0))
        tl.store(c, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


@tandem.jit
def transposed(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """Rows along the second axis of the grid, tiles of A read with their rows in columns, masks in both directions, an activation."""
    rows = tl.program_id(1) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for k in range(0, K, BLOCK_K):
        inner = k + tl.arange(0, BLOCK_K)
        a = tl.load(
            a_ptr + inner[:, None] * stride_ak + rows[None, :] * stride_am, mask=(inner[:, None] < K) & (rows[None, :] < M), other=0
        )
        b = tl.load(
            b_ptr + inner[:, None] * stride_bk + columns[None, :] * stride_bn, mask=(inner[:, None] < K) & (columns[None, :] < N), other=0
        )
        acc += tl.dot(tl.trans(a), b)
    acc = tl.maximum(acc, 0)
    tl.store(
        c_ptr + rows[:, None] * stride_cm + columns[None, :] * stride_cn,
        acc.to(c_ptr.dtype.element_ty),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )


BLOCKS = dict(BLOCK_M=16, BLOCK_N=16, BLOCK_K=16, GROUP=2)


def grid_of(kernel, m, n):
    if kernel is transposed:
        return -(-n // 16), -(-m // 16)
    return (3,) if kernel in (persistent, clamped) else (-(-m // 16) * -(-n // 16),)


def run(kernel, ranks, rows, n, k, seed, overlapped=True, bands=4, calls=2, slices=None):
    m = ranks * rows
    random = np.random.default_rng(seed)
    lefts = [random.standard_normal((m, k)).astype(np.float16) for _ in range(calls)]
    right = random.standard_normal((k, n)).astype(np.float16)
    derived = tandem.overlap(collective="all_gather", consumer=kernel, over="a_ptr", bands=bands, slices=slices)

    def main(team):
        a, b, c = team.empty((m, k), "float16", name="a"), team.local_from_array(right), team.local_empty((m, n), "float16")
        results = []
        for left in lefts:
            own = slice(team.rank * rows, (team.rank + 1) * rows)
            a[own if overlapped else slice(0, m)] = left[own if overlapped else slice(0, m)]
            (derived if overlapped else kernel)[grid_of(kernel, m, n)](a, b, c, m, n, k, k, 1, n, 1, n, 1, **BLOCKS)
            results.append(np.array(c))
        return results

    return tandem.launch(main, ranks=ranks, seed=seed, check=True)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", [grouped, described, persistent, transposed, clamped], ids=lambda k: k.__name__)
def test_equal_to_the_run_after_the_gathering(kernel, ranks, seed):
    rows, n, k = [(32, 32, 48), (20, 24, 40), (13, 16, 24)][seed]
    result = run(kernel, ranks, rows, n, k, seed)
    assert result.reports == []
    plain = run(kernel, 1, ranks * rows, n, k, seed, overlapped=False)
    for values in result.values:
        for value, want in zip(values, plain.values[0]):
            assert (value == want).all()


def run_plain(kernel, grid, ranks, rows, n, k, seed, overlapped, slices=None):
    m = ranks * rows
    random = np.random.default_rng(seed)
    left, right = random.integers(-2, 3, (m, k)).astype(np.float32), random.integers(-2, 3, (k, n)).astype(np.float32)

    def main(team):
        a, b = team.empty((m, k), "float32", name="a"), team.local_from_array(right)
        c, d = team.zeros((m, n), "float32"), team.zeros(m, "float32")
        own = slice(team.rank * rows, (team.rank + 1) * rows) if overlapped else slice(0, m)
        a[own] = left[own]
        plan = dict(bands=3, slices=slices)
        launched = tandem.overlap(collective="all_gather", consumer=kernel, over="a_ptr", **plan) if overlapped else kernel
        launched[grid(-(-m // 16), -(-n // 16))](a, b, c, d, m, n, k, B=16)
        return np.array(c), np.array(d)

    return tandem.launch(main, ranks=ranks, seed=seed, check=True)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("kernel, grid", plain_kernels.ALL, ids=[kernel.__name__ for kernel, _ in plain_kernels.ALL])
def test_plain_kernels(kernel, grid, ranks, seed):
    rows, n, k = [(32, 32, 48), (21, 20, 28)][seed]
    result = run_plain(kernel, grid, ranks, rows, n, k, seed, True)
    assert result.reports == []
    plain = run_plain(kernel, grid, 1, ranks * rows, n, k, seed, False).values[0]
    for values in result.values:
        assert all((value == want).all() for value, want in zip(values, plain))


@pytest.mark.parametrize("ranks, seed", [(2, 0), (3, 1), (8, 2)])
@pytest.mark.parametrize("kernel, grid", plain_kernels.ALL, ids=[kernel.__name__ for kernel, _ in plain_kernels.ALL])
def test_shares_of_all_ranks(kernel, grid, ranks, seed):
    """all_to_all: each rank reads what all have for it; what it has for them stays."""
    rows, n, k = [(32, 32, 48), (21, 20, 28), (16, 16, 16)][seed]
    m = ranks * rows
    random = np.random.default_rng(seed)
    lefts, right = random.integers(-2, 3, (2, ranks, m, k)).astype(np.float32), random.integers(-2, 3, (k, n)).astype(np.float32)

    def main(team, of=None):
        a, b = team.empty((m, k), "float32", name="a"), team.local_from_array(right)
        launched = tandem.overlap(collective="all_to_all", consumer=kernel, over="a_ptr", bands=3) if of is None else kernel
        results = []
        for left in lefts:
            a[...] = left[team.rank] if of is None else np.concatenate([part[of * rows : (of + 1) * rows] for part in left])
            c, d = team.zeros((m, n), "float32"), team.zeros(m, "float32")
            launched[grid(-(-m // 16), -(-n // 16))](a, b, c, d, m, n, k, B=16)
            results.append((np.array(c), np.array(d)))
            assert of is not None or (np.array(a) == left[team.rank]).all()
        return results

    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    for rank, values in enumerate(result.values):
        plain = tandem.launch(main, ranks=1, seed=seed, check=True, args=(rank,)).values[0]
        for got, want in zip(values, plain):
            assert all((value == wanted).all() for value, wanted in zip(got, want))


def change_waits(monkeypatch, amounts):
    """Consumers are given other numbers: each differs by the amount of its name."""
    whole = tandem.overlapping.gathering.Gathering.reading.fget
    changed = lambda g: {k: v + amounts.get(k, 0) if k in amounts else v for k, v in whole(g).items()}
    monkeypatch.setattr(tandem.overlapping.gathering.Gathering, "reading", property(changed))


FAULTS = {
    "too_early": (dict(arriving_epoch=-1), "(race|uninitialised-read): .*`a`"),  # each wait passes
    "one_less": (dict(arriving_chunks=-1), "(race|uninitialised-read): .*`a`"),  # of the last chunk
    "never": (dict(arriving_epoch=1), "deadlock: "),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("kernel", [grouped, described, persistent, transposed, clamped], ids=lambda k: k.__name__)
def test_each_wait_is_needed(kernel, fault, monkeypatch):
    amounts, words = FAULTS[fault]
    change_waits(monkeypatch, amounts)
    with pytest.raises(tandem.SimulationError, match=f"(?s){words}"):
        run(kernel, 2, 32, 32, 32, 0, calls=1)


@pytest.mark.parametrize("epochs, words", [(-1, "(race|uninitialised-read): .*`a`"), (1, "deadlock: ")])
@pytest.mark.parametrize("kernel, grid", plain_kernels.ALL, ids=[kernel.__name__ for kernel, _ in plain_kernels.ALL])
def test_plain_kernels_without_waits(kernel, grid, epochs, words, monkeypatch):
    change_waits(monkeypatch, {"arriving_epoch": epochs})
    with pytest.raises(tandem.SimulationError, match=f"(?s){words}"):
        run_plain(kernel, grid, 2, 32, 32, 32, 0, True)


@tandem.jit
def crossed(a_ptr, out_ptr):
    rows = tl.program_id(0) * 16 + tl.arange(0, 16)
    tl.store(out_ptr + tl.arange(0, 16), tl.load(a_ptr + (rows ^ (rows * 3)) % 32))  # THE CROSSED


@tandem.jit
def while_loop(a_ptr, out_ptr):
    at = a_ptr + tl.arange(0, 16)
    left = 2
    while left > 0:
        tl.store(out_ptr + tl.arange(0, 16), tl.load(at))
        at += 16
        left = left >> 1  # no count


@tandem.jit
def counted_while(a_ptr, out_ptr):
    total = tl.zeros((16,), tl.float32)
    at = a_ptr + tl.arange(0, 16)
    left = 2
    while left > 0:
        total = 2 * total + tl.load(at)
        at += 16
        left -= 1
    tl.store(out_ptr + tl.arange(0, 16), total)


@tandem.jit
def gathering_rows(rows_ptr, a_ptr, out_ptr):
    row = tl.load(rows_ptr + tl.arange(0, 16))
    tl.store(out_ptr + tl.arange(0, 16), tl.load(a_ptr + row))  # THE LOAD


@tandem.jit
def adding_to(a_ptr, out_ptr):
    tl.store(a_ptr + tl.arange(0, 16), tl.load(out_ptr + tl.arange(0, 16)))  # THE STORE


@pytest.mark.parametrize(
    "kernel, words, mark",
    [
        (gathering_rows, "not a box with sides affine", "# THE LOAD"),
        (adding_to, "only loads may use memory that arrives", "# THE STORE"),
        (crossed, "not a box with sides affine", "# THE CROSSED"),
    ],
)
def test_refused_at_the_line(kernel, words, mark):
    derived = tandem.overlap(collective="all_gather", consumer=kernel, over="a_ptr")

    def main(team):
        a, out, rows = team.zeros(32, "float32"), team.local_empty(16, "float32"), team.local_from_array(np.arange(16, dtype=np.int32))
        derived[(1,)](a_ptr=a, out_ptr=out, **({"rows_ptr": rows} if kernel is gathering_rows else {}))

    with pytest.raises(tandem.CompileError, match=words) as caught:
        tandem.launch(main, ranks=2)
    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().split("\n"), 1) if text.endswith(mark))
    assert f"test_overlapping.py:{line}:" in str(caught.value)


def test_pointers_of_a_while_loop_are_refused():
    derived = tandem.overlap(collective="all_gather", consumer=while_loop, over="a_ptr")

    def main(team):
        derived[(1,)](team.zeros(32, "float32"), team.local_empty(16, "float32"))

    with pytest.raises(tandem.CompileError, match="which loads read arriving memory cannot be told"):
        tandem.launch(main, ranks=2)


def test_a_while_loop_that_counts_is_a_for_loop():
    derived = tandem.overlap(collective="all_gather", consumer=counted_while, over="a_ptr")

    def main(team):
        a, out = team.zeros(32, "float32"), team.local_empty(16, "float32")
        a[16 * team.rank : 16 * (team.rank + 1)] = np.arange(16, dtype=np.float32) + 100 * team.rank
        derived[(1,)](a, out)
        assert np.array_equal(out, 3 * np.arange(16, dtype=np.float32) + 100)

    tandem.launch(main, ranks=2, check=True)


def test_the_same_memory_by_another_name_is_refused():
    derived = tandem.overlap(collective="all_gather", consumer=while_loop, over="a_ptr")

    def main(team):
        a = team.zeros(32, "float32")
        derived[(1,)](a, a[16:])

    with pytest.raises(ValueError, match="`out_ptr` and `a_ptr` are the same memory"):
        tandem.launch(main, ranks=2)


def test_wrong_arguments():
    with pytest.raises(ValueError, match="`collective` is 'gossip'; with a `consumer`"):
        tandem.overlap(collective="gossip", consumer=grouped, over="a_ptr")
    with pytest.raises(ValueError, match="has no argument `x`"):
        tandem.overlap(collective="all_gather", consumer=grouped, over="x")
    with pytest.raises(TypeError, match="must be a kernel"):
        tandem.overlap(collective="all_gather", consumer=len, over="a_ptr")


def test_compiled_ahead():
    """Nothing runs: the other matrices need not be there."""
    derived = tandem.overlap(collective="all_gather", consumer=grouped, over="a_ptr")

    def main(team):
        a, half = team.zeros((64, 48), "float16"), np.dtype("float16")
        compiled = derived.warmup(a, half, half, 64, 32, 48, 48, 1, 32, 1, 32, 1, grid=(8,), **BLOCKS)
        return compiled.info["warnings"]

    assert tandem.launch(main, ranks=2).values == [[], []]


@tandem.jit
def attention(
    Q, K, V, Out, stride_qm, stride_kn, stride_vn, stride_om, N_QUERIES, N_CTX, scale,
    HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Attention as tutorials had it, with block pointers: a program goes through all keys and values."""
    start = tl.program_id(0) * BLOCK_M
    q = tl.load(
        tl.make_block_ptr(Q, (N_QUERIES, HEAD), (stride_qm, 1), (start, 0), (BLOCK_M, HEAD), (1, 0)),
        boundary_check=(0,),
        padding_option="zero",
    )
    k_block = tl.make_block_ptr(K, (HEAD, N_CTX), (1, stride_kn), (0, 0), (HEAD, BLOCK_N), (0, 1))
    v_block = tl.make_block_ptr(V, (N_CTX, HEAD), (stride_vn, 1), (0, 0), (BLOCK_N, HEAD), (1, 0))
    largest = tl.zeros([BLOCK_M], tl.float32) - float("inf")
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    for n in range(0, N_CTX, BLOCK_N):
        k = tl.load(k_block, boundary_check=(1,), padding_option="zero")
        scores = tl.where((n + tl.arange(0, BLOCK_N) < N_CTX)[None, :], tl.dot(q, k) * scale, -float("inf"))
        most = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp(scores - most[:, None])
        kept = tl.exp(largest - most)
        v = tl.load(v_block, boundary_check=(0,), padding_option="zero")
        acc = tl.dot(weights.to(v.dtype), v, acc * kept[:, None])
        total = total * kept + tl.sum(weights, 1)
        largest = most
        k_block = tl.advance(k_block, (0, BLOCK_N))
        v_block = tl.advance(v_block, (BLOCK_N, 0))
    out = tl.make_block_ptr(Out, (N_QUERIES, HEAD), (stride_om, 1), (start, 0), (BLOCK_M, HEAD), (1, 0))
    tl.store(out, acc / total[:, None], boundary_check=(0,))


def attend(launched, ranks, tokens, seed, whole):
    """Each rank's queries against all keys and values, of which it has its own, or the `whole`."""
    share = -(-tokens // ranks)
    q, k, v = np.random.default_rng(seed).standard_normal((3, tokens, 16)).astype(np.float16)

    def main(team):
        keys, values = team.zeros((tokens, 16), "float16", name="keys"), team.zeros((tokens, 16), "float16", name="values")
        results = []
        for rank in range(ranks) if whole else [team.rank]:
            own = slice(rank * share, min(rank * share + share, tokens))
            seen = slice(0, tokens) if whole else own
            keys[seen], values[seen] = k[seen], v[seen]
            count = own.stop - own.start
            out = team.local_empty((count, 16))
            launched[(-(-count // 16),)](
                team.local_from_array(q[own]), keys, values, out, 16, 16, 16, 16, count, tokens, 0.25, HEAD=16, BLOCK_M=16, BLOCK_N=16
            )
            results.append(np.array(out))
        return np.concatenate(results)

    return tandem.launch(main, ranks=1 if whole else ranks, seed=seed, check=True)


@pytest.mark.parametrize("plan", [dict(bands=2), dict(path="loads")], ids=["copies", "loads"])
@pytest.mark.parametrize("ranks, tokens", [(1, 40), (2, 64), (3, 70), (4, 100)])
def test_attention_over_gathered_keys_and_values(ranks, tokens, plan):
    derived = tandem.overlap(collective="all_gather", consumer=attention, over=("K", "V"), **plan)
    result = attend(derived, ranks, tokens, ranks, False)
    assert result.reports == []
    assert (np.concatenate(result.values) == attend(attention, ranks, tokens, ranks, True).values[0]).all()


def test_what_travels_together_has_equally_many_rows():
    derived = tandem.overlap(collective="all_gather", consumer=attention, over=("K", "V"))

    def main(team):
        x = [team.zeros((rows, 16), "float16") for rows in (32, 32, 48)]
        derived[(1,)](*x, team.local_empty((32, 16)), 16, 16, 16, 16, 32, 32, 0.25, HEAD=16, BLOCK_M=16, BLOCK_N=16)

    with pytest.raises(ValueError, match="`V` has 48 rows and `K` 32"):
        tandem.launch(main, ranks=2)


@pytest.mark.parametrize("name, words", [("arriving_epoch", "race: .*`keys`"), ("arriving_epoch_1", "race: .*`values`")])
def test_waits_of_attention_are_needed(name, words, monkeypatch):
    change_waits(monkeypatch, {name: -1})
    derived = tandem.overlap(collective="all_gather", consumer=attention, over=("K", "V"), bands=2)
    with pytest.raises(tandem.SimulationError, match=f"(?s){words}"):
        attend(derived, 2, 64, 0, False)


@tandem.jit
def rows_quickest(a_ptr, b_ptr, c_ptr, d_ptr, M, N, K, B: tl.constexpr):
    """Rows along the axis of which neighbours begin one after the other."""
    rows, columns = tl.program_id(0) * B + tl.arange(0, B), tl.program_id(1) * B + tl.arange(0, B)
    acc = product_of(a_ptr, b_ptr, rows, columns, M, N, K, B)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc, mask=(rows[:, None] < M) & (columns[None, :] < N))


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_programs_of_one_chunk_come_together(ranks, monkeypatch):
    """Their numbers are from a table, in which this rank's rows come first."""
    orders, made = [], tandem.overlapping.order.order_of
    monkeypatch.setattr(tandem.overlapping.order, "order_of", lambda *given, **how: orders.append(made(*given, **how)) or orders[-1])
    grid = lambda rows, columns: (rows, columns)
    apart = run_plain(rows_quickest, grid, 1, ranks * 32, 64, 16, 0, False).values[0]
    for values in run_plain(rows_quickest, grid, ranks, 32, 64, 16, 0, True).values:
        assert all(np.array_equal(got, want) for got, want in zip(values, apart))
    assert sorted(order.tolist()[:3] for order in orders) == [[0, 2 * ranks, 4 * ranks]] * ranks
