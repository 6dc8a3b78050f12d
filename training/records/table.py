"""All blocks of a host, numbered through its shards in order."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.records.formats.protocol import BlockRef, ShardIndex
from training.records.order import BlockLayout
from training.records.shards import Shard


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTable:
    """All blocks of a host; 16 bytes per block."""

    shards: tuple[Shard, ...]

    bounds: NDArray[np.int64]
    """The shards' own bounds (see ShardIndex), one shard after the other; shape
    (blocks + shards,)."""

    counts: NDArray[np.int64] | None
    """Records of each block, shape (blocks,); None: not asked for."""

    layout: BlockLayout
    """What their order depends on."""

    def refs(self, numbers: NDArray[np.int64]) -> list[BlockRef]:
        """Return the blocks with these numbers."""
        shard_numbers, starts, stops = self._places(numbers)
        return [
            BlockRef(self.shards[shard], start, stop)
            for shard, start, stop in zip(
                shard_numbers.tolist(), starts.tolist(), stops.tolist(), strict=True
            )
        ]

    def bytes_of(self, numbers: NDArray[np.int64]) -> int:
        """Return about how many bytes the records of the blocks with these numbers take."""
        if self.layout.sizes is not None:
            return int(self.layout.sizes[numbers].sum())
        _, starts, stops = self._places(numbers)
        return int((stops - starts).sum())

    def _places(
        self, numbers: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the shard of each block, where it starts and where it stops."""
        shard_numbers = np.searchsorted(self.layout.first_blocks, numbers, side="right") - 1
        # Each shard before has one bound more than blocks.
        firsts = numbers + shard_numbers
        return shard_numbers, self.bounds[firsts], self.bounds[firsts + 1]


def make_table(
    shards: Sequence[Shard], indices: Sequence[ShardIndex], *, count: bool
) -> BlockTable:
    """Number the blocks of all shards through.

    Args:
        shards: Of the host, in their order.
        indices: Of each shard.
        count: Whether to keep the records of each block; then all of them must be known.
    """
    blocks = [len(index.bounds) - 1 for index in indices]
    # Whatever the format knows anyway: all hosts have to do alike, those without shards too.
    counts = [index.counts for index in indices if index.counts is not None and count]
    sizes = [np.diff(index.bounds) if index.sizes is None else index.sizes for index in indices]
    layout = BlockLayout(
        first_blocks=np.cumsum([0, *blocks], dtype=np.int64),
        sequential=any(index.sequential for index in indices),
        sizes=_joined(sizes) if any(index.sizes is not None for index in indices) else None,
    )
    return BlockTable(
        shards=tuple(shards),
        layout=layout,
        bounds=_joined([index.bounds for index in indices]),
        counts=_joined(counts) if count else None,
    )


def _joined(arrays: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate([np.empty(0, np.int64), *arrays])
