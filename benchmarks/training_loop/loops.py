"""The loops that are compared, each an epoch of equal steps with one and the same model."""

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from training.contract.attendance import Attendance
from training.contract.breakpoints import Breakpoints
from training.contract.hyperparameters import TrainingHyperparameters
from training.pytorch.checkpoint import keep
from training.pytorch.loop import Learner, train_epoch
from training.pytorch.pace import Pace
from training.pytorch.ranks import Ranks
from training.pytorch.task import Encoded
from training.pytorch.tasks import make_task
from training.records import Batch, LoaderSettings, RecordLoader, agree, find_shards


class Loops:
    """One rank's."""

    def __init__(
        self, settings: TrainingHyperparameters, rank: int, ranks: int, shards: Path
    ) -> None:
        """Make the model, and encode the rank's batches.

        Args:
            settings: of the training.
            rank: this one, the only one of its host.
            ranks: all of them.
            shards: folder of this rank's records.
        """
        self._ranks = Ranks(
            rank=rank,
            world_size=ranks,
            local_rank=0,
            local_world_size=1,
            device=torch.device("cpu"),
            # As under a launcher.
            attendance=Attendance(shards.with_suffix(".attendance")),
        )
        self._task = make_task(settings)
        self._learner = Learner.new(self._task, self._ranks, total_updates=1)
        self._pace = Pace(self._ranks, settings.log_every_steps, lambda _: None)
        found = find_shards(shards)
        loader_settings = LoaderSettings(batch_size=settings.batch_size, seed=0)
        self._loader = RecordLoader(
            found, settings=self._task.loader_settings(loader_settings, found), part=0, parts=1
        )
        # It remarks that there is no folder for checkpoints, as is meant here.
        logging.getLogger("training.checkpoints").setLevel(logging.ERROR)
        self._keeping = keep(
            self._learner,
            self._loader,
            self._ranks,
            folder=shards / "no-checkpoints",
            host=f"algo-{rank + 1}",
            breakpoints=Breakpoints(None, rank),
        )
        self._encoded = list(self._task.encode_ahead(self._loader.epoch(0)))

    def bare(self) -> None:
        """Take the steps on tensors in memory, and do nothing else."""
        model, optimizer = self._learner.replica, self._learner.optimizer
        model.train()
        for _, inputs in self._encoded:
            loss = self._task.record_losses(model(inputs), inputs).mean()
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call] # torch leaves it without annotations
            optimizer.step()

    def in_memory(self) -> None:
        """Take the trainer's steps on the same tensors."""

        def given(_batches: Iterable[Batch]) -> Iterator[Encoded[Any]]:
            return iter(self._encoded)

        with mock.patch.object(self._task, "encode_ahead", given):
            self._train()

    def whole(self) -> None:
        """Take the trainer's steps with its data layer: agree, read, encode."""
        self._train()

    def _train(self) -> None:
        plan = agree(
            self._loader,
            epoch=0,
            host_rank=self._ranks.rank,
            all_gather=self._ranks.all_gather,
        )
        batches = self._loader.epoch(0)
        train_epoch(self._learner, batches, plan, self._ranks, self._keeping, self._pace)
