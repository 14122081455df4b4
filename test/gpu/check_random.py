"""Dropout by random words, one word of a counter for each element and four words for four."""

import numpy as np
import triton
import triton.language as tl
from checks import check, normal, poisoned


def philox(counter, seed):
    """The four words (uint32) of Philox 4x32 with ten rounds for each counter (uint32) under a seed of 64 bits."""
    words = [counter.astype(np.uint64)] + [np.zeros(counter.shape, np.uint64)] * 3
    low, key = np.uint64(0xFFFFFFFF), [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        first, second = words[0] * np.uint64(0xD2511F53), words[2] * np.uint64(0xCD9E8D57)
        words = [
            second >> np.uint64(32) ^ words[1] ^ np.uint64(key[0]),
            second & low,
            first >> np.uint64(32) ^ words[3] ^ np.uint64(key[1]),
            first & low,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return words


def uniform(word):
    signed = word.astype(np.uint32).view(np.int32)
    return np.where(signed < 0, -signed - 1, signed).astype(np.float32) * np.float32(4.6566127342e-10)


def dropped(words):
    """Returns the kernels' result when `words(n, seed)` decides."""
    return lambda x, out, n, p, seed: np.where(uniform(words(n, seed)) > np.float32(p), x.astype(np.float64) / (1 - p), 0)


@triton.jit
def dropout(x_ptr, out_ptr, n, p, seed, BLOCK: tl.constexpr, WORDS: tl.constexpr):
    first = tl.program_id(0) * BLOCK
    i = first + tl.arange(0, BLOCK)
    if WORDS == 1:
        uniform = tl.rand(seed, i)
    else:
        a, b, c, d = tl.rand4x(seed, first // 4 + tl.arange(0, BLOCK // 4))
        uniform = tl.interleave(tl.interleave(a, c), tl.interleave(b, d))
    tl.store(out_ptr + i, tl.where(uniform > p, tl.load(x_ptr + i, mask=i < n) / (1 - p), 0.0), mask=i < n)


one_of_four = dropped(lambda n, seed: philox(np.arange(n), seed)[0])
all_four = dropped(lambda n, seed: np.stack(philox(np.arange(-(-n // 4)), seed), -1).reshape(-1)[:n])
for words, reference in ((1, one_of_four), (4, all_four)):
    for at, (n, block, seed) in enumerate([(4096, 1024, 12), (1001, 512, 2**40 + 3), (333, 128, 0), (70000, 2048, 2**31)]):
        make = lambda rng, n=n, seed=seed: [normal(rng, n), poisoned(n), n, 0.3, seed]
        check(dropout, make, reference, f"{words}.{n}", (-(-n // block),), 1e-6, 1e-6, BLOCK=block, WORDS=words, num_warps=(1, 2, 4, 8)[at])
