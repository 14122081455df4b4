"""Which rank has the expert of a token's slot: an expert has one place on one rank, or those that a table gives it."""

import tandem
import tandem.dist as dl
import tandem.language as tl
from tandem.simt import ld

DROPPED = tl.constexpr(-1)
NO_EXPERT = tl.constexpr(-2)
NO_PLACE = tl.constexpr(-3)


@tandem.jit
def copy_of(slot, TOP_K: tl.constexpr, COPIES: tl.constexpr):
    """Which of an expert's places a token takes: tokens take turns, and ranks begin with different ones."""
    return (dl.rank() + slot // TOP_K) % COPIES


@tandem.jit
def place_of_expert(expert, slot, placement_ptr, places, placed, TOP_K: tl.constexpr, COPIES: tl.constexpr):
    """The place, of the `places` that all ranks have together, of a slot's expert; else DROPPED, NO_EXPERT where the id is none, or
    NO_PLACE. COPIES is 0 where expert e has place e; else `placement` is [placed, COPIES]."""
    place = expert
    if COPIES:
        place = NO_EXPERT
        if (expert >= 0) & (expert < placed):
            place = ld(placement_ptr + expert * COPIES + copy_of(slot, TOP_K, COPIES), semantic="weak")
            if (place < 0) | (place >= places):
                place = NO_PLACE
    elif (expert < 0) | (expert >= places):
        place = NO_EXPERT
    return tl.where(expert == -1, DROPPED, place)


@tandem.jit
def place_of_slot(slot, ids_ptr, placement_ptr, places, placed, TOP_K: tl.constexpr, COPIES: tl.constexpr):
    return place_of_expert(ld(ids_ptr + slot, semantic="weak"), slot, placement_ptr, places, placed, TOP_K, COPIES)
