"""Predictions among several classes counted, and the metrics that follow from the counts."""

from dataclasses import dataclass
from typing import Any, ClassVar

from training.contract.layout import MULTICLASS_METRICS
from training.steps.quality import quality_entry


@dataclass(frozen=True, slots=True)
class MulticlassConfusion:
    """How often each class was predicted as what."""

    metric: ClassVar[str] = "accuracy"

    counts: tuple[tuple[int, ...], ...]
    """By actual class, then by predicted class; shape (classes, classes)."""

    @property
    def records(self) -> int:
        """All of them."""
        return sum(sum(row) for row in self.counts)

    @property
    def value(self) -> float:
        """Accuracy: the part of the records that was predicted as labelled."""
        right = sum(row[actual] for actual, row in enumerate(self.counts))
        return right / self.records if self.records else 0.0

    @property
    def recalls(self) -> tuple[float, ...]:
        """Of each class, the part of its records that was predicted so; 0 for one without any."""
        return tuple(
            row[actual] / sum(row) if sum(row) else 0.0 for actual, row in enumerate(self.counts)
        )

    @property
    def precisions(self) -> tuple[float, ...]:
        """Of each class, the part of what was predicted so that is so; 0 for one never said."""
        said = [sum(column) for column in zip(*self.counts, strict=True)]
        return tuple(
            row[actual] / said[actual] if said[actual] else 0.0
            for actual, row in enumerate(self.counts)
        )

    def weighted(self, numbers: tuple[float, ...]) -> float:
        """The mean of one number per class, each weighted by the records of its class."""
        pairs = zip(numbers, self.counts, strict=True)
        total = sum(number * sum(row) for number, row in pairs)
        return total / self.records if self.records else 0.0

    def summary(self) -> str:
        """The numbers in one line."""
        worst = min(range(len(self.counts)), key=self.recalls.__getitem__)
        return (
            f"accuracy {self.value:.4f} on {self.records} test records of {len(self.counts)} "
            f"classes (lowest recall {self.recalls[worst]:.4f}, class {worst})"
        )

    def evaluation(self) -> dict[str, Any]:
        """The metrics in Model Registry's form."""
        return {
            MULTICLASS_METRICS: {
                "accuracy": {"value": self.value},
                "weighted_precision": {"value": self.weighted(self.precisions)},
                "weighted_recall": {"value": self.weighted(self.recalls)},
                "weighted_f1": {"value": self.weighted(self._f1_of_classes())},
                # By actual class, then by predicted class.
                "confusion_matrix": {
                    str(actual): {str(predicted): count for predicted, count in enumerate(row)}
                    for actual, row in enumerate(self.counts)
                },
            },
            **quality_entry(self),
        }

    def _f1_of_classes(self) -> tuple[float, ...]:
        pairs = zip(self.precisions, self.recalls, strict=True)
        return tuple(2 * p * r / (p + r) if p + r else 0.0 for p, r in pairs)
