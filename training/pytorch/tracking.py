"""TensorBoard's events, written by torch."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from training.trainer.tracking import Tracker

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter


@contextmanager
def track(folder: Path | None) -> Iterator[Tracker]:
    """Write TensorBoard events below a folder while the block runs; None: track nothing."""
    if folder is None:
        yield Tracker(None)
        return
    with _summary_writer(folder) as writer:
        yield Tracker(writer.add_scalar)


def _summary_writer(folder: Path) -> "SummaryWriter":
    # TensorBoard writes files through TensorFlow where that is installed, as on a laptop with both
    # trainers, and importing it takes seconds. A module of this name is how it is told not to.
    sys.modules.setdefault("tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - a second, on the chief only

    return SummaryWriter(str(folder))
