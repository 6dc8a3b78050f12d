"""Parquet: each row is a record; the blocks are row groups, whose counts the footer tells."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain, groupby, islice
from threading import Lock
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from training.records.errors import RecordError
from training.records.formats.protocol import BlockRef, FormatSettings, ShardIndex
from training.records.formats.tables import TABLE_OUTPUTS, TableRecords
from training.records.reading import open_shard
from training.records.shards import Shard

SHARDS_AT_ONCE = 2
"""Shards whose row groups are decoded side by side."""

FOOTERS_KEPT = 64
"""Parsed footers kept for the next read of their shards; wide ones take 100 kB each."""

_UNREADABLE = (pa.ArrowException, OSError, ValueError)
"""What Arrow raises for damaged files; names that are not UTF-8 are a ValueError."""

_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "FLOAT": 4, "INT64": 8, "DOUBLE": 8, "INT96": 12}
"""Bytes of a value of each type that has a width."""


def make(_: str, settings: FormatSettings) -> "ParquetFormat":
    """Make the format; see the registry."""
    return ParquetFormat(columns=settings.columns)


class ParquetFormat:
    """Rows of Parquet files.

    The files have one schema: that of the first one that is looked at.
    """

    name = "parquet"
    outputs = TABLE_OUTPUTS

    def __init__(self, *, columns: tuple[str, ...] | None = None) -> None:
        """Choose the columns to read, at least one; None: all of them."""
        if columns is not None and not columns:
            raise ValueError("columns=(): name at least one column, or None for all of them.")
        self._columns = columns
        self._first: tuple[str, pa.Schema] | None = None
        self._footers: OrderedDict[str, pq.FileMetaData] = OrderedDict()
        self._lock = Lock()

    @property
    def columns(self) -> str | None:
        """The chosen columns and their types, see ShardFormat."""
        return None if self._first is None else _described(self._first[1])

    def index(self, shard: Shard, *, count: bool) -> ShardIndex:  # noqa: ARG002 - always known
        """Read the footer, which holds all counts; see ShardFormat.

        Raises:
            RecordError: The footer is damaged, or the shard's columns are not the first one's.
        """
        with self._opened(shard) as file:
            rows = _rows_of_groups(file)
            told = file.metadata.num_rows
            sizes = _bytes_of_groups(file.metadata, rows, self._columns)
        if sum(rows) != told or min(rows, default=0) < 0:
            raise _damaged(shard, f"row groups of {sum(rows)} rows where the footer says {told}")
        bounds = np.arange(len(rows) + 1, dtype=np.int64)
        return ShardIndex(bounds=bounds, counts=np.array(rows, np.int64), sizes=sizes)

    def read(self, blocks: Sequence[BlockRef]) -> TableRecords:
        """Read some row groups, with few files open at a time; see ShardFormat."""
        if not blocks:
            return TableRecords(pa.table({}), np.empty(0, np.int64), _RowPlaces([], [], []))
        shards, groups = [], []
        for shard, of_shard in groupby(blocks, key=lambda block: block.shard):
            shards.append(shard)
            groups.append([block.start for block in of_shard])
        # Decoding takes longer than all that comes after it, and Arrow itself decodes the columns
        # of a row group side by side at best, of which one often holds nearly everything.
        with ThreadPoolExecutor(SHARDS_AT_ONCE, "parquet") as pool:
            read = list(pool.map(self._read_shard, shards, groups))
        lengths = [length for of_shard in read for length in of_shard.lengths]
        first_rows = [first for of_shard in read for first in of_shard.first_rows]
        table = pa.concat_tables([of_shard.table for of_shard in read])
        places = _RowPlaces([block.shard for block in blocks], first_rows, lengths)
        return TableRecords(table, np.array(lengths, np.int64), places)

    def _read_shard(self, shard: Shard, groups: Sequence[int]) -> "_ShardRows":
        with self._opened(shard) as file:
            rows = _rows_of_groups(file)
            return _ShardRows(
                _read_groups(file, shard, groups, self._columns),
                [rows[group] for group in groups],
                [sum(rows[:group]) for group in groups],
            )

    @contextmanager
    def _opened(self, shard: Shard) -> Iterator[pq.ParquetFile]:
        """Open a shard, its columns checked.

        Raises:
            RecordError: It is damaged, changed, or has other columns than the first one.
        """
        with open_shard(shard):
            pass
        try:
            file = pq.ParquetFile(
                shard.path,
                metadata=self._footer_of(shard),
                pre_buffer=True,
                page_checksum_verification=True,
            )
        except _UNREADABLE as error:
            raise _damaged(shard, error) from error
        with file:
            self._keep_footer(shard, file)
            yield file

    def _keep_footer(self, shard: Shard, file: pq.ParquetFile) -> None:
        """Keep the parsed footer, and check its columns when it is a new one."""
        with self._lock:
            if shard.name in self._footers:
                self._footers.move_to_end(shard.name)
                return
            self._check_schema(shard, file.schema_arrow)
            self._footers[shard.name] = file.metadata
            if len(self._footers) > FOOTERS_KEPT:
                self._footers.popitem(last=False)

    def _footer_of(self, shard: Shard) -> pq.FileMetaData | None:
        with self._lock:
            return self._footers.get(shard.name)

    def _check_schema(self, shard: Shard, whole: pa.Schema) -> None:
        """Refuse a shard without the chosen columns, or with others than the first one had.

        Raises:
            RecordError: Names the shard and the column.
        """
        names = whole.names if self._columns is None else list(self._columns)
        for name in names:
            found = whole.names.count(name)
            if found != 1:
                raise RecordError(
                    f"{shard.name} has {found or 'no'} columns {name!r}; it has"
                    f" {', '.join(whole.names)}. Choose among its columns, each name once, or write"
                    " the shards anew."
                )
        schema = pa.schema([whole.field(name) for name in names])
        if self._first is None:
            self._first = (shard.name, schema)
        first_name, first = self._first
        # Whether a column may hold nulls says nothing about how it is read.
        if schema.names != first.names or schema.types != first.types:
            raise RecordError(
                f"{shard.name} has the columns {_described(schema)}, but {first_name} has"
                f" {_described(first)}. All shards of a channel need the same: write them with one"
                " schema, or choose columns that are alike."
            )


class _ShardRows(NamedTuple):
    """Row groups of one shard: their rows, how many each has, and the number of its first row."""

    table: pa.Table
    lengths: list[int]
    first_rows: list[int]


class _RowPlaces:
    """Where the rows of some row groups came from."""

    def __init__(
        self, shards: Sequence[Shard], first_rows: Sequence[int], lengths: Sequence[int]
    ) -> None:
        self._shards = shards
        self._first_rows = first_rows
        self._stops = np.cumsum(lengths, dtype=np.int64)

    def locate(self, index: int) -> str:
        """Say where a row lies: "part-00003.parquet, row 17"."""
        block = int(np.searchsorted(self._stops, index, side="right"))
        before = int(self._stops[block - 1]) if block else 0
        return f"{self._shards[block].name}, row {self._first_rows[block] + index - before + 1}"


def _read_groups(
    file: pq.ParquetFile, shard: Shard, groups: Sequence[int], columns: tuple[str, ...] | None
) -> pa.Table:
    """Read row groups of one shard.

    Raises:
        RecordError: They are damaged, or hold other rows than the footer says.
    """
    chosen = None if columns is None else list(columns)
    try:
        table = file.read_row_groups(list(groups), columns=chosen)
    except _UNREADABLE as error:
        raise _damaged(shard, error) from error
    rows = _rows_of_groups(file)
    told = sum(rows[group] for group in groups)
    if len(table) != told:
        raise _damaged(shard, f"{len(table)} rows where the footer says {told}")
    try:
        # Text is not checked when it is read, and would only show when it is used.
        table.validate(full=True)
    except pa.ArrowInvalid as error:
        index = _first_invalid(table)
        numbers = [range(sum(rows[:group]), sum(rows[: group + 1])) for group in groups]
        number = next(islice(chain.from_iterable(numbers), index, None)) + 1
        raise RecordError(
            f"{shard.name}, row {number}: {error}. Write text in UTF-8, or other bytes in a column"
            " of binary type."
        ) from error
    return table.replace_schema_metadata()


def _first_invalid(table: pa.Table) -> int:
    """Return the first row that makes a table invalid."""
    valid, invalid = 0, len(table)
    while invalid - valid > 1:
        middle = (valid + invalid) // 2
        try:
            table.slice(0, middle).validate(full=True)
            valid = middle
        except pa.ArrowInvalid:
            invalid = middle
    return valid


def _rows_of_groups(file: pq.ParquetFile) -> list[int]:
    return [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]


def _bytes_of_groups(
    footer: pq.FileMetaData, rows: Sequence[int], columns: tuple[str, ...] | None
) -> NDArray[np.int64]:
    """Return about how many bytes each row group's chosen columns take; shape (row groups,).

    The footer tells the bytes of each column too, but asking for them ends the process where it is
    damaged. So columns of numbers are taken by their width, and all others share what is left.
    """
    leaves = [footer.schema.column(number) for number in range(footer.num_columns)]
    widths = [0 if leaf.max_repetition_level else _width(leaf) for leaf in leaves]
    # A column of lists or structs has several leaves, below its name.
    chosen = [
        columns is None or leaf.path in columns or leaf.path.partition(".")[0] in columns
        for leaf in leaves
    ]
    fixed = sum(width for width, is_chosen in zip(widths, chosen, strict=True) if is_chosen)
    others = [is_chosen for width, is_chosen in zip(widths, chosen, strict=True) if not width]
    totals = [footer.row_group(group).total_byte_size for group in range(footer.num_row_groups)]
    sizes = [
        number * fixed + max(total - number * sum(widths), 0) * sum(others) // max(len(others), 1)
        for number, total in zip(rows, totals, strict=True)
    ]
    return np.array(sizes, np.int64)


def _width(leaf: pq.ColumnSchema) -> int:
    """Return the bytes of each value; 0: they differ."""
    if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY":
        return int(leaf.length)
    return _WIDTHS.get(leaf.physical_type, 0)


def _damaged(shard: Shard, problem: object) -> RecordError:
    return RecordError(
        f"{shard.name} is no readable Parquet file ({problem}). It may have been cut or changed on"
        " its way: write it again, and upload it whole."
    )


def _described(schema: pa.Schema) -> str:
    return ", ".join(
        f"{name}: {kind}" for name, kind in zip(schema.names, schema.types, strict=True)
    )
