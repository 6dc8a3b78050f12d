"""Hosts as the tests lay them out: shards on disk, loaders over them, ranks that agree."""

import json
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from threading import Barrier, BrokenBarrierError
from typing import Any, TypeVar

from training.records import (
    AllGather,
    EpochPlan,
    LoaderSettings,
    Packed,
    RecordLoader,
    agree,
    find_shards,
)

T = TypeVar("T")


def write_shards(directory: Path, contents: Mapping[str, bytes]) -> Path:
    """Write one file per name (nested where it has slashes) and return the directory."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return directory


def numbered(count: int, *, first: int = 0) -> bytes:
    """Return `count` records with ascending ids from `first` and texts of uneven length."""
    numbers = range(first, first + count)
    return b"".join(b'{"id": %d, "text": "%s"}\n' % (n, b"x" * (n * 7 % 23)) for n in numbers)


def small_blocks(**changes: Any) -> LoaderSettings:  # noqa: ANN401 - any of the settings
    """Return settings with which a few records are many blocks."""
    return LoaderSettings(**{"batch_size": 4, "seed": 3, "block_bytes": 64} | changes)


def host_loaders(
    directory: Path, settings: LoaderSettings, *, parts: int = 1
) -> list[RecordLoader]:
    """Make the loader of each local rank of a host."""
    shards = find_shards(directory)
    return [
        RecordLoader(shards, settings=settings, part=part, parts=parts) for part in range(parts)
    ]


def records_of(loaders: Sequence[RecordLoader], epoch: int = 0) -> list[dict[str, Any]]:
    """Return all records of some loaders' epoch, one loader after the other."""
    return [r for loader in loaders for batch in loader.epoch(epoch) for r in batch.records]


def ids_of(loaders: Sequence[RecordLoader], epoch: int = 0) -> list[int]:
    """Return the ids of the records that `numbered` wrote."""
    return [record["id"] for record in records_of(loaders, epoch)]


def lines_of(data: Any) -> list[bytes]:  # noqa: ANN401 - whatever a batch's data may be
    """Return the records of a batch of JSON Lines, as lines, whatever its output."""
    if isinstance(data, Packed):
        bounds = pairwise(data.offsets.tolist())
        return [data.content[first:last].tobytes() for first, last in bounds]
    records = data if isinstance(data, list) else data.to_pylist()
    return [
        record.encode()
        if isinstance(record, str)
        else record
        if isinstance(record, bytes)
        else json.dumps(record).encode()
        for record in records
    ]


class LostRankError(Exception):
    """A rank left the job while others wait for it in a collective."""


class Ranks:
    """The ranks of a job, a thread each; their all_gather is a real meeting of all of them.

    Attributes:
        loaders: Of each rank.
        host_ranks: Number of each rank's host.
        collectives: How often each rank has called all_gather.
    """

    def __init__(self, loaders_of_hosts: Sequence[Sequence[RecordLoader]]) -> None:
        self.loaders = [loader for loaders in loaders_of_hosts for loader in loaders]
        self.host_ranks = [h for h, loaders in enumerate(loaders_of_hosts) for _ in loaders]
        self.collectives = [0] * len(self.loaders)

    def agree(self, epochs: Sequence[int] | int = 0) -> list[EpochPlan | Exception]:
        """Let every rank agree; return each one's plan or what it raised."""
        of_ranks = [epochs] * len(self.loaders) if isinstance(epochs, int) else epochs

        def agree_as(rank: int, all_gather: AllGather) -> EpochPlan | Exception:
            loader, host_rank = self.loaders[rank], self.host_ranks[rank]
            try:
                return agree(
                    loader, epoch=of_ranks[rank], host_rank=host_rank, all_gather=all_gather
                )
            except ValueError as error:
                return error

        return self.run(agree_as)

    def run(self, work: Callable[[int, AllGather], T]) -> list[T]:
        """Let every rank do `work` at the same time.

        Returns:
            What it returned, by rank.

        Raises:
            LostRankError: A rank ended while others were in a collective.
        """
        told: list[Sequence[int]] = [()] * len(self.loaders)
        meeting = Barrier(len(self.loaders), timeout=60)

        def as_rank(rank: int) -> T:
            def all_gather(mine: Sequence[int]) -> Sequence[Sequence[int]]:
                self.collectives[rank] += 1
                if any(ended):
                    meeting.abort()
                told[rank] = [*mine]
                try:
                    meeting.wait()
                    said = list(told)
                    meeting.wait()
                except BrokenBarrierError:
                    raise LostRankError(rank) from None
                assert len({len(numbers) for numbers in said}) == 1
                assert all(-(2**63) <= number < 2**63 for number in said[rank])
                return said

            try:
                return work(rank, all_gather)
            finally:
                ended[rank] = True
                if meeting.n_waiting and sum(ended) + meeting.n_waiting >= len(ended):
                    meeting.abort()

        ended = [False] * len(self.loaders)
        with ThreadPoolExecutor(max(len(self.loaders), 1)) as threads:
            return list(threads.map(as_rank, range(len(self.loaders))))
