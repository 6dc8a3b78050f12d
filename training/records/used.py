"""Which records of an epoch have been used before it was interrupted: block by block."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class UsedRecords:
    """Records of a host that an epoch has used already."""

    whole: frozenset[int] = frozenset()
    """Numbers of the blocks of which every record was used."""

    partly: Mapping[int, NDArray[np.bool_]] = field(default_factory=dict)
    """Of other blocks, by number: which records were used, shape (records of the block,)."""

    def __bool__(self) -> bool:
        return bool(self.whole or self.partly)

    def blocks_left(self, blocks: int) -> NDArray[np.int64]:
        """Return the numbers, of 0 to `blocks`, of those with records left or maybe left."""
        left = np.ones(blocks, np.bool_)
        left[list(self.whole)] = False
        return np.flatnonzero(left)

    def counts_left(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the unused records of each block, given all; shape (blocks,)."""
        left = counts.copy()
        left[list(self.whole)] = 0
        for block, used in self.partly.items():
            left[block] -= np.count_nonzero(used)
        return left

    def unused(
        self, blocks: NDArray[np.int64], lengths: NDArray[np.int64]
    ) -> NDArray[np.int64] | None:
        """Number the records of some blocks through and return those that are unused.

        Args:
            blocks: Their numbers.
            lengths: Records of each.

        Returns:
            Ascending; None: all of them.
        """
        if not any(block in self.partly for block in blocks.tolist()):
            return None
        left = np.ones(int(lengths.sum()), np.bool_)
        stops = np.cumsum(lengths).tolist()
        for block, stop in zip(blocks.tolist(), stops, strict=True):
            used = self.partly.get(block)
            if used is not None:
                left[stop - len(used) : stop] = ~used
        return np.flatnonzero(left)


def merge(parts: Iterable[UsedRecords]) -> UsedRecords:
    """Put together what several ranks have used of the same blocks."""
    whole: set[int] = set()
    partly: dict[int, NDArray[np.bool_]] = {}
    for part in parts:
        whole |= part.whole
        for block, used in part.partly.items():
            partly[block] = partly[block] | used if block in partly else used
    whole |= {block for block, used in partly.items() if used.all()}
    return UsedRecords(
        frozenset(whole), {block: used for block, used in partly.items() if block not in whole}
    )
