"""The object store: where `s3://bucket/key` lies. Steps know `ObjectStore`, not which one it is.

Definitions and results hold only s3:// URIs, so nothing in them depends on the store.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator, Mapping
from itertools import filterfalse
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from evenshard.errors import RefusedError
from evenshard.simulator.errors import ServiceError
from evenshard.simulator.storage.whole_files import is_unfinished, written_whole
from training.shards.listing import StoredObject

_SCHEME: Final = "s3://"
_SINCE_LISTED: Final = (
    "Something changed the data after it had been listed: start again when nobody writes there."
)


class ObjectStore(Protocol):
    """What a simulation needs of a store. Keys are text; `prefix` is a prefix of that text.

    Where a store cannot do what it is asked, it raises a ServiceError that says why.
    """

    def list(self, uri: str) -> list[StoredObject]:
        """All objects whose key starts with the URI's, with ETags, sorted by the key's bytes."""

    def read(self, uri: str) -> bytes:
        """The content of one object; FileNotFoundError if there is none."""

    def download(self, uri: str, file: Path, listed: StoredObject | None = None) -> None:
        """Copy one object into a file, whole or not at all; its folder is made if missing.

        Args:
            uri: the object's.
            file: what is created or replaced.
            listed: the object as it was listed; another one of its name is refused.

        Raises:
            ServiceError: there is none, or it is another one by now.
        """

    def upload(self, file: Path, uri: str, kms_key: str | None = None) -> None:
        """Copy a file into one object, which is created or replaced, whole or not at all.

        Args:
            file: what is copied; FileNotFoundError if it is not there.
            uri: the object's.
            kms_key: id or ARN of the key that a job names for its outputs; None: the bucket's own.
        """

    def delete(self, uri: str) -> None:
        """Remove one object; no error if there is none, as in S3."""

    def exists(self, uri: str) -> bool:
        """Whether there is an object of exactly this address."""

    def local_file(self, uri: str) -> Path | None:
        """Where the object lies on this machine; None if it does not exist or lies elsewhere."""


def split_uri(uri: str) -> tuple[str, str]:
    """Bucket and key of an s3:// URI.

    Raises:
        ValueError: it is none.
    """
    bucket, _, key = uri.removeprefix(_SCHEME).partition("/")
    if not uri.startswith(_SCHEME) or not bucket:
        raise ValueError(f"{uri!r} is no S3 URI. Write s3://bucket/key.")
    return bucket, key


def object_uri(bucket: str, key: str) -> str:
    """The S3 URI of an object, or of a prefix."""
    return f"{_SCHEME}{bucket}/{key}"


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


def place_of(uri: str, name: str, folder: Path) -> Path:
    """The file that an object becomes: `name` below a folder, and nowhere else.

    Raises:
        ServiceError: S3 allows such a key, and a folder has no place for it.
    """
    parts = name.split("/")
    if any(part in ("", ".", "..") for part in parts):
        raise ServiceError(
            f"{uri} has no place in a folder: its key has an empty part or one of dots. "
            "Rename the object."
        )
    return folder.joinpath(*parts)


class LocalObjectStore:
    """Buckets as folders: a few mounted read-only, all others below one root."""

    def __init__(self, root: Path, mounts: Mapping[str, Path]) -> None:
        """Take the root of the writable buckets, and bucket -> folder for the others."""
        self._root = root
        self._mounts = dict(mounts)
        self._etags: dict[tuple[Path, int, int], str] = {}

    def list(self, uri: str) -> list[StoredObject]:
        """See ObjectStore. A folder is no object, so an empty one lists nothing."""
        bucket, prefix = split_uri(uri)
        folder = self._folder(bucket)
        start = self._file(object_uri(bucket, prefix[: prefix.rfind("/") + 1]))
        found = [
            StoredObject(key, file.stat().st_size, self._etag(file))
            for key, file in _files_below(start, folder)
            if key.startswith(prefix)
        ]
        return sorted(found, key=lambda stored: stored.key.encode())

    def read(self, uri: str) -> bytes:
        """See ObjectStore."""
        file = self._file(uri)
        if not file.is_file():
            raise FileNotFoundError(f"There is no object {uri}.")
        return file.read_bytes()

    def download(self, uri: str, file: Path, listed: StoredObject | None = None) -> None:
        """See ObjectStore. A copy, so that a program cannot change the original."""
        source = self._file(uri)
        if not source.is_file():
            raise ServiceError(f"Cannot download {uri}: there is no such object. {_SINCE_LISTED}")
        if listed is not None and listed.etag not in ("", self._etag(source)):
            raise ServiceError(f"Cannot download {uri}: it was replaced. {_SINCE_LISTED}")
        with written_whole(file, uri) as unfinished:
            shutil.copyfile(source, unfinished)

    def upload(self, file: Path, uri: str, kms_key: str | None = None) -> None:
        """See ObjectStore. A folder knows no keys."""
        del kms_key
        target = self._writable(uri)
        with file.open("rb"), written_whole(target, uri) as unfinished:
            shutil.copyfile(file, unfinished)

    def delete(self, uri: str) -> None:
        """See ObjectStore."""
        self._writable(uri).unlink(missing_ok=True)

    def exists(self, uri: str) -> bool:
        """See ObjectStore."""
        return self._file(uri).is_file()

    def local_file(self, uri: str) -> Path | None:
        """See ObjectStore."""
        file = self._file(uri)
        return file if file.is_file() else None

    def _etag(self, file: Path) -> str:
        """S3's ETag of an object uploaded in one part: the MD5 of its content."""
        facts = file.stat()
        version = (file, facts.st_size, facts.st_mtime_ns)
        if version not in self._etags:  # one data set is listed by several steps
            with file.open("rb") as content:
                digest = hashlib.file_digest(content, lambda: hashlib.md5(usedforsecurity=False))
            self._etags[version] = digest.hexdigest()
        return self._etags[version]

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


def _refuse(error: OSError) -> None:
    """A folder that is closed to us is not empty. One that is not there is."""
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        raise error


def _files_below(start: Path, root: Path) -> Iterator[tuple[str, Path]]:
    seen: set[Path] = set()
    for folder_name, subfolders, names in os.walk(start, onerror=_refuse, followlinks=True):
        folder = Path(folder_name)
        real = folder.resolve()
        if real in seen:  # a link that leads back
            subfolders.clear()
            continue
        seen.add(real)
        for name in filterfalse(is_unfinished, names):
            yield (folder / name).relative_to(root).as_posix(), folder / name
