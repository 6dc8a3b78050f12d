"""Packed records: the bytes of many records in one array, and where each starts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Packed:
    """Records one after the other, without anything between them; read-only views."""

    content: NDArray[np.uint8]
    """The records' bytes, as they stand in the shard; shape (bytes,)."""

    offsets: NDArray[np.int64]
    """Where each record starts in `content` and, last, where the last one stops; it begins with 0;
    shape (records + 1,)."""

    def __len__(self) -> int:
        return len(self.offsets) - 1


def join_packed(parts: Sequence[Packed]) -> Packed:
    """Put packed records, one part or more, one behind the other; copies them."""
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    return Packed(np.concatenate([part.content for part in parts]), offsets)


def pack(array: pa.Array) -> Packed:
    """View an Arrow array of (large) strings or bytes without nulls as packed records.

    Copies nothing but, unless they are 64 bits wide and begin with 0, the offsets.

    Raises:
        ValueError: The array is of another type or has nulls.
    """
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    if not wide and not (pa.types.is_string(array.type) or pa.types.is_binary(array.type)):
        raise ValueError(f"type {array.type}: pack strings or bytes; cast the column first.")
    if array.null_count:
        raise ValueError(f"{array.null_count} nulls: fill them first, for instance with ''.")
    _, offsets_buffer, content_buffer = array.buffers()
    if offsets_buffer is None or not offsets_buffer.size:
        return Packed(np.empty(0, np.uint8), np.zeros(1, np.int64))
    stored = np.frombuffer(offsets_buffer, np.int64 if wide else np.int32)
    offsets: NDArray[np.int64] = stored[array.offset : array.offset + len(array) + 1].astype(
        np.int64, copy=False
    )
    first, last = int(offsets[0]), int(offsets[-1])
    if content_buffer is None:
        content = np.empty(0, np.uint8)
    else:
        content = np.frombuffer(content_buffer, np.uint8)[first:last]
    return Packed(content, offsets - first if first else offsets)
