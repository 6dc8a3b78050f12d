"""Errors of predicted numbers added up, and the metrics that follow from the sums."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from training.contract.layout import REGRESSION_METRICS
from training.steps.quality import quality_entry


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionErrors:
    """How far predicted numbers are off, and how far the targets lie apart."""

    metric: ClassVar[str] = "r2"

    records: int
    target_sum: float
    target_square_sum: float
    squared_error_sum: float
    absolute_error_sum: float

    @property
    def mse(self) -> float:
        """Mean squared error; 0 without records."""
        return self.squared_error_sum / self.records if self.records else 0.0

    @property
    def rmse(self) -> float:
        """Root of the mean squared error, in the target's unit."""
        return math.sqrt(self.mse)

    @property
    def mae(self) -> float:
        """Mean absolute error, in the target's unit; 0 without records."""
        return self.absolute_error_sum / self.records if self.records else 0.0

    @property
    def value(self) -> float:
        """R²: 1 without errors, 0 for one that always says the mean; below 0 if worse than that.

        0 where all targets are equal, since there is nothing to explain.
        """
        if not self.records:
            return 0.0
        spread = self.target_square_sum - self.target_sum**2 / self.records
        # Of equal targets rounding leaves something, far below this.
        if spread <= 1e-12 * self.target_square_sum:
            return 0.0
        return 1 - self.squared_error_sum / spread

    def summary(self) -> str:
        """The numbers in one line."""
        return (
            f"R2 {self.value:.4f} on {self.records} test records "
            f"(rmse {self.rmse:.6g}, mae {self.mae:.6g})"
        )

    def evaluation(self) -> dict[str, Any]:
        """The metrics in Model Registry's form."""
        return {
            REGRESSION_METRICS: {
                "mse": {"value": self.mse},
                "rmse": {"value": self.rmse},
                "mae": {"value": self.mae},
                "r2": {"value": self.value},
            },
            **quality_entry(self),
        }
