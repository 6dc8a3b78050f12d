"""The one truth about metric lines: the trainers print them, the training job's regexes read them.

SageMaker scrapes the output of all hosts, so only the chief prints such lines: one per epoch and,
between, one for every so many updates. TensorBoard gets the same numbers under the same names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_NUMBER: Final = r"([-+]?[0-9]+[.]?[0-9]*(?:[eE][-+]?[0-9]+)?)"
"""No nan, no inf: CloudWatch holds neither, and the trainers stop at such a loss."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One number of a metric line."""

    name: str
    """As CloudWatch and DescribeTrainingJob show it: `train:loss`."""
    key: str
    """As the line shows it: `train_loss`."""
    decimals: int
    """Digits after the point."""

    @property
    def regex(self) -> str:
        """What finds the number, its only group, in a line of `format_line`.

        Not anchored at the start: a log may put its own prefix before a line.
        """
        return rf"epoch=[0-9]+;.* {self.key}={_NUMBER}"


TRAIN_LOSS: Final = Metric("train:loss", "train_loss", 5)
"""Sum of the record losses over the records of all ranks in the epoch."""
VALIDATION_LOSS: Final = Metric("validation:loss", "validation_loss", 5)
VALIDATION_ACCURACY: Final = Metric("validation:accuracy", "validation_accuracy", 5)
VALIDATION_R2: Final = Metric("validation:r2", "validation_r2", 5)
"""Of a regression, in place of the accuracy: 1 minus squared errors over the targets' spread."""
RECORDS_PER_SECOND: Final = Metric("train:records_per_second", "records_per_second", 1)
"""Training records of all ranks over the epoch's wall time, validation left out."""

EPOCH_METRICS: Final = (
    TRAIN_LOSS,
    VALIDATION_LOSS,
    VALIDATION_ACCURACY,
    VALIDATION_R2,
    RECORDS_PER_SECOND,
)
"""All that an epoch's line may hold; a task has either an accuracy or an R²."""

STEP_LOSS: Final = Metric("train:step_loss", "step_loss", 5)
"""Mean over the records of all ranks since the last such line."""
STEP_RECORDS_PER_SECOND: Final = Metric(
    "train:step_records_per_second", "step_records_per_second", 1
)
"""Records of all ranks since the last such line, over the wall time."""
DATA_WAIT_SHARE: Final = Metric("train:data_wait_share", "data_wait_share", 4)
"""The part of the ranks' time since the last such line that they waited for batches, 0..1."""
LEARNING_RATE: Final = Metric("train:learning_rate", "learning_rate", 8)
"""Of the next update."""

STEP_METRICS: Final = (STEP_LOSS, STEP_RECORDS_PER_SECOND, DATA_WAIT_SHARE, LEARNING_RATE)
"""All that a line between epochs' ends may hold."""

METRICS: Final = (*EPOCH_METRICS, *STEP_METRICS)


def format_line(epoch: int, values: Mapping[Metric, float], *, step: int | None = None) -> str:
    """Write one metric line: `epoch=3; train_loss=0.20843; validation_loss=0.19001; ...`.

    Args:
        epoch: that was done, or is being done; counted from 1.
        values: of some of METRICS.
        step: updates done in all, `epoch=3; step=700; step_loss=0.2; ...`; None: the epoch is over.

    Raises:
        KeyError: a metric is none of METRICS, so that no regex would find it.
    """
    if unknown := [metric.key for metric in values if metric not in METRICS]:
        raise KeyError(f"{unknown}: the metrics of a line are METRICS.")
    numbers = (
        f"{metric.key}={values[metric]:.{metric.decimals}f}"
        for metric in METRICS
        if metric in values
    )
    begin = (f"epoch={epoch}",) if step is None else (f"epoch={epoch}", f"step={step}")
    return "; ".join((*begin, *numbers))


def metric_definitions() -> list[dict[str, str]]:
    """The MetricDefinitions of a training job (at most 40, a regex at most 500 characters)."""
    return [{"Name": metric.name, "Regex": metric.regex} for metric in METRICS]
