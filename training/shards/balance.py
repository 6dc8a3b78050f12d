"""What a training job's hosts would get of a listing, and what is wrong with that.

Pure: objects in, words and numbers out.
"""

from dataclasses import dataclass, field

from training.contract.shard_names import listed
from training.shards.assignment import host_names, round_robin
from training.shards.listing import Listing


@dataclass(frozen=True, slots=True)
class Balance:
    """What every host would get under the observed assignment: objects dealt out in turn."""

    listing: Listing
    hosts: tuple[str, ...]
    starving_hosts: tuple[str, ...] = field(init=False)
    """Hosts that get no object with data."""

    def __post_init__(self) -> None:
        partition = round_robin([stored.key for stored in self.listing.objects], self.hosts)
        without_data = {stored.key for stored in self.listing.without_data}
        starving = [
            host for host, keys in partition.items() if all(key in without_data for key in keys)
        ]
        object.__setattr__(self, "starving_hosts", tuple(starving))


def balance(listing: Listing, host_count: int) -> Balance:
    """Deal a listing out to `host_count` hosts, 1 or more."""
    return Balance(listing, host_names(host_count))


def starvation(found: Balance) -> str | None:
    """What to tell someone whose hosts would train on nothing; None where every host has data."""
    if not found.starving_hosts:
        return None
    listing, host_count = found.listing, len(found.hosts)
    hosts = f"{host_count} hosts" if host_count > 1 else "1 host"
    starving = listed(found.starving_hosts)
    cleaning = f"{listing.cleaning()} ".lstrip()
    if listing.shard_count < host_count:
        return (
            f"{hosts} but {_shards(listing)} under {listing.location}: "
            f"{starving} would get no data. {cleaning}Write more shards "
            f"(evenshard data --shards {host_count}), set InstanceCount to {listing.shard_count}, "
            "or allow it with AllowEmptyHosts=true."
        )
    return (
        f"{hosts} and {_shards(listing)} under {listing.location}, but {starving} would get no "
        "data: SageMaker deals objects out by count, those without data too. "
        f"{cleaning}Or allow it with AllowEmptyHosts=true."
    )


def _shards(listing: Listing) -> str:
    count = listing.shard_count
    words = f"{count} shards" if count != 1 else "1 shard"
    without_data = listing.words_without_data()
    return f"{words} and {without_data}" if without_data else words
