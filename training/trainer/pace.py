"""How fast a training goes, and how much of its time it waits for data."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

from training.contract.metrics import (
    DATA_WAIT_SHARE,
    STEP_LOSS,
    STEP_RECORDS_PER_SECOND,
    Metric,
)
from training.trainer.ranks import JobRanks

LossT = TypeVar("LossT")
Report = Callable[[Mapping[Metric, float]], None]


class StepPace(ABC, Generic[LossT]):
    """Sums since the last line of the log; every so many updates it makes the next one."""

    def __init__(self, ranks: JobRanks, every_updates: int, report: Report) -> None:
        """Begin to measure.

        Args:
            ranks: this process among all.
            every_updates: between two lines; 0: none.
            report: gets the numbers of all ranks, on every rank.
        """
        self._world_size = ranks.world_size
        self._every_updates = every_updates
        self._report = report
        self.begin()

    @abstractmethod
    def forget_losses(self) -> None:
        """Begin a sum of losses."""

    @abstractmethod
    def add_loss(self, loss: LossT) -> None:
        """Add to the sum; costs no wait for the device."""

    @abstractmethod
    def sum_of_ranks(self, seconds: Sequence[float]) -> Sequence[float]:
        """Add the sum of losses, and numbers that each rank has, over all ranks; all call it."""

    def begin(self) -> None:
        """Forget what was counted: the time from now on is the training's."""
        self.forget_losses()
        self._records = 0
        self._updates = 0
        self._wait_s = 0.0
        self._start_s = time.perf_counter()

    def add(self, loss: LossT, records: int, wait_s: float) -> None:
        """Count a step.

        Args:
            loss: sum over this rank's records.
            records: of all ranks.
            wait_s: seconds that this rank waited for its batch.
        """
        if self._every_updates == 0:
            return
        self.add_loss(loss)
        self._records += records
        self._wait_s += wait_s

    def end_update(self) -> None:
        """Count an update; all ranks do, and exchange sums where a line is due."""
        self._updates += 1
        if self._updates == self._every_updates:
            self._report(self._numbers())
            self.begin()

    def _numbers(self) -> Mapping[Metric, float]:
        mine_s = [self._wait_s, time.perf_counter() - self._start_s]
        loss, wait_s, all_s = self.sum_of_ranks(mine_s)
        return {
            STEP_LOSS: loss / self._records,
            STEP_RECORDS_PER_SECOND: self._records / (all_s / self._world_size),
            DATA_WAIT_SHARE: wait_s / all_s,
        }
