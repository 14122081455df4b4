"""tandem.torch.all_to_all on several GPUs; run by test/gpu/torch_ranks.py."""

import torch

import tandem.torch as tt


def rows(rank, counts, columns=24):
    """Row i for rank j is 1000 * rank + 100 * j + i in all columns."""
    return (
        torch.cat([1000 * rank + 100 * peer + torch.arange(n, device="cuda") for peer, n in enumerate(counts[rank])])[:, None]
        .repeat(1, columns)
        .float()
    )


def exchanged():
    ranks = tt.size()
    for most in (2, 50, 4000):
        counts = [[(3 * i + 5 * j) % (most + 1) for j in range(ranks)] for i in range(ranks)]
        want = torch.cat([rows(i, counts).split(counts[i])[tt.rank()] for i in range(ranks)])
        assert torch.equal(tt.all_to_all(rows(tt.rank(), counts), counts), want)
    alike = [[64] * ranks] * ranks
    assert torch.equal(tt.all_to_all(rows(tt.rank(), alike)), torch.cat([rows(i, alike).split(64)[tt.rank()] for i in range(ranks)]))


def gradient():
    ranks = tt.size()
    counts = [[1 + i + 2 * j for j in range(ranks)] for i in range(ranks)]
    x = rows(tt.rank(), counts).requires_grad_()
    (tt.all_to_all(x, counts) * (tt.rank() + 1)).sum().backward()
    want = torch.cat([torch.full((n, x.shape[1]), peer + 1.0, device="cuda") for peer, n in enumerate(counts[tt.rank()])])
    assert torch.equal(x.grad, want)


CHECKS = {"all_to_all.exchanged": exchanged, "all_to_all.gradient": gradient}
