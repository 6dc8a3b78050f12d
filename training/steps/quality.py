"""What an evaluation has to say, whatever the task."""

from typing import Any, Protocol

from training.contract.layout import QUALITY


class Quality(Protocol):
    """How good a model is on some records."""

    @property
    def records(self) -> int:
        """How many."""
        ...

    @property
    def metric(self) -> str:
        """What `value` is: "accuracy" or "r2"."""
        ...

    @property
    def value(self) -> float:
        """One number, at most 1, more is better: the part of the records that is right, or R²."""
        ...

    def summary(self) -> str:
        """The numbers in one line."""
        ...

    def evaluation(self) -> dict[str, Any]:
        """The metrics in Model Registry's form."""
        ...


def quality_entry(quality: Quality) -> dict[str, Any]:
    """What every evaluation file says besides its own metrics."""
    return {
        QUALITY: {"metric": quality.metric, "value": quality.value},
        "records": quality.records,
    }
