"""A training that loses nothing: it goes on from a checkpoint, writes others, stops when told.

The trainer says what it has done (`step_done`, `validating`, `trained`, `validated`), on all ranks
alike; the keeper decides with the other ranks whether that is the moment to save or to stop.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from training.checkpoints.group import Group
from training.checkpoints.identity import check_identity
from training.checkpoints.index import step_folder
from training.checkpoints.progress import Progress
from training.checkpoints.pulse import NO_TROUBLE, NOTHING, TRAINING, VALIDATION, Orders, Pulse
from training.checkpoints.restoring import Found, find_checkpoint
from training.checkpoints.saving import CheckpointWriter, Snapshot
from training.contract.stops import Stop

logger = logging.getLogger(__name__)


class JobStoppedError(Exception):
    """All ranks stop here, as agreed. No failure: a stop is what was wanted."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(str(stop))
        self.stop = stop


class Kept(Protocol):
    """What a framework has to keep; its methods are called on all ranks alike."""

    def write(self, folder: Path) -> Sequence[Path]:
        """Write this rank's tensors into a folder, under names that no other rank uses."""

    def read(self, folder: Path, ranks: int) -> None:
        """Take over what the ranks of a checkpoint, so many, wrote into a folder."""

    def of_rank(self) -> Mapping[str, Any]:
        """What this rank has to say for itself in the middle of an epoch: what JSON can hold."""

    def trouble(self) -> int:
        """The first batch since the last question whose loss is not finite, or NO_TROUBLE.

        Returns:
            Its number: larger for later ones, also among ranks.
        """

    def describe_trouble(self, number: int) -> str:
        """Say more of that batch: its step, and the shards it is from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeeperSettings:
    """Where checkpoints lie and how often they are written; the same on every rank."""

    root: Path
    """Where there is no such folder, nothing is saved."""
    framework: str
    identity: Mapping[str, Any]
    """The hyperparameters that weights and order of records depend on."""
    keep: int
    """Checkpoints to keep, 1 or more."""
    every_s: float
    """Seconds between two of them, by the chief's clock."""


class Keeper:
    """Keeps one job's progress.

    Attributes:
        progress: what is done.
        resumed: what the ranks of the checkpoint said for themselves, in rank order, where the
            training goes on in the middle of an epoch; else ().
    """

    def __init__(
        self,
        settings: KeeperSettings,
        group: Group,
        kept: Kept,
        *,
        is_told_to_stop: Callable[[], bool],
        saving: Callable[[int], None] = lambda _step: None,
    ) -> None:
        """Make the keeper of a training that begins or goes on.

        Args:
            settings: the same on every rank.
            group: this rank among all.
            kept: this rank's.
            is_told_to_stop: whether this process was told.
            saving: called with the step when this rank's files are written and no index is.
        """
        self.progress = Progress()
        self.resumed: Sequence[Mapping[str, Any]] = ()
        self._settings = settings
        self._group = group
        self._kept = kept
        self._saving = saving
        said = group.tell_all({"host": group.host, "has_folder": settings.root.is_dir()})
        self._hosts = [of_rank["host"] for of_rank in said]
        self._writer = CheckpointWriter(
            root=settings.root,
            group=group,
            framework=settings.framework,
            identity=settings.identity,
            keep=settings.keep,
        )
        self._without = sorted({rank["host"] for rank in said if not rank["has_folder"]})
        if self._without and group.is_chief:
            logger.warning(_NO_FOLDER, settings.root, ", ".join(self._without))
        self._pulse = Pulse(
            all_gather=group.all_gather,
            is_told_to_stop=is_told_to_stop,
            save_every_s=settings.every_s,
            trouble=kept.trouble,
        )

    def restore(self, found: Found | None = None) -> None:
        """Go on from the newest complete checkpoint, if there is one.

        Args:
            found: where the ranks have looked for it already; None: they have not.

        Raises:
            CheckpointError: it is of another training.
        """
        root = self._settings.root
        index = (found or find_checkpoint(root, self._group)).index
        if index is None:
            return
        check_identity(
            index,
            framework=self._settings.framework,
            identity=self._settings.identity,
            where=str(root),
        )
        self._kept.read(step_folder(root, index.step), len(index.ranks))
        self._writer.complete = [index.step]
        self.progress = Progress.from_json(index.progress)
        in_the_middle = self.progress.records > 0 and not self.progress.is_trained
        self.resumed = index.ranks if in_the_middle else ()
        if self.progress.is_trained:
            self._pulse.turn_to(VALIDATION)
        if self._group.is_chief:
            logger.info(_RESUMED, index.step, self.progress.epoch + 1, self.progress.records)

    def step_done(self, records: int) -> None:
        """Count one update; maybe save or stop.

        Args:
            records: of all ranks in this step.

        Raises:
            JobStoppedError: on all ranks alike: one of them was told to stop.
            FloatingPointError: on all ranks alike: a loss is not finite.
            CheckpointError: on all ranks alike: a rank could not write.
        """
        self.progress.step_done(records)
        self._follow(self._pulse.beat())

    def trained(self, train_loss: float) -> None:
        """Note that all steps of the epoch are done. Raises as `step_done` does."""
        self.progress.trained(train_loss)
        orders = self._pulse.ask()
        self._pulse.turn_to(VALIDATION)
        self._follow(orders)

    def validating(self) -> None:
        """Say that a batch of the validation is done, of equally many on all ranks.

        Raises:
            JobStoppedError, CheckpointError: as `step_done` does.
        """
        self._follow(self._pulse.beat())

    def validated(self) -> None:
        """Note that the epoch is done, and save. Raises as `step_done` does."""
        self.progress.validated()
        orders = self._pulse.ask()
        self._pulse.turn_to(TRAINING)
        self._save()
        self._follow(orders)

    def _follow(self, orders: Orders) -> None:
        if orders is NOTHING:
            return
        if any(trouble != NO_TROUBLE for trouble in orders.troubles):
            self._refuse_trouble(orders.troubles)
        if orders.stop or orders.save:
            is_saved = self._save()
        if orders.stop:
            told = tuple(sorted({self._hosts[rank] for rank in orders.told}))
            raise JobStoppedError(Stop(told=told, step=self.progress.step, is_saved=is_saved))

    def _save(self) -> bool:
        """Write a checkpoint where there is a folder for it; return whether there is."""
        if self._without:
            return False
        progress = self.progress
        in_the_middle = progress.records > 0 and not progress.is_trained
        snapshot = Snapshot(
            step=progress.step,
            progress=progress.to_json(),
            of_rank=self._kept.of_rank() if in_the_middle else {},
        )
        self._writer.save(snapshot, self._write)
        self._pulse.saved()
        return True

    def _write(self, folder: Path) -> Sequence[Path]:
        files = self._kept.write(folder)
        self._saving(self.progress.step)
        return files

    def _refuse_trouble(self, troubles: Sequence[int]) -> None:
        """Raise what the first rank says of the first batch with trouble."""
        number = min(trouble for trouble in troubles if trouble != NO_TROUBLE)
        rank = troubles.index(number)
        mine = self._kept.describe_trouble(number) if self._group.rank == rank else ""
        raise FloatingPointError(self._group.tell_all(mine)[rank])


_NO_FOLDER = (
    "There is no folder %s on %s, so no checkpoint is written: a training that is stopped or lost "
    "begins anew. Give the training job a CheckpointConfig."
)
_RESUMED = "Going on from the checkpoint of step %d: epoch %d, of which %d records are used."
