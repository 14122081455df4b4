"""Times a decoder layer of `transformers` with tensor parallelism, whose collectives `torch.compile` leaves as they are, PyTorch's
async-TP overlaps, or `tandem.torch.overlap_products` replaces, on two GPUs or more of a host:

    python bench/gpu/overlap/block.py [--ranks 2] [--layers 4096x14336x32x8 ...] [--tokens 2048 8192] [--rows 128] [--eager]

The layer is Llama's, in bf16, of the sizes hidden x intermediate x heads x heads of keys, divided by `parallelize_module` and not edited:
for `--tokens` with its sequence divided, too, for `--rows` with whole rows on all ranks. A JSON line for each: microseconds of
rank 0 between two events, the median of seven times eight calls in a row, how many products the pass has replaced, and how far
the results are from those of the layer that is not compiled, as parts of their largest value. `--eager` only compares, on CPUs without
Tandem, by PyTorch's collectives.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

from processes import Processes, free_port

LAYERS = ["4096x14336x32x8", "8192x28672x64x8"]
SAMPLES, IN_A_ROW, TIMEOUT_S = 7, 8, 300


def layer_of(sizes, device, dtype):
    """A decoder layer, the same on all ranks, and a function that gives the cosines and sines of so many places."""
    import torch
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer, LlamaRotaryEmbedding

    hidden, inner, heads, heads_of_keys = map(int, sizes.split("x"))
    config = LlamaConfig(
        hidden_size=hidden,
        intermediate_size=inner,
        num_attention_heads=heads,
        num_key_value_heads=heads_of_keys,
        num_hidden_layers=1,
        attn_implementation="sdpa",
    )
    torch.manual_seed(0)
    layer = LlamaDecoderLayer(config, 0).to(device, dtype).eval()
    rotary = LlamaRotaryEmbedding(config).to(device)
    return layer, lambda x, count: rotary(x, torch.arange(count, device=device)[None])


def divide(layer, mesh, is_sequence_divided):
    """The layer's matrices over the ranks, in place, and the rows between them where the sequence is divided."""
    from torch.distributed.tensor import Replicate, Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, PrepareModuleInput, RowwiseParallel, parallelize_module

    outside = Shard(1) if is_sequence_divided else Replicate()
    inner = {f"self_attn.{name}_proj": ColwiseParallel() for name in "qkv"} | {
        f"mlp.{name}_proj": ColwiseParallel() for name in ("gate", "up")
    }
    outer = {name: RowwiseParallel(output_layouts=outside) for name in ("self_attn.o_proj", "mlp.down_proj")}
    into = {
        "self_attn": PrepareModuleInput(
            input_kwarg_layouts={"hidden_states": outside}, desired_input_kwarg_layouts={"hidden_states": Replicate()}
        ),
        "mlp": PrepareModuleInput(input_layouts=(outside,), desired_input_layouts=(Replicate(),)),
    }
    return parallelize_module(layer, mesh, inner | outer | into)


def ways(layer, options):
    """The layer by name, not compiled, and compiled in each way, each of which begins anew; and how many products were replaced."""
    import torch
    import torch._inductor.config as inductor

    replaced = []
    yield "eager", layer, replaced
    if options.eager:
        yield "compiled", torch.compile(layer, backend="aot_eager"), replaced
        return
    import tandem.torch as tt

    def overlapped(graph):
        replaced.append(tt.overlap_products(graph))

    for name, more, is_async in (("NCCL", {}, False), ("async-TP", {}, True), ("Tandem", {"post_grad_custom_pre_pass": overlapped}, False)):
        torch._dynamo.reset()
        with inductor.patch(_micro_pipeline_tp=is_async, fx_graph_cache=False, **more):
            yield name, torch.compile(layer), replaced


def timed(call):
    import torch

    def row():
        torch.cuda.synchronize()
        torch.distributed.barrier()
        events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        torch.cuda._sleep(20_000_000)  # the host is ahead
        events[0].record()
        for _ in range(IN_A_ROW):
            call()
        events[1].record()
        torch.cuda.synchronize()
        return events[0].elapsed_time(events[1]) * 1e3 / IN_A_ROW

    for _ in range(3):
        call()
    return round(statistics.median(row() for _ in range(SAMPLES)), 1)


def measure(sizes, tokens, is_sequence_divided, device, mesh, options):
    import torch

    rank, ranks = mesh.get_local_rank(), mesh.size()
    dtype = torch.float32 if options.eager else torch.bfloat16
    layer, places = layer_of(sizes, device, dtype)
    hidden = int(sizes.split("x")[0])
    x = torch.randn(1, tokens, hidden, generator=torch.Generator().manual_seed(1)).to(device, dtype)
    turned = places(x, tokens)
    divide(layer, mesh, is_sequence_divided)
    mine = x.chunk(ranks, 1)[rank].contiguous() if is_sequence_divided else x
    row, want = {}, None
    with torch.no_grad():
        for name, way, replaced in ways(layer, options):
            call = lambda way=way: way(mine, position_embeddings=turned, attention_mask=None)
            try:
                result = call()
                result = result[0] if isinstance(result, tuple) else result
                want = result if want is None else want
                of_way = {"error": float((result - want).abs().max() / want.abs().max())}
                if not options.eager:
                    of_way["us"] = timed(call)
                if name == "Tandem":
                    of_way["replaced"] = sum(replaced)
            except Exception as error:
                if name != "async-TP":
                    raise
                of_way = {"failed": str(error).split("\n")[0][:200]}
            row[name] = of_way
    if rank == 0:
        kind = "a divided sequence" if is_sequence_divided else "whole rows"
        print(json.dumps({"layer": sizes, "tokens": tokens, "kind": kind, "ways": row}), flush=True)


def as_one_rank(options):
    import torch
    import torch.distributed as dist

    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    device = torch.device("cpu") if options.eager else torch.device("cuda", rank)
    store = dist.TCPStore("127.0.0.1", options.port, ranks, rank == 0)
    if options.eager:
        dist.init_process_group("gloo", store=store, rank=rank, world_size=ranks)
    else:
        import tandem.torch as tt

        torch.cuda.set_device(device)
        dist.init_process_group("nccl", store=store, rank=rank, world_size=ranks, device_id=device)
        tt.init(wait_timeout=20)
    mesh = dist.init_device_mesh(device.type, (ranks,))
    for sizes in options.layers:
        for tokens in options.tokens:
            measure(sizes, tokens, True, device, mesh, options)
        for tokens in options.rows:
            measure(sizes, tokens, False, device, mesh, options)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--layers", nargs="*", default=LAYERS)
    parser.add_argument("--tokens", nargs="*", type=int, default=[2048, 8192])
    parser.add_argument("--rows", nargs="*", type=int, default=[128])
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.port:
        return as_one_rank(options)
    with tempfile.TemporaryDirectory() as folder:
        ranks = Processes(options.ranks, pathlib.Path(__file__).resolve(), [*sys.argv[1:], "--port", free_port()], f"{folder}/block")
        deadline, shown = time.monotonic() + TIMEOUT_S, 0
        while True:
            running = None in ranks.codes() and time.monotonic() < deadline and not any(ranks.codes())
            lines = [line for line in open(ranks.logs[0]) if line.startswith("{") and line.endswith("\n")]
            print("".join(lines[shown:]), end="", flush=True)
            shown = len(lines)
            if not running:
                break
            time.sleep(0.2)
        failed = any(ranks.codes()) or None in ranks.codes()
        ranks.kill()
        if failed:
            sys.exit(ranks.tails())


main()
