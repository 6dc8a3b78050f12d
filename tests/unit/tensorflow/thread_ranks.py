"""Ranks that are threads: collectives without processes."""

from collections.abc import Callable, Sequence
from threading import Barrier, Thread
from typing import Any, TypeVar

T = TypeVar("T")


class ThreadRanks:
    """Ranks that are threads of this process: what of `Ranks` the vocabulary needs."""

    def __init__(self, world_size: int) -> None:
        self._barrier = Barrier(world_size, timeout=60)
        self._told: list[Any] = [None] * world_size

    def of_rank(self, rank: int) -> "ThreadRank":
        return ThreadRank(self, rank)

    def gather(self, rank: int, mine: T) -> list[T]:
        self._told[rank] = mine
        self._barrier.wait()
        told = list(self._told)
        self._barrier.wait()
        return told


class ThreadRank:
    def __init__(self, ranks: ThreadRanks, rank: int) -> None:
        self._ranks = ranks
        self._rank = rank

    def gather_bytes(self, content: bytes) -> list[bytes]:
        return self._ranks.gather(self._rank, content)

    def sum_counts(self, counts: Any) -> Any:  # noqa: ANN401 - an array of any shape
        return sum(self._ranks.gather(self._rank, counts))


def on_ranks(work: Callable[[int, ThreadRank], T], world_size: int) -> Sequence[T]:
    """Run something on every rank; returns what each made."""
    ranks = ThreadRanks(world_size)
    made: list[Any] = [None] * world_size

    def run(rank: int) -> None:
        made[rank] = work(rank, ranks.of_rank(rank))

    threads = [Thread(target=run, args=(rank,)) for rank in range(world_size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return made
