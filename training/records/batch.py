"""A batch: the records of one rank and one step, and where each came from."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Self

import pyarrow as pa

from training.records.errors import RecordError
from training.records.formats.protocol import Rows
from training.records.packed import Packed, join_packed
from training.records.windows import Chunk, WindowPlace

AnyPacked = Packed | dict[str, Packed]
"""The records or, of samples that consist of several files, each of these by its ending."""


class Batch:
    """Records of one rank and one step; never empty.

    Attributes:
        data: The records, `batch_size` of them or, in a part's last batch, fewer, as the setting
            `output` says. "str": list of str; "bytes": list of bytes; "packed": Packed (tar: a dict
            of them, by ending); "arrow": pyarrow.Array (lines) or pyarrow.Table; "records": list of
            dict.
        window: Where the rank has come to with the batch,
        offset: and the records of that window's order up to and with it.
    """

    __slots__ = ("_pieces", "_size", "data", "offset", "window")

    def __init__(
        self,
        data: Any,  # noqa: ANN401 - by the setting
        pieces: Sequence[tuple[Rows, int, int]],
        size: int,
        window: WindowPlace,
        offset: int,
    ) -> None:
        """Make a batch of runs of rows: (rows, first, last (exclusive))."""
        self.data = data
        self.window = window
        self.offset = offset
        self._pieces = pieces
        self._size = size

    def __len__(self) -> int:
        return self._size

    def with_data(self, data: Any) -> Self:  # noqa: ANN401 - whatever was made of it
        """Return the same batch with something else made of its records."""
        return type(self)(data, self._pieces, self._size, self.window, self.offset)

    @property
    def records(self) -> list[dict[str, Any]]:
        """The records as dicts, whatever `data` is.

        Raises:
            RecordError: A record is damaged.
            ValueError: The format has no such output.
        """
        if isinstance(self.data, list) and self.data and isinstance(self.data[0], dict):
            return self.data
        parts = [rows.slice(first, last) for rows, first, last in self._pieces]
        return [record for rows in parts for record in rows.output("records")]

    def locate(self, index: int) -> str:
        """Say where record `index` came from: "part-00003.jsonl, line 17".

        Reads the shard up to there, so it is for messages only.
        """
        for rows, first, last in self._pieces:
            if index < last - first:
                return rows.locate(first + index)
            index -= last - first
        raise IndexError(f"a batch of {self._size} records has no record {index + self._size}")


class Output(NamedTuple):
    """How rows become the data of batches, one way for each of the five outputs."""

    kind: str
    objects_at_once: int | None
    """Where it is a Python object per record: of how many records, or of one batch, these are made
    at once by whoever takes the batch. None: it is arrays."""
    cut: Callable[[Any, int, int], Any]
    join: Callable[[list[Any]], Any]


def _join_lists(parts: list[list[Any]]) -> list[Any]:
    return [record for part in parts for record in part]


def _cut_list(data: list[Any], first: int, last: int) -> list[Any]:
    records = data[first:last]
    # Let go of here: otherwise the step after a chunk waits until all of its records are freed.
    data[first:last] = [None] * len(records)
    return records


def _cut_packed(data: AnyPacked, first: int, last: int) -> AnyPacked:
    if isinstance(data, dict):
        return {name: _cut_one_packed(part, first, last) for name, part in data.items()}
    return _cut_one_packed(data, first, last)


def _cut_one_packed(data: Packed, first: int, last: int) -> Packed:
    offsets = data.offsets[first : last + 1]
    return Packed(data.content[offsets[0] : offsets[-1]], offsets - offsets[0])


def _join_packed(parts: list[Any]) -> AnyPacked:
    if isinstance(parts[0], dict):
        return {name: join_packed([part[name] for part in parts]) for name in parts[0]}
    return join_packed(parts)


def _cut_arrow(data: Any, first: int, last: int) -> Any:  # noqa: ANN401 - Array or Table
    return data.slice(first, last - first)


def _join_arrow(parts: list[Any]) -> Any:  # noqa: ANN401 - Array or Table
    if isinstance(parts[0], pa.Table):
        return pa.concat_tables(parts, promote_options="permissive")
    return pa.concat_arrays(parts)


OUTPUTS = {
    output.kind: output
    for output in (
        Output("str", 256, _cut_list, _join_lists),
        Output("bytes", 256, _cut_list, _join_lists),
        Output("packed", None, _cut_packed, _join_packed),
        Output("arrow", None, _cut_arrow, _join_arrow),
        # One batch at a time, never in the background: they take long.
        Output("records", 1, _cut_list, _join_lists),
    )
}


class Converted(NamedTuple):
    """Rows and, where that was done in the background, their data."""

    chunk: Chunk
    data: Any


class Demand:
    """Whether somebody waits for the next chunk, and not for an epoch's first."""

    def __init__(self) -> None:
        self.is_waiting = False

    def watch(self, source: Iterator[Converted]) -> Iterator[Converted]:
        """Hand on what the source gives."""
        for converted in source:
            self.is_waiting = False
            yield converted
            self.is_waiting = True


