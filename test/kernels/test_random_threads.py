"""Drawn programs of threads give what each thread alone would: with functions, and with their bodies in place."""

import importlib.util

import numpy as np
import pytest
import random_threads
import tandem


def imported(path, text):
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.kernel


@pytest.mark.parametrize("seed", range(16))
def test_a_call_means_its_body(tmp_path, seed):
    program = random_threads.Draw(seed)
    warps, ranks = 1 + seed % 2, 1 + seed % 3
    threads = 32 * warps
    memory = np.random.default_rng(seed).integers(0, 1000, threads * random_threads.VALUES).astype(np.int32)
    want = random_threads.expected(program, ranks, threads, memory.tolist(), 3)
    for form in ("functions", "in place"):
        kernel = imported(tmp_path / f"{form.replace(' ', '_')}_{seed}.py", random_threads.source(program, form))

        def main(team, kernel=kernel):
            got, out = memory.copy(), np.zeros(4 * threads, np.int32)
            words, flags = (team.zeros(threads * random_threads.SLOTS, "int32", name=name) for name in ("words", "flags"))
            kernel[(1,)](got, out, words, flags, 3, threads, num_warps=warps)
            return got.tolist(), out.tolist()

        for schedule in (0, 5):
            result = tandem.launch(main, ranks=ranks, seed=schedule, check=True)
            assert result.reports == []
            assert result.values == want
