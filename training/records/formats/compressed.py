"""Lines and JSON Lines in gzip or zstd: a shard can only be read from its start on.

So the shuffle moves each shard as a whole. What is in memory is a window of its text all the same:
the blocks are ranges of the text, read one after the other from a stream that stays open. Reading a
block that does not follow the one before costs decompressing the shard up to there; the result is
the same.
"""

import logging
from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np

from training.records.formats.compressed_blocks import BlockStream, Run, StreamedLines, Text
from training.records.formats.compressed_stream import TextStream
from training.records.formats.json_lines import JsonLinesFormat, JsonRows
from training.records.formats.line_blocks import NEWLINE, SLACK_BYTES
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

    columns = None

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
        self._streams: OrderedDict[str, BlockStream] = OrderedDict()
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
        text = Text(sum(block.stop - block.start for block in blocks) + SPARE_BYTES)
        runs = list(self._runs(blocks, text))
        return LineRecords(StreamedLines(text, runs), self._rows_type, self._errors)

    def _runs(self, blocks: Sequence[BlockRef], text: Text) -> Iterator[Run]:
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
            yield Run(shard, begin, text.used, base, bounds)
            first = number

    def _stream(self, shard: Shard, start: int) -> BlockStream:
        """Return a stream of a shard that has not gone beyond `start` yet."""
        stream = self._streams.pop(shard.name, None)
        if stream is not None and not stream.reaches(start):
            stream.close()
            stream = None
        while len(self._streams) >= STREAMS_KEPT:
            self._streams.popitem(last=False)[1].close()
        self._streams[shard.name] = stream = stream or BlockStream(shard)
        return stream
