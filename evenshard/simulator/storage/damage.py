"""A store from which chosen objects arrive damaged: what --fault corrupt:KEY does."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from evenshard.simulator.storage.objects import ObjectStore
from training.shards.listing import StoredObject

_DAMAGED_BYTES: Final = 64


class DamagingStore:
    """Objects are damaged on their way: what lies in the store stays whole."""

    def __init__(self, store: ObjectStore, damaged: Mapping[str, Callable[[], None]]) -> None:
        """Take the store, and what to call when an object was damaged, by URI."""
        self._store = store
        self._damaged = damaged

    def list(self, uri: str) -> list[StoredObject]:
        """See ObjectStore."""
        return self._store.list(uri)

    def read(self, uri: str) -> bytes:
        """See ObjectStore."""
        return self._store.read(uri)

    def download(self, uri: str, file: Path, listed: StoredObject | None = None) -> None:
        """See ObjectStore. A damaged object keeps its size: only its content can tell."""
        self._store.download(uri, file, listed)
        if uri in self._damaged:
            damage(file)
            self._damaged[uri]()

    def upload(self, file: Path, uri: str, kms_key: str | None = None) -> None:
        """See ObjectStore."""
        self._store.upload(file, uri, kms_key)

    def delete(self, uri: str) -> None:
        """See ObjectStore."""
        self._store.delete(uri)

    def exists(self, uri: str) -> bool:
        """See ObjectStore."""
        return self._store.exists(uri)

    def local_file(self, uri: str) -> Path | None:
        """See ObjectStore."""
        return self._store.local_file(uri)


def damage(file: Path) -> None:
    """Invert up to 64 bytes in the middle of a file."""
    with file.open("r+b") as content:
        middle = max(file.stat().st_size // 2 - _DAMAGED_BYTES // 2, 0)
        content.seek(middle)
        stretch = content.read(_DAMAGED_BYTES)
        content.seek(middle)
        content.write(bytes(byte ^ 0xFF for byte in stretch))
