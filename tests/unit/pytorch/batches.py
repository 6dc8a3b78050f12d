"""Batches as a loader makes them, of records that a test writes down."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.pytorch.task import Task
from training.records import Batch, LoaderSettings, RecordLoader, find_shards


def json_batch(folder: Path, records: Sequence[Mapping[str, Any]], task: Task[Any]) -> Batch:
    """One batch of JSON Lines, read as the task wants it."""
    text = "".join(json.dumps(record) + "\n" for record in records)
    (folder / "part-00000.jsonl").write_text(text)
    return only_batch(folder, task)


def only_batch(folder: Path, task: Task[Any]) -> Batch:
    """All records of a folder, in their order."""
    shards = find_shards(folder)
    settings = LoaderSettings(batch_size=10_000, seed=0, shuffle=False)
    loader = RecordLoader(shards, settings=task.loader_settings(settings, shards), part=0, parts=1)
    (batch,) = loader.epoch(0)
    return batch
