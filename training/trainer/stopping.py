"""Being told to stop: SIGTERM, from SageMaker through the launcher."""

import os
import signal
from types import FrameType

from training.contract.stops import is_stop_of_job, was_told


class StopFlag:
    """Remembers that this process was told to stop. Nothing is interrupted."""

    def __init__(self) -> None:
        self._is_told = False

    def install(self) -> None:
        """Take SIGTERM over, from now on; any number of them.

        Before the training begins there is nothing to save, and a rank that waits for the others to
        start must not wait on: until then the signal ends the process, as it does by default. It
        still does when it is no stop of the job, but the end beside a rank that has failed.
        """
        signal.signal(signal.SIGTERM, self._remember)

    def is_told(self) -> bool:
        """Whether the signal has come, or is on its way down from the launcher."""
        return self._is_told or was_told()

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        if is_stop_of_job():
            self._is_told = True
        else:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
