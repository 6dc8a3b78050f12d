"""Examples of text classification out of batches: packed texts and their labels.

A record is `{"text": "...", "label": 0 or 1}`, whatever format its shard has.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from training.records.batch import Batch
from training.records.encoding.fields import read_fields
from training.records.errors import RecordError
from training.records.packed import Packed, join_packed, pack
from training.records.shards import Shard, shared_format

_TEXT: Final = "text"
_LABEL: Final = "label"
_FIELDS: Final = {_TEXT: pa.string(), _LABEL: pa.int64()}

_MIN_LINES: Final = 128
_MAX_MEAN_BYTES: Final = 1000
"""Columns of JSON Lines cost 0.15 ms more per batch and half as much per line as parsing one line
after the other, but more per byte; measured. In a background thread they are worth that: meanwhile
other threads run."""


class Examples(NamedTuple):
    """Texts and what they are to be recognised as."""

    texts: Packed
    """UTF-8."""
    labels: NDArray[np.int64]
    """0 or 1; shape (texts,)."""


def example_output(shards: Sequence[Shard], format_name: str | None = None) -> str:
    """Choose the loader's output that `read_examples` takes least time for.

    Args:
        shards: Of the host.
        format_name: The loader's setting.
    """
    name = shared_format(shards, format_name)
    return "packed" if name is None or name.endswith("json_lines") else "arrow"


def read_examples(batch: Batch) -> Examples:
    """Take texts and labels out of a batch, without a Python object per record where that pays.

    Args:
        batch: Its data are Packed (lines of JSON), an Arrow table or dicts.

    Raises:
        RecordError: A record lacks its text or label, or has another type of it, or is damaged.
    """
    table = _as_table(batch.data)
    examples = None if table is None else _from_table(table)
    # The records themselves tell what is wrong and where, if anything is.
    return examples or _from_records(batch)


def read_together(data: Sequence[Any]) -> Examples | None:
    """Take texts and labels out of the data of several batches at once.

    Args:
        data: Of batches of one loader; at least one.

    Returns:
        Of all records in order; None where `read_examples` has to look at each batch: something is
        wrong, or nothing is gained.
    """
    table = None
    if all(isinstance(of_batch, pa.Table) for of_batch in data):
        table = _joined_tables(data)
    elif all(isinstance(of_batch, Packed) for of_batch in data):
        lines = join_packed(data)
        table = read_fields(lines, _FIELDS) if len(lines) >= _MIN_LINES else None
    return None if table is None else _from_table(table)


def _joined_tables(tables: Sequence[pa.Table]) -> pa.Table | None:
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException:
        return None


def _as_table(data: Any) -> pa.Table | None:  # noqa: ANN401 - as the loader's setting says
    if isinstance(data, pa.Table):
        return data
    if not isinstance(data, Packed) or len(data) < _MIN_LINES:
        return None
    if len(data.content) > len(data) * _MAX_MEAN_BYTES:
        return None
    return read_fields(data, _FIELDS)


def _from_table(table: pa.Table) -> Examples | None:
    """Take the columns; None if one is missing, has another type or nulls, or a label is wrong."""
    if not {_TEXT, _LABEL} <= set(table.column_names):
        return None
    texts, labels = table.column(_TEXT), table.column(_LABEL)
    if not _is_text(texts.type) or not pa.types.is_integer(labels.type):
        return None
    if texts.null_count or labels.null_count:
        return None
    try:
        numbers = _numbers(labels.cast(pa.int64()))
    except pa.ArrowInvalid:
        return None
    if np.any((numbers != 0) & (numbers != 1)):
        return None
    return Examples(pack(_in_one_piece(texts.cast(pa.large_string()))), numbers)


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return _is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    # Not to_numpy, which imports pandas.
    array = _in_one_piece(column)
    numbers = np.frombuffer(array.buffers()[1], np.int64)
    return numbers[array.offset : array.offset + len(array)]


def _in_one_piece(column: pa.ChunkedArray) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)


def _from_records(batch: Batch) -> Examples:
    records = batch.records
    for index, record in enumerate(records):
        problem = _problem(record)
        if problem is not None:
            raise RecordError(f"{batch.locate(index)}: {problem}")
    texts = [record[_TEXT].encode() for record in records]
    labels = np.array([record[_LABEL] for record in records], np.int64)
    return Examples(_packed(texts), labels)


def _packed(contents: Sequence[bytes]) -> Packed:
    offsets = np.zeros(len(contents) + 1, np.int64)
    np.cumsum([len(content) for content in contents], out=offsets[1:])
    return Packed(np.frombuffer(b"".join(contents), np.uint8), offsets)


def _problem(record: dict[str, Any]) -> str | None:
    """Why this record cannot be used, None if it can."""
    for name in (_TEXT, _LABEL):
        if name not in record:
            given = ", ".join(sorted(record)) or "no field at all"
            return f'the record has no {name} (it has: {given}). Write {{"text": ..., "label": 0}}.'
    if not isinstance(record[_TEXT], str):
        return f"text is a {type(record[_TEXT]).__name__}. Allowed: a string."
    # True == 1 in Python, so the type counts, not the value alone.
    if type(record[_LABEL]) is not int or record[_LABEL] not in (0, 1):
        return f"label is {record[_LABEL]!r:.80}. Allowed: the integer 0 or 1."
    return None
