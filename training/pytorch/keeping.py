"""The trainer's side of not losing anything: checkpoints, stops, and losses that are no numbers.

The rules are those of `training.checkpoints.Keeper`; here is what they act on.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from torch import Tensor

from training.checkpoints import Group, JobStoppedError, Keeper, KeeperSettings, Progress
from training.contract.breakpoints import EVALUATION, SAVING, STEP, Breakpoints
from training.contract.layout import PYTORCH
from training.contract.stops import tell_stop
from training.pytorch.checkpoint import KeptTraining
from training.pytorch.loop import Learner
from training.pytorch.random_states import seed_epoch
from training.pytorch.ranks import Ranks
from training.pytorch.stopping import StopFlag
from training.records import Batch, EpochPlan, RecordLoader

_LOG = logging.getLogger(__name__)


class Keeping:
    """Keeps one training. All ranks call it alike."""

    def __init__(
        self,
        learner: Learner,
        train_data: RecordLoader,
        ranks: Ranks,
        *,
        folder: Path,
        host: str,
        breakpoints: Breakpoints,
    ) -> None:
        """Take over SIGTERM, which from now on ends the training between two steps.

        Args:
            learner: what is trained.
            train_data: this rank's records.
            ranks: this process among all.
            folder: of the checkpoints; where there is none, nothing is saved.
            host: this host's name.
            breakpoints: told where the training is.
        """
        settings = learner.task.settings
        self._settings = settings
        self._ranks = ranks
        self._breakpoints = breakpoints
        self._kept = KeptTraining(learner, train_data, ranks)
        flag = StopFlag()
        flag.install()
        self._keeper = Keeper(
            KeeperSettings(
                root=folder,
                framework=PYTORCH,
                identity=settings.course,
                keep=settings.keep_checkpoints,
                every_s=settings.checkpoint_every_s,
            ),
            Group(
                rank=ranks.rank,
                local_rank=ranks.local_rank,
                host=host,
                all_gather=ranks.all_gather,
            ),
            self._kept,
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
            CheckpointError: it is of another training.
            StateError: the records of the interrupted epoch are not there any more.
        """
        self._keeper.restore()
        while self.progress.epoch < self._settings.epochs:
            epoch = self.progress.epoch
            if self._keeper.resumed:
                self._kept.resume_epoch(self._keeper.resumed)
                self._keeper.resumed = ()
            elif not self.progress.is_trained:
                self._kept.begin_epoch()
                seed_epoch(self._settings.seed, epoch, self._ranks.rank)
            yield epoch

    def step_done(self, records: int, loss: Tensor, batch: Batch | None) -> None:
        """Count one optimizer update.

        Args:
            records: of all ranks.
            loss: sum over this rank's records, shape ().
            batch: of this rank; None: it had none left.

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
        (total,) = self._ranks.sum(self._kept.loss_sum.reshape(1))
        self._keeper.trained(total / self.progress.records)
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
            if not tell_stop(stopped.stop) and self._ranks.is_chief:
                _LOG.info("%s", str(stopped).capitalize())
