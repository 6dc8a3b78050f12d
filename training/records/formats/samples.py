"""Samples of several parts each, as tar shards hold them: what they come as."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from training.records.errors import RecordError
from training.records.formats.tables import as_arrow
from training.records.packed import Packed, pack
from training.records.shards import Shard

SAMPLE_OUTPUTS = ("records", "arrow", "packed")
"""What samples come as: dicts of ending -> bytes, a table with a column per ending, or a dict of
ending -> Packed. The first two tell the key as "__key__"."""

KEY = "__key__"
"""What the key of a sample goes by; WebDataset's name."""


class Samples(NamedTuple):
    """The samples of some blocks; their parts lie somewhere in one buffer."""

    content: NDArray[np.uint8]
    """The buffer."""
    bounds: NDArray[np.int64]
    """Where each part starts and stops in it, alternately, ascending; shape (2 * parts,)."""
    endings: list[str]
    """All that may occur, in the order of their columns."""
    parts: NDArray[np.int64]
    """Number of each part's ending; shape (parts,)."""
    firsts: NDArray[np.int64]
    """Number of each sample's first part and, last, of all parts; shape (samples + 1,)."""
    keys: pa.Array
    """Of each sample; large_string."""
    shards: Sequence[Shard]
    """Of each block."""
    lengths: NDArray[np.int64]
    """Samples of each block; shape (blocks,)."""


class SampleRecords:
    """The samples of some blocks."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        # Every second entry is a part; between them lie headers.
        entries = max(len(samples.bounds) - 1, 0)
        buffers = [None, pa.py_buffer(samples.bounds), pa.py_buffer(samples.content)]
        self._content = pa.Array.from_buffers(pa.large_binary(), entries, buffers)
        self._source = _Source(samples.endings, samples.shards, np.cumsum(samples.lengths))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Samples of each block; shape (blocks,)."""
        return self._samples.lengths

    def take(self, indices: NDArray[np.int64]) -> "SampleRows":
        """Copy the samples with these numbers; see Records."""
        samples = self._samples
        counts = samples.firsts[indices + 1] - samples.firsts[indices]
        firsts = np.concatenate([[0], np.cumsum(counts)])
        chosen = np.repeat(samples.firsts[indices] - firsts[:-1], counts) + np.arange(firsts[-1])
        parts = _Parts(
            content=self._content.take(as_arrow(2 * chosen)),
            endings=samples.parts[chosen],
            firsts=firsts,
        )
        return SampleRows(samples.keys.take(as_arrow(indices)), parts, indices, self._source)


class _Parts(NamedTuple):
    """The parts of some samples, sample after sample."""

    content: pa.Array
    """Of each part; large_binary of shape (parts,)."""
    endings: NDArray[np.int64]
    """Number of each part's ending; shape (parts,)."""
    firsts: NDArray[np.int64]
    """Number of each sample's first part and, last, of all parts; shape (samples + 1,)."""


class _Source(NamedTuple):
    """What all rows taken from some blocks share; holds no content."""

    endings: Sequence[str]
    """All that may occur."""
    shards: Sequence[Shard]
    """Of each block."""
    stops: NDArray[np.int64]
    """Samples up to and with each block."""


class SampleRows:
    """Samples in the order in which they are handed out."""

    __slots__ = ("_indices", "_keys", "_parts", "_source")

    def __init__(
        self, keys: pa.Array, parts: _Parts, indices: NDArray[np.int64], source: _Source
    ) -> None:
        self._keys = keys
        self._parts = parts
        self._indices = indices
        self._source = source

    def __len__(self) -> int:
        return len(self._indices)

    def slice(self, start: int, stop: int) -> Self:
        """View the rows `start` to `stop` (exclusive)."""
        content, endings, firsts = self._parts
        first, last = int(firsts[start]), int(firsts[stop])
        parts = _Parts(
            content=content.slice(first, last - first),
            endings=endings[first:last],
            firsts=firsts[start : stop + 1] - first,
        )
        keys = self._keys.slice(start, stop - start)
        return type(self)(keys, parts, self._indices[start:stop], self._source)

    def output(self, kind: str) -> Any:  # noqa: ANN401 - by kind, see Rows
        """Return the samples as one of SAMPLE_OUTPUTS.

        Raises:
            RecordError: "packed", and a sample lacks an ending that others have.
        """
        if kind == "records":
            return self._dicts()
        if kind == "arrow":
            columns = {name: self._column(name) for name in self._source.endings}
            return pa.table({KEY: self._keys, **columns})
        if kind == "packed":
            return self._packed()
        raise ValueError(f"output={kind!r}: samples come as {', '.join(SAMPLE_OUTPUTS)}.")

    def locate(self, index: int) -> str:
        """Say where a sample lies: "shard-0003.tar, sample images/0017"."""
        block = int(np.searchsorted(self._source.stops, self._indices[index], side="right"))
        return f"{self._source.shards[block].name}, sample {self._keys[index].as_py()}"

    def _dicts(self) -> list[dict[str, Any]]:
        """Return the parts of each sample by their endings, and its key."""
        contents = self._parts.content.to_pylist()
        keys = self._keys.to_pylist()
        common = self._common_endings()
        if common:
            columns = [contents[number :: len(common)] for number in range(len(common))]
            names = (KEY, *common)
            return [dict(zip(names, row, strict=True)) for row in zip(keys, *columns, strict=True)]
        endings = [self._source.endings[number] for number in self._parts.endings.tolist()]
        bounds = pairwise(self._parts.firsts.tolist())
        return [
            {KEY: key, **dict(zip(endings[first:last], contents[first:last], strict=True))}
            for key, (first, last) in zip(keys, bounds, strict=True)
        ]

    def _common_endings(self) -> list[str]:
        """Return the endings of each sample where all have the same, in one order; else none."""
        _, endings, firsts = self._parts
        if not len(self) or len(endings) % len(self):
            return []
        of_samples = endings.reshape(len(self), -1)
        if (np.diff(firsts) != of_samples.shape[1]).any() or (of_samples != of_samples[0]).any():
            return []
        return [self._source.endings[number] for number in of_samples[0].tolist()]

    def _packed(self) -> dict[str, Packed]:
        """Return the parts of each ending, sample by sample.

        Raises:
            RecordError: A sample lacks one that others have, here or elsewhere: batches are alike.
        """
        columns = {name: self._column(name) for name in self._source.endings}
        for name, column in columns.items():
            if column.null_count:
                index = column.is_null().index(pa.scalar(True)).as_py()
                raise RecordError(
                    f"{self.locate(index)}: it has no member that ends in .{name}, which others"
                    ' have. The output "packed" needs the same of each: write the shards so, or'
                    ' choose the output "records" or "arrow".'
                )
        return {name: pack(column) for name, column in columns.items()}

    def _column(self, ending: str) -> pa.Array:
        """Return the parts of one ending; null where a sample has none."""
        parts = np.flatnonzero(self._parts.endings == self._source.endings.index(ending))
        if len(parts) == len(self):
            return self._parts.content.take(as_arrow(parts))
        samples = np.searchsorted(self._parts.firsts, parts, side="right") - 1
        number = np.zeros(len(self), np.int64)
        number[samples] = parts
        has_one = np.zeros(len(self), np.bool_)
        has_one[samples] = True
        valid = pa.py_buffer(np.packbits(has_one, bitorder="little"))
        places = pa.Array.from_buffers(pa.int64(), len(self), [valid, pa.py_buffer(number)])
        return self._parts.content.take(places)
