"""How fast a training goes: losses summed up on the device."""

from collections.abc import Sequence
from typing import Final

import torch
from torch import Tensor

from training.pytorch.ranks import Ranks
from training.trainer.pace import Report, StepPace

_TOGETHER: Final = 256
"""Losses that are added up at once: one by one would cost every step a small operation."""


class Pace(StepPace[Tensor]):
    """The pace of one rank; losses are tensors of shape ()."""

    def __init__(self, ranks: Ranks, every_updates: int, report: Report) -> None:
        """Begin to measure; arguments as those of StepPace."""
        self._ranks = ranks
        super().__init__(ranks, every_updates, report)

    def forget_losses(self) -> None:
        """Begin a sum."""
        # On the device, so that nobody waits for it.
        self._loss = torch.zeros((), dtype=torch.float64, device=self._ranks.device)
        self._losses: list[Tensor] = []

    def add_loss(self, loss: Tensor) -> None:
        """Add to the sum."""
        self._losses.append(loss)
        if len(self._losses) == _TOGETHER:
            self._add_up()

    def sum_of_ranks(self, seconds: Sequence[float]) -> Sequence[float]:
        """Add up over ranks."""
        self._add_up()
        mine = torch.tensor(seconds).to(self._loss)
        return self._ranks.sum(torch.cat([self._loss.reshape(1), mine]))

    def _add_up(self) -> None:
        if self._losses:
            self._loss += torch.stack(self._losses).sum(dtype=torch.float64)
            self._losses.clear()
