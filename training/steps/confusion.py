"""Two-class predictions counted, and the metrics that follow from the counts."""

from dataclasses import dataclass
from typing import Any, ClassVar

from training.contract.layout import EVALUATION_METRICS
from training.steps.quality import quality_entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """How often each label was predicted as what; 1 is the positive label."""

    metric: ClassVar[str] = "accuracy"

    true_negatives: int
    false_positives: int
    false_negatives: int
    true_positives: int

    @property
    def records(self) -> int:
        """All of them."""
        return (
            self.true_negatives + self.false_positives + self.false_negatives + self.true_positives
        )

    @property
    def accuracy(self) -> float:
        """The part of the records that was predicted as labelled."""
        return _part(self.true_negatives + self.true_positives, self.records)

    @property
    def value(self) -> float:
        """What a gate looks at: the accuracy."""
        return self.accuracy

    @property
    def precision(self) -> float:
        """The part of the records predicted 1 that are labelled 1; 0 if none was predicted 1."""
        return _part(self.true_positives, self.true_positives + self.false_positives)

    @property
    def recall(self) -> float:
        """The part of the records labelled 1 that was predicted 1; 0 if none is labelled 1."""
        return _part(self.true_positives, self.true_positives + self.false_negatives)

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall; 0 if both are."""
        return _part(
            2 * self.true_positives,
            2 * self.true_positives + self.false_positives + self.false_negatives,
        )

    def summary(self) -> str:
        """The numbers in one line."""
        return (
            f"accuracy {self.accuracy:.4f} on {self.records} test records "
            f"(precision {self.precision:.4f}, recall {self.recall:.4f}, f1 {self.f1:.4f})"
        )

    def evaluation(self) -> dict[str, Any]:
        """The metrics in Model Registry's form; accuracy is the first key that says accuracy."""
        return {
            EVALUATION_METRICS: {
                "accuracy": {"value": self.accuracy},
                "precision": {"value": self.precision},
                "recall": {"value": self.recall},
                "f1": {"value": self.f1},
                # By actual label, then by predicted label.
                "confusion_matrix": {
                    "0": {"0": self.true_negatives, "1": self.false_positives},
                    "1": {"0": self.false_negatives, "1": self.true_positives},
                },
            },
            **quality_entry(self),
        }


def _part(some: int, of_all: int) -> float:
    return some / of_all if of_all else 0.0
