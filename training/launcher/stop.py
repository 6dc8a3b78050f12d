"""The signals that end a job: SIGTERM from SageMaker, SIGINT from a keyboard."""

import signal
import time
from types import FrameType
from typing import Final

_POLL_S: Final = 0.1


class StopSignal:
    """Remembers the first stop signal. Whoever waits asks for it; nothing is interrupted."""

    def __init__(self) -> None:
        self._received: signal.Signals | None = None

    def install(self) -> None:
        """Take over SIGTERM and SIGINT: as PID 1 a process without handlers ignores them."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._remember)

    @property
    def received(self) -> signal.Signals | None:
        """The first stop signal, None before it."""
        return self._received

    def wait(self, wait_s: float) -> signal.Signals | None:
        """Wait for a stop signal; None if none has come after `wait_s` seconds."""
        deadline_s = time.monotonic() + wait_s
        while self._received is None and time.monotonic() < deadline_s:
            time.sleep(_POLL_S)
        return self._received

    def _remember(self, number: int, _frame: FrameType | None) -> None:
        self._received = self._received or signal.Signals(number)
