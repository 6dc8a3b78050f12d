"""Batches made into tensors in a background thread, while the step before runs."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, TypeVar

from training.records import Batch, RecordEpoch
from training.records.prefetch import prefetched

_AHEAD: Final = 2
"""Batches encoded but not yet asked for: one may take longer than its step."""

T = TypeVar("T")


def encode_in_background(
    batches: Iterable[Batch], encode: Callable[[Batch], T]
) -> Iterator[tuple[Batch, T]]:
    """Encode batches in a background thread, in their order.

    Args:
        batches: used by that thread alone from now on; an epoch of the loader is told when each of
            its batches is handed out, so that its state is that of the training.
        encode: called in that thread.

    Raises:
        Exception: what `encode` raised, where the batch would come.
    """
    epoch = batches if isinstance(batches, RecordEpoch) else None
    source = iter(batches) if epoch is None else epoch.ahead()
    for batch, encoded in prefetched(_encoded(source, encode), ahead=_AHEAD):
        if epoch is not None:
            epoch.hand_out(batch)
        yield batch, encoded


def _encoded(batches: Iterator[Batch], encode: Callable[[Batch], T]) -> Iterator[tuple[Batch, T]]:
    for batch in batches:
        yield batch, encode(batch)
