"""pyarrow's own readers, all in the order of the data."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import csv, dataset, json

NOT_IN_THE_DATA = "\x01"
"""A delimiter that makes each line one field."""


def csv_lines(folder: Path, batch_size: int, _workers: int) -> Iterator[list[str]]:
    """Read lines as a CSV of one column."""
    for path in sorted(folder.iterdir()):
        reader = csv.open_csv(
            path,
            read_options=csv.ReadOptions(column_names=["text"]),
            parse_options=csv.ParseOptions(delimiter=NOT_IN_THE_DATA, quote_char=False),
            convert_options=csv.ConvertOptions(column_types={"text": pa.string()}),
        )
        for batch in reader:
            yield from _cut(batch.column(0).to_pylist(), batch_size)


def json_records(folder: Path, batch_size: int, _workers: int) -> Iterator[list[Any]]:
    """Read JSON Lines."""
    for path in sorted(folder.iterdir()):
        for batch in json.open_json(path):
            yield from _cut(batch.to_pylist(), batch_size)


def parquet_batches(folder: Path, batch_size: int, _workers: int) -> Iterator[pa.RecordBatch]:
    """Read Parquet by its default batch size, which is the fastest, and slice."""
    for batch in dataset.dataset(folder, format="parquet").to_batches():
        for start in range(0, len(batch), batch_size):
            yield batch.slice(start, batch_size)


def _cut(records: list[Any], batch_size: int) -> Iterator[list[Any]]:
    for start in range(0, len(records), batch_size):
        yield records[start : start + batch_size]
