"""Times attention over gathered keys and values that `tandem.overlap` derives from a plain kernel, on two GPUs or more of a host:

    tandem run --target cuda --ranks 2 bench/gpu/overlap/derived_attention.py [--simulated]

Beside it are the operator, the kernel alone, and the kernel behind copies, in the tiles of queries and keys that follow. A JSON line for
each shape: microseconds of rank 0 between two events, the median of seven times eight calls in a row. Results are compared bit by bit
with those of the kernel behind copies. `--simulated` only compares, on small shapes, and is run by `python`.
"""

import argparse
import json

import numpy as np
from ahead import Timer

import tandem
import tandem.language as tl
from tandem.ops import AllGatherAttention

HEAD = 128
SHAPES = [(16384, 8), (8192, 16)]  # keys of all ranks, heads
TILES = [(128, 128, 8), (128, 64, 8)]  # queries, keys, warps


@tandem.jit
def attention(Q, K, V, Out, N_QUERIES, N_CTX, scale, HEADS: tl.constexpr, HEAD: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    """As tutorials have it, with block pointers, of one sequence: rows have all heads, and a program goes through all keys of its own."""
    start, head, pitch = tl.program_id(0) * BLOCK_M, tl.program_id(1) * HEAD, HEADS * HEAD
    q = tl.load(
        tl.make_block_ptr(Q + head, (N_QUERIES, HEAD), (pitch, 1), (start, 0), (BLOCK_M, HEAD), (1, 0)),
        boundary_check=(0,),
        padding_option="zero",
    )
    k_block = tl.make_block_ptr(K + head, (HEAD, N_CTX), (1, pitch), (0, 0), (HEAD, BLOCK_N), (0, 1))
    v_block = tl.make_block_ptr(V + head, (N_CTX, HEAD), (pitch, 1), (0, 0), (BLOCK_N, HEAD), (1, 0))
    largest = tl.zeros([BLOCK_M], tl.float32) - float("inf")
    total = tl.zeros([BLOCK_M], tl.float32)
    acc = tl.zeros([BLOCK_M, HEAD], tl.float32)
    scale *= 1.44269504
    for _ in range(0, N_CTX, BLOCK_N):
        scores = tl.dot(q, tl.load(k_block)) * scale
        most = tl.maximum(largest, tl.max(scores, 1))
        weights = tl.exp2(scores - most[:, None])
        kept = tl.exp2(largest - most)
        v = tl.load(v_block)
        acc = tl.dot(weights.to(v.dtype), v, acc * kept[:, None])
        total = total * kept + tl.sum(weights, 1)
        largest = most
        k_block = tl.advance(k_block, (0, BLOCK_N))
        v_block = tl.advance(v_block, (BLOCK_N, 0))
    out = tl.make_block_ptr(Out + head, (N_QUERIES, HEAD), (pitch, 1), (start, 0), (BLOCK_M, HEAD), (1, 0))
    tl.store(out, (acc / total[:, None]).to(Out.dtype.element_ty), boundary_check=(0,))


def measure(team, tokens, heads, size, tiles, time):
    rows, width = tokens // team.size, heads * size
    own = slice(team.rank * rows, (team.rank + 1) * rows)
    numbers = np.random.default_rng(team.rank).standard_normal(3 * rows * width).astype(np.float16).reshape(3, rows, width)
    q, k, v = map(team.local_from_array, numbers)
    keys, values = (team.zeros((tokens, width), "float16", name=name) for name in ("keys", "values"))
    out, other = team.local_empty((rows, width), "float16"), team.local_empty((rows, width), "float16")
    keys[own], values[own] = numbers[1], numbers[2]
    row = {}
    if time:
        with AllGatherAttention(team, tokens, 1, heads, heads, size, size, "fp16", in_order=1) as operator:
            q4, k4, v4 = (team.local_from_array(x.reshape(1, rows, heads, size)) for x in numbers)
            row["operator"] = time(lambda: operator(q4, k4, v4, tokens, 1, tokens))
    for block_m, block_n, warps in tiles:
        grid = (-(-rows // block_m), heads)
        more = dict(HEADS=heads, HEAD=size, BLOCK_M=block_m, BLOCK_N=block_n, num_warps=warps)

        def run(kernel, out, grid=grid, more=more):
            kernel[grid](q, keys, values, out, rows, tokens, size**-0.5, **more)

        def behind_copies(run=run):
            for distance in range(1, team.size):
                peer = (team.rank - distance) % team.size
                for x in (keys, values):
                    team.stream.copy(x.peer(peer)[own], x[own])
            team.stream.barrier()
            run(attention, other)

        derived = tandem.overlap(collective="all_gather", consumer=attention, over=("K", "V"))
        behind_copies()
        for _ in range(3):
            run(derived, out)
            team.synchronize()
            if not np.array_equal(np.array(out), np.array(other)):
                raise AssertionError(f"{tokens} keys, {heads} heads, tiles of {block_m} by {block_n}: wrong on rank {team.rank}")
        if time:
            said = derived.explain(q, keys, values, out, rows, tokens, size**-0.5, **more, grid=grid)
            row[f"{block_m} x {block_n}"] = {
                "alone": time(lambda: run(attention, other)),
                "behind copies": time(behind_copies),
                "derived": time(lambda: run(derived, out)),
                "predicted": float(said.split("\n")[-1].split()[0]),
            }
    return row


def on_rank(team, simulated):
    shapes, size, tiles = ([(64, 2)], 16, [(16, 16, 4)]) if simulated else (SHAPES, HEAD, TILES)
    for tokens, heads in shapes:
        row = measure(team, tokens, heads, size, tiles, None if simulated else Timer(team).in_a_row)
        if team.rank == 0:
            print(json.dumps({"keys": tokens, "heads": heads, "times": row}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulated", action="store_true")
    options = parser.parse_args()
    if options.simulated:
        tandem.launch(on_rank, ranks=2, args=(True,), check=True)
    else:
        on_rank(tandem.init(wait_timeout=20), False)


main()
