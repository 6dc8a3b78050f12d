"""An epoch of one rank: its batches, and how far it has come."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from training.records.batch import Batch, Converted, Demand, Output, batches, converted
from training.records.prefetch import finished_ahead, prefetched
from training.records.segment import Place, Segment
from training.records.settings import LoaderSettings
from training.records.state import RankState
from training.records.windows import ChunkSize, WindowPlace, WindowReader
from training.records.workers import mapped

CHUNK_RECORDS = 8192
"""Records copied out of a window at once where batches are smaller. To be handed a chunk takes a
step longer than to cut a batch off one: with 32 records a batch, far fewer than one step in 100."""

CHUNK_BYTES = 2 << 20
"""Bytes copied out of a window at once where batches are smaller: what allocators keep for the next
chunk, and the processor's caches until it is used."""

WINDOWS_AHEAD = 1
"""Windows read ahead of the one whose records are copied."""

CHUNKS_AHEAD = 1
"""Chunks converted ahead of the one in use. Where windows are not read ahead, one more is made, and
converted when its turn comes: together enough for the time that reading a window takes."""


class RecordEpoch(Iterator[Batch]):
    """The batches of one rank in one epoch, made ahead in background threads.

    Close it, or drop it, to stop these before its end.
    """

    def __init__(
        self,
        batches_ahead: Generator[Batch, None, None],
        segment: Segment,
        start: RankState,
        table_counts: NDArray[np.int64] | None,
    ) -> None:
        """Wrap the batches of a segment.

        Args:
            batches_ahead: All of them.
            segment: What there is to hand out.
            start: The state before the first batch, its counts left out.
            table_counts: Records of each block of the host; None: uncounted.
        """
        self._batches = batches_ahead
        self._segment = segment
        self._start = start
        self._table_counts = table_counts
        self._window: WindowPlace | None = None
        self._offset = 0

    def __next__(self) -> Batch:
        batch = next(self._batches)
        self._window = batch.window
        self._offset = batch.offset
        return batch

    def __iter__(self) -> Self:
        return self

    def map(self, map_fn: Callable[[Any], Any], *, workers: int) -> Iterator[Batch]:
        """Hand out the batches with something else made of their data, in other processes.

        The order does not depend on their number, and the state is that of what was handed out.

        Args:
            map_fn: Of a batch's data; importable by name.
            workers: Processes, 1 or more; 0: in this one.

        Raises:
            Exception: Whatever the function raises, in place of its batch.
        """
        for batch in mapped(self._batches, map_fn, workers):
            self.hand_out(batch)
            yield batch

    def close(self) -> None:
        """Stop reading ahead."""
        self._batches.close()

    def ahead(self) -> Iterator[Batch]:
        """Iterate over the batches without handing them out: `hand_out` says when each is."""
        return self._batches

    def hand_out(self, batch: Batch) -> None:
        """Let the state be that after `batch`."""
        self._window = batch.window
        self._offset = batch.offset

    def state_dict(self) -> dict[str, Any]:
        """Return how far this rank has come: small, and what JSON can hold.

        With the states of all other ranks it tells which records of the epoch are left, whatever
        ranks and hosts go on with them.
        """
        now = self._start.now
        if self._window is not None:
            now = Place(self._window.number, self._offset)
        counts = self._counts_of({self._start.first.window, now.window})
        return replace(self._start, now=now, counts=counts).to_json()

    def _counts_of(self, windows: set[int]) -> dict[int, int]:
        """Return the records of each block of some windows, as far as they are known."""
        order = self._segment.order
        counts: dict[int, int] = {}
        for window in windows:
            if window >= order.windows:
                continue
            blocks = order.blocks_of(window)
            if self._table_counts is not None:
                known = self._table_counts[blocks].tolist()
            elif self._window is not None and self._window.number == window:
                known = self._window.lengths.tolist()
            else:
                counts |= self._segment.start_counts
                continue
            counts |= dict(zip(blocks.tolist(), known, strict=True))
        return counts


def read_batches(
    reader: WindowReader, segment: Segment, output: Output, settings: LoaderSettings
) -> Generator[Batch, None, None]:
    """Read, order, convert and cut: all but the last is done in the background, arrays at least."""
    # Not a method of the epoch or the loader: what it holds would hold it, and its threads.
    size = settings.batch_size
    windows = reader.windows(segment.pieces())
    if settings.prefetch and output.objects_at_once is None:
        # With Python objects to be made, a second thread waits for the interpreter more than it
        # gains.
        windows = prefetched(windows, ahead=WINDOWS_AHEAD)
    chunks = reader.chunks(windows, size=ChunkSize(size, CHUNK_RECORDS, CHUNK_BYTES))
    demand = Demand()
    convert = partial(converted, output=output, demand=demand)
    made: Iterator[Converted] = (convert(chunk) for chunk in chunks)
    if settings.prefetch and output.objects_at_once is None:
        made = prefetched(made, ahead=CHUNKS_AHEAD)
    elif settings.prefetch:
        made = finished_ahead(chunks, convert, ahead=CHUNKS_AHEAD)
    yield from batches(demand.watch(made), output, size)
