"""The learning rate from update to update."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from torch import Tensor
from torch.optim import Optimizer

from training.contract.hyperparameters import TrainingHyperparameters
from training.trainer.updates import LearningRateFactor

_UPDATES: Final = "last_epoch"
"""Of a state: what torch's own schedules call it, which earlier checkpoints have."""


class Schedule:
    """Multiplies the learning rates that an optimizer was made with.

    It does nothing on updates that change none of them: those of torch take as long in every step
    as an optimizer of a few tensors.
    """

    def __init__(self, optimizer: Optimizer, factor: Callable[[int], float]) -> None:
        """Give the optimizer the rates of the first update.

        Args:
            optimizer: its learning rates are changed.
            factor: of an update, counted from 0.
        """
        self._optimizer = optimizer
        self._factor = factor
        self._largest = [float(group["lr"]) for group in optimizer.param_groups]
        self._now = 1.0
        self.updates = 0
        """Done since the training began."""
        self._set(factor(0))

    def step(self) -> None:
        """Go on to the next update; this follows each step of the optimizer."""
        self.updates += 1
        factor = self._factor(self.updates)
        if factor != self._now:
            self._set(factor)

    def rate_of(self, update: int) -> float:
        """The learning rate of an update, counted from 0."""
        return self._largest[0] * self._factor(update)

    def state_dict(self) -> dict[str, Any]:
        """Return how far it has come."""
        return {_UPDATES: self.updates}

    def go_on(self, state: Mapping[str, Any]) -> None:
        """Go on at the update that another schedule has come to, towards one's own last update.

        The interrupted training may have had another end: fewer epochs, or other hosts.

        Args:
            state: the other's; the optimizer gets the learning rate of the next update.
        """
        self.updates = state[_UPDATES]
        self._set(self._factor(self.updates))

    def _set(self, factor: float) -> None:
        self._now = factor
        for group, largest in zip(self._optimizer.param_groups, self._largest, strict=True):
            if isinstance(group["lr"], Tensor):
                group["lr"].fill_(largest * factor)  # an optimizer that was captured reads this one
            else:
                group["lr"] = largest * factor


def make_schedule(
    settings: TrainingHyperparameters, optimizer: Optimizer, total_steps: int
) -> Schedule:
    """Make the schedule that the hyperparameters ask for.

    Args:
        settings: learning rate, schedule, warm-up.
        optimizer: its learning rate is changed.
        total_steps: updates of the whole training.
    """
    return Schedule(optimizer, LearningRateFactor.of(settings, total_steps))
