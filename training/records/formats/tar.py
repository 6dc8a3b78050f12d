"""Tar shards of samples, by WebDataset's convention; the blocks are runs of samples.

The members `key.ending` with one key, which follow each other, are one sample.
"""

from collections.abc import Sequence
from itertools import groupby, pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from training.records.formats import tar_arrays, tar_samples
from training.records.formats.protocol import BlockRef, FormatSettings, ShardIndex
from training.records.formats.samples import SAMPLE_OUTPUTS, SampleRecords, Samples
from training.records.formats.tables import as_arrow
from training.records.formats.tar_headers import UNIT_BYTES
from training.records.formats.tar_index import index_archive
from training.records.formats.tar_samples import walk_block
from training.records.mapped import MappedPool
from training.records.reading import fill, open_shard
from training.records.shards import Shard

WINDOW_BYTES = 17 << 20
"""Least size of the memory for a window: enough for one of the usual size."""

SPARE_WINDOWS = 2
"""Memory kept for the next windows."""


def make(_: str, settings: FormatSettings) -> "TarFormat":
    """Make the format; see the registry."""
    return TarFormat(block_bytes=settings.block_bytes)


class TarFormat:
    """Samples in tar archives."""

    name = "tar"
    outputs = SAMPLE_OUTPUTS
    columns = None

    def __init__(self, *, block_bytes: int) -> None:
        """Set the bytes that the samples of a block reach together, 1 or more."""
        self._block_bytes = block_bytes
        # Tables have a column for each, whether it occurs in them or not.
        self._endings: set[bytes] = set()
        self._windows = MappedPool(least_bytes=WINDOW_BYTES, spares=SPARE_WINDOWS)

    def index(self, shard: Shard, *, count: bool) -> ShardIndex:  # noqa: ARG002 - always known
        """Go from header to header; what lies between large ones is not read. See ShardFormat.

        Raises:
            RecordError: The archive is cut or damaged; a key comes back after another one; a sample
                has two members of one ending; or a member is no regular file or has no ending.
        """
        with open_shard(shard) as file:
            found = index_archive(file, shard)
        self._endings |= found.endings
        return found.blocks(self._block_bytes)

    def read(self, blocks: Sequence[BlockRef]) -> SampleRecords:
        """Read some runs of samples, with one file open at a time; see ShardFormat."""
        bounds = np.cumsum([0] + [block.stop - block.start for block in blocks])
        content = self._windows.lend(int(bounds[-1])).content[: bounds[-1]]
        places = iter(pairwise(bounds.tolist()))
        for shard, of_shard in groupby(blocks, key=lambda block: block.shard):
            with open_shard(shard) as file:
                for block in of_shard:
                    start, stop = next(places)
                    fill(file, shard, block.start, content.data[start:stop])
        shards = [block.shard for block in blocks]
        samples = _by_arrays(content, shards, bounds, self._endings)
        return SampleRecords(samples or _by_walking(content, shards, bounds, self._endings))


def _by_arrays(
    content: NDArray[np.uint8],
    shards: Sequence[Shard],
    bounds: NDArray[np.int64],
    known_endings: set[bytes],
) -> Samples | None:
    """Find the samples of some blocks; None where they are unusual.

    Args:
        content: The blocks, one after the other.
        shards: Of each block.
        bounds: Where each block starts in `content` and, last, where the last one stops.
        known_endings: Have columns in any case.
    """
    members = tar_arrays.find_members(content, check=False)
    # A next header that lies anywhere else: the blocks are not what they were.
    if members is None or members.next_header != len(content):
        return None
    samples = tar_arrays.find_samples(members.names)
    if samples is None:
        return None
    # Samples of one key in two blocks are two, though they lie side by side here.
    is_first = samples.is_first | np.isin(members.starts, bounds)
    firsts = np.flatnonzero(is_first)
    endings = sorted(known_endings.union(samples.endings))
    number = np.array([endings.index(ending) for ending in samples.endings], np.int64)
    of_content = np.column_stack((members.headers + UNIT_BYTES, members.content_stops))
    return Samples(
        content=content,
        bounds=of_content.ravel(),
        endings=[ending.decode() for ending in endings],
        parts=number[samples.parts],
        firsts=np.append(firsts, len(is_first)),
        keys=_keys(content, members.headers[firsts], samples.key_lengths[firsts]),
        shards=shards,
        lengths=np.diff(np.searchsorted(members.starts[firsts], bounds)),
    )


def _keys(
    content: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]
) -> pa.Array:
    """Return keys that lie in `content`; large_string."""
    # Every second entry is a key; between them lies everything else.
    bounds = np.column_stack((starts, starts + lengths)).ravel()
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(content)]
    entries = pa.Array.from_buffers(pa.large_string(), max(len(bounds) - 1, 0), buffers)
    return entries.take(as_arrow(2 * np.arange(len(starts))))


def _by_walking(
    content: NDArray[np.uint8],
    shards: Sequence[Shard],
    bounds: NDArray[np.int64],
    known_endings: set[bytes],
) -> Samples:
    """Find the samples of some blocks, whatever they are; see `_by_arrays`.

    Raises:
        RecordError: The blocks are not what they were when their shards were indexed.
    """
    blocks = [
        list(tar_samples.find_samples(shard, walk_block(content.data, shard, start, stop), []))
        for shard, (start, stop) in zip(shards, pairwise(bounds.tolist()), strict=True)
    ]
    samples = [sample for block in blocks for sample in block]
    parts = [ending for sample in samples for ending in sample.endings]
    endings = sorted(known_endings.union(parts))
    number = {ending: n for n, ending in enumerate(endings)}
    members = [member for sample in samples for member in sample.members]
    of_content = [(member.content_start, member.content_stop) for member in members]
    return Samples(
        content=content,
        bounds=np.array(of_content, np.int64).ravel(),
        endings=[ending.decode() for ending in endings],
        parts=np.array([number[ending] for ending in parts], np.int64),
        firsts=np.cumsum([0] + [len(sample.members) for sample in samples]),
        keys=_as_text([sample.key for sample in samples]),
        shards=shards,
        lengths=np.array([len(block) for block in blocks], np.int64),
    )


def _as_text(keys: Sequence[bytes]) -> pa.Array:
    """Put keys into an array; large_string."""
    # Not pa.array: it imports pandas, 0.15 s and 45 MB.
    offsets = np.cumsum([0] + [len(key) for key in keys])
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(keys))]
    return pa.Array.from_buffers(pa.large_string(), len(keys), buffers)
