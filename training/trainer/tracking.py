"""Where the numbers of a training go: lines of the log, which SageMaker scrapes, and TensorBoard.

Only the chief tells them: SageMaker reads the output of all hosts.
"""

import logging
from collections.abc import Callable, Mapping

from training.contract.metrics import Metric, format_line

_LOG = logging.getLogger(__name__)

Write = Callable[[str, float, int], object]
"""Writes the name of a number, the number, and the epoch or update that it is of."""


class Tracker:
    """Tells numbers, or keeps them to itself on every rank but the chief."""

    def __init__(self, write: Write | None) -> None:
        """Tell numbers to the log and to TensorBoard; None: tell nobody."""
        self._write = write

    def report(
        self, values: Mapping[Metric, float], *, epoch: int, step: int | None = None
    ) -> None:
        """Tell some numbers.

        Args:
            values: by what they are.
            epoch: that was done, or is being done; counted from 1.
            step: updates done since the training began; None: an epoch is over.
        """
        if self._write is None:
            return
        _LOG.info("%s", format_line(epoch, values, step=step))
        for metric, value in values.items():
            # Two charts with axes of their own: epochs and updates.
            self._write(metric.name, value, epoch if step is None else step)
