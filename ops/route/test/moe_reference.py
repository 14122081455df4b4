"""Mixtures of experts in NumPy, for the tests of the operators that make and take routes."""

import numpy as np

from tandem.kernel.element_types import as_dtype
from tandem.ops import shard_rows


def drawn_ids(m, experts, top_k, kind="uniform", seed=0):
    """Ids [m, top_k], different ones for each token; `zipf`: the first experts have most of them; `one`: all go to one expert, the other
    slots are dropped; `few`: to the last eighth of the experts; `dropped`: some are dropped, and some tokens wholly."""
    rng = np.random.default_rng(seed)
    if kind == "one":
        ids = np.full((m, top_k), -1, np.int32)
        ids[:, rng.integers(top_k)] = rng.integers(experts)
        return ids
    if kind == "few":
        least = min(experts, max(top_k, experts // 8))
        return np.stack([experts - least + rng.permutation(least)[:top_k] for _ in range(m)]).astype(np.int32)
    chance = np.arange(1, experts + 1) ** (-1.2 if kind == "zipf" else 0.0)
    ids = np.stack([rng.choice(experts, top_k, replace=False, p=chance / chance.sum()) for _ in range(m)]).astype(np.int32)
    if kind == "dropped":
        ids[rng.random(ids.shape) < 0.3] = -1
        ids[rng.random(m) < 0.2] = -1
    return ids


def drawn_weights(m, top_k, seed=0):
    """Weights that are sums of few powers of two, so that sums of integers stay exact."""
    return np.random.default_rng([seed, 1]).choice([0.5, 1.0, 1.5, 2.0], (m, top_k)).astype(np.float32)


def order_of(ids, experts, ranks=1, rank=0):
    """The slots of the rows on a rank: by expert, then by how far before this rank the rank is that has the token, then in order."""
    flat = ids.reshape(-1)
    slots = np.arange(flat.size)
    turn = (rank - slots // ids.shape[1] // shard_rows(len(ids), ranks)) % ranks
    kept = (flat >= 0) & (flat < experts)
    return np.lexsort((slots, turn, np.where(kept, flat, experts)))[: kept.sum()], turn


def blocks_of(ids, experts, block, ranks=1, rank=0):
    """The words of the blocks of a route, without groups."""
    order, turn = order_of(ids, experts, ranks, rank)
    counts = np.bincount(ids.reshape(-1)[order], minlength=experts)
    first, blocks = 0, []
    for expert, count in enumerate(counts):
        for row in range(first, first + count, block):
            end = min(row + block, first + count)
            blocks.append((turn[order[end - 1]], expert, row, end))
        first += count
    return [(expert, row, end, nth) for nth, expert, row, end in sorted(blocks)]


def padded_rows(ids, experts, align, ranks=1, rank=0):
    """Each expert's rows on a rank, padded to whole blocks: slots, how many, experts of the blocks."""
    order, _ = order_of(ids, experts, ranks, rank)
    slots, blocks, of = [], [], ids.reshape(-1)[order]
    for expert in range(experts):
        mine = order[of == expert].tolist()
        count = -(-len(mine) // align)
        slots += mine + [ids.size] * (count * align - len(mine))
        blocks += [expert] * count
    left = ids.size + experts * align - len(slots)
    return slots + [ids.size] * left, [len(slots)], blocks + [-1] * (ids.size + experts - len(blocks))


def tokens_of_ranks(ids, experts, destinations):
    """Each rank's tokens, where each rank's begin, and the bits of their slots."""
    each, tokens, offsets, slots = -(-experts // destinations), [], [0], []
    for rank in range(destinations):
        here = (ids >= 0) & (ids // each == rank)
        tokens += np.flatnonzero(here.any(1)).tolist()
        slots += (here << np.arange(ids.shape[1])).sum(1)[here.any(1)].tolist()
        offsets.append(len(tokens))
    left = ids.size - len(tokens)
    return tokens + [-1] * left, offsets, slots + [0] * left


def same_lists(found, wanted):
    for seen, want in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(seen, want)


def silu(x):
    return x / (1 + np.exp(-x))


def up_projected(x, w, ids, gated=False):
    """x [m, k] times each slot's expert's matrix [n, k]: [slots, n] in float64; 0 where a slot is dropped."""
    top_k, n = ids.shape[1], w.shape[1] // (2 if gated else 1)
    out = np.zeros((ids.size, n))
    for slot, expert in enumerate(ids.reshape(-1)):
        if 0 <= expert < len(w):
            y = w[expert].astype(np.float64) @ x[slot // top_k].astype(np.float64)
            out[slot] = silu(y[:n]) * y[n:] if gated else y
    return out


def down_projected(h, w, ids, weights):
    """h [slots, k] times each slot's expert's matrix [n, k], summed over a token's slots by its weights: [m, n] in float64."""
    m, top_k = ids.shape
    results = up_projected(h, w, ids.reshape(-1, 1))
    return (results.reshape(m, top_k, -1) * weights[:, :, None]).sum(1)


def integers(shape, dtype, *seed, most=2):
    """Small integers, of which sums of products are exact in fp32."""
    return np.random.default_rng(seed).integers(-most, most + 1, shape).astype(as_dtype(dtype))


def scales(*shape, seed=0):
    """Scales of fp8: powers of two, so that what they multiply stays exact."""
    return np.random.default_rng([seed, 7]).choice([0.25, 0.5, 1.0, 2.0], shape).astype(np.float32)


def scaled_rows(x, of):
    """Rows whose elements have a scale for each 128, in float64."""
    return x.astype(np.float64) * np.repeat(of, 128, axis=-1)[..., : x.shape[-1]]


def scaled_matrices(w, of, parts=1):
    """Matrices [experts, rows, columns] with a scale for each 128 x 128; `parts`: of the rows, each with scales of its own."""
    rows = w.shape[1] // parts
    each = np.concatenate([np.repeat(part, 128, axis=1)[:, :rows] for part in np.split(of, parts, axis=1)], axis=1)
    return scaled_rows(w, each)


def rows_of(x, team):
    shard = shard_rows(len(x), team.size)
    return x[team.rank * shard : (team.rank + 1) * shard]
