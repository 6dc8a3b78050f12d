"""Shards on disk, and all that a format reads from them."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from training.records.formats.protocol import BlockRef, Records, Rows, ShardFormat
from training.records.shards import Shard


def write_shard(folder: Path, name: str, content: bytes) -> Shard:
    """Write one shard and list it."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return listed(folder, name)


def listed(folder: Path, name: str) -> Shard:
    """List a file that is there."""
    path = folder / name
    return Shard(name=name, path=path, size_bytes=path.stat().st_size)


def cut_short(shard: Shard, bytes_left: int) -> Shard:
    """Truncate a shard's file and list it anew: what an upload that broke off leaves."""
    shard.path.write_bytes(shard.path.read_bytes()[:bytes_left])
    return Shard(name=shard.name, path=shard.path, size_bytes=bytes_left)


def blocks_of(shard_format: ShardFormat, shards: Sequence[Shard]) -> list[BlockRef]:
    """Return all blocks of some shards, in the order of the data."""
    return [
        BlockRef(shard, int(start), int(stop))
        for shard in shards
        for start, stop in pairwise(shard_format.index(shard, count=True).bounds.tolist())
    ]


def rows_of(records: Records) -> Rows:
    """Take all records in the order in which they were read."""
    return records.take(np.arange(int(records.lengths.sum())))


def read_all(shard_format: ShardFormat, shards: Sequence[Shard], kind: str = "records") -> Any:  # noqa: ANN401 - by kind
    """Return all records of some shards, read at once."""
    return rows_of(shard_format.read(blocks_of(shard_format, shards))).output(kind)


def counts_and_lengths(
    shard_format: ShardFormat, shards: Sequence[Shard]
) -> tuple[list[int], list[int]]:
    """Return what the index says each block holds, and what reading each block alone gives."""
    counts: list[int] = []
    for shard in shards:
        counted = shard_format.index(shard, count=True).counts
        assert counted is not None
        counts += counted.tolist()
    blocks = blocks_of(shard_format, shards)
    return counts, [int(shard_format.read([block]).lengths.sum()) for block in blocks]
