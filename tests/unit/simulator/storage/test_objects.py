import errno
import hashlib
import os
from pathlib import Path

import pytest

from evenshard.errors import RefusedError
from evenshard.simulator.storage.objects import (
    LocalObjectStore,
    join_uri,
    object_uri,
    relative_name,
    split_uri,
)


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    data = tmp_path / "data"
    for name in ("train/part-2", "train/part-10", "train/sub/part-1", "train-old/x", "train/Ärger"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_bytes(name.encode())
    return LocalObjectStore(tmp_path / "objects", {"data": data})


def keys(store: LocalObjectStore, uri: str) -> list[str]:
    return [stored.key for stored in store.list(uri)]


def test_a_listing_is_sorted_by_the_bytes_of_the_keys(store: LocalObjectStore) -> None:
    expected = ["train/part-10", "train/part-2", "train/sub/part-1", "train/Ärger"]
    assert keys(store, "s3://data/train/") == expected


def test_a_prefix_is_a_prefix_of_the_text_and_no_folder(store: LocalObjectStore) -> None:
    assert keys(store, "s3://data/train")[0] == "train-old/x"
    assert keys(store, "s3://data/train/part-1") == ["train/part-10"]
    assert keys(store, "s3://data/train/part-10") == ["train/part-10"]
    assert len(keys(store, "s3://data")) == 5


@pytest.mark.parametrize("uri", ["s3://data/none/", "s3://nobody/x", "s3://data/train/part-2/x"])
def test_nothing_lists_as_nothing(store: LocalObjectStore, uri: str) -> None:
    assert store.list(uri) == []


def test_a_folder_that_is_closed_to_us_is_not_empty(
    store: LocalObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: str) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", folder)

    monkeypatch.setattr(os, "scandir", refuse)  # root may open any folder
    with pytest.raises(PermissionError, match=r"Permission denied: '.*/data/train"):
        store.list("s3://data/train/")


def test_sizes_are_counted_in_bytes(store: LocalObjectStore) -> None:
    (stored,) = store.list("s3://data/train/Ä")
    assert stored.size_bytes == len("train/Ärger".encode())
    assert stored.key == "train/Ärger"


def test_links_to_folders_are_followed_once(store: LocalObjectStore, tmp_path: Path) -> None:
    (tmp_path / "data/train/again").symlink_to(tmp_path / "data/train")
    (tmp_path / "data/train/old").symlink_to(tmp_path / "data/train-old")
    assert "train/old/x" in keys(store, "s3://data/train/")
    assert len(keys(store, "s3://data/train/")) == 5


def test_written_objects_are_read_back(store: LocalObjectStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"1")
    store.upload(tmp_path / "file", "s3://results/a/b")
    (tmp_path / "file").write_bytes(b"2")
    store.upload(tmp_path / "file", "s3://results/a/c")
    store.download("s3://results/a/c", tmp_path / "deep" / "copy")
    assert store.read("s3://results/a/b") == b"1"
    assert (tmp_path / "deep" / "copy").read_bytes() == b"2"
    assert keys(store, "s3://results/a/") == ["a/b", "a/c"]
    assert store.local_file("s3://results/a/b") == tmp_path / "objects/results/a/b"
    assert store.local_file("s3://results/a/d") is None
    assert store.exists("s3://results/a/b")
    assert not store.exists("s3://results/a")


def test_etags_follow_the_content(store: LocalObjectStore, tmp_path: Path) -> None:
    def etag() -> str:
        (stored,) = store.list("s3://data/train-old/")
        return stored.etag

    assert etag() == hashlib.md5(b"train-old/x", usedforsecurity=False).hexdigest()
    (tmp_path / "data/train-old/x").write_bytes(b"another")
    assert etag() == hashlib.md5(b"another", usedforsecurity=False).hexdigest()


def test_a_mounted_folder_is_read_only(store: LocalObjectStore, tmp_path: Path) -> None:
    with pytest.raises(RefusedError, match="mounted read-only"):
        store.upload(tmp_path / "data/train-old/x", "s3://data/train/new")
    assert not (tmp_path / "data/train/new").exists()


def test_a_key_cannot_leave_its_bucket(store: LocalObjectStore) -> None:
    with pytest.raises(RefusedError, match=r"\.\."):
        store.read("s3://results/../../etc/passwd")
    with pytest.raises(RefusedError, match=r"\.\."):
        store.list("s3://data/../")


@pytest.mark.parametrize(
    ("key", "prefix", "name"),
    [
        ("data/train/a", "data/train/", "a"),
        ("data/train/sub/a", "data/train/", "sub/a"),
        ("data/train/a", "data/train", "a"),
        ("data/train-old/a", "data/train", "train-old/a"),
        ("data/train/part-1", "data/train/part", "part-1"),
        ("data/model.tar.gz", "data/model.tar.gz", "model.tar.gz"),
        ("a/b", "", "a/b"),
    ],
)
def test_names_below_the_channel(key: str, prefix: str, name: str) -> None:
    assert relative_name(key, prefix) == name


def test_uris() -> None:
    assert split_uri("s3://b/k/l") == ("b", "k/l")
    assert object_uri("b", "k/l") == "s3://b/k/l"
    assert split_uri("s3://b") == ("b", "")
    assert join_uri("s3://b/k/", "l") == join_uri("s3://b/k", "l") == "s3://b/k/l"
    for wrong in ("b/k", "s3:///k", "http://b/k"):
        with pytest.raises(ValueError, match="no S3 URI"):
            split_uri(wrong)
