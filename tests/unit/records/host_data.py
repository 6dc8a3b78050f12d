"""Hosts as the tests lay them out: shards on disk, loaders over them, ranks that agree."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from training.records import EpochPlan, LoaderSettings, RecordLoader, agree, find_shards


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


class _AllStatements(Exception):  # noqa: N818 - not an error: it leaves a call once it has spoken
    """Carries a rank's statement out of `agree`."""


class Ranks:
    """The ranks of a job in one process; its all_gather answers with what each of them said."""

    def __init__(self, loaders_of_hosts: Sequence[Sequence[RecordLoader]]) -> None:
        self.loaders = [loader for loaders in loaders_of_hosts for loader in loaders]
        self.host_ranks = [h for h, loaders in enumerate(loaders_of_hosts) for _ in loaders]
        self.collectives = [0] * len(self.loaders)

    def agree(self, epochs: Sequence[int] | int = 0) -> list[EpochPlan | Exception]:
        """Let every rank agree; return each one's plan or what it raised."""
        if isinstance(epochs, int):
            epochs = [epochs] * len(self.loaders)
        statements = [self._statement(rank, epoch) for rank, epoch in enumerate(epochs)]
        outcomes: list[EpochPlan | Exception] = []
        for rank, epoch in enumerate(epochs):

            def all_gather(mine: Sequence[int], rank: int = rank) -> Sequence[Sequence[int]]:
                self.collectives[rank] += 1
                assert list(mine) == statements[rank]
                return statements

            try:
                outcomes.append(
                    agree(
                        self.loaders[rank],
                        epoch=epoch,
                        host_rank=self.host_ranks[rank],
                        all_gather=all_gather,
                    )
                )
            except ValueError as error:
                outcomes.append(error)
        return outcomes

    def _statement(self, rank: int, epoch: int) -> list[int]:
        said: list[int] = []

        def listen(mine: Sequence[int]) -> Sequence[Sequence[int]]:
            said.extend(mine)
            raise _AllStatements

        try:
            agree(
                self.loaders[rank],
                epoch=epoch,
                host_rank=self.host_ranks[rank],
                all_gather=listen,
            )
        except _AllStatements:
            return said
        raise AssertionError("agree returned without a collective")
