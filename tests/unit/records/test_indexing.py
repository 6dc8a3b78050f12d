import threading
from pathlib import Path

import numpy as np
import pytest

from training.records.errors import RecordError
from training.records.formats.lines import LinesFormat
from training.records.formats.protocol import ShardIndex
from training.records.indexing import index_shards
from training.records.shards import Shard

SHARDS = [Shard(name=f"{n}.txt", path=Path(f"{n}.txt"), size_bytes=n) for n in range(9)]


class Format(LinesFormat):
    """Counts as many lines as a shard has bytes, and fails where told to."""

    def __init__(self, bad: set[int] | None = None) -> None:
        super().__init__(block_bytes=1, errors="strict")
        self.bad = bad or set()
        self.indexed: list[int] = []
        self.threads: set[int] = set()

    def index(self, shard: Shard, *, count: bool) -> ShardIndex:
        assert count
        number = shard.size_bytes
        self.indexed.append(number)
        self.threads.add(threading.get_ident())
        if number in self.bad:
            raise RecordError(f"{shard.name} is bad")
        return ShardIndex(bounds=np.arange(number + 1), counts=np.ones(number, np.int64))


class Meeting(Format):
    """Indexes a shard, but for the first, only beside another one."""

    def __init__(self, parties: int) -> None:
        super().__init__()
        self.barrier = threading.Barrier(parties, timeout=20)

    def index(self, shard: Shard, *, count: bool) -> ShardIndex:
        if self.indexed:
            self.barrier.wait()
        return super().index(shard, count=count)


@pytest.mark.parametrize("shards", range(10))
def test_each_shard_is_indexed_once_and_told_in_order(shards: int) -> None:
    shard_format = Format()
    indices = index_shards(SHARDS[:shards], shard_format, count=True)
    assert [len(index.bounds) - 1 for index in indices] == list(range(shards))
    assert sorted(shard_format.indexed) == list(range(shards))


def test_two_are_indexed_at_once_but_the_first_alone() -> None:
    shard_format = Meeting(parties=2)
    index_shards(SHARDS, shard_format, count=True)
    assert shard_format.indexed[0] == 0
    assert len(shard_format.threads) == 2


@pytest.mark.parametrize("bad", [{0}, {1}, {4}, {8}, {3, 4}, {1, 2, 8}, set(range(9))])
def test_the_first_bad_shard_is_the_one_that_is_named(bad: set[int]) -> None:
    before = threading.active_count()
    for _ in range(20):
        shard_format = Format(bad)
        with pytest.raises(RecordError, match=rf"^{min(bad)}\.txt is bad$"):
            index_shards(SHARDS, shard_format, count=True)
    assert threading.active_count() == before


def test_what_is_no_damage_ends_it_and_its_thread() -> None:
    class Interrupted(Format):
        def index(self, shard: Shard, *, count: bool) -> ShardIndex:
            if shard.size_bytes == 2:
                raise KeyboardInterrupt
            return super().index(shard, count=count)

    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        index_shards(SHARDS, Interrupted(), count=True)
    assert threading.active_count() == before
