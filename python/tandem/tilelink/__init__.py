"""Tile-centric primitives: channels between who brings tiles and who uses them, and what kernels say through these.

`blocks` has channels of rows in shards, `tiles` what is said through them; `streams` has rows that copy engines bring, `parts` sums for
who owns them, `sums` those for all ranks. `product` has products of tiles that channels feed.
"""

from tandem.tilelink.blocks import BlockChannel, TableChannel, arrivals_of, channels_of
from tandem.tilelink.tiles import (
    consumer_tile_wait,
    gather_tiles,
    peer_tile_notify,
    peer_tile_wait,
    producer_tile_notify,
    rank_copy_data,
    rank_notify,
    rank_wait,
    tile_addresses,
    tile_at,
    tile_pull_data,
    tile_push_data,
)
from tandem.tilelink.product import Product, Result
from tandem.tilelink.streams import ShardRows, StreamChannel, call_ends, end_call, rank_copy_slices, slices_wait, stream_words
from tandem.tilelink.parts import (
    PartsChannel,
    part_at,
    part_notify,
    part_place,
    parts_begin,
    parts_wait,
    rank_copy_parts,
    ranks_wait,
    scattered_tile,
    slot_of,
)
from tandem.tilelink.sums import SumsChannel

__all__ = [
    "channels_of",
    "arrivals_of",
    "BlockChannel",
    "TableChannel",
    "peer_tile_notify",
    "producer_tile_notify",
    "consumer_tile_wait",
    "peer_tile_wait",
    "rank_notify",
    "rank_wait",
    "tile_addresses",
    "tile_push_data",
    "tile_pull_data",
    "tile_at",
    "gather_tiles",
    "rank_copy_data",
    "StreamChannel",
    "slices_wait",
    "ShardRows",
    "call_ends",
    "end_call",
    "stream_words",
    "rank_copy_slices",
    "scattered_tile",
    "PartsChannel",
    "parts_begin",
    "ranks_wait",
    "part_at",
    "slot_of",
    "part_place",
    "part_notify",
    "parts_wait",
    "rank_copy_parts",
    "SumsChannel",
    "Product",
    "Result",
]
