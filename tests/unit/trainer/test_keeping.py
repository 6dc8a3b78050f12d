"""A whole training of one rank, as the trainers' loops keep it."""

import os
import signal
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from tests.unit.trainer.toys import Numbers, Rank
from training.checkpoints import CheckpointError, JobStoppedError
from training.checkpoints.index import saved_steps
from training.contract.breakpoints import Breakpoints
from training.contract.hyperparameters import TrainingHyperparameters
from training.records import LoaderSettings, RecordLoader, find_shards
from training.trainer.keeping import Keeping, KeptJob
from training.trainer.kept import KeptTraining

STEPS = 5


@pytest.fixture(autouse=True)
def sigterm() -> Iterator[None]:
    """Keeping takes the signal over."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


class Training:
    """One that goes on from whatever a folder's checkpoints hold."""

    def __init__(self, folder: Path, epochs: int) -> None:
        (folder / "train").mkdir(exist_ok=True)
        (folder / "checkpoints").mkdir(exist_ok=True)
        (folder / "train" / "a.txt").write_text("line\n" * 2 * STEPS)
        settings = TrainingHyperparameters(epochs=epochs, checkpoint_every_s=1e9)
        self.loader = RecordLoader(
            find_shards(folder / "train"),
            settings=LoaderSettings(batch_size=2, seed=1),
            part=0,
            parts=1,
        )
        numbers, rank = Numbers(), Rank(0, 1)
        self.seeded: list[int] = []
        self.keeping = Keeping(
            KeptTraining(numbers, numbers, self.loader, rank, settings),
            rank,
            KeptJob(
                framework="toy",
                settings=settings,
                identity={},
                folder=folder / "checkpoints",
                host="algo-1",
            ),
            Breakpoints(None, 0),
            seed_epoch=self.seeded.append,
        )

    def run(self, before: Callable[[int, str], None] = lambda _epoch, _moment: None) -> list[int]:
        """Train all epochs; call `before` at the ends of their parts. Returns those that came."""
        came = []
        for epoch in islice(self.keeping.epochs(), 10):  # one that never ends comes again
            came.append(epoch)
            for batch in self.loader.epoch(epoch):
                before(epoch, "step")
                self.keeping.step_done(len(batch), 1.0, batch)
            before(epoch, "training")
            self.keeping.trained()
            self.keeping.batch_validated()
            before(epoch, "validation")
            self.keeping.validated()
        return came


def test_every_epoch_comes_once_is_seeded_and_saved(tmp_path: Path) -> None:
    newest = []

    def look(_epoch: int, moment: str) -> None:
        if moment == "training":
            newest.extend(saved_steps(tmp_path / "checkpoints")[:1])

    training = Training(tmp_path, 3)
    assert training.run(look) == training.seeded == [0, 1, 2]
    newest.extend(saved_steps(tmp_path / "checkpoints")[:1])
    assert newest == [STEPS, 2 * STEPS, 3 * STEPS]


def test_with_more_epochs_a_training_goes_on_with_those_that_are_left(tmp_path: Path) -> None:
    assert Training(tmp_path, 2).run() == [0, 1]
    again = Training(tmp_path, 2)
    assert again.run() == again.seeded == []
    assert again.keeping.progress.epoch == 2
    more = Training(tmp_path, 4)
    assert more.run() == more.seeded == [2, 3]
    assert saved_steps(tmp_path / "checkpoints")[0] == 4 * STEPS


@pytest.mark.parametrize("moment", ["step", "training", "validation"])
def test_a_model_of_more_epochs_is_not_called_one_of_fewer(tmp_path: Path, moment: str) -> None:
    def stop(*reached: int | str) -> None:
        if reached == (2, moment):
            os.kill(os.getpid(), signal.SIGTERM)

    with pytest.raises(JobStoppedError):
        Training(tmp_path, 5).run(stop)
    told = r"has come to epoch 3, and epochs is 2\. Set it to 3"
    with pytest.raises(CheckpointError, match=told):
        Training(tmp_path, 2).run()
    assert Training(tmp_path, 4).run()[0] == (3 if moment == "validation" else 2)
