"""What a training goes on with, and what it refuses to."""

import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from training.checkpoints import CheckpointError, JobStoppedError
from training.contract.breakpoints import Breakpoints
from training.contract.hyperparameters import TrainingHyperparameters
from training.trainer.keeping import Keeping, KeptJob


class Alone:
    """The only rank, and what it keeps: nothing."""

    rank = local_rank = 0
    world_size = local_world_size = 1

    def all_gather(self, numbers: Sequence[int]) -> list[list[int]]:
        return [[int(number) for number in numbers]]

    def begin_epoch(self) -> None:
        return

    def trouble(self) -> int:
        return -1

    def write(self, folder: Path) -> Sequence[Path]:
        file = folder / "rank-00000.txt"
        file.touch()
        return [file]

    def read(self, _folder: Path, _ranks: int) -> None:
        return

    def step_done(self, *_: object) -> None:
        return

    def of_rank(self) -> dict[str, int]:
        return {}

    losses: Any = SimpleNamespace(total_of_ranks=lambda: 1.0)


@pytest.fixture(autouse=True)
def signals() -> Iterator[None]:
    """A keeping takes SIGTERM over."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


def keeping(folder: Path, epochs: int) -> Keeping[float]:
    settings = TrainingHyperparameters(epochs=epochs, checkpoint_every_s=1e9)
    job = KeptJob(framework="toy", settings=settings, identity={}, folder=folder, host="algo-1")
    kept: Any = Alone()
    return Keeping(kept, Alone(), job, Breakpoints(None, 0))


def train(training: Keeping[float], stop_at: tuple[int, str] | None = None) -> None:
    """Train epochs of one step; tell it to stop at the end of a part of one."""
    for epoch in training.epochs():
        for moment, end in {
            "training": lambda: training.step_done(8, 1.0, None),
            "validation": training.trained,
            "done": training.validated,
        }.items():
            if (epoch, moment) == stop_at:
                os.kill(os.getpid(), signal.SIGTERM)
            end()


def test_a_training_that_is_done_has_nothing_left(tmp_path: Path) -> None:
    train(keeping(tmp_path, 2))
    again = keeping(tmp_path, 2)
    assert list(again.epochs()) == []
    assert again.progress.epoch == 2


@pytest.mark.parametrize("moment", ["training", "validation", "done"])
def test_a_model_of_more_epochs_is_not_called_one_of_fewer(tmp_path: Path, moment: str) -> None:
    with pytest.raises(JobStoppedError):
        train(keeping(tmp_path, 5), stop_at=(2, moment))
    told = r"has come to epoch 3, and epochs is 2\. Set it to 3"
    with pytest.raises(CheckpointError, match=told):
        list(keeping(tmp_path, 2).epochs())
    assert next(keeping(tmp_path, 4).epochs()) == (3 if moment == "done" else 2)
