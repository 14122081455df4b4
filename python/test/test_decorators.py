"""Autotune, heuristics, descriptors from the host, specialisation."""

import numpy as np
import pytest

import tandem
import tandem.language as tl
from tandem.errors import AutotunerError


@tandem.autotune(configs=[tandem.Config({"BLOCK": 32}, num_warps=2), tandem.Config({"BLOCK": 64})], key=["n"])
@tandem.heuristics({"EVEN": lambda args: args["n"] % 32 == 0})
@tandem.jit
def scale(x_ptr, n, factor, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(x_ptr + i, tl.load(x_ptr + i) * factor)
    else:
        tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * factor, mask=i < n)


def test_autotune_over_heuristics():
    for n in (64, 70):
        x = np.ones(n, np.float32)
        scale[lambda meta: (tandem.cdiv(n, meta["BLOCK"]),)](x, n, 3.0)
        assert (x == 3).all()


def _divides(configs, arguments, **_):
    return [c for c in configs if arguments["n"] % c.kwargs["BLOCK"] == 0]


@tandem.autotune(
    configs=[tandem.Config({"BLOCK": 64}), tandem.Config({"BLOCK": 32}), tandem.Config({"BLOCK": 16})],
    key=["n"],
    prune_configs_by={"early_config_prune": _divides, "perf_model": lambda BLOCK, **_: BLOCK, "top_k": 1},
    reset_to_zero=["sum_ptr"],
)
@tandem.jit
def add_up(sum_ptr, x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(sum_ptr, tl.sum(tl.load(x_ptr + i)))


def test_arrays_in_a_key_count_by_their_form():
    tuned = tandem.autotune(configs=[tandem.Config({"BLOCK": 32}), tandem.Config({"BLOCK": 64})], key=["x_ptr", "n"])(scale.fn.fn)

    def key(array):
        return tuned.key_of({"x_ptr": array, "n": 64, "factor": 1.0})

    x = np.ones((8, 64), np.float32)
    assert key(x) == key(np.zeros((8, 64), np.float32))
    assert len({key(x), key(x.reshape(64, 8)), key(x[:, ::2]), key(x[:, :32]), key(x.astype(np.float64))}) == 5


def _add_up_twice(team):
    for n, block in ((96, 16), (80, 16)):
        x, total = np.ones(n, np.float32), team.zeros(1, "float32")
        total[...] = 5
        for _ in range(2):
            add_up[lambda meta: (n // meta["BLOCK"],)](total, x, n)
            assert add_up.best_config.kwargs["BLOCK"] == block
        assert total[0] == 2 * n


def test_the_simulator_prunes_and_resets_as_the_first_call_that_counts():
    tandem.launch(_add_up_twice, ranks=2)
    tandem.launch(_add_up_twice, ranks=2)  # its ranks call for the first time
    total = np.full(1, 5, np.float32)
    add_up[lambda meta: (96 // meta["BLOCK"],)](total, np.ones(96, np.float32), 96)
    assert total[0] == 96
    with pytest.raises(AutotunerError, match="`early_config_prune` of kernel `add_up` leaves no configuration"):
        add_up[(1,)](total, np.ones(8, np.float32), 8)
    with pytest.raises(ValueError, match="`BLOCK` of kernel `add_up` is chosen by the autotuner"):
        add_up[(1,)](total, np.ones(32, np.float32), 32, BLOCK=32)


def test_timed_launches_keep_arrays_of_teams_and_numpy():
    tuner = tandem.autotune(configs=[], restore_value=["x_ptr"])(add_up.fn)

    def main(team):
        for x in (team.zeros(4, "float32"), np.zeros(4, np.float32)):
            x[...] = 3
            tuner.pre_hook({"x_ptr": x})
            x[...] = 7
            tuner.post_hook({"x_ptr": x}, exception=None)
            assert (np.asarray(x) == 3).all()

    tandem.launch(main, ranks=1)


@tandem.jit
def transpose(source, dest, M, N, BLOCK: tl.constexpr):
    i, j = tl.program_id(0) * BLOCK, tl.program_id(1) * BLOCK
    dest.store([j, i], source.load([i, j]).T)


def test_host_descriptors():
    x, y = np.arange(20 * 36, dtype=np.float32).reshape(20, 36), np.zeros((36, 20), np.float32)
    transpose[(2, 3)](tandem.TensorDescriptor.from_tensor(x, [16, 16]), tandem.TensorDescriptor.from_tensor(y, [16, 16]), 20, 36, BLOCK=16)
    np.testing.assert_array_equal(y, x.T)


@tandem.jit(do_not_specialize=["k"])
def is_constant(out_ptr, n, k):
    tl.store(out_ptr, n + k)


def test_one_is_a_constant_unless_told_otherwise():
    out = np.zeros(1, np.int32)
    compiled = is_constant[(1,)](out, 1, 1)
    assert [a["name"] for a in compiled.info["arguments"]] == ["out_ptr", "k"]
    assert out[0] == 2
    compiled = is_constant[(1,)](out, 2, 1)
    assert [a["name"] for a in compiled.info["arguments"]] == ["out_ptr", "n", "k"]
    assert out[0] == 3


WIDTH = tl.constexpr(4)


@tandem.jit
def store_width(x_ptr):
    tl.store(x_ptr, WIDTH)


def test_changed_global_compiles_again():
    global WIDTH
    x = np.zeros(1, np.float32)
    for width in (4, 8, 4):
        WIDTH = tl.constexpr(width)
        store_width[(1,)](x)
        assert x[0] == width


@tandem.jit
def apply(function: tl.constexpr, x_ptr):
    tl.store(x_ptr, function(tl.load(x_ptr)))


def activation(factor):
    factor = tl.constexpr(factor)

    @tandem.jit
    def scaled(x):
        return x * factor

    return scaled


def test_functions_of_one_name_as_constants():
    for factor in (2.0, 3.0):
        x = np.ones(1, np.float32)
        apply[(1,)](activation(factor), x)
        assert x[0] == factor
