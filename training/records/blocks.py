"""Blocks: fixed ranges of bytes. A block owns the lines that start inside it.

So file sizes alone give an exact partition of the lines, whatever lies across a border.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.records.reading import PIECE_BYTES, changed, fill, open_shard
from training.records.shards import Shard

NEWLINE = 0x0A
SLACK_BYTES = 8 << 10
"""Bytes read beyond a block at once: enough for the end of most last lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The bytes `start_byte` to `stop_byte` (exclusive) of one shard; never empty."""

    shard: Shard
    start_byte: int
    stop_byte: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTable:
    """All blocks of a host, numbered through its shards in order; 8 bytes per block."""

    shards: tuple[Shard, ...]
    block_bytes: int
    first_blocks: NDArray[np.int64]
    """Number of the first block of each shard and, last, of all blocks; shape (shards + 1,)."""
    counts: NDArray[np.int64]
    """Lines that start in each block; shape (blocks,)."""

    def block(self, number: int) -> Block:
        """Return the block with this number."""
        shard_number = int(np.searchsorted(self.first_blocks, number, side="right")) - 1
        shard = self.shards[shard_number]
        start = (number - int(self.first_blocks[shard_number])) * self.block_bytes
        stop = min(start + self.block_bytes, shard.size_bytes)
        return Block(shard=shard, start_byte=start, stop_byte=stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLines:
    """The lines that a block owns, without their newlines."""

    shard: Shard
    base_byte: int
    """Where `content` begins in the shard."""
    content: bytes | bytearray
    starts: NDArray[np.int64]
    """Where each line starts in `content`; shape (lines,)."""
    stops: NDArray[np.int64]
    """Where each line stops in `content`, exclusive; shape (lines,)."""


def count_lines(shards: Sequence[Shard], block_bytes: int) -> BlockTable:
    """Read every shard once, in pieces, and count the lines of each block.

    Raises:
        RecordError: A shard is not what it was when it was listed.
    """
    blocks_of_shards = [-(-shard.size_bytes // block_bytes) for shard in shards]
    counts = [_count_lines_of(shard, block_bytes) for shard in shards]
    return BlockTable(
        shards=tuple(shards),
        block_bytes=block_bytes,
        first_blocks=np.cumsum([0, *blocks_of_shards], dtype=np.int64),
        counts=np.concatenate([np.empty(0, np.int64), *counts]),
    )


def read_block(file: io.FileIO, block: Block) -> BlockLines:
    """Read the lines that start in `block`, the end of the last one included.

    Args:
        file: The block's shard, open.
        block: What to read.

    Raises:
        RecordError: The file ends earlier than it did when it was listed.
    """
    shard, start, stop = block.shard, block.start_byte, block.stop_byte
    # The byte before the block tells whether a line starts with the block's first byte.
    base = max(start - 1, 0)
    slack = min(SLACK_BYTES, stop - start, shard.size_bytes - stop)
    content = bytearray(stop + slack - base)
    fill(file, shard, base, memoryview(content))
    starts = np.flatnonzero(np.frombuffer(content, np.uint8, stop - 1 - base) == NEWLINE) + 1
    if start == 0:
        starts = np.insert(starts, 0, 0)
    stops = starts[1:] - 1
    if len(starts):
        stops = np.append(stops, _finish_line(file, shard, base, content, int(starts[-1])))
    return BlockLines(shard=shard, base_byte=base, content=content, starts=starts, stops=stops)


def read_blocks(table: BlockTable, numbers: Sequence[int]) -> list[BlockLines]:
    """Read the blocks with these ascending numbers, with one file open at a time.

    Raises:
        RecordError: A shard is not what it was when its lines were counted.
    """
    read: list[BlockLines] = []
    by_shard: dict[str, list[tuple[int, Block]]] = {}
    for number in numbers:
        block = table.block(number)
        by_shard.setdefault(block.shard.name, []).append((number, block))
    for numbered in by_shard.values():
        with open_shard(numbered[0][1].shard) as file:
            for number, block in numbered:
                lines = read_block(file, block)
                _check_count(lines, int(table.counts[number]))
                read.append(lines)
    return read


def _count_lines_of(shard: Shard, block_bytes: int) -> NDArray[np.int64]:
    """Count the lines that start in each block of `shard`; shape (blocks,)."""
    counts = np.zeros(-(-shard.size_bytes // block_bytes), np.int64)
    piece_bytes = max(PIECE_BYTES // block_bytes, 1) * block_bytes
    buffer = bytearray(min(piece_bytes, shard.size_bytes))
    number = 0
    after_newline = True
    with open_shard(shard) as file:
        for piece_start in range(0, shard.size_bytes, piece_bytes):
            length = min(piece_bytes, shard.size_bytes - piece_start)
            fill(file, shard, piece_start, memoryview(buffer)[:length])
            for start in range(0, length, block_bytes):
                stop = min(start + block_bytes, length)
                # A newline starts a line in the block of the byte behind it.
                ends_in_newline = buffer[stop - 1] == NEWLINE
                newlines = buffer.count(b"\n", start, stop)
                counts[number] = newlines + after_newline - ends_in_newline
                after_newline = ends_in_newline
                number += 1
    return counts


def _finish_line(
    file: io.FileIO, shard: Shard, base: int, content: bytearray, line_start: int
) -> int:
    """Append to `content` until the line at `line_start` is complete; return where it stops."""
    searched = line_start
    while (newline := content.find(b"\n", searched)) < 0:
        searched = len(content)
        rest = shard.size_bytes - base - searched
        if not rest:
            return searched
        # Twice as much each time: a line of any length takes few reads.
        piece = bytearray(min(rest, max(searched, 1)))
        fill(file, shard, base + searched, memoryview(piece))
        content += piece
    return newline


def _check_count(lines: BlockLines, counted: int) -> None:
    """Refuse a block whose lines are not those that were counted: parts would overlap.

    Raises:
        RecordError: The counts differ.
    """
    if len(lines.starts) != counted:
        how = f"a block at byte {lines.base_byte} had {counted} lines and has {len(lines.starts)}"
        raise changed(lines.shard, how)
