"""Ranks as threads of one process, with an all_gather as strict as a real one."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from training.checkpoints import Group

LIMIT_S = 60
_Result = TypeVar("_Result")


class _Meeting:
    """Where threads exchange integers: as many on each, or it breaks."""

    def __init__(self, ranks: int) -> None:
        self._barrier = threading.Barrier(ranks, timeout=LIMIT_S)
        self._said: list[list[int]] = [[] for _ in range(ranks)]

    def all_gather(self, rank: int, numbers: Sequence[int]) -> list[list[int]]:
        assert all(-(2**63) <= number < 2**63 for number in numbers)
        self._said[rank] = [int(number) for number in numbers]
        self._barrier.wait()
        gathered = list(self._said)
        assert len({len(said) for said in gathered}) == 1, "a real one needs equal lengths"
        self._barrier.wait()
        return gathered

    def abort(self) -> None:
        self._barrier.abort()


def on_ranks(act: Callable[[Group], _Result], *, hosts: int = 2, devices: int = 2) -> list[_Result]:
    """Run a function once per rank, all at the same time; results in rank order.

    Raises:
        Whatever the function raises on the first rank that raises something of its own.
    """
    ranks = hosts * devices
    meeting = _Meeting(ranks)

    def run(rank: int) -> _Result:
        group = Group(
            rank=rank,
            local_rank=rank % devices,
            host=f"algo-{rank // devices + 1}",
            all_gather=lambda numbers: meeting.all_gather(rank, numbers),
        )
        try:
            return act(group)
        except BaseException:
            meeting.abort()
            raise

    with ThreadPoolExecutor(ranks) as pool:
        futures = [pool.submit(run, rank) for rank in range(ranks)]
    errors = [error for future in futures if (error := future.exception()) is not None]
    own = [error for error in errors if not isinstance(error, threading.BrokenBarrierError)]
    if errors:
        raise (own or errors)[0]
    return [future.result() for future in futures]
