"""How fast a training goes, and how much of its time it waits for data."""

import time
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from training.contract.metrics import (
    DATA_WAIT_SHARE,
    STEP_LOSS,
    STEP_RECORDS_PER_SECOND,
    Metric,
)
from training.pytorch.ranks import Ranks

Report = Callable[[Mapping[Metric, float]], None]


class Pace:
    """Sums since the last line of the log; every so many updates it makes the next one."""

    def __init__(self, ranks: Ranks, every_updates: int, report: Report) -> None:
        """Begin to measure.

        Args:
            ranks: this process among all.
            every_updates: between two lines; 0: none.
            report: gets the numbers of all ranks, on every rank.
        """
        self._ranks = ranks
        self._every_updates = every_updates
        self._report = report
        self.begin()

    def begin(self) -> None:
        """Forget what was counted: the time from now on is the training's."""
        # On the device, so that nobody waits for it.
        self._loss = torch.zeros((), dtype=torch.float64, device=self._ranks.device)
        self._records = 0
        self._updates = 0
        self._wait_s = 0.0
        self._start_s = time.perf_counter()

    def add(self, loss: Tensor, records: int, wait_s: float) -> None:
        """Count a step.

        Args:
            loss: sum over this rank's records, shape ().
            records: of all ranks.
            wait_s: seconds that this rank waited for its batch.
        """
        self._loss += loss
        self._records += records
        self._wait_s += wait_s

    def end_update(self) -> None:
        """Count an update; all ranks do, and exchange sums where a line is due."""
        self._updates += 1
        if self._updates == self._every_updates:
            self._report(self._numbers())
            self.begin()

    def _numbers(self) -> Mapping[Metric, float]:
        mine_s = torch.tensor([self._wait_s, time.perf_counter() - self._start_s])
        sums = torch.cat([self._loss.reshape(1), mine_s.to(self._loss)])
        loss, wait_s, all_s = self._ranks.sum(sums)
        seconds = all_s / self._ranks.world_size
        return {
            STEP_LOSS: loss / self._records,
            STEP_RECORDS_PER_SECOND: self._records / seconds,
            DATA_WAIT_SHARE: wait_s / all_s,
        }
