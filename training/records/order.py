"""The order of a host's records in one epoch: pure functions of counts, seed and epoch.

Two levels: all blocks are permuted, then cut into windows; inside a window every record is
permuted. A window is what is held in memory at once. The order knows nothing of parts: they cut
one and the same sequence.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """A run of records inside one window: positions `first` to `last` (exclusive) of its order."""

    window: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOrder:
    """One epoch's sequence of a host's records."""

    seed: int
    epoch: int
    shuffle: bool
    window_blocks: int
    blocks: NDArray[np.int64]
    """Block numbers in this epoch's order; shape (blocks,)."""
    window_bounds: NDArray[np.int64]
    """Position in the sequence where each window starts and, last, ends; shape (windows + 1,)."""

    def blocks_of(self, window: int) -> list[int]:
        """Return the numbers of a window's blocks, ascending: the order in which to read them."""
        first = window * self.window_blocks
        return sorted(self.blocks[first : first + self.window_blocks].tolist())

    def permutation(self, window: int) -> NDArray[np.int64]:
        """Return which record of a window, as read, comes at each position; shape (records,)."""
        records = int(self.window_bounds[window + 1] - self.window_bounds[window])
        if not self.shuffle:
            return np.arange(records)
        return _generator(self.seed, self.epoch, window).permutation(records)

    def pieces(self, first: int, last: int) -> Iterator[Piece]:
        """Cut the positions `first` to `last` (exclusive) of the sequence at window bounds."""
        bounds = self.window_bounds
        while first < last:
            window = int(np.searchsorted(bounds, first, side="right")) - 1
            start, stop = int(bounds[window]), min(int(bounds[window + 1]), last)
            yield Piece(window=window, first=first - start, last=stop - start)
            first = stop


def order_epoch(
    counts: NDArray[np.int64], *, seed: int, epoch: int, shuffle: bool, window_blocks: int
) -> EpochOrder:
    """Order the records of one epoch.

    Args:
        counts: Records of each block, shape (blocks,).
        seed: Of the whole job.
        epoch: Counted from 0.
        shuffle: False keeps the order of the data.
        window_blocks: Blocks of a window, 1 or more.
    """
    blocks = np.arange(len(counts))
    if shuffle:
        blocks = _generator(seed, epoch).permutation(blocks)
    # Blocks without a record stay in: a window then holds `window_blocks` blocks of bytes on
    # average even where single lines are longer than a block.
    firsts = np.arange(0, len(blocks), window_blocks)
    per_window = np.add.reduceat(counts[blocks], firsts) if len(firsts) else firsts
    return EpochOrder(
        seed=seed,
        epoch=epoch,
        shuffle=shuffle,
        window_blocks=window_blocks,
        blocks=blocks,
        window_bounds=np.concatenate([[0], np.cumsum(per_window, dtype=np.int64)]),
    )


def cut(records: int, parts: int) -> tuple[int, ...]:
    """Return where each part starts and, last, ends: parts differ by at most one record.

    Returns:
        Positions in the host's sequence, `parts` + 1 of them, from 0 to `records`.
    """
    return tuple(records * part // parts for part in range(parts + 1))


def _generator(seed: int, *key: int) -> np.random.Generator:
    # The key goes in as a spawn key: plain entropy [seed, epoch] equals [seed, epoch, 0].
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))
