"""Ctrl-C and SIGTERM become KeyboardInterrupt while a simulation runs."""

import signal
import threading
from types import FrameType
from typing import Any, Final, Self

_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interruptions:
    """A context in which every way of being told to stop raises KeyboardInterrupt.

    SIGINT is set too: a shell starts background jobs with it ignored, and a `kill -INT` would then
    do nothing. Outside the main thread Python allows no handlers, and this changes nothing.
    """

    def __init__(self) -> None:
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, _interrupt) for number in _SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def ignore(self) -> None:
        """Let no further signal disturb the end: the result is still to be written."""
        for number in self._before:
            signal.signal(number, signal.SIG_IGN)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
