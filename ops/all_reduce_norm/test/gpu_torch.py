"""tandem.torch.all_reduce_norm on several GPUs; run by test/gpu/torch_ranks.py."""

import torch

import tandem.torch as tt


def as_torch_does():
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for m, columns in ((1, 8192), (40, 1000), (500, 4096)):
            generator = torch.Generator("cuda").manual_seed(m)
            shapes = [(m, columns)] * (tt.size() + 1) + [(columns,)]
            *xs, residual, weight = (torch.randn(shape, device="cuda", generator=generator).to(dtype) for shape in shapes)
            new = sum(x.float() for x in xs).to(dtype) + residual
            want = torch.nn.functional.rms_norm(new.double(), (columns,), weight.double(), 1e-5)
            out = tt.all_reduce_norm(xs[tt.rank()], residual, weight, eps=1e-5)
            assert torch.equal(residual, new)
            assert (out.double() - want).norm() <= 8e-3 * want.norm()
            rounded, scales = tt.all_reduce_norm(torch.zeros_like(xs[0]), residual, weight, eps=1e-5, quantised=True)
            wide = scales.repeat_interleave(128, 1)[:, :columns]
            assert (rounded.double() * wide - want).norm() <= 4e-2 * want.norm()


CHECKS = {"all_reduce_norm.as_torch_does": as_torch_does}
