"""Memory that is mapped and used again: an allocator's would stay with the process, in pieces.

Allocators keep what was freed, in the sizes in which it was asked for; buffers of about the size of
the last ones, none of the same, then take two or three times as much as is in use.
"""

import mmap
import weakref
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Lent(NamedTuple):
    """Mapped memory; what is not touched takes none."""

    memory: mmap.mmap
    """For its methods; holding it alone keeps nothing lent."""
    content: NDArray[np.uint8]
    """The same. It is lent as long as this array, a view or a buffer of it is held."""


class MappedPool:
    """Lends mapped memory, and keeps some of what comes back for the next time.

    New memory costs more than writing into it: the kernel clears each page at its first touch.
    """

    def __init__(self, *, least_bytes: int, spares: int) -> None:
        """Set what to keep.

        Args:
            least_bytes: The least that is mapped, enough for most uses: each fits any other then.
            spares: How many are kept.
        """
        self._least_bytes = least_bytes
        self._spares = spares
        self._kept: list[mmap.mmap] = []
        self._lent: dict[int, weakref.ref[NDArray[np.uint8]]] = {}

    def lend(self, size_bytes: int) -> Lent:
        """Lend at least so much memory; its content is anything."""
        memory = self._kept_one(size_bytes)
        if memory is None:
            # Somewhat more than asked for: the next use may need a little more.
            memory = map_memory(max(size_bytes + size_bytes // 8, self._least_bytes))
        content = np.frombuffer(memory, np.uint8)
        self._lent[id(memory)] = weakref.ref(content, partial(self._take_back, memory))
        return Lent(memory, content)

    def _kept_one(self, size_bytes: int) -> mmap.mmap | None:
        try:
            memory = self._kept.pop()
        except IndexError:
            return None
        if len(memory) >= size_bytes:
            return memory
        # Too short a kept one will be too short for other uses as well.
        self._kept.clear()
        return None

    def _take_back(self, memory: mmap.mmap, _: weakref.ref[NDArray[np.uint8]]) -> None:
        """Keep memory that nobody holds any more, or let go of it."""
        del self._lent[id(memory)]
        if len(self._kept) < self._spares:
            self._kept.append(memory)


def map_memory(size_bytes: int) -> mmap.mmap:
    """Map new memory, whole pages of it, so that it holds whole numbers."""
    # Not shared, as it would be by default: a forked process would write into the same.
    pages = -(-size_bytes // mmap.PAGESIZE)
    return mmap.mmap(-1, pages * mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
