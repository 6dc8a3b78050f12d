"""Hands the objects of one input out to the hosts and lays them into folders, as File mode does."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from evenshard.simulator.cluster.assignment import Assignment
from evenshard.simulator.errors import StepFailedError
from evenshard.simulator.storage.objects import (
    ObjectStore,
    object_uri,
    place_of,
    relative_name,
    split_uri,
)
from training.shards.listing import StoredObject

SHARDED: Final = "ShardedByS3Key"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobInput:
    """A channel of a training job or an input of a processing job."""

    name: str
    uri: str
    sharded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """What every host gets of one input."""

    input: JobInput
    objects: Mapping[str, Sequence[StoredObject]]
    """Host -> its objects, in the order of their keys; empty for a host that gets none."""


def share_out(
    job_input: JobInput,
    hosts: Sequence[str],
    store: ObjectStore,
    assignment: Assignment,
    restarts: int = 0,
) -> Share:
    """Decide which host gets which objects. An interrupted job lists its inputs again.

    Raises:
        StepFailedError: the prefix has no objects, which SageMaker refuses too.
    """
    objects = store.list(job_input.uri)
    if not objects:
        raise StepFailedError(
            f"ClientError: Data download failed: no objects under {job_input.uri}, which input "
            f"{job_input.name} reads. Write the data there, or name another prefix."
        )
    if not job_input.sharded:
        return Share(input=job_input, objects=dict.fromkeys(hosts, objects))
    by_key = {stored.key: stored for stored in objects}
    keys = assignment.assign(list(by_key), hosts, restarts)
    return Share(
        input=job_input,
        objects={host: [by_key[key] for key in keys[host]] for host in hosts},
    )


def lay(share: Share, host: str, folder: Path, store: ObjectStore) -> None:
    """Copy a host's objects into a folder, which exists even if the host has none.

    The marker of a folder, an object whose key ends with a slash, becomes that folder.

    Raises:
        ServiceError: an object is not what it was when it was listed, or cannot be had.
    """
    folder.mkdir(parents=True, exist_ok=True)
    bucket, _ = split_uri(share.input.uri)
    for stored in share.objects[host]:
        uri, name = object_uri(bucket, stored.key), _name(share, stored)
        if not name:
            continue  # the marker of this very folder
        if name.endswith("/"):
            place_of(uri, name.rstrip("/"), folder).mkdir(parents=True, exist_ok=True)
        else:
            store.download(uri, place_of(uri, name, folder), stored)


def write_manifest(share: Share, host: str, folder: Path) -> None:
    """Write `<channel>-manifest` beside the channels: observed there, its content is our guess."""
    names = [_name(share, stored) for stored in share.objects[host]]
    content = json.dumps([{"prefix": share.input.uri}, *names], indent=2)
    (folder / f"{share.input.name}-manifest").write_text(content + "\n", encoding="utf-8")


def counted(shares: Sequence[Share], host: str) -> tuple[int, int]:
    """Objects and bytes of a host: of its sharded inputs, or of all where none is sharded.

    Replicated inputs would hide how the data was divided, which is what one looks for.
    """
    sharded = [share for share in shares if share.input.sharded]
    objects = [stored for share in sharded or shares for stored in share.objects[host]]
    return len(objects), sum(stored.size_bytes for stored in objects)


def _name(share: Share, stored: StoredObject) -> str:
    _, prefix = split_uri(share.input.uri)
    return relative_name(stored.key, prefix)
