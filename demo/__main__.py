"""Embeds sentences with the MLPs on simulated ranks and says what happened."""

import argparse
import pathlib
import time

import numpy as np

from demo.minilm import Model
from demo.picture import draw
from demo.tensor_parallel import embed

SENTENCES = [
    "A man is eating food.",
    "A man is eating a piece of bread.",
    "The girl is carrying a baby.",
    "A man is riding a horse.",
    "A woman is playing the violin.",
    "Two men pushed carts through the woods.",
    "Someone in a gorilla costume is playing a set of drums.",
    "A cheetah is running behind its prey.",
    "The kernel multiplies the rows it has while its peers send the rest.",
    "Computation and communication overlap.",
    "The weather in Lisbon is sunny and warm today.",
    "It is a bright, hot day in Portugal's capital.",
    "The committee postponed its decision until next month.",
    "No decision was taken; the vote comes in four weeks.",
    "She planted tomatoes and basil in the garden.",
    "Herbs and vegetables grow behind her house.",
]

CHECKED = {
    "deadlocks": {"deadlock", "livelock"},
    "memory errors": {"out-of-bounds", "misaligned", "use-after-free", "uninitialised-read"},
    "leftover signals": {"leftover-signal"},
}


def similarities(embeddings, sentences):
    scores = embeddings @ embeddings.T
    lines = []
    for i, sentence in enumerate(sentences):
        other = max((j for j in range(len(sentences)) if j != i), key=lambda j: scores[i, j])
        lines.append(f"  {scores[i, other]:.3f}  {sentence}  ~  {sentences[other]}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(prog="python -m demo", description=__doc__)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--dtype", default="fp16", choices=["fp16", "bf16", "fp32"])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("build/demo"))
    options = parser.parse_args()
    model = Model()
    tokens = sum(map(len, model.tokenize(SENTENCES)))
    print(
        f"{len(SENTENCES)} sentences, {tokens} tokens, all-MiniLM-L6-v2; the MLPs of 6 layers on {options.ranks} simulated ranks, "
        f"{options.dtype}"
    )

    begin = time.perf_counter()
    plain = model.run(SENTENCES, model.mlp)
    numpy_s = time.perf_counter() - begin
    begin = time.perf_counter()
    embeddings, result = embed(model, SENTENCES, options.ranks, options.dtype, options.seed)
    tandem_s = time.perf_counter() - begin

    print("\nnearest sentence to each, cosine similarity:")
    print(similarities(embeddings, SENTENCES))
    print(
        f"\nerror against NumPy in float32: {np.linalg.norm(embeddings - plain) / np.linalg.norm(plain):.1e} (relative norm), "
        f"{np.abs(embeddings @ embeddings.T - plain @ plain.T).max():.1e} (largest difference of a similarity)"
    )
    counters = result.counters
    moved = sum(counters[how] for how in ("copy_bytes", "put_bytes", "get_bytes"))
    print(
        f"time: {tandem_s:.2f} s simulated, {numpy_s:.2f} s plain NumPy; {counters['launches']} launches, "
        f"{counters['programs']} programs, {counters['instructions'] / 1e6:.1f} M instructions, {moved / 1e6:.1f} MB moved"
    )
    found = {r["kind"] for r in result.reports}
    for name, kinds in CHECKED.items():
        print(f"checked {name}: {'none' if not found & kinds else ', '.join(found & kinds)}")

    print("\nwho computed, who waited, who moved data:")
    print(result.timeline(96))
    options.out.mkdir(parents=True, exist_ok=True)
    trace, picture = options.out / "timeline.json", options.out / "timeline.png"
    result.write_trace(trace)
    draw(trace, picture)
    print(f"timeline for ui.perfetto.dev: {trace}\ntimeline as a picture: {picture}")


if __name__ == "__main__":
    main()
