"""Shards of rows that come from all ranks by copy engines, one band each (tandem.tilelink.StreamChannel; the host is ops/gathering.h)."""

import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.jit
def is_of_shard(token, rank, shard_rows):
    return (token >= rank * shard_rows) & (token < (rank + 1) * shard_rows)


@tandem.jit
def both_arrived(source, beside, words_ptr, rank, ranks, known, turn):
    """`source` and `beside`, once the shards of the `turn` ranks before this one are there. Those of the first `known` are, by
    earlier waits."""
    last = tl.minimum(turn, rank)
    token = dl.wait(words_ptr + rank - last, last - tl.minimum(known, rank), "sys", "acquire", waitValue=1, compare="ge")
    source = dl.consume_token(source, token)
    beside = dl.consume_token(beside, token)
    behind = tl.maximum(turn - rank, 0)
    missing = behind - tl.maximum(known - rank, 0)
    token = dl.wait(words_ptr + ranks - behind, missing, "sys", "acquire", waitValue=1, compare="ge")
    return dl.consume_token(source, token), dl.consume_token(beside, token)


@tandem.jit
def arrived(source, words_ptr, rank, ranks, known, turn):
    """`source` alone, as of both."""
    return both_arrived(source, source, words_ptr, rank, ranks, known, turn)[0]
