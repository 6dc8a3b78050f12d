"""What a rank of the trainer keeps in a checkpoint, and how it takes it over again.

Every rank writes what is its own: buffers, such as the statistics of batch normalizations, and the
states of random generators. With ddp, weights and the state of the optimizer are equal on all
ranks: rank 0 alone writes them. With fsdp every rank writes its shards of them, in the format of
torch.distributed.checkpoint, which any other number of ranks can read.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.checkpoints import NO_TROUBLE
from training.contract.breakpoints import Breakpoints
from training.contract.layout import PYTORCH
from training.pytorch.loop import Learner
from training.pytorch.random_states import random_states, restore_random_states, seed_epoch
from training.pytorch.ranks import Ranks
from training.pytorch.schedule import go_on
from training.pytorch.sharded_checkpoint import read_shards, write_shards
from training.records import RecordLoader
from training.trainer.keeping import Keeping, KeptJob
from training.trainer.kept import KeptTraining


def rank_file(folder: Path, rank: int) -> Path:
    """Where a rank's tensors lie."""
    return folder / f"rank-{rank:05}.pt"


class LearnerTensors:
    """The tensors of a learner. Implements `training.trainer.kept.Tensors`."""

    def __init__(self, learner: Learner, ranks: Ranks) -> None:
        self._learner = learner
        self._ranks = ranks

    def write(self, folder: Path) -> Sequence[Path]:
        """Write this rank's file.

        Raises:
            OSError: it cannot be written.
        """
        learner = self._learner
        # All ranks fail in this or none: later, those that go on would wait for one that does not.
        with self._ranks.attendance.waiting(when=learner.is_sharded):
            shards = write_shards(learner, self._ranks, folder) if learner.is_sharded else ()
        content: dict[str, Any] = {
            "buffers": dict(learner.model.named_buffers()),
            "random": random_states(self._ranks.device),
            # Equal on all ranks.
            "schedule": learner.schedule.state_dict(),
            "scaler": learner.precision.scaler.state_dict(),
        }
        if self._ranks.is_chief and not learner.is_sharded:
            content["model"] = learner.model.state_dict()
            content["optimizer"] = learner.optimizer.state_dict()
        path = rank_file(folder, self._ranks.rank)
        try:
            with path.open("wb") as file:
                torch.save(content, file)
        except RuntimeError as error:
            # Of a write that fails, torch tells the consequence only.
            if isinstance(error.__context__, OSError):
                raise error.__context__ from error
            raise
        return [path, *shards]

    def read(self, folder: Path, ranks: int) -> None:
        """Take over weights and optimizer and, where there was a rank of this number, its own."""
        learner, device = self._learner, self._ranks.device
        chief = _load(rank_file(folder, 0), device)
        if learner.is_sharded:
            with self._ranks.attendance.waiting():
                read_shards(learner, folder)
        else:
            learner.model.load_state_dict(chief["model"])
            learner.optimizer.load_state_dict(chief["optimizer"])
        go_on(learner.schedule, chief["schedule"])
        if chief["scaler"]:  # else it computed without one: mixed_precision=auto asks the GPU
            learner.precision.scaler.load_state_dict(chief["scaler"])
        rank = self._ranks.rank
        if rank < ranks:
            own = chief if rank == 0 else _load(rank_file(folder, rank), device)
            for name, buffer in learner.model.named_buffers():
                buffer.copy_(own["buffers"][name])
            restore_random_states(own["random"], device)


class EpochLosses:
    """The losses of this rank in an epoch. Implements `training.trainer.kept.Losses`.

    They are looked at many at a time: one by one would cost every step a few small operations.
    """

    def __init__(self, ranks: Ranks) -> None:
        self._ranks = ranks
        self._sum = torch.zeros((), dtype=torch.float64, device=ranks.device)
        self._recent: list[tuple[int, Tensor]] = []
        self._bad_batch = NO_TROUBLE

    def add(self, number: int, loss: Tensor) -> None:
        """Add the sum over this rank's records in a batch, shape ()."""
        self._recent.append((number, loss))

    def total(self) -> float:
        """The sum over the epoch's steps."""
        self._look()
        return float(self._sum)

    def total_of_ranks(self) -> float:
        """The same, added over all ranks."""
        self._look()
        (total,) = self._ranks.sum(self._sum.reshape(1))
        return total

    def restart(self, total: float) -> None:
        """Begin with a sum."""
        self._look()
        self._sum.fill_(total)

    def first_bad(self) -> int:
        """The first of the batches since the last call whose loss is not finite."""
        self._look()
        number, self._bad_batch = self._bad_batch, NO_TROUBLE
        return number

    def _look(self) -> None:
        if not self._recent:
            return
        losses = torch.stack([loss for _, loss in self._recent])
        self._sum += losses.sum(dtype=torch.float64)
        finite = losses.isfinite()
        if self._bad_batch == NO_TROUBLE and not finite.all():
            self._bad_batch, _ = self._recent[int((~finite).nonzero()[0])]
        self._recent.clear()


def keep(
    learner: Learner,
    train_data: RecordLoader,
    ranks: Ranks,
    *,
    folder: Path,
    host: str,
    breakpoints: Breakpoints,
) -> Keeping[Tensor]:
    """Make what saves a training, lets it go on, and ends it when the job is told to stop.

    Args:
        learner: what is trained.
        train_data: this rank's records.
        ranks: this process among all.
        folder: of the checkpoints; where there is none, nothing is saved.
        host: this one's name.
        breakpoints: told where the training is.
    """
    settings = learner.task.settings
    job = KeptJob(framework=PYTORCH, settings=settings, identity={}, folder=folder, host=host)
    tensors, losses = LearnerTensors(learner, ranks), EpochLosses(ranks)
    kept = KeptTraining(tensors, losses, train_data, ranks, settings)
    return Keeping(
        kept, ranks, job, breakpoints, lambda epoch: seed_epoch(settings.seed, epoch, ranks.rank)
    )


def _load(path: Path, device: torch.device) -> dict[str, Any]:
    content: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    return content
