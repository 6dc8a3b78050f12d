"""What every trainer keeps of a rank in a checkpoint: the state of its data, and its sums."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from training.checkpoints import NO_TROUBLE
from training.contract.hyperparameters import TrainingHyperparameters
from training.records import Batch, EpochPlan, RecordLoader
from training.trainer.ranks import JobRanks

LossT = TypeVar("LossT")
_LossT_contra = TypeVar("_LossT_contra", contravariant=True)


class Tensors(Protocol):
    """A framework's weights, optimizer and whatever else is made of tensors."""

    def write(self, folder: Path) -> Sequence[Path]:
        """Write this rank's into a folder, under names that no other rank uses.

        Raises:
            OSError: they cannot be written.
        """
        ...

    def read(self, folder: Path, ranks: int) -> None:
        """Take over what the ranks of a checkpoint, so many, wrote into a folder."""
        ...


class Losses(Protocol[_LossT_contra]):
    """The losses of this rank in an epoch, as a framework computes them."""

    def add(self, number: int, loss: _LossT_contra) -> None:
        """Add the sum over this rank's records in a batch; costs no wait for the device.

        Args:
            number: of the batch, larger for later ones.
            loss: the sum.
        """
        ...

    def total(self) -> float:
        """The sum over the epoch's steps."""
        ...

    def total_of_ranks(self) -> float:
        """The same, added over all ranks; all call it."""
        ...

    def restart(self, total: float) -> None:
        """Begin with a sum."""
        ...

    def first_bad(self) -> int:
        """The first batch since the last call whose loss is not finite, or NO_TROUBLE."""
        ...


class KeptTraining(Generic[LossT]):
    """What the keeper keeps of this rank. Implements `training.checkpoints.Kept`."""

    def __init__(
        self,
        tensors: Tensors,
        losses: Losses[LossT],
        train_data: RecordLoader,
        ranks: JobRanks,
        settings: TrainingHyperparameters,
    ) -> None:
        self.losses = losses
        self.write = tensors.write
        self.read = tensors.read
        self._train_data = train_data
        self._ranks = ranks
        self._settings = settings
        # Batches of one update have numbers of their own: step x batches + which of them.
        self._batches = settings.gradient_accumulation_steps
        self._last_number = -1
        self._recent: dict[int, Batch] = {}
        self._own_records = 0
        self._records_before: Sequence[int] = ()

    def step_done(self, step: int, loss: LossT, batch: Batch | None) -> None:
        """Note a batch.

        Args:
            step: optimizer updates done, the one that it is part of included.
            loss: sum over the rank's records, maybe not finite.
            batch: of this rank; None: it had none left.
        """
        number = max(step * self._batches, self._last_number + 1)
        self._last_number = number
        self.losses.add(number, loss)
        self._own_records += len(batch) if batch is not None else 0
        # Without its records: only where they came from.
        if batch is not None:
            self._recent[number] = batch.with_data(None)

    def trouble(self) -> int:
        """The first batch since the last call whose loss is not finite, or NO_TROUBLE."""
        bad_batch = self.losses.first_bad()
        if bad_batch == NO_TROUBLE:
            self._recent.clear()
        return bad_batch

    def of_rank(self) -> Mapping[str, Any]:
        """The state of this rank's data, and its part of the epoch's sums."""
        return {
            "data": self._train_data.state_dict(),
            "records": self._own_records,
            "loss_sum": self.losses.total(),
        }

    def begin_epoch(self) -> None:
        """Nothing of the epoch is summed up yet."""
        self.losses.restart(0.0)
        self._own_records, self._records_before = 0, ()

    def resume_epoch(self, said: Sequence[Mapping[str, Any]]) -> None:
        """Go on in the middle of an epoch.

        Args:
            said: what `of_rank` returned on all ranks of the interrupted job.

        Raises:
            StateError: the data is not that of the interrupted job.
        """
        self._train_data.load_state_dict([of_rank["data"] for of_rank in said])
        rank, world_size = self._ranks.rank, self._ranks.world_size
        self.losses.restart(sum(of_rank["loss_sum"] for of_rank in said) if rank == 0 else 0.0)
        before = [int(of_rank["records"]) for of_rank in said]
        # Of ranks that are no more, the chief counts the records as its own.
        same, gone = before[:world_size], before[world_size:]
        self._records_before = [same[0] + sum(gone), *same[1:]]
        self._own_records = self._records_before[rank] if rank < len(same) else 0

    def records_per_rank(self, plan: EpochPlan) -> Sequence[int]:
        """Records of each rank in the whole epoch, given the plan of what was left of it."""
        # With uneven=drop, ranks that hold more leave the rest.
        before = [*self._records_before, *[0] * len(plan.counts)]
        at_most = plan.steps * plan.batch_size
        return [done + min(left, at_most) for done, left in zip(before, plan.counts, strict=False)]

    def describe_trouble(self, number: int) -> str:
        """Say which records a batch began and ended with."""
        step, part = divmod(number, self._batches)
        of_update = f", batch {part + 1} of its {self._batches}," if self._batches > 1 else ""
        batch = self._recent.get(number)
        where = "without records of its own"
        if batch is not None:
            where = f"{batch.locate(0)} to {batch.locate(len(batch) - 1)}"
        return (
            f"The training loss of step {step}{of_update} is not finite on rank {self._ranks.rank} "
            f"(its batch: {where}): a record holds what the model cannot take, or the weights have "
            f"run away. learning_rate is {self._settings.learning_rate:g}; take a tenth of it."
        )
