"""`compiled.remarks`: what the compiler says of a kernel for a GPU, also of one from the cache."""

import numpy as np

import tandem
import tandem.language as tl


@tandem.jit
def add_rows(x, y, n, N: tl.constexpr):
    at = tl.arange(0, N)
    total = tl.zeros([N], tl.float32)
    for i in range(n):
        total += tl.load(x + i * N + at)
    tl.store(y + at, total)


def remarks_of(monkeypatch, folder):
    monkeypatch.setenv("TANDEM_TARGET", "sm_90a")
    monkeypatch.setenv("TANDEM_CACHE_DIR", str(folder))
    return tandem.jit(add_rows.fn).warmup(np.float32, np.float32, 8, N=256).remarks


def test_remarks(monkeypatch, tmp_path):
    found = remarks_of(monkeypatch, tmp_path)
    (load,) = [r for r in found if r.kind == "load"]
    assert (load.outcome, load.stage, load.help) == ("missed", "pipeline-loads", "tl.range(..., num_stages=3)")
    assert load.file == __file__ and load.line == add_rows.fn.__code__.co_firstlineno + 5 and load.column == 18
    assert str(load) == f"{load.file}:{load.line}:18: missed load: {load.message} (help: {load.help})"
    assert found[0].kind == "resources"  # at the kernel


def test_from_the_cache(monkeypatch, tmp_path):
    assert remarks_of(monkeypatch, tmp_path) == remarks_of(monkeypatch, tmp_path)
