"""What a rank of the trainer keeps in a checkpoint, and how it takes it over again.

Weights and the state of the optimizer are equal on all ranks: rank 0 alone writes them. Every rank
writes what is its own: buffers, such as the statistics of batch normalizations, and the states of
random generators.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from training.checkpoints import NO_TROUBLE
from training.pytorch.loop import Learner
from training.pytorch.random_states import random_states, restore_random_states
from training.pytorch.ranks import Ranks
from training.records import Batch, EpochPlan, RecordLoader


def rank_file(folder: Path, rank: int) -> Path:
    """Where a rank's tensors lie."""
    return folder / f"rank-{rank:05}.pt"


class KeptTraining:
    """What the keeper keeps of this rank. Implements `training.checkpoints.Kept`.

    Attributes:
        loss_sum: of the epoch's records of this rank so far, shape (), float64.
    """

    def __init__(self, learner: Learner, train_data: RecordLoader, ranks: Ranks) -> None:
        self._learner = learner
        self._train_data = train_data
        self._ranks = ranks
        self.loss_sum = torch.zeros((), dtype=torch.float64, device=ranks.device)
        self._recent: list[tuple[int, Tensor, Batch | None]] = []
        self._own_records = 0
        self._records_before: Sequence[int] = ()

    def step_done(self, step: int, loss: Tensor, batch: Batch | None) -> None:
        """Note a step; costs no synchronization with the device.

        Args:
            step: optimizer updates done, this one included.
            loss: sum over the rank's records, shape (), maybe not finite.
            batch: of this rank; None: it had none left.
        """
        self.loss_sum += loss
        self._own_records += len(batch) if batch is not None else 0
        # Without its records: only where they came from.
        self._recent.append((step, loss, batch.with_data(None) if batch is not None else None))

    def write(self, folder: Path) -> Sequence[Path]:
        """Write this rank's file.

        Raises:
            OSError: it cannot be written.
        """
        learner = self._learner
        content: dict[str, Any] = {
            "buffers": dict(learner.model.named_buffers()),
            "random": random_states(self._ranks.device),
        }
        if self._ranks.is_chief:
            content["model"] = learner.model.state_dict()
            content["optimizer"] = learner.optimizer.state_dict()
        path = rank_file(folder, self._ranks.rank)
        with path.open("wb") as file:
            torch.save(content, file)
        return [path]

    def read(self, folder: Path, ranks: int) -> None:
        """Take over weights and optimizer and, where there was a rank of this number, its own."""
        learner, device = self._learner, self._ranks.device
        chief = _load(rank_file(folder, 0), device)
        learner.model.load_state_dict(chief["model"])
        learner.optimizer.load_state_dict(chief["optimizer"])
        rank = self._ranks.rank
        if rank < ranks:
            own = chief if rank == 0 else _load(rank_file(folder, rank), device)
            for name, buffer in learner.model.named_buffers():
                buffer.copy_(own["buffers"][name])
            restore_random_states(own["random"], device)

    def of_rank(self) -> Mapping[str, Any]:
        """The state of this rank's data, and its part of the epoch's sums."""
        return {
            "data": self._train_data.state_dict(),
            "records": self._own_records,
            "loss_sum": float(self.loss_sum),
        }

    def begin_epoch(self) -> None:
        """Nothing of the epoch is summed up yet."""
        self.loss_sum.zero_()
        self._own_records, self._records_before = 0, ()

    def resume_epoch(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Go on in the middle of an epoch.

        Args:
            said: what `of_rank` returned on all ranks of the interrupted job.

        Raises:
            StateError: the data is not that of the interrupted job.
        """
        self._train_data.load_state_dict([of_rank["data"] for of_rank in said])
        total = sum(of_rank["loss_sum"] for of_rank in said)
        self.loss_sum.fill_(total if self._ranks.is_chief else 0.0)
        before = [int(of_rank["records"]) for of_rank in said]
        # Of ranks that are no more, the chief counts the records as its own.
        same, gone = before[: self._ranks.world_size], before[self._ranks.world_size :]
        self._records_before = [same[0] + sum(gone), *same[1:]]
        rank = self._ranks.rank
        self._own_records = self._records_before[rank] if rank < len(same) else 0

    def records_per_rank(self, plan: EpochPlan) -> Sequence[int]:
        """Records of each rank in the whole epoch, given the plan of what was left of it."""
        before = [*self._records_before, *[0] * len(plan.counts)]
        return [done + left for done, left in zip(before, plan.counts, strict=False)]

    def trouble(self) -> int:
        """The first of the steps since the last call whose loss is not finite."""
        if not self._recent:
            return NO_TROUBLE
        finite = torch.stack([loss for _, loss, _ in self._recent]).isfinite()
        if finite.all():
            self._recent.clear()
            return NO_TROUBLE
        return self._recent[int((~finite).nonzero()[0])][0]

    def describe_trouble(self, step: int) -> str:
        """Say which records the batch of a step began and ended with."""
        batch = next(batch for number, _, batch in self._recent if number == step)
        where = "without records of its own"
        if batch is not None:
            where = f"{batch.locate(0)} to {batch.locate(len(batch) - 1)}"
        return (
            f"The training loss of step {step} is not finite on rank {self._ranks.rank} (its batch:"
            f" {where}): a record holds what the model cannot take, or the weights have run away. "
            f"learning_rate is {self._learner.task.settings.learning_rate:g}; take a tenth of it."
        )


def _load(path: Path, device: torch.device) -> dict[str, Any]:
    content: dict[str, Any] = torch.load(path, map_location=device, weights_only=True)
    return content
