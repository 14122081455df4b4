"""tandem.torch.ContextParallelAttention on several GPUs, with its gradients; run by test/gpu/torch_ranks.py."""

import torch

import tandem.torch as tt
from tandem.ops import rows_of_rank


def layer(heads, kv_heads, d, dtype):
    torch.manual_seed(heads)
    return tt.ContextParallelAttention(256, heads, kv_heads, d, bias=True, dtype=dtype)


def close(found, exact, name):
    error = ((found.double() - exact).norm() / exact.norm()).item()
    assert error < 2e-2, (name, error)


def gradients():
    for m, batch, heads, kv_heads, d in [(512, 1, 8, 4, 64), (256, 2, 4, 4, 128), (333, 1, 9, 3, 64), (200, 1, 4, 1, 64)]:
        generator = torch.Generator(device="cuda").manual_seed(m)
        x, grad = (torch.randn(m, batch, 256, generator=generator, device="cuda", dtype=torch.bfloat16) for _ in range(2))
        module = layer(heads, kv_heads, d, torch.bfloat16)
        exact, whole = layer(heads, kv_heads, d, torch.bfloat16).double(), x.double().requires_grad_()
        parts = exact.qkv(whole).unflatten(2, (-1, d)).split([heads, kv_heads, kv_heads], 2)
        of_parts = torch.nn.functional.scaled_dot_product_attention(
            *(t.permute(1, 2, 0, 3) for t in parts), is_causal=True, enable_gqa=True
        )
        wanted = exact.out(of_parts.permute(2, 0, 1, 3).flatten(2))
        wanted.backward(grad.double())
        first = min(m, tt.rank() * -(-m // tt.size()))
        rows = slice(first, first + rows_of_rank(m, tt.size(), tt.rank()))
        mine = x[rows].clone().requires_grad_()
        out = module(mine, m)
        out.backward(grad[rows])
        close(out.detach(), wanted.detach()[rows], "out")
        close(mine.grad, whole.grad[rows], "x")
        for (name, found), of_exact in zip(module.named_parameters(), exact.parameters()):
            close(tt.all_reduce(found.grad.float().contiguous()), of_exact.grad, name)


CHECKS = {"qkv_gemm_a2a.layer": gradients}
