"""A folder of every host that is kept in step with one prefix of the store, as checkpoints are.

As on SageMaker, files go up one by one while they appear and change, in no order and whether they
are whole or not; a file that is deleted on a host is deleted in the store. Source: docs/facts.md 4.
"""

import os
import random
import stat
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from evenshard.simulator.storage.objects import (
    ObjectStore,
    join_uri,
    object_uri,
    place_of,
    relative_name,
    split_uri,
)

_SWEEP_S: Final = 0.25
_Version = tuple[int, int]
"""Size and time of the last change, ns: what tells that a file is not as it was."""


class SyncedFolder:
    """One such folder, on all hosts of a job."""

    def __init__(
        self, store: ObjectStore, uri: str, folders: Mapping[str, Path], *, deletes: bool
    ) -> None:
        """Make the folders.

        Args:
            store: where the prefix lies.
            uri: the prefix.
            folders: host -> its folder.
            deletes: whether what vanishes on a host vanishes in the store.
        """
        self._store = store
        self._uri = uri
        self._folders = folders
        self._deletes = deletes
        self._known: dict[str, dict[str, _Version]] = {host: {} for host in folders}
        self._order = random.Random(uri)  # noqa: S311 - an order that nothing may depend on
        self._next_s = 0.0
        for folder in folders.values():
            folder.mkdir(parents=True, exist_ok=True)

    def restore(self) -> None:
        """Copy every object of the prefix to every host, before it starts."""
        bucket, prefix = split_uri(self._uri)
        objects = self._store.list(self._uri)
        for host, folder in self._folders.items():
            for stored in objects:
                uri, name = object_uri(bucket, stored.key), relative_name(stored.key, prefix)
                if name and not name.endswith("/"):  # the marker of a folder is no file
                    self._store.download(uri, place_of(uri, name, folder), stored)
            self._known[host] = _versions(folder)

    def look(self, *, lost: Collection[str]) -> None:
        """Sweep, unless that was done a moment ago."""
        if time.monotonic() >= self._next_s:
            self.sweep(lost=lost)
            self._next_s = time.monotonic() + _SWEEP_S

    def sweep(self, *, lost: Collection[str] = ()) -> None:
        """Bring the store up to date.

        Args:
            lost: hosts whose disk is gone.
        """
        for host, folder in self._folders.items():
            if host in lost:
                continue
            now, known = _versions(folder), self._known[host]
            changed = sorted(name for name in now if known.get(name) != now[name])
            self._order.shuffle(changed)
            for name in changed:
                try:
                    self._store.upload(folder / name, join_uri(self._uri, name))
                except FileNotFoundError:
                    del now[name]  # it went away while we looked
            if self._deletes:
                for name in known.keys() - now.keys():
                    self._store.delete(join_uri(self._uri, name))
            self._known[host] = now


def _versions(folder: Path) -> dict[str, _Version]:
    """Every file of a folder whose owner adds and deletes while we look."""
    found = {}
    # It passes over folders that go away meanwhile; Path.rglob does not.
    for place, _, names in os.walk(folder):
        for file in (Path(place, name) for name in names):
            with suppress(FileNotFoundError):
                facts = file.stat()
                if stat.S_ISREG(facts.st_mode):
                    name = file.relative_to(folder).as_posix()
                    found[name] = (facts.st_size, facts.st_mtime_ns)
    return found
