"""Where the numbers of a training go: lines of the log, which SageMaker scrapes, and TensorBoard.

Only the chief tells them: SageMaker reads the output of all hosts.
"""

import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from training.contract.metrics import Metric, format_line

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_LOG = logging.getLogger(__name__)


class Tracker:
    """Tells numbers, or keeps them to itself on every rank but the chief."""

    def __init__(self, writer: "SummaryWriter | None") -> None:
        """Tell numbers to the log and a writer; None: tell nobody."""
        self._writer = writer

    def report(
        self, values: Mapping[Metric, float], *, epoch: int, step: int | None = None
    ) -> None:
        """Tell some numbers.

        Args:
            values: by what they are.
            epoch: that was done, or is being done; counted from 1.
            step: updates done since the training began; None: an epoch is over.
        """
        if self._writer is None:
            return
        _LOG.info("%s", format_line(epoch, values, step=step))
        for metric, value in values.items():
            # Two charts with axes of their own: epochs and updates.
            self._writer.add_scalar(metric.name, value, epoch if step is None else step)


@contextmanager
def track(folder: Path | None) -> Iterator[Tracker]:
    """Write TensorBoard events below a folder while the block runs; None: track nothing."""
    if folder is None:
        yield Tracker(None)
        return
    with _summary_writer(folder) as writer:
        yield Tracker(writer)


def _summary_writer(folder: Path) -> "SummaryWriter":
    # TensorBoard writes files through TensorFlow where that is installed, as on a laptop with both
    # trainers, and importing it takes seconds. A module of this name is how it is told not to.
    sys.modules.setdefault("tensorboard.compat.notf", ModuleType("tensorboard.compat.notf"))
    from torch.utils.tensorboard import SummaryWriter  # noqa: PLC0415 - a second, on the chief only

    return SummaryWriter(str(folder))
