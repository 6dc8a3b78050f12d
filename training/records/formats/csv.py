"""CSV as RFC 4180 has it: a header in every shard, the same in all, then a record per line.

Quoted fields may hold commas and doubled quotes. With `quoted_newlines` they may hold newlines too:
then every shard is read once beforehand, to find where records start.
"""

from collections.abc import Sequence

from training.records.errors import RecordError
from training.records.formats.csv_index import (
    Header,
    index_lines_behind,
    index_records_behind,
    read_header,
)
from training.records.formats.csv_records import CsvRecords
from training.records.formats.line_reader import LineReader
from training.records.formats.protocol import BlockRef, FormatSettings, ShardIndex
from training.records.formats.tables import TABLE_OUTPUTS, TableRecords
from training.records.reading import open_shard
from training.records.shards import Shard


def make(_: str, settings: FormatSettings) -> "CsvFormat":
    """Make the format; see the registry."""
    return CsvFormat(
        block_bytes=settings.block_bytes,
        columns=settings.columns,
        quoted_newlines=settings.quoted_newlines,
    )


class CsvFormat:
    """Records of CSV files; every value is text.

    The header is that of the first shard that is indexed.
    """

    name = "csv"
    outputs = TABLE_OUTPUTS

    def __init__(
        self,
        *,
        block_bytes: int,
        columns: tuple[str, ...] | None = None,
        quoted_newlines: bool = False,
    ) -> None:
        """Set how records are read.

        Args:
            block_bytes: Of each block, 1 or more.
            columns: What to read, at least one; None: all.
            quoted_newlines: Whether quoted fields may hold newlines.
        """
        if columns is not None and not columns:
            raise ValueError("columns=(): name at least one column, or None for all of them.")
        self._block_bytes = block_bytes
        self._columns = columns
        self._quoted_newlines = quoted_newlines
        self._reader = LineReader()
        self._first: tuple[str, tuple[str, ...]] | None = None

    @property
    def columns(self) -> str | None:
        """All names of the header, see ShardFormat."""
        return None if self._first is None else ", ".join(self._first[1])

    def index(self, shard: Shard, *, count: bool) -> ShardIndex:
        """Read the header, and the rest too if asked or with `quoted_newlines`; see ShardFormat.

        Raises:
            RecordError: The header is not the first shard's, or lacks a chosen column; or, with
                `quoted_newlines`, a quoted field never ends.
        """
        with open_shard(shard) as file:
            header = read_header(file, shard)
            self._check_header(shard, header)
            if self._quoted_newlines:
                return index_records_behind(file, shard, header.stop, self._block_bytes)
            return index_lines_behind(file, shard, header.stop, self._block_bytes, count=count)

    def read(self, blocks: Sequence[BlockRef]) -> TableRecords:
        """Read and parse some blocks, with one file open at a time; see ShardFormat.

        Raises:
            RecordError: A record has more or fewer fields than the header, a newline that is not
                expected, or what is not UTF-8; names shard and line.
        """
        if self._first is None:
            raise AssertionError("the shards were not indexed")
        lines = self._reader.read(blocks)
        records = CsvRecords(lines, quoted_newlines=self._quoted_newlines)
        names = self._first[1]
        table = records.parse(names, self._columns or names)
        return TableRecords(table, records.lengths, records.places)

    def _check_header(self, shard: Shard, header: Header) -> None:
        """Refuse a header that is not the first one's, or lacks a chosen column.

        Raises:
            RecordError: Names the shard and what differs.
        """
        if self._first is None:
            self._first = (shard.name, header.names)
        first_name, names = self._first
        if header.names != names:
            raise RecordError(
                f"{shard.name} has the columns {', '.join(header.names)}, but {first_name} has"
                f" {', '.join(names)}. All shards of a channel need the same header, in its first"
                " line: write it into each of them."
            )
        for name in self._columns or ():
            if name not in names:
                raise RecordError(
                    f"{shard.name} has no column {name!r}; it has {', '.join(names)}. Choose among"
                    " its columns."
                )
