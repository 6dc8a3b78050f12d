"""A segment: what a rank has to hand out of an epoch, whole or what an interruption left of it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from training.records.order import BlockLayout, EpochOrder, OrderKey, Piece, cut, pieces, place_of
from training.records.used import UsedRecords


class Place(NamedTuple):
    """A place in an order: between two records of a window."""

    window: int
    offset: int
    """Records of the window's order before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """What one rank has to hand out."""

    key: OrderKey
    used: UsedRecords
    """Records of the host that the epoch had used before the segment began."""
    order: EpochOrder
    """Counted records: the whole host's. Others: that of the blocks of this part."""
    first: Place
    """Where this rank's part of the order starts."""
    start: Place
    """Where it goes on: behind `first` when the segment itself was interrupted."""
    part_bounds: tuple[int, ...] | None
    """Counted records: position at which each part of the host starts and, last, ends."""
    window_bounds: NDArray[np.int64] | None
    """Counted records: position at which each window starts and, last, ends."""
    part: int
    start_counts: Mapping[int, int] = field(default_factory=dict)
    """Uncounted records: of the blocks of the window of `start`, as far as they are known."""

    @property
    def counts(self) -> tuple[int, ...] | None:
        """Records of each part of the host, from its first one on; None: uncounted."""
        if self.part_bounds is None:
            return None
        bounds = self.part_bounds
        return tuple(last - first for first, last in pairwise(bounds))

    @property
    def records(self) -> int | None:
        """Records that this rank has to hand out; None: uncounted."""
        if self.part_bounds is None or self.window_bounds is None:
            return None
        return self.part_bounds[self.part + 1] - self._position(self.window_bounds)

    def pieces(self) -> Iterator[Piece]:
        """Return what to take of which window."""
        if self.part_bounds is None or self.window_bounds is None:
            for window in range(self.start.window, self.order.windows):
                yield Piece(window, self.start.offset * (window == self.start.window), None)
        else:
            first = self._position(self.window_bounds)
            yield from pieces(self.window_bounds, first, self.part_bounds[self.part + 1])

    def resumed(self, start: Place, start_counts: Mapping[int, int]) -> Self:
        """Return the same segment from another place on."""
        return replace(self, start=start, start_counts=start_counts)

    def _position(self, window_bounds: NDArray[np.int64]) -> int:
        return int(window_bounds[self.start.window]) + self.start.offset


def make_segment(
    key: OrderKey,
    used: UsedRecords,
    layout: BlockLayout,
    counts: NDArray[np.int64] | None,
    *,
    part: int,
    parts: int,
) -> Segment:
    """Cut what is left of an epoch into parts and return one of them.

    Args:
        key: Of the order.
        used: What is not left.
        layout: Of the host's blocks.
        counts: Records of each block of the host, used ones too, shape (blocks,); None: unknown.
        part: The local rank.
        parts: Local ranks of the host.
    """
    order = key.order(used.blocks_left(int(layout.first_blocks[-1])), layout)
    if counts is None:
        order = order.part(part, parts)
        part_bounds, window_bounds, first = None, None, Place(0, 0)
    else:
        window_bounds = order.window_bounds(used.counts_left(counts))
        part_bounds = cut(int(window_bounds[-1]), parts)
        first = Place(*place_of(window_bounds, part_bounds[part]))
    return Segment(
        key=key,
        used=used,
        order=order,
        first=first,
        start=first,
        part_bounds=part_bounds,
        window_bounds=window_bounds,
        part=part,
    )
