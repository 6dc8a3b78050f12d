"""The loader: a host's shards in, the batches of one of its ranks out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from training.records.batch import Batch
from training.records.blocks import count_lines
from training.records.order import EpochOrder, cut, order_epoch
from training.records.shards import Shard, digest_listing
from training.records.windows import Line, Window

LARGEST_INTEGER = 2**63 - 1
"""Seeds and epochs travel between ranks as signed 64-bit integers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoaderSettings:
    """How records are ordered and batched; the same on every rank of a job."""

    batch_size: int
    """Records of one rank in one step, 1 or more."""

    seed: int
    """Of the order, 0 to 2**63 - 1."""

    shuffle: bool = True
    """False: the order of the data, every epoch alike."""

    block_bytes: int = 128 << 10
    """Bytes of a block, 1 or more: the unit that is read and moved by the shuffle."""

    window_blocks: int = 128
    """Blocks held in memory and fully shuffled at once, 1 or more."""

    def __post_init__(self) -> None:
        for name in ("batch_size", "block_bytes", "window_blocks"):
            value = getattr(self, name)
            if value < 1:
                raise ValueError(f"{name}={value}: set it to 1 or more.")
        if not 0 <= self.seed <= LARGEST_INTEGER:
            raise ValueError(f"seed={self.seed}: set it to 0 or more, at most {LARGEST_INTEGER}.")


class RecordLoader:
    """Batches of one part of a host's records; a part is what one local rank reads.

    The parts of a host cut one sequence, so together they hold each of its records once per epoch.
    Memory is that of one window (`window_blocks` x `block_bytes`, plus what a line longer than a
    block needs), 24 bytes per block, and one open file.

    Attributes:
        shards: What the host holds.
        settings: As given.
        part: The local rank, from 0.
        parts: Local ranks of the host.
        counts: Records of each part; sums to the host's records, parts differ by at most 1.
        listing_digest: Of the shards' names and sizes, 63 bits.
    """

    def __init__(
        self, shards: Sequence[Shard], *, settings: LoaderSettings, part: int, parts: int
    ) -> None:
        """Read every shard once to count its records.

        Raises:
            RecordError: A shard is not what it was when it was listed.
            ValueError: There is no such part.
        """
        if not 0 <= part < parts:
            raise ValueError(
                f"part={part} of parts={parts}: set part to the local rank, from 0 to parts - 1."
            )
        self.shards = tuple(shards)
        self.settings = settings
        self.part = part
        self.parts = parts
        self.listing_digest = digest_listing(shards)
        self._table = count_lines(shards, settings.block_bytes)
        self._bounds = cut(int(self._table.counts.sum()), parts)
        self.counts = tuple(
            stop - start for start, stop in zip(self._bounds, self._bounds[1:], strict=False)
        )

    def epoch(self, epoch: int) -> Iterator[Batch]:
        """Iterate over this part's batches of one epoch, counted from 0.

        The batches are a function of the data, the settings, `epoch`, `part` and `parts` alone.

        Raises:
            RecordError: While iterating: a line that is not a record, or a shard that changed.
            ValueError: At once: `epoch` is negative.
        """
        if not 0 <= epoch <= LARGEST_INTEGER:
            raise ValueError(f"epoch={epoch}: epochs are counted from 0.")
        order = order_epoch(
            self._table.counts,
            seed=self.settings.seed,
            epoch=epoch,
            shuffle=self.settings.shuffle,
            window_blocks=self.settings.window_blocks,
        )
        return self._batches(order)

    def _batches(self, order: EpochOrder) -> Iterator[Batch]:
        first, last = self._bounds[self.part], self._bounds[self.part + 1]
        window: Window | None = None
        for start in range(first, last, self.settings.batch_size):
            lines: list[Line] = []
            for piece in order.pieces(start, min(start + self.settings.batch_size, last)):
                if window is None or window.number != piece.window:
                    window = None  # Let go before the next is read: two would double the memory.
                    window = Window.read(self._table, order, piece.window)
                lines += window.lines(piece.first, piece.last)
            yield Batch(lines)
