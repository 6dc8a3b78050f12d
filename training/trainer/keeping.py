"""The trainers' side of not losing anything: checkpoints, stops, and losses that are no numbers.

The rules are those of `training.checkpoints.Keeper`; here is what they act on.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from training.checkpoints import (
    CheckpointError,
    Found,
    Group,
    JobStoppedError,
    Keeper,
    KeeperSettings,
    Progress,
)
from training.contract.breakpoints import EVALUATION, SAVING, STEP, Breakpoints
from training.contract.hyperparameters import TrainingHyperparameters
from training.contract.stops import tell_stop
from training.records import Batch, EpochPlan
from training.trainer.kept import KeptTraining, LossT
from training.trainer.ranks import JobRanks
from training.trainer.stopping import StopFlag

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptJob:
    """The job whose training is kept."""

    framework: str
    settings: TrainingHyperparameters
    identity: Mapping[str, Any]
    """What else weights and order of records depend on, beside hyperparameters."""
    folder: Path
    """Of the checkpoints; where there is none, nothing is saved."""
    host: str
    """This one."""
    found: Found | None = None
    """The checkpoint to go on with; None: nobody has looked for it yet."""


class Keeping(Generic[LossT]):
    """Keeps one training. All ranks call it alike."""

    def __init__(
        self,
        kept: KeptTraining[LossT],
        ranks: JobRanks,
        job: KeptJob,
        breakpoints: Breakpoints,
        seed_epoch: Callable[[int], None] = lambda _epoch: None,
    ) -> None:
        """Take over SIGTERM, which from now on ends the training between two steps.

        Args:
            kept: what of this rank is kept.
            ranks: this process among all.
            job: the same on all ranks, but for the host.
            breakpoints: told where the training is.
            seed_epoch: seeds random generators at the start of an epoch.
        """
        self._job = job
        self._ranks = ranks
        self._breakpoints = breakpoints
        self._kept = kept
        self._seed_epoch = seed_epoch
        flag = StopFlag()
        flag.install()
        self._keeper = Keeper(
            KeeperSettings(
                root=job.folder,
                framework=job.framework,
                identity={**job.settings.course, **job.identity},
                keep=job.settings.keep_checkpoints,
                every_s=job.settings.checkpoint_every_s,
            ),
            Group(
                rank=ranks.rank,
                local_rank=ranks.local_rank,
                host=job.host,
                all_gather=ranks.all_gather,
            ),
            kept,
            is_told_to_stop=flag.is_told,
            saving=lambda step: breakpoints.reach(SAVING, step),
        )

    @property
    def progress(self) -> Progress:
        """How far the training has come."""
        return self._keeper.progress

    def epochs(self) -> Iterator[int]:
        """Go on from the newest checkpoint; the epochs that are left, the interrupted one first.

        Raises:
            CheckpointError: it is of another training, or has come further than this one is to.
            StateError: the records of the interrupted epoch are not there any more.
        """
        self._keeper.restore(self._job.found)
        self._refuse_too_far()
        while self.progress.epoch < self._job.settings.epochs:
            epoch = self.progress.epoch
            if self._keeper.resumed:
                self._kept.resume_epoch(self._keeper.resumed)
                self._keeper.resumed = ()
            elif not self.progress.is_trained:
                self._kept.begin_epoch()
                self._seed_epoch(epoch)
            yield epoch

    def _refuse_too_far(self) -> None:
        """Refuse to call a model one of fewer epochs than it was trained for."""
        epochs, progress = self._job.settings.epochs, self.progress
        begun = progress.epoch + (progress.records > 0 or progress.is_trained)
        if begun > epochs:
            raise CheckpointError(
                f"The checkpoint of step {progress.step} in {self._job.folder} has come to epoch "
                f"{begun}, and epochs is {epochs}. Set it to {begun} or more, or give the new "
                "training a checkpoint prefix of its own."
            )

    def part_done(self, loss: LossT, batch: Batch | None) -> None:
        """Note a batch that is not the last one of an optimizer update; see `step_done`."""
        self._kept.step_done(self.progress.step + 1, loss, batch)

    def step_done(self, records: int, loss: LossT, batch: Batch | None) -> None:
        """Count one optimizer update.

        Args:
            records: of all ranks, in all batches of the update.
            loss: sum over this rank's records in the update's last batch.
            batch: the last one, of this rank; None: it had none left.

        Raises:
            JobStoppedError, FloatingPointError, CheckpointError: on all ranks alike, see Keeper.
        """
        step = self.progress.step + 1
        self._kept.step_done(step, loss, batch)
        self._breakpoints.reach(STEP, step)
        self._keeper.step_done(records)

    def records_per_rank(self, plan: EpochPlan) -> Sequence[int]:
        """Records of each rank in the whole epoch, given the plan of what was left of it."""
        return self._kept.records_per_rank(plan)

    def trained(self) -> None:
        """Note that all steps of the epoch are done. Raises as `step_done` does."""
        self._keeper.trained(self._kept.losses.total_of_ranks() / self.progress.records)
        self._breakpoints.reach(EVALUATION, self.progress.epoch)

    def batch_validated(self) -> None:
        """Note that one batch of the validation is done. Raises as `step_done` does."""
        self._keeper.validating()

    def validated(self) -> None:
        """Note that the epoch is done, and save. Raises as `step_done` does."""
        self._keeper.validated()

    @contextmanager
    def until_stopped(self) -> Iterator[None]:
        """Leave the block when the job is told to stop, and let this host's launcher know."""
        try:
            yield
        except JobStoppedError as stopped:
            if not tell_stop(stopped.stop) and self._ranks.rank == 0:
                _LOG.info("%s", str(stopped).capitalize())
