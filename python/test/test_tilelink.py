"""Kernels over channels: AllGather + GEMM and GEMM + ring ReduceScatter on simulated ranks, and channels that are wrong."""

import importlib.util
import inspect
import itertools
import pathlib

import numpy as np
import pytest

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link


@tandem.jit
def gather_tiles(channel, a_ptr, k, program, BLOCK_K: tl.constexpr, RESOURCE: tl.constexpr, PROGRAMS: tl.constexpr):
    """The own tiles to all ranks with `push`, those of all ranks to the own memory with `pull`."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    tiles = tl.cdiv(channel.shard_rows, channel.producer_rows)
    if program == 0:
        for peer in range(ranks):
            link.rank_notify(channel, peer)
    for item in range(program, ranks * tiles, PROGRAMS):
        peer = (rank + item // tiles) % ranks
        begun = dl.consume_token(a_ptr, link.rank_wait(channel, peer))
        if RESOURCE == "push":
            tile = rank * tiles + item % tiles
            source = rank
            to = peer
        else:
            tile = peer * tiles + item % tiles
            source = peer
            to = rank
        for column in range(0, k, BLOCK_K):
            if peer != rank:
                data = link.tile_pull_data(channel, begun, k, tile, column, k, source, BLOCK_K)
                link.tile_push_data(channel, begun, k, tile, column, data, k, to)
            link.peer_tile_notify(channel, tile, to)


@tandem.jit
def gather_product(
    a_ptr,
    b_ptr,
    c_ptr,
    words_ptr,
    begun_ptr,
    call,
    m,
    n,
    k,
    shard_rows,
    PRODUCER: tl.constexpr,
    CONSUMER: tl.constexpr,
    CHANNEL: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
    RESOURCE: tl.constexpr,
    GATHERERS: tl.constexpr,
):
    """The first GATHERERS programs gather A, the others multiply. With RESOURCE `copy` streams gather, and GATHERERS is 0."""
    columns = tl.cdiv(k, BLOCK_K)
    channel = link.BlockChannel(words_ptr, begun_ptr, call, m, shard_rows, columns, PRODUCER, CONSUMER, CHANNEL, RESOURCE == "copy")
    program = tl.program_id(0)
    if GATHERERS > 0:
        if program < GATHERERS:
            gather_tiles(channel, a_ptr, k, program, BLOCK_K, RESOURCE, GATHERERS)
    tiles = tl.cdiv(shard_rows, CONSUMER)
    columns = tl.cdiv(n, BLOCK_N)
    items = dl.num_ranks() * tiles * columns
    first = tl.where(program < GATHERERS, items, program - GATHERERS)
    for item in range(first, items, tl.num_programs(0) - GATHERERS):
        tile = (item // columns + dl.rank() * tiles) % (dl.num_ranks() * tiles)
        owner = tile // tiles
        in_shard = tile % tiles * CONSUMER + tl.arange(0, CONSUMER)
        rows = (owner * shard_rows + in_shard).to(tl.int64)
        inside = (in_shard < shard_rows) & (rows < m)
        across = item % columns * BLOCK_N + tl.arange(0, BLOCK_N)
        a = dl.consume_token(a_ptr, link.consumer_tile_wait(channel, tile))
        acc = tl.zeros((CONSUMER, BLOCK_N), tl.float32)
        for begin in range(0, k, BLOCK_K):
            inner = begin + tl.arange(0, BLOCK_K)
            x = tl.load(a + rows[:, None] * k + inner[None, :], mask=inside[:, None] & (inner < k)[None, :], other=0)
            y = tl.load(b_ptr + inner[:, None] * n + across[None, :], mask=(inner < k)[:, None] & (across < n)[None, :], other=0)
            acc = tl.dot(x, y, acc)
        tl.store(c_ptr + rows[:, None] * n + across[None, :], acc, mask=inside[:, None] & (across < n)[None, :])


def gather(ranks, m, n, k, resource, producer, consumer, channel, seed=0, calls=2):
    shard_rows = -(-m // ranks)
    random = np.random.default_rng(seed)

    def main(team):
        a = team.zeros((ranks * shard_rows, k), "float16", name="a")
        c = team.local_empty((m, n), "float32")
        words = team.zeros(ranks * link.channels_of.fn(shard_rows, channel), "int64", name="words")
        begun = team.zeros(ranks, "int64", name="begun")
        b = team.local_from_array(right)
        stream = team.new_stream()
        results = []
        for call in range(1, calls + 1):
            mine = slice(team.rank * shard_rows, min((team.rank + 1) * shard_rows, m))
            if mine.start < mine.stop:
                a[mine] = lefts[call - 1][mine]
            team.barrier()
            gatherers = 0 if resource == "copy" else 2
            if resource == "copy":
                link.rank_copy_data(team, stream, a, words, call, m, shard_rows, -(-k // 16), producer, channel)
            gather_product[(gatherers + 3,)](
                a, b, c, words, begun, call, m, n, k, shard_rows,
                PRODUCER=producer, CONSUMER=consumer, CHANNEL=channel, BLOCK_N=16, BLOCK_K=16, RESOURCE=resource, GATHERERS=gatherers,
            )  # fmt: skip
            team.barrier()
            results.append(np.array(c))
        return results

    lefts = [random.integers(-2, 3, (m, k)).astype(np.float16) for _ in range(calls)]
    right = random.integers(-2, 3, (k, n)).astype(np.float16)
    result = tandem.launch(main, ranks=ranks, seed=seed, check=True)
    assert result.reports == []
    for values in result.values:
        for value, left in zip(values, lefts):
            assert (value == left.astype(np.float32) @ right.astype(np.float32)).all()


@pytest.mark.parametrize("resource", ["push", "pull", "copy"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("m, producer, consumer, channel", [(128, 16, 32, 32), (107, 32, 16, 32), (50, 16, 16, 16)])
def test_gather_product(ranks, resource, m, producer, consumer, channel):
    gather(ranks, m, 24, 40, resource, producer, consumer, channel, seed=ranks)


def test_a_tile_in_two_channels_is_refused():
    with pytest.raises(Exception, match="a producer tile would lie in two channels"):
        gather(2, 64, 16, 16, "push", 32, 16, 16)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_product_ring(ranks, seed):
    module = example("channel_ring")
    m, n, k, tile = [(128, 32, 32, 16), (107, 24, 40, 16), (9, 17, 5, 16)][seed % 3]
    choices = [(tile, order, module.RESOURCES[seed % 2]) for order in module.ORDERS]
    main = lambda team: module.check(team, module.Ring(team, m, n, k), choices, seed)
    assert tandem.launch(main, ranks=ranks, seed=seed, check=True).reports == []


@tandem.jit
def exchange(data_ptr, words_ptr, begun_ptr, out_ptr, MODE: tl.constexpr, FAULT: tl.constexpr):
    """Each rank sends a tile of 16 numbers to the next one and reads what the one before has sent."""
    rank = dl.rank()
    ranks = dl.num_ranks()
    peer = (rank + 1) % ranks
    channel = link.BlockChannel(words_ptr, begun_ptr, 1, 16 * ranks, 16, 1, 16, 16, 16)
    before = (rank + ranks - 1) % ranks
    token = 0
    if FAULT == "circle":
        token = link.consumer_tile_wait(channel, before)
    if FAULT == "early":
        link.peer_tile_notify(channel, rank, peer)
    sent = tl.full((16, 1), 1.0, tl.float32) + rank
    link.tile_push_data(channel, data_ptr, 1, rank, 0, sent, 1, peer)
    if FAULT == "outside":
        link.peer_tile_notify(channel, ranks, peer)
    elif FAULT == "mode":
        link.producer_tile_notify(channel, rank, MODE)
    elif FAULT != "early" and FAULT != "missing":
        link.peer_tile_notify(channel, rank, peer)
    if FAULT != "unawaited":
        token = link.consumer_tile_wait(channel, before)
    data = link.tile_pull_data(channel, dl.consume_token(data_ptr, token), 1, before, 0, 1, rank, 1)
    tl.store(out_ptr + tl.arange(0, 16)[:, None], data)


EXCHANGE_END = inspect.currentframe().f_lineno


def exchanged(fault, mode="p2p", ranks=2, seed=0):
    def main(team):
        data, words = team.zeros(16 * ranks, "float32", name="data"), team.zeros(ranks, "int64", name="words")
        out = team.local_empty(16, "float32")
        exchange[(1,)](data, words, team.zeros(ranks, "int64", name="begun"), out, MODE=mode, FAULT=fault, debug=True)
        return np.array(out)

    return tandem.launch(main, ranks=ranks, seed=seed, check=True)


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_exchange(ranks):
    result = exchanged("none", ranks=ranks)
    assert result.reports == []
    assert all((values == 1 + (rank - 1) % ranks).all() for rank, values in enumerate(result.values))


PLANTED = {
    "early": (tandem.SimulationError, r"race: .*`data`", 'if FAULT == "early":'),
    "unawaited": (tandem.SimulationError, r"race: .*`data`", "data = link.tile_pull_data("),
    "missing": (tandem.CompileError, r"nobody signals what this waits for", "token = link.consumer_tile_wait(channel, before)"),
    "circle": (tandem.CompileError, r"never ends, because programs wait for each other", 'if FAULT == "circle":'),
    "outside": (tandem.CompileError, r"f_R leads to no rank", 'if FAULT == "outside":'),
    "mode": (tandem.CompileError, r"the mode must be `p2p` or `broadcast`", 'elif FAULT == "mode":'),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_errors(fault):
    """Each is reported by its words, at the line that says it or at the one below the `if` of its fault."""
    kind, words, place = PLANTED[fault]
    lines = pathlib.Path(__file__).read_text().split("\n")
    number = max(i for i, line in enumerate(lines[:EXCHANGE_END], 1) if line.strip().startswith(place)) + ("FAULT" in place)
    with pytest.raises(kind, match=f"(?s){words}") as caught:
        exchanged(fault, mode="all" if fault == "mode" else "p2p")
    assert f"test_tilelink.py:{number}:" in str(caught.value)


@tandem.jit
def told(words_ptr, begun_ptr, call_ptr, out_ptr, tiles, FAULT: tl.constexpr):
    """Programs share out this rank's tiles of 16 rows and tell all ranks of them; each then waits for every tile of 32."""
    rank, ranks = dl.rank(), dl.num_ranks()
    columns = 2 if FAULT == "columns" else 1
    channel = link.BlockChannel(
        words_ptr, begun_ptr, tl.load(call_ptr), ranks * tiles * 16, tiles * 16, columns, 16, 32, 32, FAULT == "elsewhere"
    )
    first = 0 if FAULT == "overlap" else tl.program_id(0)
    step = 1 if FAULT == "overlap" else tl.num_programs(0)
    for tile in range(first, tiles - 1 if FAULT == "hole" else tiles, step):
        if FAULT == "no rank":
            link.peer_tile_notify(channel, rank * tiles + tile, rank + 1)  # THE NO RANK
        elif FAULT == "own rank":
            link.producer_tile_notify(channel, rank * tiles + tile, "p2p")
        elif FAULT != "elsewhere":
            link.producer_tile_notify(channel, rank * tiles + tile, "broadcast")  # THE OVERLAP
    for tile in range(ranks * (tiles // 2)):
        link.consumer_tile_wait(channel, tile)  # THE WAIT
    tl.store(out_ptr, 1)


def tell(fault, ranks=2, calls=1, programs=2):
    def main(team):
        words, begun = team.zeros(3 * ranks, "int64", name="words"), team.zeros(ranks, "int64", name="begun")
        out = team.local_empty(1, "int32")
        for call in range(1, calls + 1):
            told[(programs,)](words, begun, np.array([call], np.int64), out, 6, FAULT=fault)
        return int(np.array(out)[0])

    return tandem.launch(main, ranks=ranks, timeout=10)


@pytest.mark.parametrize("ranks, programs", [(1, 1), (2, 3), (4, 2)])
def test_signals_that_all_come(ranks, programs):
    assert tell("none", ranks, 3, programs).values == [1] * ranks


MAPPINGS = {
    "hole": ("this waits for 2 signals at word 2 of rank 0, to which all programs together send 1", "# THE WAIT"),
    "overlap": ("all programs together send 4 signals to word 0 of rank 0, of which 2 are waited for", "# THE OVERLAP"),
    "columns": ("this waits for 4 signals at word 0 of rank 0, to which all programs together send 2", "# THE WAIT"),
    "own rank": ("nobody signals what this waits for, word 3 of rank 0", "# THE WAIT"),
    "no rank": ("this signal goes to rank 2 of 2", "# THE NO RANK"),
}


@pytest.mark.parametrize("fault", MAPPINGS)
def test_errors_of_mappings(fault):
    """Before anything runs, at the line of the wait or of the signal."""
    words, mark = MAPPINGS[fault]
    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().split("\n"), 1) if text.endswith(mark))
    with pytest.raises(tandem.CompileError, match=words) as caught:
        tell(fault)
    assert f"test_tilelink.py:{line}:" in str(caught.value)


