"""Shards of rows that arrive from the other ranks, and which rows are this rank's own."""

import tandem
import tandem.dist as dl
import tandem.language as tl


@tandem.jit
def is_of_shard(token, rank, shard_rows):
    return (token >= rank * shard_rows) & (token < (rank + 1) * shard_rows)


@tandem.jit
def arrived(source, ready_ptr, rank, ranks, turn):
    """`source`, once the shards of the `turn` ranks before this one are there."""
    token = dl.wait(ready_ptr + tl.maximum(rank - turn, 0), tl.minimum(turn, rank), "sys", "acquire", waitValue=1, compare="ge")
    source = dl.consume_token(source, token)
    behind = tl.maximum(turn - rank, 0)
    token = dl.wait(ready_ptr + ranks - behind, behind, "sys", "acquire", waitValue=1, compare="ge")
    return dl.consume_token(source, token)
