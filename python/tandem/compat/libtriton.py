"""`triton._C.libtriton`: of Triton's C++ library, what programs call: a product by cuBLAS (tutorial 09), through PyTorch."""

import types

from . import ttir


class CublasLt:
    """cuBLAS' product; PyTorch has its own workspace."""

    def __init__(self, workspace=None):
        self.workspace = workspace

    def matmul(self, a, b, c):
        """c = a @ b.T"""
        import torch

        if a.dtype.itemsize > 1:
            torch.mm(a, b.t(), out=c)
        else:
            one = torch.ones((), device=a.device)
            torch._scaled_mm(a, b.t(), one, one, out_dtype=c.dtype, out=c)


ir = types.SimpleNamespace(context=ttir.Context, load_dialects=ttir.load_dialects)
nvidia = types.SimpleNamespace(cublas=types.SimpleNamespace(CublasLt=CublasLt))


def get_cache_invalidating_env_vars():
    """{name: value} of the environment variables that change what is compiled."""
    return {}
