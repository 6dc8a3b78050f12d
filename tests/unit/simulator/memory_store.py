"""A store that is no folder: what works with it too depends on no more than `ObjectStore` says."""

import hashlib
from pathlib import Path

from evenshard.simulator.storage.objects import split_uri
from training.shards.listing import StoredObject


class MemoryStore:
    """Objects in a dictionary, on no disk."""

    def __init__(self) -> None:
        self.contents: dict[str, bytes] = {}

    def list(self, uri: str) -> list[StoredObject]:
        found = sorted(address for address in self.contents if address.startswith(uri))
        return [self._stored(address) for address in found]

    def read(self, uri: str) -> bytes:
        if uri not in self.contents:
            raise FileNotFoundError(uri)
        return self.contents[uri]

    def download(self, uri: str, file: Path, listed: StoredObject | None = None) -> None:
        del listed  # nobody changes anything here
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(self.read(uri))

    def upload(self, file: Path, uri: str, kms_key: str | None = None) -> None:
        del kms_key
        self.contents[uri] = file.read_bytes()

    def delete(self, uri: str) -> None:
        self.contents.pop(uri, None)

    def exists(self, uri: str) -> bool:
        return uri in self.contents

    def local_file(self, uri: str) -> Path | None:
        del uri
        return None

    def _stored(self, address: str) -> StoredObject:
        content = self.contents[address]
        etag = hashlib.md5(content, usedforsecurity=False).hexdigest()
        return StoredObject(split_uri(address)[1], len(content), etag)
