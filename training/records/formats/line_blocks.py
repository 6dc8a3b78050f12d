"""Blocks of lines: fixed ranges of bytes. A block owns the lines that start inside it.

So file sizes alone give an exact partition of the lines, whatever lies across a border.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from training.records.formats.line_space import ROOM, Found, Space, Span
from training.records.formats.protocol import BlockRef, ShardIndex
from training.records.mapped import map_memory
from training.records.reading import PIECE_BYTES, fill, locate, open_shard
from training.records.shards import Shard

NEWLINE = 0x0A
CARRIAGE_RETURN = 0x0D
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

SLACK_BYTES = 8 << 10
"""Bytes read beyond a block at once: enough for the end of most last lines."""


def index_lines(shard: Shard, block_bytes: int, *, count: bool) -> ShardIndex:
    """Cut `shard` into blocks of `block_bytes`, the last one shorter; count their lines if asked.

    Raises:
        RecordError: Counting: the shard is not what it was when it was listed.
    """
    blocks = -(-shard.size_bytes // block_bytes)
    bounds = np.minimum(np.arange(blocks + 1, dtype=np.int64) * block_bytes, shard.size_bytes)
    counts = _count_lines(shard, block_bytes, blocks) if count else None
    return ShardIndex(bounds=bounds, counts=counts)


class LineBlocks:
    """The lines of some blocks, in one buffer, as they stand in their shards.

    Attributes:
        content: The buffer.
        lengths: Lines of each block, shape (blocks,).
    """

    def __init__(
        self,
        blocks: Sequence[BlockRef],
        space: Space,
        spans: Sequence[Span],
        found: Found,
    ) -> None:
        """Keep what was found.

        Args:
            blocks: That were read.
            space: The buffer.
            spans: Where in it the lines of each block lie.
            found: The lines.
        """
        self._space = space  # Its memory is lent as long as somebody holds it.
        self._blocks = blocks
        self._spans = spans
        self._found = found
        self.content = space.memory
        self._stops = np.array(found.stops, np.int64)
        self.lengths: NDArray[np.int64] = np.diff(self._stops, prepend=0)

    # The rest is worked out by the thread that goes on with the lines: the one that reads them has
    # the most to do.
    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Line n is `content[offsets[2 * n] : offsets[2 * n + 1]]`.

        That is without its newline, a carriage return before that and, at the start of a file, a
        byte order mark. What lies between two lines, and behind the last, is nobody's. Shape
        (2 * lines + 1,).
        """
        offsets = self._found.offsets()
        # To copy lines, Arrow takes as much memory as so many entries have on average, and whenever
        # that was too little, twice as much. Every second entry is next to empty: with this the
        # average is somewhat more than that of the lines.
        offsets[-1] = min(int(self._space.used * ROOM), len(self.content))
        # What lies before the first line of a block is the end of one of the block before it.
        has_lines = self.lengths > 0
        first_lines = np.array([span.first_line for span in self._spans], np.int64)
        offsets[2 * (self._stops - self.lengths)[has_lines]] = first_lines[has_lines]
        return offsets

    @cached_property
    def places(self) -> "LinePlaces":
        """Where each line came from."""
        return LinePlaces(
            shards=[block.shard for block in self._blocks],
            origins=np.array([span.origin for span in self._spans], np.int64),
            stops=self._stops,
            starts=self.offsets[:-1:2],
        )


class LinePlaces:
    """Where the lines of some blocks came from; holds no content."""

    __slots__ = ("_origins", "_shards", "_starts", "_stops")

    def __init__(
        self,
        shards: Sequence[Shard],
        origins: NDArray[np.int64],
        stops: NDArray[np.int64],
        starts: NDArray[np.int64],
    ) -> None:
        """Keep where the blocks lie.

        Args:
            shards: Of each block.
            origins: What to add to a place in the buffer to get the byte of the block's shard.
            stops: Lines up to and with each block; ascending.
            starts: Where each line starts in the buffer.
        """
        self._shards = shards
        self._origins = origins
        self._stops = stops
        self._starts = starts

    def byte(self, line: int) -> tuple[Shard, int]:
        """Return a line's shard and the byte at which it starts there."""
        block = int(np.searchsorted(self._stops, line, side="right"))
        return self._shards[block], int(self._starts[line] + self._origins[block])

    def locate(self, line: int) -> str:
        """Say where a line lies: "part-00003.jsonl, line 17"."""
        return locate(*self.byte(line))


def _count_lines(shard: Shard, block_bytes: int, blocks: int) -> NDArray[np.int64]:
    """Count the lines that start in each block of `shard`; shape (blocks,)."""
    counts = np.zeros(blocks, np.int64)
    if not blocks:
        return counts
    piece_bytes = max(PIECE_BYTES // block_bytes, 1) * block_bytes
    piece_bytes = min(piece_bytes, shard.size_bytes)
    # Mapped: what an allocator takes stays with the process if anything small lies behind it.
    memory = np.frombuffer(map_memory(2 * piece_bytes), np.uint8)
    buffer, is_newline = memory[:piece_bytes], memory[piece_bytes:].view(np.bool_)
    number = 0
    after_newline = True
    with open_shard(shard) as file:
        for piece_start in range(0, shard.size_bytes, piece_bytes):
            length = min(piece_bytes, shard.size_bytes - piece_start)
            fill(file, shard, piece_start, buffer[:length].data)
            np.equal(buffer[:length], NEWLINE, out=is_newline[:length])
            for start in range(0, length, block_bytes):
                stop = min(start + block_bytes, length)
                # A newline starts a line in the block of the byte behind it.
                ends_in_newline = bool(is_newline[stop - 1])
                newlines = np.count_nonzero(is_newline[start:stop])
                counts[number] = newlines + after_newline - ends_in_newline
                after_newline = ends_in_newline
                number += 1
    return counts
