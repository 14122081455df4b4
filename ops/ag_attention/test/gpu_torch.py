"""tandem.torch.ag_attention on several GPUs, with its gradients; run by test/gpu/torch_ranks.py."""

import torch

import tandem.torch as tt
from tandem.torch.gathered_attention import spans_of


def error(found, exact):
    return ((found.double() - exact).norm() / exact.norm()).item()


def whole_and_own(m, hq, hkv, d, causal):
    generator = torch.Generator(device="cuda").manual_seed(m)
    q, k, v, grad = (torch.randn(2, m, heads, d, generator=generator, device="cuda", dtype=torch.bfloat16) for heads in (hq, hkv, hkv, hq))
    exact = [x.double().transpose(1, 2).requires_grad_() for x in (q, k, v)]
    out = torch.nn.functional.scaled_dot_product_attention(*exact, is_causal=causal, enable_gqa=True)
    out.backward(grad.double().transpose(1, 2))
    spans = spans_of(m, tt.rank(), tt.size(), False)
    rows = torch.cat([torch.arange(first, first + count, device="cuda") for first, count in spans])
    own = [x[:, rows].contiguous().requires_grad_() for x in (q, k, v)]
    return own, grad[:, rows].contiguous(), [x.transpose(1, 2)[:, rows] for x in (out, *(x.grad for x in exact))]


def gradients():
    for m, hq, hkv, d, causal in [(1024, 4, 2, 128, True), (777, 2, 1, 64, True), (512, 2, 2, 128, False)]:
        own, grad, exact = whole_and_own(m, hq, hkv, d, causal)
        out = tt.ag_attention(*own, m, causal=causal)
        out.backward(grad)
        for found, want in zip((out.detach(), *(x.grad for x in own)), exact):
            assert error(found, want) < 1.5e-2, (m, error(found, want))


CHECKS = {"ag_attention.gradients": gradients}
