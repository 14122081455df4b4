"""tandem.torch.ep_dispatch and ep_combine on several GPUs, with their gradients; run by test/gpu/torch_ranks.py."""

import torch
import torch.distributed as dist

import tandem.torch as tt
from tandem.ops import route_parts


def drawn(m, columns, experts, top_k, seed):
    generator = torch.Generator("cuda").manual_seed(seed)
    ids = torch.rand(m, experts, device="cuda", generator=generator).topk(top_k).indices.int()
    ids[torch.rand(m, top_k, device="cuda", generator=generator) < 0.2] = -1
    x, grad = (torch.randn(m, columns, device="cuda", generator=generator) for _ in range(2))
    return x, ids, torch.rand(m, top_k, device="cuda", generator=generator), grad


def layer(x, ids, weights, factors, most):
    """Each expert multiplies by its own row of `factors`."""
    experts, top_k = len(factors), ids.shape[1]
    rows, route = tt.ep_dispatch(x, ids, weights, most, experts)
    parts = route_parts(route.cpu().numpy(), len(rows), -(-experts // tt.size()), top_k)
    order, counts = (torch.from_numpy(part.copy()).cuda().long() for part in (parts.order, parts.counts))
    mine = factors[tt.rank() * len(counts) :][: len(counts)].repeat_interleave(counts, 0)
    h = torch.cat([rows[order // top_k] * mine, rows.new_full((len(rows) * top_k - len(order), x.shape[1]), torch.nan)])
    return tt.ep_combine(h, route, ids, most, experts, weights=weights)


def with_gradients():
    """Any number of tokens, also one and none, and rows for which an operator of more tokens would have other places."""
    for most, columns, top_k in ((1, 512, 8), (5, 100, 2), (130, 2048, 4)):
        experts = 8 * tt.size()
        factors = torch.randn(experts, columns, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
        for m in (most, (tt.rank() + 1) % (most + 1), most * (tt.rank() % 2)):
            x, ids, weights, grad = drawn(m, columns, experts, top_k, 10 * m + tt.rank())
            ours, exact = ([t.clone().requires_grad_() for t in (x, weights)] for _ in range(2))
            out = layer(ours[0], ids, ours[1], factors, most)
            out.backward(grad)
            by = torch.where(ids >= 0, exact[1], 0)[..., None] * factors[ids.clamp_min(0).long()]
            want = exact[0] * by.sum(1)
            want.backward(grad)
            for found, true in zip((out, ours[0].grad, ours[1].grad), (want, exact[0].grad, exact[1].grad)):
                torch.testing.assert_close(found.detach(), true.detach(), atol=1e-3, rtol=1e-3)
            dist.barrier()


def quantised():
    m, columns, experts, top_k = 100, 7168, 4 * tt.size(), 2
    x, ids, weights, _ = drawn(m, columns, experts, top_k, 5)
    rows, route, scales = tt.ep_dispatch(x.bfloat16(), ids, weights, m, experts, quantised=True)
    parts = route_parts(route.cpu().numpy(), len(rows), 4, top_k)
    for row in {int(slot) // top_k for slot in parts.order}:
        true = x[row % m].bfloat16().float().view(-1, 128)
        largest = true.abs().amax(1, keepdim=True)
        most = torch.full_like(largest, 448)  # with a number for a divisor PyTorch multiplies by its inverse
        assert torch.equal(scales[row], (largest / most)[:, 0])
        assert torch.equal(rows[row].view(torch.uint8), (true * (most / largest)).to(torch.float8_e4m3fn).flatten().view(torch.uint8))


CHECKS = {"ep.with_gradients": with_gradients, "ep.quantised": quantised}
