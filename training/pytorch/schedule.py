"""The learning rate from update to update: a warm-up, then as it is or down a cosine to 0."""

import math
from dataclasses import dataclass

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from training.contract.hyperparameters import TrainingHyperparameters


@dataclass
class LearningRateFactor:
    """What the learning rate is multiplied with; a checkpoint keeps its fields."""

    schedule: str
    """constant or cosine."""
    warmup_steps: int
    """Updates on which it grows from almost 0 to 1; at most all of them."""
    total_steps: int
    """Updates of the whole training, 1 or more."""

    def __call__(self, update: int) -> float:
        """The factor of an update, counted from 0."""
        if update < self.warmup_steps:
            return (update + 1) / (self.warmup_steps + 1)
        if self.schedule == "constant":
            return 1.0
        after = self.total_steps - self.warmup_steps
        done = min(update - self.warmup_steps, after) / max(after, 1)
        return (1 + math.cos(math.pi * done)) / 2


def make_schedule(
    settings: TrainingHyperparameters, optimizer: Optimizer, total_steps: int
) -> LambdaLR:
    """Make the schedule of an optimizer; its `step` follows each of the optimizer's.

    Args:
        settings: learning rate, schedule, warm-up.
        optimizer: its learning rate is changed.
        total_steps: updates of the whole training.
    """
    factor = LearningRateFactor(
        schedule=settings.schedule,
        warmup_steps=min(settings.warmup_steps, total_steps),
        total_steps=total_steps,
    )
    return LambdaLR(optimizer, factor)
