"""Counting a host's records once, not once per rank: its ranks share the reading."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.records.errors import RecordError
from training.records.formats.protocol import ShardFormat, ShardIndex
from training.records.holdings import AllGather, tell
from training.records.shards import Shard, digest_listing

FAILED = -1
"""What a rank tells in place of the number of blocks it has counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedCounting:
    """How the ranks of a job count together, each its share of its host's shards."""

    host_rank: int
    """Number of this rank's host; the ranks of one host hold the same shards."""
    all_gather: AllGather
    """Called twice, on all ranks of the job alike."""


class _Share(NamedTuple):
    """What one rank tells the others of its share."""

    host_rank: int
    part: int
    parts: int
    listing_digest: int
    blocks: int


def count_together(
    shards: Sequence[Shard],
    shard_format: ShardFormat,
    sharing: SharedCounting,
    *,
    part: int,
    parts: int,
) -> list[ShardIndex]:
    """Index all shards, counted, but read only this rank's share of them.

    A host whose ranks do not fit together counts everything on each of them: agree() tells why.

    Returns:
        The index of every shard, in order.

    Raises:
        RecordError: On all ranks of the job: a shard is damaged.
    """
    indices: list[ShardIndex] = []
    counted: NDArray[np.int64] = np.empty(0, np.int64)
    failure: RecordError | None = None
    try:
        indices = [shard_format.index(shard, count=False) for shard in shards]
        counted = _count(shards, shard_format, _share(shards, indices, part, parts))
    except RecordError as error:
        failure = error
    mine = _Share(
        host_rank=sharing.host_rank,
        part=part,
        parts=parts,
        listing_digest=digest_listing(shards),
        blocks=len(counted) if failure is None else FAILED,
    )
    # A rank that has failed takes part in this: the others would wait for it.
    shares = [_Share(*told) for told in sharing.all_gather(mine)]
    if any(share.blocks == FAILED for share in shares):
        # All raise the same: whichever rank's error is reported in the end, it says what is wrong.
        message = tell("" if failure is None else str(failure), sharing.all_gather)
        raise failure or RecordError(message)
    length = max(share.blocks for share in shares)
    told = sharing.all_gather([*counted.tolist(), *[0] * (length - len(counted))])
    counts_of_parts = _counts_of_parts(shares, told, mine, shards, indices)
    if counts_of_parts is None:
        return [shard_format.index(shard, count=True) for shard in shards]
    return _filled_in(indices, counts_of_parts)


def _share(
    shards: Sequence[Shard], indices: Sequence[ShardIndex], part: int, parts: int
) -> list[int]:
    """Return which of the uncounted shards one part counts: about as many bytes as the others."""
    uncounted = [number for number, index in enumerate(indices) if index.counts is None]
    sizes = np.array([shards[number].size_bytes for number in uncounted], np.int64)
    # The middle of a shard decides, so a part is too large by half a shard at most.
    middles = np.cumsum(sizes) - sizes // 2
    total = int(sizes.sum())
    return [
        number
        for number, middle in zip(uncounted, middles.tolist(), strict=True)
        if min(middle * parts // max(total, 1), parts - 1) == part
    ]


def _count(
    shards: Sequence[Shard], shard_format: ShardFormat, numbers: Iterable[int]
) -> NDArray[np.int64]:
    """Count the blocks of some shards, one after the other; shape (their blocks,)."""
    counts = [np.empty(0, np.int64)]
    for number in numbers:
        index = shard_format.index(shards[number], count=True)
        counts += [] if index.counts is None else [index.counts]
    return np.concatenate(counts)


def _counts_of_parts(
    shares: Sequence[_Share],
    told: Sequence[Sequence[int]],
    mine: _Share,
    shards: Sequence[Shard],
    indices: Sequence[ShardIndex],
) -> list[tuple[list[int], Sequence[int]]] | None:
    """Return the shards of each part of this host and their counts; None: they do not fit."""
    ranks = sorted(
        (share.part, rank) for rank, share in enumerate(shares) if share.host_rank == mine.host_rank
    )
    if [part for part, _ in ranks] != list(range(mine.parts)):
        return None
    counts_of_parts = []
    for part, rank in ranks:
        numbers = _share(shards, indices, part, mine.parts)
        blocks = sum(len(indices[number].bounds) - 1 for number in numbers)
        share = shares[rank]
        if (share.parts, share.listing_digest, share.blocks) != (
            mine.parts,
            mine.listing_digest,
            blocks,
        ):
            return None
        counts_of_parts.append((numbers, told[rank]))
    return counts_of_parts


def _filled_in(
    indices: Sequence[ShardIndex],
    counts_of_parts: Sequence[tuple[list[int], Sequence[int]]],
) -> list[ShardIndex]:
    """Return the indices with the counts of all parts in them."""
    filled = list(indices)
    for numbers, counts in counts_of_parts:
        first = 0
        for number in numbers:
            last = first + len(indices[number].bounds) - 1
            of_shard = np.array(counts[first:last], np.int64)
            filled[number] = replace(indices[number], counts=of_shard)
            first = last
    return filled
