"""What lies below one S3 prefix, as a trainer sees it. Pure: objects in, words and numbers out."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field

from training.contract.hyperparameters import TEXT_TASK
from training.contract.shard_names import NameKind, kind_of, listed
from training.shards.location import Location


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of a listing."""

    key: str
    size_bytes: int
    etag: str = ""
    """As the store reports it; empty where it knows none."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The objects below one prefix."""

    location: Location
    objects: tuple[StoredObject, ...]
    """Sorted by key."""
    task: str = TEXT_TASK
    """The hyperparameter: what is to be read."""
    without_data: tuple[StoredObject, ...] = field(init=False)
    """Objects that SageMaker counts and the trainers skip."""
    unreadable: tuple[StoredObject, ...] = field(init=False)
    """Objects that the trainers refuse, for their names' endings."""

    def __post_init__(self) -> None:
        kinds = [(stored, self._kind_of(stored)) for stored in self.objects]
        skipped = (NameKind.HIDDEN, NameKind.EMPTY)
        without_data = tuple(stored for stored, kind in kinds if kind in skipped)
        unreadable = tuple(stored for stored, kind in kinds if kind is NameKind.OTHER)
        object.__setattr__(self, "without_data", without_data)
        object.__setattr__(self, "unreadable", unreadable)

    @classmethod
    def of(
        cls, location: Location, objects: Iterable[StoredObject], task: str = TEXT_TASK
    ) -> "Listing":
        """Sort what a store lists below `location`."""
        return cls(location, tuple(sorted(objects, key=lambda stored: stored.key)), task)

    @property
    def shards(self) -> list[StoredObject]:
        """Objects with data that a trainer reads."""
        return [stored for stored in self.objects if self._kind_of(stored) is NameKind.SHARD]

    @property
    def shard_count(self) -> int:
        """Objects with data."""
        return len(self.objects) - len(self.without_data)

    @property
    def total_bytes(self) -> int:
        """Bytes of all objects."""
        return sum(stored.size_bytes for stored in self.objects)

    @property
    def data_digest(self) -> str:
        """SHA-256 over key, size and ETag of every object, 64 hexadecimal digits.

        It names one state of one prefix: equal digests mean that nothing was changed or replaced
        between two executions. Keys are taken below the prefix. It does not compare stores: what an
        ETag is depends on the store, on the encryption and on how the object was uploaded. With
        SSE-KMS, as in the data bucket, it is no MD5 of the contents, so a copy or a new upload of
        equal bytes may give another digest, and a local run of the same data does.
        """
        digest = hashlib.sha256()
        for stored in self.objects:
            name = self.location.name_of(stored.key)
            digest.update(f"{name}\0{stored.size_bytes}\0{stored.etag}\n".encode())
        return digest.hexdigest()

    def names_of(self, objects: Iterable[StoredObject]) -> list[str]:
        """The objects' names below the prefix."""
        return [self.location.name_of(stored.key) for stored in objects]

    def words_without_data(self) -> str:
        """How many objects carry no data, and the names of a few; empty where all do."""
        if not self.without_data:
            return ""
        count = len(self.without_data)
        names = listed(self.names_of(self.without_data))
        return f"{count} {'objects' if count > 1 else 'object'} without data ({names})"

    def cleaning(self) -> str:
        """How to delete the objects without data; empty where there are none."""
        if not self.without_data:
            return ""
        example = self.location.uri_of(self.without_data[0].key)
        return f"Delete the objects without data (aws s3 rm '{example}')."

    def _kind_of(self, stored: StoredObject) -> NameKind:
        """What a trainer does with an object.

        SageMaker counts and downloads `folder/` markers, `_SUCCESS` and hidden files like any other
        object. Source: docs/facts.md 2.
        """
        return kind_of(self.location.name_of(stored.key), stored.size_bytes, self.task)
