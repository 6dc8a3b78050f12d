"""Checkpoints of a job with many ranks, and the moments at which the ranks act together.

Standard library only: a framework brings a function that writes a rank's own tensors.
"""

from training.checkpoints.errors import CheckpointError
from training.checkpoints.group import AllGather, Group
from training.checkpoints.identity import check_identity
from training.checkpoints.index import CheckpointIndex, WrittenFile
from training.checkpoints.keeper import JobStoppedError, Keeper, KeeperSettings, Kept
from training.checkpoints.progress import Progress
from training.checkpoints.pulse import NO_TROUBLE, Orders, Pulse
from training.checkpoints.restoring import Found, find_checkpoint, find_newest
from training.checkpoints.saving import CheckpointWriter, Snapshot

__all__ = [
    "NO_TROUBLE",
    "AllGather",
    "CheckpointError",
    "CheckpointIndex",
    "CheckpointWriter",
    "Found",
    "Group",
    "JobStoppedError",
    "Keeper",
    "KeeperSettings",
    "Kept",
    "Orders",
    "Progress",
    "Pulse",
    "Snapshot",
    "WrittenFile",
    "check_identity",
    "find_checkpoint",
    "find_newest",
]
