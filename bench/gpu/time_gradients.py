"""The backward pass of attention in one kernel (gradients.py) beside the operator's two kernels and cuDNN: gradients compared with the
operator's, bits with those of other runs, then timed in turns. From the repository's root:
torchrun --nproc-per-node 1 bench/gpu/time_gradients.py"""

import argparse
import functools
import sys

import torch
from contenders import microseconds
from torch.nn.attention import SDPBackend, sdpa_kernel

sys.path.insert(0, ".")
import gradients
from ops.attention_backward.of_sums import delta as delta_of

import tandem.torch as tt
from tandem.torch.functions import FUNCTIONS

LOG2E = 1.4426950408889634
ROWS, NARROWED = 32, 4096
# (queries, keys, warps, stages, lanes), by head dimension
TILES = {
    128: [(64, 128, 8, 2, 1), (64, 128, 8, 2, 8), (64, 128, 8, 2, 16)],
    64: [(64, 64, 4, 2, 8), (64, 128, 8, 2, 8), (128, 128, 8, 2, 8)],
}


def whole(q, k, v, out, grad, lse, kept, given, sequences, causal, tile, ordered):
    (delta, sums, turns), (of_q, of_k, of_v) = kept, given
    rows, heads, d = q.shape
    M, N, warps, stages, lanes = tile
    length = rows // sequences
    delta_of[(-(-rows // ROWS), heads)](out, grad, delta, rows, HQ=heads, V=d, BLOCK_V=d, BLOCK=ROWS, num_warps=4)
    gradients.gradients[(-(-length // N) * k.shape[1] * sequences,)](
        q, k, v, grad, lse, delta, sums, turns, of_k, of_v, d**-0.5 * LOG2E, length, sequences, HQ=heads, HKV=k.shape[1], D=d, BLOCK_M=M,
        BLOCK_N=N, CAUSAL=causal, WHOLE=length % N == 0, LANES=lanes, ORDERED=ordered, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    gradients.narrow[(-(-q.numel() // NARROWED),)](sums, of_q, d**-0.5, q.numel(), BLOCK=NARROWED, num_warps=4)


def theirs(q, k, v, grad, sequences, causal):
    apart = [x.view(sequences, -1, *x.shape[1:]).transpose(1, 2) for x in (q, k, v, grad)]
    leaves = [x.detach().requires_grad_() for x in apart[:3]]
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        out = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
    return functools.partial(torch.autograd.grad, out, leaves, apart[3], retain_graph=True)


def compare(call, given, wanted, turns, ordered):
    """The greatest relative difference of a gradient from the operator's, and whether three runs give the same bits."""
    runs = []
    for _ in range(3 if ordered else 1):
        for x in given:
            x.fill_(float("nan"))
        call()
        runs.append([x.clone() for x in given])
    norms = [((a.float() - b.float()).norm() / b.float().norm()).item() for a, b in zip(runs[0], wanted)]
    return max(norms), all(torch.equal(a, b) for run in runs for a, b in zip(run, runs[0])) and not turns.any().item()


def measure(d, causal, length, sequences, heads, kv_heads):
    rows = sequences * length
    q, grad, k, v = (torch.randn(rows, h, d, device="cuda").bfloat16() for h in (heads, heads, kv_heads, kv_heads))
    options = {"top_left": True} | ({"causal": True} if causal else {})
    out, lse = FUNCTIONS["attention"](q, k, v, sequences, length, with_lse=True, **options)
    ours = functools.partial(
        FUNCTIONS["attention_backward"], q, k, v, out, lse, grad, sequences, length, wants_q=True, wants_k=True, **options
    )
    of_v, *others = ours()
    kept = (
        torch.empty(heads, rows, device="cuda"),
        torch.zeros(rows, heads, d, device="cuda"),
        torch.zeros(heads * rows, dtype=torch.int32, device="cuda"),
    )
    given = [torch.empty_like(x) for x in (q, k, v)]
    calls = {"cudnn": theirs(q, k, v, grad, sequences, causal), "two kernels": ours}
    notes = []
    for tile in TILES[d]:
        for ordered in (True, False):
            call = functools.partial(whole, q, k, v, out, grad, lse, kept, given, sequences, causal, tile, ordered)
            kept[1].zero_()
            far, same = compare(call, given, [*others, of_v], kept[2], ordered)
            name = f"{tile}{'' if ordered else ' in any order'}"
            notes.append(f"{name}: {far:.1e}{'' if same else ', BITS DIFFER'}")
            calls[name] = call
    times = dict(zip(calls, microseconds(*calls.values(), repetitions=5)))
    print(
        f"D {d} causal {causal} {length} x {sequences}, {heads}/{kv_heads} heads:",
        ", ".join(f"{n} {t:.0f}" for n, t in times.items()),
        "µs;",
        "; ".join(notes),
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[1024, 4096, 16384])
    options = parser.parse_args()
    tt.init()
    with torch.cuda.stream(torch.cuda.Stream()):
        for d in (128, 64):
            for causal in (False, True):
                for length in options.lengths:
                    measure(d, causal, length, max(1, 16384 // length), 2048 // d, 2048 // d)
        measure(128, True, 4096, 4, 32, 8)


if __name__ == "__main__":
    main()
