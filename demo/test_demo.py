"""The demo's job on two sentences: right to fp16's accuracy, clean, and its files are written."""

import json

import numpy as np
import pytest

from demo.minilm import Model
from demo.picture import COLOURS, LEGEND, draw
from demo.tensor_parallel import embed

SENTENCES = ["A man is eating food.", "A man is eating a piece of bread."]


@pytest.mark.parametrize("ranks,dtype,bound", [(4, "fp16", 2e-3), (2, "fp32", 1e-5)])
def test_embeddings(ranks, dtype, bound, tmp_path):
    model = Model()
    plain = model.run(SENTENCES, model.mlp)
    embeddings, result = embed(model, SENTENCES, ranks, dtype, seed=1)
    assert np.linalg.norm(embeddings - plain) / np.linalg.norm(plain) < bound
    assert plain[0] @ plain[1] == pytest.approx(0.7553, abs=1e-3)  # the value the model's authors publish for this pair
    assert result.reports == []
    assert any(rank["overlapped_ns"] > 0 for rank in result.summary["ranks"])
    result.write_trace(tmp_path / "t.json")
    assert {e["pid"] for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"]} == set(range(ranks))
    draw(tmp_path / "t.json", tmp_path / "t.png")
    assert (tmp_path / "t.png").read_bytes().startswith(b"\x89PNG")


def test_the_pictures_legend_names_every_colour():
    assert {COLOURS[kind] for kind in LEGEND} == set(COLOURS.values())
