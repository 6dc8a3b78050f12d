"""Records that are rows of Arrow tables: what Parquet and CSV hand out."""

from typing import Any, Protocol, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from training.records.errors import RecordError
from training.records.packed import pack

TABLE_OUTPUTS = ("records", "arrow", "str", "bytes", "packed")
"""What rows come as; the last three take one column of text or bytes."""


class Places(Protocol):
    """Where the rows of some blocks came from; holds no content."""

    def locate(self, index: int) -> str:
        """Say where a row lies."""
        ...


class TableRecords:
    """The rows of some blocks, each column in one piece."""

    __slots__ = ("_lengths", "_places", "_table")

    def __init__(self, table: pa.Table, lengths: NDArray[np.int64], places: Places) -> None:
        """Hold the rows of some blocks.

        Args:
            table: The rows, block after block.
            lengths: Rows of each block, shape (blocks,).
            places: Where each row came from.
        """
        # Taking rows from columns of several pieces would join them anew each time.
        self._table = table.unify_dictionaries().combine_chunks()
        self._lengths = lengths
        self._places = places

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Rows of each block; shape (blocks,)."""
        return self._lengths

    def take(self, indices: NDArray[np.int64]) -> "TableRows":
        """Copy the rows with these numbers; see Records."""
        return TableRows(self._table.take(as_arrow(indices)), indices, self._places)


class TableRows:
    """Rows in the order in which they are handed out."""

    __slots__ = ("_indices", "_places", "_table")

    def __init__(self, table: pa.Table, indices: NDArray[np.int64], places: Places) -> None:
        self._table = table
        self._indices = indices
        self._places = places

    def __len__(self) -> int:
        return len(self._indices)

    def slice(self, start: int, stop: int) -> Self:
        """View the rows `start` to `stop` (exclusive)."""
        table = self._table.slice(start, stop - start)
        return type(self)(table, self._indices[start:stop], self._places)

    def output(self, kind: str) -> Any:  # noqa: ANN401 - by kind, see Rows
        """Return the rows as one of TABLE_OUTPUTS.

        Raises:
            RecordError: "str", "bytes" or "packed", and a row has no value.
            ValueError: "str", "bytes" or "packed" of several columns or of one of other things.
        """
        if kind == "arrow":
            return self._table
        if kind == "records":
            return self._dicts()
        if kind not in TABLE_OUTPUTS:
            raise ValueError(f"output={kind!r}: rows come as {', '.join(TABLE_OUTPUTS)}.")
        column = self._only_column(kind)
        if kind == "packed":
            return pack(column)
        return column.cast(pa.large_string() if kind == "str" else pa.large_binary()).to_pylist()

    def locate(self, index: int) -> str:
        """Say where a row lies: "part-00003.parquet, row 17"."""
        return self._places.locate(int(self._indices[index]))

    def _dicts(self) -> list[dict[str, Any]]:
        """Return one dict per row; a column at a time is far cheaper than a row at a time."""
        names = self._table.column_names
        columns = [column.to_pylist() for column in self._table.columns]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _only_column(self, kind: str) -> pa.Array:
        """Return the one column, of text or bytes and without nulls."""
        names = self._table.column_names
        if len(names) != 1 or not _is_text(self._table.schema.types[0]):
            raise ValueError(
                f"output={kind!r} of the columns {', '.join(names)}: it takes one column of text or"
                ' bytes. Choose one with columns=("...",), or the output "records" or "arrow".'
            )
        column = _joined(self._table.column(0))
        if column.null_count:
            row = column.is_null().index(pa.scalar(True)).as_py()
            raise RecordError(
                f"{self.locate(row)}: {names[0]} is null, which the output {kind!r} cannot tell"
                " from empty text. Fill the column when you write the shards, or choose the output"
                ' "arrow".'
            )
        return column


def as_arrow(indices: NDArray[np.int64]) -> pa.Array:
    """View indices as an Arrow array."""
    # Not pa.array: with an array of numpy it imports pandas, 0.15 s and 45 MB.
    contiguous = np.ascontiguousarray(indices, np.int64)
    return pa.Array.from_buffers(pa.int64(), len(contiguous), [None, pa.py_buffer(contiguous)])


def _joined(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