def converted(chunk: Chunk, output: Output, demand: Demand) -> Converted:
    """Convert a whole chunk: to arrays always, and to strings unless somebody waits for it.

    Who waits is faster, and finds strings in the processor's cache that were made just now.
    """
    at_once = output.objects_at_once
    data = None
    if at_once is None or (at_once > 1 and not demand.is_waiting):
        # Where a record is damaged, the batches before it are still to be handed out.
        with suppress(RecordError):
            data = chunk.rows.output(output.kind)
    return Converted(chunk, data)


def batches(source: Iterable[Converted], output: Output, batch_size: int) -> Iterator[Batch]:
    """Cut chunks into batches of `batch_size` records; the last one may be shorter.

    Raises:
        RecordError: A record is damaged.
    """
    begun: list[tuple[Rows, int, int]] = []
    missing = batch_size
    for (rows, window, offset), data in source:
        first = 0
        if begun:
            first = min(missing, len(rows))
            begun.append((rows, 0, first))
            missing -= first
            place = (window, offset + first)
            if missing:
                continue
            yield _joined(begun, output, batch_size, place)
        last = first + (len(rows) - first) // batch_size * batch_size
        yield from _cut_rows(
            Converted(Chunk(rows, window, offset), data), output, batch_size, (first, last)
        )
        begun, missing = [], batch_size
        if last < len(rows):
            begun = [(rows, last, len(rows))]
            missing -= len(rows) - last
            place = (window, offset + len(rows))
    if begun:
        yield _joined(begun, output, batch_size - missing, place)


def _cut_rows(
    converted: Converted, output: Output, batch_size: int, run: tuple[int, int]
) -> Iterator[Batch]:
    """Cut the rows `run` of a chunk, a multiple of `batch_size` of them, into batches."""
    rows, window, offset = converted.chunk
    for data, start, stop in _runs(converted, output, batch_size, run):
        for first in range(max(start, run[0]), stop, batch_size):
            last = first + batch_size
            batch_data = output.cut(data, first - start, last - start)
            yield Batch(batch_data, ((rows, first, last),), batch_size, window, offset + last)


def _runs(
    converted: Converted, output: Output, batch_size: int, run: tuple[int, int]
) -> Iterator[tuple[Any, int, int]]:
    """Convert the rows `run` of a chunk: data, and the rows that it is of.

    Raises:
        RecordError: A record is damaged; those of the batches before its own were converted.
    """
    rows, data = converted.chunk.rows, converted.data
    if data is not None:
        yield data, 0, run[1]
        return
    step = max((output.objects_at_once or len(rows)) // batch_size, 1) * batch_size
    for start in range(*run, step):
        stop = min(start + step, run[1])
        try:
            data = rows.slice(start, stop).output(output.kind)
        except RecordError:
            break
        yield data, start, stop
    else:
        return
    for first in range(start, run[1], batch_size):
        last = first + batch_size
        yield rows.slice(first, last).output(output.kind), first, last
    # Each batch was good by itself: what is wrong is that they do not fit together.
    rows.slice(*run).output(output.kind)


def _joined(
    runs: list[tuple[Rows, int, int]], output: Output, size: int, place: tuple[WindowPlace, int]
) -> Batch:
    """Make one batch of the runs of several chunks.

    Raises:
        RecordError: Their columns do not fit together.
    """
    parts = [rows.slice(first, last).output(output.kind) for rows, first, last in runs]
    try:
        data = parts[0] if len(parts) == 1 else output.join(parts)
    except pa.ArrowException as error:
        places = ", ".join(rows.locate(first) for rows, first, _ in runs)
        raise RecordError(
            f"{places}: the columns from these records on do not fit together ({error}). As"
            " columns, a field must have values of one type in all records."
        ) from error
    return Batch(data, tuple(runs), size, *place)
