"""The metric lines of a training: one per epoch, and one for every so many of its updates."""

import time
from collections.abc import Callable, Mapping
from typing import Protocol

from training.checkpoints import Progress
from training.contract.metrics import LEARNING_RATE, RECORDS_PER_SECOND, TRAIN_LOSS, Metric
from training.trainer.tracking import Tracker


class InProgress(Protocol):
    """A training that goes on."""

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        ...


class EpochSpeed:
    """How many records an epoch trains on per second, from now on."""

    def __init__(self, progress: Progress) -> None:
        """Begin to measure; the epoch may have been interrupted."""
        self._start_s = time.monotonic()
        self._records_before = progress.records

    def reached(self, progress: Progress) -> float | None:
        """Tell it where the steps are done; None: they had been, before the measuring began."""
        records = progress.records - self._records_before
        return records / (time.monotonic() - self._start_s) if records else None


def report_steps(
    tracker: Tracker,
    training: InProgress,
    learning_rate: Callable[[int], float],
    numbers: Mapping[Metric, float],
) -> None:
    """Tell the numbers of the updates since the last such line, while the last one is being done.

    Args:
        tracker: gets them.
        training: is told of that update only afterwards.
        learning_rate: of an update, counted from 0.
        numbers: as `StepPace` counts them.
    """
    progress = training.progress
    step = progress.step + 1
    values = {**numbers, LEARNING_RATE: learning_rate(step)}
    tracker.report(values, epoch=progress.epoch + 1, step=step)


def report_epoch(
    tracker: Tracker,
    progress: Progress,
    records_per_second: float | None,
    validation: Mapping[Metric, float],
) -> None:
    """Tell the numbers of an epoch that was trained and validated.

    Args:
        tracker: gets them.
        progress: is told of the validation only afterwards.
        records_per_second: None where it is not known.
        validation: the numbers of the validation.
    """
    values = {TRAIN_LOSS: progress.train_loss, **validation}
    if records_per_second is not None:
        values[RECORDS_PER_SECOND] = records_per_second
    tracker.report(values, epoch=progress.epoch + 1)
