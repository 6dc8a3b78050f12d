"""Where lines lie that were read: one buffer, and the places of the lines in it."""

import io
from mmap import mmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.records.mapped import Lent, MappedPool
from training.records.reading import fill
from training.records.shards import Shard

SPACE_BYTES = 40 << 20
"""Least size of a buffer: enough for a window of the usual size, so that the short windows at an
order's beginning do not each need another one."""

OFFSETS_BYTES = 4 << 20
"""Least size of the memory for the places: those of 260,000 lines."""

OFFSET_BYTES = 8

ROOM = 2.1
"""A buffer is at least so many times as long as what a window needs, see LineBlocks.offsets."""


class Space:
    """A buffer that is filled from its beginning.

    Attributes:
        used: Bytes that were filled.
    """

    __slots__ = ("_lent", "_pool", "used")

    def __init__(self, pool: MappedPool, size: int) -> None:
        """Borrow a buffer for `size` bytes."""
        self._pool = pool
        self._lent = pool.lend(int(size * ROOM))
        self.used = 0

    @property
    def memory(self) -> mmap:
        """All of it."""
        return self._lent.memory

    @property
    def content(self) -> NDArray[np.uint8]:
        """All of it."""
        return self._lent.content

    def reserve(self, size: int) -> None:
        """Make room for `size` more bytes."""
        needed = self.used + size
        if needed > len(self.memory):
            self._lent = _grown(self._lent, self.used, self._pool, needed)

    def fill(self, file: io.FileIO, shard: Shard, offset_bytes: int, size: int) -> None:
        """Append `size` bytes of a shard.

        Raises:
            RecordError: The file ends earlier or cannot be read.
        """
        self.reserve(size + 1)  # One more: a newline that the last line of a shard may lack.
        fill(file, shard, offset_bytes, memoryview(self.memory)[self.used : self.used + size])
        self.used += size


class Span(NamedTuple):
    """Where the lines of one block lie in the buffer."""

    first_line: int
    """Where its first line starts."""
    stop: int
    """Behind the newline of its last one; where the block's bytes begin if it has no line."""
    origin: int
    """What to add to a place in the buffer to get the byte of the shard."""


class Found:
    """The lines that were found, and how many each block has.

    Attributes:
        lines: How many there are.
        stops: Lines up to and with each block; ascending.
    """

    __slots__ = ("_lent", "_pool", "lines", "stops")

    def __init__(self, pool: MappedPool) -> None:
        self._pool = pool
        self._lent = pool.lend(OFFSETS_BYTES)
        self.lines = 0
        self.stops: list[int] = []

    def offsets(self) -> NDArray[np.int64]:
        """Return where lines start and stop, alternately; see LineBlocks."""
        return self._lent.content.view(np.int64)[: 2 * self.lines + 1]

    def add(self, newlines: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
        """Append lines, by their newlines and where they stop; shapes (lines,)."""
        first = 2 * self.lines + 1
        self.lines += len(newlines)
        needed_bytes = (2 * self.lines + 1) * OFFSET_BYTES
        if needed_bytes > len(self._lent.memory):
            # Whole offsets, and twice as much: many short lines then take few copies.
            self._lent = _grown(self._lent, first * OFFSET_BYTES, self._pool, 2 * needed_bytes)
        offsets = self.offsets()
        offsets[0] = 0
        offsets[first::2] = stops
        np.add(newlines, 1, out=offsets[first + 1 :: 2])


def _grown(lent: Lent, used: int, pool: MappedPool, size: int) -> Lent:
    """Borrow more memory, with the first `used` bytes of what was lent before."""
    grown = pool.lend(size)
    grown.content[:used] = lent.content[:used]
    return grown
