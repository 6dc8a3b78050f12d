"""Lines and JSON Lines in gzip or zstd: a shard can only be read from its start on.

So the shuffle moves each shard as a whole. What is in memory is a window of its text all the same:
the blocks are ranges of the text, read one after the other from a stream that stays open. Reading a
block that does not follow the one before costs decompressing the shard up to there; the result is
the same.
"""

import logging
import mmap
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.records.formats.compressed_stream import TextStream, locate_in_text
from training.records.formats.json_lines import JsonLinesFormat, JsonRows
from training.records.formats.line_blocks import (
    BYTE_ORDER_MARK,
    CARRIAGE_RETURN,
    NEWLINE,
    SLACK_BYTES,
    LineBlocks,
    LinePlaces,
)
from training.records.formats.lines import LineRecords, LineRows, LinesFormat, TextRows
from training.records.formats.protocol import BlockRef, FormatSettings, ShardIndex
from training.records.shards import Shard

STREAMS_KEPT = 2
"""Shards kept open between reads: a window may hold the end of one and the start of another."""

SPARE_BYTES = 8 * SLACK_BYTES
"""What a window's buffer has more than its blocks: enough for the ends of most last lines."""

logger = logging.getLogger(__name__)


def make(name: str, settings: FormatSettings) -> "CompressedFormat":
    """Make the format that is called `name`; see the registry."""
    if name == "compressed_json_lines":
        return CompressedFormat(
            name, JsonLinesFormat.outputs, JsonRows, block_bytes=settings.block_bytes
        )
    return CompressedFormat(
        name,
        LinesFormat.outputs,
        TextRows,
        block_bytes=settings.block_bytes,
        errors=settings.errors,
    )


class CompressedFormat:
    """Lines in compressed shards."""

    def __init__(
        self,
        name: str,
        outputs: tuple[str, ...],
        rows_type: type[LineRows],
        *,
        block_bytes: int,
        errors: str = "strict",
    ) -> None:
        """Set how lines are read.

        Args:
            name: Of the format.
            outputs: It offers.
            rows_type: What lines are handed out as.
            block_bytes: Bytes of text of each block, 1 or more.
            errors: "strict" refuses bytes that are not UTF-8, "replace" reads them as U+FFFD.
        """
        self.name = name
        self.outputs = outputs
        self._rows_type = rows_type
        self._block_bytes = block_bytes
        self._errors = errors
        self._streams: OrderedDict[str, _BlockStream] = OrderedDict()
        self._is_warned = False

    def index(self, shard: Shard, *, count: bool) -> ShardIndex:  # noqa: ARG002 - counted anyway
        """Decompress a shard once: nothing else tells how long its text is. See ShardFormat.

        Raises:
            RecordError: The shard is cut or damaged.
        """
        if not self._is_warned:
            self._is_warned = True
            logger.warning(
                "%s is compressed: it is decompressed once beforehand, and each rank that reads a"
                " part of it decompresses all before that part. Shards without compression, or in"
                " Parquet, can be split among ranks and shuffled without that",
                shard.name,
            )
        counts: list[int] = []
        size_bytes = 0
        after_newline = True
        with TextStream(shard) as stream:
            for piece in stream.pieces():
                newlines = np.flatnonzero(np.frombuffer(piece, np.uint8) == NEWLINE)
                starts = size_bytes + 1 + newlines[newlines < len(piece) - 1]
                if after_newline:
                    starts = np.insert(starts, 0, size_bytes)
                size_bytes += len(piece)
                counts += [0] * (-(-size_bytes // self._block_bytes) - len(counts))
                blocks, lines = np.unique(starts // self._block_bytes, return_counts=True)
                for block, number in zip(blocks.tolist(), lines.tolist(), strict=True):
                    counts[block] += number
                after_newline = piece.endswith(b"\n")
        bounds = np.arange(len(counts) + 1, dtype=np.int64) * self._block_bytes
        return ShardIndex(
            bounds=np.minimum(bounds, size_bytes),
            counts=np.array(counts, np.int64),
            sequential=True,
        )

    def read(self, blocks: Sequence[BlockRef]) -> LineRecords:
        """Read some blocks, going on where the last call stopped if they follow; see ShardFormat.

        Raises:
            RecordError: A shard is cut or damaged, or not what it was when it was indexed.
        """
        text = _Text(sum(block.stop - block.start for block in blocks) + SPARE_BYTES)
        runs = list(self._runs(blocks, text))
        return LineRecords(_StreamedLines(text, runs), self._rows_type, self._errors)

    def _runs(self, blocks: Sequence[BlockRef], text: "_Text") -> "Iterator[_Run]":
        """Read blocks, those that follow each other at once."""
        first = 0
        for number, block in enumerate(blocks, 1):
            if number < len(blocks):
                following = blocks[number]
                if following.shard == block.shard and following.start == block.stop:
                    continue
            shard, start = blocks[first].shard, blocks[first].start
            begin = text.used
            base = self._stream(shard, start).read(text, start, block.stop)
            bounds = [start, *(block.stop for block in blocks[first:number])]
            yield _Run(shard, begin, text.used, base, bounds)
            first = number

    def _stream(self, shard: Shard, start: int) -> "_BlockStream":
        """Return a stream of a shard that has not gone beyond `start` yet."""
        stream = self._streams.pop(shard.name, None)
        if stream is not None and not stream.reaches(start):
            stream.close()
            stream = None
        while len(self._streams) >= STREAMS_KEPT:
            self._streams.popitem(last=False)[1].close()
        self._streams[shard.name] = stream = stream or _BlockStream(shard)
        return stream


class _Text:
    """A buffer that is filled from its beginning.

    Its memory is mapped, as that of LineBlocks is: it goes back at once when it is let go.
    """

    def __init__(self, size: int) -> None:
        self.content = mmap.mmap(-1, size)
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
            grown = mmap.mmap(-1, needed + needed // 8)
            grown[: self.used] = self.content[: self.used]
            self.content = grown


class _Run(NamedTuple):
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


class _BlockStream:
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

    def read(self, text: _Text, start: int, stop: int) -> int:
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


class _StreamedLines(LineBlocks):
    """The lines of some runs of blocks."""

    __slots__ = ()

    def __init__(self, text: _Text, runs: Sequence[_Run]) -> None:
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
