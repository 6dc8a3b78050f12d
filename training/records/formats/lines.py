r"""Text lines: each line, ended by "\n" alone, is a record without its final carriage return."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from training.records.errors import RecordError
from training.records.formats.line_blocks import LineBlocks, LinePlaces, index_lines
from training.records.formats.line_reader import LineReader
from training.records.formats.protocol import BlockRef, FormatSettings, ShardIndex
from training.records.mapped import MappedPool
from training.records.packed import pack
from training.records.shards import Shard

# Chunks of 1 MB come and go: Arrow's usual pool keeps some 20 MB more for them, and the system's
# takes a fifth longer for new memory each time.
_POOL = (
    pa.jemalloc_memory_pool()
    if "jemalloc" in pa.supported_memory_backends()
    else pa.system_memory_pool()
)


_CHUNKS = MappedPool(least_bytes=4 << 20, spares=4)
"""What copied lines lie in, those of as many chunks as are made ahead."""

LEAST_MAPPED_BYTES = 256 << 10
"""Fewer bytes of copied lines stay where Arrow puts them."""


class LinesFormat:
    """Lines of text in UTF-8."""

    name = "lines"
    outputs = ("str", "bytes", "packed", "arrow")
    columns = None

    def __init__(self, *, block_bytes: int, errors: str) -> None:
        """Set how lines are read.

        Args:
            block_bytes: Of each block, 1 or more.
            errors: "strict" refuses bytes that are not UTF-8, "replace" reads them as U+FFFD. It
                matters to "str" and "arrow"; "bytes" and "packed" are the bytes of the shard.
        """
        self._block_bytes = block_bytes
        self._errors = errors
        self._reader = LineReader()

    def index(self, shard: Shard, *, count: bool) -> ShardIndex:
        """Cut a shard into ranges of bytes; see ShardFormat."""
        return index_lines(shard, self._block_bytes, count=count)

    def read(self, blocks: Sequence[BlockRef]) -> "LineRecords":
        """Read some blocks; see ShardFormat."""
        return LineRecords(self._reader.read(blocks), TextRows, self._errors)


def make(_: str, settings: FormatSettings) -> LinesFormat:
    """Make the format; see the registry."""
    return LinesFormat(block_bytes=settings.block_bytes, errors=settings.errors)


class LineRows:
    """Lines in the order in which they are handed out; base of the formats that consist of lines.

    Attributes:
        array: The lines, without their ends; large_binary of shape (lines,).
        errors: The format's.
    """

    __slots__ = ("_indices", "_places", "array", "errors")

    def __init__(
        self, array: pa.Array, indices: NDArray[np.int64], places: LinePlaces, errors: str
    ) -> None:
        self.array = array
        self.errors = errors
        self._indices = indices
        self._places = places

    def __len__(self) -> int:
        return len(self._indices)

    def slice(self, start: int, stop: int) -> Self:
        """View the rows `start` to `stop` (exclusive)."""
        array = self.array.slice(start, stop - start)
        return type(self)(array, self._indices[start:stop], self._places, self.errors)

    def output(self, kind: str) -> Any:  # noqa: ANN401 - by kind, see Rows
        """Return the lines as "bytes" or "packed"."""
        if kind == "bytes":
            return self.array.to_pylist()
        if kind == "packed":
            return pack(self.array)
        raise ValueError(f"output={kind!r}: this format has none such.")

    def locate(self, index: int) -> str:
        """Say where a row lies: "part-00003.txt, line 17"; reads the shard up to there."""
        return self._places.locate(int(self._indices[index]))

    def text(self) -> pa.Array:
        """Return the lines as large_string.

        Raises:
            RecordError: A line is not UTF-8, and errors are not to be replaced.
        """
        try:
            return self.array.cast(pa.large_string())
        except pa.ArrowInvalid:
            return pa.array(self.strings(), pa.large_string())

    def strings(self) -> list[str]:
        """Return the lines as Python strings.

        Raises:
            RecordError: A line is not UTF-8, and errors are not to be replaced.
        """
        try:
            strings: list[str] = _as_text(self.array).to_pylist()
        except UnicodeDecodeError:
            strings = [self._decoded(index) for index in range(len(self))]
        return strings

    def _decoded(self, index: int) -> str:
        content: bytes = self.array[index].as_py()
        try:
            return content.decode(errors=self.errors)
        except UnicodeDecodeError as error:
            shard, start = self._places.byte(int(self._indices[index]))
            raise RecordError(
                f"{self.locate(index)}: byte {start + error.start} of {shard.name} is not UTF-8"
                f' ({error.reason}). Write the shard in UTF-8, or set errors to "replace" to read'
                " such bytes as U+FFFD."
            ) from error


class TextRows(LineRows):
    """Lines of text."""

    __slots__ = ()

    def output(self, kind: str) -> Any:  # noqa: ANN401 - by kind, see Rows
        """Return the lines as any of the format's outputs."""
        if kind == "str":
            return self.strings()
        if kind == "arrow":
            return self.text()
        return super().output(kind)


class LineRecords:
    """The lines of some blocks."""

    def __init__(self, lines: LineBlocks, rows_type: type[LineRows], errors: str) -> None:
        self._lines = lines
        self._rows_type = rows_type
        self._errors = errors

    @cached_property
    def _array(self) -> pa.Array:
        lines = self._lines
        buffers = [None, pa.py_buffer(lines.offsets), pa.py_buffer(lines.content)]
        # Every second entry is a line; between them lies what belongs to no line.
        return pa.Array.from_buffers(pa.large_binary(), len(lines.offsets) - 1, buffers)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Lines of each block; shape (blocks,)."""
        return self._lines.lengths

    def take(self, indices: NDArray[np.int64]) -> LineRows:
        """Copy the lines with these numbers; see Records."""
        entries = 2 * indices
        # Not pa.array: with an array of numpy it imports pandas, 0.15 s and 45 MB.
        places = pa.Array.from_buffers(pa.int64(), len(entries), [None, pa.py_buffer(entries)])
        taken = _moved(pc.take(self._array, places, boundscheck=False, memory_pool=_POOL))
        # A copy: a view would hold on to the order of the whole window.
        return self._rows_type(taken, indices.copy(), self._lines.places, self._errors)


def _moved(array: pa.Array) -> pa.Array:
    """Copy large_binary that Arrow has just made to mapped memory, unless it is small.

    Arrow's pool then has one such array at a time: with those of several chunks, of about one size
    and freed in any order, it kept more than twice what was in use.
    """
    _, offsets, content = array.buffers()
    size_bytes = offsets.size + content.size
    if size_bytes < LEAST_MAPPED_BYTES:
        return array
    moved = _CHUNKS.lend(size_bytes).content[:size_bytes]
    moved[: offsets.size] = np.frombuffer(offsets, np.uint8)
    moved[offsets.size :] = np.frombuffer(content, np.uint8)
    moved.flags.writeable = False
    buffer = pa.py_buffer(moved)
    buffers = [None, buffer.slice(0, offsets.size), buffer.slice(offsets.size)]
    return pa.Array.from_buffers(array.type, len(array), buffers)


def _as_text(array: pa.Array) -> pa.Array:
    """View large_binary as large_string, unchecked: decoding checks it."""
    return pa.Array.from_buffers(
        pa.large_string(), len(array), array.buffers(), offset=array.offset
    )
