"""How many records a batch holds, and which."""

from typing import Any

import pyarrow as pa

NUMBER_DIGITS = 9
"""Of the number that each record begins with."""


def length(batch: Any) -> int:  # noqa: ANN401 - whatever a loader yields
    """Count the records of a batch that knows its length."""
    return len(batch)


def itself(batch: int) -> int:
    """Take the batch for its count."""
    return batch


def numbers_in_text(batch: list[str]) -> list[int]:
    """Read the numbers that texts begin with."""
    return [int(text[:NUMBER_DIGITS]) for text in batch]


def numbers_in_records(batch: list[dict[str, Any]]) -> list[int]:
    """Read the numbers of records with a text."""
    return [int(record["text"][:NUMBER_DIGITS]) for record in batch]


def numbers_in_packed(batch: Any) -> list[int]:  # noqa: ANN401 - training.records.Packed
    """Read the numbers of packed records."""
    content = batch.content.tobytes()
    return [int(content[start : start + NUMBER_DIGITS]) for start in batch.offsets[:-1].tolist()]


def numbers_in_arrow(batch: pa.Table) -> list[int]:
    """Read the numbers of a table's texts."""
    return numbers_in_text(batch.column("text").to_pylist())


def numbers_in_samples(batch: list[Any]) -> list[int]:
    """Read the numbers of tar samples, which are their keys."""
    return [
        int(sample["__key__"]) if isinstance(sample, dict) else int(sample[0]) for sample in batch
    ]
