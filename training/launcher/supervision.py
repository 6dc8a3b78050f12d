"""Running one child as PID 1 does: signals go down, ended orphans are reaped, nothing is left."""

import ctypes
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from training.launcher.stop import StopSignal

_POLL_S: Final = 0.1
_OVER_GRACE_S: Final = 5.0
"""torchrun would wait 300 s for that of a host which was told to stop and is gone, and take no
signal meanwhile."""
_PR_SET_CHILD_SUBREAPER: Final = 36
"""Of linux/prctl.h."""


def adopt_orphans() -> None:
    """Have orphaned descendants become children of this process, as they do of PID 1."""
    if sys.platform == "linux" and os.getpid() != 1:
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def supervise(
    command: Sequence[str],
    environment: Mapping[str, str],
    stop: StopSignal,
    *,
    on_told: Callable[[], None] = lambda: None,
    is_over: Callable[[], bool] = lambda: False,
    is_lost: Callable[[], bool] = lambda: False,
) -> int:
    """Run a command to its end, and end it when a stop signal comes.

    Args:
        command: with its arguments.
        environment: all of its variables.
        stop: asked for signals.
        on_told: called before a stop signal is passed on.
        is_over: whether what the command was started for has ended, so that only a moment is left
            to it.
        is_lost: whether it can come to nothing any more, so that it is killed at once.

    Returns:
        Its exit code; the negated signal number if a signal ended it.
    """
    # Its own session: a Ctrl-C in a terminal reaches the launcher alone, which passes it on once.
    child = subprocess.Popen(command, env=environment, start_new_session=True)
    told, over_s = False, math.inf
    while True:
        if stop.received is not None and not told:
            on_told()
            # Always SIGTERM: SIGINT would make every rank print a KeyboardInterrupt.
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)
            told = True
        if is_over():
            over_s = min(over_s, time.monotonic())
        if time.monotonic() > over_s + _OVER_GRACE_S or is_lost():
            with suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
        status = _reap(child.pid)
        if status is not None:
            child.returncode = os.waitstatus_to_exitcode(status)
            _end_all_children()
            return child.returncode
        # Polling, because a blocking wait could miss a signal that comes just before it.
        time.sleep(_POLL_S)


def _reap(child_id: int) -> int | None:
    """Collect every child that has ended; the wait status of `child_id` if it is among them."""
    while True:
        process_id, status = os.waitpid(-1, os.WNOHANG)
        if process_id == child_id:
            return status
        if process_id == 0:
            return None


def _end_all_children() -> None:
    """Kill what the child left behind, and what those leave behind in turn."""
    while True:
        for process_id in _children():
            with suppress(ProcessLookupError):
                os.kill(process_id, signal.SIGKILL)
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                if not _children():
                    return  # no /proc here: children cannot be listed
                time.sleep(_POLL_S / 10)
        except ChildProcessError:
            return


def _children() -> list[int]:
    """The ids of this process's children, [] where there is no /proc."""
    own_id = str(os.getpid())
    children = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            # "pid (name) state parent ...": the name may hold blanks and parentheses.
            if stat.read_text(errors="replace").rpartition(")")[2].split()[1] == own_id:
                children.append(int(stat.parent.name))
    return children
