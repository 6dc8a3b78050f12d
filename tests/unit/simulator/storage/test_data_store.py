from pathlib import Path

import pytest

from evenshard.errors import RefusedError, UsageError
from evenshard.simulator.storage.data import (
    DataFolder,
    DataPrefix,
    corrupt_uri,
    data_parameters,
    open_data,
    without_data,
)
from evenshard.simulator.storage.data_store import DataStore
from evenshard.simulator.storage.objects import LocalObjectStore
from tests.unit.simulator.memory_store import MemoryStore
from training.shards.location import Location

OBJECT = "s3://account/data/train/a"
PREFIX = DataPrefix(Location("account", "data/"), MemoryStore())


@pytest.fixture
def data() -> MemoryStore:
    store = MemoryStore()
    store.contents[OBJECT] = b"theirs"
    return store


@pytest.fixture
def store(data: MemoryStore, tmp_path: Path) -> DataStore:
    return DataStore(LocalObjectStore(tmp_path / "own", {}), data, {"account"})


def test_data_is_read_where_it_lies(store: DataStore, tmp_path: Path) -> None:
    assert [stored.key for stored in store.list("s3://account/data/")] == ["data/train/a"]
    assert store.exists(OBJECT)
    assert store.read(OBJECT) == b"theirs"
    store.download(OBJECT, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"theirs"
    assert store.local_file(OBJECT) is None


def test_data_is_never_changed(store: DataStore, data: MemoryStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"ours")
    with pytest.raises(RefusedError, match="holds the data of --data, which a simulation only"):
        store.upload(tmp_path / "file", OBJECT)
    with pytest.raises(RefusedError, match="holds the data of --data, which a simulation only"):
        store.delete(OBJECT)
    assert data.contents == {OBJECT: b"theirs"}


def test_other_buckets_are_the_runs_own(store: DataStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"ours")
    store.upload(tmp_path / "file", "s3://models/a")
    assert store.local_file("s3://models/a") == tmp_path / "own" / "models" / "a"
    store.delete("s3://models/a")
    assert store.list("s3://models/") == []


def test_parameters_say_where_the_data_lies(tmp_path: Path) -> None:
    assert data_parameters(PREFIX) == {
        "TrainDataUri": "s3://account/data/train/",
        "ValidationDataUri": "s3://account/data/validation/",
        "TestDataUri": "s3://account/data/test/",
    }
    assert data_parameters(DataFolder(tmp_path))["TestDataUri"] == "s3://evenshard-data/test/"


def test_data_of_another_bucket_that_a_parameter_names_lies_in_s3_too(data: MemoryStore) -> None:
    data.contents["s3://elsewhere/test/a"] = b"test"
    prefix = DataPrefix(Location("account", "data/"), data)
    store = prefix.store(Path("unused"), {"TestDataUri": "s3://elsewhere/test/", "Epochs": 3})
    assert store.read("s3://elsewhere/test/a") == b"test"


def test_a_resumed_run_inherits_data_only_where_it_was_chosen_apart() -> None:
    derived = {**data_parameters(PREFIX), "Epochs": "3"}
    assert without_data(derived) == {"Epochs": "3"}
    chosen = {**derived, "TestDataUri": "s3://elsewhere/test/"}
    assert without_data(chosen) == chosen
    assert without_data({"Epochs": "3"}) == {"Epochs": "3"}


def test_a_corrupt_object_lies_below_the_data_or_anywhere(tmp_path: Path) -> None:
    assert corrupt_uri(PREFIX, "train/a") == OBJECT
    assert corrupt_uri(DataFolder(tmp_path), "train/a") == "s3://evenshard-data/train/a"
    assert corrupt_uri(PREFIX, "s3://models/a") == "s3://models/a"


def test_a_missing_folder_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none is not a folder.* or an S3 folder"):
        open_data(tmp_path / "none")
    assert open_data(tmp_path).missing("a") == f"there is no file {tmp_path / 'a'}"
