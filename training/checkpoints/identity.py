"""Whether a checkpoint is one of the job that wants to go on with it."""

from collections.abc import Mapping
from typing import Any

from training.checkpoints.errors import CheckpointError
from training.checkpoints.index import CheckpointIndex


def check_identity(
    index: CheckpointIndex, *, framework: str, identity: Mapping[str, Any], where: str
) -> None:
    """Refuse a checkpoint that another job wrote.

    Args:
        index: of the checkpoint.
        framework: of this job.
        identity: the hyperparameters that this job's weights and order of records depend on.
        where: the folder of the checkpoints, for the message.

    Raises:
        CheckpointError: names what differs, and both values.
    """
    before = {"framework": index.framework, **index.identity}
    now = {"framework": framework, **identity}
    differing = [
        f"{name} was {before.get(name, 'unknown')!r} and is {now.get(name, 'unknown')!r}"
        for name in sorted(before.keys() | now.keys())
        if before.get(name) != now.get(name)
    ]
    if differing:
        raise CheckpointError(
            f"The checkpoint of step {index.step} in {where} is of another training:"
            f" {'; '.join(differing)}. Go on with the values it was begun with, or give the new"
            f" training a checkpoint prefix of its own."
        )
