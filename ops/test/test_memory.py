"""What collectives have of symmetric memory is what their pages say."""

import pytest

import tandem
from tandem.ops import AllGather, AllReduce, AllToAll, Broadcast, ReduceScatter

PROGRAMS, CHUNK, MUCH = 2, 4096, 1 << 30
AT_ONCE = 64 << 10  # what packets carry in one launch of an exchange
SIZES = {"programs": PROGRAMS, "num_warps": 1}


def exchanged(ranks, pair):
    """Symmetric bytes of an exchange of so many bytes between two ranks: 33/16 of what all send, in whole lines of each program."""
    slots = 33 * -(-pair // (16 * 32 * PROGRAMS))
    return 2 * ranks * PROGRAMS * -(-slots // 8) * 8 * 16


def wanted(ranks, size):
    """For each operator with its options: symmetric bytes of a result of `size` bytes, in elements that all divide."""
    chunks, at_once = size // ranks // CHUNK, AT_ONCE // ranks
    return {
        ("all_gather", ("packets_bytes", MUCH)): exchanged(ranks, min(size // ranks, at_once)),
        ("all_gather", ("packets_bytes", 0)): size + 8 * ranks,
        ("reduce_scatter", ("packets_bytes", MUCH)): 2 * size,
        ("reduce_scatter", ("packets_bytes", 0)): 2 * size + 8 * ranks * chunks,
        ("all_reduce", ("way", "one_shot")): 2 * ranks * size,
        ("all_reduce", ("way", "two_shot_packets")): 4 * size,
        ("all_reduce", ("way", "two_shot")): 2 * size + 16 * ranks * chunks,
        ("broadcast", ("packets_bytes", MUCH)): exchanged(ranks, min(size, AT_ONCE // (ranks - 1))),
        ("broadcast", ("packets_bytes", 0)): size + 8 * ranks,
        ("all_to_all", ("packets_bytes", 16384)): exchanged(ranks, 16384 // ranks) + size + 8 * ranks,
        ("all_to_all", ("packets_bytes", 0)): size + 8 * ranks,
    }


CLASSES = {
    "all_gather": AllGather,
    "reduce_scatter": ReduceScatter,
    "all_reduce": AllReduce,
    "broadcast": Broadcast,
    "all_to_all": AllToAll,
}


@pytest.mark.parametrize("ranks", [2, 4, 8])
@pytest.mark.parametrize("rows", [64, 256])
def test_symmetric_bytes(ranks, rows):
    m, columns = rows * ranks, 64

    def main(team):
        found = {}
        for name, (option, value) in wanted(ranks, m * columns * 4):
            sizes = (m * columns,) if name in ("all_reduce", "broadcast") else (m, columns)
            with CLASSES[name](team, *sizes, "fp32", chunk_bytes=CHUNK, **SIZES, **{option: value}) as op:
                found[name, (option, value)] = op.memory()["symmetric"]
        return found

    for found in tandem.launch(main, ranks=ranks).values:
        assert found == wanted(ranks, m * columns * 4)
