import json
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from torch.utils.data import DataLoader

from tests.unit.records.host_data import host_loaders, numbered, write_shards
from training.records import LoaderSettings, RecordLoader, StateError
from training.records.torch_dataset import RecordDataset

SETTINGS = LoaderSettings(batch_size=4, seed=3, block_bytes=64, output="bytes")


@pytest.fixture
def host(tmp_path: Path) -> Path:
    return write_shards(tmp_path / "train", {"a.jsonl": numbered(40), "b.jsonl": numbered(21)})


def _loader(host: Path, part: int = 0, parts: int = 1) -> RecordLoader:
    return host_loaders(host, SETTINGS, parts=parts)[part]


def _torch(dataset: RecordDataset, workers: int = 0) -> DataLoader[Any]:
    return DataLoader(dataset, batch_size=None, num_workers=workers)


@pytest.mark.parametrize("workers", [0, 1])
def test_torch_iterates_over_the_data_of_the_batches(host: Path, workers: int) -> None:
    loader = _loader(host)
    dataset = loader.as_torch_dataset(epoch=2)
    assert list(_torch(dataset, workers)) == [batch.data for batch in loader.epoch(2)]
    dataset.set_epoch(3)
    assert list(_torch(dataset, workers)) == [batch.data for batch in loader.epoch(3)]


@pytest.mark.parametrize("taken", [0, 1, 5, 16])
def test_a_state_goes_on_after_the_batch_handed_out_last(host: Path, taken: int) -> None:
    whole = [batch.data for batch in _loader(host).epoch(1)]
    dataset = _loader(host).as_torch_dataset(epoch=1)
    batches = iter(dataset)
    assert list(islice(batches, taken)) == whole[:taken]
    state = json.loads(json.dumps(dataset.state_dict()))
    again = _loader(host).as_torch_dataset()
    again.load_state_dict(state)
    assert list(_torch(again)) == whole[taken:]


def test_a_rank_of_several_goes_on_with_its_own_state_alone(host: Path) -> None:
    dataset = _loader(host, 1, 3).as_torch_dataset(epoch=1)
    batches = iter(dataset)
    next(batches)
    state = dataset.state_dict()
    rest = list(batches)
    again = _loader(host, 1, 3).as_torch_dataset()
    again.load_state_dict(state)
    assert list(again) == rest
    other = _loader(host, 0, 2).as_torch_dataset()
    with pytest.raises(StateError, match="the states of the parts 1 of 3 were given"):
        other.load_state_dict(state)


def test_refuses_workers_that_would_each_read_everything(host: Path) -> None:
    with pytest.raises(ValueError, match="num_workers=2: each worker would read all records"):
        list(_torch(_loader(host).as_torch_dataset(), workers=2))
