"""How fast a training goes: losses summed up on the device."""

from collections.abc import Sequence

import torch
from torch import Tensor

from training.pytorch.ranks import Ranks
from training.trainer.pace import Report, StepPace


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

    def add_loss(self, loss: Tensor) -> None:
        """Add to the sum."""
        self._loss += loss

    def sum_of_ranks(self, seconds: Sequence[float]) -> Sequence[float]:
        """Add up over ranks."""
        mine = torch.tensor(seconds).to(self._loss)
        return self._ranks.sum(torch.cat([self._loss.reshape(1), mine]))
