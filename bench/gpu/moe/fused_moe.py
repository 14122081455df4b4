"""The Triton kernels that servers multiply experts with, of an SGLang that is installed; of its modules only theirs is imported."""

import importlib.util
import pathlib
import sys

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

from contenders import load

OTHERS = ("batch_invariant_ops", "layers.quantization.fp8_kernel", "layers.quantization.int8_kernel", "utils")
# Rows, columns, inner size, group of row blocks, warps, stages: those that its tables for H100s and H200s name most, for thousands of
# tokens and for 64.
MANY = ((128, 256, 64, 16, 8, 4),)
FEW = ((32, 128, 128, 1, 4, 4), (16, 64, 64, 1, 4, 3))


class Answers:
    """A module all of whose functions say no."""

    def __getattr__(self, name):
        return lambda *arguments: False


def kernels():
    found = importlib.util.find_spec("sglang")
    if not found:
        raise ImportError("SGLang is not installed")
    path = pathlib.Path(found.submodule_search_locations[0]) / "srt/layers/moe/fused_moe_triton/fused_moe_triton_kernels.py"
    return load(path, "fused_moe_triton_kernels", {f"sglang.srt.{name}": Answers() for name in OTHERS})


class Experts:
    """Products of the experts chosen, with rows of slots dealt to blocks beforehand, which costs its users more."""

    def __init__(self, ids, weights, experts, tile):
        self.of, self.ids, self.weights = kernels(), ids, weights
        names = ("BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "num_warps", "num_stages")
        self.tile = dict(zip(names, tile))
        flat, block = ids.flatten().long(), tile[0]
        counts = torch.bincount(flat, minlength=experts)
        blocks = (counts + block - 1) // block
        order = flat.argsort(stable=True)
        of_row = flat[order]
        behind = torch.arange(len(flat), device=flat.device) - (counts.cumsum(0) - counts)[of_row]
        self.rows = torch.full((int(blocks.sum()) * block,), len(flat), device=flat.device, dtype=torch.int32)
        self.rows[(blocks.cumsum(0) - blocks)[of_row] * block + behind] = order.int()
        self.experts = torch.arange(experts, device=flat.device).repeat_interleave(blocks).int()
        self.count = torch.tensor([len(self.rows)], device=flat.device, dtype=torch.int32)

    def products(self, x, w, out, top_k, weighed):
        """out[slot] = w[expert] of x[slot // top_k], by the slot's weight if `weighed`."""
        tl = self.of.tl
        self.of.invoke_fused_moe_kernel(
            *(x, w, None, out, None, None, None, self.weights, self.ids, self.rows, self.experts, self.count, weighed, top_k),
            *(self.tile, tl.bfloat16, False, False, False, False, False),
        )

    def up(self, x, w, between, h):
        self.products(x, w, between, self.ids.shape[1], False)
        self.of.act_and_mul_triton(between, h, self.tile, self.ids)

    def down(self, h, w, slots, sums):
        self.products(h, w, slots, 1, True)
        self.of.moe_sum_reduce_triton(slots, sums, 1.0)
