"""What a training job's hosts would get of a listing, and what is wrong with that.

Pure: objects in, words and numbers out.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from training.shards.assignment import host_names, round_robin
from training.shards.location import Location

NAMES_SHOWN = 5
"""A message names this many hosts or objects and counts the others."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """One object of a listing."""

    key: str
    size_bytes: int
    etag: str = ""
    """As the store reports it; empty where it knows none."""


@dataclass(frozen=True, slots=True)
class Balance:
    """What every host would get under the observed assignment: objects dealt out in turn."""

    location: Location
    objects: tuple[StoredObject, ...]
    """Sorted by key."""
    hosts: tuple[str, ...]
    starving_hosts: tuple[str, ...] = field(init=False)
    """Hosts that get no object with data."""
    without_data: tuple[StoredObject, ...] = field(init=False)
    """Objects that SageMaker counts and no trainer reads."""

    def __post_init__(self) -> None:
        by_key = {stored.key: stored for stored in self.objects}
        partition = round_robin(by_key, self.hosts)
        starving = [
            host
            for host, keys in partition.items()
            if not any(carries_data(by_key[key], self.location) for key in keys)
        ]
        empty = [stored for stored in self.objects if not carries_data(stored, self.location)]
        object.__setattr__(self, "starving_hosts", tuple(starving))
        object.__setattr__(self, "without_data", tuple(empty))

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

        Keys are taken below the prefix: a copy of the data elsewhere has the same digest wherever
        the store keeps the ETags.
        """
        digest = hashlib.sha256()
        for stored in self.objects:
            name = self.location.name_of(stored.key)
            digest.update(f"{name}\0{stored.size_bytes}\0{stored.etag}\n".encode())
        return digest.hexdigest()


def carries_data(stored: StoredObject, location: Location) -> bool:
    """Whether a trainer looks for records in an object below `location`.

    SageMaker counts and downloads `folder/` markers, `_SUCCESS` and hidden files like any other
    object; the trainers skip what is empty or hidden. Source: docs/facts.md 2.
    """
    names = location.name_of(stored.key).split("/")
    return stored.size_bytes > 0 and not any(name.startswith(".") for name in names)


def balance(location: Location, objects: Sequence[StoredObject], host_count: int) -> Balance:
    """Deal a listing out to `host_count` hosts.

    Args:
        location: where the objects were listed.
        objects: in any order.
        host_count: 1 or more.
    """
    ordered = tuple(sorted(objects, key=lambda stored: stored.key))
    return Balance(location, ordered, host_names(host_count))


def starvation(found: Balance) -> str | None:
    """What to tell someone whose hosts would train on nothing; None where every host has data."""
    if not found.starving_hosts:
        return None
    host_count = len(found.hosts)
    hosts = f"{host_count} hosts" if host_count > 1 else "1 host"
    starving = shown(found.starving_hosts)
    if found.shard_count < host_count:
        return (
            f"{hosts} but {_shards(found)} under {found.location}: "
            f"{starving} would get no data. {_cleaning(found)}Write more shards "
            f"(evenshard data --shards {host_count}), set InstanceCount to {found.shard_count}, "
            "or allow it with AllowEmptyHosts=true."
        )
    return (
        f"{hosts} and {_shards(found)} under {found.location}, but {starving} would get no data: "
        f"SageMaker deals objects out by count, those without data too. {_cleaning(found)}"
        "Or allow it with AllowEmptyHosts=true."
    )


def empty_object_warning(found: Balance) -> str | None:
    """What to tell someone who keeps objects without data among the shards; None without any."""
    if not found.without_data:
        return None
    return (
        f"{found.location} holds {_without_data(found)}. SageMaker deals them out like shards, "
        f"which unbalances the hosts. {_cleaning(found).strip()}"
    )


def shown(names: Sequence[str]) -> str:
    """Join names for a message, the first few and the number of the others."""
    listed = ", ".join(names[:NAMES_SHOWN])
    hidden = len(names) - NAMES_SHOWN
    return f"{listed} and {hidden} more" if hidden > 0 else listed


def _shards(found: Balance) -> str:
    count = found.shard_count
    words = f"{count} shards" if count != 1 else "1 shard"
    return f"{words} and {_without_data(found)}" if found.without_data else words


def _without_data(found: Balance) -> str:
    names = shown([found.location.name_of(stored.key) for stored in found.without_data])
    count = len(found.without_data)
    return f"{count} {'objects' if count > 1 else 'object'} without data ({names})"


def _cleaning(found: Balance) -> str:
    if not found.without_data:
        return ""
    example = found.location.uri_of(found.without_data[0].key)
    return f"Delete the objects without data (aws s3 rm '{example}'). "
