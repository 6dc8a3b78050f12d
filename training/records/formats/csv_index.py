"""Where the records of a CSV shard start: its header, its blocks, and how many they hold."""

import io
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from training.records.errors import RecordError
from training.records.formats.line_blocks import NEWLINE
from training.records.formats.protocol import ShardIndex
from training.records.reading import PIECE_BYTES, fill, locate
from training.records.shards import Shard

QUOTE = 0x22

LARGEST_HEADER_BYTES = 1 << 20
"""A header that is longer is none."""


class Header(NamedTuple):
    """The first record of a shard."""

    names: tuple[str, ...]
    stop: int
    """Byte at which the record after it starts."""


def read_header(file: io.FileIO, shard: Shard) -> Header:
    """Read the names of a shard's columns.

    Raises:
        RecordError: There is no header, it never ends, is not UTF-8, or has a name twice.
    """
    content = bytearray(min(LARGEST_HEADER_BYTES, shard.size_bytes))
    fill(file, shard, 0, memoryview(content))
    stop = content.find(b"\n") + 1
    while stop and content.count(b'"', 0, stop) % 2:
        stop = content.find(b"\n", stop) + 1
    if not stop:
        stop = len(content)
        if stop < shard.size_bytes or content.count(b'"') % 2:
            raise _no_header(shard, "no end of the first line, or of a quoted name in it")
    text = bytes(content[:stop])
    try:
        row = _parse(text if text.endswith(b"\n") else text + b"\n")
    except pa.ArrowInvalid as error:
        raise _no_header(shard, str(error)) from error
    if len(row) != 1:
        raise _no_header(shard, f"{len(row)} records where the first line should be one")
    names = tuple(column[0].as_py() for column in row.columns)
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise _no_header(shard, f"the name {doubled[0]!r} twice")
    return Header(names, stop)


def _parse(content: bytes) -> pa.Table:
    """Parse records without a header.

    Raises:
        pyarrow.ArrowInvalid: They cannot be.
    """
    names = [str(n) for n in range(content.count(b",") + 1)]
    return arrow_csv.read_csv(
        pa.BufferReader(content),
        read_options=arrow_csv.ReadOptions(
            use_threads=False, autogenerate_column_names=True, block_size=len(content) + 1
        ),
        parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
        convert_options=arrow_csv.ConvertOptions(
            column_types={f"f{name}": pa.string() for name in names}
        ),
    )


def _no_header(shard: Shard, found: str) -> RecordError:
    return RecordError(
        f"{shard.name}: its first line should name the columns, each once, separated by commas, in"
        f" UTF-8; found {found}. Write the header into each shard."
    )


def index_lines_behind(
    file: io.FileIO, shard: Shard, start: int, block_bytes: int, *, count: bool
) -> ShardIndex:
    """Cut what is behind the header into blocks of `block_bytes`; count their lines if asked.

    Raises:
        RecordError: Counting: the file ends earlier than it did when it was listed.
    """
    blocks = -(-(shard.size_bytes - start) // block_bytes)
    ends = start + np.arange(blocks + 1, dtype=np.int64) * block_bytes
    bounds = np.minimum(ends, shard.size_bytes)
    if not count:
        return ShardIndex(bounds=bounds, counts=None)
    counts = np.zeros(blocks, np.int64)
    for starts in _Records(file, shard, start, quoted_newlines=False).starts():
        counts += np.bincount((starts - start) // block_bytes, minlength=blocks)
    return ShardIndex(bounds=bounds, counts=counts)


def index_records_behind(file: io.FileIO, shard: Shard, start: int, block_bytes: int) -> ShardIndex:
    """Cut what is behind the header where records start, close to every `block_bytes`.

    Raises:
        RecordError: A quoted field never ends, or the file ends earlier than it did when it was
            listed.
    """
    bounds: list[int] = []
    counts: list[int] = []
    last = -1
    for starts in _Records(file, shard, start, quoted_newlines=True).starts():
        blocks, firsts, numbers = np.unique(
            (starts - start) // block_bytes, return_index=True, return_counts=True
        )
        for block, first, number in zip(
            blocks.tolist(), starts[firsts].tolist(), numbers.tolist(), strict=True
        ):
            if block == last:
                counts[-1] += number
            else:
                bounds.append(first)
                counts.append(number)
                last = block
    whole = np.array([*bounds, shard.size_bytes], np.int64)
    return ShardIndex(bounds=whole, counts=np.array(counts, np.int64), sizes=whole[1:] - whole[:-1])


class _Records:
    """Finds where records start, reading a shard once."""

    def __init__(self, file: io.FileIO, shard: Shard, start: int, *, quoted_newlines: bool) -> None:
        self._file = file
        self._shard = shard
        self._start = start
        self._quoted_newlines = quoted_newlines

    def starts(self) -> Iterator[NDArray[np.int64]]:
        """Yield the bytes at which records start, ascending, in pieces.

        Raises:
            RecordError: A quoted field never ends, or the file ends earlier than it did.
        """
        size_bytes = self._shard.size_bytes
        if self._start < size_bytes:
            yield np.array([self._start], np.int64)
        quotes = 0
        last = self._start
        for offset in range(self._start, size_bytes, PIECE_BYTES):
            piece = np.empty(min(PIECE_BYTES, size_bytes - offset), np.uint8)
            fill(self._file, self._shard, offset, piece.data)
            ends = np.flatnonzero(piece == NEWLINE)
            if self._quoted_newlines:
                places = np.flatnonzero(piece == QUOTE)
                # A newline behind an odd number of quotes is part of a field.
                ends = ends[(quotes + np.searchsorted(places, ends)) % 2 == 0]
                quotes += len(places)
            starts = offset + ends + 1
            if len(starts) and starts[-1] == size_bytes:
                starts = starts[:-1]
            last = int(starts[-1]) if len(starts) else last
            yield starts
        if quotes % 2:
            raise RecordError(
                f"{locate(self._shard, last)}: a quoted field of this record has no closing quote."
                ' Inside quotes a quote is written twice (""); elsewhere there is none. Mend the'
                " record, or the shard, if it was cut."
            )
