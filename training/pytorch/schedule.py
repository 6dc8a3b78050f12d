"""The learning rate from update to update, as torch's optimizers take it."""

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
