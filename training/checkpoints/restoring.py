"""Finding the checkpoint to go on with: the newest one that is complete on every host."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from training.checkpoints.errors import CheckpointError
from training.checkpoints.group import Group
from training.checkpoints.index import (
    CheckpointIndex,
    OtherReleaseError,
    WrittenFile,
    saved_steps,
    step_folder,
)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a training goes on with."""

    root: Path
    index: CheckpointIndex | None
    """The same on all ranks; None: the training begins anew."""

    @property
    def folder(self) -> Path:
        """Of the checkpoint; where there is none, of all."""
        return self.root if self.index is None else step_folder(self.root, self.index.step)


def find_checkpoint(root: Path, group: Group) -> Found:
    """Find what to go on with; called on all ranks alike, before anything is written."""
    # Where a host has no folder, nothing is saved either: the keeper says so.
    everywhere = all(group.tell_all(root.is_dir()))
    return Found(root=root, index=find_newest(root, group) if everywhere else None)


def find_newest(root: Path, group: Group) -> CheckpointIndex | None:
    """Find the newest complete checkpoint; called on all ranks alike, before anything is written.

    Every host looks at its own disk: a checkpoint counts if all hosts have all of its files, as
    they have after SageMaker restored them. The ranks of a host share the reading.

    Returns:
        The same on all ranks; None if there is none. A warning names each newer one that is torn.

    Raises:
        CheckpointError: on all ranks alike: another release wrote it. To begin anew beside it would
            throw away what it holds.
    """
    said = group.tell_all({"host": group.host, "steps": saved_steps(root)})
    ranks_of_host = [rank for rank, of_rank in enumerate(said) if of_rank["host"] == group.host]
    candidates = sorted({step for of_rank in said for step in of_rank["steps"]}, reverse=True)
    share = ranks_of_host.index(group.rank), len(ranks_of_host)
    for step in candidates:
        index, problem, is_foreign = _check(step_folder(root, step), share)
        told = group.tell_all({"problem": problem, "foreign": is_foreign})
        problems: list[str] = []
        foreign: list[str] = []
        for of_rank, of_it in zip(said, told, strict=True):
            if of_it["problem"] is not None:
                kind = foreign if of_it["foreign"] else problems
                kind.append(f"{of_rank['host']}: {of_it['problem']}")
        if foreign:
            raise CheckpointError(_FOREIGN.format(step, root, foreign[0]))
        if not problems:
            return index
        if group.is_chief:
            logger.warning(_TORN, step, root, "; ".join(dict.fromkeys(problems)))
    if candidates and group.is_chief:
        logger.warning("No checkpoint in %s is complete: the training begins anew.", root)
    return None


def _check(folder: Path, share: tuple[int, int]) -> tuple[CheckpointIndex | None, str | None, bool]:
    """Read a checkpoint's index and check this rank's share of its files.

    Returns:
        The index, None if it cannot be read; what is wrong, None if nothing is; whether that is
        only that another release wrote it.
    """
    try:
        index = CheckpointIndex.read(folder)
    except OSError as error:
        return None, f"index.json: {error.strerror}", False
    except OtherReleaseError as error:
        return None, str(error), True
    except ValueError as error:
        return None, f"index.json cannot be read ({error})", False
    return index, _first_problem(index.files[share[0] :: share[1]], folder), False


def _first_problem(files: Sequence[WrittenFile], folder: Path) -> str | None:
    return next((problem for file in files if (problem := file.problem(folder))), None)


_FOREIGN = (
    "The checkpoint of step {} in {} was written by another release of the trainer ({}). Go on "
    "with the release that it is from, or give the new training a checkpoint prefix of its own."
)
_TORN = (
    "The checkpoint of step %d in %s is torn (%s): the job ended while it was being written or "
    "copied. Falling back to the one before."
)
