"""The learning rate from update to update, as torch's optimizers take it."""

from collections.abc import Mapping
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LambdaLR

from training.contract.hyperparameters import TrainingHyperparameters
from training.trainer.updates import LearningRateFactor


def make_schedule(
    settings: TrainingHyperparameters, optimizer: Optimizer, total_steps: int
) -> LambdaLR:
    """Make the schedule of an optimizer; its `step` follows each of the optimizer's.

    Args:
        settings: learning rate, schedule, warm-up.
        optimizer: its learning rate is changed.
        total_steps: updates of the whole training.
    """
    return LambdaLR(optimizer, LearningRateFactor.of(settings, total_steps))


def rate_of(schedule: LambdaLR, update: int) -> float:
    """The learning rate of an update, counted from 0; of the optimizer's first group."""
    return float(schedule.base_lrs[0]) * schedule.lr_lambdas[0](update)


def go_on(schedule: LambdaLR, state: Mapping[str, Any]) -> None:
    """Go on at the update that another schedule has come to, towards one's own last update.

    The interrupted training may have had another end: fewer epochs, or other hosts.

    Args:
        schedule: of this training; its optimizer gets the learning rate of the next update.
        state: of the other one, a `state_dict`.
    """
    own_end = [None] * len(schedule.lr_lambdas)
    schedule.load_state_dict({**state, "lr_lambdas": own_end, "base_lrs": schedule.base_lrs})
    schedule.last_epoch -= 1
    schedule.step()  # sets the rates
