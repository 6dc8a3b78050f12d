"""The order of a host's records in one epoch: pure functions of blocks, seed and epoch.

Two levels: all blocks are permuted, then cut into windows; inside a window every record is
permuted. A window is what is held in memory at once. The first windows are short, so that the first
batch does not wait for a whole one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np

# By name: numpy loads this part of it only when it is used, which the first batch would wait for.
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

FIRST_WINDOW = 16
"""The first window of an order is this many times shorter than a full one; each one after it is
twice as long as the one before, up to the full length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockLayout:
    """What the order has to know of a host's blocks."""

    first_blocks: NDArray[np.int64]
    """Number of the first block of each shard and, last, of all blocks; shape (shards + 1,)."""
    sequential: bool = False
    """Whether the blocks of a shard have to stay together, ascending."""
    sizes: NDArray[np.int64] | None = None
    """Bytes of each block, shape (blocks,); None: they are about equal."""


class Piece(NamedTuple):
    """A run of records inside one window: positions `first` to `last` (exclusive) of its order."""

    window: int
    first: int
    last: int | None
    """None: to the window's end, wherever that is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EpochOrder:
    """One sequence of the records of some blocks."""

    seed: int
    key: tuple[int, ...]
    """Tells this order from others of the same seed."""
    shuffle: bool
    window_blocks: int
    blocks: NDArray[np.int64]
    """Block numbers in this order; shape (blocks,)."""
    window_firsts: NDArray[np.int64]
    """Index into `blocks` where each window starts and, last, ends; shape (windows + 1,)."""
    sizes: NDArray[np.int64] | None
    """Bytes of each block of the host by its number, shape (blocks of the host,)."""
    window_bytes: int
    """Where there are `sizes`: a window ends before it would exceed this."""

    @property
    def windows(self) -> int:
        """How many there are."""
        return len(self.window_firsts) - 1

    def blocks_of(self, window: int) -> NDArray[np.int64]:
        """Return the numbers of a window's blocks, ascending: the order in which to read them."""
        first, last = self.window_firsts[window], self.window_firsts[window + 1]
        return np.sort(self.blocks[first:last])

    def permutation(self, window: int, records: int) -> NDArray[np.int64]:
        """Return which record of a window, as read, comes at each position; shape (records,)."""
        if not self.shuffle:
            return np.arange(records)
        return _generator(self.seed, (*self.key, window)).permutation(records)

    def window_bounds(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the position at which each window starts and, last, ends; shape (windows + 1,).

        Args:
            counts: Records of every block of the host, by its number.
        """
        before = np.concatenate([[0], np.cumsum(counts[self.blocks], dtype=np.int64)])
        return before[self.window_firsts]

    def part(self, part: int, parts: int) -> Self:
        """Cut the blocks into parts, for want of counts, and return the order of one of them."""
        first, last = cut(len(self.blocks), parts)[part : part + 2]
        blocks = self.blocks[first:last]
        return replace(
            self,
            key=(*self.key, parts, part),
            blocks=blocks,
            window_firsts=_cut_windows(blocks, self.sizes, self.window_blocks, self.window_bytes),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderKey:
    """All that the order of a host's records depends on, besides its blocks."""

    seed: int
    """Of the whole job."""
    epoch: int
    """Counted from 0."""
    digest: int
    """Of the states from which what is left of an epoch was ordered anew; 0: a whole epoch."""
    shuffle: bool
    """False keeps the order of the data."""
    window_blocks: int
    """Blocks of a full window where they are equal, 1 or more."""
    window_bytes: int
    """Bytes of a full window where they are not, 1 or more."""

    def order(self, blocks: NDArray[np.int64], layout: BlockLayout) -> EpochOrder:
        """Order the records of some blocks.

        Args:
            blocks: Their numbers, ascending; shape (blocks,).
            layout: Of all blocks of the host.
        """
        key = (self.epoch, self.digest)
        if self.shuffle:
            blocks = _permuted(blocks, layout, _generator(self.seed, key))
        # Blocks without a record stay in: a window then holds `window_blocks` blocks of bytes on
        # average even where single lines are longer than a block.
        return EpochOrder(
            seed=self.seed,
            key=key,
            shuffle=self.shuffle,
            window_blocks=self.window_blocks,
            window_bytes=self.window_bytes,
            blocks=blocks,
            sizes=layout.sizes,
            window_firsts=_cut_windows(blocks, layout.sizes, self.window_blocks, self.window_bytes),
        )


def cut(records: int, parts: int) -> tuple[int, ...]:
    """Return where each part starts and, last, ends: parts differ by at most one record.

    Returns:
        Positions in the host's sequence, `parts` + 1 of them, from 0 to `records`.
    """
    return tuple(records * part // parts for part in range(parts + 1))


def pieces(bounds: NDArray[np.int64], first: int, last: int) -> Iterator[Piece]:
    """Cut the positions `first` to `last` (exclusive) of a sequence at its windows' bounds."""
    while first < last:
        window, offset = place_of(bounds, first)
        stop = min(int(bounds[window + 1]), last)
        yield Piece(window, offset, offset + stop - first)
        first = stop


def place_of(bounds: NDArray[np.int64], position: int) -> tuple[int, int]:
    """Return the window that holds a position and its offset there; past the end (windows, 0)."""
    window = int(np.searchsorted(bounds, position, side="right")) - 1
    return window, position - int(bounds[window])


def _permuted(
    blocks: NDArray[np.int64], layout: BlockLayout, generator: Generator
) -> NDArray[np.int64]:
    """Permute blocks or, where these have to stay together, shards."""
    if not layout.sequential:
        return generator.permutation(blocks)
    shards = np.searchsorted(layout.first_blocks, blocks, side="right") - 1
    rank_of_shard = generator.permutation(len(layout.first_blocks) - 1)
    return blocks[np.argsort(rank_of_shard[shards], kind="stable")]


def _cut_windows(
    blocks: NDArray[np.int64],
    sizes: NDArray[np.int64] | None,
    window_blocks: int,
    window_bytes: int,
) -> NDArray[np.int64]:
    """Cut blocks into windows, short ones first; shape (windows + 1,)."""
    if sizes is None:
        weights, full = np.ones(len(blocks), np.int64), window_blocks
    else:
        weights, full = np.maximum(sizes[blocks], 1), window_bytes
    before = np.concatenate([[0], np.cumsum(weights)])
    firsts = [0]
    length = max(full // FIRST_WINDOW, 1)
    while firsts[-1] < len(blocks):
        end = int(np.searchsorted(before, before[firsts[-1]] + length, side="right")) - 1
        firsts.append(max(end, firsts[-1] + 1))
        length = min(2 * length, full)
    return np.array(firsts, np.int64)


def _generator(seed: int, key: tuple[int, ...]) -> Generator:
    # As a spawn key, for plain entropy [seed, 1] equals [seed, 1, 0]; in words of a fixed number,
    # for numpy takes (2**32,) and (0, 1) for the same; with their number, for the same reason.
    words = [word for number in key for word in (number & 0xFFFFFFFF, number >> 32)]
    sequence = SeedSequence(seed, spawn_key=(len(key), *words))
    return Generator(PCG64(sequence))
