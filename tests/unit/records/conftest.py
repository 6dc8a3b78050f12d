"""A host for tests that need no other."""

from pathlib import Path

import pytest

from tests.unit.records.host_data import numbered, write_shards


@pytest.fixture
def host(tmp_path: Path) -> Path:
    """A host with 61 records in three uneven shards."""
    return write_shards(
        tmp_path / "train",
        {
            "a.jsonl": numbered(40),
            "b.jsonl": numbered(1, first=40),
            "deep/c.jsonl": numbered(20, first=41),
        },
    )
