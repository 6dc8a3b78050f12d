"""Writing checkpoints: every rank its own files, the index last, old ones away."""

import logging
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from training.checkpoints.errors import CheckpointError
from training.checkpoints.group import Group
from training.checkpoints.index import CheckpointIndex, WrittenFile, saved_steps, step_folder

logger = logging.getLogger(__name__)

Write = Callable[[Path], Sequence[Path]]
"""Writes this rank's files into a folder that exists, under names that no other rank uses, and
returns their paths; called on all ranks at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What is to be written, apart from tensors."""

    step: int
    """Optimizer updates so far, over all epochs."""
    progress: Mapping[str, Any]
    """Equal on all ranks."""
    of_rank: Mapping[str, Any]
    """What this rank has to say for itself."""


@dataclass(slots=True, kw_only=True)
class CheckpointWriter:
    """Writes a job's checkpoints. Its methods are called on all ranks alike."""

    root: Path
    group: Group
    framework: str
    identity: Mapping[str, Any]
    """The hyperparameters that weights and order of records depend on."""
    keep: int
    """Checkpoints to keep, 1 or more."""
    complete: list[int] = field(default_factory=list)
    """Steps of the complete checkpoints in the folder, the newest first; the chief's counts."""

    def save(self, snapshot: Snapshot, write: Write) -> None:
        """Write a checkpoint, then delete those that are one too many.

        A step that has a complete checkpoint already is not written again: its files would be torn
        for a while.

        Raises:
            CheckpointError: on all ranks alike: names the rank that could not write, and why.
        """
        if self.complete and self.complete[0] == snapshot.step:
            return
        folder = step_folder(self.root, snapshot.step)
        said = self.group.tell_all(_attempt(lambda: self._write_own(folder, snapshot, write)))
        self._refuse_failures(snapshot.step, said)
        said = self.group.tell_all(_attempt(lambda: self._write_index(folder, snapshot, said)))
        self._refuse_failures(snapshot.step, said)
        self.complete = list(said[0]["complete"])
        if self.group.is_first_of_host:
            self._delete_old(said[0]["complete"])

    def _write_own(self, folder: Path, snapshot: Snapshot, write: Write) -> dict[str, Any]:
        folder.mkdir(parents=True, exist_ok=True)
        files = [asdict(WrittenFile.of(path)) for path in write(folder)]
        return {"files": files, "of_rank": dict(snapshot.of_rank), "host": self.group.host}

    def _write_index(
        self, folder: Path, snapshot: Snapshot, said: Sequence[Mapping[str, Any]]
    ) -> dict[str, Any]:
        if not self.group.is_chief:
            return {}
        CheckpointIndex(
            step=snapshot.step,
            framework=self.framework,
            identity=self.identity,
            progress=snapshot.progress,
            ranks=[of_rank["of_rank"] for of_rank in said],
            files=[WrittenFile(**file) for of_rank in said for file in of_rank["files"]],
        ).write(folder)
        return {"complete": [snapshot.step, *self.complete][: self.keep]}

    def _refuse_failures(self, step: int, said: Sequence[Mapping[str, Any]]) -> None:
        for rank, of_rank in enumerate(said):
            if "failed" in of_rank:
                raise CheckpointError(
                    f"Rank {rank} could not write the checkpoint of step {step} into {self.root}: "
                    f"{of_rank['failed']}. Give the job a larger volume, or set keep_checkpoints "
                    f"(now {self.keep}) lower."
                )

    def _delete_old(self, kept: Sequence[int]) -> None:
        """Delete the older checkpoints that are not to be kept, torn ones included.

        What is deleted here SageMaker deletes in S3 too.
        """
        for step in saved_steps(self.root):
            if step < kept[0] and step not in kept:
                shutil.rmtree(step_folder(self.root, step), onerror=_remark)


def _attempt(act: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Do something that may fail on this rank alone, in a way that all ranks can be told of."""
    try:
        return act()
    except OSError as error:
        return {"failed": str(error)}


def _remark(_function: object, path: str, _error: object) -> None:
    logger.warning("%s could not be deleted; it is no longer needed.", path)
