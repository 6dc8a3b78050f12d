"""Windows: the records of a few blocks in memory, handed out in the epoch's order, in chunks."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.records.formats.protocol import BlockRef, Records, Rows, ShardFormat
from training.records.order import EpochOrder, Piece
from training.records.reading import changed
from training.records.table import BlockTable
from training.records.used import UsedRecords


class WindowPlace(NamedTuple):
    """What is to be remembered of a window once its records are gone."""

    number: int
    lengths: NDArray[np.int64]
    """Records of each of its blocks, used ones too, by ascending block number; shape (blocks,)."""


class Chunk(NamedTuple):
    """Some records of a window, in the epoch's order."""

    rows: Rows
    window: WindowPlace
    first: int
    """Position of the first of them in the window's order."""


class Window(NamedTuple):
    """The records of one window."""

    place: WindowPlace
    blocks: NDArray[np.int64]
    """Their numbers, ascending; shape (blocks,)."""
    records: Records


class ChunkSize(NamedTuple):
    """How large chunks are: whole batches, one of them at least, and otherwise at most this."""

    batch_size: int
    records: int
    content_bytes: int

    def records_of(self, records: int, content_bytes: int) -> int:
        """Return the records of a chunk where so many take so many bytes."""
        fit = self.content_bytes * records // max(content_bytes, 1)
        return max(min(fit, self.records) // self.batch_size, 1) * self.batch_size


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowReader:
    """Reads the windows of one order."""

    shard_format: ShardFormat
    table: BlockTable
    order: EpochOrder
    used: UsedRecords
    """Records that are no longer handed out."""
    lock: Lock
    """Held while the format reads: epochs may be read side by side, formats need not know."""

    def windows(self, pieces: Iterable[Piece]) -> Iterator[tuple[Window, Piece]]:
        """Read the window of each piece, one after the other.

        Raises:
            RecordError: A shard is damaged, or not what it was when it was indexed.
        """
        for piece in pieces:
            # In one expression: a name would hold on to the window while the next one is read.
            yield self.read(piece.window), piece

    def read(self, number: int) -> Window:
        """Read one window.

        Raises:
            RecordError: A shard is damaged, or not what it was when it was indexed.
        """
        blocks = self.order.blocks_of(number)
        refs = self.table.refs(blocks)
        with self.lock:
            records = self.shard_format.read(refs)
        if self.table.counts is not None:
            _check_counts(refs, records.lengths, self.table.counts[blocks])
        _check_used(refs, blocks, records.lengths, self.used)
        return Window(WindowPlace(number, records.lengths), blocks, records)

    def indices(self, window: Window) -> NDArray[np.int64]:
        """Return the record at each position of a window's order, used ones left out."""
        number, lengths = window.place
        unused = self.used.unused(window.blocks, lengths)
        if unused is None:
            return self.order.permutation(number, int(lengths.sum()))
        return unused[self.order.permutation(number, len(unused))]

    def chunks(
        self, windows: Iterable[tuple[Window, Piece]], *, size: ChunkSize
    ) -> Iterator[Chunk]:
        """Copy the records of windows, in the epoch's order, into chunks.

        Args:
            windows: And the piece of each that is wanted.
            size: Of each chunk; fewer records where a piece ends.
        """
        for window, piece in windows:
            records = int(window.place.lengths.sum())
            chunk_records = size.records_of(records, self.table.bytes_of(window.blocks))
            indices = self.indices(window)
            last = len(indices) if piece.last is None else piece.last
            for first in range(piece.first, last, chunk_records):
                chosen = indices[first : min(first + chunk_records, last)]
                yield Chunk(window.records.take(chosen), window.place, first)
            del window


def _check_counts(
    blocks: list[BlockRef], lengths: NDArray[np.int64], counts: NDArray[np.int64]
) -> None:
    """Refuse a block whose records are not those that were counted: parts would overlap.

    Raises:
        RecordError: The counts differ.
    """
    for index in np.flatnonzero(lengths != counts).tolist():
        shard, start, _ = blocks[index]
        how = f"a block at {start} had {counts[index]} records and has {lengths[index]}"
        raise changed(shard, how)


def _check_used(
    refs: list[BlockRef],
    blocks: NDArray[np.int64],
    lengths: NDArray[np.int64],
    used: UsedRecords,
) -> None:
    """Refuse a block of which other records were used before the epoch was interrupted.

    Raises:
        RecordError: Its records are not those that the state speaks of.
    """
    for ref, block, length in zip(refs, blocks.tolist(), lengths.tolist(), strict=True):
        flags = used.partly.get(block)
        if flags is not None and len(flags) != length:
            how = f"a block at {ref.start} had {len(flags)} records and has {length}"
            raise changed(ref.shard, how)
