"""The index of a host's shards, two at a time: files and numpy let other threads run meanwhile."""

from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from training.records.errors import RecordError
from training.records.formats.protocol import ShardFormat, ShardIndex
from training.records.shards import Shard


def index_shards(
    shards: Sequence[Shard], shard_format: ShardFormat, *, count: bool
) -> list[ShardIndex]:
    """Index shards.

    Args:
        shards: Any, in their order.
        shard_format: Of all of them.
        count: See ShardFormat.index.

    Returns:
        The index of each shard, in order.

    Raises:
        RecordError: A shard is damaged, or not what it was when it was listed: the first such one.
    """
    # Alone: what the columns of the first shard are is what those of all others have to be.
    indices = {
        number: shard_format.index(shard, count=count) for number, shard in enumerate(shards[:1])
    }
    failures: dict[int, RecordError] = {}
    numbers = iter(range(len(indices), len(shards)))

    def index_those_left() -> None:
        # The threads share one iterator: each shard is taken once, after all before it.
        for number in numbers:
            try:
                indices[number] = shard_format.index(shards[number], count=count)
            except RecordError as error:
                failures[number] = error
                _exhaust(numbers)

    with ThreadPoolExecutor(1, "index") as pool:
        other = pool.submit(index_those_left)
        try:
            index_those_left()
        finally:
            # Interrupted: the other thread is to stop, too.
            _exhaust(numbers)
        other.result()
    if failures:
        raise failures[min(failures)]
    return [indices[number] for number in range(len(shards))]


def _exhaust(numbers: Iterator[int]) -> None:
    deque(numbers, maxlen=0)
