"""Which steps of an epoch make one update, and the learning rate from update to update."""

import math
from dataclasses import dataclass

from training.contract.hyperparameters import TrainingHyperparameters
from training.records import EpochPlan, RecordLoader
from training.trainer.ranks import JobRanks


def updates_per_epoch(
    train_data: RecordLoader, settings: TrainingHyperparameters, ranks: JobRanks
) -> int:
    """Updates of an epoch that is not interrupted; all ranks must call it."""
    mine = train_data.counts[train_data.part]
    counts = tuple(count for (count,) in ranks.all_gather([mine]))
    plan = EpochPlan(counts=counts, batch_size=settings.batch_size, uneven=settings.uneven)
    return -(-plan.steps // settings.gradient_accumulation_steps)


def records_of_update(plan: EpochPlan, step: int, together: int) -> int:
    """Records of all ranks in the update that a step is part of.

    Args:
        plan: the epoch's.
        step: of the epoch, from 0.
        together: steps that make an update; the epoch's last may be made of fewer.
    """
    first = step - step % together
    return plan.records_in_steps(first, min(first + together, plan.steps))


def ends_update(plan: EpochPlan, step: int, together: int) -> bool:
    """Whether an update is whole after a step; arguments as of `records_of_update`."""
    return (step + 1) % together == 0 or step + 1 == plan.steps


@dataclass(frozen=True, kw_only=True)
class LearningRateFactor:
    """What the learning rate is multiplied with."""

    schedule: str
    """constant or cosine."""
    warmup_steps: int
    """Updates on which it grows from almost 0 to 1; at most all of them."""
    total_steps: int
    """Updates of the whole training, 1 or more."""

    @classmethod
    def of(cls, settings: TrainingHyperparameters, total_steps: int) -> "LearningRateFactor":
        """Make the factor that the hyperparameters ask for.

        Args:
            settings: schedule and warm-up.
            total_steps: updates of the whole training.
        """
        return cls(
            schedule=settings.schedule,
            warmup_steps=min(settings.warmup_steps, total_steps),
            total_steps=total_steps,
        )

    def __call__(self, update: int) -> float:
        """The factor of an update, counted from 0."""
        if update < self.warmup_steps:
            return (update + 1) / (self.warmup_steps + 1)
        if self.schedule == "constant":
            return 1.0
        after = self.total_steps - self.warmup_steps
        done = min(update - self.warmup_steps, after) / max(after, 1)
        return (1 + math.cos(math.pi * done)) / 2
