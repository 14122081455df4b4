"""The heads of an attention that each rank has, where every rank has whole sequences of some heads.

Arithmetic on integers from 0, which the build writes in C++ as well, as that of tiles.py.
"""

import tandem
import tandem.language as tl


@tandem.jit
def part_of(rank, ranks, hkv):
    """The heads of keys are dealt in as many parts as there are ranks, or heads where these are fewer: the part that a rank has."""
    return tl.minimum(hkv, ranks) * rank // ranks


@tandem.jit
def heads_of_rank(rank, ranks, hq, hkv):
    """A rank's first head of queries and the one behind its last; the same of keys; and the first rank that has these heads of keys and the
    one behind the last. Heads of queries stand with theirs of keys; ranks that have the same keys share their queries."""
    parts = tl.minimum(hkv, ranks)
    part = part_of(rank, ranks, hkv)
    first_rank = tl.cdiv(part * ranks, parts)
    end_rank = tl.cdiv((part + 1) * ranks, parts)
    first_key = hkv * part // parts
    end_key = hkv * (part + 1) // parts
    group = hq // hkv
    queries = group * (end_key - first_key)
    sharers = end_rank - first_rank
    first = group * first_key + queries * (rank - first_rank) // sharers
    end = group * first_key + queries * (rank - first_rank + 1) // sharers
    return first, end, first_key, end_key, first_rank, end_rank
