"""The lines that a training logs while an epoch goes on."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from training.checkpoints import Progress
from training.contract.metrics import STEP_LOSS
from training.pytorch import train
from training.trainer.tracking import Tracker


def test_they_name_the_epoch_however_many_updates_those_before_it_had(
    caplog: pytest.LogCaptureFixture,
) -> None:
    # Interrupted and gone on with on fewer ranks: an epoch is more updates than it was.
    keeping: Any = SimpleNamespace(progress=Progress(epoch=1, step=29, records=40))
    learner: Any = SimpleNamespace(updates=30, learning_rate=0.5)
    with caplog.at_level(logging.INFO):
        train._report_steps(Tracker(lambda *_: None), learner, keeping, {STEP_LOSS: 0.25})
    (line,) = caplog.messages
    assert line.startswith("epoch=2; step=30; step_loss=0.25")
