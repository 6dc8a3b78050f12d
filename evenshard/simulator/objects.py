"""The object store: where `s3://bucket/key` lies. Here folders; S3 itself later.

Definitions and results hold only s3:// URIs, so nothing in them depends on the store.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from evenshard.errors import RefusedError

_SCHEME: Final = "s3://"


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of a listing."""

    bucket: str
    key: str
    size_bytes: int

    @property
    def uri(self) -> str:
        """Its address."""
        return f"{_SCHEME}{self.bucket}/{self.key}"


class ObjectStore(Protocol):
    """What a simulation needs of a store. Keys are text; `prefix` is a prefix of that text."""

    def list(self, uri: str) -> list[StoredObject]:
        """All objects whose key starts with the URI's, sorted by the bytes of the key."""

    def read(self, uri: str) -> bytes:
        """The content of one object; FileNotFoundError if there is none."""

    def write(self, uri: str, content: bytes) -> None:
        """Create or replace one object."""

    def download(self, uri: str, file: Path) -> None:
        """Copy one object into a file, whose folder is made if missing."""

    def upload(self, file: Path, uri: str) -> None:
        """Copy a file into one object."""

    def local_file(self, uri: str) -> Path | None:
        """Where the object lies on this machine, if it does."""


def split_uri(uri: str) -> tuple[str, str]:
    """Bucket and key of an s3:// URI.

    Raises:
        ValueError: it is none.
    """
    bucket, _, key = uri.removeprefix(_SCHEME).partition("/")
    if not uri.startswith(_SCHEME) or not bucket:
        raise ValueError(f"{uri!r} is no S3 URI. Write s3://bucket/key.")
    return bucket, key


def join_uri(uri: str, name: str) -> str:
    """The URI of `name` below a prefix, with one slash between."""
    return f"{uri.rstrip('/')}/{name}"


def relative_name(key: str, prefix: str) -> str:
    """Where File mode puts an object below the channel's folder.

    Keys below a folder-like prefix keep what follows it; a prefix that is the whole key gives the
    base name, and one that ends inside a name keeps that name. Source: docs/facts.md 2.
    """
    folder = prefix if prefix.endswith("/") else f"{prefix}/"
    if prefix and key.startswith(folder):
        return key[len(folder) :]
    return key[prefix.rfind("/") + 1 :]


class LocalObjectStore:
    """Buckets as folders: a few mounted read-only, all others below one root."""

    def __init__(self, root: Path, mounts: Mapping[str, Path]) -> None:
        """Take the root of the writable buckets, and bucket -> folder for the others."""
        self._root = root
        self._mounts = dict(mounts)

    def list(self, uri: str) -> list[StoredObject]:
        """See ObjectStore. A folder is no object, so an empty one lists nothing."""
        bucket, prefix = split_uri(uri)
        folder = self._folder(bucket)
        start = self._file(f"{_SCHEME}{bucket}/{prefix[: prefix.rfind('/') + 1]}")
        found = [
            StoredObject(bucket, key, file.stat().st_size)
            for key, file in _files_below(start, folder)
            if key.startswith(prefix)
        ]
        return sorted(found, key=lambda stored: stored.key.encode())

    def read(self, uri: str) -> bytes:
        """See ObjectStore."""
        return self._file(uri).read_bytes()

    def write(self, uri: str, content: bytes) -> None:
        """See ObjectStore."""
        file = self._writable(uri)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)

    def download(self, uri: str, file: Path) -> None:
        """See ObjectStore. A copy, so that a program cannot change the original."""
        file.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._file(uri), file)

    def upload(self, file: Path, uri: str) -> None:
        """See ObjectStore."""
        target = self._writable(uri)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)

    def local_file(self, uri: str) -> Path | None:
        """See ObjectStore."""
        file = self._file(uri)
        return file if file.is_file() else None

    def _folder(self, bucket: str) -> Path:
        return self._mounts.get(bucket, self._root / bucket)

    def _file(self, uri: str) -> Path:
        bucket, key = split_uri(uri)
        if ".." in PurePosixPath(key).parts:
            raise RefusedError(f"{uri}: a local store cannot hold a key with '..' in it.")
        return self._folder(bucket) / key

    def _writable(self, uri: str) -> Path:
        bucket, _ = split_uri(uri)
        if bucket in self._mounts:
            raise RefusedError(
                f"{uri}: bucket {bucket} is the folder {self._mounts[bucket]}, mounted read-only. "
                "Write to another bucket."
            )
        return self._file(uri)


def _files_below(start: Path, root: Path) -> Iterator[tuple[str, Path]]:
    seen: set[Path] = set()
    for folder_name, subfolders, names in os.walk(start, followlinks=True):
        folder = Path(folder_name)
        real = folder.resolve()
        if real in seen:  # a link that leads back
            subfolders.clear()
            continue
        seen.add(real)
        for name in names:
            yield (folder / name).relative_to(root).as_posix(), folder / name