def test_tiles_from_elsewhere_are_not_counted():
    with pytest.raises(tandem.SimulationError, match="deadlock: "):
        tell("elsewhere")


def test_a_launch_is_counted_once(monkeypatch):
    """The number of the call decides no signal, so that later calls are not counted anew; other sizes are."""
    counted, whole = [], tandem._tandem.emit
    monkeypatch.setattr(tandem._tandem, "emit", lambda request, stage: counted.append(stage) or whole(request, stage))
    told.counted.clear()
    tell("none", ranks=1, calls=3)
    tell("none", ranks=1)
    assert counted == ["signals"]
    tell("none", ranks=1, programs=3)
    assert counted == ["signals"] * 2


EXAMPLES = pathlib.Path(__file__).parents[2] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize("name, made", [("channel_moe", "Mixture"), ("channel_attention", "Attention"), ("channel_ring", "Ring")])
def test_all_choices_of_an_example(name, made, ranks):
    """Tile size, order and resource, each with all others, one call after the other on the same memory."""
    module = example(name)
    choices = list(itertools.product(module.TILES, module.ORDERS, module.RESOURCES))
    assert len((EXAMPLES / f"{name}.py").read_text().splitlines()) <= 200
    result = tandem.launch(lambda team: module.check(team, getattr(module, made)(team), choices), ranks=ranks, seed=ranks, check=True)
    assert result.reports == []


