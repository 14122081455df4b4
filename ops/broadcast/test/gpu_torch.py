"""tandem.torch.broadcast on several GPUs; run by test/gpu/torch_ranks.py."""

import torch

import tandem.torch as tt


def from_each_root():
    for count in (100, 65536, 1 << 22):
        for root in range(tt.size()):
            x = torch.arange(count, device="cuda") + tt.rank() * 7
            assert torch.equal(tt.broadcast(x, root), x + (root - tt.rank()) * 7)


def gradient():
    x = torch.full((64, 3), float(tt.rank()), device="cuda", requires_grad=True)
    (tt.broadcast(x, 1 % tt.size()) * (tt.rank() + 1)).sum().backward()
    want = sum(range(1, tt.size() + 1)) if tt.rank() == 1 % tt.size() else 0
    assert torch.equal(x.grad, torch.full_like(x, want))


CHECKS = {"broadcast.from_each_root": from_each_root, "broadcast.gradient": gradient}
