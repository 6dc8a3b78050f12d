import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.unit.records.host_data import host_loaders, write_shards
from training.records import Batch, LoaderSettings, RecordError
from training.records.encoding import example_output, examples, read_examples
from training.records.encoding.fields import read_fields
from training.records.shards import find_shards


def batch_of(folder: Path, output: str | None = None, name: str = "a.jsonl") -> Batch:
    settings = LoaderSettings(batch_size=1000, seed=0, shuffle=False, output=output)
    assert (folder / name).exists()
    (loader,) = host_loaders(folder, settings)
    (batch,) = loader.epoch(0)
    return batch


def write_lines(folder: Path, records: Sequence[dict[str, Any]]) -> Path:
    content = "".join(json.dumps(record) + "\n" for record in records).encode()
    return write_shards(folder, {"a.jsonl": content})


def contents(batch: Batch) -> list[tuple[str, int]]:
    texts, labels = read_examples(batch)
    assert labels.dtype == np.int64
    found = [
        texts.content[first:last].tobytes().decode()
        for first, last in pairwise(texts.offsets.tolist())
    ]
    return list(zip(found, labels.tolist(), strict=True))


def make_records(count: int) -> list[dict[str, Any]]:
    texts = ["", "Grüße", "two words", '"\n\u2028\\']
    return [{"text": texts[n % 4], "label": n % 3 % 2, "id": n} for n in range(count)]


@pytest.fixture
def column_reads(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each attempt to read columns of lines worked."""
    reads: list[bool] = []

    def recorded(*arguments: Any) -> pa.Table | None:  # noqa: ANN401 - passed on
        table = read_fields(*arguments)
        reads.append(table is not None)
        return table

    monkeypatch.setattr(examples, "read_fields", recorded)
    return reads


@pytest.mark.parametrize("output", ["packed", "records"])
@pytest.mark.parametrize("count", [1, 31, 127, 128, 700])
def test_lines_give_their_texts_and_labels(
    tmp_path: Path, column_reads: list[bool], output: str, count: int
) -> None:
    records = make_records(count)
    batch = batch_of(write_lines(tmp_path, records), output)
    assert contents(batch) == [(record["text"], record["label"]) for record in records]
    assert column_reads == ([True] if output == "packed" and count >= 128 else [])


def test_long_lines_are_parsed_one_by_one(tmp_path: Path, column_reads: list[bool]) -> None:
    records = [{"text": "long " * 300, "label": 1}] * 200
    batch = batch_of(write_lines(tmp_path, records), "packed")
    assert contents(batch) == [("long " * 300, 1)] * 200
    assert column_reads == []


@pytest.mark.parametrize("label_type", [pa.int8(), pa.uint64(), pa.int64()])
@pytest.mark.parametrize(
    "text_type", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_columns_give_their_texts_and_labels(
    tmp_path: Path, label_type: pa.DataType, text_type: pa.DataType
) -> None:
    records = make_records(300)
    table = pa.table(
        {
            "label": pa.array([record["label"] for record in records], label_type),
            "text": pa.array([record["text"] for record in records]).cast(text_type),
        }
    )
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=70)
    batch = batch_of(tmp_path, "arrow", "a.parquet")
    assert isinstance(batch.data, pa.Table)
    assert contents(batch) == [(record["text"], record["label"]) for record in records]


LABEL_ALLOWED = "Allowed: the integer 0 or 1."
BAD_RECORDS: dict[str, tuple[dict[str, Any], str]] = {
    "no text": (
        {"label": 1, "body": "x"},
        'the record has no text (it has: body, label). Write {"text": ..., "label": 0}.',
    ),
    "nothing": (
        {},
        'the record has no text (it has: no field at all). Write {"text": ..., "label": 0}.',
    ),
    "no label": (
        {"text": "x"},
        'the record has no label (it has: text). Write {"text": ..., "label": 0}.',
    ),
    "null": ({"text": None, "label": 1}, "text is a NoneType. Allowed: a string."),
    "a number as text": ({"text": 5, "label": 1}, "text is a int. Allowed: a string."),
    "true": ({"text": "x", "label": True}, f"label is True. {LABEL_ALLOWED}"),
    "a fraction": ({"text": "x", "label": 1.0}, f"label is 1.0. {LABEL_ALLOWED}"),
    "a third label": ({"text": "x", "label": 2}, f"label is 2. {LABEL_ALLOWED}"),
    "below zero": ({"text": "x", "label": -1}, f"label is -1. {LABEL_ALLOWED}"),
    "a label as text": ({"text": "x", "label": "1"}, f"label is '1'. {LABEL_ALLOWED}"),
    "a huge label": ({"text": "x", "label": 2**70}, f"label is {2**70}. {LABEL_ALLOWED}"),
}


@pytest.mark.parametrize(("bad", "problem"), BAD_RECORDS.values(), ids=BAD_RECORDS)
@pytest.mark.parametrize(("output", "before"), [("packed", 200), ("packed", 3), ("records", 3)])
def test_a_bad_record_is_located(
    tmp_path: Path, bad: dict[str, Any], problem: str, output: str, before: int
) -> None:
    folder = write_lines(tmp_path, [*make_records(before), bad, *make_records(2), bad])
    batch = batch_of(folder, output)
    with pytest.raises(RecordError) as caught:
        read_examples(batch)
    assert str(caught.value) == f"a.jsonl, line {before + 1}: {problem}"


def test_a_line_that_is_no_json_is_located(tmp_path: Path) -> None:
    folder = write_lines(tmp_path, make_records(200))
    with (folder / "a.jsonl").open("ab") as file:
        file.write(b'{"text": "a", "label": 1, "x": NaN}\n')
    batch = batch_of(folder, "packed")
    with pytest.raises(RecordError, match=r"^a\.jsonl, line 201: .*NaN is no JSON number"):
        read_examples(batch)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"text": ["a", "b"], "label": [0, 2]}, f"row 2: label is 2. {LABEL_ALLOWED}"),
        ({"text": ["a", None], "label": [0, 1]}, "row 2: text is a NoneType. Allowed: a string."),
        ({"text": ["a", "b"], "label": [0, None]}, f"row 2: label is None. {LABEL_ALLOWED}"),
        ({"text": [3, 4], "label": [0, 1]}, "row 1: text is a int. Allowed: a string."),
        ({"text": ["a", "b"], "label": [False, True]}, f"row 1: label is False. {LABEL_ALLOWED}"),
        ({"text": ["a", "b"]}, "row 1: the record has no label (it has: text). "),
    ],
)
def test_a_bad_row_is_located(tmp_path: Path, columns: dict[str, Any], problem: str) -> None:
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    batch = batch_of(tmp_path, "arrow", "a.parquet")
    with pytest.raises(RecordError) as caught:
        read_examples(batch)
    assert str(caught.value).startswith(f"a.parquet, {problem}")


@pytest.mark.parametrize(
    ("name", "output"),
    [("a.jsonl", "packed"), ("a.ndjson", "packed"), ("a.parquet", "arrow"), ("a.csv", "arrow")],
)
def test_the_output_follows_from_the_format(tmp_path: Path, name: str, output: str) -> None:
    shards = find_shards(write_shards(tmp_path, {f"deep/{name}": b"x"}))
    assert example_output(shards) == output
    assert example_output(()) == "packed"