@tandem.jit
def read_by_table(data_ptr, words_ptr, begun_ptr, begins_ptr, needs_ptr, out_ptr, m, TWICE: tl.constexpr):
    """The rank tells the other of its 32 numbers in two tiles of 16, and adds up those that a table names."""
    rank = dl.rank()
    peer = 1 - rank
    base = link.BlockChannel(words_ptr, begun_ptr, 1, m, 32, 1, 16, 16, 32 if TWICE else 16)
    channel = link.TableChannel(base, begins_ptr, needs_ptr)
    for tile in range(2 * rank, 2 * rank + 2):
        if TWICE:
            link.peer_tile_notify(base, 2 * rank, peer)  # the first tile twice, the second one never
        data = link.tile_pull_data(base, data_ptr, 1, tile, 0, 1, rank, 1)
        link.tile_push_data(base, data_ptr, 1, tile, 0, data, 1, peer)
        if not TWICE:
            link.peer_tile_notify(base, tile, peer)
    token = link.consumer_tile_wait(channel, 0)  # THE TABLE
    there = dl.consume_token(data_ptr, token) + 32 * peer + tl.arange(0, 32)
    tl.store(out_ptr, tl.sum(tl.load(there)))  # THE ROWS


def by_table(needs, twice=False, m=64):
    def main(team):
        data, words = team.zeros(64, "float32", name="data"), team.zeros(4, "int64", name="words")
        data[32 * team.rank : 32 * team.rank + 32] = team.rank + 1
        begun, out = team.zeros(2, "int64", name="begun"), team.local_empty(1)
        mine = needs(1 - team.rank)
        tables = np.array([0, len(mine)], np.int32), np.array(mine, np.int32)
        read_by_table[(1,)](data, words, begun, *tables, out, m, TWICE=twice, debug=True)
        return float(np.array(out)[0])

    return tandem.launch(main, ranks=2, check=True)


