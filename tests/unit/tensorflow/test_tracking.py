import logging
import subprocess
import sys
from pathlib import Path

import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from training.contract.metrics import STEP_LOSS, TRAIN_LOSS
from training.tensorflow.tracking import track


def test_numbers_go_to_the_log_and_to_tensorboard(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with track(tmp_path / "events") as tracker:
        tracker.report({STEP_LOSS: 0.5}, epoch=1, step=100)
        tracker.report({TRAIN_LOSS: 0.25}, epoch=1)
    assert caplog.messages == [
        "epoch=1; step=100; step_loss=0.50000",
        "epoch=1; train_loss=0.25000",
    ]
    events = EventAccumulator(str(tmp_path / "events")).Reload()
    metadata = events.SummaryMetadata("train:loss")
    assert metadata.plugin_data.plugin_name == "scalars"  # what TensorBoard draws as a curve
    told = {
        name: [
            (event.step, float(tf.make_ndarray(event.tensor_proto)))
            for event in events.Tensors(name)
        ]
        for name in events.Tags()["tensors"]
    }
    assert told == {"train:step_loss": [(100, 0.5)], "train:loss": [(1, 0.25)]}


def test_tensorboard_need_not_be_installed(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['tensorboard'] = None; from pathlib import Path;"
        "from training.contract.metrics import TRAIN_LOSS;"
        "from training.tensorflow.tracking import track\n"
        "with track(Path(sys.argv[1])) as tracker: tracker.report({TRAIN_LOSS: 0.25}, epoch=1)\n"
    )
    command = [sys.executable, "-c", program, str(tmp_path)]
    subprocess.run(command, capture_output=True, check=True, timeout=100)
    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.Tags()["tensors"] == ["train:loss"]


def test_other_ranks_are_silent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with track(None) as tracker:
        tracker.report({TRAIN_LOSS: 0.25}, epoch=1)
    assert not caplog.messages
    assert not list(tmp_path.iterdir())
