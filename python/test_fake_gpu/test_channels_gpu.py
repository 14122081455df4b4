"""Channels on the fake driver: what is wrong with a launch's signals is an error before the launch."""

import numpy as np
import pytest
from gpu_fake import assembler, needs_fake, on_gpus  # noqa: F401
from gpu_fake import compiling_gpu as gpu  # noqa: F401

import tandem
import tandem.dist as dl
import tandem.language as tl
import tandem.tilelink as link

pytestmark = needs_fake


@tandem.jit
def told(words_ptr, begun_ptr, call_ptr, tiles, MODE: tl.constexpr):
    """Each rank tells of its tiles of 16 rows and waits for those of all."""
    ranks = dl.num_ranks()
    channel = link.BlockChannel(words_ptr, begun_ptr, tl.load(call_ptr), ranks * tiles * 16, tiles * 16, 1, 16, 16, 16)
    for tile in range(tiles):
        link.producer_tile_notify(channel, dl.rank() * tiles + tile, MODE)
    for tile in range(ranks * tiles):
        link.consumer_tile_wait(channel, tile)


def tell(mode):
    def main(team):
        words, begun = team.zeros(2 * team.size, "int64", name="words"), team.zeros(team.size, "int64", name="begun")
        for call in range(2):
            told[(1,)](words, begun, team.local_from_array(np.array([call + 1])), 2, MODE=mode)
        team.synchronize()

    on_gpus(main, wait_timeout=20)


def test_signals_are_counted_before_the_launch(gpu):
    tell("broadcast")
    launched = gpu.driver.fakeLog().decode().count("launch told ")
    assert launched == 2 * 2
    with pytest.raises(
        tandem.CompileError, match="(?s)nobody signals what this waits for, word 2 of rank 0.*test_channels_gpu.py:.*consumer_tile_wait"
    ):
        tell("p2p")
    assert gpu.driver.fakeLog().decode().count("launch told ") == launched


@tandem.jit
def told_from(words_ptr, begun_ptr, call, tiles, first, MODE: tl.constexpr):
    ranks = dl.num_ranks()
    channel = link.BlockChannel(words_ptr, begun_ptr, call, ranks * tiles * 16, tiles * 16, 1, 16, 16, 16)
    for tile in range(first, tiles):
        link.producer_tile_notify(channel, dl.rank() * tiles + tile, MODE)
    for tile in range(ranks * tiles):
        link.consumer_tile_wait(channel, tile)


def test_later_launches_are_known_by_the_numbers_that_decide(gpu, monkeypatch):
    emitted, emit = [], tandem._tandem.emit
    monkeypatch.setattr(tandem._tandem, "emit", lambda request, stage: emitted.append(stage) or emit(request, stage))
    bound = tandem.gpu.counted_signals.bind_call
    monkeypatch.setattr(tandem.gpu.counted_signals, "bind_call", lambda *given: emitted.append("slowly") or bound(*given))

    def main(team):
        words, begun = team.zeros(3 * team.size, "int64", name="words"), team.zeros(team.size, "int64", name="begun")
        for call, first in [(2, 0), (3, 0), (3, 0), (4, 0), (5, 2)]:
            if team.rank == 0:
                emitted.append(call)
            team.barrier()
            told_from[(1,)](words, begun, call, 3, first, MODE="broadcast")

    with pytest.raises(tandem.CompileError, match="nobody signals what this waits for"):
        on_gpus(main, wait_timeout=20)
    known = emitted[emitted.index(3) : emitted.index(5)]
    assert "slowly" not in known and "signals" not in known and "signals" in emitted[emitted.index(5) :]


@tandem.jit
def told_but(words_ptr, begun_ptr, call, tiles, FIRST: tl.constexpr):
    ranks = dl.num_ranks()
    channel = link.BlockChannel(words_ptr, begun_ptr, call, ranks * tiles * 16, tiles * 16, 1, 16, 16, 16)
    for tile in range(FIRST, tiles):
        link.producer_tile_notify(channel, dl.rank() * tiles + tile, "broadcast")
    for tile in range(ranks * tiles):
        link.consumer_tile_wait(channel, tile)


def test_constants_decide_like_numbers(gpu):
    def main(team):
        words, begun = team.zeros(3 * team.size, "int64", name="words"), team.zeros(team.size, "int64", name="begun")
        for call, first in [(2, 0), (3, 0), (4, 16)]:
            told_but[(1,)](words, begun, call, 3, FIRST=first)

    with pytest.raises(tandem.CompileError, match="nobody signals what this waits for"):
        on_gpus(main, wait_timeout=20)