def test_a_table_of_channels():
    assert by_table(lambda peer: [2 * peer, 2 * peer + 1]).values == [64, 32]


@pytest.mark.parametrize(
    "needs, options, words, mark",
    [
        (lambda peer: [2 * peer], {}, r"race: .*`data`", "# THE ROWS"),  # the table has a hole
        (lambda peer: [4], {}, "the table's channel is of no rank", "# THE TABLE"),
        (lambda peer: [-1], {}, "the table's channel is of no rank", "# THE TABLE"),
        (lambda peer: [3], dict(m=48), "the table's channel has no rows, so nobody tells of it", "# THE TABLE"),
        (lambda peer: [peer], dict(twice=True), r"race: .*`data`", "# THE ROWS"),  # a tile is told of twice
    ],
)
def test_planted_errors_of_tables(needs, options, words, mark):
    with pytest.raises(tandem.SimulationError, match=f"(?s){words}") as caught:
        by_table(needs, **options)
    line = next(i for i, text in enumerate(pathlib.Path(__file__).read_text().split("\n"), 1) if text.endswith(mark))
    assert f"test_tilelink.py:{line}:" in str(caught.value)


def test_orders_of_tiles():
    @tandem.jit
    def taken(out_ptr, ORDER: tl.constexpr):
        for nth in range(6):
            tl.store(out_ptr + nth, link.tile_at(nth, 2, ORDER))

    def main(team, order):
        out = team.local_empty(6, "int32")
        taken[(1,)](out, ORDER=order)
        return np.array(out).tolist()

    orders = {order: tandem.launch(main, ranks=3, args=(order,)).values[1] for order in ("ring", "own_first", "all")}
    assert orders == {"ring": [2, 3, 4, 5, 0, 1], "own_first": [2, 3, 0, 1, 4, 5], "all": [0, 1, 2, 3, 4, 5]}
    with pytest.raises(tandem.CompileError, match="the order must be"):
        tandem.launch(main, ranks=3, args=("by_chance",))


