"""Attention and its gradients in NumPy in float64, for the tests of the operators, and sequences to test them with."""

import numpy as np

from tandem.kernel.element_types import as_dtype
from tandem.ops import Attention, AttentionBackward

FORWARD = ("top_left", "causal", "window", "softcap", "scale")


def tokens(shape, dtype, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32).astype(as_dtype(dtype))


def begins(lengths):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def sequences(queries, keys):
    """The rows of each sequence's queries and keys."""
    cu_q, cu_kv = begins(queries), begins(keys)
    return [(slice(*cu_q[i : i + 2]), slice(*cu_kv[i : i + 2])) for i in range(len(queries))]


def seen(m, n, causal=False, top_left=False, window=0):
    away = np.arange(m)[:, None] + (0 if top_left else n - m) - np.arange(n)[None, :]
    out = np.ones((m, n), bool)
    if causal:
        out &= away >= 0
    if window:
        out &= abs(away) < window
    return out


def one(q, k, v, grad, sink=None, scale=0.0, softcap=0.0, **shape):
    """One head of one sequence: its result, the logarithms of the sums, and the gradients of q, k, v and the sink."""
    scale = scale or q.shape[1] ** -0.5
    x = q @ k.T * scale
    slope = 1.0
    if softcap:
        x = softcap * np.tanh(x / softcap)
        slope = 1 - (x / softcap) ** 2
    x = np.where(seen(len(q), len(k), **shape), x, -np.inf)
    with np.errstate(divide="ignore"):
        lse = np.logaddexp.reduce(x, axis=1, initial=-np.inf if sink is None else sink)
    p = np.exp(x - np.where(np.isinf(lse), 0, lse)[:, None])
    out = p @ v
    delta = (out * grad).sum(1)
    of_x = p * (grad @ v.T - delta[:, None]) * slope * scale
    of_sink = 0 if sink is None else -(np.exp(sink - lse) * delta).sum()
    return out, lse, of_x @ k, of_x.T @ q, p.T @ grad, of_sink


def exact(q, k, v, grad, queries, keys, sinks=None, **options):
    """All heads and sequences: out, lse, and the gradients of q, k, v and the sinks, as the operators give them."""
    q, k, v, grad = (x.astype(np.float64) for x in (q, k, v, grad))
    found = [np.zeros(s) for s in (grad.shape, (q.shape[1], len(q)), q.shape, k.shape, v.shape, q.shape[1])]
    out, lse, of_q, of_k, of_v, of_sinks = found
    group = q.shape[1] // k.shape[1]
    for i, j in sequences(queries, keys):
        for h in range(q.shape[1]):
            sink = None if sinks is None else float(sinks[h])
            r = one(q[i, h], k[j, h // group], v[j, h // group], grad[i, h], sink, **options)
            out[i, h], lse[h, i], of_q[i, h] = r[:3]
            of_k[j, h // group] += r[3]
            of_v[j, h // group] += r[4]
            of_sinks[h] += r[5]
    return found


def check(found, want, tolerance):
    found = np.asarray(found).astype(np.float64)
    infinite = np.isinf(want)
    assert np.array_equal(found[infinite], want[infinite])
    error = np.linalg.norm(found[~infinite] - want[~infinite]) / max(np.linalg.norm(want[~infinite]), 0.1)
    assert error < tolerance, error


def run(team, queries, keys, hq, hkv, d, dtype="fp16", sinks=False, backward=True, tiles=None, seed=0, dv=0, **options):
    """One case on a simulated rank, forward and backward, against float64."""
    dv, tiles = dv or d, tiles or {}
    m, n, fp8 = sum(queries), sum(keys), dtype == "fp8e4nv"
    q, k, v = tokens((m, hq, d), dtype, [seed, 1]), tokens((n, hkv, d), dtype, [seed, 2]), tokens((n, hkv, dv), dtype, [seed, 3])
    grad = tokens((m, hq, dv), "bf16" if fp8 else dtype, [seed, 4])
    sinks = np.random.default_rng([seed, 5]).standard_normal(hq).astype(np.float32) if sinks else None
    varlen = len(set(queries)) > 1 or len(set(keys)) > 1
    cu = {"cu_q": begins(queries), "cu_kv": begins(keys)} if varlen else {}
    more = {"sinks": sinks} if sinks is not None else {}
    numbers, sizes = (m, n, len(queries), max(queries)), (max(m, n), hq, hkv, d, dv)
    scales = np.array([0.5, 2, 3], np.float32)
    given = {"scales": scales} if fp8 else {}
    want = exact(q, k, v, grad, queries, keys, sinks, **options)
    if fp8:
        want[0] *= 3
    with Attention(team, *sizes, dtype, varlen=varlen, with_lse=True, **options, **tiles) as op:
        out, lse = op(q, k, v, *numbers, **cu, **more, **given)
    check(out, want[0], 5e-2 if fp8 else 8e-3 if dtype == "bf16" else 2e-3)
    check(lse, want[1], 1e-3)
    if not backward:
        return
    wants = {"wants_q": True, "wants_k": True, **({"wants_sinks": True} if more else {})}
    for any_order in (False, True):
        with AttentionBackward(team, *sizes, dtype, varlen=varlen, any_order=any_order, **wants, **options, **tiles) as op:
            of_v, *others = op(q, k, v, np.asarray(out), np.asarray(lse), grad, *numbers, **cu, **more)
        if more:
            check(others.pop(0), want[5], 1e-2)
        for found, exactly in zip((*others, of_v), want[2:5]):
            check(found, exactly, 1.5e-2 if dtype == "bf16" else 3e-3)
