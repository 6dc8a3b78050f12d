import os
from pathlib import Path

import pytest

from evenshard.simulator.storage.damage import DamagingStore
from evenshard.simulator.storage.objects import LocalObjectStore
from evenshard.simulator.storage.synced_folder import SyncedFolder

PREFIX = "s3://results/executions/abc/checkpoints/"


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path / "objects", {})


@pytest.fixture
def folders(tmp_path: Path) -> dict[str, Path]:
    return {host: tmp_path / host / "checkpoints" for host in ("algo-1", "algo-2")}


def names(store: LocalObjectStore) -> list[str]:
    prefix = PREFIX.removeprefix("s3://results/")
    return [stored.key.removeprefix(prefix) for stored in store.list(PREFIX)]


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def test_files_of_all_hosts_go_to_one_prefix(
    store: LocalObjectStore, folders: dict[str, Path]
) -> None:
    synced = SyncedFolder(store, PREFIX, folders, deletes=True)
    write(folders["algo-1"] / "step-1" / "rank-0", "a")
    write(folders["algo-2"] / "step-1" / "rank-1", "b")
    synced.sweep()
    assert names(store) == ["step-1/rank-0", "step-1/rank-1"]
    assert store.read(f"{PREFIX}step-1/rank-1") == b"b"


def test_a_changed_file_goes_up_again_and_an_unchanged_one_does_not(
    store: LocalObjectStore, folders: dict[str, Path]
) -> None:
    synced = SyncedFolder(store, PREFIX, folders, deletes=True)
    write(folders["algo-1"] / "half", "a")
    write(folders["algo-1"] / "whole", "b")
    synced.sweep()
    write(folders["algo-1"] / "half", "aa")
    store.delete(f"{PREFIX}whole")
    synced.sweep()
    assert store.read(f"{PREFIX}half") == b"aa"
    assert names(store) == ["half"]


def test_a_folder_that_is_deleted_while_we_look_is_no_error(
    store: LocalObjectStore, folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the oldest checkpoint is, at any moment."""
    synced = SyncedFolder(store, PREFIX, folders, deletes=True)
    write(folders["algo-1"] / "step-1" / "rank-0", "a")
    write(folders["algo-1"] / "step-2" / "rank-0", "b")
    scandir = os.scandir

    def delete_first(folder: str | Path = ".") -> object:
        if str(folder).endswith("step-1") and Path(folder).is_dir():
            Path(folder, "rank-0").unlink()
            Path(folder).rmdir()
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", delete_first)
    synced.sweep()
    assert names(store) == ["step-2/rank-0"]


def test_what_is_deleted_on_a_host_is_deleted_in_the_store(
    store: LocalObjectStore, folders: dict[str, Path]
) -> None:
    synced = SyncedFolder(store, PREFIX, folders, deletes=True)
    write(folders["algo-1"] / "old", "a")
    synced.sweep()
    (folders["algo-1"] / "old").unlink()
    synced.sweep()
    assert names(store) == []


def test_a_folder_that_only_goes_up_deletes_nothing(
    store: LocalObjectStore, folders: dict[str, Path]
) -> None:
    synced = SyncedFolder(store, PREFIX, folders, deletes=False)
    write(folders["algo-1"] / "events", "a")
    synced.sweep()
    (folders["algo-1"] / "events").unlink()
    synced.sweep()
    assert names(store) == ["events"]


def test_every_host_gets_everything_back_and_sends_none_of_it_again(
    store: LocalObjectStore, folders: dict[str, Path], tmp_path: Path
) -> None:
    write(tmp_path / "file", "a")
    store.upload(tmp_path / "file", f"{PREFIX}step-1/rank-0")
    synced = SyncedFolder(store, PREFIX, folders, deletes=True)
    synced.restore()
    for folder in folders.values():
        assert (folder / "step-1" / "rank-0").read_text() == "a"
    store.delete(f"{PREFIX}step-1/rank-0")
    synced.sweep()
    assert names(store) == []


def test_nothing_is_saved_from_a_machine_that_is_gone(
    store: LocalObjectStore, folders: dict[str, Path]
) -> None:
    synced = SyncedFolder(store, PREFIX, folders, deletes=True)
    write(folders["algo-1"] / "a", "a")
    write(folders["algo-2"] / "b", "b")
    synced.sweep(lost=["algo-2"])
    assert names(store) == ["a"]


def test_a_quick_second_look_finds_nothing_new(
    store: LocalObjectStore, folders: dict[str, Path]
) -> None:
    synced = SyncedFolder(store, PREFIX, folders, deletes=True)
    synced.look(lost=[])
    write(folders["algo-1"] / "a", "a")
    synced.look(lost=[])
    assert names(store) == []
    synced.sweep()
    assert names(store) == ["a"]


def test_a_named_object_arrives_damaged_and_stays_whole_in_the_store(tmp_path: Path) -> None:
    content = os.urandom(1000)
    mounted = tmp_path / "data"
    mounted.mkdir()
    (mounted / "a").write_bytes(content)
    (mounted / "b").write_bytes(b"short")
    arrived: list[str] = []
    damaged = {f"s3://data/{name}": lambda name=name: arrived.append(name) for name in "ab"}
    store = DamagingStore(LocalObjectStore(tmp_path / "objects", {"data": mounted}), damaged)
    store.download("s3://data/a", tmp_path / "got")
    got = (tmp_path / "got").read_bytes()
    assert len(got) == 1000
    assert [i for i in range(1000) if got[i] != content[i]] == list(range(468, 532))
    store.download("s3://data/b", tmp_path / "got")
    assert (tmp_path / "got").read_bytes() == bytes(byte ^ 0xFF for byte in b"short")
    assert arrived == ["a", "b"]
    assert (mounted / "a").read_bytes() == content
