"""Read blocks of lines, and find the lines in them."""

import io
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from training.records.formats.line_blocks import (
    BYTE_ORDER_MARK,
    CARRIAGE_RETURN,
    NEWLINE,
    SLACK_BYTES,
    LineBlocks,
)
from training.records.formats.line_space import OFFSETS_BYTES, SPACE_BYTES, Found, Space, Span
from training.records.formats.protocol import BlockRef
from training.records.mapped import MappedPool
from training.records.reading import open_shard

NO_NEWLINE = 0x00

BORDER_BYTES = 1 << 10
"""Room in a buffer for what a block has of the line that ends in it: half a line on average."""

SEARCH_BYTES = 1 << 20
"""Bytes searched for newlines at once: what has just been read is still in the processor's caches,
and between two of these searches no other thread's Python is waited for."""

WORD_BYTES = 8

_WORD = np.dtype("<u8")
"""Eight flags, the first of them in the lowest byte."""
_ONE = np.uint64(1)
_PLACE_OF_FLAG = np.uint64(0x0001020304050607)
"""A word with one flag, times this, has the flag's place in its highest byte."""
_TOP_BYTE = np.uint64(56)

SPARE_SPACES = 2
"""Buffers kept for the next blocks."""

SPARE_OFFSETS = 3
"""Memory for places kept for the next blocks; the last chunks of a window still need its own."""


class LineReader:
    """Read blocks of lines, each time into memory that it has used before, if it can."""

    def __init__(self) -> None:
        self._spaces = MappedPool(least_bytes=SPACE_BYTES, spares=SPARE_SPACES)
        self._offsets = MappedPool(least_bytes=OFFSETS_BYTES, spares=SPARE_OFFSETS)
        self._flags = Flags(2 * SEARCH_BYTES)

    def read(self, blocks: Sequence[BlockRef]) -> LineBlocks:
        """Read the lines that start in some blocks, with one file open at a time.

        Args:
            blocks: In the order in which their lines are wanted.

        Raises:
            RecordError: A shard is not what it was when it was listed.
        """
        sizes = sum(block.stop - block.start for block in blocks)
        size = sizes + 2 * SLACK_BYTES + BORDER_BYTES * len(blocks)
        space = Space(self._spaces, size)
        search = _Search(space, self._flags, Found(self._offsets))
        spans: list[Span] = []
        for shard, of_shard in groupby(blocks, key=lambda block: block.shard):
            with open_shard(shard) as file:
                for block in of_shard:
                    spans.append(_read_block(file, block, space))
                    search.follow(spans[-1])
        return LineBlocks(blocks, space, spans, search.finish())


def _read_block(file: io.FileIO, block: BlockRef, space: Space) -> Span:
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
        head_end = space.memory.find(b"\n", begin, stop - 1 - origin)
        if head_end < 0:
            space.used = begin
            return Span(begin, begin, origin)
        # It ends nobody's line here, so it is not to be found among those that do.
        space.memory[head_end] = NO_NEWLINE
        first_line = head_end + 1
    _finish_line(file, block, space, origin)
    if start == 0 and space.memory[begin : begin + len(BYTE_ORDER_MARK)] == BYTE_ORDER_MARK:
        first_line += len(BYTE_ORDER_MARK)
    return Span(first_line, space.used, origin)


def _finish_line(file: io.FileIO, block: BlockRef, space: Space, origin: int) -> None:
    """Read on to the end of the line that holds the block's last byte, and stop there."""
    size_bytes = block.shard.size_bytes
    last_byte = block.stop - 1 - origin
    searched = last_byte
    while (newline := space.memory.find(b"\n", searched, space.used)) < 0:
        searched = space.used
        rest = size_bytes - (searched + origin)
        if not rest:
            space.memory[searched] = NEWLINE
            newline = searched
            break
        # Twice as much each time: a line of any length takes few reads.
        read = max(searched - last_byte, SLACK_BYTES)
        space.fill(file, block.shard, searched + origin, min(rest, read))
    space.used = newline + 1


class Flags:
    """Finds newlines by flags, of which it looks at eight at a time."""

    def __init__(self, size_bytes: int) -> None:
        """Take memory for so many bytes; more are searched, too, but in new memory each time."""
        words = -(-size_bytes // WORD_BYTES)
        self._words = np.empty(words, _WORD)
        self._has_newline = np.empty(words, np.bool_)

    def newlines(self, content: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Return where newlines stand, ascending; shape (newlines,)."""
        number = -(-len(content) // WORD_BYTES)
        if number > len(self._words):
            return Flags(len(content)).newlines(content)
        words = self._words[:number]
        flags = words.view(np.bool_)
        flags[len(content) :] = False
        np.equal(content, NEWLINE, out=flags[: len(content)])
        places = np.flatnonzero(np.not_equal(words, 0, out=self._has_newline[:number]))
        if 2 * len(places) > number:
            # Lines of a dozen bytes and less: numpy finds so many flags in another, fast way.
            return np.flatnonzero(flags[: len(content)])
        return _places_of_flags(places * WORD_BYTES, words[places])


def _places_of_flags(starts: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return where the flags of some words stand, ascending.

    Args:
        starts: Of the words, ascending; shape (words,).
        words: Eight flags each, one set at least; shape (words,).
    """
    without_first = words & (words - _ONE)
    firsts = starts + ((words ^ without_first) * _PLACE_OF_FLAG >> _TOP_BYTE).view(np.int64)
    several = np.flatnonzero(without_first)
    if not len(several):
        return firsts
    # Lines shorter than a word.
    others = _places_of_flags(starts[several], without_first[several])
    return np.sort(np.concatenate([firsts, others]))


class _Search:
    """Finds the newlines of a buffer while it is being filled."""

    def __init__(self, space: Space, flags: "Flags", found: Found) -> None:
        """Search `space`; `flags` is room to work in."""
        self._space = space
        self._flags = flags
        self._found = found
        self._searched = 0
        self._ends: list[int] = []

    def follow(self, span: Span) -> None:
        """Search what was read, once it is enough to be worth it."""
        self._ends.append(span.stop)
        if self._space.used - self._searched >= SEARCH_BYTES:
            self._search()

    def finish(self) -> Found:
        """Search the rest; return all that was found."""
        self._search()
        return self._found

    def _search(self) -> None:
        content = self._space.content[: self._space.used]
        piece = content[self._searched :]
        newlines = self._flags.newlines(piece)
        newlines += self._searched
        before = self._found.lines
        self._found.stops += (np.searchsorted(newlines, self._ends) + before).tolist()
        # A newline at the very beginning has, as it were, the buffer's last one before it.
        self._found.add(newlines, newlines - (content[newlines - 1] == CARRIAGE_RETURN))
        self._searched = self._space.used
        self._ends.clear()
