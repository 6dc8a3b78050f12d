"""Blocks of lines: fixed ranges of bytes. A block owns the lines that start inside it.

So file sizes alone give an exact partition of the lines, whatever lies across a border.
"""

import io
import mmap
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.records.formats.protocol import BlockRef, ShardIndex
from training.records.reading import PIECE_BYTES, fill, locate, open_shard
from training.records.shards import Shard

NEWLINE = 0x0A
CARRIAGE_RETURN = 0x0D
NO_NEWLINE = 0x00
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

SLACK_BYTES = 8 << 10
"""Bytes read beyond a block at once: enough for the end of most last lines."""

BORDER_BYTES = 1 << 10
"""Room in a buffer for what a block has of the line that ends in it: half a line on average."""

SEARCH_BYTES = 1 << 20
"""Bytes searched for newlines at once: what has just been read is still in the processor's caches,
and between two of these searches no other thread's Python is waited for."""

SPARE_SPACES = 2
"""Buffers kept for the next blocks: new memory costs more than reading into it."""

SPACE_BYTES = 24 << 20
"""Least size of a buffer: enough for a window of the usual size, so that the short windows at an
order's beginning do not each need another one. What is not touched takes no memory."""


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
        space: "_Space",
        spans: Sequence["_Span"],
        ends: tuple[NDArray[np.int64], NDArray[np.int64]],
    ) -> None:
        """Keep what was found.

        Args:
            blocks: That were read.
            space: The buffer.
            spans: Where in it the lines of each block lie.
            ends: Where each line stops, and its newline; shapes (lines,).
        """
        # The buffer returns to the spare ones when the last who holds the space lets go of it.
        self._space = space
        self._blocks = blocks
        self._spans = spans
        self._line_stops, self._newlines = ends
        self.content = space.content
        self._stops = np.searchsorted(self._newlines, [span.stop for span in spans])
        self.lengths: NDArray[np.int64] = np.diff(self._stops, prepend=0)

    # The rest is worked out by the thread that goes on with the lines: the one that reads them has
    # the most to do.
    @cached_property
    def offsets(self) -> NDArray[np.int64]:
        """Line n is `content[offsets[2 * n] : offsets[2 * n + 1]]`.

        That is without its newline, a carriage return before that and, at the start of a file, a
        byte order mark. What lies between two lines is nobody's. Shape (2 * lines + 1,).
        """
        offsets = np.empty(2 * len(self._newlines) + 1, np.int64)
        offsets[0] = 0
        offsets[1::2] = self._line_stops
        np.add(self._newlines, 1, out=offsets[2::2])
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


class LineReader:
    """Reads blocks of lines, each time into one of a few buffers that it keeps."""

    def __init__(self) -> None:
        self._spare: list[mmap.mmap] = []
        self._flags = np.empty(2 * SEARCH_BYTES, np.bool_)

    def read(self, blocks: Sequence[BlockRef]) -> LineBlocks:
        """Read the lines that start in some blocks, with one file open at a time.

        Args:
            blocks: In the order in which their lines are wanted.

        Raises:
            RecordError: A shard is not what it was when it was listed.
        """
        sizes = sum(block.stop - block.start for block in blocks)
        space = _Space(self._spare, sizes + 2 * SLACK_BYTES + BORDER_BYTES * len(blocks))
        search = _Search(space, self._flags)
        spans: list[_Span] = []
        for shard, of_shard in groupby(blocks, key=lambda block: block.shard):
            with open_shard(shard) as file:
                for block in of_shard:
                    spans.append(_read_block(file, block, space))
                    search.follow()
        return LineBlocks(blocks, space, spans, search.finish())


