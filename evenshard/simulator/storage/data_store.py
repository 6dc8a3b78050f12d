"""The store of a run whose data lies elsewhere: its own, and buckets that it only reads."""

from collections.abc import Collection
from pathlib import Path

from evenshard.errors import RefusedError
from evenshard.simulator.storage.objects import ObjectStore, split_uri
from training.shards.listing import StoredObject


class DataStore:
    """Buckets of data lie in one store, all others in the run's own."""

    def __init__(self, own: ObjectStore, data: ObjectStore, buckets: Collection[str]) -> None:
        """Take the run's store, the other one, and which buckets are the other one's."""
        self._own = own
        self._data = data
        self._buckets = frozenset(buckets)

    def list(self, uri: str) -> list[StoredObject]:
        """See ObjectStore."""
        return self._of(uri).list(uri)

    def read(self, uri: str) -> bytes:
        """See ObjectStore."""
        return self._of(uri).read(uri)

    def download(self, uri: str, file: Path, listed: StoredObject | None = None) -> None:
        """See ObjectStore."""
        self._of(uri).download(uri, file, listed)

    def upload(self, file: Path, uri: str, kms_key: str | None = None) -> None:
        """See ObjectStore. A simulation changes nothing in an account."""
        self._check_writable(uri)
        self._own.upload(file, uri, kms_key)

    def delete(self, uri: str) -> None:
        """See ObjectStore. A simulation deletes nothing in an account."""
        self._check_writable(uri)
        self._own.delete(uri)

    def exists(self, uri: str) -> bool:
        """See ObjectStore."""
        return self._of(uri).exists(uri)

    def local_file(self, uri: str) -> Path | None:
        """See ObjectStore."""
        return self._of(uri).local_file(uri)

    def _of(self, uri: str) -> ObjectStore:
        return self._data if self._is_data(uri) else self._own

    def _is_data(self, uri: str) -> bool:
        return split_uri(uri)[0] in self._buckets

    def _check_writable(self, uri: str) -> None:
        if self._is_data(uri):
            raise RefusedError(
                f"{uri}: its bucket holds the data of --data, which a simulation only reads. "
                "Write to another bucket: it becomes a folder of the run."
            )
