"""What a route says, for NumPy. The places in its words are those of ops/device/routes.py."""

import dataclasses

import numpy as np

HEADER, BLOCK_WORDS = 64, 8
BAD_IDS, FIRST_BAD, BLOCKS, ROWS, RANKS, RANK = 0, 1, 6, 7, 8, 9


@dataclasses.dataclass(frozen=True)
class RouteParts:
    """`slots` are m * top_k: slot s is token s // top_k's. `blocks`: each has the words expert, first row, where its group's first block
    stands in `by_experts`, turn (how many of the ranks before this one have rows in it or before it), first block of its group, blocks of
    the group, the end of the expert's rows. They stand by turns; `by_experts` has them once more, by experts alone, in groups of its own,
    and with turns by which all blocks of a group are there."""

    offsets: np.ndarray  # [experts + 1]: the first row of each expert
    order: np.ndarray  # [rows]: the slot of each row
    place: np.ndarray  # [slots]: the row of each slot, -1 where it is dropped
    weights: np.ndarray  # [slots]
    blocks: np.ndarray  # [blocks, 8]
    by_experts: np.ndarray  # [blocks, 8]

    @property
    def counts(self):
        """The rows of each expert."""
        return np.diff(self.offsets)


def route_words(m, experts, top_k):
    """The words of a route of m tokens."""
    return HEADER + 18 * experts + 4 * m * top_k


def route_parts(route, m, experts, top_k):
    """Reads a route of m tokens: an array, or a tensor of the team. Raises ValueError where an id was no expert's."""
    words, slots = route_words(m, experts, top_k), m * top_k
    if tuple(route.shape) != (words,):
        raise ValueError(f"`route` has shape {list(route.shape)}, [{words}] is that of {m} tokens, {experts} experts and top_k {top_k}")

    def read(first, count):
        return np.array(route[first : first + count])

    header, behind = read(0, RANK + 1), HEADER + 2 * experts
    if header[BAD_IDS]:
        raise ValueError(
            f"`ids`: {header[BAD_IDS]} are no expert's; the first is that of token {header[FIRST_BAD] // top_k}, slot "
            f"{header[FIRST_BAD] % top_k}; -1 to {experts - 1} are possible"
        )
    tables = read(behind + 3 * slots, (1 + (header[RANKS] > 1)) * header[BLOCKS] * BLOCK_WORDS).reshape(-1, BLOCK_WORDS)
    return RouteParts(
        offsets=read(HEADER, experts + 1),
        order=read(behind, header[ROWS]),
        place=read(behind + slots, slots),
        weights=read(behind + 2 * slots, slots).view(np.float32),
        blocks=tables[: header[BLOCKS]],
        by_experts=tables[len(tables) - header[BLOCKS] :],
    )