class _Space:
    """A buffer that is filled from its beginning, and goes back to the spare ones at last.

    Its memory is mapped: the allocator's would stay with the process, in pieces.
    """

    __slots__ = ("_spare", "content", "used")

    def __init__(self, spare: list[mmap.mmap], size: int) -> None:
        self._spare = spare
        self.used = 0
        if spare and len(spare[-1]) >= size:
            self.content = spare.pop()
        else:
            # Too short a spare one will be too short for other windows as well.
            spare.clear()
            self.content = _mapped(size)

    def __del__(self) -> None:
        if len(self._spare) < SPARE_SPACES:
            self._spare.append(self.content)

    def reserve(self, size: int) -> None:
        """Make room for `size` more bytes."""
        needed = self.used + size
        if needed > len(self.content):
            # Somewhat more than asked for: long lines then take few copies.
            grown = _mapped(needed + needed // 8)
            grown[: self.used] = self.content[: self.used]
            self.content = grown

    def fill(self, file: io.FileIO, shard: Shard, offset_bytes: int, size: int) -> None:
        """Append `size` bytes of a shard.

        Raises:
            RecordError: The file ends earlier or cannot be read.
        """
        self.reserve(size + 1)  # One more: a newline that the last line of a shard may lack.
        fill(file, shard, offset_bytes, memoryview(self.content)[self.used : self.used + size])
        self.used += size


def _mapped(size: int) -> mmap.mmap:
    """Map new memory of at least `size` bytes."""
    content = mmap.mmap(-1, max(size, SPACE_BYTES))
    if sys.platform == "linux":
        # Advice for large pages: the first touch of each page costs some microseconds.
        with suppress(OSError):
            content.madvise(mmap.MADV_HUGEPAGE)
    return content


class _Span(NamedTuple):
    """Where the lines of one block lie in the buffer."""

    first_line: int
    """Where its first line starts."""
    stop: int
    """Behind the newline of its last one; where the block's bytes begin if it has no line."""
    origin: int
    """What to add to a place in the buffer to get the byte of the shard."""


def _read_block(file: io.FileIO, block: BlockRef, space: _Space) -> _Span:
    """Append the lines that start in `block`, the last one whole, each ended by a newline.

    Raises:
        RecordError: The file ends earlier than it did when it was listed.
    """
    shard, start, stop = block
    # The byte before the block tells whether a line starts with the block's first byte.
    base = max(start - 1, 0)
    begin = space.used
    origin = base - begin
    slack = min(SLACK_BYTES, stop - start, shard.size_bytes - stop)
    space.fill(file, shard, base, stop + slack - base)
    first_line = begin
    if start > 0:
        head_end = space.content.find(b"\n", begin, stop - 1 - origin)
        if head_end < 0:
            space.used = begin
            return _Span(begin, begin, origin)
        # It ends nobody's line here, so it is not to be found among those that do.
        space.content[head_end] = NO_NEWLINE
        first_line = head_end + 1
    _finish_line(file, block, space, origin)
    if start == 0 and space.content[begin : begin + len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK:
        first_line += len(BYTE_ORDER_MARK)
    return _Span(first_line, space.used, origin)


def _finish_line(file: io.FileIO, block: BlockRef, space: _Space, origin: int) -> None:
    """Read on to the end of the line that holds the block's last byte, and stop there."""
    size_bytes = block.shard.size_bytes
    last_byte = block.stop - 1 - origin
    searched = last_byte
    while (newline := space.content.find(b"\n", searched, space.used)) < 0:
        searched = space.used
        rest = size_bytes - (searched + origin)
        if not rest:
            space.content[searched] = NEWLINE
            newline = searched
            break
        # Twice as much each time: a line of any length takes few reads.
        read = max(searched - last_byte, SLACK_BYTES)
        space.fill(file, block.shard, searched + origin, min(rest, read))
    space.used = newline + 1


class _Search:
    """Finds the newlines of a buffer while it is being filled."""

    def __init__(self, space: _Space, flags: NDArray[np.bool_]) -> None:
        """Search `space`; `flags` is room to work in, of any size."""
        self._space = space
        self._flags = flags
        self._searched = 0
        self._stops = [np.empty(0, np.int64)]
        self._newlines = [np.empty(0, np.int64)]

    def follow(self) -> None:
        """Search what was read, once it is enough to be worth it."""
        if self._space.used - self._searched >= SEARCH_BYTES:
            self._search()

    def finish(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Search the rest; return where each line stops, and its newline, shapes (lines,)."""
        self._search()
        return np.concatenate(self._stops), np.concatenate(self._newlines)

    def _search(self) -> None:
        content = np.frombuffer(self._space.content, np.uint8, self._space.used)
        piece = content[self._searched :]
        flags = self._flags[: len(piece)] if len(piece) <= len(self._flags) else None
        newlines = np.flatnonzero(np.equal(piece, NEWLINE, out=flags))
        newlines += self._searched
        # A newline at the very beginning has, as it were, the buffer's last one before it.
        self._stops.append(newlines - (content[newlines - 1] == CARRIAGE_RETURN))
        self._newlines.append(newlines)
        self._searched = self._space.used


def _count_lines(shard: Shard, block_bytes: int, blocks: int) -> NDArray[np.int64]:
    """Count the lines that start in each block of `shard`; shape (blocks,)."""
    counts = np.zeros(blocks, np.int64)
    piece_bytes = max(PIECE_BYTES // block_bytes, 1) * block_bytes
    buffer = np.empty(min(piece_bytes, shard.size_bytes), np.uint8)
    is_newline = np.empty(len(buffer), np.bool_)
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
