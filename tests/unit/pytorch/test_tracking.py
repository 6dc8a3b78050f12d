import logging
import subprocess
import sys
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from training.contract.metrics import LEARNING_RATE, STEP_LOSS, TRAIN_LOSS
from training.pytorch.tracking import track


def test_numbers_go_to_the_log_and_to_tensorboard(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with track(tmp_path / "events") as tracker:
        tracker.report({STEP_LOSS: 0.5, LEARNING_RATE: 0.005}, epoch=1, step=100)
        tracker.report({TRAIN_LOSS: 0.25}, epoch=1)
        tracker.report({TRAIN_LOSS: 0.125}, epoch=2)
    assert caplog.messages == [
        "epoch=1; step=100; step_loss=0.50000; learning_rate=0.00500000",
        "epoch=1; train_loss=0.25000",
        "epoch=2; train_loss=0.12500",
    ]
    events = EventAccumulator(str(tmp_path / "events")).Reload()
    assert sorted(events.Tags()["scalars"]) == [
        "train:learning_rate",
        "train:loss",
        "train:step_loss",
    ]
    assert [(event.step, event.value) for event in events.Scalars("train:loss")] == [
        (1, 0.25),
        (2, 0.125),
    ]
    assert [(event.step, event.value) for event in events.Scalars("train:step_loss")] == [
        (100, 0.5)
    ]


def test_other_ranks_are_silent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with track(None) as tracker:
        tracker.report({TRAIN_LOSS: 0.25}, epoch=1)
    assert not caplog.messages
    assert not list(tmp_path.iterdir())


def test_tensorflow_is_not_imported(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path;"
        "from training.contract.metrics import TRAIN_LOSS;"
        "from training.pytorch.tracking import track\n"
        "with track(Path(sys.argv[1])) as tracker: tracker.report({TRAIN_LOSS: 1.0}, epoch=1)\n"
        "print('tensorflow' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    assert done.stdout.strip() == "False"
    assert len(list(tmp_path.iterdir())) == 1
