"""How good a model is, as numbers that add up over records, steps and ranks.

Never means of means: every measure is a few sums, reduced once, and what follows from them.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

from training.steps.confusion import Confusion
from training.steps.multiclass import MulticlassConfusion
from training.steps.quality import Quality
from training.steps.regression import RegressionErrors


class Measure(Protocol):
    """Sums over records, and what they say."""

    @property
    def size(self) -> int:
        """How many sums."""
        ...

    def sums(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """Add up over B records: both of shape (B,), the result of shape (size,) and float64."""
        ...

    def quality(self, sums: Sequence[float]) -> Quality:
        """Say what sums over all records mean."""
        ...


class Classes:
    """Predictions and targets are classes, 0 to count - 1; counted by target and prediction."""

    def __init__(self, count: int) -> None:
        """Set how many classes there are, 2 or more."""
        self.count = count

    @property
    def size(self) -> int:
        """One sum for each pair."""
        return self.count**2

    def sums(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """Count the pairs of target and prediction; shapes as in Measure."""
        cells = targets.long() * self.count + predictions.long()
        return torch.bincount(cells, minlength=self.size).double()

    def quality(self, sums: Sequence[float]) -> Quality:
        """Accuracy, and what else the counts say."""
        return MulticlassConfusion(self._rows(sums))

    def _rows(self, sums: Sequence[float]) -> tuple[tuple[int, ...], ...]:
        starts = range(0, self.size, self.count)
        return tuple(
            tuple(round(number) for number in sums[start : start + self.count]) for start in starts
        )


class TwoClasses(Classes):
    """Predictions and targets are 0 or 1; 1 is what is looked for."""

    def __init__(self) -> None:
        super().__init__(2)

    def quality(self, sums: Sequence[float]) -> Quality:
        """Accuracy, precision, recall and f1 of class 1."""
        (true_negatives, false_positives), (false_negatives, true_positives) = self._rows(sums)
        return Confusion(
            true_negatives=true_negatives,
            false_positives=false_positives,
            false_negatives=false_negatives,
            true_positives=true_positives,
        )


class Regression:
    """Predictions and targets are numbers."""

    size = 5

    def sums(self, predictions: Tensor, targets: Tensor) -> Tensor:
        """Add up records, targets, their squares, and the errors, squared and as they are.

        Shapes as in Measure.
        """
        wanted = targets.double()
        errors = predictions.double() - wanted
        return torch.stack(
            [
                torch.ones_like(wanted).sum(),
                wanted.sum(),
                wanted.square().sum(),
                errors.square().sum(),
                errors.abs().sum(),
            ]
        )

    def quality(self, sums: Sequence[float]) -> Quality:
        """R squared, and the errors' size."""
        records, targets, squares, squared_errors, absolute_errors = sums
        return RegressionErrors(
            records=round(records),
            target_sum=targets,
            target_square_sum=squares,
            squared_error_sum=squared_errors,
            absolute_error_sum=absolute_errors,
        )
