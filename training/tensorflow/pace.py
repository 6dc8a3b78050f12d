"""How fast a training goes: losses are numbers, since TensorFlow's step has been waited for."""

from collections.abc import Sequence

from training.tensorflow.ranks import Ranks
from training.trainer.pace import Report, StepPace


class Pace(StepPace[float]):
    """The pace of one rank."""

    def __init__(self, ranks: Ranks, every_updates: int, report: Report) -> None:
        """Begin to measure; arguments as those of StepPace."""
        self._ranks = ranks
        super().__init__(ranks, every_updates, report)

    def forget_losses(self) -> None:
        """Begin a sum."""
        self._loss = 0.0

    def add_loss(self, loss: float) -> None:
        """Add to the sum."""
        self._loss += loss

    def sum_of_ranks(self, seconds: Sequence[float]) -> Sequence[float]:
        """Add up over ranks."""
        return self._ranks.sum([self._loss, *seconds])
