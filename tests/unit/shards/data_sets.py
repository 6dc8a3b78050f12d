"""Data sets as names and sizes, and the event of an execution that reads them."""

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from training.shards.listing import StoredObject
from training.shards.preflight import ListObjects

VALIDATION = {"validation/part-0.jsonl": 7}
TEST = {"test/part-0.jsonl": 9}


def shards(count: int) -> dict[str, int]:
    return {f"train/part-{number:05}.jsonl": 100 + number for number in range(count)}


def event(**changes: object) -> dict[str, Any]:
    return {
        "train_data_uri": "s3://b-1/train/",
        "validation_data_uri": "s3://b-1/validation/",
        "test_data_uri": "s3://b-1/test/",
        "instance_count": 2,
        "allow_empty_hosts": "false",
        "epochs": 3,
        "batch_size": 32,
        "learning_rate": 0.005,
        "seed": 0,
        "quality_threshold": 0.95,
        **changes,
    }


def lister(*folders: dict[str, int], etag: str = "") -> ListObjects:
    """List keys and sizes of one bucket, in an order that is not sorted."""
    stored = {key: size for folder in folders for key, size in folder.items()}

    def list_objects(bucket: str, prefix: str) -> Iterable[StoredObject]:
        assert bucket == "b-1"
        return [
            StoredObject(key, size, etag)
            for key, size in reversed(stored.items())
            if key.startswith(prefix)
        ]

    return list_objects


def list_nothing(_bucket: str, _prefix: str) -> Iterator[StoredObject]:
    pytest.fail("listed")
