"""Programs for ranks on either target. Each returns values on which the two must agree, bit for bit."""

import numpy as np
import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.shmem as shmem
from tandem.kernel.element_types import as_dtype
from tandem.simt import tid

COUNT = 1024


def data_of(rank, count=COUNT):
    return np.random.default_rng(rank).integers(-1000, 1000, count).astype(np.int32)


@tandem.jit
def shift_by_store(source_ptr, dest_ptr, ready_ptr, out_ptr, BLOCK: tl.constexpr):
    """Stores to the right neighbour's memory, notifies it, and waits for the left one."""
    rank = dl.rank()
    peer = (rank + 1) % dl.num_ranks()
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(dl.symm_at(dest_ptr, peer) + at, tl.load(source_ptr + at))
    dl.notify(ready_ptr + tl.program_id(0), peer, signal=1, sig_op="set", comm_scope="intra_node")
    token = dl.wait(ready_ptr + tl.program_id(0), 1, "sys", "acquire", waitValue=1)
    tl.store(out_ptr + at, tl.load(dl.consume_token(dest_ptr, token) + at))


def symm_at(team):
    source, dest = team.from_array(data_of(team.rank)), team.zeros(COUNT, "int32", name="dest")
    ready, out = team.zeros(8, "int64", name="ready"), team.local_empty(COUNT, "int32")
    team.barrier()
    shift_by_store[(8,)](source, dest, ready, out, BLOCK=COUNT // 8)
    found = np.array(out)
    np.testing.assert_array_equal(found, data_of((team.rank - 1) % team.size))
    team.barrier()
    ready[...] = 0
    return found


@tandem.jit
def put_to_right(source_ptr, dest_ptr, signal_ptr, count, KIND: tl.constexpr, ADD: tl.constexpr):
    peer = (dl.rank() + 1) % dl.num_ranks()
    OP: tl.constexpr = shmem.NVSHMEM_SIGNAL_ADD if ADD else shmem.NVSHMEM_SIGNAL_SET
    if KIND == "block":
        shmem.putmem_signal_block(dest_ptr, source_ptr, count * 4, signal_ptr, 5, OP, peer)
    elif KIND == "nbi_block":
        shmem.putmem_signal_nbi_block(dest_ptr, source_ptr, count * 4, signal_ptr, 5, OP, peer)
    elif KIND == "warp":
        if tid(0) < 32:
            shmem.putmem_signal_warp(dest_ptr, source_ptr, count * 4, signal_ptr, 5, OP, peer)
    else:
        shmem.putmem_nbi_block(dest_ptr, source_ptr, count * 4, peer)
        shmem.fence()
        if tid(0) == 0:
            shmem.signal_op(signal_ptr, 5, OP, peer)
    if tid(0) == 0:
        shmem.signal_wait_until(signal_ptr, shmem.NVSHMEM_CMP_EQ, 5)


def puts(team):
    found = []
    for kind in ("block", "nbi_block", "warp", "fence"):
        for add in (False, True):
            for count in (COUNT, 37):
                source, dest = team.from_array(data_of(team.rank, count)), team.empty(count, "int32", name="dest")
                signal = team.zeros(1, "uint64", name="signal")
                team.barrier()
                put_to_right[(1,)](source, dest, signal, count, kind, add)
                found.append(np.array(dest))
                np.testing.assert_array_equal(found[-1], data_of((team.rank - 1) % team.size, count))
                team.barrier()
                signal[...] = 0
                for tensor in (signal, dest, source):
                    tensor.free()
    return np.concatenate(found)


@tandem.jit
def get_from_all(source_ptr, dest_ptr, count):
    peer = tl.program_id(0)
    shmem.getmem_block(dest_ptr + peer * count, source_ptr, count * 4, peer)


def gets(team):
    source, dest = team.from_array(data_of(team.rank)), team.empty((team.size, COUNT), "int32", name="dest")
    team.barrier()
    get_from_all[(team.size,)](source, dest, COUNT)
    found = np.array(dest)
    team.barrier()
    return found


@tandem.jit
def count_in_turns(x_ptr, rounds):
    """Between barriers each rank adds to its right neighbour's number."""
    peer = (dl.rank() + 1) % dl.num_ranks()
    there = dl.symm_at(x_ptr, peer)
    for i in range(rounds):
        if tid(0) == 0:
            tl.store(there, tl.load(there) + i)
        shmem.barrier_all_block()


def barriers(team):
    x = team.full(1, 100 * team.rank, "int32", name="x")
    team.barrier()
    count_in_turns[(1,)](x, 20)
    team.barrier()
    found = np.array(x)
    assert found[0] == 100 * team.rank + sum(range(20))
    return found


@tandem.jit
def sum_of_team(team, x_ptr, out_ptr, BLOCK: tl.constexpr):
    shmem.barrier_block(team)
    acc = tl.zeros((BLOCK,), dtype=tl.int32)
    for member in range(shmem.team_n_pes(team)):
        rank = shmem.team_translate_pe(team, member, shmem.NVSHMEM_TEAM_WORLD)
        acc += tl.load(dl.symm_at(x_ptr, rank) + tl.arange(0, BLOCK))
    for member in range(dl.num_ranks(team)):
        acc += (member != dl.rank(team)).to(tl.int32) * tl.load(dl.symm_at(x_ptr, member, team) + tl.arange(0, BLOCK))
    tl.store(out_ptr + tl.arange(0, BLOCK), acc)
    shmem.team_sync_block(team)


def teams(team):
    x = team.from_array(data_of(team.rank))
    team.barrier()
    members = [r for r in range(team.size) if r % 2 == team.rank % 2]
    half, out = team.split(members), np.zeros(COUNT, np.int32)
    sum_of_team[(1,)](half.id, x, out, BLOCK=COUNT)
    np.testing.assert_array_equal(out, 2 * sum(data_of(r) for r in members) - data_of(team.rank))
    half.barrier()
    team.barrier()
    return out


@tandem.jit
def total(parts_ptr, ready_ptr, out_ptr, ranks, N: tl.constexpr):
    acc = tl.zeros((N,), tl.int32)
    for r in range(ranks):
        token = dl.wait(ready_ptr + r, 1, "sys", "acquire", waitValue=1)
        acc += tl.load(dl.consume_token(parts_ptr, token) + r * N + tl.arange(0, N))
    tl.store(out_ptr + tl.arange(0, N), acc)


def copy_engine(team):
    """A kernel waits for copies that the host queues after it, on another stream."""
    mine, parts = team.from_array(data_of(team.rank)), team.empty((team.size, COUNT), "int32", name="parts")
    ready, out = team.zeros(team.size, "int64", name="ready"), team.local_empty(COUNT, "int32")
    for _ in range(3):
        team.barrier()
        total[(1,)](parts, ready, out, team.size, N=COUNT)
        copies = team.new_stream()
        for step in range(team.size):
            peer = (team.rank + step) % team.size
            copies.copy(parts.peer(peer)[team.rank], mine)
            copies.signal_write(ready.peer(peer)[team.rank : team.rank + 1], 1)
        found = np.array(out)
        np.testing.assert_array_equal(found, sum(data_of(r) for r in range(team.size)))
        team.barrier()
        ready[...] = 0
    return found


def streams(team):
    """Signals, waits, barriers, events and fills of streams, without a kernel."""
    x, flags = team.zeros(COUNT, "int32", name="x"), team.zeros(4, "uint32", name="flags")
    other, peer = team.new_stream(), (team.rank + 1) % team.size
    mine = team.local_from_array(data_of(team.rank))
    team.barrier()
    team.stream.signal_wait(flags, 3, "ge")
    event = team.stream.record_event()
    other.signal_write(flags.peer(peer), 3)
    other.copy(x.peer(peer), mine)
    other.barrier()
    other.memset(mine, 1)
    other.wait_event(event)
    team.barrier()
    found = np.concatenate([np.array(x), np.array(mine), np.array(flags).astype(np.int32)])
    flags[...] = 0
    return found


def signals_add(team):
    """Every rank adds to all signals of all ranks."""
    flags = team.zeros(3, "int64", name="flags")
    team.barrier()
    for peer in range(team.size):
        team.stream.signal_write(flags.peer(peer), team.rank + 1, add=True)
    team.stream.signal_wait(flags, team.size * (team.size + 1) // 2)
    team.barrier()
    found = np.array(flags)
    flags[...] = 0
    return found


def tensors(team):
    """Reads and writes of the host in all the ways of indexing."""
    x = team.from_array(np.arange(24, dtype=np.float32).reshape(4, 6) + 100 * team.rank)
    bits = team.full((300, 4), 7, "int16")
    x[1] = 5
    x[2, 1:4] = [1, 2, 3]
    x[:, 0] += np.arange(4)
    x[0, 2] = -1
    x[[3, 3], [4, 5]] = 9
    bits[:, 1] = np.arange(300)
    bits[::2, 3] = 1
    h = team.from_array(np.arange(6).astype(as_dtype("bfloat16")))
    h[1:3] = h[4:6]
    team.barrier()
    there = x.peer((team.rank + 1) % team.size)
    found = [
        np.array(x),
        np.array(x[:, 1::2]),
        x[1, 1],
        x[-1],
        there[2],
        there[3, 4],
        np.array(x[x.shape[0] - 1, None]),
        x[[0, 2]],
        np.array(bits),
        np.array(bits[:, 1]),
        np.array(h, dtype=np.float32),
        x.numpy().sum(),
        np.array(x[1:1]),
    ]
    team.barrier()
    return np.concatenate([np.array(f, dtype=np.float64).ravel() for f in found])


@tandem.jit
def scale(x_ptr, y_ptr, factor, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) * factor, mask=at < n)


def host_arrays(team):
    """NumPy arrays as arguments: overlapping ones, unaligned ones, and a stream of one's own."""
    x = np.arange(100, dtype=np.float32) + team.rank
    y = np.zeros(100, np.float32)
    scale[(1,)](x, y, 2.0, 100, BLOCK=128)
    scale[(1,)](y[3:], y[3:], 0.5, 97, BLOCK=128)
    z, side = np.zeros(100, np.float32), team.new_stream()
    scale[(2,)](x, z, 3.0, 100, BLOCK=64, stream=side)
    team.synchronize()
    t = team.from_array(x)
    scale[(1,)](t, z[:50], 1.0, 50, BLOCK=64)
    return np.concatenate([x, y, z])


@tandem.jit
def product(a_ptr, b_ptr, c_ptr, M, N, K, BLOCK: tl.constexpr):
    rows = tl.program_id(0) // tl.cdiv(N, BLOCK) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(0) % tl.cdiv(N, BLOCK) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        inner = k + tl.arange(0, BLOCK)
        a = tl.load(a_ptr + rows[:, None] * K + inner[None, :], mask=(rows[:, None] < M) & (inner[None, :] < K), other=0)
        b = tl.load(b_ptr + inner[:, None] * N + columns[None, :], mask=(inner[:, None] < K) & (columns[None, :] < N), other=0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + rows[:, None] * N + columns[None, :], acc.to(tl.float16), mask=(rows[:, None] < M) & (columns[None, :] < N))


def overlapped(team):
    """Derived overlaps, each called four times with other inputs: on GPUs queued, captured and replayed."""
    rows, n, most, calls = 96, 64, 1100, 4
    m = rows * team.size
    whole = [np.random.default_rng(call).integers(-2, 3, (team.size, m, most)).astype(np.float16) for call in range(calls)]
    deep = np.random.default_rng(9).integers(-2, 3, (most, n)).astype(np.float16)
    own = slice(rows * team.rank, rows * team.rank + rows)
    share = lambda x: x[own]
    expected = {
        "all_gather": lambda each: each[0],
        "reduce_scatter": lambda each: share(sum(each)),
        "all_reduce": sum,
        "all_to_all": lambda each: np.concatenate(list(map(share, each))),
    }
    results = []
    for collective, plan, k in [
        ("all_gather", dict(bands=3, slices=1), 80),
        ("all_gather", dict(bands=2, slices=2), most),
        ("reduce_scatter", dict(bands=2), 80),
        ("reduce_scatter", dict(path="loads"), 80),
        ("all_reduce", dict(bands=2), 80),
        ("all_reduce", dict(path="loads"), 80),
        ("all_to_all", dict(bands=2), 80),
    ]:
        weights = deep[:k]
        gathers = collective == "all_gather"
        ends = dict(consumer=product, over="a_ptr") if gathers else dict(producer=product, over="c_ptr")
        derived = tandem.overlap(collective=collective, **ends, **plan)
        a, b, c = team.zeros((m, k), "float16"), team.local_from_array(weights), team.zeros((m, n), "float16")
        for of_ranks in whole:
            of_ranks = of_ranks[:, :, :k]
            left = of_ranks[0 if gathers else team.rank]
            a[own if gathers else slice(0, m)] = left[own] if gathers else left
            derived[(m // 32 * (n // 32),)](a, b, c, m, n, k, BLOCK=32)
            found = np.array(c)[own if collective == "reduce_scatter" else slice(0, m)]
            np.testing.assert_array_equal(found, expected[collective]([x @ weights for x in of_ranks]))
            results.append(found.astype(np.float32).sum())
        team.barrier()
    return np.array(results)


def teams_of(team):
    """Each rank alone, and all ranks in the opposite order."""
    return [(team.split(of), of) for of in ([team.rank], list(range(team.size))[::-1])]


def memory_of_teams(team):
    """Copies and signals between the members' parts of a team's own memory, without a kernel."""
    found = []
    for part, members in teams_of(team):
        x, flags = part.zeros((part.size, COUNT), "int32", name="x"), part.zeros(part.size, "uint32", name="flags")
        mine = team.local_from_array(data_of(team.rank))
        part.barrier()
        for peer in range(part.size):
            part.stream.copy(x.peer(peer)[part.rank], mine)
            part.stream.signal_write(flags.peer(peer)[part.rank : part.rank + 1], 3)
        part.stream.signal_wait(flags, 3, "ge")
        part.stream.barrier()
        found.append(np.array(x))
        np.testing.assert_array_equal(found[-1], [data_of(r) for r in members])
        part.barrier()
        flags[...] = 0
        x.free()
    return np.concatenate(found)


def kernels_on_teams(team):
    """Each team's kernels know its ranks alone."""
    found = []
    for part, _ in teams_of(team):
        with tandem.on(part):
            found.append(symm_at(part))
    return np.concatenate(found)


def operators_on_teams(team):
    """Operators of both teams and of the run in turn, and under one another on two streams."""
    from tandem.ops import AllGather, AllReduce, GemmReduceScatter

    parts, size, found = teams_of(team), COUNT // 8, []
    made = [
        (AllReduce(p, COUNT, "fp32"), AllGather(p, 2 * p.size, size, "i32"), GemmReduceScatter(p, 64, 64, 64, "fp16")) for p, _ in parts
    ]
    whole, other = AllReduce(team, COUNT, "fp32"), team.new_stream()
    for turn in range(3):
        found.append(np.array(whole(team.local_from_array(data_of(turn + team.rank).astype(np.float32)))))
        for (part, members), (reduce, gather, product) in zip(parts, made):
            of_rank = [data_of(turn + r) for r in members]
            found.append(np.array(reduce(team.local_from_array(of_rank[part.rank].astype(np.float32)))))
            np.testing.assert_array_equal(found[-1], sum(of_rank))
            rows = np.stack([x[: 2 * size].reshape(2, size) for x in of_rank])
            out = gather(team.local_from_array(rows[part.rank]), 2 * part.size, stream=other)
            other.synchronize()
            np.testing.assert_array_equal(np.array(out), rows.reshape(-1, size))
            a = [(x[:512].reshape(8, 64) % 3).repeat(8, 0).astype(np.float16) for x in of_rank]
            b = np.eye(64, dtype=np.float16)
            scattered = np.array(product(team.local_from_array(a[part.rank]), team.local_from_array(b), 64))
            rows_of = 64 // part.size
            np.testing.assert_array_equal(scattered, sum(a)[part.rank * rows_of :][:rows_of])
            found.append(scattered.astype(np.float32))
    for operators in made:
        for operator in operators:
            operator.close()
    return np.concatenate([x.flatten() for x in found])


PROGRAMS = [symm_at, puts, gets, barriers, teams, copy_engine, streams, signals_add, tensors, host_arrays, overlapped]
ON_TEAMS = [memory_of_teams, kernels_on_teams, operators_on_teams]  # not through NVSHMEM
