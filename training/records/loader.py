"""The loader: a host's shards in, the batches of one of its ranks out."""

from collections.abc import Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from training.contract.shard_names import listed
from training.records.batch import OUTPUTS
from training.records.counting import SharedCounting, count_together
from training.records.epoch import RecordEpoch, read_batches
from training.records.errors import StateError
from training.records.formats.protocol import ShardFormat, ShardIndex
from training.records.formats.registry import make_format
from training.records.holdings import digest_name
from training.records.indexing import index_shards
from training.records.order import OrderKey
from training.records.resume import HostBlocks, Resumption, resume
from training.records.segment import Segment, make_segment
from training.records.settings import LARGEST_INTEGER, LoaderSettings
from training.records.shards import Shard, digest_listing, shared_format
from training.records.state import RankState, StateShard
from training.records.table import make_table
from training.records.used import UsedRecords
from training.records.windows import WindowReader

if TYPE_CHECKING:
    from training.records.torch_dataset import RecordDataset

FORMAT_WITHOUT_SHARDS = "json_lines"
"""What a host without shards reads, unless it is chosen: it makes no difference."""


class RecordLoader:
    """Batches of one part of a host's records; a part is what one local rank reads.

    The parts of a host hold each of its records once per epoch. Memory is that of two windows
    (`window_blocks` x `block_bytes`, plus what a line longer than a block needs), 40 bytes per
    block, and two open files.

    Attributes:
        shards: What the host holds.
        settings: As given.
        part: The local rank, from 0.
        parts: Local ranks of the host.
        counts: Records of each part in a whole epoch; sums to the host's records, parts differ by
            at most 1. () where the settings leave the records uncounted.
        listing_digest: Of the shards' names and sizes, 63 bits.
        holdings: Bytes of the shards of all hosts, by their names' digests, once the ranks have
            told each other.
        resumption: The interrupted epoch that was loaded.
        has_planned: Whether agree() has planned an epoch of it.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        *,
        settings: LoaderSettings,
        part: int,
        parts: int,
        sharing: SharedCounting | None = None,
    ) -> None:
        """Index every shard; that reads it once where its records are to be counted.

        Args:
            shards: What the host holds.
            settings: The same on every rank.
            part: The local rank, from 0.
            parts: Local ranks of the host.
            sharing: Lets each rank count its share of the host's shards only: all ranks of the job
                must then be made at the same time. None: each rank counts all.

        Raises:
            RecordError: A shard is damaged, not what it was when it was listed, or of another
                format than the others; sharing: damaged or changed, on any host.
            ValueError: There is no such part, or the format has no such output.
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
        name = shared_format(shards, settings.format)
        self.format = make_format(name or FORMAT_WITHOUT_SHARDS, settings.for_format())
        self.output = OUTPUTS[_chosen_output(settings, self.format, has_shards=bool(shards))]
        self.table = make_table(shards, self._index(sharing), count=settings.count)
        self.resumption: Resumption | None = None
        self.holdings: dict[int, int] | None = None
        self.has_planned = False
        self._lock = Lock()
        self.counts = self.segment(0).counts or ()
        self._current: RecordEpoch | None = None

    def _index(self, sharing: SharedCounting | None) -> list[ShardIndex]:
        if sharing is not None and self.settings.count:
            return count_together(
                self.shards, self.format, sharing, part=self.part, parts=self.parts
            )
        return index_shards(self.shards, self.format, count=self.settings.count)

    def epoch(self, epoch: int) -> RecordEpoch:
        """Iterate over this part's batches of one epoch, counted from 0.

        The batches are a function of the data, the settings, `epoch`, `part` and `parts` alone. An
        epoch whose state was loaded goes on where it stopped.

        Raises:
            RecordError: While iterating: a record or a shard is damaged, or a shard changed.
            StateError: At once: the epoch needs shards that are not there.
            ValueError: At once: `epoch` is negative.
        """
        if not 0 <= epoch <= LARGEST_INTEGER:
            raise ValueError(f"epoch={epoch}: epochs are counted from 0.")
        if self.resumption is not None and epoch == self.resumption.epoch:
            self.check_resumption()
        segment = self.segment(epoch)
        reader = WindowReader(
            shard_format=self.format,
            table=self.table,
            order=segment.order,
            used=segment.used,
            lock=self._lock,
        )
        self._current = RecordEpoch(
            read_batches(reader, segment, self.output, self.settings),
            segment,
            self._start_state(segment),
            self.table.counts,
        )
        return self._current

    def _start_state(self, segment: Segment) -> RankState:
        """Return the state in which a segment begins, its counts left out."""
        sizes, firsts = segment.order.sizes, segment.order.window_firsts
        return RankState(
            key=segment.key,
            format=self.format.name,
            block_bytes=self.settings.block_bytes,
            counted=self.table.counts is not None,
            sequential=self.table.layout.sequential,
            window_firsts=None if sizes is None else tuple(firsts.tolist()),
            shards=self.state_shards(),
            part=self.part,
            parts=self.parts,
            used_before=segment.used,
            first=segment.first,
            now=segment.start,
            counts={},
        )

    def segment(self, epoch: int) -> Segment:
        """Return what this part has to hand out in an epoch."""
        if self.resumption is not None and epoch == self.resumption.epoch:
            return self.resumption.segment
        return make_segment(
            self._key(epoch),
            UsedRecords(),
            self.table.layout,
            self.table.counts,
            part=self.part,
            parts=self.parts,
        )

    @property
    def has_begun(self) -> bool:
        """Whether an epoch was begun, so that there is a state."""
        return self._current is not None

    def state_dict(self) -> dict[str, Any]:
        """Return this rank's state in the epoch that was begun last; see RecordEpoch.

        Raises:
            StateError: No epoch was begun.
        """
        if self._current is None:
            raise StateError("No epoch was begun, so there is no state: call epoch() first.")
        return self._current.state_dict()

    def as_torch_dataset(self, *, epoch: int = 0) -> "RecordDataset":
        """Return a dataset of torch over the data of the batches, from some epoch on."""
        # Imported here: the data layer does without torch.
        from training.records.torch_dataset import RecordDataset  # noqa: PLC0415

        return RecordDataset(self, epoch)

    def load_state_dict(self, states: Sequence[Mapping[str, Any]]) -> None:
        """Go on with an interrupted epoch.

        Args:
            states: What `state_dict` returned on all ranks of the interrupted job, in any order.
                The hosts may hold the shards in another way now, and have other ranks.

        Raises:
            StateError: The states are damaged, of another job or of other settings, or some are
                missing.
        """
        host = HostBlocks(
            shards=self.state_shards(),
            layout=self.table.layout,
            counts=self.table.counts,
            key=self._key(0),
            format=self.format.name,
            block_bytes=self.settings.block_bytes,
            part=self.part,
            parts=self.parts,
        )
        self.resumption = resume([RankState.from_json(state) for state in states], host)

    def _key(self, epoch: int) -> OrderKey:
        settings = self.settings
        return OrderKey(
            seed=settings.seed,
            epoch=epoch,
            digest=0,
            shuffle=settings.shuffle,
            window_blocks=settings.window_blocks,
            window_bytes=settings.window_blocks * settings.block_bytes,
        )

    def state_shards(self) -> tuple[StateShard, ...]:
        """Return the shards as states know them."""
        blocks = np.diff(self.table.layout.first_blocks).tolist()
        return tuple(
            StateShard(shard.name, shard.size_bytes, of_shard)
            for shard, of_shard in zip(self.shards, blocks, strict=True)
        )

    def records_of_shards(self) -> list[int]:
        """Return the records of each shard; none where they were not counted."""
        counts = self.table.counts
        if counts is None:
            return []
        before = np.concatenate([[0], np.cumsum(counts)])
        return [int(records) for records in np.diff(before[self.table.layout.first_blocks])]

    def check_resumption(self) -> None:
        """Refuse to go on with an epoch some of whose shards are gone or have changed.

        Raises:
            StateError: Names them.
        """
        if self.resumption is None:
            return
        held = self.holdings
        if held is None:
            held = {digest_name(shard.name): shard.size_bytes for shard in self.shards}
        missing, changed = [], []
        for name, size_bytes in sorted(self.resumption.sizes.items()):
            found = held.get(digest_name(name))
            if found is None:
                missing.append(name)
            elif found != size_bytes:
                changed.append(name)
        if missing or changed:
            problems = [f"{listed(missing)}: held by no host"] if missing else []
            problems += [f"{listed(changed)}: of another size than before"] if changed else []
            raise StateError(
                f"The interrupted epoch cannot be ended. {'; '.join(problems)}. Put the shards back"
                " as they were, or begin with the next epoch."
            )


def _chosen_output(settings: LoaderSettings, shard_format: ShardFormat, *, has_shards: bool) -> str:
    """Return the output that is wanted, the format's first if there is no wish.

    Raises:
        ValueError: The format has none such.
    """
    if settings.output is None:
        return shard_format.outputs[0]
    if has_shards and settings.output not in shard_format.outputs:
        raise ValueError(
            f"output={settings.output!r}: shards of format {shard_format.name} come as"
            f" {', '.join(shard_format.outputs)}."
        )
    return settings.output
