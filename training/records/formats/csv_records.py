"""The records of some blocks of CSV: where each starts, and their fields as Arrow columns."""

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from training.records.errors import RecordError
from training.records.formats.line_blocks import (
    BYTE_ORDER_MARK,
    CARRIAGE_RETURN,
    LineBlocks,
    LinePlaces,
)

QUOTE = 0x22

LARGEST_PARSED_BYTES = 1 << 30
"""Arrow parses up to this many bytes in one piece; its limit is twice as much."""

EXCERPT_CHARACTERS = 60
"""Characters of a bad record that its message shows."""


class CsvRecords:
    """Where the records of some blocks lie.

    Attributes:
        content: The records, one after the other, behind a byte order mark.
        starts: Where each starts in `content` and, last, where the last one stops; shape
            (records + 1,).
        lengths: Records of each block, shape (blocks,).
        places: Where each came from.
    """

    def __init__(self, lines: LineBlocks, *, quoted_newlines: bool) -> None:
        """Find the records among lines.

        Raises:
            RecordError: A line ends inside quotes and should not.
        """
        self.content, bounds = _joined(lines)
        is_start = np.ones(len(bounds) - 1, np.bool_)
        stops = np.cumsum(lines.lengths)
        if b'"' in self.content:
            inside = _stops_inside_quotes(self.content, bounds[1:])
            # Only the last line of a block may not be so: a record never goes on behind it.
            wrong = stops[lines.lengths > 0] - 1 if quoted_newlines else np.arange(len(inside))
            for line in wrong[inside[wrong]][:1].tolist():
                raise _refused(
                    lines.places.locate(line),
                    "a quoted field goes on behind the end of the line. Where fields hold newlines"
                    " set quoted_newlines to true; otherwise close the quotes",
                    self.content[bounds[line] : bounds[line + 1]],
                )
            is_start[1:] = ~inside[:-1]
        first_lines = np.flatnonzero(is_start)
        self.starts = np.append(bounds[:-1][is_start], bounds[-1])
        self.lengths = np.diff(np.searchsorted(first_lines, stops), prepend=0).astype(np.int64)
        self.places = CsvPlaces(lines.places, first_lines)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def parse(self, names: Sequence[str], columns: Sequence[str]) -> pa.Table:
        """Parse all records.

        Args:
            names: Of all fields, in their order.
            columns: Which of them to return, in which order.

        Returns:
            Columns of large_string.

        Raises:
            RecordError: A record has more or fewer fields, or is not UTF-8.
        """
        if not len(self):
            return pa.schema([(name, pa.large_string()) for name in columns]).empty_table()
        self._refuse_empty_lines(len(names))
        try:
            table = _parse(self.content, names, columns)
        # Arrow's message quotes the record: where that is not UTF-8 there is no message.
        except (pa.ArrowInvalid, UnicodeDecodeError) as error:
            self._refuse_returns(names, columns)
            self._refuse_ragged(names, columns)
            raise self._refused(
                self._first_not_utf8(), f"not readable ({error}). Write the shard in UTF-8"
            ) from error
        if len(table) != len(self):
            self._refuse_returns(names, columns)
            raise AssertionError(f"{len(table)} records were parsed where {len(self)} were found")
        return table

    def _refuse_empty_lines(self, fields: int) -> None:
        """Refuse empty lines where they are no field: Arrow makes records of empty fields of them.

        Raises:
            RecordError: There is one.
        """
        if fields == 1:
            return
        shortest = len(b"\r\n")
        for number in np.flatnonzero(np.diff(self.starts) <= shortest).tolist():
            if not self._record(number).strip(b"\r\n"):
                raise self._refused(number, f"an empty line instead of {fields} fields. Remove it")

    def _first_not_utf8(self) -> int:
        for number in range(len(self)):
            try:
                self._record(number).decode()
            except UnicodeDecodeError:
                return number
        return 0

    def _refuse_ragged(self, names: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse a record of more or fewer fields, if one is the reason for Arrow's refusal.

        Raises:
            RecordError: There is one.
        """
        replaced = self.content.decode(errors="replace").encode()
        ragged: list[arrow_csv.InvalidRow] = []
        try:
            _parse(replaced, names, columns, ragged)
        except pa.ArrowInvalid:
            if ragged:
                raise self._refused(
                    ragged[0].number - 1,
                    f"{ragged[0].actual_columns} fields where the header names {len(names)}"
                    f" ({', '.join(names)}). Mend the record; a field that holds a comma must be"
                    " quoted",
                ) from None

    def _refuse_returns(self, names: Sequence[str], columns: Sequence[str]) -> None:
        """Refuse a record that Arrow takes for more than one: it ends them at carriage returns too.

        Raises:
            RecordError: There is one.
        """
        for found in re.finditer(rb"\r(?!\n)", self.content):
            number = int(np.searchsorted(self.starts, found.start(), side="right")) - 1
            try:
                is_one = len(_parse(self._record(number), names, columns)) == 1
            except (pa.ArrowInvalid, UnicodeDecodeError):
                is_one = False
            if not is_one:
                raise self._refused(
                    number,
                    "a carriage return inside the record, which ends it for some readers. Put the"
                    " field in quotes, or remove it",
                )

    def _record(self, number: int) -> bytes:
        return self.content[self.starts[number] : self.starts[number + 1]]

    def _refused(self, number: int, problem: str) -> RecordError:
        return _refused(self.places.locate(number), problem, self._record(number))


class CsvPlaces:
    """Where the records of some blocks came from; holds no content."""

    def __init__(self, lines: LinePlaces, first_lines: NDArray[np.int64]) -> None:
        self._lines = lines
        self._first_lines = first_lines

    def locate(self, index: int) -> str:
        """Say where a record starts: "part-00003.csv, line 17"."""
        return self._lines.locate(int(self._first_lines[index]))


def _joined(lines: LineBlocks) -> tuple[bytes, NDArray[np.int64]]:
    """Copy the lines without what lies between blocks, behind a byte order mark.

    Arrow drops one at the beginning, which thus is not one of the first field.

    Returns:
        The bytes; and where each line starts in them and, last, where the last one stops.
    """
    pieces: list[bytes | memoryview] = [BYTE_ORDER_MARK]
    view = memoryview(lines.content)
    shifts: list[int] = []
    size = len(BYTE_ORDER_MARK)
    first = 0
    for length in lines.lengths.tolist():
        if length:
            begin = int(lines.offsets[2 * first])
            end = int(lines.offsets[2 * (first + length) - 1])
            # The offset leaves out the end of the line.
            end += 2 if view[end] == CARRIAGE_RETURN else 1
            pieces.append(view[begin:end])
            shifts.append(size - begin)
            size += end - begin
        else:
            shifts.append(0)
        first += length
    starts = lines.offsets[:-1:2] + np.repeat(np.array(shifts, np.int64), lines.lengths)
    return b"".join(pieces), np.append(starts, size)


def _stops_inside_quotes(content: bytes, stops: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return whether an odd number of quotes stands before each of `stops`."""
    quotes = np.flatnonzero(np.frombuffer(content, np.uint8) == QUOTE)
    odd: NDArray[np.bool_] = np.searchsorted(quotes, stops) % 2 == 1
    return odd


def _parse(
    content: bytes,
    names: Sequence[str],
    columns: Sequence[str],
    ragged: list[arrow_csv.InvalidRow] | None = None,
) -> pa.Table:
    """Parse records; put the first of another number of fields into `ragged`, if that is given.

    Raises:
        pyarrow.ArrowInvalid: There is one; or a field is not UTF-8.
        UnicodeDecodeError: There is one, and it is not UTF-8.
    """

    def refuse(row: arrow_csv.InvalidRow) -> str:
        if ragged is not None:
            ragged.append(row)
        return "error"

    return arrow_csv.read_csv(
        pa.BufferReader(content),
        read_options=arrow_csv.ReadOptions(
            use_threads=False,
            column_names=list(names),
            block_size=min(len(content) + 1, LARGEST_PARSED_BYTES),
        ),
        parse_options=arrow_csv.ParseOptions(
            newlines_in_values=True,
            ignore_empty_lines=False,
            # A row that is not UTF-8 would be lost between Arrow and the handler.
            invalid_row_handler=None if ragged is None else refuse,
        ),
        convert_options=arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.large_string()), include_columns=list(columns)
        ),
    )


def _refused(place: str, problem: str, record: bytes) -> RecordError:
    text = record.decode(errors="replace").strip()
    excerpt = text[:EXCERPT_CHARACTERS] + ("..." if len(text) > EXCERPT_CHARACTERS else "")
    return RecordError(f"{place}: {problem}: {excerpt!r}.")
