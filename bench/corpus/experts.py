"""Mixtures of experts (moe-ops) and a loss fused with its product (cut-cross-entropy)."""

import importlib

import torch
import torch.nn.functional as F
from case import case


def routed(logits, k=6):
    best = logits.softmax(-1).topk(k)[0]
    return best / best.sum(-1, keepdim=True)


@case("moe-ops", "topk_softmax", inputs=lambda m: (m(m.pick(100, 16384), 64, dtype=torch.float32),), reference=routed)
def topk_softmax(logits):
    return importlib.import_module("moe_ops.fused_topk_softmax_ops").fused_topk_softmax(logits, 6)[0]


def experts(make):
    count, width, rows = 8, make.pick(256, 2048), make.pick(512, 16384)
    inside = make.integers(count - 1, below=rows, dtype=torch.int32).sort().values
    ends = [torch.tensor([end], dtype=torch.int32, device="cuda") for end in (0, rows)]
    return make(rows, width, grad=True), make(count, width, width, grad=True, scale=width**-0.5), torch.cat([ends[0], inside, ends[1]])


def of_experts(x, weights, offsets):
    bounds = offsets.tolist()
    return torch.cat([x[begin:end] @ w.T for w, begin, end in zip(weights, bounds, bounds[1:])])


@case("moe-ops", "grouped", inputs=experts, reference=of_experts, grad=True)
def grouped(x, weights, offsets):
    return importlib.import_module("moe_ops.grouped_gemm_ops").grouped_gemm(x, weights, offsets, True)


@case("moe-ops", "grouped, descriptors", inputs=experts, reference=of_experts)
def grouped_descriptors(x, weights, offsets):
    return importlib.import_module("moe_ops.grouped_gemm_ops_sm90").group_gemm_tma_fn(x.detach(), weights.detach(), offsets, True)


def losses(make):
    rows, width, classes = make.pick(256, 8192), make.pick(256, 2048), make.pick(1024, 65536)
    return make(rows, width, grad=True, scale=width**-0.5), make(classes, width, grad=True), make.integers(rows, below=classes)


@case("cut-cross-entropy", "loss", inputs=losses, grad=True, tolerance=5e-2, reference=lambda x, w, at: F.cross_entropy(x @ w.T, at))
def loss(x, w, at):
    return importlib.import_module("cut_cross_entropy").linear_cross_entropy(x, w, at, impl="cce")
