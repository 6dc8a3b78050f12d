"""Blocks of a compressed shard's text: read one after the other, and their lines found."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.records.formats.compressed_stream import TextStream, locate_in_text
from training.records.formats.line_blocks import (
    BYTE_ORDER_MARK,
    CARRIAGE_RETURN,
    NEWLINE,
    SLACK_BYTES,
    LineBlocks,
    LinePlaces,
)
from training.records.mapped import map_memory
from training.records.shards import Shard


class Text:
    """A buffer that is filled from its beginning.

    Its memory is mapped, as that of LineBlocks is: it goes back at once when it is let go.
    """

    def __init__(self, size: int) -> None:
        self.content = map_memory(size)
        self.used = 0

    def append(self, content: bytes) -> None:
        """Append some bytes."""
        self._reserve(len(content))
        self.content[self.used : self.used + len(content)] = content
        self.used += len(content)

    def read(self, stream: TextStream, size: int) -> int:
        """Append up to `size` bytes of a stream, fewer only at its end; return how many.

        Raises:
            RecordError: The shard is cut or damaged.
        """
        self._reserve(size)
        with memoryview(self.content)[self.used : self.used + size] as view:
            read = stream.read_into(view)
        self.used += read
        return read

    def _reserve(self, size: int) -> None:
        needed = self.used + size
        if needed > len(self.content):
            # Somewhat more than asked for: long lines then take few copies.
            grown = map_memory(needed + needed // 8)
            grown[: self.used] = self.content[: self.used]
            self.content = grown


class Run(NamedTuple):
    """The text of some blocks of one shard that follow each other, in a buffer.

    It starts with the byte before the first block, and ends with the last line that starts in them.
    """

    shard: Shard
    begin: int
    """Where it starts in the buffer."""
    end: int
    """Where it stops there, exclusive."""
    base: int
    """Byte of the shard's text at which it starts."""
    bounds: list[int]
    """Bytes of the text at which each block starts and, last, the last one stops."""

    def lines(self, content: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where lines start in the buffer and where they stop, each of shape (lines,)."""
        stops = np.flatnonzero(content[self.begin : self.end] == NEWLINE) + self.begin
        starts = np.empty_like(stops)
        starts[0] = self.begin
        starts[1:] = stops[:-1] + 1
        if self.bounds[0] > 0:
            # The end of a line of the block before.
            starts, stops = starts[1:], stops[1:]
        # Before a line of nothing lies no carriage return of its own.
        stops -= (content[stops - 1] == CARRIAGE_RETURN) & (stops > starts)
        return starts, stops


class BlockStream:
    """Reads blocks of one shard, going forward."""

    def __init__(self, shard: Shard) -> None:
        self._stream = TextStream(shard)
        # The text from the last byte of the last block on that was read already.
        self._held = b""

    def close(self) -> None:
        """Close the shard."""
        self._stream.close()

    def reaches(self, start: int) -> bool:
        """Whether a block that starts at `start` can be read still."""
        return max(start - 1, 0) >= self._stream.position - len(self._held)

    def read(self, text: Text, start: int, stop: int) -> int:
        """Read from the byte before `start` to the end of the line that holds the last byte.

        Args:
            text: Where to append it, ended by a newline.
            start: Of the text of the shard.
            stop: The same, exclusive.

        Returns:
            The byte of the text that comes first.

        Raises:
            RecordError: The shard is cut or damaged, or its text shorter than it was.
        """
        # The byte before tells whether a line starts with the first byte.
        base = max(start - 1, 0)
        ahead = base - (self._stream.position - len(self._held))
        self._stream.skip(ahead - len(self._held))
        begin = text.used
        text.append(self._held[ahead:])
        text.read(self._stream, stop - base - (text.used - begin))
        if text.used - begin < stop - base:
            raise self._stream.ended()
        last = searched = begin + stop - 1 - base
        while (newline := text.content.find(b"\n", searched, text.used)) < 0:
            searched = text.used
            # Twice as much each time: a line of any length takes few reads.
            if not text.read(self._stream, max(SLACK_BYTES, searched - last)):
                break
        self._held = text.content[last : text.used]
        if newline < 0:
            text.append(b"\n")
        else:
            text.used = newline + 1
        return base


class StreamedLines(LineBlocks):
    """The lines of some runs of blocks."""

    def __init__(self, text: Text, runs: Sequence[Run]) -> None:
        """Find the lines of runs that lie in one buffer."""
        self.content = text.content
        content = np.frombuffer(text.content, np.uint8)
        lines = [run.lines(content) for run in runs]
        of_runs = [
            np.searchsorted(starts - run.begin + run.base, run.bounds)
            for run, (starts, _) in zip(runs, lines, strict=True)
        ]
        for run, (starts, _) in zip(runs, lines, strict=True):
            mark = text.content[run.begin : run.begin + len(BYTE_ORDER_MARK)]
            if run.bounds[0] == 0 and mark == BYTE_ORDER_MARK:
                starts[0] += len(BYTE_ORDER_MARK)
        bounds = [np.column_stack(both).ravel() for both in lines]
        # One more at the end: every second entry is a line, and offsets enclose entries.
        self.offsets = np.concatenate([*bounds, [text.used]], dtype=np.int64)
        self.lengths = np.concatenate([np.empty(0, np.int64), *map(np.diff, of_runs)])
        blocks = [run for run in runs for _ in run.bounds[1:]]
        self.places = _TextPlaces(
            shards=[run.shard for run in blocks],
            origins=np.array([run.base - run.begin for run in blocks], np.int64),
            stops=np.cumsum(self.lengths),
            starts=self.offsets[:-1:2],
        )


class _TextPlaces(LinePlaces):
    """Where lines stand in the text of compressed shards."""

    __slots__ = ()

    def locate(self, line: int) -> str:
        """Say where a line stands: "part-00003.txt.gz, line 17"; decompresses up to there."""
        return locate_in_text(*self.byte(line))
