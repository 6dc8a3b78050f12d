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
        return LineRecords(_StreamedLines(self._runs(blocks)), self._rows_type, self._errors)

    def _runs(self, blocks: Sequence[BlockRef]) -> "Iterator[_Run]":
        """Read blocks that follow each other at once."""
        first = 0
        for number, block in enumerate(blocks, 1):
            if number < len(blocks):
                following = blocks[number]
                if following.shard == block.shard and following.start == block.stop:
                    continue
            run = blocks[first:number]
            shard, start = run[0].shard, run[0].start
            content, base = self._stream(shard, start).read(start, block.stop)
            yield _Run(shard, content, base, [start, *(block.stop for block in run)])
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


class _Run(NamedTuple):
    """The text of some blocks of one shard that follow each other."""

    shard: Shard
    content: bytes
    """From the byte before the first block on; to the end of the last line that starts in them."""
    base: int
    """Byte of the text at which `content` starts."""
    bounds: list[int]
    """Where each block starts and, last, where the last one stops."""

    def lines(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return where lines start in `content` and where they stop, each of shape (lines,)."""
        content = np.frombuffer(self.content, np.uint8)
        stops = np.flatnonzero(content == NEWLINE)
        starts = np.concatenate([[0], stops[:-1] + 1])
        if self.bounds[0] > 0:
            # The end of a line of the block before.
            starts, stops = starts[1:], stops[1:]
        before = np.maximum(stops - 1, 0)
        stops = stops - ((content[before] == CARRIAGE_RETURN) & (stops > starts))
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

    def read(self, start: int, stop: int) -> tuple[bytes, int]:
        """Read from the byte before `start` to the end of the line that holds the last byte.

        Returns:
            The text, ended by a newline, and the byte at which it starts.

        Raises:
            RecordError: The shard is cut or damaged, or its text shorter than it was.
        """
        # The byte before tells whether a line starts with the first byte.
        base = max(start - 1, 0)
        ahead = base - (self._stream.position - len(self._held))
        self._stream.skip(ahead - len(self._held))
        content = bytearray(self._held[ahead:])
        content += self._stream.read(stop - base - len(content))
        if len(content) < stop - base:
            raise self._stream.ended()
        last = stop - 1 - base
        searched = last
        while (newline := content.find(b"\n", searched)) < 0:
            searched = len(content)
            # Twice as much each time: a line of any length takes few reads.
            more = self._stream.read(max(SLACK_BYTES, searched - last))
            content += more
            if not more:
                break
        self._held = bytes(content[last:])
        if newline < 0:
            return bytes(content) + b"\n", base
        return bytes(content[: newline + 1]), base


class _StreamedLines(LineBlocks):
    """The lines of some runs of blocks."""

    __slots__ = ()

    def __init__(self, runs: Iterator[_Run]) -> None:
        """Find the lines of runs and put them into one buffer."""
        contents: list[bytes] = []
        bounds: list[NDArray[np.int64]] = []
        lengths: list[NDArray[np.int64]] = []
        places: list[tuple[Shard, int]] = []
        size = 0
        for run in runs:
            starts, stops = run.lines()
            of_blocks = np.searchsorted(starts + run.base, run.bounds)
            lengths.append(np.diff(of_blocks))
            if run.bounds[0] == 0 and run.content.startswith(BYTE_ORDER_MARK):
                starts[0] += len(BYTE_ORDER_MARK)
            bounds.append(size + np.column_stack((starts, stops)).ravel())
            places += [(run.shard, run.base - size)] * (len(run.bounds) - 1)
            contents.append(run.content)
            size += len(run.content)
        # Mapped, as those of LineBlocks are: such memory goes back at once when it is let go.
        self.content = mmap.mmap(-1, max(size, 1))
        for content in contents:
            self.content.write(content)
        # One more at the end: every second entry is a line, and offsets enclose entries.
        self.offsets = np.concatenate([*bounds, [size]], dtype=np.int64)
        self.lengths = np.concatenate([np.empty(0, np.int64), *lengths])
        self.places = _TextPlaces(
            shards=[shard for shard, _ in places],
            origins=np.array([origin for _, origin in places], np.int64),
            stops=np.cumsum(self.lengths),
            starts=self.offsets[:-1:2],
        )


class _TextPlaces(LinePlaces):
    """Where lines stand in the text of compressed shards."""

    __slots__ = ()

    def locate(self, line: int) -> str:
        """Say where a line stands: "part-00003.txt.gz, line 17"; decompresses up to there."""
        return locate_in_text(*self.byte(line))
