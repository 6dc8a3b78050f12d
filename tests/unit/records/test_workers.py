import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from tests.unit.records.host_data import host_loaders, numbered, write_shards
from training.records import Batch, LoaderSettings, RecordLoader


@pytest.fixture
def loader(tmp_path: Path) -> RecordLoader:
    write_shards(tmp_path, {"a.jsonl": numbered(40)})
    return host_loaders(tmp_path, LoaderSettings(batch_size=3, seed=1, block_bytes=64))[0]


def ids_and_process(records: list[dict[str, Any]]) -> tuple[list[int], int]:
    return [record["id"] for record in records], os.getpid()


def refuse_seven(records: list[dict[str, Any]]) -> int:
    if any(record["id"] == 7 for record in records):
        raise ZeroDivisionError("seven")
    return len(records)


def _ids(batches: Iterator[Batch]) -> list[list[int]]:
    return [batch.data[0] for batch in batches]


def test_the_order_does_not_depend_on_the_processes(loader: RecordLoader) -> None:
    expected = [[record["id"] for record in batch.records] for batch in loader.epoch(0)]
    here = list(loader.epoch(0).map(ids_and_process, workers=0))
    elsewhere = list(loader.epoch(0).map(ids_and_process, workers=2))
    assert _ids(iter(here)) == _ids(iter(elsewhere)) == expected
    assert {batch.data[1] for batch in here} == {os.getpid()}
    assert os.getpid() not in {batch.data[1] for batch in elsewhere}
    assert [batch.locate(0) for batch in elsewhere] == [batch.locate(0) for batch in here]


def test_the_state_is_that_of_what_was_handed_out(loader: RecordLoader) -> None:
    whole = _ids(loader.epoch(0).map(ids_and_process, workers=0))
    epoch = loader.epoch(0)
    batches = epoch.map(ids_and_process, workers=1)
    assert _ids(islice(batches, 4)) == whole[:4]
    loader.load_state_dict([epoch.state_dict()])
    del batches
    assert _ids(loader.epoch(0).map(ids_and_process, workers=0)) == whole[4:]


@pytest.mark.parametrize("workers", [0, 1])
def test_an_error_comes_in_place_of_its_batch(loader: RecordLoader, workers: int) -> None:
    before = next(n for n, batch in enumerate(loader.epoch(0)) if 7 in _numbers(batch))
    batches = loader.epoch(0).map(refuse_seven, workers=workers)
    assert [batch.data for batch in islice(batches, before)] == [3] * before
    with pytest.raises(ZeroDivisionError, match="seven"):
        next(batches)


def _numbers(batch: Batch) -> list[int]:
    return [record["id"] for record in batch.records]
