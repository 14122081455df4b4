"""The all-to-all kernel of Triton-distributed's README, as published: its text is taken from the collected sources,
not written here."""

import numpy as np
import pytest
import tandem

from readme_text import SEEDS, kernel_of, published_text

HIDDEN, MAX_M, EXPERTS = 16, 32, 2


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    text = published_text()
    if text is None:
        pytest.skip(f"no text of the README's kernel in {SEEDS}")
    return kernel_of(text, tmp_path_factory.mktemp("readme"))


def routed(data_seed, rank, call, size):
    """A rank's rows sorted by expert, their scales, and the number of rows of each expert."""
    rng = np.random.default_rng([data_seed, rank, call])
    expert = rng.integers(0, size * EXPERTS, MAX_M)
    splits = np.bincount(expert, minlength=size * EXPERTS).astype(np.int32)
    return rng.standard_normal((MAX_M, HIDDEN)).astype(np.float16), rng.random(MAX_M, np.float32), splits


def main(team, kernel, with_scale, data_seed, calls):
    size, experts = team.size, team.size * EXPERTS
    source = team.zeros((MAX_M, HIDDEN), "float16", name="data_src")
    received = team.zeros((2, size, MAX_M, HIDDEN), "float16", name="data_dst")
    splits_src = team.zeros(experts, "int32", name="splits_src")
    splits_dst = team.zeros((2, size, EXPERTS), "int32", name="splits_dst")
    signal = team.zeros((2, size), "uint64", name="signal")
    scale_src = team.zeros(MAX_M, "float32", name="scale_src")
    scale_dst = team.zeros((2, size, MAX_M), "float32", name="scale_dst")
    mine = slice(team.rank * EXPERTS, (team.rank + 1) * EXPERTS)
    for call in calls:
        data, scale, splits = routed(data_seed, team.rank, call, size)
        source[...], scale_src[...] = data, scale
        cumsum = np.concatenate([[0], np.cumsum(splits)]).astype(np.int32)
        kernel[(size,)](
            source,
            received,
            splits_src,
            splits_dst,
            signal,
            cumsum,
            scale_src,
            scale_dst,
            team.rank,
            call,
            with_scale,
            size,
            HIDDEN,
            MAX_M,
            EXPERTS,
            experts,
        )
        if with_scale:
            # The signal comes with the scales alone and does not cover the rows and splits put before it (M10).
            team.barrier()
        for peer in range(size):
            rows, scales, split = routed(data_seed, peer, call, size)
            first, count = split[: mine.start].sum(), split[mine].sum()
            np.testing.assert_array_equal(np.asarray(splits_dst)[call % 2, peer], split[mine])
            np.testing.assert_array_equal(np.asarray(received)[call % 2, peer, :count], rows[first : first + count])
            if with_scale:
                np.testing.assert_array_equal(np.asarray(scale_dst)[call % 2, peer, :count], scales[first : first + count])
        team.barrier()
    signal[...] = 0


@pytest.mark.parametrize("with_scale", [False, True])
@pytest.mark.parametrize("ranks", [2, 4, 8])
def test_every_rank_receives_what_was_sent(kernel, ranks, with_scale):
    for seed in range(4):
        args = (kernel, with_scale, seed, range(1 + seed, 5 + seed))
        assert tandem.launch(main, ranks=ranks, seed=seed, args=args).reports == []