@tandem.jit
def sum_slices(x_ptr, sums_ptr, words_ptr, shard_rows, bands, band_rows, COLUMNS: tl.constexpr, SLICES: tl.constexpr, EARLY: tl.constexpr):
    """A program adds up the rows of a band of any rank, slice after slice, beginning with its own rank's."""
    channel = link.StreamChannel(words_ptr, bands, band_rows)
    rank, ranks = dl.rank(), dl.num_ranks()
    item = (tl.program_id(0) + rank * bands) % (ranks * bands)
    shard, row = item // bands, item % bands * band_rows
    count = tl.minimum(shard_rows - row, band_rows)
    total = 0.0
    at = shard * shard_rows + row
    for nth in range(SLICES):
        if shard != rank:
            at = dl.consume_token(at, link.slices_wait(channel, shard, row, nth + 1 - EARLY))
        rows = tl.arange(0, 16)[:, None]
        columns = nth * (COLUMNS // SLICES) + tl.arange(0, COLUMNS // SLICES)[None, :]
        total += tl.sum(tl.load(x_ptr + (at + rows) * COLUMNS + columns, mask=rows < count, other=0.0))
    tl.store(sums_ptr + item, total)
    if ranks > 1:
        if link.call_ends(channel, tl.num_programs(0)):
            link.end_call(channel, SLICES)


def slices_of_streams(team, early=0):
    """Three calls, the copies ahead of the kernel and behind it."""
    shard, bands, band_rows, columns, slices = 20, 2, 16, 32, 4
    x, words = team.zeros((team.size * shard, columns), name="x"), link.stream_words(team, bands)
    sums, beside = team.local_empty(team.size * bands), team.new_stream()
    for call in range(3):
        whole = np.random.default_rng(call).integers(-9, 9, (team.size * shard, columns)).astype(np.float32)
        own = slice(team.rank * shard, (team.rank + 1) * shard)
        x[own] = whole[own]
        beside.wait_event(team.stream.record_event())
        launch = lambda: sum_slices[(team.size * bands,)](
            x, sums, words, shard, bands, band_rows, COLUMNS=columns, SLICES=slices, EARLY=early, num_warps=1
        )
        copy = lambda: link.rank_copy_slices(team, beside, x, words, x.shape[0], shard, bands, band_rows, slices)
        for step in (launch, copy) if call else (copy, launch):
            step()
        team.stream.wait_event(beside.record_event())
        parts = [part for of_rank in np.split(whole, team.size) for part in (of_rank[:band_rows], of_rank[band_rows:])]
        np.testing.assert_array_equal(np.array(sums), [part.sum() for part in parts])


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_rows_that_streams_bring(ranks):
    for seed in range(3):
        assert tandem.launch(slices_of_streams, ranks=ranks, seed=seed, check=True).reports == []


def test_a_slice_too_early():
    with pytest.raises(tandem.SimulationError, match="race"):
        tandem.launch(slices_of_streams, ranks=2, check=True, args=(1,))


@tandem.jit
def sum_parts(
    x_ptr, sums_ptr, parts_ptr, made_ptr, ready_ptr, brought_ptr, begun_ptr, call, tiles, turn,
    TILE: tl.constexpr, COPIED: tl.constexpr, EARLY: tl.constexpr,
):  # fmt: skip
    """Adds up, for the rank's own tiles, what all ranks have there. EARLY: a part is told of before it is stored."""
    rank, ranks = dl.rank(), dl.num_ranks()
    channel = link.PartsChannel(ready_ptr, brought_ptr, begun_ptr, call, tiles, turn, COPIED)
    if tl.program_id(0) == 0:
        link.parts_begin(channel)
    there_ptr = dl.consume_token(parts_ptr, link.ranks_wait(channel))
    turns, there = 0, 0
    lanes = tl.arange(0, TILE)
    for nth in range(tl.program_id(0), ranks * tiles, tl.num_programs(0)):
        owner, local = link.part_at(channel, nth)
        part = tl.load(x_ptr + (owner * tiles + local) * TILE + lanes)
        if owner != rank:
            if EARLY:
                link.part_notify(channel, owner, local)
            to = made_ptr if COPIED else dl.symm_at(there_ptr, owner)
            tl.store(to + link.part_place(channel, owner, local) * TILE + lanes, part)
            if not EARLY:
                link.part_notify(channel, owner, local)
        else:
            if ranks > 1:
                turns, there = link.parts_wait(channel, local, turns, there)
            arrived = dl.consume_token(parts_ptr, there)
            for slot in range(ranks - 1):
                part += tl.load(arrived + (slot * tiles + local) * TILE + lanes)
            tl.store(sums_ptr + local * TILE + lanes, part)


def parts_of_ranks(team, copied, turn=2, early=False):
    """Three calls."""
    ranks, peers, tiles, tile = team.size, team.size - 1, 5, 16
    parts = team.zeros((max(peers * tiles, 1), tile), "int64", name="parts")
    made = team.local_from_array(np.zeros((max(peers * tiles, 1), tile), np.int64))
    ready, brought = (team.zeros(max(peers, 1) * tiles, "int64", name=name) for name in ("ready", "brought"))
    begun, sums, beside = team.zeros(ranks, "int64", name="begun"), team.local_empty(tiles * tile, "int64"), team.new_stream()
    for call in range(1, 4):
        of_ranks = np.random.default_rng(call).integers(-9, 9, (ranks, ranks, tiles * tile))
        x = team.local_from_array(of_ranks[team.rank])
        beside.wait_event(team.stream.record_event())
        sum_parts[(3,)](x, sums, parts, made, ready, brought, begun, call, tiles, turn, TILE=tile, COPIED=copied, EARLY=early)
        if copied:
            link.rank_copy_parts(team, beside, parts, made, ready, brought, tiles, turn)
            team.stream.wait_event(beside.record_event())
        np.testing.assert_array_equal(np.array(sums), of_ranks[:, team.rank].sum(axis=0))


@pytest.mark.parametrize("turn", [1, 2, 5])
@pytest.mark.parametrize("copied", [False, True])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_parts_of_sums(ranks, copied, turn):
    for seed in range(3):
        assert tandem.launch(parts_of_ranks, ranks=ranks, seed=seed, check=True, args=(copied, turn)).reports == []


@pytest.mark.parametrize("copied", [False, True])
def test_a_part_told_of_too_early(copied):
    with pytest.raises(tandem.SimulationError, match="race"):
        tandem.launch(parts_of_ranks, ranks=2, check=True, args=(copied, 2, True))
