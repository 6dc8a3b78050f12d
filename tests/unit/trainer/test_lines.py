"""The lines that a training logs, as SageMaker scrapes them."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from training.checkpoints import Progress
from training.contract.metrics import STEP_LOSS, VALIDATION_LOSS
from training.trainer.lines import EpochSpeed, report_epoch, report_steps
from training.trainer.tracking import Tracker


def tracker() -> Tracker:
    return Tracker(lambda *_: None)


def test_step_lines_name_the_epoch_however_many_updates_those_before_it_had(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Interrupted and gone on with on fewer ranks: an epoch is more updates than it was.
    training: Any = SimpleNamespace(progress=Progress(epoch=1, step=29, records=40))
    with caplog.at_level(logging.INFO):
        report_steps(tracker(), training, lambda update: update / 60, {STEP_LOSS: 0.25})
    (line,) = caplog.messages
    assert line.startswith("epoch=2; step=30; step_loss=0.25")
    assert line.endswith("learning_rate=0.50000000")


@pytest.mark.parametrize(("trained", "told"), [(0, False), (40, True)])
def test_an_epoch_has_a_speed_only_where_records_were_trained_on(
    caplog: pytest.LogCaptureFixture, *, trained: int, told: bool
) -> None:
    # Interrupted after 100 records: in the midst of its steps, or when they were all done.
    progress = Progress(epoch=2, records=100)
    speed = EpochSpeed(progress)
    progress.step_done(trained)
    progress.trained(0.5)
    with caplog.at_level(logging.INFO):
        report_epoch(tracker(), progress, speed.reached(progress), {VALIDATION_LOSS: 0.75})
    (line,) = caplog.messages
    assert line.startswith("epoch=3; train_loss=0.50000; validation_loss=0.75000")
    assert ("records_per_second=" in line) is told
    assert "records_per_second=0.0" not in line
