"""A store from which chosen objects arrive damaged: what --fault corrupt:KEY does."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from evenshard.simulator.objects import LocalObjectStore

_DAMAGED_BYTES: Final = 64


class DamagingStore(LocalObjectStore):
    """Objects are damaged on their way: what lies in the store stays whole."""

    def __init__(
        self,
        root: Path,
        mounts: Mapping[str, Path],
        damaged: Mapping[str, Callable[[], None]],
    ) -> None:
        """Take what LocalObjectStore takes, and what to call when an object was damaged, by URI."""
        super().__init__(root, mounts)
        self._damaged = damaged

    def download(self, uri: str, file: Path) -> None:
        """See ObjectStore. A damaged object keeps its size: only its content can tell."""
        super().download(uri, file)
        if uri in self._damaged:
            damage(file)
            self._damaged[uri]()


def damage(file: Path) -> None:
    """Invert up to 64 bytes in the middle of a file."""
    with file.open("r+b") as content:
        middle = max(file.stat().st_size // 2 - _DAMAGED_BYTES // 2, 0)
        content.seek(middle)
        stretch = content.read(_DAMAGED_BYTES)
        content.seek(middle)
        content.write(bytes(byte ^ 0xFF for byte in stretch))
